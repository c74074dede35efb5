//! What each queue discipline costs: CPU time for a packet of the whole simulation, against
//! drop-tail's in the same run.
//!
//! 100 SACK flows share 1 Gbit/s for 5 s, RTT 40 ms, behind a buffer of a bandwidth-delay product;
//! everything else a discipline has is at its default. The rounds alternate between the disciplines,
//! so that what else happens on the machine meets all of them, and the least time of each counts.
//!
//! `cargo bench --bench disciplines -- [NAME...]`: those that are named run once, for programs that count
//! instructions; without names all run, and several times.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpu_time::ThreadTime;
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_netsim::{Scenario, Simulation};
use vermilion_parameters::Algorithm;

const ROUNDS: usize = 5;

/// Packets of 1000 bytes that the link carries in a round trip.
const BUFFER_PACKETS: u32 = 5000;

fn scenario(algorithm: &Algorithm) -> Scenario {
    let limit = algorithm.parameters.iter().find(|parameter| parameter.name == "limit");
    let limit = match limit.map(|parameter| parameter.unit) {
        Some("packets") => format!(r#""limit": {BUFFER_PACKETS}"#),
        Some("bytes") => format!(r#""limit": {}"#, 1000 * BUFFER_PACKETS),
        _ => String::new(),
    };
    let text = format!(
        r#"{{"duration_ns": 5000000000, "warm_up_ns": 1000000000, "settle_ns": 1000000000,
            "links": [{{"name": "bottleneck", "rate_bit_per_s": 1000000000, "delay_ns": 1000000,
                "queue": {{"discipline": "{}", "parameters": {{{limit}}}}}}}],
            "flows": [{{"name": "all", "count": 100, "path": ["bottleneck"], "rtt_ns": 40000000,
                "sender": {{"congestion_control": "sack"}}, "start_ns": [0, 1000000000]}}]}}"#,
        algorithm.name
    );
    serde_json::from_str(&text).expect("a benchmark's scenario is valid")
}

/// CPU time of one run and the packets it forwarded.
fn run(scenario: &Scenario) -> (Duration, u64) {
    let start = ThreadTime::now();
    let mut simulation = Simulation::new(scenario.clone(), 1).expect("valid");
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    let packets = simulation.into_results(false).packets_forwarded;
    (start.elapsed(), packets)
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let is_asked = |it: &&Algorithm| names.is_empty() || names.iter().any(|name| name == it.name);
    let algorithms: Vec<&Algorithm> = ALGORITHMS.iter().filter(is_asked).collect();
    let scenarios: Vec<_> = algorithms.iter().map(|it| scenario(it)).collect();
    let mut least = vec![(Duration::MAX, 0); scenarios.len()];
    for _ in 0..if names.is_empty() { ROUNDS } else { 1 } {
        for (scenario, least) in scenarios.iter().zip(&mut least) {
            *least = run(scenario).min(*least);
        }
    }
    let first = algorithms.first().expect("a discipline of that name").name;
    let cost = |(time, packets): (Duration, u64)| time.as_secs_f64() * 1e9 / packets as f64;
    println!("| discipline | packets | CPU ns per packet | against {first} |");
    println!("|---|---|---|---|");
    for (algorithm, outcome) in algorithms.iter().zip(&least) {
        let (each, ratio) = (cost(*outcome), cost(*outcome) / cost(least[0]));
        println!("| `{}` | {} | {each:.0} | {ratio:.2} |", algorithm.name, outcome.1);
    }
}
