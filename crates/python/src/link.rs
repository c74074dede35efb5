//! An emulated link between two devices that Python has opened.

use std::collections::HashMap;
use std::io::Error;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use vermilion_link::{
    Change, Distances, Jitter, Room, Sight, Sightings, Way, capture_head as head,
    capture_packets as packets,
};
use vermilion_link_io::{Device, Emulator, Pacing, owned};
use vermilion_netsim::{Span, scenario};
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
                        room=65_536, busy=false, wakers=vec![], merge=false))]
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
        merge: bool,
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
        let mut emulator = Emulator::new(ends, pacing);
        if merge {
            emulator.merge();
        }
        Ok(Self { emulator, wakers, session })
    }

    /// Its time begins now.
    fn begin(&mut self) {
        self.emulator.begin();
    }

    /// Nanoseconds since it was made, or since it was told to begin.
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

    /// Return true if the device that packets of a way come from is still there.
    fn is_there(&self, way: usize) -> PyResult<bool> {
        Ok(self.emulator.is_there(number(way)?))
    }

    /// Measures over a whole and its phases, of both ways.
    fn measure(&mut self, total: (u64, u64), phases: Vec<(u64, u64)>) {
        let span = |(begin, end)| Span { begin, end };
        let phases: Vec<Span> = phases.into_iter().map(span).collect();
        (0..2).for_each(|way| self.emulator.way(way).measure(span(total), &phases));
    }

    /// Has a way changed when a time has come, as a change of a core scenario says.
    fn change_at(&mut self, way: usize, change: &str) -> PyResult<()> {
        let change: scenario::Change = serde_json::from_str(change)
            .map_err(|error| refused(ParameterError::new("change", error, "a change as JSON")))?;
        let way = self.emulator.way(number(way)?);
        way.change_at(change.at_ns, Change::of(&change)).map_err(refused)
    }

    /// Puts IPv4 addresses farther away than the end of a way.
    fn set_distances(&mut self, way: usize, distances: HashMap<[u8; 4], u64>) -> PyResult<()> {
        let distances = Distances::new(distances);
        self.emulator.way(number(way)?).set_distances(distances).map_err(refused)
    }

    /// Reads both queues every so many nanoseconds.
    fn read_every(&mut self, nanoseconds: u64) {
        (0..2).for_each(|way| self.emulator.way(way).read_every(nanoseconds));
    }

    /// The readings of a way since they were last taken.
    fn take_readings<'py>(
        &mut self,
        python: Python<'py>,
        way: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let now = self.emulator.now();
        let way = self.emulator.way(number(way)?);
        way.advance(now);
        convert::arrays(python, &way.take_readings())
    }

    /// Notes packets of both ways where the queues are, where they are handed on, or at both.
    fn watch(&mut self, at_queues: bool, at_ends: bool, kept: u16, room: usize) {
        let queues = [Sight::Arrives, Sight::Departs, Sight::Dropped];
        let ends = [Sight::Departs, Sight::HandedOn];
        let wanted: Vec<Sight> = queues
            .into_iter()
            .filter(|_| at_queues)
            .chain(ends.into_iter().filter(|_| at_ends))
            .collect();
        for way in 0..2 {
            self.emulator.way(way).watch(Some(Sightings::new(&wanted, kept, room)));
        }
    }

    /// The notes of packets of a way since they were last taken.
    fn take_sightings<'py>(
        &mut self,
        python: Python<'py>,
        way: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let sightings = self.emulator.way(number(way)?).sightings();
        Ok(match sightings {
            Some(sightings) => sightings.take(|notes| PyBytes::new(python, notes)),
            None => PyBytes::new(python, &[]),
        })
    }

    /// Measurements of a way, as JSON.
    fn report(&mut self, python: Python<'_>, way: usize) -> PyResult<String> {
        let now = self.emulator.now();
        let report = self.emulator.way(number(way)?).report(now);
        self.session.check(python)?;
        convert::json(&report)
    }

    /// Counters that a router exports about the queue of a way, cumulative since time 0.
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

/// The beginning of a capture file with the packets of ways of these names.
#[pyfunction]
pub fn capture_head(python: Python<'_>, ways: Vec<String>) -> Bound<'_, PyBytes> {
    let names: Vec<&str> = ways.iter().map(String::as_str).collect();
    PyBytes::new(python, &head(&names))
}

/// Notes of packets as the next bytes of a capture file, and how many packets those are.
#[pyfunction]
pub fn capture_packets<'py>(
    python: Python<'py>,
    notes: Vec<Vec<u8>>,
    most: u64,
) -> (Bound<'py, PyBytes>, u64) {
    let notes: Vec<&[u8]> = notes.iter().map(Vec::as_slice).collect();
    let (bytes, count) = python.detach(|| packets(&notes, most));
    (PyBytes::new(python, &bytes), count)
}
