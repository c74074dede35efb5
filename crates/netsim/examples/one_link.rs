//! A network of one link, simulated: `cargo run --release --example one_link`.

use std::sync::atomic::AtomicBool;

use vermilion_netsim::{Scenario, Simulation};

const SCENARIO: &str = r#"{
    "duration_ns": 20000000000, "warm_up_ns": 5000000000, "settle_ns": 5000000000,
    "links": [{
        "name": "bottleneck", "rate_bit_per_s": 10000000, "delay_ns": 10000000,
        "queue": {"discipline": "red", "parameters": {"limit": 100}}
    }],
    "flows": [{
        "name": "all", "count": 16, "path": ["bottleneck"], "rtt_ns": 40000000,
        "sender": {"congestion_control": "newreno"}, "start_ns": [0, 1000000000]
    }]
}"#;

/// Runs it with one seed and prints what its users would ask first.
pub fn main() {
    let scenario: Scenario = serde_json::from_str(SCENARIO).expect("the scenario is valid");
    let mut simulation = Simulation::new(scenario, 1).expect("its values are accepted");
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels it");
    let results = serde_json::to_value(simulation.into_results(false)).expect("plain numbers");
    let total = &results["links"]["bottleneck"]["total"];
    println!("utilisation {}", total["utilization"]);
    println!("mean queue {} packets", total["queue_packets"]["mean"]);
    println!("95 % of packets wait less than {} ms", total["sojourn_ms"]["p95"]);
    assert!(total["utilization"].as_f64().expect("it was measured") > 0.9);
}
