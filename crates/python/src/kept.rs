//! A network that is kept: it is extended, forked and changed while it goes on.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_netsim::{GroupRecord, LinkRecord, ShortSummary, Simulation};

use crate::convert;
use crate::errors::{interrupted, refused};
use crate::run::link_of;
use crate::session::Session;

/// Time between two looks at signals, about.
const LOOK: Duration = Duration::from_millis(20);

/// Simulated time of the first step; later ones are as long as [`LOOK`] asks for.
const FIRST_STEP_NS: u64 = 1_000_000;

/// A network in motion that is kept.
#[pyclass(module = "vermilion._core")]
pub struct Kept {
    inner: Simulation,
    /// Of disciplines in Python, if there are any.
    session: Option<Arc<Session>>,
}

impl Kept {
    /// Raises what has gone wrong in a discipline in Python.
    fn check(&self, python: Python<'_>) -> PyResult<()> {
        self.session.as_ref().map_or(Ok(()), |session| session.check(python))
    }
}

#[pymethods]
impl Kept {
    #[new]
    fn new(python: Python<'_>, scenario: &str, seed: u64) -> PyResult<Self> {
        let (scenario, session) = convert::scenario_and_session(scenario)?;
        let inner = Simulation::open(scenario, seed);
        session.as_ref().map_or(Ok(()), |session| session.check(python))?;
        Ok(Self { inner: inner.map_err(refused)?, session })
    }

    /// Simulated time in nanoseconds: all before it has happened.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.inner.now()
    }

    /// Processes every event before `until_ns`.
    fn extend(&mut self, python: Python<'_>, until_ns: u64) -> PyResult<()> {
        let cancel = AtomicBool::new(false);
        if let Some(session) = &self.session {
            session.advance(
                python,
                &mut self.inner,
                until_ns.saturating_sub(1),
                LOOK,
                false,
                |_| Ok(true),
            )?;
        }
        // Steps on this thread, with looks at signals in between: to begin a thread takes longer than a fork.
        let mut step = FIRST_STEP_NS;
        while self.inner.now() < until_ns {
            let begun = Instant::now();
            let end = until_ns.min(self.inner.now() + step);
            python.detach(|| self.inner.extend(end, &cancel)).map_err(interrupted)?;
            python.check_signals()?;
            step = if begun.elapsed() < LOOK / 2 { step * 2 } else { step / 2 }.max(1000);
        }
        self.check(python)
    }

    /// A copy that goes on by itself.
    fn fork(&self, python: Python<'_>) -> PyResult<Self> {
        let fork = Self { inner: self.inner.fork(), session: self.session.clone() };
        self.check(python)?;
        Ok(fork)
    }

    /// The record begins here.
    fn mark(&mut self) {
        self.inner.mark();
    }

    /// A few figures since the mark, by their paths; nothing without one.
    fn record<'py>(&mut self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = PyDict::new(python);
        let Some(record) = self.inner.record() else { return Ok(figures) };
        figures.set_item("start_s", record.start_s)?;
        figures.set_item("end_s", record.end_s)?;
        let scenario = self.inner.scenario();
        let mut path = String::with_capacity(100);
        for (link, measured) in scenario.links.iter().zip(&record.links) {
            if let Some(measured) = measured {
                begin(&mut path, "links", &link.name);
                add_link(&figures, &mut path, measured)?;
            }
        }
        for (group, measured) in scenario.flows.iter().zip(&record.flows) {
            begin(&mut path, "flows", &group.name);
            add_group(&figures, &mut path, measured)?;
        }
        Ok(figures)
    }

    /// Replaces parameters of a queue now.
    fn set_queue(&mut self, python: Python<'_>, link: &str, parameters: &str) -> PyResult<()> {
        let index = link_of(&self.inner, link)?;
        let outcome = self.inner.set_queue(index, &convert::values(parameters)?);
        self.check(python)?;
        outcome.map_err(refused)
    }

    /// Every parameter of a queue in force, as JSON.
    fn queue_parameters(&self, link: &str) -> PyResult<String> {
        convert::json(self.inner.queue_values(link_of(&self.inner, link)?))
    }

    /// Changes the rate of a link now.
    fn set_rate(&mut self, link: &str, rate_bit_per_s: u64) -> PyResult<()> {
        let index = link_of(&self.inner, link)?;
        self.inner.set_rate(index, rate_bit_per_s).map_err(refused)
    }

    /// Metrics up to now, as JSON.
    fn result(&self, python: Python<'_>) -> PyResult<String> {
        let results = self.inner.results_here(true, &AtomicBool::new(false));
        self.check(python)?;
        convert::json(&results.map_err(interrupted)?)
    }
}

/// A path begins anew, up to the last dot.
fn begin(path: &mut String, room: &str, name: &str) {
    path.clear();
    for part in [room, ".", name, "."] {
        path.push_str(part);
    }
}

/// A figure, if it is known, at a path with this end.
fn add(
    figures: &Bound<'_, PyDict>,
    path: &mut String,
    end: &str,
    value: Option<f64>,
) -> PyResult<()> {
    let Some(value) = value else { return Ok(()) };
    let length = path.len();
    path.push_str(end);
    figures.set_item(&**path, value)?;
    path.truncate(length);
    Ok(())
}

fn add_link(figures: &Bound<'_, PyDict>, path: &mut String, link: &LinkRecord) -> PyResult<()> {
    add(figures, path, "utilization", link.utilization)?;
    let counts = [
        ("arrivals", link.arrivals),
        ("packets_forwarded", link.packets_forwarded),
        ("drops", link.drops),
        ("marks", link.marks),
    ];
    for (name, count) in counts {
        add(figures, path, name, Some(count as f64))?;
    }
    for (name, count) in [("drop_rate", link.drops), ("mark_rate", link.marks)] {
        let rate = (link.arrivals > 0).then(|| count as f64 / link.arrivals as f64);
        add(figures, path, name, rate)?;
    }
    for (name, distribution) in
        [("queue_packets.", link.queue_packets), ("sojourn_ms.", link.sojourn_ms)]
    {
        let Some(ShortSummary { mean, p50, p95, p99 }) = distribution else { continue };
        let length = path.len();
        path.push_str(name);
        for (name, value) in [("mean", mean), ("p50", p50), ("p95", p95), ("p99", p99)] {
            add(figures, path, name, Some(value))?;
        }
        path.truncate(length);
    }
    Ok(())
}

fn add_group(figures: &Bound<'_, PyDict>, path: &mut String, group: &GroupRecord) -> PyResult<()> {
    add(figures, path, "goodput_bit_per_s.total", group.goodput_bit_per_s)?;
    add(figures, path, "jain_index", group.jain_index)?;
    add(figures, path, "timeouts", Some(group.timeouts as f64))?;
    add(figures, path, "retransmissions", Some(group.retransmissions as f64))
}
