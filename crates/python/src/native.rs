//! A congestion control or a discipline in a library that Python has loaded.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyType;
use vermilion_parameters::Algorithm;
use vermilion_plugin::host::{Factory, Library};

use crate::session::Session;

/// Knowledge of a registered library.
#[derive(Debug)]
pub struct Native {
    library: Library,
    /// Class of the error that a panic in it becomes.
    failure: Py<PyType>,
}

impl Native {
    /// A library whose panics are errors of that class.
    pub fn new(library: Library, failure: &Bound<'_, PyType>) -> Self {
        Self { library, failure: failure.clone().unbind() }
    }

    /// The description.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.library.algorithm()
    }

    /// True if it is a discipline.
    pub fn is_discipline(&self) -> bool {
        self.library.is_discipline()
    }

    /// Makes its instances for the run of `session`, which a panic ends.
    pub fn factory(self: &Arc<Self>, session: &Arc<Session>) -> Factory {
        let (native, session) = (Arc::clone(self), Arc::clone(session));
        self.library.factory(Arc::new(move |doing, now, words| {
            let kind = if native.is_discipline() { "discipline" } else { "congestion control" };
            let when = now.map_or(String::new(), |now| format!(" at {} s", now as f64 / 1e9));
            let message = format!("{kind} {}: {doing}{when}: {words}", native.algorithm().name);
            Python::attach(|python| {
                let class = native.failure.bind(python).clone();
                session.fail(PyErr::from_type(class, message));
            });
        }))
    }
}
