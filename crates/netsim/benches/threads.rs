//! What a second thread gains: wall time of a batch of runs, and the CPU time of all its threads.
//!
//! Means something only on a machine that does nothing else; the rounds alternate between the numbers
//! of threads, and the least time of each counts.

#[path = "networks/varying_load.rs"]
mod varying_load;

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use varying_load::varying_load;
use vermilion_netsim::batch::{Batch, Job};

const ROUNDS: usize = 5;
const RUNS: u64 = 200;
const MOST_THREADS: usize = 2;

/// Wall time and CPU time of the batch.
fn run(threads: usize) -> (Duration, Duration) {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let scenarios = [serde_json::from_str(&varying_load()).expect("a scenario")];
    let jobs: Vec<Job> = (0..RUNS).map(|seed| (0, seed)).collect();
    let batch = Batch::new(&scenarios, &jobs).expect("valid");
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| batch.work());
        }
    });
    assert!(batch.into_outcomes().unwrap().iter().all(Option::is_some), "nobody cancels");
    (wall.elapsed(), cpu.elapsed())
}

fn main() {
    let mut least = [(Duration::MAX, Duration::MAX); MOST_THREADS];
    for _ in 0..ROUNDS {
        for (threads, least) in (1..).zip(&mut least) {
            *least = run(threads).min(*least);
        }
    }
    println!("| threads | wall s | CPU s | times as fast |");
    println!("|---|---|---|---|");
    for (threads, (wall, cpu)) in (1..).zip(least) {
        let gain = least[0].0.as_secs_f64() / wall.as_secs_f64();
        let (wall, cpu) = (wall.as_secs_f64(), cpu.as_secs_f64());
        println!("| {threads} | {wall:.2} | {cpu:.2} | {gain:.2} |");
    }
}
