//! BBR on simulated networks: what it does to queues that other senders fill.

use crate::common::{SECOND, bulk, link, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::results::LinkMetrics;

/// 10 Mbit/s, 60 ms and packets of 1000 bytes: 75 of them fill the path.
const FULL: f64 = 75.0;

fn queue(sender: &str, flows: u32, limit: u32, options: Value) -> LinkMetrics {
    let link = link("link", 10_000_000, "drop-tail", json!({"limit": limit}));
    let mut network = scenario(60.0, &[link], &[bulk("flows", flows, &["link"], sender, options)]);
    network["warm_up_ns"] = json!(10 * SECOND);
    simulate(&network, 1).links["link"].spans.total.clone()
}

#[test]
fn a_deep_queue_stays_short_that_loss_based_senders_fill() {
    let bbr = queue("bbr", 1, 600, json!({}));
    assert!(bbr.utilization.unwrap() > 0.95, "{bbr:?}");
    assert!(bbr.queue_packets.unwrap().mean < 0.25 * FULL, "{bbr:?}");
    assert_eq!(bbr.drops, 0);
    let sack = queue("sack", 1, 600, json!({}));
    assert!(sack.queue_packets.unwrap().mean > 4.0 * FULL, "{sack:?}");
}

#[test]
fn several_flows_hold_no_more_than_as_much_again_as_fills_the_path() {
    // Each has a window of twice what it believes to be its share, 2.25 times while probing.
    for flows in [2, 4] {
        let bbr = queue("bbr", flows, 600, json!({}));
        assert!(bbr.utilization.unwrap() > 0.95, "{bbr:?}");
        let queue = bbr.queue_packets.unwrap();
        assert!(queue.mean < 1.5 * FULL && queue.p99 < 2.5 * FULL, "{flows}: {queue:?}");
    }
}

#[test]
fn marks_keep_a_queue_short_without_a_loss() {
    let network = |ecn: bool| {
        let link = link("link", 10_000_000, "red", json!({"limit": 600}));
        let mut flows = bulk("flows", 4, &["link"], "bbr", json!({"ecn": ecn}));
        flows["stop_ns"] = json!([20 * SECOND, 30 * SECOND]);
        simulate(&scenario(40.0, &[link], &[flows]), 1).links["link"].spans.total.clone()
    };
    let (with, without) = (network(true), network(false));
    assert!(with.marks > 0 && without.marks == 0, "{with:?} {without:?}");
    assert!(with.drops == 0 && without.drops > 1000, "{with:?} {without:?}");
    assert!(with.queue_packets.unwrap().mean < 0.25 * FULL, "{with:?}");
}
