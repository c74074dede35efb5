//! Running one scenario, or many: Python's lock is released, and Ctrl-C is listened to.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_netsim::batch::{Batch, Job};
use vermilion_netsim::{Results, Scenario, Simulation};

use crate::convert;
use crate::errors::{interrupted, refused};
use crate::registered;
use crate::session::Session;

/// Time between two looks at signals, progress and deadline.
const LOOK: Duration = Duration::from_millis(50);

/// Simulated time that takes so little that Ctrl-C can wait for it.
const SHORT_STEP_NS: u64 = 100_000_000;

/// Builds everything a scenario names, and runs nothing.
#[pyfunction]
pub fn check(python: Python<'_>, scenario: &str) -> PyResult<()> {
    let (scenario, session) = convert::scenario_and_session(scenario)?;
    convert::simulation(python, scenario, 0, session.as_deref()).map(|_| ())
}

/// Runs a scenario to its end.
#[pyfunction]
#[pyo3(signature = (scenario, seed, distributions=false, flow_delays=false))]
pub fn run<'py>(
    python: Python<'py>,
    scenario: &str,
    seed: u64,
    distributions: bool,
    flow_delays: bool,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let (scenario, session) = convert::scenario_and_session(scenario)?;
    let scenario = convert::measuring(scenario, distributions, flow_delays);
    let mut simulation = convert::simulation(python, scenario, seed, session.as_deref())?;
    advance(python, &mut simulation, u64::MAX, session.as_deref())?;
    let results = simulation.conclude(true);
    session.map_or(Ok(()), |session| session.check(python))?;
    convert::outcome(python, &results, &simulation)
}

/// Number of the link of that name.
pub fn link_of(simulation: &Simulation, name: &str) -> PyResult<usize> {
    simulation.scenario().link_named("link", name).map_err(refused)
}

/// Advances a simulation while signals are listened to. Python's lock is held only for one that calls Python.
///
/// A short step is not watched: a thread for each would cost a controller more than the simulation.
pub fn advance(
    python: Python<'_>,
    simulation: &mut Simulation,
    until: u64,
    session: Option<&Session>,
) -> PyResult<()> {
    if session.is_none() && until.saturating_sub(simulation.now()) <= SHORT_STEP_NS {
        let outcome = python.detach(|| simulation.advance(until, &AtomicBool::new(false)));
        python.check_signals()?;
        return outcome.map_err(interrupted);
    }
    let (own, calls_python) = (Session::default(), session.is_some());
    let session = session.unwrap_or(&own);
    session.advance(python, simulation, until, LOOK, !calls_python, |_| Ok(true)).map(|_| ())
}

/// Options of a batch.
struct Conditions {
    begun: Instant,
    threads: usize,
    progress: Option<Py<PyAny>>,
    deadline: Option<Duration>,
}

impl Conditions {
    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| self.begun.elapsed() >= deadline)
    }

    fn report(&self, python: Python<'_>, done: usize) -> PyResult<()> {
        python.check_signals()?;
        if let Some(progress) = &self.progress {
            progress.call1(python, (done,))?;
        }
        Ok(())
    }
}

/// Runs many scenarios and seeds on many threads; after them those that call Python, on this one.
#[pyfunction]
#[pyo3(signature = (
    scenarios, jobs, threads=None, progress=None, deadline_s=None, distributions=false,
    flow_delays=false
))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn run_many(
    python: Python<'_>,
    scenarios: Vec<String>,
    jobs: Vec<Job>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    deadline_s: Option<f64>,
    distributions: bool,
    flow_delays: bool,
) -> PyResult<Vec<Option<String>>> {
    let begun = Instant::now();
    let deadline = deadline_s
        .map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)))
        .transpose()
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let session = Arc::default();
    let mut calls_python = Vec::with_capacity(scenarios.len());
    let scenarios = scenarios
        .iter()
        .map(|text| {
            let mut scenario =
                convert::measuring(convert::scenario(text)?, distributions, flow_delays);
            calls_python.push(registered::hand_over(&mut scenario, &session).python);
            Ok(scenario)
        })
        .collect::<PyResult<Vec<_>>>()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(cores).clamp(1, jobs.len().max(1));
    let conditions = Conditions { begun, threads, progress, deadline };
    let on_threads: Vec<Job> = jobs
        .iter()
        .filter(|(index, _)| !calls_python.get(*index).is_some_and(|calls| *calls))
        .copied()
        .collect();
    let batch = Batch::new(&scenarios, &on_threads);
    session.check(python)?;
    let batch = batch.map_err(refused)?;
    work_on_threads(python, &batch, &conditions)?;
    // A plug-in in a library may have panicked there.
    session.check(python)?;
    let mut outcomes = batch.into_outcomes().map_err(refused)?.into_iter();
    let mut done = on_threads.len();
    let mut texts = Vec::with_capacity(jobs.len());
    for (index, seed) in jobs {
        let outcome = if calls_python[index] {
            let outcome = work_here(python, &scenarios[index], seed, &session, &conditions, done)?;
            done += usize::from(outcome.is_some());
            outcome
        } else {
            outcomes.next().flatten()
        };
        texts.push(outcome.as_ref().map(convert::json).transpose()?);
    }
    Ok(texts)
}

/// A run that calls Python; `None` where the deadline comes first.
fn work_here(
    python: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    session: &Session,
    conditions: &Conditions,
    done: usize,
) -> PyResult<Option<Results>> {
    if conditions.is_over() {
        return Ok(None);
    }
    let mut simulation = convert::simulation(python, scenario.clone(), seed, Some(session))?;
    let finished = session.advance(python, &mut simulation, u64::MAX, LOOK, false, |python| {
        conditions.report(python, done)?;
        Ok(!conditions.is_over())
    })?;
    let results = finished.then(|| simulation.into_results(false));
    session.check(python)?;
    conditions.report(python, done + usize::from(finished))?;
    Ok(results)
}

/// Runs a batch while this thread watches.
fn work_on_threads(python: Python<'_>, batch: &Batch<'_>, conditions: &Conditions) -> PyResult<()> {
    python.detach(|| {
        std::thread::scope(|scope| -> PyResult<()> {
            let (finished, wait) = channel::<()>();
            for _ in 0..conditions.threads {
                let finished = finished.clone();
                scope.spawn(move || {
                    batch.work();
                    drop(finished);
                });
            }
            drop(finished);
            let watch = || Python::attach(|python| conditions.report(python, batch.done()));
            loop {
                let left = conditions.deadline.map_or(LOOK, |deadline| {
                    deadline.saturating_sub(conditions.begun.elapsed()).min(LOOK)
                });
                match wait.recv_timeout(left.max(Duration::from_millis(1))) {
                    Err(RecvTimeoutError::Timeout) => {
                        if conditions.is_over() {
                            batch.cancel();
                        }
                        watch().inspect_err(|_| batch.cancel())?;
                    }
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            watch().inspect_err(|_| batch.cancel())
        })
    })
}
