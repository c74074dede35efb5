//! The ends of what is accepted: each run ends with an answer, each scenario beyond them with a
//! refusal. Runs are short in events, so that none needs a clock to be stopped.

use std::sync::atomic::AtomicBool;

use crate::common::{MILLISECOND, SECOND, bulk, link, parse, scenario, simulate};
use serde_json::{Value, json};
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_netsim::Simulation;
use vermilion_netsim::scenario::{HIGHEST_RATE, LONGEST_DURATION};
use vermilion_tcp::registry::Profile;

/// Settings under which a sender has the least that holds it back.
fn eager() -> [Value; 4] {
    [
        json!({}),
        json!({"delayed_acknowledgements": true, "minimum_timeout": 0}),
        json!({"pacing": true, "clock_tick": 1e-9, "minimum_timeout": 0}),
        json!({"option_set": "linux", "handshake": false, "clock_tick": 1e-9, "timer_tick": 0}),
    ]
}

fn one_flow(duration: u64, rate: u64, sender: &str, parameters: Value) -> Value {
    let mut network = scenario(
        1.0,
        &[link("link", rate, "drop-tail", json!({}))],
        &[bulk("flow", 1, &["link"], sender, parameters)],
    );
    network["duration_ns"] = json!(duration);
    network["flows"][0]["start_ns"] = json!([0, 0]);
    network
}

fn refusal(network: &Value) -> vermilion_parameters::ParameterError {
    Simulation::new(parse(network), 1).expect_err("beyond what is accepted")
}

#[test]
fn time_advances_for_every_sender_without_any_round_trip_at_the_highest_rate() {
    // 1000 bytes take 0.8 ns: the link alone makes time pass.
    for sender in Profile::algorithms() {
        for parameters in eager() {
            for loss in [0.0, 0.3] {
                let mut network = one_flow(20_000, HIGHEST_RATE, sender.name, parameters.clone());
                network["flows"][0]["rtt_ns"] = json!(0);
                network["links"][0]["delay_ns"] = json!(0);
                network["links"][0]["loss"] = json!({"model": "bernoulli", "probability": loss});
                let results = simulate(&network, 1);
                let forwarded = results.links["link"].ledger.forwarded;
                assert!((1..=25_100).contains(&forwarded), "{} {parameters}", sender.name);
            }
        }
    }
}

#[test]
fn a_bit_a_second_for_eleven_days_carries_what_it_can() {
    // A SYN of 40 bytes in 320 s, and 124 packets of 8000 s in the rest of 10^6 s.
    for sender in Profile::algorithms() {
        let results = simulate(&one_flow(LONGEST_DURATION, 1, sender.name, json!({})), 1);
        let books = &results.links["link"].ledger;
        assert!((100..200).contains(&books.forwarded), "{} {books:?}", sender.name);
        let goodput = results.flows["flow"].total.goodput_bit_per_s.expect("it ran");
        assert!(goodput.total <= 1.0, "{goodput:?}");
    }
}

#[test]
fn no_discipline_shuts_a_link_for_good() {
    // A flow that is alone is silenced now and then, by losses in a row. The discipline has to let it through again.
    for discipline in ALGORITHMS {
        for seed in 1..=20 {
            let queue = link("link", 10_000_000, discipline.name, json!({}));
            let flow = bulk("flow", 1, &["link"], "sack", json!({}));
            let mut network = scenario(200.0, &[queue], &[flow]);
            network["warm_up_ns"] = json!(100 * SECOND);
            let used = simulate(&network, seed).links["link"].spans.total.utilization;
            // A bin of SFB holds a third of what the path does, and its probability falls by a 20,000th at a time.
            let least = if discipline.name == "sfb" { 0.3 } else { 0.5 };
            assert!(used.is_some_and(|used| used > least), "{} {seed}: {used:?}", discipline.name);
        }
    }
}

