//! Runs without an end: what they measure is what runs of that duration do, in pieces, forked, and changed on the way.

use std::sync::atomic::AtomicBool;

use crate::common::{MILLISECOND, SECOND, bulk, link, parse, scenario};
use serde_json::{Value, json};
use vermilion_netsim::Simulation;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// Links of both kinds, receivers that wait, flows that come and go, and UDP. Times are such that much happens at one.
fn network(duration_s: f64) -> Value {
    let mut network = scenario(
        duration_s,
        &[
            link("first", 10_000_000, "red", json!({"limit": 60})),
            link("second", 8_000_000, "codel", json!({"limit": 50})),
            link("back", 1_000_000, "drop-tail", json!({"limit": 30})),
        ],
        &[
            bulk("through", 6, &["first", "second"], "sack", json!({})),
            bulk("waiting", 4, &["second"], "cubic", json!({"option_set": "linux"})),
            bulk("against", 3, &["back"], "newreno", json!({})),
        ],
    );
    network["warm_up_ns"] = json!(SECOND);
    network["flows"][0]["return_path"] = json!(["back"]);
    let web = json!({"name": "web", "count": 5, "path": ["first"], "rtt_ns": 60 * MILLISECOND,
        "sender": {"congestion_control": "newreno"}, "start_ns": [0, 0],
        "traffic": {"kind": "web", "mean_gap_ns": 3e8,
            "size": {"distribution": "exponential", "mean": 2e4}}});
    let udp = json!({"name": "udp", "count": 1, "path": ["second"], "rtt_ns": 60 * MILLISECOND,
        "start_ns": [0, 0], "traffic": {"kind": "constant-rate", "rate_bit_per_s": 1e6}});
    network["flows"].as_array_mut().unwrap().extend([web, udp]);
    network
}

fn whole(network: &Value, seed: u64) -> Value {
    let mut simulation = Simulation::new(parse(network), seed).expect("valid");
    simulation.run(&GO_ON).expect("nobody cancels");
    serde_json::to_value(simulation.into_results(true)).unwrap()
}

fn opened(network: &Value, seed: u64) -> Simulation {
    Simulation::open(parse(network), seed).expect("valid")
}

fn here(simulation: &Simulation) -> Value {
    serde_json::to_value(simulation.results_here(true, &GO_ON).expect("nobody cancels")).unwrap()
}

#[test]
fn pieces_add_up_to_the_whole_and_forks_go_on_alike() {
    for seed in 1..4 {
        let mut kept = opened(&network(2.0), seed);
        for until in [1, 400, 1500, 4000] {
            kept.extend(until * MILLISECOND, &GO_ON).expect("nobody cancels");
        }
        assert_eq!(here(&kept), whole(&network(4.0), seed));
        let mut fork = kept.fork();
        kept.extend(6 * SECOND, &GO_ON).expect("nobody cancels");
        fork.extend(5 * SECOND, &GO_ON).expect("nobody cancels");
        assert_eq!(here(&fork), whole(&network(5.0), seed));
        fork.extend(6 * SECOND, &GO_ON).expect("nobody cancels");
        let six = whole(&network(6.0), seed);
        assert_eq!(here(&fork), six);
        assert_eq!(here(&kept), six, "a fork leaves alone what it was taken from");
    }
}

#[test]
fn a_change_on_the_way_is_one_of_the_scenarios_changes() {
    let changes = json!([
        {"at_ns": 2 * SECOND, "link": "first", "rate_bit_per_s": 6_000_000},
        {"at_ns": 2 * SECOND, "link": "first", "queue": {"limit": 20}},
        {"at_ns": 3 * SECOND, "link": "second", "rate_bit_per_s": 9_000_000},
        {"at_ns": 3 * SECOND, "link": "second", "queue": {"target": 0.001}},
    ]);
    let mut told = network(4.0);
    told["changes"] = changes.clone();
    let told = whole(&told, 1);
    let mut kept = opened(&network(4.0), 1);
    let changes: Vec<Value> = changes.as_array().unwrap().clone();
    for change in changes {
        kept.extend(change["at_ns"].as_u64().unwrap(), &GO_ON).expect("nobody cancels");
        let link = kept.scenario().link_index(change["link"].as_str().unwrap()).unwrap();
        if let Some(rate) = change["rate_bit_per_s"].as_u64() {
            kept.set_rate(link, rate).expect("a rate");
        } else {
            let values = serde_json::from_value(change["queue"].clone()).unwrap();
            kept.set_queue(link, &values).expect("accepted");
        }
    }
    kept.extend(4 * SECOND, &GO_ON).expect("nobody cancels");
    let here = here(&kept);
    // The totals since time 0: changes begin phases where the scenario has them.
    for link in ["first", "second", "back"] {
        assert_eq!(here["links"][link]["ledger"], told["links"][link]["ledger"], "{link}");
    }
    for group in ["through", "waiting", "against", "web", "udp"] {
        let sent = |results: &Value| results["flows"][group]["total"]["retransmissions"].clone();
        assert_eq!(sent(&here), sent(&told), "{group}");
    }
}

