//! The parameter tables as JSON.

use std::collections::BTreeMap;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::Serialize;
use vermilion_parameters::{Algorithm, Description, Value};
use vermilion_tcp::option_sets;
use vermilion_tcp::registry::Profile;

use crate::registered;

/// An algorithm and its named sets of defaults.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    description: Description,
    option_sets: BTreeMap<&'static str, BTreeMap<&'static str, Value>>,
}

fn json(rows: &[Row]) -> PyResult<String> {
    serde_json::to_string(rows).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn describe(
    algorithm: &Algorithm,
    option_sets: BTreeMap<&'static str, BTreeMap<&'static str, Value>>,
) -> Row {
    Row { description: Description::from(algorithm), option_sets }
}

/// Every queue discipline, as JSON; those registered from Python last.
#[pyfunction]
pub fn disciplines() -> PyResult<String> {
    let algorithms = vermilion_aqm::registry::ALGORITHMS.iter().chain(registered::algorithms());
    json(&algorithms.map(|algorithm| describe(algorithm, BTreeMap::new())).collect::<Vec<_>>())
}

/// Every sender, as JSON.
#[pyfunction]
pub fn senders() -> PyResult<String> {
    let rows = Profile::algorithms().map(|algorithm| {
        let sets = option_sets::NAMES.iter();
        let sets = sets.map(|&name| (name, option_sets::in_set(algorithm, name).collect()));
        describe(algorithm, sets.collect())
    });
    json(&rows.collect::<Vec<_>>())
}
