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
    // With 10 ms there is no way to the link: the flow stops there when its host stops it. With 200 ms the link hears
    // of that 95 ms later.
    for round_trip_ms in [10, 200] {
        let source = json!({"kind": "constant-rate", "rate_bit_per_s": 1e6});
        let mut flows = open_loop("link", source);
        flows["rtt_ns"] = json!(round_trip_ms * MILLISECOND);
        flows["stop_ns"] = json!([SECOND, SECOND]);
        let link = link("link", 8_000_000, "drop-tail", json!({"limit": 100}));
        let results = simulate(&scenario(2.0, &[link], &[flows]), 1);
        let phases = &results.flows["open-loop"].phases;
        let active = phases.iter().map(|phase| phase.flows).collect::<Vec<_>>();
        assert_eq!(active, [1, 0], "{round_trip_ms} ms");
    }
}

#[test]
fn a_connection_that_its_host_has_stopped_is_active_no_more() {
    let mut leave = bulk("leave", 4, &["link"], "cubic", json!({}));
    leave["stop_ns"] = json!([10 * SECOND, 10 * SECOND]);
    let stay = bulk("stay", 4, &["link"], "cubic", json!({}));
    let link = link("link", 10_000_000, "red", json!({}));
    let results = simulate(&scenario(20.0, &[link], &[leave, stay]), 1);
    // Its last packets are 25 ms from the queue when the span begins, and more of them wait there.
    let leave = results.flows["leave"].phases.last().unwrap();
    assert_eq!((leave.start_s, leave.end_s), (10.0, 20.0));
    assert_eq!((leave.flows, leave.each.len(), leave.starved), (0, 0, None));
    assert!(leave.goodput_bit_per_s.is_none() && leave.jain_index.is_none());
    let stay = results.flows["stay"].phases.last().unwrap();
    assert_eq!((stay.flows, stay.each.len(), stay.starved), (4, 4, Some(0)));
    // All of the time that it was there for is in the whole run.
    assert_eq!(results.flows["leave"].total.flows, 4);
}

#[test]
fn a_flow_that_stops_within_a_span_is_in_it_whatever_it_sends() {
    let mut windows = bulk("windows", 1, &["link"], "cubic", json!({}));
    let mut packets = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 1e6}));
    let (half, end) = (SECOND / 2, SECOND);
    for flows in [&mut windows, &mut packets] {
        flows["start_ns"] = json!([0, 0]);
        flows["stop_ns"] = json!([half, half]);
    }
    let mut network = scenario(
        2.0,
        &[link("link", 8_000_000, "drop-tail", json!({"limit": 100}))],
        &[windows, packets],
    );
    // The only other boundary; what changes at the stop is not looked at.
    network["changes"] = json!([{"at_ns": end, "link": "link", "rate_bit_per_s": 8_000_000}]);
    network["settle_ns"] = json!(half / 2);
    let results = simulate(&network, 1);
    for (name, spans) in &results.flows {
        assert_eq!(spans.total.flows, 1, "{name}");
        let flows: Vec<_> = spans.phases.iter().map(|phase| (phase.start_s, phase.flows)).collect();
        assert_eq!(flows, [(0.0, 1), (0.75, 0), (1.25, 0)], "{name}");
    }
    // A megabit a second for half a second, over two seconds.
    let sent = results.flows["open-loop"].total.goodput_bit_per_s.unwrap().total;
    assert!((sent / 250e3 - 1.0).abs() < 0.02, "{sent}");
}

#[test]
fn a_transfer_that_is_stopped_with_all_of_it_on_its_way_is_in_the_span_in_which_it_completes() {
    let instant = completes_at(false);
    for stop in instant - 8..instant {
        let mut network = transfer(200, false);
        network["flows"][0]["stop_ns"] = json!([stop * MILLISECOND, stop * MILLISECOND]);
        let results = simulate(&network, 1);
        let phases: Vec<_> = results.flows["flows"].phases.iter().map(completed).collect();
        for (by_books, by_flow) in phases {
            assert_eq!(by_books, by_flow as u64, "stopped at {stop} ms");
        }
    }
}
