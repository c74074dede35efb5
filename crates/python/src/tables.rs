//! The parameter tables as JSON.

use std::collections::BTreeMap;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::Serialize;
use vermilion_parameters::{Algorithm, Description, Value};
use vermilion_tcp::option_sets::{self, OptionSet};
use vermilion_tcp::registry::{COMMON, Profile};

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
    let algorithms = vermilion_aqm::registry::ALGORITHMS.iter().chain(registered::disciplines());
    json(&algorithms.map(|algorithm| describe(algorithm, BTreeMap::new())).collect::<Vec<_>>())
}

/// A scheduler and the parameters of its classes.
#[derive(Serialize)]
struct Scheduler {
    #[serde(flatten)]
    description: Description,
    of_classes: Vec<vermilion_parameters::Row>,
    classes: usize,
}

/// Every scheduler over classes, as JSON.
#[pyfunction]
pub fn schedulers() -> PyResult<String> {
    let rows = vermilion_port::registry::SCHEDULERS.iter().map(|named| Scheduler {
        description: Description::from(&named.algorithm),
        of_classes: named.of_classes.iter().map(Into::into).collect(),
        classes: named.classes,
    });
    serde_json::to_string(&rows.collect::<Vec<_>>())
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Every sender, as JSON; those registered from Python last.
#[pyfunction]
pub fn senders() -> PyResult<String> {
    let rows = Profile::algorithms().chain(registered::senders()).map(|algorithm| {
        let sets = OptionSet::NAMES.iter();
        let sets = sets.map(|&name| (name, option_sets::in_set(algorithm, name).collect()));
        describe(algorithm, sets.collect())
    });
    json(&rows.collect::<Vec<_>>())
}

/// The parameters that every sender has beside those of its window rule, as a nameless sender's, as JSON.
#[pyfunction]
pub fn common_sender_parameters() -> PyResult<String> {
    let [name, title, summary, source] = [""; 4];
    let common = Algorithm { name, title, summary, source, ..COMMON };
    serde_json::to_string(&Description::from(&common))
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
