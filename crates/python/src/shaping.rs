//! Laws that keep a shaper at the rate of its line.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_parameters::Description;
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
        Ok(facts)
    }
}
