//! Links whose discipline watches departures: the same physics as every other link, and head drops
//! in the books.

use crate::common::open_loop::open_loop;
use crate::common::{MILLISECOND, SECOND, bulk, link, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::{Results, Simulation};

/// A queue of `limit` packets that never drops for another reason, on a link of either kind.
fn plain(watches_departures: bool, limit: u32) -> (&'static str, Value) {
    if watches_departures {
        // Nothing ever waits for ten seconds here.
        ("codel", json!({"limit": limit, "target": 10.0, "ecn": false}))
    } else {
        ("drop-tail", json!({"limit": limit}))
    }
}

fn network(watches_departures: bool) -> Value {
    let queue = |name, rate, limit| {
        let (discipline, parameters) = plain(watches_departures, limit);
        link(name, rate, discipline, parameters)
    };
    let mut network = scenario(
        20.0,
        &[
            queue("first", 10_000_000, 60),
            queue("second", 8_000_000, 50),
            queue("back", 1_000_000, 100),
        ],
        &[
            bulk("through", 6, &["first", "second"], "newreno", json!({})),
            bulk("one-hop", 4, &["second"], "reno", json!({"delayed_acknowledgements": true})),
            bulk("against", 3, &["back"], "newreno", json!({})),
            open_loop("second", json!({"kind": "poisson", "rate_bit_per_s": 1e6})),
        ],
    );
    network["warm_up_ns"] = json!(3 * SECOND);
    network["flows"][0]["return_path"] = json!(["back"]);
    network["flows"][1]["stop_ns"] = json!([12 * SECOND, 13 * SECOND]);
    network["changes"] = json!([
        {"at_ns": 4 * SECOND, "link": "second", "rate_bit_per_s": 3_000_000},
        {"at_ns": 8 * SECOND, "link": "second", "rate_bit_per_s": 30_000_000},
        {"at_ns": 10 * SECOND, "link": "first", "rate_bit_per_s": 9_000_000},
        {"at_ns": 15 * SECOND, "link": "first", "queue": {"limit": 30}},
    ]);
    network
}

/// Everything but the number of events, which is where the two kinds differ.
fn measured(results: &Results) -> Value {
    let mut measured = serde_json::to_value(results).unwrap();
    measured.as_object_mut().unwrap().remove("events");
    measured
}

#[test]
fn both_kinds_of_link_measure_the_same() {
    for seed in 0..4 {
        let at_arrival = simulate(&network(false), seed);
        let at_departure = simulate(&network(true), seed);
        assert!(at_arrival.links["second"].ledger.drops > 100);
        assert!(at_departure.events > at_arrival.events);
        assert_eq!(measured(&at_arrival), measured(&at_departure), "seed {seed}");
    }
}

/// The delay becomes shorter while packets are on the wire: those that follow are held back behind them. Then
/// the rate changes, which moves the packet in transmission and those that wait.
#[test]
fn both_kinds_of_link_move_packets_that_were_held_back_to_the_same_times() {
    let run = |watches_departures, (rate, delay): (u64, u64), extra: u64, seed| {
        let (discipline, parameters) = plain(watches_departures, 1000);
        let mut link = link("link", 10_000_000, discipline, parameters);
        link["delay_ns"] = json!(SECOND);
        let mut flows = [1e6, 100e6].map(|rate| {
            let traffic = json!({"kind": "constant-rate", "rate_bit_per_s": rate});
            let mut flow = open_loop("link", traffic);
            flow["rtt_ns"] = json!(2 * SECOND);
            flow
        });
        // A packet every 8 ms until the delay is shorter, and then 125 within 10 ms.
        flows[1]["name"] = json!("burst");
        flows[1]["rtt_ns"] = json!(2 * SECOND + extra);
        flows[1]["start_ns"] = json!([5060 * MILLISECOND, 5060 * MILLISECOND]);
        flows[1]["stop_ns"] = json!([5070 * MILLISECOND, 5070 * MILLISECOND]);
        let mut network = scenario(9.0, &[link], &flows);
        network["flow_delays"] = json!(true);
        // The burst is at the link a quarter of what is not the link's of its round trip later.
        let burst = 5310 * MILLISECOND + extra / 4;
        network["changes"] = json!([
            {"at_ns": burst - 300 * MILLISECOND, "link": "link", "delay_ns": delay},
            {"at_ns": burst + MILLISECOND, "link": "link", "rate_bit_per_s": rate},
            {"at_ns": burst + 200 * MILLISECOND, "link": "link", "rate_bit_per_s": 300_000},
            {"at_ns": burst + 400 * MILLISECOND, "link": "link", "rate_bit_per_s": 20_000_000},
        ]);
        simulate(&network, seed)
    };
    for change in [(1_000_000, 0), (100_000, 0), (50_000_000, 0), (1_000_000, 700 * MILLISECOND)] {
        for (seed, extra) in [(0, 0), (1, 0), (2, 10 * MILLISECOND), (3, 100 * MILLISECOND)] {
            let [at_arrival, at_departure] =
                [false, true].map(|kind| run(kind, change, extra, seed));
            let burst = at_arrival.flows["burst"].total.packets.as_ref().unwrap();
            assert!(burst.packets_delivered > 100, "{burst:?}");
            let waited = at_arrival.links["link"].spans.total.sojourn_ms.unwrap().max;
            assert!(waited > 5.0, "{waited} ms");
            assert_eq!(measured(&at_arrival), measured(&at_departure), "{change:?}, seed {seed}");
        }
    }
}

/// A delay is that of packets whose transmission begins from the change on, whether or not they have waited. Some
/// changes come at the very instant at which a transmission begins: with 1000 bytes at 1 Mbit/s every 8 ms.
#[test]
fn a_new_delay_is_for_packets_that_wait_at_both_kinds_of_link() {
    let steps = json!([[0, 1_000_000], [2 * SECOND, 200_000], [4 * SECOND, 3_000_000]]);
    let times = [3, 3, 4, 9, 40].map(|time| time * MILLISECOND);
    for kind in ["rate", "rate_schedule", "trace", "loss"] {
        let run = |watches_departures| {
            let (discipline, parameters) = plain(watches_departures, 1000);
            let mut link = link("link", 1_000_000, discipline, parameters);
            match kind {
                "rate_schedule" => link[kind] = json!({"steps": steps}),
                "trace" => link[kind] = json!({"opportunities_ns": times, "bytes": 700}),
                "loss" => link[kind] = json!({"model": "bernoulli", "probability": 0.3}),
                _ => {}
            }
            let mut flow =
                open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 1.5e6}));
            flow["rtt_ns"] = json!(2 * SECOND);
            let flows = [bulk("through", 4, &["link"], "cubic", json!({})), flow];
            let mut network = scenario(9.0, &[link], &flows);
            network["flows"][0]["rtt_ns"] = json!(2 * SECOND);
            // What the wire loses is counted as lost when that is drawn: at either kind at another time.
            network["flow_delays"] = json!(kind != "loss");
            network["changes"] = json!([
                {"at_ns": 3 * SECOND, "link": "link", "delay_ns": 500 * MILLISECOND},
                {"at_ns": 3001 * MILLISECOND, "link": "link", "delay_ns": 100 * MILLISECOND},
                {"at_ns": 5 * SECOND, "link": "link", "delay_ns": MILLISECOND},
                {"at_ns": 6 * SECOND, "link": "link", "delay_ns": 800 * MILLISECOND},
            ]);
            simulate(&network, 1)
        };
        let [at_arrival, at_departure] = [false, true].map(run);
        assert!(at_arrival.links["link"].spans.total.queue_packets.unwrap().mean > 20.0);
        // At the instant of a boundary the two kinds count for different spans of the link.
        let flows = |results: &Results| measured(results)["flows"].take();
        assert_eq!(flows(&at_arrival), flows(&at_departure), "{kind}");
    }
}

