//! Wires that lose packets: shares, books, and what losses do to a sender.

use crate::common::open_loop::open_loop;
use crate::common::{MILLISECOND, SECOND, bulk, link, parse, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::{Results, Simulation};

fn lossy(rate: u64, loss: Value) -> Value {
    let mut link = link("link", rate, "drop-tail", json!({"limit": 100_000}));
    link["loss"] = loss;
    link
}

fn bernoulli(probability: f64) -> Value {
    json!({"model": "bernoulli", "probability": probability})
}

fn constant(loss: Value) -> Results {
    // 1000 packets per second.
    let flow = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 8e6}));
    simulate(&scenario(1000.0, &[lossy(10_000_000, loss)], &[flow]), 1)
}

#[test]
fn losses_are_counted_apart_from_drops_and_take_their_time_on_the_link() {
    for (probability, tolerance) in [(0.0, 0.0), (0.01, 0.0005), (0.3, 0.002), (1.0, 0.0)] {
        let results = constant(bernoulli(probability));
        let total = &results.links["link"].spans.total;
        assert_eq!(total.drops, 0);
        assert!((total.loss_rate.unwrap() - probability).abs() <= tolerance, "{total:?}");
        assert!((total.utilization.unwrap() - 0.8).abs() < 1e-4);
        let goodput = results.flows["open-loop"].total.goodput_bit_per_s.unwrap().total;
        let kept = (total.packets_forwarded - total.losses) as f64;
        // Up to 60 packets are still on their way at the end.
        assert!((goodput / 8.0 - kept).abs() <= 60.0, "{goodput} {kept}");
        assert_eq!(results.links["link"].ledger.losses, total.losses);
    }
}

#[test]
fn gilbert_elliott_loses_its_share_through_the_engine() {
    let results = constant(json!({"model": "gilbert-elliott", "good_to_bad": 0.01,
        "bad_to_good": 0.1, "loss_in_good": 0.001, "loss_in_bad": 0.4}));
    let expected = (0.01 * 0.4 + 0.1 * 0.001) / 0.11;
    let rate = results.links["link"].spans.total.loss_rate.unwrap();
    assert!((rate / expected - 1.0).abs() < 0.03, "{rate} against {expected}");
}

#[test]
fn a_wire_that_loses_everything_lets_no_connection_begin() {
    let flow = bulk("flow", 3, &["link"], "newreno", json!({}));
    let results = simulate(&scenario(20.0, &[lossy(10_000_000, bernoulli(1.0))], &[flow]), 1);
    assert_eq!(results.flows["flow"].total.goodput_bit_per_s.unwrap().total, 0.0);
    assert!(results.flows["flow"].total.timeouts > 0);
    assert_eq!(results.links["link"].spans.total.loss_rate, Some(1.0));
}

#[test]
fn a_change_begins_and_ends_losses_and_rates_may_change_meanwhile() {
    let flow = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 8e6}));
    let mut network = scenario(30.0, &[lossy(10_000_000, Value::Null)], &[flow]);
    network["changes"] = json!([
        {"at_ns": 10 * SECOND, "link": "link", "loss": bernoulli(0.5)},
        // A second's packets wait, half of which will be lost, when the rate changes.
        {"at_ns": 10 * SECOND, "link": "link", "rate_bit_per_s": 1_000_000},
        {"at_ns": 11 * SECOND, "link": "link", "rate_bit_per_s": 40_000_000},
        {"at_ns": 20 * SECOND, "link": "link", "loss": bernoulli(0.0)},
    ]);
    let results = simulate(&network, 1);
    let rates: Vec<_> = results.links["link"]
        .spans
        .phases
        .iter()
        .map(|phase| (phase.start_s, phase.loss_rate.unwrap()))
        .collect();
    assert_eq!(rates[0], (0.0, 0.0));
    assert!((rates[2].1 - 0.5).abs() < 0.02, "{rates:?}");
    assert_eq!(rates[3], (20.0, 0.0));
    let delivered = results.flows["open-loop"].total.goodput_bit_per_s.unwrap().total * 30.0 / 8e3;
    let total = &results.links["link"].spans.total;
    let kept = (total.packets_forwarded - total.losses) as f64;
    assert!((kept - delivered).abs() <= 60.0, "{kept} {delivered}");
}

/// Packets per second of one flow that only random losses hold back, over a round trip of 100 ms.
fn rate_under_loss(sender: &str, probability: f64, parameters: &Value) -> f64 {
    let mut options = json!({"window_cap": 100_000});
    options.as_object_mut().unwrap().extend(parameters.as_object().unwrap().clone());
    let mut flow = bulk("flow", 20, &["link"], sender, options);
    flow["rtt_ns"] = json!(100 * MILLISECOND);
    let mut network = scenario(400.0, &[lossy(10_000_000_000, bernoulli(probability))], &[flow]);
    network["warm_up_ns"] = json!(20 * SECOND);
    let results = simulate(&network, 1);
    results.flows["flow"].total.goodput_bit_per_s.unwrap().of_flows.unwrap().mean / 8000.0
}

#[test]
fn the_square_root_law_holds_over_a_lossy_link() {
    // Mathis et al. 1997: sqrt(3 / (2 b p)) packets per round trip, for Bernoulli losses up to
    // 1.31 / 1.22 of it.
    for (probability, expected, delayed) in
        [(0.001, 387.3, 273.9), (0.005, 173.2, 122.5), (0.01, 122.5, 86.6)]
    {
        let rate = rate_under_loss("newreno", probability, &json!({}));
        assert!((rate / expected - 1.0).abs() < 0.2, "{rate} against {expected}");
        let options = json!({"delayed_acknowledgements": true});
        let rate = rate_under_loss("newreno", probability, &options);
        assert!((rate / delayed - 1.0).abs() < 0.2, "{rate} against {delayed}");
    }
}

#[test]
fn reno_follows_padhye_into_the_region_of_timeouts() {
    // Padhye, Firoiu, Towsley, Kurose 1998, the full model, b = 1, R = 0.1 s, T0 = 0.4 s.
    for (probability, expected) in
        [(0.001, 381.6), (0.005, 164.0), (0.01, 111.0), (0.02, 72.5), (0.05, 37.9), (0.1, 21.1)]
    {
        let rate = rate_under_loss("reno", probability, &json!({"minimum_timeout": 0.4}));
        println!("{probability}: {rate} against {expected}");
        assert!((rate / expected - 1.0).abs() < 0.25, "{probability}: {rate} against {expected}");
    }
}

#[test]
fn what_is_no_probability_is_refused() {
    for (loss, field) in [
        (bernoulli(1.5), "links.link.loss.probability"),
        (
            json!({"model": "gilbert-elliott", "good_to_bad": 0.1, "bad_to_good": -0.1,
                "loss_in_good": 0.0, "loss_in_bad": 1.0}),
            "links.link.loss.bad_to_good",
        ),
    ] {
        let flow = bulk("flow", 1, &["link"], "reno", json!({}));
        let network = scenario(1.0, &[lossy(1_000_000, loss)], &[flow]);
        assert_eq!(Simulation::new(parse(&network), 1).unwrap_err().field, field);
    }
}