#[test]
fn a_record_is_what_results_say_of_that_time() {
    let mut network = network(8.0);
    let mut kept = opened(&network, 1);
    kept.extend(3 * SECOND, &GO_ON).expect("nobody cancels");
    let mut fork = kept.fork();
    fork.extend(5 * SECOND, &GO_ON).expect("nobody cancels");
    // A boundary in between, as every change of a rate is one.
    let link = fork.scenario().link_index("back").unwrap();
    fork.set_rate(link, 1_000_000).expect("a rate");
    fork.extend(8 * SECOND, &GO_ON).expect("nobody cancels");
    let record = fork.record().expect("a fork has a mark");
    assert_eq!((record.start_s, record.end_s), (3.0, 8.0));
    network["warm_up_ns"] = json!(3 * SECOND);
    network["changes"] =
        json!([{"at_ns": 5 * SECOND, "link": "back", "rate_bit_per_s": 1_000_000}]);
    let results = whole(&network, 1);
    let close = |one: f64, other: &Value| {
        let other = other.as_f64().expect("a number");
        assert!((one - other).abs() <= 1e-9 * other.abs(), "{one} {other}");
    };
    for (index, name) in ["first", "second", "back"].iter().enumerate() {
        let (link, total) = (record.links[index].expect("books"), &results["links"][name]["total"]);
        close(link.utilization.unwrap(), &total["utilization"]);
        close(link.arrivals as f64, &total["arrivals"]);
        close(link.packets_forwarded as f64, &total["packets_forwarded"]);
        close(link.drops as f64, &total["drops"]);
        for (distribution, key) in
            [(link.queue_packets, "queue_packets"), (link.sojourn_ms, "sojourn_ms")]
        {
            let distribution = distribution.expect("full books");
            close(distribution.mean, &total[key]["mean"]);
            close(distribution.p50, &total[key]["p50"]);
            close(distribution.p95, &total[key]["p95"]);
            close(distribution.p99, &total[key]["p99"]);
        }
    }
    for (index, name) in ["through", "waiting", "against", "web", "udp"].iter().enumerate() {
        let (group, total) = (record.flows[index], &results["flows"][name]["total"]);
        close(group.goodput_bit_per_s.unwrap(), &total["goodput_bit_per_s"]["total"]);
        if let Some(jain) = group.jain_index {
            close(jain, &total["jain_index"]);
        }
        close(group.timeouts as f64, &total["timeouts"]);
        close(group.retransmissions as f64, &total["retransmissions"]);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut kept = opened(&network(2.0), 1);
    kept.extend(SECOND, &GO_ON).expect("nobody cancels");
    assert!(kept.extend(SECOND - 1, &GO_ON).is_err());
    let error = kept.set_rate(0, 0).expect_err("no rate");
    assert_eq!((&*error.field, &*error.value), ("links.first.rate", "0"));
    assert!(kept.clone().record().is_none());
}

#[test]
fn books_change_nothing_but_what_is_written_down() {
    let full = whole(&network(4.0), 1);
    for books in ["counters", "none"] {
        let mut network = network(4.0);
        for link in network["links"].as_array_mut().unwrap() {
            link["books"] = json!(books);
        }
        let results = whole(&network, 1);
        for key in ["flows", "packets_forwarded", "events"] {
            assert_eq!(results[key], full[key], "{books}: {key}");
        }
        let links = results["links"].as_object().unwrap();
        assert_eq!(links.len(), if books == "none" { 0 } else { 3 });
        for (name, link) in links {
            assert_eq!(link["ledger"], full["links"][name]["ledger"]);
            let total = link["total"].as_object().unwrap();
            assert!(total.get("queue_packets").or(total.get("sojourn_ms")).is_none());
            for (key, value) in total {
                assert_eq!(*value, full["links"][name]["total"][key], "{name}: {key}");
            }
        }
    }
}
