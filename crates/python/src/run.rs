//! Running one scenario, or many: Python's lock is released, and Ctrl-C is listened to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_netsim::batch::{Batch, Job};
use vermilion_netsim::{Scenario, Simulation};

use crate::convert;
use crate::errors::refused;

/// Time between two looks at signals, progress and deadline.
const LOOK: Duration = Duration::from_millis(50);

/// Builds everything a scenario names, and runs nothing.
#[pyfunction]
pub fn check(scenario: &str) -> PyResult<()> {
    Simulation::new(convert::scenario(scenario)?, 0).map(|_| ()).map_err(refused)
}

/// Runs a scenario to its end.
#[pyfunction]
#[pyo3(signature = (scenario, seed, distributions=false))]
pub fn run<'py>(
    python: Python<'py>,
    scenario: &str,
    seed: u64,
    distributions: bool,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let scenario = Scenario { distributions, ..convert::scenario(scenario)? };
    let mut simulation = Simulation::new(scenario, seed).map_err(refused)?;
    advance(python, &mut simulation, u64::MAX)?;
    let results = simulation.conclude(true);
    convert::outcome(python, &results, &simulation)
}

/// Advances a simulation on a thread of its own while this one listens to signals.
pub fn advance(python: Python<'_>, simulation: &mut Simulation, until: u64) -> PyResult<()> {
    let cancel = AtomicBool::new(false);
    python.detach(|| {
        std::thread::scope(|scope| {
            let (finished, wait) = channel();
            let (cancelled, work) = (&cancel, simulation);
            scope.spawn(move || {
                let outcome = work.advance(until, cancelled);
                // Nobody listens any more only if the listener has already failed.
                let _ = finished.send(outcome);
            });
            loop {
                match wait.recv_timeout(LOOK) {
                    Ok(outcome) => {
                        return outcome.map_err(|error| PyRuntimeError::new_err(error.to_string()));
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(signal) = Python::attach(|python| python.check_signals()) {
                            cancel.store(true, Ordering::Relaxed);
                            return Err(signal);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(PyRuntimeError::new_err("the simulation failed"));
                    }
                }
            }
        })
    })
}

/// Runs many scenarios and seeds on many threads.
#[pyfunction]
#[pyo3(signature = (scenarios, jobs, threads=None, progress=None, deadline_s=None, distributions=false))]
pub fn run_many(
    python: Python<'_>,
    scenarios: Vec<String>,
    jobs: Vec<Job>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    deadline_s: Option<f64>,
    distributions: bool,
) -> PyResult<Vec<Option<String>>> {
    let begun = Instant::now();
    let deadline = deadline_s
        .map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)))
        .transpose()
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let scenarios = scenarios
        .iter()
        .map(|text| Ok(Scenario { distributions, ..convert::scenario(text)? }))
        .collect::<PyResult<Vec<_>>>()?;
    let batch = Batch::new(&scenarios, &jobs).map_err(refused)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(cores).clamp(1, jobs.len().max(1));
    python.detach(|| {
        std::thread::scope(|scope| -> PyResult<()> {
            let (finished, wait) = channel::<()>();
            for _ in 0..threads {
                let (finished, batch) = (finished.clone(), &batch);
                scope.spawn(move || {
                    batch.work();
                    drop(finished);
                });
            }
            drop(finished);
            let watch = |batch: &Batch| {
                Python::attach(|python| {
                    python.check_signals()?;
                    if let Some(progress) = &progress {
                        progress.call1(python, (batch.done(),))?;
                    }
                    Ok(())
                })
            };
            loop {
                let left = deadline
                    .map_or(LOOK, |deadline| deadline.saturating_sub(begun.elapsed()).min(LOOK));
                match wait.recv_timeout(left.max(Duration::from_millis(1))) {
                    Err(RecvTimeoutError::Timeout) => {
                        if deadline.is_some_and(|deadline| begun.elapsed() >= deadline) {
                            batch.cancel();
                        }
                        watch(&batch).inspect_err(|_| batch.cancel())?;
                    }
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            watch(&batch).inspect_err(|_| batch.cancel())
        })
    })?;
    batch
        .into_outcomes()
        .iter()
        .map(|outcome| outcome.as_ref().map(convert::json).transpose())
        .collect()
}
