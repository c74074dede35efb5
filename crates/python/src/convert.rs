//! Between JSON, numpy arrays, and the core's own types.

use std::collections::BTreeMap;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_netsim::{Results, Scenario, Series, Simulation};
use vermilion_parameters::{ParameterError, Values};

use crate::errors::refused;
use crate::registered;
use crate::session::Session;

/// Reads a core scenario.
pub fn scenario(text: &str) -> PyResult<Scenario> {
    serde_json::from_str(text)
        .map_err(|error| refused(ParameterError::new("scenario", error, "a core scenario as JSON")))
}

/// The scenario, with what a caller asks for besides what the scenario itself does.
pub fn measuring(scenario: Scenario, distributions: bool, flow_delays: bool) -> Scenario {
    Scenario {
        distributions: distributions || scenario.distributions,
        flow_delays: flow_delays || scenario.flow_delays,
        ..scenario
    }
}

/// A core scenario, and what its disciplines in Python share if there are any.
pub fn scenario_and_session(text: &str) -> PyResult<(Scenario, Option<Arc<Session>>)> {
    let mut scenario = scenario(text)?;
    let session = Arc::default();
    let handed = registered::hand_over(&mut scenario, &session);
    Ok((scenario, handed.any.then_some(session)))
}

/// A network at time 0.
pub fn simulation(
    python: Python<'_>,
    scenario: Scenario,
    seed: u64,
    session: Option<&Session>,
) -> PyResult<Simulation> {
    let simulation = Simulation::new(scenario, seed);
    // What went wrong in Python says more than that something was refused.
    session.map_or(Ok(()), |session| session.check(python))?;
    simulation.map_err(refused)
}

/// Reads discipline parameters.
pub fn values(text: &str) -> PyResult<Values> {
    serde_json::from_str::<BTreeMap<_, _>>(text).map_err(|error| {
        refused(ParameterError::new("parameters", error, "an object of discipline parameters"))
    })
}

/// Writes anything of the core's as JSON.
pub fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// A run as Python sees it: its metrics as JSON, and the time series of each link as arrays.
pub fn outcome<'py>(
    python: Python<'py>,
    results: &Results,
    simulation: &Simulation,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let series = PyDict::new(python);
    if simulation.scenario().probe_interval_ns.is_some() {
        for (link, columns) in simulation.scenario().links.iter().zip(simulation.series()) {
            series.set_item(&link.name, arrays(python, columns)?)?;
        }
    }
    Ok((json(results)?, series))
}

/// The columns of a time series.
pub fn arrays<'py>(python: Python<'py>, series: &Series) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(python);
    for (name, column) in [
        ("time_s", &series.time_s),
        ("queue_packets", &series.queue_packets),
        ("queue_bytes", &series.queue_bytes),
        ("average_queue_packets", &series.average_queue_packets),
        ("drop_probability", &series.drop_probability),
        ("throughput_bit_per_s", &series.throughput_bit_per_s),
        ("rate_bit_per_s", &series.rate_bit_per_s),
        ("arrivals", &series.arrivals),
        ("drops", &series.drops),
        ("marks", &series.marks),
    ] {
        columns.set_item(name, PyArray1::from_slice(python, column))?;
    }
    Ok(columns)
}
