//! What was written down of a run, as arrays and as the bytes of files.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use vermilion_netsim::Simulation;
use vermilion_netsim::trace::{
    CaptureWriter, Observation, PacketEvent, PacketRecord, Place, RawDistribution, Reason,
    packet_table,
};
use vermilion_parameters::ParameterError;

use crate::errors::refused;

/// In the place of the number of a link: at the end that sends data.
const SENDER: i32 = -1;
/// In the place of the number of a link: at the end that data goes to.
const RECEIVER: i32 = -2;

/// Reads what is to be written down.
pub fn observation(text: &str) -> PyResult<Observation> {
    serde_json::from_str(text).map_err(|error| {
        refused(ParameterError::new("observation", error, "an observation as JSON"))
    })
}

/// Records that were taken, and what became of them: columns by name, lines of text, bytes of a capture.
type Taken<'py> = (usize, Option<Bound<'py, PyDict>>, Option<String>, Option<Bound<'py, PyBytes>>);

/// Packet events since the last call, in the forms that are asked for.
pub fn take_packets<'py>(
    python: Python<'py>,
    simulation: &mut Simulation,
    writer: &mut Option<CaptureWriter>,
    (with_columns, with_table, heading): (bool, bool, bool),
) -> PyResult<Taken<'py>> {
    let (records, table, capture) = python.detach(|| {
        let records = simulation.take_packets();
        let Some(legend) = simulation.legend() else { return (records, None, None) };
        let table = with_table.then(|| packet_table(&records, &legend, heading));
        let capture = writer.as_mut().map(|writer| writer.encode(&records, &legend));
        (records, table, capture)
    });
    let columns = with_columns.then(|| packet_columns(python, &records, simulation)).transpose()?;
    Ok((records.len(), columns, table, capture.map(|bytes| PyBytes::new(python, &bytes))))
}

fn packet_columns<'py>(
    python: Python<'py>,
    records: &[PacketRecord],
    simulation: &Simulation,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(python);
    let times = |of: fn(&PacketRecord) -> u64| {
        PyArray1::from_iter(python, records.iter().map(move |record| of(record) as i64))
    };
    let bytes = |of: fn(&PacketRecord) -> u8| PyArray1::from_iter(python, records.iter().map(of));
    let flags = |of: fn(&PacketRecord) -> bool| PyArray1::from_iter(python, records.iter().map(of));
    let numbers =
        |of: fn(&PacketRecord) -> u32| PyArray1::from_iter(python, records.iter().map(of));
    columns.set_item("time_ns", times(|record| record.time))?;
    columns.set_item("event", bytes(|record| record.event as u8))?;
    let places = records.iter().map(|record| match record.place {
        Place::Sender => SENDER,
        Place::Receiver => RECEIVER,
        Place::Link(link) => link as i32,
    });
    columns.set_item("place", PyArray1::from_iter(python, places))?;
    let whose = |of: fn(&vermilion_netsim::trace::Connection) -> u32| {
        let all = simulation.legend().map(|legend| legend.connections);
        let number = move |record: &PacketRecord| {
            all.map_or(0, |connections| of(connections.get(record.connection)))
        };
        PyArray1::from_iter(python, records.iter().map(number))
    };
    columns.set_item("group", whose(|connection| connection.group))?;
    columns.set_item("flow", whose(|connection| connection.number))?;
    columns.set_item("connection", numbers(|record| record.connection))?;
    columns.set_item("acknowledgement", flags(|record| record.acknowledgement))?;
    columns.set_item("sequence", numbers(|record| record.sequence))?;
    columns.set_item("size_bytes", numbers(|record| record.size))?;
    columns.set_item("sent_ns", times(|record| record.sent))?;
    columns.set_item("echo_ns", times(|record| record.echo))?;
    columns.set_item("since_ns", times(|record| record.since))?;
    columns.set_item("ecn", bytes(|record| record.ecn))?;
    columns.set_item("retransmission", flags(|record| record.again))?;
    columns.set_item("opens", flags(|record| record.opens))?;
    columns.set_item("reason", bytes(|record| record.reason as u8))?;
    let causes = records.iter().map(|record| record.cause);
    columns.set_item("cause", PyArray1::from_iter(python, causes))?;
    Ok(columns)
}

