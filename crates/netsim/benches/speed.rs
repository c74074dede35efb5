//! One run of each network that is named, or of all: a line with its name, the packets that links have
//! sent, the events, the seconds of CPU time, building included, and a fingerprint of the results.
//!
//! `cargo bench --bench speed -- [--list] [--json] [--results] [--delays] [--seconds S] [NAME...]`; `--list` says
//! what there is, `--json` writes each network on a line instead of running it, `--results` writes each run's
//! results on a line instead of the above, `--delays` asks for delays of groups, and `--seconds` ends each run at
//! that simulated time, for programs that count instructions.
//! `benches/speed_by_turns.py` runs two builds by turns.

mod networks;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicBool;

use cpu_time::ThreadTime;
use networks::ROWS;
use vermilion_netsim::{Scenario, Simulation};

fn run(name: &str, scenario: Scenario, writes_results: bool) {
    let start = ThreadTime::now();
    let mut simulation = Simulation::new(scenario, 1).expect("valid");
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    let mut results = simulation.into_results(false);
    let seconds = start.elapsed().as_secs_f64();
    let (packets, events) = (results.packets_forwarded, results.events);
    results.events = 0; // they tell how, not what
    let text = serde_json::to_string(&results).expect("results can be written");
    if writes_results {
        return println!("{text}");
    }
    let mut fingerprint = DefaultHasher::new();
    text.hash(&mut fingerprint);
    println!("{name} {packets} {events} {seconds:.4} {:016x}", fingerprint.finish());
}

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    if names.iter().any(|name| name == "--list") {
        return ROWS.iter().for_each(|row| println!("{}\t{}", row.name, row.title));
    }
    let writes = names.iter().any(|name| name == "--json");
    let writes_results = names.iter().any(|name| name == "--results");
    let delays = names.iter().any(|name| name == "--delays");
    names.retain(|name| !["--json", "--results", "--delays"].contains(&name.as_str()));
    let mut end = None;
    if let Some(place) = names.iter().position(|name| name == "--seconds") {
        let seconds: f64 = names[place + 1].parse().expect("a number of seconds");
        end = Some((seconds * 1e9) as u64);
        names.drain(place..=place + 1);
    }
    for row in ROWS.iter().filter(|row| names.is_empty() || names.iter().any(|it| it == row.name)) {
        if writes {
            println!("{}\t{}", row.name, (row.text)().replace('\n', " "));
            continue;
        }
        let mut scenario = row.scenario();
        scenario.flow_delays = delays;
        if let Some(end) = end {
            scenario.duration_ns = scenario.duration_ns.min(end);
            scenario.warm_up_ns = scenario.warm_up_ns.min(end / 2);
            scenario.flows.retain(|group| group.start_ns.1 < end);
        }
        run(row.name, scenario, writes_results);
    }
}
