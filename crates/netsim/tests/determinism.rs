//! The same scenario and seed give the same results, however they are computed.

use std::sync::atomic::AtomicBool;

use crate::common::{MILLISECOND, SECOND, bulk, link, parse, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::Simulation;
use vermilion_netsim::batch::{Batch, Job};

fn network() -> Value {
    let size = json!({"distribution": "pareto", "mean": 10_000.0, "shape": 1.5});
    let pause = json!({"distribution": "exponential", "mean": 1e8});
    let mut web = bulk("web", 5, &["bottleneck"], "newreno", json!({}));
    web["traffic"] = json!({"kind": "web", "mean_gap_ns": 1e8, "size": size});
    let mut bursts = bulk("bursts", 5, &["bottleneck"], "reno", json!({}));
    bursts["traffic"] = json!({"kind": "bursts", "size": size, "off_ns": pause});
    scenario(
        10.0,
        &[link("bottleneck", 10_000_000, "red", json!({}))],
        &[bulk("flows", 20, &["bottleneck"], "newreno", json!({})), web, bursts],
    )
}

fn as_text(results: &impl serde::Serialize) -> String {
    serde_json::to_string(results).unwrap()
}

#[test]
fn one_thread_and_four_give_the_same_results() {
    let scenarios = [parse(&network())];
    let jobs: Vec<Job> = (0..8).map(|seed| (0, seed)).collect();
    let outcomes = |threads: usize| -> Vec<String> {
        let batch = Batch::new(&scenarios, &jobs).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| batch.work());
            }
        });
        assert_eq!(batch.done(), jobs.len());
        batch
            .into_outcomes()
            .unwrap()
            .iter()
            .map(|outcome| as_text(outcome.as_ref().unwrap()))
            .collect()
    };
    let one = outcomes(1);
    assert_eq!(one, outcomes(4));
    assert_ne!(one[0], one[1], "seeds must matter");
}

#[test]
fn stepping_and_running_give_the_same_results() {
    let whole = simulate(&network(), 3);
    let mut stepped = Simulation::new(parse(&network()), 3).unwrap();
    let mut watched = 0;
    for step in 1..=1000 {
        stepped.advance(step * 10 * MILLISECOND, &AtomicBool::new(false)).unwrap();
        assert_eq!(stepped.now(), step * 10 * MILLISECOND);
        watched = stepped.counters(0).forwarded_packets;
        if step == 500 {
            stepped.results(true); // looking changes nothing
        }
    }
    assert_eq!(watched, whole.packets_forwarded);
    assert_eq!(as_text(&stepped.into_results(true)), as_text(&whole));
}

#[test]
fn a_queue_parameter_moves_no_start_time() {
    // Common random numbers: until the first packet meets a queue, candidates see one traffic.
    let mut other = network();
    other["links"][0]["queue"]["parameters"] = json!({"max_probability": 0.5});
    let first_second = |network: &Value| {
        let mut simulation = Simulation::new(parse(network), 3).unwrap();
        simulation.advance(100 * MILLISECOND, &AtomicBool::new(false)).unwrap();
        simulation.counters(0)
    };
    assert_eq!(first_second(&network()), first_second(&other));
}

#[test]
fn a_cancelled_run_can_go_on() {
    let whole = simulate(&network(), 5);
    let mut simulation = Simulation::new(parse(&network()), 5).unwrap();
    assert!(simulation.run(&AtomicBool::new(true)).is_err());
    assert!(simulation.now() < 10 * SECOND);
    simulation.run(&AtomicBool::new(false)).unwrap();
    assert_eq!(as_text(&simulation.into_results(true)), as_text(&whole));
}
