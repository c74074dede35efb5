//! Acknowledgements that cross links of their own, against calculations by hand.

use crate::common::{MILLISECOND, SECOND, bulk, link, scenario, simulate};
use serde_json::{Value, json};

/// One flow of at most `window` packets over "out", acknowledged over "back", in 100 ms.
fn acknowledged_over_back(window: u32) -> Value {
    let mut flow = bulk("flow", 1, &["out"], "newreno", json!({"window_cap": window}));
    flow["rtt_ns"] = json!(100 * MILLISECOND);
    flow["return_path"] = json!(["back"]);
    flow
}

#[test]
fn acknowledgements_wait_in_the_queue_they_cross() {
    // A window of 125 packets over a pipe of 100 leaves 25 standing before "back", a millisecond
    // each; an acknowledgement finds them and, on average, half a packet in transmission.
    let mut against = bulk("against", 1, &["back"], "newreno", json!({"window_cap": 125}));
    against["rtt_ns"] = json!(99 * MILLISECOND);
    let links = [
        link("out", 8_000_000, "drop-tail", json!({"limit": 1000})),
        link("back", 8_000_000, "drop-tail", json!({"limit": 1000})),
    ];
    let mut network = scenario(60.0, &links, &[acknowledged_over_back(1), against]);
    network["warm_up_ns"] = json!(20 * SECOND);
    let results = simulate(&network, 1);
    assert!((results.links["back"].spans.total.queue_packets.unwrap().mean - 25.0).abs() < 0.5);
    let round_trip = 0.1 + 0.001 + 0.0255 + 0.000_04;
    let rate = results.flows["flow"].total.goodput_bit_per_s.unwrap().total / 8000.0;
    assert!((rate * round_trip - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn later_acknowledgements_stand_in_for_lost_ones() {
    // Half of the acknowledgements are lost. Each covers all before it, so nothing is sent again.
    // The window of 20 soon travels as one burst, of which those at the end that lost theirs wait
    // for the next round: 1/2 + 1/4 + ... = 1 on average, which leaves 19 for a round trip.
    let links = [
        link("out", 80_000_000, "drop-tail", json!({"limit": 1000})),
        link("back", 8_000_000, "drop-tail", json!({"limit": 1000})),
    ];
    let mut network = scenario(120.0, &links, &[acknowledged_over_back(20)]);
    network["warm_up_ns"] = json!(20 * SECOND);
    // The window is open by then.
    let loss = json!({"model": "bernoulli", "probability": 0.5});
    network["changes"] = json!([{"at_ns": 10 * SECOND, "link": "back", "loss": loss}]);
    let results = simulate(&network, 1);
    let (out, back) = (&results.links["out"].spans.total, &results.links["back"].spans.total);
    assert!(back.arrivals.abs_diff(out.packets_forwarded) <= 20);
    assert!((back.loss_rate.unwrap() - 0.5).abs() < 0.02);
    let flow = &results.flows["flow"].total;
    assert_eq!((flow.retransmissions, flow.timeouts), (0, 0));
    let per_round_trip = flow.goodput_bit_per_s.unwrap().total / 8000.0 * 0.10014;
    assert!((per_round_trip - 19.0).abs() < 0.2, "{per_round_trip}");
}

#[test]
fn a_full_queue_on_the_way_back_drops_acknowledgements() {
    // Nothing but acknowledgements crosses "back", which sends one in 10 ms; ten packets come in
    // one round trip of 100 ms and more. With room for two, some of each burst are dropped.
    let links = [
        link("out", 80_000_000, "drop-tail", json!({"limit": 1000})),
        link("back", 32_000, "drop-tail", json!({"limit": 2})),
    ];
    let mut flow = acknowledged_over_back(10);
    let options = json!({"handshake": false, "initial_window": 10, "window_cap": 10});
    flow["sender"]["parameters"] = options;
    flow["start_ns"] = json!([0, 0]);
    // Ten acknowledgements arrive 0.1 ms apart: one is sent, two wait, seven are dropped.
    let results = simulate(&scenario(0.1, &links, &[flow]), 1);
    let back = &results.links["back"].spans.total;
    assert_eq!((back.arrivals, back.drops, back.packets_forwarded), (10, 7, 3));
}