#[test]
fn no_discipline_shuts_a_slow_link_for_good() {
    // At 64 kbit/s a packet takes an eighth of a second, and a burst is seconds of the link.
    for discipline in ALGORITHMS {
        for (sender, parameters) in
            [("newreno", json!({})), ("cubic", json!({"option_set": "linux"}))]
        {
            for count in [1, 4, 20] {
                let queue = link("link", 64_000, discipline.name, json!({}));
                let flows = bulk("flows", count, &["link"], sender, parameters.clone());
                let mut network = scenario(1200.0, &[queue], &[flows]);
                network["warm_up_ns"] = json!(600 * SECOND);
                let used = simulate(&network, 1).links["link"].spans.total.utilization;
                let what = format!("{}, {count} {sender}: {used:?}", discipline.name);
                assert!(used.is_some_and(|used| used > 0.5), "{what}");
            }
        }
    }
}

#[test]
fn a_wire_that_loses_everything_completes_nothing_and_says_so() {
    let size = json!({"distribution": "constant", "value": 1e4});
    for traffic in [
        json!({"kind": "bulk"}),
        json!({"kind": "transfer", "size_bytes": 10_000}),
        json!({"kind": "web", "mean_gap_ns": 1e8, "size": size}),
    ] {
        for sender in Profile::algorithms() {
            let mut network = one_flow(100 * SECOND, 10_000_000, sender.name, json!({}));
            network["flows"][0]["traffic"] = traffic.clone();
            network["links"][0]["loss"] = json!({"model": "bernoulli", "probability": 1});
            let results = simulate(&network, 1);
            let (books, total) = (&results.links["link"].ledger, &results.flows["flow"].total);
            assert!(books.losses > 4 && books.losses == books.forwarded, "{books:?}");
            if let Some(transfers) = &total.transfers {
                assert!(transfers.transfers_begun > 0 && transfers.completed == 0);
                assert!(transfers.completion_time_s.is_none());
            }
            assert!(total.goodput_bit_per_s.is_none_or(|goodput| goodput.total == 0.0));
        }
    }
}

#[test]
fn a_buffer_of_nothing_is_refused_and_one_of_a_packet_serves() {
    for (limit, served) in [(0, false), (1, true)] {
        let mut network = one_flow(10 * SECOND, 10_000_000, "sack", json!({}));
        network["links"][0]["queue"]["parameters"] = json!({"limit": limit});
        if served {
            assert!(simulate(&network, 1).links["link"].ledger.forwarded > 1000);
        } else {
            assert_eq!(refusal(&network).field, "links.link.queue.limit");
        }
    }
}

#[test]
fn packets_of_a_byte_and_of_the_most_bytes_are_carried() {
    for (size, accepted) in [(0, false), (1, true), (65_535, true), (65_536, false)] {
        for field in ["packet_size_bytes", "ack_size_bytes"] {
            let mut network = one_flow(SECOND, 10_000_000, "cubic", json!({}));
            network["flows"][0][field] = json!(size);
            if accepted {
                assert!(simulate(&network, 1).links["link"].ledger.forwarded > 10, "{field}");
            } else {
                let name = field.trim_end_matches("_bytes");
                assert_eq!(refusal(&network).field, format!("flows.flow.{name}"));
            }
        }
    }
}

#[test]
fn clocks_of_a_nanosecond_and_of_a_second_tick() {
    for sender in Profile::algorithms() {
        for parameters in [
            json!({"clock_tick": 1e-9}),
            json!({"clock_tick": 1, "timer_tick": 1, "acknowledgement_delay": 1e-6,
                "delayed_acknowledgements": true}),
            json!({"window_cap": 1, "initial_window": 10_000}),
        ] {
            let network = one_flow(20 * SECOND, 1_000_000, sender.name, parameters.clone());
            let forwarded = simulate(&network, 1).links["link"].ledger.forwarded;
            assert!(forwarded > 10, "{} {parameters}: {forwarded}", sender.name);
        }
    }
}

