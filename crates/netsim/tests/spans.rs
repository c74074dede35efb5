//! What is counted in which span: all that happens at an instant belongs to the span that begins there.

use std::sync::atomic::AtomicBool;

use crate::common::open_loop::open_loop;
use crate::common::{MILLISECOND, SECOND, bulk, link, parse, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::Simulation;
use vermilion_netsim::results::GroupMetrics;

/// A transfer of six packets, each of which takes a millisecond to send, and its round trip of 12 ms: all that
/// happens does so at a whole millisecond.
fn transfer(duration_ms: u64, delayed: bool) -> Value {
    let link = json!({
        "name": "link", "rate_bit_per_s": 12_000_000, "delay_ns": 0,
        "queue": {"discipline": "drop-tail", "parameters": {"limit": 100}},
    });
    let flows = json!({
        "name": "flows", "count": 1, "path": ["link"], "rtt_ns": 12 * MILLISECOND, "start_ns": [0, 0],
        "packet_size_bytes": 1500, "ack_size_bytes": 1500,
        "traffic": {"kind": "transfer", "size_bytes": 9000},
        "sender": {
            "congestion_control": "newreno",
            "parameters": {"delayed_acknowledgements": delayed},
        },
    });
    let mut network = scenario(1.0, &[link], &[flows]);
    network["duration_ns"] = json!(duration_ms * MILLISECOND);
    network
}

/// The same with a boundary between two spans at `boundary_ms`.
fn divided(boundary_ms: u64, delayed: bool) -> Value {
    let mut network = transfer(200, delayed);
    let nothing = json!({"limit": 100});
    network["changes"] =
        json!([{"at_ns": boundary_ms * MILLISECOND, "link": "link", "queue": nothing}]);
    network
}

/// How many transfers completed by the books of the group, and by those of its flows.
fn completed(metrics: &GroupMetrics) -> (u64, usize) {
    let by_flow = metrics.each.iter().filter(|flow| flow.completion_time_s.is_some()).count();
    (metrics.transfers.as_ref().expect("a transfer").completed, by_flow)
}

/// The millisecond in which it completes: the first whose results know of it, while the run goes on.
fn completes_at(delayed: bool) -> u64 {
    let mut simulation = Simulation::new(parse(&transfer(200, delayed)), 1).unwrap();
    let mut first = None;
    for now in 1..120 {
        simulation.advance(now * MILLISECOND, &AtomicBool::new(false)).unwrap();
        let counts = completed(&simulation.results(true).flows["flows"].total);
        assert!(counts == (0, 0) || counts == (1, 1), "{now} ms, delayed {delayed}: {counts:?}");
        if counts.0 > 0 {
            first.get_or_insert(now);
        }
    }
    first.expect("it completes")
}

#[test]
fn a_completion_at_a_boundary_belongs_to_the_span_that_begins_there() {
    for delayed in [false, true] {
        let instant = completes_at(delayed);
        for boundary in 1..120 {
            let results = simulate(&divided(boundary, delayed), 1);
            let flows = &results.flows["flows"];
            assert_eq!(completed(&flows.total), (1, 1));
            let counts: Vec<_> = flows.phases.iter().map(completed).collect();
            let expected = if boundary <= instant { [(0, 0), (1, 1)] } else { [(1, 1), (0, 0)] };
            assert_eq!(counts, expected, "boundary at {boundary} ms, delayed {delayed}");
        }
    }
}

#[test]
fn results_at_a_boundary_in_the_middle_of_a_run_are_those_of_before() {
    for delayed in [false, true] {
        let instant = completes_at(delayed);
        let mut simulation = Simulation::new(parse(&divided(instant, delayed)), 1).unwrap();
        for (now, expected) in [(instant, (0, 0)), (instant + 1, (1, 1))] {
            simulation.advance(now * MILLISECOND, &AtomicBool::new(false)).unwrap();
            let results = simulation.results(true);
            assert_eq!(completed(&results.flows["flows"].total), expected, "delayed {delayed}");
        }
    }
}

#[test]
fn what_happens_at_the_very_end_of_a_run_is_after_it() {
    for delayed in [false, true] {
        let instant = completes_at(delayed);
        for duration in 1..120 {
            let results = simulate(&transfer(duration, delayed), 1);
            let expected = if duration <= instant { (0, 0) } else { (1, 1) };
            let counts = completed(&results.flows["flows"].total);
            assert_eq!(counts, expected, "{duration} ms, delayed {delayed}");
        }
    }
}

#[test]
fn results_before_the_warm_up_is_over_have_nothing_that_cannot_be_computed() {
    let link = link("link", 8_000_000, "drop-tail", json!({"limit": 100}));
    let mut web = bulk("web", 1, &["link"], "sack", json!({}));
    web["traffic"] = json!({
        "kind": "web", "mean_gap_ns": 1e7, "size": {"distribution": "constant", "value": 1e5},
    });
    let mut network = scenario(4.0, &[link], &[bulk("bulk", 3, &["link"], "sack", json!({})), web]);
    network["warm_up_ns"] = json!(3 * SECOND);
    let mut simulation = Simulation::new(parse(&network), 1).unwrap();
    for now in [0, 2 * SECOND, 3 * SECOND] {
        simulation.advance(now, &AtomicBool::new(false)).unwrap();
        let results = simulation.results(true);
        for (name, spans) in &results.flows {
            let total = &spans.total;
            assert!(total.goodput_bit_per_s.is_none(), "{name} at {now}: {total:?}");
            assert!(total.each.is_empty() && total.starved.is_none(), "{name} at {now}: {total:?}");
            assert!(total.jain_index.is_none() && total.goodput_cov.is_none());
            assert!(spans.phases.is_empty());
        }
        let text = serde_json::to_string(&results).unwrap();
        assert!(!text.contains("null"), "{text}");
    }
    simulation.advance(4 * SECOND, &AtomicBool::new(false)).unwrap();
    let results = simulation.results(true);
    let bulk = &results.flows["bulk"].total;
    assert!(bulk.goodput_bit_per_s.is_some() && bulk.starved.is_some() && bulk.each.len() == 3);
    assert!(results.flows["web"].total.goodput_bit_per_s.is_some());
}

#[test]
fn a_flow_that_stops_at_a_boundary_is_not_in_the_span_behind_it() {
    let source = json!({"kind": "constant-rate", "rate_bit_per_s": 1e6});
    let mut flows = open_loop("link", source);
    // No way to the link: the flow stops there when its host stops it.
    flows["rtt_ns"] = json!(10 * MILLISECOND);
    flows["stop_ns"] = json!([SECOND, SECOND]);
    let link = link("link", 8_000_000, "drop-tail", json!({"limit": 100}));
    let results = simulate(&scenario(2.0, &[link], &[flows]), 1);
    let phases = &results.flows["open-loop"].phases;
    assert_eq!(phases.iter().map(|phase| phase.flows).collect::<Vec<_>>(), [1, 0]);
}
