//! Scenarios for the tests, short to write.

pub mod limits;
pub mod open_loop;

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use vermilion_netsim::{Results, Scenario, Simulation};

pub const SECOND: u64 = 1_000_000_000;
pub const MILLISECOND: u64 = 1_000_000;

/// A scenario of links and groups of flows.
pub fn scenario(duration_s: f64, links: &[Value], flows: &[Value]) -> Value {
    json!({
        "duration_ns": (duration_s * 1e9) as u64,
        "warm_up_ns": 0,
        "settle_ns": 0,
        "links": links,
        "flows": flows,
    })
}

/// A link of 10 ms called `name`.
pub fn link(name: &str, rate: u64, discipline: &str, parameters: Value) -> Value {
    json!({
        "name": name,
        "rate_bit_per_s": rate,
        "delay_ns": 10 * MILLISECOND,
        "queue": {"discipline": discipline, "parameters": parameters},
    })
}

/// Bulk flows over `path` that start within the first second.
pub fn bulk(name: &str, count: u32, path: &[&str], sender: &str, parameters: Value) -> Value {
    json!({
        "name": name,
        "count": count,
        "path": path,
        "rtt_ns": 60 * MILLISECOND,
        "sender": {"congestion_control": sender, "parameters": parameters},
        "start_ns": [0, SECOND],
    })
}

pub fn parse(scenario: &Value) -> Scenario {
    serde_json::from_value(scenario.clone()).expect("a test's scenario can be read")
}

pub fn simulate(scenario: &Value, seed: u64) -> Results {
    let mut simulation =
        Simulation::new(parse(scenario), seed).expect("a test's scenario is valid");
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    let results = simulation.into_results(true);
    assert_laws(&results);
    results
}

/// Conservation, Little's law and no more than a full link, in every run of every test.
#[track_caller]
pub fn assert_laws(results: &Results) {
    assert_conservation(results);
    for (name, link) in &results.links {
        for span in link.spans.phases.iter().chain([&link.spans.total]) {
            // Transmissions are whole nanoseconds: a span may seem full by a few of them too many.
            let full = 1.0 + 4e-9 / (span.end_s - span.start_s);
            let share = span.utilization.unwrap_or(0.0);
            assert!((0.0..=full).contains(&share), "{name}: {share}");
        }
    }
}

/// Conservation and Little's law.
#[track_caller]
pub fn assert_conservation(results: &Results) {
    for (name, link) in &results.links {
        let books = &link.ledger;
        assert_eq!(books.arrivals, books.forwarded + books.drops + books.queued, "{name}");
        let (backlog, sojourn) = (books.backlog_packet_s, books.sojourn_packet_s);
        assert!((backlog - sojourn).abs() <= 1e-9 * backlog.max(1.0), "{name}: {books:?}");
        for span in link.spans.phases.iter().chain([&link.spans.total]) {
            assert_eq!(
                span.arrivals + span.queued_at_start,
                span.packets_forwarded + span.drops + span.queued_at_end,
                "{name}, {} s to {} s",
                span.start_s,
                span.end_s
            );
            // What was marked on leaving may have arrived before the span. A packet is marked once; it may
            // yet be dropped, where a change flushes the queue or another packet needs its room.
            assert!(span.marks <= span.arrivals + span.queued_at_start);
        }
    }
}
