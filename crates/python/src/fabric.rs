//! Running fabrics: Python's lock is released, and Ctrl-C is listened to.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_fabric::{Columns, Fabric, Results, Scenario};
use vermilion_parameters::{Description, ParameterError};

use crate::convert;
use crate::errors::refused;

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(5);

/// A run's outcome, once there is one.
type Place = Mutex<Option<Result<(Results, Columns), ParameterError>>>;

fn scenario(text: &str) -> PyResult<Scenario> {
    serde_json::from_str(text)
        .map_err(|error| refused(ParameterError::new("fabric", error, "a fabric as JSON")))
}

/// Every rate-based end, as JSON.
#[pyfunction]
pub fn rate_based_senders() -> PyResult<String> {
    let rows: Vec<_> = vermilion_rdma::registry::ALGORITHMS.iter().map(Description::from).collect();
    serde_json::to_string(&rows).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Builds a fabric and runs nothing.
#[pyfunction]
pub fn check_fabric(text: &str) -> PyResult<()> {
    Fabric::new(&scenario(text)?, 0).map(|_| ()).map_err(refused)
}

/// Runs pairs of a fabric's number and a seed on many threads: of each the results as JSON, and its transfers.
#[pyfunction]
#[pyo3(signature = (fabrics, jobs, threads=None, progress=None))]
pub fn run_fabrics<'py>(
    python: Python<'py>,
    fabrics: Vec<String>,
    jobs: Vec<(usize, u64)>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<(String, Bound<'py, PyDict>)>> {
    let fabrics = fabrics.iter().map(|text| scenario(text)).collect::<PyResult<Vec<_>>>()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(cores).clamp(1, jobs.len().max(1));
    let (stop, next, done) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let outcomes: Vec<Place> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(fabric, seed)) = jobs.get(number) else { return };
            let outcome = match Fabric::new(&fabrics[fabric], seed).map(|fabric| fabric.run(&stop))
            {
                Ok(Ok(outcome)) => Ok(outcome),
                Ok(Err(_)) => return,
                Err(error) => Err(error),
            };
            if let Ok(mut place) = outcomes[number].lock() {
                *place = Some(outcome);
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    python.detach(|| {
        std::thread::scope(|scope| -> PyResult<()> {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            while handles.iter().any(|handle| !handle.is_finished()) {
                std::thread::park_timeout(LOOK);
                Python::attach(|python| {
                    python.check_signals()?;
                    progress.as_ref().map_or(Ok(()), |call| {
                        call.call1(python, (done.load(Ordering::Relaxed),)).map(|_| ())
                    })
                })
                .inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Ok(())
        })
    })?;
    let outcomes = outcomes.into_iter().filter_map(|place| place.into_inner().ok().flatten());
    outcomes
        .map(|outcome| {
            let (results, columns) = outcome.map_err(refused)?;
            Ok((convert::json(&results)?, transfers(python, columns)?))
        })
        .collect()
}

fn transfers(python: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
    let rows = PyDict::new(python);
    rows.set_item("source", PyArray1::from_vec(python, columns.source))?;
    rows.set_item("destination", PyArray1::from_vec(python, columns.destination))?;
    rows.set_item("bytes", PyArray1::from_vec(python, columns.bytes))?;
    rows.set_item("start_s", PyArray1::from_vec(python, columns.start_s))?;
    rows.set_item("completion_time_s", PyArray1::from_vec(python, columns.completion_time_s))?;
    rows.set_item("ideal_time_s", PyArray1::from_vec(python, columns.ideal_time_s))?;
    Ok(rows)
}
