//! Conservation and Little's law for every discipline and every sender, on networks of every shape.
//! The laws themselves are in `crate::common::assert_laws`, which every simulation of every test passes.

use crate::common::limits::buffer;
use crate::common::open_loop::open_loop;
use crate::common::{MILLISECOND, SECOND, bulk, link, scenario, simulate};
use serde_json::json;
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_tcp::registry::Profile;

#[test]
fn every_discipline_with_every_sender() {
    for discipline in ALGORITHMS {
        for sender in Profile::algorithms() {
            for mut options in [
                json!({}),
                json!({"ecn": true}),
                json!({"delayed_acknowledgements": true, "loss_window": "flight-size"}),
            ] {
                if sender.parameters.iter().any(|parameter| parameter.name == "max_rate") {
                    // A rate without marks is a parameter of the network, here 1.9 times a flow's
                    // share; by default it is the whole capacity of a link, which twelve flows keep
                    // up against any queue that drops.
                    options["max_rate"] = json!(200);
                }
                let mut network = scenario(
                    30.0,
                    &[link("bottleneck", 10_000_000, discipline.name, buffer(discipline.name, 60))],
                    &[bulk("flows", 12, &["bottleneck"], sender.name, options)],
                );
                // The common slow start and what follows from it are left out: some disciplines
                // take its losses for the load for seconds.
                network["warm_up_ns"] = json!(20 * SECOND);
                let results = simulate(&network, 1);
                let whole = &results.links["bottleneck"].ledger;
                let utilization = results.links["bottleneck"].spans.total.utilization.unwrap();
                assert!(utilization > 0.6, "{} {} {utilization}", discipline.name, sender.name);
                assert!(whole.drops + whole.marks > 0, "{} {}", discipline.name, sender.name);
            }
        }
    }
}

#[test]
fn several_links_loaded_return_paths_and_changes() {
    let mut network = scenario(
        20.0,
        &[
            link("first", 10_000_000, "red", json!({})),
            link("second", 8_000_000, "drop-tail", json!({"limit": 50})),
            link("back", 1_000_000, "adaptive-red", json!({})),
        ],
        &[
            bulk("through", 6, &["first", "second"], "newreno", json!({})),
            bulk("one-hop", 4, &["second"], "reno", json!({"delayed_acknowledgements": true})),
            bulk("against", 3, &["back"], "newreno", json!({})),
            open_loop("second", json!({"kind": "poisson", "rate_bit_per_s": 1e6})),
        ],
    );
    network["flows"][0]["return_path"] = json!(["back"]);
    network["flows"][1]["stop_ns"] = json!([12 * SECOND, 13 * SECOND]);
    network["changes"] = json!([
        {"at_ns": 4 * SECOND, "link": "second", "rate_bit_per_s": 3_000_000},
        {"at_ns": 8 * SECOND, "link": "second", "rate_bit_per_s": 30_000_000},
        {"at_ns": 9 * SECOND, "link": "first", "delay_ns": MILLISECOND},
        {"at_ns": 15 * SECOND, "link": "first", "queue": {"max_threshold": 40, "limit": 70}},
    ]);
    for seed in 0..5 {
        let results = simulate(&network, seed);
        assert!(results.links["back"].spans.total.arrivals > 1000);
        let goodput = results.flows["through"].total.goodput_bit_per_s.unwrap();
        assert!(goodput.total > 1e6, "{goodput:?}");
    }
}

#[test]
fn a_packet_crosses_each_link_of_its_path_once() {
    // A window of 100 packets, and the end comes before any acknowledgement.
    let links = ["first", "second", "third"];
    let mut network = scenario(
        2.0,
        &links.map(|name| link(name, 10_000_000, "drop-tail", json!({"limit": 1000}))),
        &[bulk(
            "one",
            1,
            &links,
            "newreno",
            json!({"handshake": false, "initial_window": 100, "window_cap": 100}),
        )],
    );
    network["flows"][0]["start_ns"] = json!([0, 0]);
    network["flows"][0]["rtt_ns"] = json!(3_000 * MILLISECOND);
    let results = simulate(&network, 1);
    for name in links {
        assert_eq!(results.links[name].ledger.forwarded, 100, "{name}");
    }
}

#[test]
fn a_change_of_rate_retimes_what_waits() {
    // 100 packets of 1000 bytes fill the queue at 1 Mbit/s (8 ms each); at 50 ms the link becomes
    // ten times as fast. Six packets have left by then and the seventh is a quarter sent.
    let mut network = scenario(
        1.0,
        &[link("link", 1_000_000, "drop-tail", json!({"limit": 1000}))],
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
    network["changes"] = json!([{"at_ns": 750 * MILLISECOND + 50 * MILLISECOND - 2_500_000, "link": "link",
            "rate_bit_per_s": 10_000_000}]);
    // Access delay is 2990 ms; data reaches the queue after a quarter of it, 747.5 ms.
    let results = simulate(&network, 1);
    let total = &results.links["link"].spans.total;
    assert_eq!(total.packets_forwarded, 100);
    // Six waits of 8 ms steps, then the seventh ends at 50 + 0.75 * 0.8 = 50.6 ms, then 0.8 ms.
    let waits: f64 =
        (0..100)
            .map(|packet| {
                if packet < 7 {
                    f64::from(packet) * 8.0
                } else {
                    50.6 + f64::from(packet - 7) * 0.8
                }
            })
            .sum();
    let measured = total.sojourn_ms.unwrap().mean * 100.0;
    assert!((measured - waits).abs() < 1e-3, "{measured} against {waits}");
}