#[test]
fn what_waits_at_a_change_of_delay_has_the_new_one() {
    // 1000 bytes every 4 ms from 1 s on, a quarter of the round trip, into 8 ms each. 375 packets are begun before
    // 4 s and take another second after that. Those begun from 4 s on take 2 s more: by 8.004 s those have
    // arrived whose transmission has ended by 5.004 s, another 125.
    for watches_departures in [false, true] {
        let (discipline, parameters) = plain(watches_departures, 10_000);
        let mut link = link("link", 1_000_000, discipline, parameters);
        link["delay_ns"] = json!(0);
        let mut flow = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 2e6}));
        flow["rtt_ns"] = json!(4 * SECOND);
        let mut network = scenario(8.004, &[link], &[flow]);
        network["flow_delays"] = json!(true);
        network["changes"] = json!([{"at_ns": 4 * SECOND, "link": "link", "delay_ns": 2 * SECOND}]);
        let results = simulate(&network, 1);
        let packets = results.flows["open-loop"].total.packets.as_ref().unwrap();
        assert_eq!(packets.packets_delivered, 500, "{discipline}");
    }
}

#[test]
fn both_kinds_of_link_measure_the_same_on_a_schedule_on_a_trace_and_with_a_lossy_wire() {
    let run = |watches_departures, seed| {
        let mut network = network(watches_departures);
        network["changes"] = json!([]);
        network["links"][0]["rate_schedule"] = json!({
            "steps": [[0, 10_000_000], [3 * SECOND, 0], [4 * SECOND, 14_000_000]],
            "repeat_ns": 7 * SECOND,
        });
        // Not at the instants of boundaries: a turn then counts in the window that begins, a
        // departure known beforehand in the one that ends.
        let opportunities: Vec<u64> = (1..=1000).map(|number| number * MILLISECOND - 7).collect();
        network["links"][1]["trace"] = json!({"opportunities_ns": opportunities, "bytes": 1500});
        network["links"][2]["loss"] = json!({"model": "bernoulli", "probability": 0.01});
        simulate(&network, seed)
    };
    for seed in 0..4 {
        let (at_arrival, at_departure) = (run(false, seed), run(true, seed));
        assert!(at_arrival.links["first"].ledger.drops > 0);
        assert!(at_arrival.links["second"].ledger.drops > 0);
        assert!(at_arrival.links["back"].ledger.losses > 0);
        assert_eq!(measured(&at_arrival), measured(&at_departure), "seed {seed}");
    }
}

