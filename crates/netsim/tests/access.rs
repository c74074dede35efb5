//! Access links with a rate, against calculations by hand.

use crate::common::open_loop::open_loop;
use crate::common::{MILLISECOND, bulk, link, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::results::LinkMetrics;

/// One flow that sends `window` packets of 1000 bytes at once and then `window` per round trip.
fn bursts(window: u32, access_rate: u64) -> Value {
    let options = json!({"handshake": false, "initial_window": window, "window_cap": window});
    let mut flow = bulk("flow", 1, &["link"], "newreno", options);
    flow["rtt_ns"] = json!(900 * MILLISECOND);
    flow["start_ns"] = json!([0, 0]);
    flow["access_rate_bit_per_s"] = json!(access_rate);
    flow
}

fn first_burst(access_rate: u64, link_rate: u64) -> LinkMetrics {
    let queue = link("link", link_rate, "drop-tail", json!({"limit": 100}));
    let network = scenario(0.9, &[queue], &[bursts(50, access_rate)]);
    let total = simulate(&network, 1).links["link"].spans.total.clone();
    assert_eq!(total.packets_forwarded, 50);
    total
}

#[test]
fn behind_an_access_link_the_ith_of_a_burst_waits_for_the_difference_of_the_rates() {
    // A millisecond on the access link, two on the link: (i - 1) * (2 - 1) ms.
    let total = first_burst(8_000_000, 4_000_000);
    let wait = total.sojourn_ms.unwrap();
    assert!((wait.mean - 24.5).abs() < 1e-6, "{wait:?}");
    assert!((wait.max - 49.0).abs() < 1.0, "{wait:?}");
    // The last arrives at 49 ms, when the 25th begins: 25 wait or begin just then.
    let queue = total.queue_packets.unwrap();
    assert!((24.0..=25.0).contains(&queue.max), "{queue:?}");
}

#[test]
fn behind_a_slower_access_link_nothing_waits() {
    let total = first_burst(4_000_000, 8_000_000);
    assert_eq!(total.sojourn_ms.unwrap().max, 0.0);
    // 50 transmissions of 1 ms every 2 ms.
    assert!((total.utilization.unwrap() - 50.0 / 900.0).abs() < 1e-9);
}

#[test]
fn the_round_trip_grows_by_every_transmission_on_access_links() {
    // 100 ms; 2 * 10 ms for data and 2 * 0.4 ms for acknowledgements at 0.8 Mbit/s; 1 ms on the
    // link: 121.8 ms for each window of one packet, with and without a return path.
    for (delayed, loaded_return) in [(false, false), (true, false), (false, true)] {
        let mut flow = bursts(1, 800_000);
        flow["sender"]["parameters"]["handshake"] = json!(true);
        flow["rtt_ns"] = json!(100 * MILLISECOND);
        let mut round_trip: f64 = 0.1218;
        if delayed {
            // The receiver waits 100 ms for a second packet that never comes.
            flow["sender"]["parameters"]["delayed_acknowledgements"] = json!(true);
            round_trip += 0.1;
        }
        if loaded_return {
            flow["return_path"] = json!(["back"]);
            round_trip += 40.0 * 8.0 / 1e6;
        }
        let links = [
            link("link", 8_000_000, "drop-tail", json!({"limit": 100})),
            link("back", 1_000_000, "drop-tail", json!({"limit": 100})),
        ];
        let results = simulate(&scenario(100.0, &links, &[flow]), 1);
        let expected = (100.0 / round_trip).floor();
        let sent = results.links["link"].spans.total.packets_forwarded as f64;
        assert!((sent - expected).abs() <= 2.0, "{sent} against {expected}");
    }
}

#[test]
fn open_loop_traffic_is_serialised_too() {
    // Packets of one size at 90 % of the access rate, into a link as fast: all waiting is done on
    // the access link, and none is left for the queue.
    let mut flow = open_loop(
        "link",
        json!({"kind": "poisson", "rate_bit_per_s": 7.2e6, "packet_size": "constant"}),
    );
    let queue = link("link", 8_000_000, "drop-tail", json!({"limit": 100_000}));
    let wait = |flow: &Value| {
        let network = scenario(1000.0, std::slice::from_ref(&queue), std::slice::from_ref(flow));
        simulate(&network, 1).links["link"].spans.total.sojourn_ms.unwrap().mean
    };
    let without = wait(&flow);
    flow["access_rate_bit_per_s"] = json!(8_000_000);
    let with = wait(&flow);
    assert!(without > 4.0, "{without}");
    assert_eq!(with, 0.0);
}

#[test]
fn flows_do_not_share_access_links() {
    // Twenty bursts at once, each over an access link of its own as fast as the link.
    let mut flow = bursts(10, 8_000_000);
    flow["count"] = json!(20);
    let queue = link("link", 8_000_000, "drop-tail", json!({"limit": 1000}));
    let total = simulate(&scenario(0.9, &[queue], &[flow]), 1).links["link"].spans.total.clone();
    assert_eq!(total.packets_forwarded, 200);
    // In the k-th millisecond 20 more come and one leaves: the last twenty come at 9 ms to the 171
    // that are left of 180, one of which is being sent.
    assert_eq!(total.queue_packets.unwrap().max, 190.0);
}

#[test]
fn rates_that_cannot_be_are_refused() {
    let queue = link("link", 8_000_000, "drop-tail", json!({"limit": 100}));
    for (rate, traffic, field) in
        [(0, 1e6, "flows.open-loop.access_rate"), (500_000, 1e6, "flows.open-loop.traffic.rate")]
    {
        let mut flow =
            open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": traffic}));
        flow["access_rate_bit_per_s"] = json!(rate);
        let network = scenario(1.0, std::slice::from_ref(&queue), &[flow]);
        let error =
            vermilion_netsim::Simulation::new(crate::common::parse(&network), 1).unwrap_err();
        assert_eq!(error.field, field);
    }
}
