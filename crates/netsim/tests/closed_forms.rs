//! Cases with known answers: queues fed by Poisson traffic, and toy networks worked out by hand.

use crate::common::open_loop::open_loop;
use crate::common::{MILLISECOND, SECOND, bulk, link, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::results::LinkMetrics;

/// Rate at which a packet of 1000 bytes takes a millisecond.
const RATE: u64 = 8_000_000;

fn poisson(load: f64, size: &str) -> Value {
    open_loop(
        "link",
        json!({"kind": "poisson", "rate_bit_per_s": load * RATE as f64, "packet_size": size}),
    )
}

fn measure(duration_s: f64, limit: u64, flows: &[Value]) -> LinkMetrics {
    let queue = link("link", RATE, "drop-tail", json!({"limit": limit}));
    simulate(&scenario(duration_s, &[queue], flows), 1).links["link"].spans.total.clone()
}

#[track_caller]
fn assert_near(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance * expected,
        "{measured} is not within {tolerance} of {expected}"
    );
}

#[test]
fn waiting_in_an_m_m_1_queue() {
    // Mean wait over mean service time: rho / (1 - rho).
    for (load, waits) in [(0.5, 1.0), (0.8, 4.0), (0.9, 9.0)] {
        let total = measure(10_000.0, 1_000_000, &[poisson(load, "exponential")]);
        assert_near(total.sojourn_ms.unwrap().mean, waits, 0.05);
        assert_near(total.utilization.unwrap(), load, 0.01);
        // Packets waiting: Lq = rho^2 / (1 - rho).
        assert_near(total.queue_packets.unwrap().mean, load * load / (1.0 - load), 0.05);
    }
}

#[test]
fn waiting_in_an_m_d_1_queue() {
    for (load, waits) in [(0.5, 0.5), (0.8, 2.0), (0.9, 4.5), (0.95, 9.5)] {
        let total = measure(10_000.0, 1_000_000, &[poisson(load, "constant")]);
        assert_near(total.sojourn_ms.unwrap().mean, waits, 0.05);
    }
}

#[test]
fn loss_in_an_m_m_1_k_queue() {
    // K counts the packet in service, the limit of a queue does not.
    for (load, places, loss) in [
        (0.8, 5, 0.088_819),
        (0.9, 10, 0.050_814),
        (1.0, 10, 0.090_909),
        (1.2, 10, 0.192_586),
        (0.5, 3, 0.066_667),
    ] {
        let total = measure(3_000.0, places - 1, &[poisson(load, "exponential")]);
        assert_near(total.drop_rate.unwrap(), loss, 0.03);
    }
}

#[test]
fn constant_traffic_at_twice_the_capacity_loses_half_and_pins_the_queue() {
    let flow = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 2 * RATE}));
    let mut network =
        scenario(100.0, &[link("link", RATE, "drop-tail", json!({"limit": 50}))], &[flow]);
    network["warm_up_ns"] = json!(SECOND);
    let total = simulate(&network, 1).links["link"].spans.total.clone();
    assert_near(total.drop_rate.unwrap(), 0.5, 0.001);
    let queue = total.queue_packets.unwrap();
    assert!(queue.mean > 49.0 && queue.max == 50.0, "{queue:?}");
    assert_near(total.sojourn_ms.unwrap().mean, 49.75, 0.01);
    assert_near(total.utilization.unwrap(), 1.0, 1e-9);
}

#[test]
fn constant_traffic_below_capacity_never_waits() {
    let flow =
        open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 0.99 * RATE as f64}));
    let total = measure(100.0, 50, &[flow]);
    assert_eq!(total.drops, 0);
    assert!(total.queue_packets.unwrap().max <= 1.0);
}

/// One bulk flow of at most `window` segments over a round trip of 100 ms.
fn capped(window: u32, options: &Value) -> Value {
    let mut parameters = json!({"window_cap": window});
    parameters.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let mut flow = bulk("flow", 1, &["link"], "newreno", parameters);
    flow["rtt_ns"] = json!(99 * MILLISECOND); // and a millisecond of transmission
    flow
}

fn run_capped(window: u32, queue: Value, options: &Value) -> (LinkMetrics, f64) {
    let mut network = scenario(60.0, &[queue], &[capped(window, options)]);
    network["warm_up_ns"] = json!(20 * SECOND);
    let results = simulate(&network, 1);
    let goodput = results.flows["flow"].total.goodput_bit_per_s.unwrap().total;
    (results.links["link"].spans.total.clone(), goodput)
}

#[test]
fn a_window_below_the_pipe_sends_a_window_per_round_trip() {
    let queue = link("link", RATE, "drop-tail", json!({"limit": 1000}));
    let (_, goodput) = run_capped(20, queue, &json!({}));
    assert_near(goodput, 20.0 * 8000.0 / 0.1, 0.005);
}

#[test]
fn a_window_above_the_pipe_leaves_the_rest_standing_in_the_queue() {
    // 100 packets fill the pipe of 100 ms; 125 leave 25 in the queue, whatever the round trip.
    let queue = link("link", RATE, "drop-tail", json!({"limit": 1000}));
    let (total, goodput) = run_capped(125, queue, &json!({}));
    assert_near(total.queue_packets.unwrap().mean, 25.0, 0.001);
    assert_near(goodput, RATE as f64, 0.001);
    assert_eq!(total.drops, 0);
}

#[test]
fn a_red_queue_that_never_drops_early_is_a_drop_tail_queue() {
    let never = json!({"min_threshold": 1e6, "max_threshold": 1e7, "limit": 30});
    let (red, _) = run_capped(1000, link("link", RATE, "red", never), &json!({}));
    let tail = link("link", RATE, "drop-tail", json!({"limit": 30}));
    let (tail, _) = run_capped(1000, tail, &json!({}));
    assert_eq!(red.packets_forwarded, tail.packets_forwarded);
    assert_eq!(red.queue_packets, tail.queue_packets);
    assert_eq!(red.overflow_drops, tail.drops);
}

#[test]
fn small_buffers_cost_a_single_flow_a_quarter_of_the_link() {
    // A sawtooth between half and full pipe: three quarters on average as the buffer vanishes, and
    // all of it with a buffer of one bandwidth-delay product.
    let sawtooth = |limit: u32| {
        let queue = link("link", RATE, "drop-tail", json!({"limit": limit}));
        let mut network = scenario(300.0, &[queue], &[capped(10_000, &json!({}))]);
        network["warm_up_ns"] = json!(50 * SECOND);
        simulate(&network, 1).links["link"].spans.total.utilization.unwrap()
    };
    assert_near(sawtooth(1), 0.75, 0.05);
    assert_near(sawtooth(110), 1.0, 0.005);
}

#[test]
fn a_burst_drains_at_the_rate_of_the_link() {
    // 50 packets at once: the k-th waits for the k before it, a millisecond each.
    let mut flow = capped(50, &json!({"handshake": false, "initial_window": 50}));
    flow["rtt_ns"] = json!(900 * MILLISECOND);
    flow["start_ns"] = json!([0, 0]);
    let queue = link("link", RATE, "drop-tail", json!({"limit": 100}));
    let total = simulate(&scenario(0.9, &[queue], &[flow]), 1).links["link"].spans.total.clone();
    assert_eq!(total.packets_forwarded, 50);
    assert_near(total.sojourn_ms.unwrap().mean, 24.5, 1e-6);
    assert_eq!(total.queue_packets.unwrap().max, 49.0);
}