#[test]
fn a_change_of_rate_moves_the_end_of_the_packet_in_transmission_and_the_turns_after_it() {
    // As `a_change_of_rate_retimes_what_waits` in laws.rs: packets of 8 ms, six have left and the
    // seventh is a quarter sent when the link becomes ten times as fast. The rest of it takes 0.6 ms,
    // each of the others 0.8 ms: the last of 100 begins 92 packets later.
    let (discipline, parameters) = plain(true, 1000);
    let mut network = scenario(
        1.0,
        &[link("link", 1_000_000, discipline, parameters)],
        &[bulk(
            "one",
            1,
            &["link"],
            "newreno",
            json!({"handshake": false, "initial_window": 100, "window_cap": 100}),
        )],
    );
    network["flows"][0]["start_ns"] = json!([0, 0]);
    network["flows"][0]["rtt_ns"] = json!(3_000 * MILLISECOND);
    network["changes"] = json!([
        {"at_ns": 747_500_000 + 50 * MILLISECOND, "link": "link", "rate_bit_per_s": 10_000_000},
    ]);
    let total = simulate(&network, 1).links["link"].spans.total.clone();
    assert_eq!(total.packets_forwarded, 100);
    let last_wait = 50.0 + 0.6 + 92.0 * 0.8;
    assert!((total.sojourn_ms.unwrap().max - last_wait).abs() < 1e-3, "{total:?}");
}

#[test]
fn packets_dropped_at_the_head_are_in_the_books_and_not_in_the_sojourn() {
    // Twice what the link carries, and no sender that listens: CoDel drops ever more at the head.
    let flood = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 16e6}));
    let queue = link("link", 8_000_000, "codel", json!({"limit": 100_000}));
    let results = simulate(&scenario(60.0, &[queue], &[flood]), 1);
    let link = &results.links["link"];
    let total = &link.spans.total;
    assert!(total.drops > 5_000 && total.overflow_drops == 0, "{total:?}");
    let forwarded_waits = total.sojourn_ms.unwrap().mean / 1e3 * total.packets_forwarded as f64;
    assert!(forwarded_waits < 0.99 * link.ledger.sojourn_packet_s, "{:?}", link.ledger);
}

#[test]
fn dropping_the_first_packet_instead_of_the_last_makes_senders_wait_less_and_loses_as_many() {
    // A full buffer of 80 packets at 8 ms each, all of which wait for 640 ms before a tail drop.
    // Dropping the first takes the wait from the packets that are lost, not from the others.
    let run = |parameters| {
        let flood = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 2e6}));
        let queue = link("link", 1_000_000, "drop-tail", parameters);
        simulate(&scenario(60.0, &[queue], &[flood]), 1).links["link"].clone()
    };
    let tail = run(json!({"limit": 80}));
    for (drop, unit, limit) in [
        ("head", "limit", 80),
        ("random", "limit", 80),
        ("head", "limit_bytes", 80_000),
        ("random", "limit_bytes", 80_000),
    ] {
        let other = run(json!({unit: limit, "drop": drop}));
        let (tail, other) = (&tail.spans.total, &other.spans.total);
        assert!(other.drops.abs_diff(tail.drops) <= 1 && other.drops == other.overflow_drops);
        assert_eq!(other.packets_forwarded, tail.packets_forwarded, "{drop} {unit}");
        let [mean, usual] = [other, tail].map(|link| link.sojourn_ms.unwrap().mean);
        // Of two that arrive in 8 ms one goes: at the head each that is sent has seen 80 places
        // pass, two in the time of one packet.
        let expected = if drop == "head" { usual / 2.0..usual / 1.9 } else { 0.4 * usual..usual };
        assert!(expected.contains(&mean), "{drop} {unit}: {mean} ms, tail {usual} ms");
    }
}

