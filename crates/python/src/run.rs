//! Running one scenario, or many: Python's lock is released, and Ctrl-C is listened to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_netsim::batch::{Batch, Job};
use vermilion_netsim::{Results, Scenario, Simulation};

use crate::convert;
use crate::errors::refused;
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
    let scenario = Scenario { distributions, flow_delays, ..scenario };
    let mut simulation = convert::simulation(python, scenario, seed, session.as_deref())?;
    advance(python, &mut simulation, u64::MAX, session.as_deref())?;
    let results = simulation.conclude(true);
    session.map_or(Ok(()), |session| session.check(python))?;
    convert::outcome(python, &results, &simulation)
}

/// Advances a simulation on a thread of its own while this one listens to signals; one that calls
/// Python, on this one.
///
/// A short step is done here: a thread for each would cost a controller more than the simulation.
pub fn advance(
    python: Python<'_>,
    simulation: &mut Simulation,
    until: u64,
    session: Option<&Session>,
) -> PyResult<()> {
    if let Some(session) = session {
        return session.advance(python, simulation, until, LOOK, |_| Ok(true)).map(|_| ());
    }
    let cancel = AtomicBool::new(false);
    if until.saturating_sub(simulation.now()) <= SHORT_STEP_NS {
        let outcome = python.detach(|| simulation.advance(until, &cancel));
        python.check_signals()?;
        return outcome.map_err(|error| PyRuntimeError::new_err(error.to_string()));
    }
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

/// What a batch is told beside its runs.
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

/// Which jobs are worth further seeds, as Python says.
struct Further {
    seeds: Vec<u64>,
    is_worth_more: Option<Py<PyAny>>,
    /// Where asking has failed.
    failure: Mutex<Option<PyErr>>,
}

impl Further {
    /// Whether a job is worth them, by its number and results; never after a failure.
    fn ask(&self, job: usize, results: &Results) -> bool {
        let Some(is_worth_more) = &self.is_worth_more else { return false };
        let answer = Python::attach(|python| {
            is_worth_more.call1(python, (job, convert::json(results)?))?.extract(python)
        });
        answer.unwrap_or_else(|error| {
            self.failure.lock().expect("nobody panics while holding it").get_or_insert(error);
            false
        })
    }

    fn check(&self) -> PyResult<()> {
        self.failure.lock().expect("nobody panics while holding it").take().map_or(Ok(()), Err)
    }
}

/// Runs many scenarios and seeds on many threads; after them those that call Python, on this one.
#[pyfunction]
#[pyo3(signature = (
    scenarios, jobs, threads=None, progress=None, deadline_s=None, distributions=false,
    flow_delays=false, further_seeds=None, is_worth_more=None
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
    further_seeds: Option<Vec<u64>>,
    is_worth_more: Option<Py<PyAny>>,
) -> PyResult<Vec<Option<String>>> {
    let seeds = further_seeds.unwrap_or_default();
    let further = Further { seeds, is_worth_more, failure: Mutex::new(None) };
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
            let scenario = convert::scenario(text)?;
            let mut scenario = Scenario { distributions, flow_delays, ..scenario };
            calls_python.push(registered::hand_over(&mut scenario, &session));
            Ok(scenario)
        })
        .collect::<PyResult<Vec<_>>>()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = jobs.len() * (1 + further.seeds.len());
    let threads = threads.unwrap_or(cores).clamp(1, most.max(1));
    let conditions = Conditions { begun, threads, progress, deadline };
    let (on_threads, numbers): (Vec<Job>, Vec<usize>) = jobs
        .iter()
        .zip(0..)
        .filter(|((index, _), _)| !calls_python.get(*index).is_some_and(|calls| *calls))
        .unzip();
    let batch = Batch::new(&scenarios, &on_threads);
    session.check(python)?;
    let batch = batch.map_err(refused)?.with_further_seeds(&further.seeds);
    let ask = |place: usize, results: &Results| further.ask(numbers[place], results);
    work_on_threads(python, &batch, &conditions, &ask)?;
    further.check()?;
    let mut done = batch.done();
    let mut made = batch.into_outcomes();
    let mut outcomes = vec![None; most];
    let further_of = |job: usize, jobs: usize| {
        let first = jobs + job * further.seeds.len();
        first..first + further.seeds.len()
    };
    for (place, number) in numbers.iter().enumerate() {
        outcomes[*number] = made[place].take();
        for (to, from) in further_of(*number, jobs.len()).zip(further_of(place, numbers.len())) {
            outcomes[to] = made[from].take();
        }
    }
    // Nobody is asked about those that call Python: there is no second thread to keep at work.
    for (outcome, (index, seed)) in outcomes.iter_mut().zip(jobs) {
        if calls_python[index] {
            *outcome = work_here(python, &scenarios[index], seed, &session, &conditions, done)?;
            done += usize::from(outcome.is_some());
        }
    }
    outcomes.iter().map(|outcome| outcome.as_ref().map(convert::json).transpose()).collect()
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
    let finished = session.advance(python, &mut simulation, u64::MAX, LOOK, |python| {
        conditions.report(python, done)?;
        Ok(!conditions.is_over())
    })?;
    let results = finished.then(|| simulation.into_results(false));
    session.check(python)?;
    conditions.report(python, done + usize::from(finished))?;
    Ok(results)
}

/// Runs a batch while this thread watches.
fn work_on_threads(
    python: Python<'_>,
    batch: &Batch<'_>,
    conditions: &Conditions,
    is_worth_more: &(impl Fn(usize, &Results) -> bool + Sync),
) -> PyResult<()> {
    python.detach(|| {
        std::thread::scope(|scope| -> PyResult<()> {
            let (finished, wait) = channel::<()>();
            for _ in 0..conditions.threads {
                let finished = finished.clone();
                scope.spawn(move || {
                    batch.work_asking(is_worth_more);
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
