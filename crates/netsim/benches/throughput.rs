//! Packets sent by links per CPU second of one core, building included, with the standard metrics on.
//!
//! Time is the thread's CPU time, so that other work on the machine disturbs less; still compare
//! by ratios within one run.

mod networks;

use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpu_time::ThreadTime;
use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, Throughput};
use networks::ROWS;
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
    for row in ROWS {
        let scenario = (row.scenario)();
        let name = format!("{}: {}", row.name, row.title);
        group.throughput(Throughput::Elements(run(&scenario)));
        group.bench_function(name, |bencher| bencher.iter(|| run(black_box(&scenario))));
    }
    group.finish();
    criterion.final_summary();
}
