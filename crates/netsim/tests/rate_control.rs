//! Shapers that a law keeps at the rate of a line.

use crate::common::{MILLISECOND, SECOND, bulk, parse, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::{Results, Simulation};

/// A line behind or before a shaper, four senders, and probes of six reflectors.
fn network(line: &Value, queue: Value, control: Value, path: [&str; 2]) -> Value {
    let mut modem = json!({"name": "modem", "rate_bit_per_s": 12_000_000, "delay_ns": 0,
        "queue": {"discipline": "drop-tail", "parameters": {"limit": 700}}});
    for (name, value) in line.as_object().unwrap() {
        modem[name] = value.clone();
    }
    let shaper = json!({"name": "shaper", "rate_bit_per_s": 1_000_000_000, "delay_ns": 0,
        "queue": queue, "rate_control": control});
    let linux = json!({"option_set": "linux"});
    let mut flows = [bulk("bulk", 4, &path, "cubic", linux), pings("probes", &path)];
    flows[0]["packet_size_bytes"] = json!(1500);
    let mut network = scenario(30.0, &[shaper, modem], &flows);
    network["warm_up_ns"] = json!(10 * SECOND);
    network["probe_interval_ns"] = json!(100 * MILLISECOND);
    network
}

fn pings(name: &str, path: &[&str]) -> Value {
    json!({"name": name, "count": 6, "path": path, "rtt_ns": 40 * MILLISECOND,
        "packet_size_bytes": 64, "start_ns": [0, 300 * MILLISECOND],
        "traffic": {"kind": "constant-rate", "rate_bit_per_s": 64.0 * 8.0 / 0.3}})
}

fn cake() -> Value {
    json!({"discipline": "cake", "parameters": {"bandwidth": 1_000_000_000}})
}

fn follow() -> Value {
    json!({"law": "service-curve", "probes": "probes"})
}

/// Part of the line that is used, and the 95th percentile of the wait there in milliseconds.
fn of_line(results: &Results) -> (f64, f64) {
    let line = &results.links["modem"].spans.total;
    let wait = serde_json::to_value(line).unwrap()["sojourn_ms"]["p95"].as_f64().unwrap();
    (line.utilization.unwrap(), wait)
}

const UP: [&str; 2] = ["shaper", "modem"];
const DOWN: [&str; 2] = ["modem", "shaper"];

#[test]
fn a_constant_line_is_used_without_a_queue_in_it() {
    let plain = json!({"discipline": "fq-codel"});
    let class = json!({"discipline": "shaped", "parameters": {"rate": 1e9},
        "classes": [{"queue": {"discipline": "fq-codel"}}]});
    for (queue, path) in [(cake(), UP), (plain, UP), (class, UP), (cake(), DOWN)] {
        let (used, wait) =
            of_line(&simulate(&network(&json!({}), queue.clone(), follow(), path), 1));
        assert!(used > 0.94, "{queue} {path:?}: {used}");
        assert!(wait < if path == UP { 8.0 } else { 25.0 }, "{queue} {path:?}: {wait} ms");
    }
}

#[test]
fn lines_of_every_kind_are_followed_and_forks_go_on_alike() {
    for kind in ["lte", "starlink", "docsis", "wifi"] {
        let line = json!({"line": {"kind": kind, "mean_bit_per_s": 12_000_000}});
        for path in [UP, DOWN] {
            let network = network(&line, cake(), follow(), path);
            let results = simulate(&network, 2);
            let (used, wait) = of_line(&results);
            assert!(used > 0.5 && wait < 400.0, "{kind} {path:?}: {used} {wait}");
            assert_eq!(of_line(&simulate(&network, 2)), (used, wait));
            assert_ne!(of_line(&simulate(&network, 3)), (used, wait));
            let mut whole = Simulation::open(parse(&network), 2).unwrap();
            let never = std::sync::atomic::AtomicBool::new(false);
            whole.extend(5 * SECOND, &never).unwrap();
            let mut fork = whole.fork();
            whole.extend(30 * SECOND, &never).unwrap();
            fork.extend(30 * SECOND, &never).unwrap();
            let ends = [&mut whole, &mut fork].map(|end| {
                let results = end.results_here(false, &never).unwrap();
                serde_json::to_string(&results).unwrap()
            });
            assert_eq!(ends[0], ends[1]);
        }
    }
}

#[test]
fn an_oracle_sees_an_outage_and_a_fixed_rate_does_not() {
    let steps = json!([[0, 12_000_000], [20 * SECOND, 0], [21 * SECOND, 12_000_000]]);
    let line = json!({"rate_schedule": {"steps": steps}});
    let run = |control| {
        let mut simulation =
            Simulation::new(parse(&network(&line, cake(), control, UP)), 1).unwrap();
        simulation.run(&std::sync::atomic::AtomicBool::new(false)).unwrap();
        let [shaper, modem] = simulation.series() else { unreachable!() };
        (shaper.rate_bit_per_s[195], shaper.rate_bit_per_s[205], modem.queue_bytes[209])
    };
    let (before, within, _) = run(json!({"law": "oracle", "probes": "probes"}));
    assert!((before / 11.4e6 - 1.0).abs() < 1e-6 && within == 1e4, "{before} {within}");
    let fixed = json!({"law": "fixed", "parameters": {"rate": 8e6}, "probes": "probes"});
    let (before, within, _) = run(fixed);
    assert_eq!((before, within), (8e6, 8e6));
    // Senders stop by themselves: what has been let out till then waits, about a round trip's worth.
    let (before, _, waits) = run(follow());
    assert!((11e6..13e6).contains(&before) && waits < 200_000.0, "{before} {waits}");
}

#[test]
fn a_control_that_cannot_be_is_refused() {
    for (control, field) in [
        (json!({"law": "nonsense", "probes": "probes"}), "law"),
        (json!({"law": "fixed", "probes": "bulk"}), "probes"),
        (json!({"law": "fixed", "probes": "nobody"}), "probes"),
        (json!({"law": "fixed", "probes": "probes", "parameters": {"rate": -1}}), "rate"),
        (json!({"law": "oracle", "probes": "probes", "parameters": {"rate": 1e6}}), "rate"),
        (json!({"law": "fixed", "probes": "probes", "interval_ns": 0}), "interval"),
    ] {
        let network = network(&json!({}), cake(), control, UP);
        let error = Simulation::new(parse(&network), 1).unwrap_err();
        assert_eq!(error.field, format!("links.shaper.rate_control.{field}"));
    }
}
