//! Laws that keep a shaper at the rate of its line.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_parameters::{Description, ParameterError};
use vermilion_shaping::keeper::{Event, Keeper, Mode, Sight};
use vermilion_shaping::{Answer, AnyLaw, registry};

use crate::convert;
use crate::errors::refused;

/// Every law that sets a shaper's rate, as JSON.
#[pyfunction]
pub fn rate_laws() -> PyResult<String> {
    convert::json(&registry::ALGORITHMS.iter().map(Description::from).collect::<Vec<_>>())
}

/// A law that sets a shaper's rate.
#[pyclass(module = "vermilion._core")]
pub struct RateLaw(AnyLaw);

#[pymethods]
impl RateLaw {
    #[new]
    #[pyo3(signature = (name, settings="{}"))]
    fn new(name: &str, settings: &str) -> PyResult<Self> {
        AnyLaw::from_values(name, &convert::values(settings)?).map(Self).map_err(refused)
    }

    /// A probe is sent.
    fn probe_sent(&mut self, sent_ns: u64, bytes_out: u64) {
        vermilion_shaping::RateLaw::probe_sent(&mut self.0, sent_ns, bytes_out);
    }

    /// A probe is answered.
    #[pyo3(signature = (reflector, sent_ns, received_ns, one_way_ns=None, own_wait_ns=0))]
    fn answered(
        &mut self,
        reflector: u32,
        sent_ns: u64,
        received_ns: u64,
        one_way_ns: Option<i64>,
        own_wait_ns: u64,
    ) {
        let answer = Answer {
            reflector,
            sent: sent_ns,
            received: received_ns,
            one_way: one_way_ns,
            own_wait: own_wait_ns,
        };
        vermilion_shaping::RateLaw::answered(&mut self.0, answer);
    }

    /// A probe is given up.
    fn lost(&mut self, sent_ns: u64) {
        vermilion_shaping::RateLaw::lost(&mut self.0, sent_ns);
    }

    /// Rate from now on, in bit/s.
    fn rate(&mut self, now_ns: u64, bytes_out: u64) -> f64 {
        vermilion_shaping::RateLaw::rate(&mut self.0, now_ns, bytes_out)
    }

    /// Facts as of the last rate.
    fn state<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = vermilion_shaping::RateLaw::state(&self.0);
        let facts = PyDict::new(python);
        facts.set_item("rate_bit_per_s", state.rate)?;
        facts.set_item("capacity_bit_per_s", state.capacity)?;
        facts.set_item("doubt", state.doubt)?;
        facts.set_item("wait_here_s", state.wait_here)?;
        facts.set_item("wait_behind_s", state.wait_behind)?;
        facts.set_item("waiting", state.waiting.map(vermilion_shaping::Waiting::name))?;
        if let Some(choice) = state.choice {
            let chosen = PyDict::new(python);
            chosen.set_item("target_s", choice.target)?;
            chosen.set_item("share", choice.share)?;
            chosen.set_item("gain", choice.gain)?;
            chosen.set_item("excess_before_s", choice.excess_before)?;
            chosen.set_item("excess_s", choice.excess)?;
            chosen.set_item("goodput", choice.goodput)?;
            facts.set_item("choice", chosen)?;
        }
        Ok(facts)
    }
}

/// A keeper of one shaper's rate.
#[pyclass(module = "vermilion._core")]
pub struct RateKeeper(Keeper);

/// An event: its name, in words, the rate that it is about, and the line's capacity beside that.
type Told = (&'static str, String, Option<f64>, Option<f64>);

fn told(event: Event) -> Told {
    let capacity = match event {
        Event::Applied(_, capacity) => capacity,
        _ => None,
    };
    (event.name(), event.to_string(), event.rate(), capacity)
}

#[pymethods]
impl RateKeeper {
    #[new]
    fn new(found: f64, mode: &str, least: f64) -> PyResult<Self> {
        let known = [Mode::Observe, Mode::Propose, Mode::Control];
        let mode = known.into_iter().find(|it| it.name() == mode).ok_or_else(|| {
            refused(ParameterError::unknown("mode", mode, "one of", Mode::NAMES.iter().copied()))
        })?;
        Ok(Self(Keeper::new(found, mode, least)))
    }

    #[getter]
    fn found(&self) -> f64 {
        self.0.found
    }

    #[getter]
    fn in_force(&self) -> f64 {
        self.0.in_force
    }

    #[setter]
    fn set_in_force(&mut self, rate: f64) {
        self.0.in_force = rate;
    }

    #[getter]
    fn mode(&self) -> &'static str {
        self.0.mode().name()
    }

    #[getter]
    fn acts(&self) -> bool {
        self.0.acts()
    }

    #[getter]
    fn has_drained(&self) -> bool {
        self.0.has_drained()
    }

    #[getter]
    fn safe(&self) -> f64 {
        self.0.safe()
    }

    fn accept(&mut self) {
        self.0.accept();
    }

    fn pause(&mut self) -> bool {
        self.0.pause()
    }

    fn resume(&mut self) -> bool {
        self.0.resume()
    }

    /// The rate to be set, if it is another; and what is to be told.
    #[pyo3(signature = (now_ns, wanted, capacity, *, answers, unanswered_ns, carries, passed, still_ns, trip_ns))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn step(
        &mut self,
        now_ns: u64,
        wanted: f64,
        capacity: Option<f64>,
        answers: u64,
        unanswered_ns: u64,
        carries: bool,
        passed: f64,
        still_ns: u64,
        trip_ns: u64,
    ) -> (Option<f64>, Vec<Told>) {
        let sight = Sight {
            wanted,
            capacity,
            answers,
            unanswered: unanswered_ns,
            carries,
            passed,
            still: still_ns,
            trip: trip_ns,
        };
        let mut events = Vec::new();
        let rate = self.0.step(now_ns, sight, &mut |it| events.push(told(it)));
        (rate, events)
    }

    /// Takes in that a rate was set; what is to be told.
    fn was_set(&mut self, now_ns: u64, rate: f64) -> Vec<Told> {
        let mut events = Vec::new();
        self.0.was_set(now_ns, rate, &mut |it| events.push(told(it)));
        events
    }

    /// Takes in the rate that was read; what is to be told.
    fn was_read(&mut self, rate: f64) -> Vec<Told> {
        let mut events = Vec::new();
        self.0.was_read(rate, &mut |it| events.push(told(it)));
        events
    }

    /// Takes in what the line carries, once a second.
    fn each_second(&mut self) {
        self.0.each_second();
    }
}
