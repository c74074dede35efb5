//! Packets sent by links per CPU second of one core, building included, with the standard metrics on.
//!
//! Time is the thread's CPU time, so that other work on the machine disturbs less; still compare
//! by ratios within one run.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpu_time::ThreadTime;
use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, Throughput};
use vermilion_netsim::{Scenario, Simulation};

/// CPU time of the measuring thread.
struct CpuTime;

struct Seconds;

impl Measurement for CpuTime {
    type Intermediate = ThreadTime;
    type Value = Duration;

    fn start(&self) -> ThreadTime {
        ThreadTime::now()
    }

    fn end(&self, start: ThreadTime) -> Duration {
        start.elapsed()
    }

    fn add(&self, first: &Duration, second: &Duration) -> Duration {
        *first + *second
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_secs_f64()
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Seconds
    }
}

impl ValueFormatter for Seconds {
    fn scale_values(&self, _typical: f64, values: &mut [f64]) -> &'static str {
        values.iter_mut().for_each(|value| *value *= 1e3);
        "ms"
    }

    fn scale_throughputs(
        &self,
        _typical: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str {
        let Throughput::Elements(packets) = *throughput else {
            unreachable!("packets are elements");
        };
        values.iter_mut().for_each(|value| *value = packets as f64 / *value / 1e6);
        "million packets/CPU s"
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "s"
    }
}

const SECOND: u64 = 1_000_000_000;

fn scenario(text: &str) -> Scenario {
    serde_json::from_str(text).expect("a benchmark's scenario is valid")
}

/// 80 s at 10 Mbit/s, 16 flows that become 64, RED.
fn varying_load() -> Scenario {
    let flows = |name: &str, count: u32, start: u64| {
        format!(
            r#"{{"name": "{name}", "count": {count}, "path": ["bottleneck"], "rtt_ns": 28000000,
                "sender": {{"congestion_control": "newreno"}},
                "start_ns": [{start}, {}]}}"#,
            start + SECOND
        )
    };
    scenario(&format!(
        r#"{{"duration_ns": {}, "warm_up_ns": {}, "settle_ns": {},
            "links": [{{"name": "bottleneck", "rate_bit_per_s": 10000000, "delay_ns": 10000000,
                "queue": {{"discipline": "red", "parameters": {{"limit": 100,
                    "min_threshold": 15, "max_threshold": 45, "max_probability": 0.1}}}}}}],
            "flows": [{}, {}]}}"#,
        80 * SECOND,
        5 * SECOND,
        5 * SECOND,
        flows("early", 16, 0),
        flows("late", 48, 20 * SECOND),
    ))
}

/// A link of 1 Gbit/s with RED; thresholds grow with the number of flows, so that each has some room.
fn gigabit_link(name: &str, flows: u32) -> String {
    let min_threshold = flows.clamp(500, 20_000);
    format!(
        r#"{{"name": "{name}", "rate_bit_per_s": 1000000000, "delay_ns": 1000000,
            "queue": {{"discipline": "red", "parameters": {{"limit": {},
                "min_threshold": {min_threshold}, "max_threshold": {}, "max_probability": 0.1,
                "weight": 0.00002}}}}}}"#,
        10 * min_threshold,
        3 * min_threshold,
    )
}

/// Flows over `path` that start in the first second, RTT 40 ms.
fn flows_of(name: &str, count: u32, path: &str, sender: &str) -> String {
    format!(
        r#"{{"name": "{name}", "count": {count}, "path": [{path}], "rtt_ns": 40000000,
            "sender": {{"congestion_control": "{sender}"}}, "start_ns": [0, {SECOND}]}}"#
    )
}

fn gigabit_scenario(seconds: u64, links: &[String], flows: &[String]) -> Scenario {
    scenario(&format!(
        r#"{{"duration_ns": {}, "warm_up_ns": {SECOND}, "settle_ns": {SECOND},
            "links": [{}], "flows": [{}]}}"#,
        seconds * SECOND,
        links.join(", "),
        flows.join(", "),
    ))
}

