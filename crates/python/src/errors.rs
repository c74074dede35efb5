//! Errors of the core as Python exceptions.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use vermilion_netsim::Interrupted;

create_exception!(
    _core,
    ParameterError,
    PyValueError,
    "A value that cannot be used. Its arguments are the field, the value, and what is accepted."
);

/// The Python exception for a run that was ended.
pub fn interrupted(error: Interrupted) -> PyErr {
    match error {
        Interrupted::Cancelled => PyRuntimeError::new_err(error.to_string()),
        Interrupted::Refused(error) => refused(error),
    }
}

/// The Python exception for a refused value.
pub fn refused(error: vermilion_parameters::ParameterError) -> PyErr {
    ParameterError::new_err((error.field, error.value, error.accepted))
}
