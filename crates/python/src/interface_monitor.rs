//! The passive monitor over an interface: blocks of a packet socket's ring in, flows out.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
#[cfg(target_os = "linux")]
use vermilion_link::{Sight, Sighting};
use vermilion_monitor::{Departed, Departures, Largest, Monitor, Passage, read_ring_block};

use crate::convert::json;
use crate::monitor::{Document, array, monitor_of, unreadable};

/// A passive monitor that is fed the blocks of a ring.
#[pyclass(module = "vermilion._core")]
pub struct InterfaceMonitor {
    monitor: Monitor,
    /// Departures, and the largest flows.
    notes: (Departures, Largest),
    entrances: Vec<u32>,
}

#[pymethods]
impl InterfaceMonitor {
    #[new]
    #[pyo3(signature = (flows=65_536, largest_packet=1500, kept_flows=1000, seed=0, shared_numbers=false, entrances=Vec::new()))]
    fn new(
        flows: u32,
        largest_packet: u32,
        kept_flows: usize,
        seed: u64,
        shared_numbers: bool,
        entrances: Vec<u32>,
    ) -> PyResult<Self> {
        let notes = (Departures::new(), Largest::new(kept_flows));
        Ok(Self {
            monitor: monitor_of(flows, largest_packet, seed, shared_numbers)?,
            notes,
            entrances,
        })
    }

    /// Takes a block.
    fn feed(&mut self, python: Python<'_>, block: &[u8]) -> PyResult<()> {
        let Self { monitor, notes, entrances } = self;
        python
            .detach(|| {
                read_ring_block(block, entrances, &mut |packet, passage| match passage {
                    Passage::Entering => monitor.sees_enter(packet, notes),
                    Passage::Leaving | Passage::Arriving => {
                        notes.0.passes(passage);
                        monitor.observe(packet, notes);
                    }
                })
            })
            .map_err(|error| unreadable(&error))
    }

    /// Takes notes of packets that leave through the exit of a link's queue, and of those that come
    /// the other way.
    #[cfg(target_os = "linux")]
    fn feed_sightings(&mut self, python: Python<'_>, leaving: &[u8], arriving: &[u8]) {
        let Self { monitor, notes, .. } = self;
        python.detach(|| {
            let mut leaving = Sighting::read(leaving).peekable();
            let mut arriving = Sighting::read(arriving).peekable();
            loop {
                let leaves = match (leaving.peek(), arriving.peek()) {
                    (Some(one), Some(other)) => one.time <= other.time,
                    (one, _) => one.is_some(),
                };
                let (next, passage) = match leaves {
                    true => (leaving.next(), Passage::Leaving),
                    false => (arriving.next(), Passage::Arriving),
                };
                let Some(sighting) = next else { return };
                // What leaves is seen when the queue has let it go, as its counters have it.
                let seen = if leaves { Sight::Departs } else { Sight::HandedOn };
                if sighting.sight == seen {
                    notes.0.passes(passage);
                    monitor.observe(&sighting.captured(), notes);
                }
            }
        });
    }

    /// Time has gone on.
    fn advance(&mut self, time_ns: u64) {
        self.monitor.advance(time_ns, &mut self.notes);
    }

    /// Flows that send through the exit.
    fn active_flows(&self, since_ns: u64) -> u64 {
        self.notes.0.active(&self.monitor, since_ns)
    }

    /// Whole round trips of what leaves.
    fn take_round_trips<'py>(&mut self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let taken = self.notes.0.take_round_trips();
        let columns = PyDict::new(python);
        columns.set_item("flow", array(python, &taken, |each| each.flow))?;
        columns.set_item("round_trip_ns", array(python, &taken, |each| each.nanoseconds))?;
        Ok(columns)
    }

    /// Traffic that each flow sent through the exit.
    fn take_volumes<'py>(&mut self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let taken = self.notes.0.take_volumes();
        let columns = PyDict::new(python);
        columns.set_item("flow", array(python, &taken, |each| each.volume.flow))?;
        columns.set_item("packets", array(python, &taken, |each| each.volume.packets))?;
        columns.set_item("bytes", array(python, &taken, |each| each.volume.bytes))?;
        let column =
            |flag: fn(&Departed) -> bool| PyArray1::from_iter(python, taken.iter().map(flag));
        columns.set_item("data", column(|each| each.slows_down.is_some()))?;
        columns.set_item("responsive", column(|each| each.slows_down == Some(true)))?;
        columns.set_item("selective", column(|each| each.selective))?;
        columns.set_item("ecn_capable", column(|each| each.ecn_capable))?;
        Ok(columns)
    }

    /// The monitor is not to follow any flow any more.
    fn finish(&mut self) {
        self.monitor.finish(&mut self.notes);
    }

    /// Observations, as JSON.
    fn summary(&self) -> PyResult<String> {
        json(&Document::of(&self.monitor, &self.notes.1))
    }
}
