//! A congestion control written in Python, as the core calls it.
//!
//! Here is what happens for every acknowledgement; the rest is the adapter's
//! (`vermilion.scenario.own_congestion_control`).

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use vermilion_parameters::{Algorithm, ParameterError, Settings};
use vermilion_tcp::rule::{Acknowledged, Congestion, WindowRule};
use vermilion_tcp::{ForeignRule, ForeignSenders, Window};

use crate::adapter::{Adapter, values};
use crate::congestion_views::{self, Acknowledgement, LARGEST_WINDOW, Reduction};
use crate::session::Session;

/// Knowledge of a registered class.
#[derive(Debug)]
pub struct RegisteredSender {
    adapter: Adapter,
    on_ack: Py<PyAny>,
    on_loss: Py<PyAny>,
    on_mark: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    answers_marks: bool,
    governs_window: bool,
    scalable: bool,
}

impl RegisteredSender {
    /// Takes from the adapter what is needed for every acknowledgement.
    pub fn new(algorithm: &'static Algorithm, adapter: &Bound<'_, PyAny>) -> PyResult<Self> {
        let python = adapter.py();
        let adapter = Adapter::new(algorithm, "congestion_control", adapter);
        let method = |name| adapter.method(python, name);
        let switch = |name| adapter.attribute(python, name)?.extract::<bool>(python);
        Ok(Self {
            on_ack: adapter.attribute(python, "on_ack")?,
            on_loss: adapter.attribute(python, "on_loss")?,
            on_mark: method("on_mark")?,
            on_timeout: method("on_timeout")?,
            answers_marks: switch("answers_marks")?,
            governs_window: switch("governs_window")?,
            scalable: switch("scalable")?,
            adapter,
        })
    }

    /// The description.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.adapter.algorithm()
    }
}

/// Makes the rules of one class for one run.
#[derive(Debug)]
pub struct Senders {
    registered: Arc<RegisteredSender>,
    session: Arc<Session>,
}

impl Senders {
    /// Of `registered`, for the run of `session`.
    pub fn new(registered: Arc<RegisteredSender>, session: Arc<Session>) -> Self {
        Self { registered, session }
    }
}

impl ForeignSenders for Senders {
    fn algorithm(&self) -> &'static Algorithm {
        self.registered.algorithm()
    }

    fn is_scalable(&self) -> bool {
        self.registered.scalable
    }

    fn rule(&self, settings: &Settings) -> Result<Box<dyn ForeignRule>, ParameterError> {
        Python::attach(|python| {
            let kind = Kind::new(python, self, settings);
            kind.and_then(|kind| {
                // One that no flow has: what is wrong with the settings shows before the run.
                kind.build(python)?;
                Ok(Box::new(OwnRule { kind: Arc::new(kind), asked: None, rate: None }) as _)
            })
            .map_err(|error| {
                self.registered.adapter.refused(python, &self.session, error, "its beginning")
            })
        })
    }
}

/// Facts that the flows of a group have in common.
#[derive(Debug)]
struct Kind {
    registered: Arc<RegisteredSender>,
    session: Arc<Session>,
    values: Py<PyDict>,
    acknowledgement: Py<Acknowledgement>,
    reduction: Py<Reduction>,
    window: Py<congestion_views::Window>,
}

impl Kind {
    fn new(python: Python<'_>, senders: &Senders, settings: &Settings) -> PyResult<Self> {
        Ok(Self {
            registered: Arc::clone(&senders.registered),
            session: Arc::clone(&senders.session),
            values: values(python, settings)?.unbind(),
            acknowledgement: Py::new(python, Acknowledgement::default())?,
            reduction: Py::new(python, Reduction::default())?,
            window: Py::new(python, congestion_views::Window::default())?,
        })
    }

    /// An instance for a flow.
    fn build(&self, python: Python<'_>) -> PyResult<Py<PyAny>> {
        self.registered.adapter.call(python, "build", (&self.values,))
    }

    /// Ends the run.
    #[cold]
    fn fail(&self, python: Python<'_>, error: PyErr, doing: &str, now: u64) {
        self.session.fail(self.registered.adapter.explain(python, error, doing, Some(now)));
    }
}

/// An instance, and what its methods are called with.
#[derive(Debug)]
struct Asked {
    instance: Py<PyAny>,
    /// The instance, the acknowledgement and the window.
    growing: Py<PyTuple>,
    /// The instance, the sign of congestion and the window.
    reducing: Py<PyTuple>,
}

