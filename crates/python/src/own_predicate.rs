//! A condition on packets that is a function in Python, as scripted losses ask it.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use vermilion_netsim::scripted_losses::{PacketPredicate, Passing};

use crate::adapter::explain;
use crate::session::Session;

/// A packet on its way to the queue of a link. Each is an object of its own.
#[pyclass(frozen, get_all, module = "vermilion._core")]
#[derive(Debug)]
pub struct PassingPacket {
    now: u64,
    group: Py<PyString>,
    flow: u32,
    number: u64,
    segment: Option<u32>,
    acknowledgement: bool,
    retransmission: bool,
    size: u32,
    ecn: u8,
}

#[pymethods]
impl PassingPacket {
    /// One for tests of a condition.
    #[new]
    #[pyo3(signature = (
        *, now=0, group="flows", flow=0, number=1, segment=None, acknowledgement=false,
        retransmission=false, size=1000, ecn=0
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        python: Python<'_>,
        now: u64,
        group: &str,
        flow: u32,
        number: u64,
        segment: Option<u32>,
        acknowledgement: bool,
        retransmission: bool,
        size: u32,
        ecn: u8,
    ) -> Self {
        let group = PyString::new(python, group).unbind();
        Self { now, group, flow, number, segment, acknowledgement, retransmission, size, ecn }
    }
}

/// Knowledge of a registered function.
#[derive(Debug)]
pub struct RegisteredPredicate {
    function: Py<PyAny>,
    /// Says what a user is to read about an error.
    adapter: Py<PyAny>,
}

impl RegisteredPredicate {
    /// A `function`, and what explains its errors.
    pub fn new(function: &Bound<'_, PyAny>, adapter: &Bound<'_, PyAny>) -> Self {
        Self { function: function.clone().unbind(), adapter: adapter.clone().unbind() }
    }
}

/// A function for one run.
#[derive(Debug)]
pub struct OwnPredicate {
    registered: Arc<RegisteredPredicate>,
    session: Arc<Session>,
    /// The names of the scenario's groups.
    groups: Arc<[Py<PyString>]>,
}

impl OwnPredicate {
    /// Of `registered`, for the run of `session`.
    pub fn new(
        registered: Arc<RegisteredPredicate>,
        session: Arc<Session>,
        groups: Arc<[Py<PyString>]>,
    ) -> Self {
        Self { registered, session, groups }
    }

    fn ask(&self, python: Python<'_>, packet: &Passing) -> PyResult<bool> {
        let shown = PassingPacket {
            now: packet.now,
            group: self.groups[packet.group as usize].clone_ref(python),
            flow: packet.number,
            number: packet.packet,
            segment: packet.segment,
            acknowledgement: packet.acknowledgement,
            retransmission: packet.retransmission,
            size: packet.size,
            ecn: packet.ecn,
        };
        let answer = self.registered.function.bind(python).call1((shown,))?;
        answer.extract().map_err(|_| {
            let shown = answer.repr().map(|text| text.to_string()).unwrap_or_default();
            let message = format!("the answer {shown} is not accepted; expected True or False");
            PyTypeError::new_err(message)
        })
    }
}

impl PacketPredicate for OwnPredicate {
    fn means(&self, packet: &Passing) -> bool {
        if self.session.has_failed() {
            return false;
        }
        Python::attach(|python| {
            self.ask(python, packet).unwrap_or_else(|error| {
                let group = &self.groups[packet.group as usize];
                let doing = format!("packet {} of {group}:{}", packet.packet, packet.number);
                let adapter = self.registered.adapter.bind(python);
                self.session.fail(explain(adapter, error, &doing, Some(packet.now)));
                false
            })
        })
    }
}
