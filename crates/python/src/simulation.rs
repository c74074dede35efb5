//! A network that is advanced step by step.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_parameters::ParameterError;

use crate::convert;
use crate::errors::refused;
use crate::run::advance;
use crate::session::Session;

/// Arrays of flow numbers and of round-trip times in nanoseconds.
type RoundTrips<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Arrays of flow numbers, packets, bytes, and whether the sender slows down when some are lost.
type Traffic<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<bool>>,
);

/// A network in motion.
#[pyclass(module = "vermilion._core")]
pub struct Simulation {
    inner: vermilion_netsim::Simulation,
    /// Of disciplines in Python, if there are any.
    session: Option<Arc<Session>>,
}

impl Simulation {
    fn link(&self, name: &str) -> PyResult<usize> {
        let scenario = self.inner.scenario();
        scenario.link_index(name).ok_or_else(|| {
            let names: Vec<_> = scenario.links.iter().map(|link| &*link.name).collect();
            let accepted = format!("a link of the scenario: {}", names.join(", "));
            refused(ParameterError::new("link", format!("\"{name}\""), accepted))
        })
    }

    /// Raises what has gone wrong in a discipline in Python.
    fn check(&self, python: Python<'_>) -> PyResult<()> {
        self.session.as_ref().map_or(Ok(()), |session| session.check(python))
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (scenario, seed, distributions=false, flow_delays=false))]
    fn new(
        python: Python<'_>,
        scenario: &str,
        seed: u64,
        distributions: bool,
        flow_delays: bool,
    ) -> PyResult<Self> {
        let (scenario, session) = convert::scenario_and_session(scenario)?;
        let scenario = vermilion_netsim::Scenario { distributions, flow_delays, ..scenario };
        let mut inner = convert::simulation(python, scenario, seed, session.as_deref())?;
        inner.watch_round_trips();
        Ok(Self { inner, session })
    }

    /// Simulated time in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.inner.now()
    }

    /// Processes every event up to and including `until_ns`.
    fn advance(&mut self, python: Python<'_>, until_ns: u64) -> PyResult<()> {
        advance(python, &mut self.inner, until_ns, self.session.as_deref())
    }

    /// What a router exports about a queue, cumulative since time 0.
    fn counters<'py>(&mut self, python: Python<'py>, link: &str) -> PyResult<Bound<'py, PyDict>> {
        let index = self.link(link)?;
        let counters = self.inner.counters(index);
        let exported = PyDict::new(python);
        exported.set_item("now_ns", self.inner.now())?;
        exported.set_item("backlog_packets", counters.backlog_packets)?;
        exported.set_item("backlog_bytes", counters.backlog_bytes)?;
        exported.set_item("forwarded_packets", counters.forwarded_packets)?;
        exported.set_item("forwarded_bytes", counters.forwarded_bytes)?;
        exported.set_item("drops", counters.drops)?;
        exported.set_item("marks", counters.marks)?;
        Ok(exported)
    }

    /// Flows that have begun and not ended.
    fn active_flows(&self) -> usize {
        self.inner.active_flows()
    }

    /// Round trips timed since the last call.
    fn take_rtt_samples<'py>(&mut self, python: Python<'py>) -> RoundTrips<'py> {
        let samples = self.inner.take_round_trips();
        let flows = samples.iter().map(|&(flow, _)| i64::from(flow));
        let times = samples.iter().map(|&(_, time)| time as i64);
        (PyArray1::from_iter(python, flows), PyArray1::from_iter(python, times))
    }

    /// What each flow has sent through the queue of a link since the last call; the first call begins
    /// to watch. Acknowledgements of flow n count as flow -1 - n.
    fn take_flow_traffic<'py>(
        &mut self,
        python: Python<'py>,
        link: &str,
    ) -> PyResult<Traffic<'py>> {
        let index = self.link(link)?;
        let sent = self.inner.take_flow_traffic(index);
        let number = |flow: u32, back: bool| {
            if back { -1 - i64::from(flow) } else { i64::from(flow) }
        };
        Ok((
            PyArray1::from_iter(python, sent.iter().map(|sent| number(sent.flow, sent.back))),
            PyArray1::from_iter(python, sent.iter().map(|sent| sent.packets as i64)),
            PyArray1::from_iter(python, sent.iter().map(|sent| sent.bytes as i64)),
            PyArray1::from_iter(python, sent.iter().map(|sent| sent.responsive)),
        ))
    }

    /// Replaces parameters of a queue now.
    fn set_queue(&mut self, python: Python<'_>, link: &str, parameters: &str) -> PyResult<()> {
        let index = self.link(link)?;
        let outcome = self.inner.set_queue(index, &convert::values(parameters)?);
        self.check(python)?;
        outcome.map_err(refused)
    }

    /// Every parameter of a queue in force, as JSON.
    fn queue_parameters(&self, link: &str) -> PyResult<String> {
        convert::json(self.inner.queue_values(self.link(link)?))
    }

    /// Metrics and time series up to now.
    fn result<'py>(&mut self, python: Python<'py>) -> PyResult<(String, Bound<'py, PyDict>)> {
        let results = self.inner.results(true);
        self.check(python)?;
        convert::outcome(python, &results, &self.inner)
    }
}