impl Asked {
    fn around(python: Python<'_>, kind: &Kind, instance: Py<PyAny>) -> PyResult<Self> {
        let growing = (&instance, &kind.acknowledgement, &kind.window);
        let growing = growing.into_pyobject(python)?.unbind();
        let reducing = (&instance, &kind.reduction, &kind.window);
        let reducing = reducing.into_pyobject(python)?.unbind();
        Ok(Self { instance, growing, reducing })
    }
}

/// The window rule of one flow.
#[derive(Debug)]
struct OwnRule {
    kind: Arc<Kind>,
    /// Made when it is first needed: not every copy of a rule becomes a flow's.
    asked: Option<Asked>,
    /// Packets a second.
    rate: Option<f64>,
}

impl OwnRule {
    /// Makes the instance unless there is one.
    fn begin(&mut self, python: Python<'_>) -> PyResult<()> {
        if self.asked.is_none() {
            let instance = self.kind.build(python)?;
            self.asked = Some(Asked::around(python, &self.kind, instance)?);
        }
        Ok(())
    }

    fn ask_growth(&mut self, python: Python<'_>) -> PyResult<()> {
        self.begin(python)?;
        let Some(asked) = &self.asked else { return Ok(()) };
        let on_ack = self.kind.registered.on_ack.bind(python);
        let answer = on_ack.call1(asked.growing.bind(python))?;
        if answer.is_none() {
            return Ok(());
        }
        let message = format!(
            "the answer {} is not accepted; expected none: on_ack sets window.size",
            answer.repr()?
        );
        Err(PyTypeError::new_err(message))
    }

    fn ask_reduction(&mut self, python: Python<'_>, method: &Py<PyAny>) -> PyResult<f64> {
        self.begin(python)?;
        let Some(asked) = &self.asked else { return Ok(1.0) };
        let answer = method.bind(python).call1(asked.reducing.bind(python))?;
        let window = answer.extract::<f64>();
        if let Ok(window) = window
            && window > 0.0
            && window <= LARGEST_WINDOW
        {
            return Ok(window);
        }
        let message = format!(
            "the answer {} is not accepted; expected the window in packets, above 0 and at most 1e9",
            answer.repr()?
        );
        Err(PyTypeError::new_err(message))
    }
}

impl WindowRule for OwnRule {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        if self.kind.session.has_failed() {
            return;
        }
        self.kind.acknowledgement.get().show(event);
        self.kind.window.get().show(window, self.rate, true);
        Python::attach(|python| match self.ask_growth(python) {
            Ok(()) => {
                self.kind.window.get().take(window);
                self.rate = self.kind.window.get().rate();
            }
            Err(error) => self.kind.fail(python, error, "on_ack", event.now),
        });
    }

    fn reduced(&mut self, now: u64, sign: Congestion, base: f64, window: &Window) -> f64 {
        if self.kind.session.has_failed() {
            return base;
        }
        self.kind.reduction.get().show(now, base);
        self.kind.window.get().show(window, self.rate, false);
        let registered = Arc::clone(&self.kind.registered);
        let (own, doing) = match sign {
            Congestion::Loss => (None, "on_loss"),
            Congestion::Mark => (registered.on_mark.as_ref(), "on_mark"),
            Congestion::Timeout => (registered.on_timeout.as_ref(), "on_timeout"),
        };
        let (method, doing) = own.map_or((&registered.on_loss, "on_loss"), |own| (own, doing));
        Python::attach(|python| match self.ask_reduction(python, method) {
            Ok(reduced) => {
                self.rate = self.kind.window.get().rate();
                reduced
            }
            Err(error) => {
                self.kind.fail(python, error, doing, now);
                base
            }
        })
    }

    fn answers_marks(&self) -> bool {
        self.kind.registered.answers_marks
    }

    fn governs_window(&self) -> bool {
        self.kind.registered.governs_window
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }
}

impl ForeignRule for OwnRule {
    fn copy(&self) -> Box<dyn ForeignRule> {
        let asked = self.asked.as_ref().and_then(|asked| {
            Python::attach(|python| {
                let copied = self.kind.registered.adapter.call(python, "copy", (&asked.instance,));
                copied
                    .and_then(|instance| Asked::around(python, &self.kind, instance))
                    .inspect_err(|error| {
                        let now = self.kind.acknowledgement.get().instant();
                        self.kind.fail(python, error.clone_ref(python), "copying it", now);
                    })
                    .ok()
            })
        });
        Box::new(Self { kind: Arc::clone(&self.kind), asked, rate: self.rate })
    }
}
