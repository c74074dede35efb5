//! A network that is advanced step by step.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use vermilion_netsim::trace::CaptureWriter;

use crate::errors::refused;
use crate::run::{advance, link_of};
use crate::session::Session;
use crate::{convert, instruments};

/// Arrays of flow numbers and of round-trip times in nanoseconds.
type RoundTrips<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Arrays of flow numbers, packets, bytes, and whether the sender slows down when some are lost.
type Traffic<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
);

/// How many records were taken, and them as columns, as lines of text, as bytes of a capture.
type Packets<'py> =
    (usize, Option<Bound<'py, PyDict>>, Option<String>, Option<Bound<'py, PyBytes>>);

/// A network in motion.
#[pyclass(module = "vermilion._core")]
pub struct Simulation {
    inner: vermilion_netsim::Simulation,
    /// Of disciplines in Python, if there are any.
    session: Option<Arc<Session>>,
    /// Of the capture that is written of it, if one is.
    capture: Option<CaptureWriter>,
}

impl Simulation {
    fn link(&self, name: &str) -> PyResult<usize> {
        link_of(&self.inner, name)
    }

    /// Raises what has gone wrong in a discipline in Python.
    fn check(&self, python: Python<'_>) -> PyResult<()> {
        self.session.as_ref().map_or(Ok(()), |session| session.check(python))
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (scenario, seed, distributions=false, flow_delays=false, round_trips=true))]
    fn new(
        python: Python<'_>,
        scenario: &str,
        seed: u64,
        distributions: bool,
        flow_delays: bool,
        round_trips: bool,
    ) -> PyResult<Self> {
        let (scenario, session) = convert::scenario_and_session(scenario)?;
        let scenario = convert::measuring(scenario, distributions, flow_delays);
        let mut inner = convert::simulation(python, scenario, seed, session.as_deref())?;
        if round_trips {
            inner.watch_round_trips();
        }
        Ok(Self { inner, session, capture: None })
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

    /// Counters that a router exports about a queue, cumulative since time 0.
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

    /// Traffic that each flow has sent through the queue of a link since the last call; the first call begins
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
            PyArray1::from_iter(python, sent.iter().map(|sent| sent.ecn_capable)),
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

    /// Has something written down, before anything has happened.
    fn observe(&mut self, observation: &str) -> PyResult<()> {
        self.inner.observe(&instruments::observation(observation)?).map_err(refused)
    }

    /// Return true if the last advance ended early because what is written down should be taken.
    #[getter]
    fn paused(&self) -> bool {
        self.inner.is_paused()
    }

    /// Has the packets that are taken from now on encoded as a capture, with payloads or without.
    fn begin_capture(&mut self, whole: bool) {
        self.capture = Some(CaptureWriter::new(whole));
    }

    /// Packet events since the last call.
    #[pyo3(signature = (columns=false, table=false, heading=false))]
    fn take_packets<'py>(
        &mut self,
        python: Python<'py>,
        columns: bool,
        table: bool,
        heading: bool,
    ) -> PyResult<Packets<'py>> {
        let Self { inner, capture, .. } = self;
        instruments::take_packets(python, inner, capture, (columns, table, heading))
    }

    /// Meanings of the numbers in the column `cause` of packets, so far.
    fn drop_causes(&self) -> Vec<&'static str> {
        self.inner.legend().map(|legend| legend.causes.all().to_vec()).unwrap_or_default()
    }

    /// The windows since the last call.
    fn take_windows<'py>(&mut self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        instruments::take_windows(python, &mut self.inner)
    }

    /// The transfers so far, and whether some were left out because there may not be more.
    fn transfers<'py>(&self, python: Python<'py>) -> PyResult<(Bound<'py, PyDict>, bool)> {
        instruments::transfers(python, &self.inner)
    }

    /// The raw distributions so far.
    fn raw_distributions<'py>(&mut self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        instruments::raw_distributions(python, &mut self.inner)
    }

    /// Return true if packets, and if windows, were left out because there may not be more.
    fn are_cut(&self) -> (bool, bool) {
        self.inner.are_cut()
    }

    /// Metrics and time series up to now.
    fn result<'py>(&mut self, python: Python<'py>) -> PyResult<(String, Bound<'py, PyDict>)> {
        let results = self.inner.results(true);
        self.check(python)?;
        convert::outcome(python, &results, &self.inner)
    }

    /// As `result`, of a simulation that ends here: nothing is copied.
    fn conclude<'py>(&mut self, python: Python<'py>) -> PyResult<(String, Bound<'py, PyDict>)> {
        let results = self.inner.conclude(true);
        self.check(python)?;
        convert::outcome(python, &results, &self.inner)
    }
}
