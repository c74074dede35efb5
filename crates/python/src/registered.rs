//! The disciplines that were registered from Python, by name.
//!
//! A scenario names them like any other; where one does, it is handed what makes them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use serde::Deserialize;
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_netsim::scenario::Link;
use vermilion_parameters::{Algorithm, Kind, Parameter, ParameterError, Scale, Value};

use crate::errors::refused;
use crate::own_discipline::{Factory, Registered};
use crate::session::Session;

static REGISTERED: Mutex<Vec<Arc<Registered>>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Arc<Registered>>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The descriptions of all that are registered.
pub fn algorithms() -> Vec<&'static Algorithm> {
    all().iter().map(|registered| registered.algorithm()).collect()
}

/// Registers a discipline: its table as JSON, and what makes and changes its instances. One of the
/// same name is replaced, unless it is the core's.
#[pyfunction]
pub fn register_discipline(table: &str, adapter: &Bound<'_, PyAny>) -> PyResult<()> {
    let table: Table = serde_json::from_str(table).map_err(|error| {
        refused(ParameterError::new("table", error, "the description of a discipline as JSON"))
    })?;
    if ALGORITHMS.iter().any(|algorithm| algorithm.name == table.name) {
        let accepted = "a name that no discipline of Vermilion has";
        return Err(refused(ParameterError::new("name", format!("\"{}\"", table.name), accepted)));
    }
    let algorithm = table.into_algorithm().map_err(refused)?;
    let registered = Arc::new(Registered::new(algorithm, adapter)?);
    let mut all = all();
    match all.iter().position(|other| other.algorithm().name == algorithm.name) {
        Some(index) => all[index] = registered,
        None => all.push(registered),
    }
    Ok(())
}

/// Forgets a discipline; whether there was one.
#[pyfunction]
pub fn unregister_discipline(name: &str) -> bool {
    let mut all = all();
    let index = all.iter().position(|registered| registered.algorithm().name == name);
    index.map(|index| all.remove(index)).is_some()
}

/// Gives the queues of links the registered disciplines that they name; whether any does.
pub fn hand_over(links: &mut [Link], session: &Arc<Session>) -> bool {
    let all = all();
    let mut any = false;
    for link in links {
        let name = &link.queue.discipline;
        if let Some(found) = all.iter().find(|registered| registered.algorithm().name == *name) {
            let (registered, session) = (Arc::clone(found), Arc::clone(session));
            link.queue.foreign = Some(Arc::new(Factory { registered, session }));
            any = true;
        }
    }
    any
}

/// A discipline's description as Python writes it: as the core's own
/// ([`vermilion_parameters::Description`]).
#[derive(Deserialize)]
struct Table {
    name: String,
    title: String,
    summary: String,
    source: String,
    parameters: Vec<Row>,
    ordered: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    kind: String,
    unit: String,
    default: Value,
    minimum: Option<f64>,
    maximum: Option<f64>,
    minimum_excluded: bool,
    integer: bool,
    scale: String,
    search: Option<(f64, f64)>,
    choices: Option<Vec<String>>,
    meaning: String,
    source: String,
}

/// Tables live as long as the program, as the core's do; so does what a table is replaced by, which
/// is some hundred bytes for each registration.
fn keep(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn keep_all<T>(rows: Vec<T>) -> &'static [T] {
    Box::leak(rows.into_boxed_slice())
}

impl Table {
    fn into_algorithm(self) -> Result<&'static Algorithm, ParameterError> {
        let parameters =
            self.parameters.into_iter().map(Row::into_parameter).collect::<Result<Vec<_>, _>>()?;
        let pairs = self.ordered.into_iter().map(|(lower, upper)| (keep(lower), keep(upper)));
        Ok(Box::leak(Box::new(Algorithm {
            name: keep(self.name),
            title: keep(self.title),
            summary: keep(self.summary),
            source: keep(self.source),
            parameters: keep_all(parameters),
            ordered: keep_all(pairs.collect()),
        })))
    }
}

impl Row {
    fn into_parameter(self) -> Result<Parameter, ParameterError> {
        let number = |default| Kind::Number {
            default,
            minimum: self.minimum.unwrap_or(f64::NEG_INFINITY),
            minimum_excluded: self.minimum_excluded,
            maximum: self.maximum.unwrap_or(f64::INFINITY),
            integer: self.integer,
            scale: if self.scale == "log" { Scale::Log } else { Scale::Linear },
            search: self.search,
        };
        let kind = match (self.kind.as_str(), self.default) {
            ("number", Value::Number(default)) => number(Some(default)),
            ("number", Value::Automatic) => number(None),
            ("switch", Value::Switch(default)) => Kind::Switch { default },
            ("choice", Value::Choice(default)) => {
                let choices = self.choices.unwrap_or_default().into_iter().map(keep).collect();
                Kind::Choice { default: keep(default), choices: keep_all(choices) }
            }
            (_, other) => {
                let accepted = format!("a default of the kind \"{}\"", self.kind);
                return Err(ParameterError::new(self.name, other, accepted));
            }
        };
        Ok(Parameter {
            name: keep(self.name),
            unit: keep(self.unit),
            kind,
            meaning: keep(self.meaning),
            source: keep(self.source),
        })
    }
}
