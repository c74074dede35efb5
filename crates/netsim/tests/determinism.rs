//! The same scenario and seed give the same results, however they are computed.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{MILLISECOND, SECOND, bulk, link, parse, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::batch::{Batch, Job};
use vermilion_netsim::{Scenario, Simulation};

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
        batch.into_outcomes().iter().map(|outcome| as_text(outcome.as_ref().unwrap())).collect()
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

/// Three that differ.
fn scenarios() -> [Scenario; 3] {
    [2, 5, 9].map(|count| {
        parse(&scenario(
            1.5,
            &[link("bottleneck", 10_000_000, "red", json!({}))],
            &[bulk("flows", count, &["bottleneck"], "newreno", json!({}))],
        ))
    })
}

#[test]
fn only_what_is_worth_them_gets_the_further_seeds() {
    let scenarios = scenarios();
    let jobs: Vec<Job> = (0..3).map(|index| (index, 1)).collect();
    let alone = |scenario: usize, seed| {
        let mut simulation = Simulation::new(scenarios[scenario].clone(), seed).unwrap();
        simulation.run(&AtomicBool::new(false)).unwrap();
        as_text(&simulation.into_results(false))
    };
    for threads in [1, 2, 5] {
        let batch = Batch::new(&scenarios, &jobs).unwrap().with_further_seeds(&[2, 3]);
        let asked = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    batch.work_asking(|job, results| {
                        asked.fetch_add(1, Ordering::Relaxed);
                        assert_eq!(as_text(results), alone(job, 1));
                        job == 1
                    });
                });
            }
        });
        assert_eq!((asked.into_inner(), batch.done()), (3, 5));
        let outcomes: Vec<_> =
            batch.into_outcomes().iter().map(|it| it.as_ref().map(as_text)).collect();
        let first = [0, 1, 2].map(|scenario| Some(alone(scenario, 1)));
        let further = [None, None, Some(alone(1, 2)), Some(alone(1, 3)), None, None];
        assert_eq!(outcomes, [first.as_slice(), further.as_slice()].concat());
    }
}

#[test]
fn who_waits_for_more_is_released_when_the_batch_is_cancelled() {
    let scenarios = scenarios();
    let batch = Batch::new(&scenarios, &[(0, 1)]).unwrap().with_further_seeds(&[2]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                batch.work_asking(|_, _| {
                    batch.cancel();
                    true
                });
            });
        }
    });
    assert!(batch.into_outcomes()[1].is_none());
}

#[test]
fn who_waits_for_more_is_released_when_another_worker_panics() {
    let scenarios = scenarios();
    let batch = Batch::new(&scenarios, &[(0, 1)]).unwrap().with_further_seeds(&[2]);
    let all = catch_unwind(AssertUnwindSafe(|| {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| batch.work_asking(|_, _| panic!("somebody's mistake")));
            }
        });
    }));
    assert!(all.is_err(), "and whoever has started them hears of it");
}
