//! Links behind which packets take different times: whatever else waits there, all packets arrive.

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use vermilion_netsim::Simulation;

/// Flows over a link, with access links of their own or without, and acknowledgements over such a link or beside it.
fn network(discipline: &str, access: bool, back: bool) -> Value {
    let link = |name: &str| {
        json!({"name": name, "rate_bit_per_s": 10_000_000, "delay_ns": 5_000_000,
            "queue": {"discipline": discipline},
            "air": {"jitter_ns": {"distribution": "exponential", "mean": 2e6},
                "reordering": {"probability": 0.05, "delay_ns": 4_000_000},
                "aggregation_ns": 1_000_000}})
    };
    let mut flows = json!({"name": "f", "count": 3, "path": ["a"], "rtt_ns": 40_000_000,
        "start_ns": [0, 0], "traffic": {"kind": "transfer", "size_bytes": 300_000},
        "sender": {"congestion_control": "sack",
            "parameters": {"delayed_acknowledgements": true}}});
    if access {
        flows["access_rate_bit_per_s"] = json!(50_000_000);
    }
    if back {
        flows["return_path"] = json!(["b"]);
    }
    json!({"duration_ns": 20_000_000_000_u64, "warm_up_ns": 0, "settle_ns": 0,
        "links": [link("a"), link("b")], "flows": [flows]})
}

#[test]
fn everything_arrives_whatever_else_waits() {
    for discipline in ["drop-tail", "fq-codel"] {
        for (access, back) in [(false, false), (true, false), (false, true), (true, true)] {
            let scenario = serde_json::from_value(network(discipline, access, back)).unwrap();
            let mut simulation = Simulation::new(scenario, 1).unwrap();
            simulation.run(&AtomicBool::new(false)).unwrap();
            let results = serde_json::to_value(simulation.results(true)).unwrap();
            let flows = &results["flows"]["f"]["total"];
            assert_eq!(flows["completed"], 3, "{discipline}, {access}, {back}: {flows}");
        }
    }
}
