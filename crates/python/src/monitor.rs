//! The passive monitor over capture files: bytes in, a summary and round trips out.

use numpy::PyArray1;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use vermilion_monitor::{
    CaptureReader, Configuration, End, Flow, FlowSummary, Largest, Listener, Monitor, Path,
    RoundTrip, Summary, Volumes,
};
use vermilion_parameters::ParameterError;

use crate::convert::json;
use crate::errors::refused;

create_exception!(
    _core,
    CaptureError,
    PyValueError,
    "A capture that cannot be read. Its arguments are the message and whether it merely ends early."
);

/// Keeps the largest flows, and the round trips and volumes if they are wanted.
struct Notes {
    largest: Largest,
    round_trips: Option<Vec<RoundTrip>>,
    volumes: Option<Volumes>,
}

impl Listener for Notes {
    fn packet(&mut self, flow: &Flow, from_initiator: bool, packets: u32, bytes: u32) {
        if let Some(volumes) = &mut self.volumes {
            volumes.packet(flow, from_initiator, packets, bytes);
        }
    }
    fn round_trip(&mut self, round_trip: &RoundTrip) {
        if let Some(kept) = &mut self.round_trips {
            kept.push(*round_trip);
        }
    }
    fn flow_ended(&mut self, flow: &Flow, why: End) {
        self.largest.flow_ended(flow, why);
    }
}

/// Everything as one object.
#[derive(Serialize)]
pub struct Document<'a> {
    #[serde(flatten)]
    summary: Summary,
    flows: Vec<&'a FlowSummary>,
    flows_left_out: u64,
}

impl<'a> Document<'a> {
    /// Observations of a monitor.
    pub fn of(monitor: &Monitor, largest: &'a Largest) -> Self {
        Self {
            summary: Summary::from(monitor.totals()),
            flows: largest.flows(),
            flows_left_out: largest.left_out(),
        }
    }
}

/// A monitor with these numbers.
pub fn monitor_of(
    flows: u32,
    largest_packet: u32,
    seed: u64,
    shared_numbers: bool,
) -> PyResult<Monitor> {
    let others = Configuration::default();
    let configuration = Configuration { flows, largest_packet, seed, shared_numbers, ..others };
    Monitor::new(configuration)
        .map_err(|error| refused(ParameterError::new(error.field, error.value, error.accepted)))
}

/// A passive monitor that is fed a capture file.
#[pyclass(module = "vermilion._core")]
pub struct CaptureMonitor {
    reader: CaptureReader,
    monitor: Monitor,
    notes: Notes,
}

pub fn unreadable(error: &vermilion_monitor::CaptureError) -> PyErr {
    CaptureError::new_err((error.to_string(), error.cut_short))
}

#[pymethods]
impl CaptureMonitor {
    #[new]
    #[pyo3(signature = (flows=65_536, largest_packet=1500, kept_flows=1000, round_trips=false, stretch_ns=0))]
    fn new(
        flows: u32,
        largest_packet: u32,
        kept_flows: usize,
        round_trips: bool,
        stretch_ns: u64,
    ) -> PyResult<Self> {
        let monitor = monitor_of(flows, largest_packet, 0, false)?;
        let notes = Notes {
            largest: Largest::new(kept_flows),
            round_trips: round_trips.then(Vec::new),
            volumes: (stretch_ns > 0).then(|| Volumes::new(stretch_ns)),
        };
        Ok(Self { reader: CaptureReader::new(), monitor, notes })
    }

    /// Takes the next bytes of the file.
    fn feed(&mut self, python: Python<'_>, data: &[u8]) -> PyResult<()> {
        let Self { reader, monitor, notes } = self;
        python
            .detach(|| reader.feed(data, &mut |packet| monitor.observe(packet, notes)))
            .map_err(|error| unreadable(&error))
    }

    /// The file has ended.
    #[pyo3(signature = (cut_short=false))]
    fn finish(&mut self, cut_short: bool) -> PyResult<()> {
        match self.reader.finish() {
            Err(error) if !(cut_short && error.cut_short) => return Err(unreadable(&error)),
            _ => self.monitor.finish(&mut self.notes),
        }
        Ok(())
    }

    /// Observations, as JSON.
    fn summary(&self) -> PyResult<String> {
        json(&Document::of(&self.monitor, &self.notes.largest))
    }

    /// Traffic that each end of each flow sent in stretches that are over, as arrays; after the end all.
    #[pyo3(signature = (with_unfinished=false))]
    fn take_volumes<'py>(
        &mut self,
        python: Python<'py>,
        with_unfinished: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let taken = self.notes.volumes.as_mut().map(|volumes| volumes.take(with_unfinished));
        let taken = taken.unwrap_or_default();
        let columns = PyDict::new(python);
        columns.set_item("stretch", array(python, &taken, |each| each.stretch))?;
        columns.set_item("flow", array(python, &taken, |each| each.flow))?;
        columns.set_item("packets", array(python, &taken, |each| each.packets))?;
        columns.set_item("bytes", array(python, &taken, |each| each.bytes))?;
        columns.set_item(
            "from_initiator",
            PyArray1::from_iter(python, taken.iter().map(|each| each.from_initiator)),
        )?;
        Ok(columns)
    }

    /// Round trips taken since the last call, as arrays.
    fn take_round_trips<'py>(&mut self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let taken = self.notes.round_trips.as_mut().map(std::mem::take).unwrap_or_default();
        let columns = PyDict::new(python);
        let whole = |path| matches!(path, Path::Whole | Path::Handshake);
        columns.set_item("time_ns", array(python, &taken, |each| each.time))?;
        columns.set_item("flow", array(python, &taken, |each| each.flow))?;
        columns.set_item("round_trip_ns", array(python, &taken, |each| each.nanoseconds))?;
        columns.set_item(
            "whole",
            PyArray1::from_iter(python, taken.iter().map(|each| whole(each.path))),
        )?;
        columns.set_item(
            "from_initiator",
            PyArray1::from_iter(python, taken.iter().map(|each| each.from_initiator)),
        )?;
        Ok(columns)
    }
}

/// A column of numbers.
pub fn array<'py, T>(
    python: Python<'py>,
    taken: &[T],
    number: impl Fn(&T) -> u64,
) -> Bound<'py, PyArray1<i64>> {
    let numbers = taken.iter().map(|each| i64::try_from(number(each)).unwrap_or(i64::MAX));
    PyArray1::from_iter(python, numbers)
}
