//! The parameter table of a class in Python, as it is registered.

use pyo3::PyResult;
use serde::Deserialize;
use vermilion_parameters::{Algorithm, Kind, Parameter, ParameterError, Scale, Value};

use crate::errors::refused;

/// An algorithm's description as Python writes it: as the core's own
/// ([`vermilion_parameters::Description`]).
#[derive(Deserialize)]
pub struct Table {
    /// Its name in scenarios.
    pub name: String,
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
    /// Reads one; `kind`: of what, in words.
    pub fn read(text: &str, kind: &str) -> PyResult<Self> {
        serde_json::from_str(text).map_err(|error| {
            let accepted = format!("the description of a {kind} as JSON");
            refused(ParameterError::new("table", error, accepted))
        })
    }

    /// The description as the core keeps it.
    pub fn into_algorithm(self) -> Result<&'static Algorithm, ParameterError> {
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
            only_with: None,
        })
    }
}
