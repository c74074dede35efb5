//! Linux's RED drops all packets that wait when its settings change, unless asked to keep them.

use crate::common::open_loop::open_loop;
use crate::common::{MILLISECOND, SECOND, bulk, link, scenario, simulate};
use serde_json::{Value, json};

/// 2000 packets of 1000 bytes in a second in front of a link that sends 1000, and a queue so large that
/// none is dropped. At 1 s the queue is set anew.
fn flood(change: Value) -> Value {
    let parameters = json!({
        "limit": 1_000_000_000,
        "min_threshold": 8_000_000,
        "max_threshold": 16_000_000,
        "weight_log": 1,
    });
    let source = json!({"kind": "constant-rate", "rate_bit_per_s": 16e6});
    let queue = link("link", 8_000_000, "linux-red", parameters);
    let mut network = scenario(2.0, &[queue], &[open_loop("link", source)]);
    network["flows"][0]["packet_size_bytes"] = json!(1000);
    // No way to the link: packets come from the start on.
    network["flows"][0]["rtt_ns"] = json!(10 * MILLISECOND);
    network["changes"] = json!([{"at_ns": SECOND, "link": "link", "queue": change}]);
    network
}

/// Packets dropped, packets sent and the longest queue.
fn outcome(network: &Value) -> (u64, u64, f64) {
    let total = simulate(network, 1).links["link"].spans.total.clone();
    let queue = total.queue_packets.expect("there was a queue");
    (total.drops, total.packets_forwarded, queue.max)
}

#[test]
fn a_change_drops_what_waits_and_the_link_goes_on() {
    // After a second 2000 have come, 1000 have been sent, and all but the one in transmission wait.
    let (drops, forwarded, longest) = outcome(&flood(json!({"max_probability": 0.1})));
    assert!((998..=1000).contains(&drops), "{drops}");
    assert!((1999..=2001).contains(&forwarded), "{forwarded}");
    assert!((998.0..=1001.0).contains(&longest), "{longest}");
}

#[test]
fn asked_to_keep_packets_it_keeps_them() {
    let change = json!({"max_probability": 0.1, "keep_packets": true});
    let (drops, forwarded, longest) = outcome(&flood(change));
    assert_eq!(drops, 0);
    assert!((1999..=2001).contains(&forwarded), "{forwarded}");
    assert!((1998.0..=2001.0).contains(&longest), "{longest}");
}

#[test]
fn settings_that_are_in_force_already_drop_nothing() {
    assert_eq!(outcome(&flood(json!({"weight_log": 1}))).0, 0);
}

#[test]
fn other_disciplines_keep_their_packets() {
    let mut network = flood(json!({"limit": 50_000}));
    network["links"][0]["queue"] =
        json!({"discipline": "drop-tail", "parameters": {"limit": 40_000}});
    assert_eq!(outcome(&network).0, 0);
}

#[test]
fn the_link_goes_on_by_its_schedule_or_its_trace_too() {
    let change = || flood(json!({"max_probability": 0.1}));
    let mut scheduled = change();
    scheduled["links"][0]["rate_schedule"] = json!({"steps": [[0, 8_000_000]]});
    let mut traced = change();
    traced["links"][0]["trace"] = json!({"opportunities_ns": [MILLISECOND], "bytes": 1000});
    for (network, kind) in [(scheduled, "a schedule"), (traced, "a trace")] {
        let (drops, forwarded, _) = outcome(&network);
        assert!((997..=1001).contains(&drops), "{kind}: {drops}");
        assert!((1998..=2001).contains(&forwarded), "{kind}: {forwarded}");
    }
}

#[test]
fn senders_repair_what_was_dropped_on_their_way_and_on_the_way_back() {
    // Every second the queues of both ways are emptied, on a wire that loses packets; the laws of
    // conservation are checked in every run.
    for seed in 0..4 {
        let parameters = json!({"limit": 60_000, "max_threshold": 60_000, "weight_log": 3});
        let queue = |name, rate| link(name, rate, "linux-red", parameters.clone());
        let mut network = scenario(
            120.0,
            &[queue("there", 8_000_000), queue("back", 1_000_000)],
            &[
                bulk("both-ways", 8, &["there"], "sack", json!({})),
                bulk("against", 2, &["back"], "newreno", json!({})),
            ],
        );
        network["flows"][0]["traffic"] = json!({"kind": "transfer", "size_bytes": 250_000});
        network["flows"][0]["return_path"] = json!(["back"]);
        network["links"][0]["loss"] = json!({"model": "bernoulli", "probability": 0.01});
        let changes: Vec<_> = (1..30_u32)
            .flat_map(|second| {
                let probability = 0.01 * f64::from(second);
                ["there", "back"].map(|name| {
                    json!({
                        "at_ns": u64::from(second) * SECOND,
                        "link": name,
                        "queue": {"max_probability": probability},
                    })
                })
            })
            .collect();
        network["changes"] = json!(changes);
        let results = simulate(&network, seed);
        // 250 kilobytes each, 2 seconds of the link in all.
        let transfers =
            results.flows["both-ways"].total.transfers.as_ref().expect("they are finite");
        assert_eq!(transfers.completed, 8, "seed {seed}: {transfers:?}");
    }
}

#[test]
fn settings_that_are_in_force_already_change_nothing_after_a_change_of_rate_either() {
    let queue = link("link", 10_000_000, "linux-red", json!({"limit": 300_000}));
    let flows = bulk("flows", 10, &["link"], "sack", json!({}));
    let network = scenario(8.0, &[queue], &[flows]);
    let rate = json!({"at_ns": 3 * SECOND, "link": "link", "rate_bit_per_s": 9_000_000});
    let same = json!({"at_ns": 5 * SECOND, "link": "link", "queue": {"limit": 300_000}});
    let with = |changes: &[&Value]| {
        let mut network = network.clone();
        network["changes"] = json!(changes);
        let total = simulate(&network, 1).links["link"].spans.total.clone();
        let average = total.average_queue_packets.expect("RED has an average");
        (total.drops, total.marks, total.packets_forwarded, average.mean, average.max)
    };
    assert_eq!(with(&[&rate, &same]), with(&[&rate]));
}
