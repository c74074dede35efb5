//! A congestion control written in Python, as the core calls it.
//!
//! Here is what happens for every acknowledgement; the rest is the adapter's
//! (`vermilion.scenario.own_congestion_control`).

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use vermilion_parameters::{Algorithm, ParameterError, Settings};
use vermilion_tcp::rule::{Acknowledged, Congestion, Header, Rounds, WindowRule};
use vermilion_tcp::{ForeignRule, ForeignSenders, Window};

use crate::adapter::{Adapter, values};
use crate::congestion_views::{self, Acknowledgement, LARGEST_WINDOW, Reduction, Sent};
use crate::session::Session;

/// Knowledge of a registered class.
#[derive(Debug)]
pub struct RegisteredSender {
    adapter: Adapter,
    on_ack: Py<PyAny>,
    on_loss: Py<PyAny>,
    on_mark: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    on_round: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    answers_marks: bool,
    governs_window: bool,
    scalable: bool,
    headers: bool,
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
            on_round: method("on_round")?,
            on_sent: method("on_sent")?,
            on_timer: method("on_timer")?,
            answers_marks: switch("answers_marks")?,
            governs_window: switch("governs_window")?,
            scalable: switch("scalable")?,
            headers: switch("headers")?,
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
                Ok(Box::new(OwnRule::new(Arc::new(kind), None)) as _)
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
    sent: Py<Sent>,
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
            sent: Py::new(python, Sent::default())?,
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
    /// When it wants to be called.
    wake_at: Option<u64>,
    rounds: Rounds,
    /// Header of the packet that leaves, and the one that was returned last and has not been looked at.
    written: Header,
    returned: Option<Header>,
}

impl OwnRule {
    fn new(kind: Arc<Kind>, asked: Option<Asked>) -> Self {
        let (written, returned) = (Header::default(), None);
        Self {
            kind,
            asked,
            rate: None,
            wake_at: None,
            rounds: Rounds::default(),
            written,
            returned,
        }
    }

    /// Shows a window; `writable`: its size and threshold may be set.
    fn show(&self, now: u64, window: &Window, writable: bool) {
        let has_timer = self.kind.registered.on_timer.is_some();
        self.kind.window.get().show(now, window, writable, (self.rate, self.wake_at, has_timer));
    }

    /// What a method has set besides.
    fn take(&mut self) {
        (self.rate, self.wake_at) = self.kind.window.get().wishes();
    }

    /// Calls a method that returns nothing, and takes what it has set.
    fn tell(
        &mut self,
        (method, doing): (&Py<PyAny>, &str),
        now: u64,
        window: &mut Window,
        told: impl for<'py> FnOnce(&Kind, Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        if self.kind.session.has_failed() {
            return;
        }
        self.show(now, window, true);
        Python::attach(|python| {
            let answered = self.begin(python).and_then(|()| {
                let Some(asked) = &self.asked else { return Ok(()) };
                let told = told(&self.kind, python)?;
                let arguments = (&asked.instance, told, &self.kind.window);
                refuse_answer(&method.bind(python).call1(arguments)?, doing)
            });
            match answered {
                Ok(()) => {
                    self.kind.window.get().take(window);
                    self.take();
                }
                Err(error) => self.kind.fail(python, error, doing, now),
            }
        });
    }

    /// Makes the instance unless there is one.
    fn begin(&mut self, python: Python<'_>) -> PyResult<()> {
        if self.asked.is_none() {
            let instance = self.kind.build(python)?;
            self.asked = Some(Asked::around(python, &self.kind, instance)?);
        }
        Ok(())
    }

    fn ask_growth(&mut self, python: Python<'_>, method: &Py<PyAny>, doing: &str) -> PyResult<()> {
        self.begin(python)?;
        let Some(asked) = &self.asked else { return Ok(()) };
        refuse_answer(&method.bind(python).call1(asked.growing.bind(python))?, doing)
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

/// Only the methods for signs of congestion answer anything.
fn refuse_answer(answer: &Bound<'_, PyAny>, doing: &str) -> PyResult<()> {
    if answer.is_none() {
        return Ok(());
    }
    let message = format!(
        "the answer {} is not accepted; expected none: {doing} sets window.size",
        answer.repr()?
    );
    Err(PyTypeError::new_err(message))
}

impl WindowRule for OwnRule {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        if self.kind.session.has_failed() {
            return;
        }
        self.kind.acknowledgement.get().show(event);
        self.kind.acknowledgement.get().show_header(self.returned.take());
        self.show(event.now, window, true);
        let registered = Arc::clone(&self.kind.registered);
        let on_round = registered.on_round.as_ref().filter(|_| self.rounds.is_over(event));
        let methods =
            [on_round.map(|method| (method, "on_round")), Some((&registered.on_ack, "on_ack"))];
        Python::attach(|python| {
            for (method, doing) in methods.into_iter().flatten() {
                if let Err(error) = self.ask_growth(python, method, doing) {
                    return self.kind.fail(python, error, doing, event.now);
                }
            }
            self.kind.window.get().take(window);
            self.take();
        });
    }

    fn reduced(&mut self, now: u64, sign: Congestion, base: f64, window: &Window) -> f64 {
        if self.kind.session.has_failed() {
            return base;
        }
        self.kind.reduction.get().show(now, base);
        self.show(now, window, false);
        let registered = Arc::clone(&self.kind.registered);
        let (own, doing) = match sign {
            Congestion::Loss => (None, "on_loss"),
            Congestion::Mark => (registered.on_mark.as_ref(), "on_mark"),
            Congestion::Timeout => (registered.on_timeout.as_ref(), "on_timeout"),
        };
        let (method, doing) = own.map_or((&registered.on_loss, "on_loss"), |own| (own, doing));
        Python::attach(|python| match self.ask_reduction(python, method) {
            Ok(reduced) => {
                self.take();
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

    fn reads_forward_delay(&self) -> bool {
        true
    }

    fn governs_window(&self) -> bool {
        self.kind.registered.governs_window
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }

    fn has_hooks(&self) -> bool {
        self.kind.registered.on_sent.is_some() || self.kind.registered.on_timer.is_some()
    }

    fn on_sent(&mut self, now: u64, sequence: u32, again: bool, window: &mut Window) {
        let registered = Arc::clone(&self.kind.registered);
        let Some(method) = &registered.on_sent else { return };
        self.kind.sent.get().show(now, sequence, again, registered.headers);
        self.tell((method, "on_sent"), now, window, |kind, python| {
            Ok(kind.sent.bind(python).clone().into_any())
        });
        self.written = self.kind.sent.get().written().unwrap_or_default();
    }

    fn deadline(&self) -> u64 {
        self.wake_at.unwrap_or(u64::MAX)
    }

    fn on_timer(&mut self, now: u64, window: &mut Window) {
        let registered = Arc::clone(&self.kind.registered);
        self.wake_at = None;
        let Some(method) = &registered.on_timer else { return };
        self.tell((method, "on_timer"), now, window, |_, python| {
            Ok(now.into_pyobject(python)?.into_any())
        });
    }

    fn writes_headers(&self) -> bool {
        self.kind.registered.headers
    }

    fn take_header(&mut self) -> Option<Header> {
        self.kind.registered.headers.then(|| std::mem::take(&mut self.written))
    }

    fn read_header(&mut self, header: Header) {
        self.returned = Some(header);
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
        let Self { rate, wake_at, rounds, written, returned, .. } = *self;
        let kind = Arc::clone(&self.kind);
        Box::new(Self { kind, asked, rate, wake_at, rounds, written, returned })
    }
}