#[test]
fn which_packet_is_dropped_stays_once_and_for_all() {
    let mut network = scenario(
        2.0,
        &[link("link", 1_000_000, "drop-tail", json!({"drop": "head"}))],
        &[bulk("flows", 2, &["link"], "newreno", json!({}))],
    );
    let change = |drop| json!([{"at_ns": SECOND, "link": "link", "queue": {"drop": drop}}]);
    network["changes"] = change("random");
    simulate(&network, 1);
    network["changes"] = change("tail");
    let refused =
        Simulation::new(crate::common::parse(&network), 1).expect_err("the link has turns");
    assert_eq!(refused.field, "changes.0.queue.drop");
    assert!(refused.accepted.contains("head"), "{refused}");
}

#[test]
fn flow_queueing_shares_the_link_by_bytes_whatever_the_round_trip_and_the_packets_size() {
    for discipline in ["fq-codel", "fq-pie"] {
        let mut network = scenario(
            60.0,
            &[link("link", 20_000_000, discipline, json!({}))],
            &[
                bulk("near", 1, &["link"], "newreno", json!({})),
                bulk("far", 1, &["link"], "newreno", json!({})),
                bulk("small", 1, &["link"], "newreno", json!({})),
            ],
        );
        network["warm_up_ns"] = json!(20 * SECOND);
        network["flows"][0]["rtt_ns"] = json!(24 * MILLISECOND);
        network["flows"][1]["rtt_ns"] = json!(72 * MILLISECOND);
        network["flows"][2]["packet_size_bytes"] = json!(500);
        let shared = simulate(&network, 1);
        let goodput =
            |group: &str| shared.flows[group].total.goodput_bit_per_s.as_ref().unwrap().total;
        // A third of the link each, but for what a flow does not ask for after a drop.
        for group in ["near", "far", "small"] {
            let share = goodput(group) / (20e6 / 3.0);
            assert!((0.85..1.15).contains(&share), "{discipline}: {group} {share}");
        }
        // Behind one queue the near flow takes more than its share from the far one.
        network["links"][0]["queue"]["discipline"] = json!("drop-tail");
        let unfair = simulate(&network, 1);
        let ratio = |results: &Results| {
            let of =
                |group: &str| results.flows[group].total.goodput_bit_per_s.as_ref().unwrap().total;
            of("near") / of("far")
        };
        assert!(ratio(&unfair) > 1.5, "{}", ratio(&unfair));
    }
}

#[test]
fn a_sparse_flow_loses_nothing_among_bulk_flows() {
    // A packet of 200 bytes each 20 ms among eight bulk flows, which lose what they have to lose.
    for discipline in ["fq-codel", "fq-pie"] {
        let mut network = scenario(
            30.0,
            &[link("link", 10_000_000, discipline, json!({}))],
            &[
                bulk("bulk", 8, &["link"], "newreno", json!({})),
                open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 80e3})),
            ],
        );
        network["flows"][1]["packet_size_bytes"] = json!(200);
        let results = simulate(&network, 1);
        let total = &results.links["link"].spans.total;
        assert!(total.drops + total.marks > 0, "{discipline} {total:?}");
        let goodput = results.flows["open-loop"].total.goodput_bit_per_s.as_ref().unwrap().total;
        // What is on its way at the end: 30 ms of 30 s, and the queue.
        let delivered = goodput / 80e3;
        assert!((0.995..=1.0).contains(&delivered), "{discipline}: {delivered}");
    }
}

#[test]
fn codel_keeps_a_standing_queue_near_its_target() {
    // One loss-free window's worth of buffer would be 50 ms at this rate; CoDel's target is 5 ms.
    let run = |discipline, parameters| {
        let mut network = scenario(
            60.0,
            &[link("link", 20_000_000, discipline, parameters)],
            &[bulk("flows", 4, &["link"], "newreno", json!({}))],
        );
        network["warm_up_ns"] = json!(10 * SECOND);
        simulate(&network, 1).links["link"].spans.total.clone()
    };
    let codel = run("codel", json!({}));
    let drop_tail = run("drop-tail", json!({"limit": 1000}));
    let (kept, left) = (codel.sojourn_ms.unwrap().p50, drop_tail.sojourn_ms.unwrap().p50);
    assert!(kept < 15.0 && kept < left / 5.0, "{kept} ms against {left} ms");
    assert!(codel.utilization.unwrap() > 0.85, "{codel:?}");
}
