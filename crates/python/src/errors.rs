//! Errors of the core as Python exceptions.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;

create_exception!(
    _core,
    ParameterError,
    PyValueError,
    "A value that cannot be used. Its arguments are the field, the value, and what is accepted."
);

/// The Python exception for a refused value.
pub fn refused(error: vermilion_parameters::ParameterError) -> PyErr {
    ParameterError::new_err((error.field, error.value, error.accepted))
}
