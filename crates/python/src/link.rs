//! An emulated link between two devices that Python has opened.

use std::io::Error;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use vermilion_link::{Jitter, Room, Way};
use vermilion_link_io::{Device, Emulator, Pacing, owned};
use vermilion_netsim::scenario;
use vermilion_parameters::ParameterError;

use crate::convert;
use crate::errors::refused;
use crate::registered;
use crate::session::Session;

/// The two ways of a link, and the devices that they connect.
#[pyclass(module = "vermilion._core")]
pub struct Link {
    emulator: Emulator,
    wakers: Vec<OwnedFd>,
    session: Arc<Session>,
}

fn descriptor(number: i32) -> PyResult<OwnedFd> {
    owned(number).map_err(|error| failed(&error))
}

fn failed(error: &Error) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), error.to_string()))
}

fn number(way: usize) -> PyResult<usize> {
    if way < 2 { Ok(way) } else { Err(PyValueError::new_err("way is 0 or 1")) }
}

#[pymethods]
impl Link {
    #[new]
    #[pyo3(signature = (ways, devices, seed=1, jitters=[(0, false), (0, false)], largest=1500,
                        room=65_536, busy=false, wakers=vec![]))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        python: Python<'_>,
        ways: [String; 2],
        devices: [i32; 2],
        seed: u64,
        jitters: [(u64, bool); 2],
        largest: u32,
        room: u32,
        busy: bool,
        wakers: Vec<i32>,
    ) -> PyResult<Self> {
        let session = Arc::<Session>::default();
        let room = Room { packets: room, largest };
        let end = |index: usize| {
            let mut link: [scenario::Link; 1] = [serde_json::from_str(&ways[index])
                .map_err(|error| refused(ParameterError::new("link", error, "a link as JSON")))?];
            registered::hand_over_queues(&mut link, &session);
            let (most_ns, reorders) = jitters[index];
            let jitter = Jitter { most_ns, reorders };
            let way = Way::new(&link[0], jitter, seed, index as u64, room);
            // What went wrong in Python says more than that something was refused.
            session.check(python)?;
            let way =
                way.map_err(|error| refused(error.under(&format!("links.{}", link[0].name))))?;
            PyResult::Ok((Device::new(descriptor(devices[index])?), way))
        };
        let ends = [end(0)?, end(1)?];
        let pacing = if busy { Pacing::Busy } else { Pacing::Sleep };
        let wakers = wakers.into_iter().map(descriptor).collect::<PyResult<_>>()?;
        Ok(Self { emulator: Emulator::new(ends, pacing), wakers, session })
    }

    /// Nanoseconds since it was made.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.emulator.now()
    }

    /// Carries packets for so many nanoseconds, or until something wakes it.
    fn run(&mut self, python: Python<'_>, nanoseconds: u64) -> PyResult<()> {
        let Self { emulator, wakers, session } = self;
        let until = emulator.now().saturating_add(nanoseconds);
        let outcome = python.detach(|| emulator.run(until, wakers));
        session.check(python)?;
        outcome.map_err(|error| failed(&error))
    }

    /// Whether the device that packets of a way come from is still there.
    fn is_there(&self, way: usize) -> PyResult<bool> {
        Ok(self.emulator.is_there(number(way)?))
    }

    /// Forgets what has been measured.
    fn measure_from_now(&mut self) {
        let now = self.emulator.now();
        (0..2).for_each(|way| self.emulator.way(way).measure_from(now));
    }

    /// What has been measured of a way, as JSON.
    fn report(&mut self, python: Python<'_>, way: usize) -> PyResult<String> {
        let now = self.emulator.now();
        let report = self.emulator.way(number(way)?).report(now);
        self.session.check(python)?;
        convert::json(&report)
    }

    /// What a router exports about the queue of a way, cumulative since time 0.
    fn counters<'py>(&mut self, python: Python<'py>, way: usize) -> PyResult<Bound<'py, PyDict>> {
        let now = self.emulator.now();
        let way = self.emulator.way(number(way)?);
        let ledger = way.ledger(now);
        let (backlog_packets, backlog_bytes) = way.queue();
        let exported = PyDict::new(python);
        exported.set_item("now_ns", now)?;
        exported.set_item("backlog_packets", backlog_packets)?;
        exported.set_item("backlog_bytes", backlog_bytes)?;
        exported.set_item("forwarded_packets", ledger.forwarded)?;
        exported.set_item("forwarded_bytes", ledger.forwarded_bytes)?;
        exported.set_item("drops", ledger.drops)?;
        exported.set_item("marks", ledger.marks)?;
        Ok(exported)
    }

    /// Replaces parameters of the queue of a way now.
    fn set_queue(&mut self, python: Python<'_>, way: usize, parameters: &str) -> PyResult<()> {
        let values = convert::values(parameters)?;
        let now = self.emulator.now();
        let outcome = self.emulator.way(number(way)?).set_parameters(now, &values);
        self.session.check(python)?;
        outcome.map_err(refused)
    }

    /// Changes the rate of a way, to be constant from now on.
    fn set_rate(&mut self, way: usize, bit_per_s: u64) -> PyResult<()> {
        let now = self.emulator.now();
        self.emulator.way(number(way)?).set_rate(now, bit_per_s).map_err(refused)
    }

    /// Every parameter of the queue of a way in force, as JSON.
    fn queue_parameters(&mut self, way: usize) -> PyResult<String> {
        convert::json(self.emulator.way(number(way)?).values())
    }
}