/// The windows since the last call, as arrays.
pub fn take_windows<'py>(
    python: Python<'py>,
    simulation: &mut Simulation,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = simulation.take_windows();
    let connections = simulation.legend().map(|legend| legend.connections);
    let columns = PyDict::new(python);
    let whose = |of: fn(&vermilion_netsim::trace::Connection) -> u32| {
        let number = rows.iter().map(move |row| {
            connections.map_or(0, |connections| of(connections.get(row.connection)))
        });
        PyArray1::from_iter(python, number)
    };
    type Row = vermilion_netsim::trace::WindowRow;
    let values = |of: fn(&Row) -> f64| PyArray1::from_iter(python, rows.iter().map(of));
    columns.set_item("time_s", values(|row| row.time as f64 / 1e9))?;
    columns.set_item("group", whose(|connection| connection.group))?;
    columns.set_item("flow", whose(|connection| connection.number))?;
    columns.set_item("window_packets", values(|row| row.window))?;
    columns.set_item("threshold_packets", values(|row| row.threshold))?;
    columns.set_item("smoothed_rtt_ms", values(|row| row.smoothed_round_trip))?;
    columns.set_item("in_flight_packets", values(|row| row.in_flight))?;
    columns.set_item("pacing_rate_bit_per_s", values(|row| row.pacing_rate))?;
    columns.set_item("goodput_bit_per_s", values(|row| row.goodput))?;
    let states = rows.iter().map(|row| row.state);
    columns.set_item("state", PyArray1::from_iter(python, states))?;
    let retransmissions = rows.iter().map(|row| row.retransmissions as i64);
    columns.set_item("retransmissions", PyArray1::from_iter(python, retransmissions))?;
    let timeouts = rows.iter().map(|row| row.timeouts as i64);
    columns.set_item("timeouts", PyArray1::from_iter(python, timeouts))?;
    Ok(columns)
}

/// The transfers so far, as arrays; what is not known is NaN.
pub fn transfers<'py>(
    python: Python<'py>,
    simulation: &Simulation,
) -> PyResult<(Bound<'py, PyDict>, bool)> {
    let (rows, cut) = simulation.transfers();
    let columns = PyDict::new(python);
    columns.set_item("group", PyArray1::from_iter(python, rows.iter().map(|row| row.group)))?;
    columns
        .set_item("bytes", PyArray1::from_iter(python, rows.iter().map(|row| row.bytes as i64)))?;
    type Row = vermilion_netsim::TransferRow;
    let seconds = |of: fn(&Row) -> f64| {
        PyArray1::from_iter(python, rows.iter().map(move |row| of(row) / 1e9))
    };
    columns.set_item("start_s", seconds(|row| row.began as f64))?;
    let took = |row: &Row| row.took.map_or(f64::NAN, |took| took as f64);
    columns.set_item("completion_time_s", seconds(took))?;
    columns.set_item("ideal_time_s", seconds(|row| row.ideal))?;
    Ok((columns, cut))
}

/// The raw distributions: of each link and each group two, by name.
pub fn raw_distributions<'py>(
    python: Python<'py>,
    simulation: &mut Simulation,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(python);
    let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>();
    let scenario = simulation.scenario();
    let links = names(scenario.links.iter().map(|link| &link.name).collect());
    let groups = names(scenario.flows.iter().map(|group| &group.name).collect());
    let Some(distributions) = simulation.raw_distributions() else { return Ok(all) };
    let kinds: [(&str, &str, &[String]); 2] =
        [("links", "sojourn", &links), ("flows", "delay", &groups)];
    for (room, kind, names) in kinds {
        for (index, name) in names.iter().enumerate() {
            let found = match room {
                "links" => distributions.of_link(index),
                _ => distributions.of_group(index),
            };
            let Some((times, gaps)) = found else { continue };
            let key = |kind: &str| format!("{room}.{name}.{kind}");
            all.set_item(key(kind), distribution(python, times)?)?;
            all.set_item(key("drop_gap"), distribution(python, gaps)?)?;
        }
    }
    Ok(all)
}

fn distribution<'py>(
    python: Python<'py>,
    distribution: &RawDistribution,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(python);
    let counts = distribution.counts.iter().map(|&count| count as i64);
    columns.set_item("counts", PyArray1::from_iter(python, counts))?;
    columns.set_item("count", distribution.count)?;
    columns.set_item("sum_ns", distribution.sum)?;
    columns.set_item("least_ns", distribution.least)?;
    columns.set_item("greatest_ns", distribution.greatest)?;
    let values = distribution.values.iter().map(|&value| value as i64);
    columns.set_item("values_ns", PyArray1::from_iter(python, values))?;
    Ok(columns)
}

/// The names behind the numbers in columns: events, and reasons of drops.
pub fn names() -> (Vec<&'static str>, Vec<&'static str>) {
    (PacketEvent::NAMES.to_vec(), Reason::NAMES.to_vec())
}