/// `count` flows over one link of 1 Gbit/s for so many seconds.
fn gigabit(count: u32, sender: &str, seconds: u64) -> Scenario {
    let flows = flows_of("all", count, r#""bottleneck""#, sender);
    gigabit_scenario(seconds, &[gigabit_link("bottleneck", count)], &[flows])
}

/// The same under another discipline, at its defaults but for the limit.
fn gigabit_under(discipline: &str, count: u32, seconds: u64) -> Scenario {
    let link = format!(
        r#"{{"name": "bottleneck", "rate_bit_per_s": 1000000000, "delay_ns": 1000000,
            "queue": {{"discipline": "{discipline}", "parameters": {{"limit": 5000}}}}}}"#,
    );
    gigabit_scenario(seconds, &[link], &[flows_of("all", count, r#""bottleneck""#, "newreno")])
}

/// `count` SACK flows that share a link of 1 Mbit/s for each of them: the same life for every flow,
/// however many there are. About two million packets.
fn equal_shares(count: u32) -> Scenario {
    let pipe = count * 5; // packets that 40 ms hold
    let seconds = (16_000 / u64::from(count)).max(2);
    scenario(&format!(
        r#"{{"duration_ns": {}, "warm_up_ns": {SECOND}, "settle_ns": {SECOND},
            "links": [{{"name": "bottleneck", "rate_bit_per_s": {}, "delay_ns": 1000000,
                "queue": {{"discipline": "red", "parameters": {{"limit": {},
                    "min_threshold": {}, "max_threshold": {}, "max_probability": 0.1,
                    "weight": 0.002}}}}}}],
            "flows": [{}]}}"#,
        seconds * SECOND,
        u64::from(count) * 1_000_000,
        5 * pipe,
        pipe / 2,
        3 * pipe / 2,
        flows_of("all", count, r#""bottleneck""#, "sack"),
    ))
}

/// Ten links in a row: half of 1000 flows cross all of them, the others one each.
fn parking_lot() -> Scenario {
    let links: Vec<String> = (0..10).map(|hop| gigabit_link(&format!("hop{hop}"), 100)).collect();
    let whole: Vec<String> = (0..10).map(|hop| format!(r#""hop{hop}""#)).collect();
    let mut flows = vec![flows_of("through", 500, &whole.join(", "), "sack")];
    flows.extend(
        (0..10).map(|hop| flows_of(&format!("cross{hop}"), 50, &format!(r#""hop{hop}""#), "sack")),
    );
    gigabit_scenario(5, &links, &flows)
}

fn run(scenario: &Scenario) -> u64 {
    let mut simulation = Simulation::new(scenario.clone(), 1).expect("valid");
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    simulation.into_results(false).packets_forwarded
}

fn main() {
    let mut criterion = Criterion::default().with_measurement(CpuTime).configure_from_args();
    let mut group = criterion.benchmark_group("bottleneck");
    group.sample_size(10).warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(2));
    for (name, scenario) in [
        ("a: 10 Mbit/s, 16 to 64 NewReno flows, 80 s", varying_load()),
        ("b: 1 Gbit/s, 1000 NewReno flows", gigabit(1000, "newreno", 10)),
        ("c: 1 Gbit/s, 100 NewReno flows", gigabit(100, "newreno", 10)),
        ("d: 1 Gbit/s, 1000 SACK flows", gigabit(1000, "sack", 10)),
        ("e: 1 Gbit/s, 100 SACK flows", gigabit(100, "sack", 10)),
        ("f: 10 links in a row, 1000 SACK flows", parking_lot()),
        ("g: 10 SACK flows, 1 Mbit/s each", equal_shares(10)),
        ("h: 1000 SACK flows, 1 Mbit/s each", equal_shares(1000)),
        ("i: 10000 SACK flows, 1 Mbit/s each", equal_shares(10_000)),
        ("j: 1 Gbit/s, 100 CUBIC flows", gigabit(100, "cubic", 10)),
        ("k: 1 Gbit/s, 100 BBR flows", gigabit(100, "bbr", 5)),
        ("l: 1 Gbit/s, 1000 NewReno flows, drop-tail", gigabit_under("drop-tail", 1000, 10)),
        ("m: 1 Gbit/s, 1000 NewReno flows, codel", gigabit_under("codel", 1000, 10)),
        ("n: 1 Gbit/s, 1000 NewReno flows, fq-codel", gigabit_under("fq-codel", 1000, 10)),
        ("o: 1 Gbit/s, 1000 NewReno flows, fq-pie", gigabit_under("fq-pie", 1000, 10)),
    ] {
        group.throughput(Throughput::Elements(run(&scenario)));
        group.bench_function(name, |bencher| bencher.iter(|| run(black_box(&scenario))));
    }
    group.finish();
    criterion.final_summary();
}
