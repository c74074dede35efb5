//! Packets sent by links per CPU second of one core, building included, with the standard metrics on: of each
//! network the median of six rounds, with the least and the greatest.
//!
//! Time is the thread's CPU time, so that other work on the machine disturbs less; still compare
//! by ratios within one run. `cargo bench --bench throughput -- [NAME...]`: those that are named, or all.

mod networks;

use std::sync::atomic::AtomicBool;

use cpu_time::ThreadTime;
use networks::ROWS;
use vermilion_netsim::{Scenario, Simulation};

const ROUNDS: usize = 6;

/// Million packets per CPU second of one run.
fn speed(scenario: Scenario) -> f64 {
    let start = ThreadTime::now();
    let mut simulation = Simulation::new(scenario, 1).expect("valid");
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    let packets = simulation.into_results(false).packets_forwarded;
    packets as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    println!("| network | million packets per CPU second |\n|---|---|");
    for row in ROWS.iter().filter(|row| names.is_empty() || names.iter().any(|it| it == row.name)) {
        let mut speeds: Vec<f64> = (0..ROUNDS).map(|_| speed(row.scenario())).collect();
        speeds.sort_by(f64::total_cmp);
        let median = (speeds[(ROUNDS - 1) / 2] + speeds[ROUNDS / 2]) / 2.0;
        let (least, greatest) = (speeds[0], speeds[ROUNDS - 1]);
        println!("| {}: {} | {median:.1} ({least:.1} to {greatest:.1}) |", row.name, row.title);
    }
}
