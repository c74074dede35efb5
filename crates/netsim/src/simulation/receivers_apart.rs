//! Receivers that may wait: with lines of their own for what they answer, and without, all comes out alike.
//!
//! In networks where much happens at one instant: at boundaries of spans, and by one clock of all hosts.

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::Simulation;
use crate::results::Results;

const MILLISECOND: u64 = 1_000_000;

/// The results without the number of events, as text, and that number.
fn results(network: &Value, apart: bool) -> (String, u64) {
    let scenario = serde_json::from_value(network.clone()).expect("it can be read");
    let mut simulation = Simulation::new(scenario, 1).expect("it can be");
    if apart {
        simulation.part_receivers();
    }
    assert_ne!(simulation.some_wait, apart);
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    let results = simulation.conclude(true);
    let events = results.events;
    let text = serde_json::to_string(&Results { events: 0, ..results });
    (text.expect("they are JSON"), events)
}

/// Some flows over a path of links, with one base round trip or several, in nanoseconds.
fn flows(name: &str, count: u32, path: &[&str], round_trips: &Value, sender: &Value) -> Value {
    json!({"name": name, "count": count, "path": path, "rtt_ns": round_trips, "start_ns": [0, 0],
        "ack_size_bytes": 1500, "packet_size_bytes": 1500, "sender": sender})
}

/// Links on which a packet takes a millisecond, and flows over them, for so many milliseconds.
fn network(links: &[&str], limit: u32, flows: &[Value], duration: u64) -> Value {
    let link = |name: &&str| {
        json!({"name": name, "rate_bit_per_s": 12_000_000, "delay_ns": 0,
            "queue": {"discipline": "drop-tail", "parameters": {"limit": limit}}})
    };
    json!({"duration_ns": duration * MILLISECOND, "warm_up_ns": 0, "settle_ns": 0,
        "links": links.iter().map(link).collect::<Vec<_>>(), "flows": flows})
}

#[test]
fn what_has_been_delivered_is_what_receivers_have_at_that_instant() {
    let sender = json!({"congestion_control": "newreno", "parameters": {
        "delayed_acknowledgements": true, "minimum_timeout": 0.2}});
    let endless = flows("endless", 2, &["link"], &json!(20 * MILLISECOND), &sender);
    let mut short = flows("short", 2, &["link"], &json!(12 * MILLISECOND), &sender);
    short["traffic"] = json!({"kind": "transfer", "size_bytes": 9000});
    let mut network = network(&["link"], 6, &[endless, short], 120);
    let mut seen = Vec::new();
    for warm_up in 1..120 {
        network["warm_up_ns"] = json!(warm_up * MILLISECOND);
        let [together, apart] = [false, true].map(|apart| results(&network, apart));
        assert!(together.1 < apart.1, "{} and {} events", together.1, apart.1);
        assert_eq!(together.0, apart.0, "from {warm_up} ms on");
        seen.push(together.0);
    }
    seen.dedup();
    assert!(seen.len() > 50, "{}", seen.len());
}

#[test]
fn of_flows_to_be_served_at_one_instant_the_same_one_is_first() {
    let one = json!(28 * MILLISECOND);
    let several = json!([20, 40, 80, 160].map(|it| it * MILLISECOND));
    let links = ["a", "b", "c"];
    for tick in [0.001, 0.004, 0.01] {
        let sender = json!({"congestion_control": "sack", "parameters": {
            "option_set": "linux", "shared_clock": true, "timer_tick": tick, "window_cap": 60}});
        let alone =
            |limit| network(&["a"], limit, &[flows("all", 11, &["a"], &several, &sender)], 9000);
        let mut row = vec![flows("through", 3, &links, &one, &sender)];
        for link in links {
            row.push(flows(&format!("over {link}"), 2, &[link], &one, &sender));
        }
        row.push(flows("others", 4, &["b", "c"], &several, &sender));
        // Of no more delay than the links: then acknowledgements take no time.
        let mut no_way_back = vec![flows("through", 6, &links, &json!(30 * MILLISECOND), &sender)];
        for link in links {
            no_way_back.push(flows(link, 5, &[link], &json!(10 * MILLISECOND), &sender));
        }
        let mut no_way_back = network(&links, 7, &no_way_back, 20_000);
        for link in 0..links.len() {
            no_way_back["links"][link]["delay_ns"] = json!(10 * MILLISECOND);
        }
        for network in [alone(5), alone(20), no_way_back, network(&links, 7, &row, 9000)] {
            let [together, apart] = [false, true].map(|apart| results(&network, apart));
            assert!(together.1 < apart.1);
            assert_eq!(together.0, apart.0, "ticks of {tick} s");
        }
    }
}