#[test]
fn a_hundred_thousand_flows_start_and_a_million_wait_for_the_end() {
    let mut many = one_flow(SECOND / 2, 1_000_000_000, "reno", json!({}));
    many["flows"][0]["count"] = json!(100_000);
    many["flows"][0]["start_ns"] = json!([0, SECOND / 2]);
    assert!(simulate(&many, 1).links["link"].ledger.arrivals > 50_000);

    let mut idle = one_flow(SECOND / 2, 1_000_000_000, "reno", json!({}));
    idle["flows"][0]["count"] = json!(1_000_000);
    idle["flows"][0]["start_ns"] = json!([SECOND / 2, SECOND / 2]);
    let mut simulation = Simulation::new(parse(&idle), 1).unwrap();
    simulation.run(&AtomicBool::new(false)).unwrap();
    assert!(simulation.conclude(false).flows["flow"].total.goodput_bit_per_s.is_none());
    idle["flows"][0]["count"] = json!(1_000_001);
    assert_eq!(refusal(&idle).field, "flows.flow.count");
}

#[test]
fn a_path_of_a_thousand_links_is_crossed() {
    let names: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let links: Vec<Value> = names
        .iter()
        .map(|name| {
            let mut link = link(name, 10_000_000, "drop-tail", json!({}));
            link["delay_ns"] = json!(10_000);
            link
        })
        .collect();
    let path: Vec<&str> = names.iter().map(String::as_str).collect();
    let network = scenario(3.0, &links, &[bulk("flow", 1, &path, "reno", json!({}))]);
    assert!(simulate(&network, 1).links["999"].ledger.forwarded >= 1);
    let too_many = vec![links[0].clone(); 10_001];
    assert_eq!(refusal(&scenario(3.0, &too_many, &[])).field, "links");
}

#[test]
fn thousands_of_changes_are_followed_and_more_than_can_be_reported_are_refused() {
    // Each phase reports every flow and every link: once this took gigabytes.
    let mut network = one_flow(10 * SECOND, 1_000_000, "sack", json!({}));
    let change = |at: u64| json!({"at_ns": at * MILLISECOND, "link": "link", "rate_bit_per_s": 1_000_000 + at});
    network["changes"] = (0..5000).map(change).collect();
    assert_eq!(simulate(&network, 1).links["link"].spans.phases.len(), 5000);
    network["flows"][0]["count"] = json!(10_000);
    let refused = refusal(&network);
    assert_eq!((refused.field.as_str(), refused.value.as_str()), ("changes", "5000 phases"));
}

#[test]
fn a_schedule_of_a_hundred_thousand_steps_and_a_trace_of_one_chance_an_hour_are_followed() {
    let mut network = one_flow(10 * SECOND, 1_000_000, "sack", json!({}));
    let steps: Vec<(u64, u64)> = (0..100_000).map(|k| (k * 100_000, 1_000_000 + k % 7)).collect();
    network["links"][0]["rate_schedule"] = json!({"steps": steps});
    assert!(simulate(&network, 1).links["link"].ledger.forwarded > 1000);

    let mut network = one_flow(36_000 * SECOND, 1_000_000, "sack", json!({}));
    network["links"][0]["trace"] = json!({"opportunities_ns": [3_600 * SECOND], "bytes": 1500});
    // One opportunity of 1500 bytes for each of ten hours: 37 SYNs of 40 bytes at most.
    let forwarded = simulate(&network, 1).links["link"].ledger.forwarded;
    assert!((10..=370).contains(&forwarded), "{forwarded}");
}

#[test]
fn a_probe_reads_millions_of_times_but_not_without_end() {
    let mut network = one_flow(SECOND, 100_000, "reno", json!({}));
    network["probe_interval_ns"] = json!(500);
    let mut simulation = Simulation::new(parse(&network), 1).unwrap();
    simulation.run(&AtomicBool::new(false)).unwrap();
    assert_eq!(simulation.series()[0].time_s.len(), 2_000_001);
    for interval in [0, 99, u64::MAX] {
        network["probe_interval_ns"] = json!(interval);
        assert_eq!(refusal(&network).field, "probe_interval");
    }
}
