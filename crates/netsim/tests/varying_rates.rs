//! Links whose rate follows a schedule or a recorded trace.

use crate::common::open_loop::open_loop;
use crate::common::{MILLISECOND, SECOND, bulk, link, parse, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::Simulation;
use vermilion_netsim::results::LinkMetrics;

fn drop_tail(rate: u64, limit: u32) -> Value {
    link("link", rate, "drop-tail", json!({"limit": limit}))
}

fn scheduled(steps: &Value, repeat_s: Option<f64>, limit: u32) -> Value {
    let mut link = drop_tail(1_000_000, limit);
    link["rate_schedule"] =
        json!({"steps": steps, "repeat_ns": repeat_s.map(|s| (s * 1e9) as u64)});
    link
}

fn traced(milliseconds: &[u64], limit: u32) -> Value {
    let mut link = drop_tail(1_000_000, limit);
    let times: Vec<u64> = milliseconds.iter().map(|time| time * MILLISECOND).collect();
    link["trace"] = json!({"opportunities_ns": times, "bytes": 1500});
    link
}

fn constant(rate: f64) -> Value {
    open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": rate}))
}

/// Measurements after the first second.
fn warm(network: &Value) -> LinkMetrics {
    let mut network = network.clone();
    network["warm_up_ns"] = json!(SECOND);
    simulate(&network, 1).links["link"].spans.total.clone()
}

#[test]
fn a_schedule_of_one_rate_is_that_rate() {
    let flows = [bulk("flows", 5, &["link"], "newreno", json!({}))];
    let plain = simulate(&scenario(20.0, &[drop_tail(7_000_000, 50)], &flows), 1);
    let steps = json!([[0, 7_000_000], [3 * SECOND, 7_000_000]]);
    let scheduled = simulate(&scenario(20.0, &[scheduled(&steps, Some(5.0), 50)], &flows), 1);
    let (plain, scheduled) =
        (&plain.links["link"].spans.total, &scheduled.links["link"].spans.total);
    assert_eq!(plain.packets_forwarded, scheduled.packets_forwarded);
    assert_eq!(plain.drops, scheduled.drops);
    let (ours, theirs) = (scheduled.utilization.unwrap(), plain.utilization.unwrap());
    assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
}

#[test]
fn a_schedule_does_what_changes_do_without_ending_phases() {
    let mut flows = [bulk("flows", 5, &["link"], "newreno", json!({})), constant(1e6)];
    flows[0]["start_ns"] = json!([0, 0]);
    let rates = [4_000_000, 9_000_000, 2_000_000];
    let mut changed = scenario(9.0, &[drop_tail(rates[0], 40)], &flows);
    changed["changes"] = json!([
        {"at_ns": 3 * SECOND, "link": "link", "rate_bit_per_s": rates[1]},
        {"at_ns": 6 * SECOND, "link": "link", "rate_bit_per_s": rates[2]},
    ]);
    let changed = simulate(&changed, 2);
    let steps = json!([[0, rates[0]], [3 * SECOND, rates[1]], [6 * SECOND, rates[2]]]);
    let scheduled = simulate(&scenario(9.0, &[scheduled(&steps, None, 40)], &flows), 2);
    assert_eq!(scheduled.links["link"].spans.phases.len(), 1);
    let (changed, scheduled) =
        (&changed.links["link"].spans.total, &scheduled.links["link"].spans.total);
    assert_eq!(changed.packets_forwarded, scheduled.packets_forwarded);
    assert_eq!(changed.drops, scheduled.drops);
    assert!((changed.utilization.unwrap() - scheduled.utilization.unwrap()).abs() < 1e-6);
    let [ours, theirs] = [scheduled, changed].map(|total| total.sojourn_ms.unwrap().mean);
    assert!((ours - theirs).abs() < 1e-2, "{ours} {theirs}"); // of 44 ms
}

#[test]
fn utilisation_is_of_what_the_varying_link_could_have_sent() {
    // 100 and 10 Mbit/s in turn every 100 ms: 55 Mbit/s on average.
    let steps = json!([[0, 100_000_000], [100 * MILLISECOND, 10_000_000]]);
    let run = |rate: f64, limit: u32| {
        warm(&scenario(201.0, &[scheduled(&steps, Some(0.2), limit)], &[constant(rate)]))
    };
    let full = run(120e6, 100);
    assert!((full.utilization.unwrap() - 1.0).abs() < 1e-6, "{full:?}");
    assert!((full.packets_forwarded as f64 * 8000.0 / 200.0 / 55e6 - 1.0).abs() < 1e-4);
    assert!((run(27.5e6, 100_000).utilization.unwrap() - 0.5).abs() < 1e-3);
}

#[test]
fn an_outage_holds_packets_back_until_it_ends() {
    // A packet every millisecond; from 1 to 2 s nothing is sent: a thousand wait.
    let steps = json!([[0, 80_000_000], [SECOND, 0], [2 * SECOND, 80_000_000]]);
    let results = simulate(&scenario(3.0, &[scheduled(&steps, None, 10_000)], &[constant(8e6)]), 1);
    let queue = results.links["link"].spans.total.queue_packets.unwrap();
    assert!((998.0..=1000.0).contains(&queue.max), "{queue:?}");
    let dead = json!([[0, 80_000_000], [SECOND, 0]]);
    let results = simulate(&scenario(3.0, &[scheduled(&dead, None, 10_000)], &[constant(8e6)]), 1);
    let ledger = &results.links["link"].ledger;
    assert!((1999..=2001).contains(&ledger.queued), "{ledger:?}");
}

#[test]
fn a_hundred_thousand_steps_are_no_burden() {
    let steps: Vec<_> =
        (0..100_000_u64).map(|k| [k * 10_000_000, 1_000_000 * (1 + k % 7)]).collect();
    let total = warm(&scenario(1000.0, &[scheduled(&json!(steps), None, 50)], &[constant(10e6)]));
    assert!((total.utilization.unwrap() - 1.0).abs() < 1e-6);
    // 1 to 7 Mbit/s alike: 4 Mbit/s.
    let sent = total.packets_forwarded as f64 * 8000.0 / 999.0;
    assert!((sent / 4e6 - 1.0).abs() < 1e-3, "{sent}");
}

#[test]
fn a_saturated_trace_delivers_every_byte_of_every_opportunity() {
    // Three opportunities in 10 ms: 4500 bytes, four and a half packets of 1000 bytes.
    let network = scenario(101.0, &[traced(&[2, 2, 10], 100)], &[constant(8e6)]);
    let total = warm(&network);
    assert!((total.utilization.unwrap() - 1.0).abs() < 1e-9, "{total:?}");
    assert!(total.packets_forwarded.abs_diff(45_000) <= 1);
    // Spans that begin and end within packets, before and at opportunities.
    let mut cut = network;
    cut["warm_up_ns"] = json!(33 * SECOND + 5 * MILLISECOND);
    cut["changes"] =
        json!([{"at_ns": 50 * SECOND + 2 * MILLISECOND, "link": "link", "delay_ns": 0}]);
    let phases = simulate(&cut, 1).links["link"].spans.phases.clone();
    assert_eq!(phases.len(), 2);
    for phase in &phases {
        assert!((phase.utilization.unwrap() - 1.0).abs() < 1e-9, "{phase:?}");
    }
}

#[test]
fn a_saturated_trace_is_full_whoever_decides_and_wherever_a_span_begins() {
    // 1000 bytes at 1500 an opportunity: every other opportunity ends a packet and begins another. Spans begin and
    // end at opportunities, whose bytes belong to what comes after.
    for discipline in ["drop-tail", "codel"] {
        let mut link = traced(&[5, 10], 100);
        link["queue"]["discipline"] = json!(discipline);
        let mut network = scenario(21.0, &[link], &[constant(8e6)]);
        for (warm_up, change) in [(1000, 1005), (1005, 2010), (1010, 2020), (1001, 2002)] {
            network["warm_up_ns"] = json!(warm_up * MILLISECOND);
            network["changes"] = json!([
                {"at_ns": change * MILLISECOND, "link": "link", "queue": {"limit": 90}},
            ]);
            let spans = &simulate(&network, 1).links["link"].spans;
            for span in spans.phases.iter().chain([&spans.total]) {
                let used = span.utilization.unwrap();
                assert!((used - 1.0).abs() < 1e-9, "{discipline}, {warm_up} ms: {span:?}");
            }
        }
    }
}

#[test]
fn what_a_trace_offers_to_nobody_is_lost() {
    // A packet of 1000 bytes every 10 ms, which could carry 4500. It comes 2.5 ms after a
    // multiple of 10 ms (a quarter of 50 ms of access delay): too late for two opportunities, and
    // 7.5 ms before the third.
    let total = warm(&scenario(101.0, &[traced(&[2, 2, 10], 100)], &[constant(0.8e6)]));
    assert!((total.utilization.unwrap() - 1000.0 / 4500.0).abs() < 1e-9);
    let wait = total.sojourn_ms.unwrap();
    assert!((wait.mean - 7.5).abs() < 1e-6, "{wait:?}");
}

#[test]
fn tcp_fills_a_trace() {
    let mut times: Vec<u64> = (1..=1000).map(|k| k * k % 997 + 1).collect();
    times.sort_unstable();
    let network = scenario(
        60.0,
        &[traced(&times, 200)],
        &[bulk("flows", 8, &["link"], "newreno", json!({}))],
    );
    for seed in 0..3 {
        let total = simulate(&network, seed).links["link"].spans.total.clone();
        assert!(total.utilization.unwrap() > 0.9, "{total:?}");
    }
}

#[test]
fn what_is_no_schedule_and_no_trace_is_refused() {
    let mut both = traced(&[1], 10);
    both["rate_schedule"] = json!({"steps": [[0, 1]]});
    for (link, field) in [
        (scheduled(&json!([]), None, 9), "links.link.rate_schedule"),
        (scheduled(&json!([[5, 1]]), None, 9), "links.link.rate_schedule.0"),
        (scheduled(&json!([[0, 1], [7, 1], [7, 2]]), None, 9), "links.link.rate_schedule.2"),
        (scheduled(&json!([[0, 1], [SECOND, 1]]), Some(1.0), 9), "links.link.repeat"),
        (scheduled(&json!([[0, u64::MAX]]), None, 9), "links.link.rate_schedule.0"),
        (traced(&[], 9), "links.link.trace"),
        (traced(&[0, 0], 9), "links.link.trace"),
        (traced(&[2, 1], 9), "links.link.trace"),
        (both, "links.link.trace"),
    ] {
        let network = scenario(1.0, &[link], &[constant(1e6)]);
        assert_eq!(Simulation::new(parse(&network), 1).unwrap_err().field, field);
    }
    let mut changed = scenario(1.0, &[traced(&[1], 10)], &[constant(1e6)]);
    changed["changes"] = json!([{"at_ns": 5, "link": "link", "rate_bit_per_s": 5}]);
    let error = Simulation::new(parse(&changed), 1).unwrap_err();
    assert_eq!(error.field, "changes.0.rate");
}
