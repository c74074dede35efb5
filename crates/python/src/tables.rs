//! The parameter tables as JSON.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use vermilion_parameters::{Algorithm, Description};
use vermilion_tcp::registry::Profile;

fn describe<'a>(algorithms: impl Iterator<Item = &'a Algorithm>) -> PyResult<String> {
    let descriptions: Vec<Description> = algorithms.map(Description::from).collect();
    serde_json::to_string(&descriptions).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Every queue discipline, as JSON.
#[pyfunction]
pub fn disciplines() -> PyResult<String> {
    describe(vermilion_aqm::registry::ALGORITHMS.iter())
}

/// Every sender, as JSON.
#[pyfunction]
pub fn senders() -> PyResult<String> {
    describe(Profile::algorithms())
}
