use pyo3::exceptions::{PyException, PySystemExit, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_parameters::{Algorithm, ParameterError, Settings, Value};

use crate::session::Session;

/// A registered class in Python, through the adapter that stands for it.
///
/// What can be done in Python is done there: adapters (`vermilion.scenario.own_class`) make, change and
/// copy instances and explain failures.
#[derive(Debug)]
pub struct Adapter {
    algorithm: &'static Algorithm,
    /// The field of a scenario in which its name stands.
    field: &'static str,
    object: Py<PyAny>,
}

impl Adapter {
    /// Of what `algorithm` describes.
    pub fn new(
        algorithm: &'static Algorithm,
        field: &'static str,
        object: &Bound<'_, PyAny>,
    ) -> Self {
        Self { algorithm, field, object: object.clone().unbind() }
    }

    /// The description.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// Its value of this name.
    pub fn attribute(&self, python: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        self.object.getattr(python, name)
    }

    /// A method of the class, if that has one of its own.
    pub fn method(&self, python: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let method = self.attribute(python, name)?;
        Ok((!method.is_none(python)).then_some(method))
    }

    /// Has it do something.
    pub fn call<'py>(
        &self,
        python: Python<'py>,
        name: &str,
        arguments: impl pyo3::call::PyCallArgs<'py>,
    ) -> PyResult<Py<PyAny>> {
        self.object.call_method1(python, name, arguments)
    }

    /// Message to a user about an error that ended a run: the adapter says it, except of what
    /// ends programs (Ctrl-C).
    pub fn explain(
        &self,
        python: Python<'_>,
        error: PyErr,
        doing: &str,
        now: Option<u64>,
    ) -> PyErr {
        explain(self.object.bind(python), error, doing, now)
    }

    /// A setting that Python refuses; whatever else goes wrong there ends the run.
    pub fn refused(
        &self,
        python: Python<'_>,
        session: &Session,
        error: PyErr,
        doing: &str,
    ) -> ParameterError {
        let what = if self.field == "discipline" { "discipline" } else { "congestion control" };
        let accepted = format!("settings that the {what} accepts: {}", error.value(python));
        if !error.is_instance_of::<PyValueError>(python) {
            session.fail(self.explain(python, error, doing, None));
        }
        ParameterError::new(self.field, format!("\"{}\"", self.algorithm.name), accepted)
    }
}

/// Message to a user about an error that ended a run, from an object that says it.
pub fn explain(object: &Bound<'_, PyAny>, error: PyErr, doing: &str, now: Option<u64>) -> PyErr {
    let python = object.py();
    // What a user's class raises to end the program ends the run; who presses Ctrl-C is heard.
    let ends = error.is_instance_of::<PySystemExit>(python);
    if !ends && !error.is_instance_of::<PyException>(python) {
        return error;
    }
    // This form of it has its traceback.
    let error = error.into_value(python);
    let told = object.call_method1("explain", (error, doing, now));
    told.map_or_else(|failure| failure, PyErr::from_value)
}

/// The values as a dictionary of Python's.
pub fn values<'py>(python: Python<'py>, settings: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(python);
    for (name, value) in settings.to_values() {
        match value {
            Value::Switch(value) => values.set_item(name, value)?,
            Value::Number(value) => values.set_item(name, value)?,
            Value::Choice(value) => values.set_item(name, value)?,
            Value::Automatic => values.set_item(name, python.None())?,
        }
    }
    Ok(values)
}
