//! A packet trace as text: comma-separated, a line for each record.

use std::fmt::Write;

use super::legend::Legend;
use super::record::{PacketRecord, Place};

/// The names of the columns, in order.
pub const COLUMNS: &str = "time_ns,event,place,group,flow,connection,direction,sequence,size_bytes,\
    sent_ns,echo_ns,since_ns,ecn,retransmission,reason,sack,cause";

/// Records as lines, the names of the columns first where `heading`.
pub fn packet_table(records: &[PacketRecord], legend: &Legend<'_>, heading: bool) -> String {
    let mut text = String::with_capacity(96 * records.len() + COLUMNS.len() + 1);
    if heading {
        text.push_str(COLUMNS);
        text.push('\n');
    }
    for record in records {
        write_line(&mut text, record, legend).expect("a string has room");
    }
    text
}

fn write_line(
    text: &mut String,
    record: &PacketRecord,
    &Legend { connections, causes, scenario }: &Legend<'_>,
) -> std::fmt::Result {
    let connection = connections.get(record.connection);
    let place = match record.place {
        Place::Sender => "sender",
        Place::Receiver => "receiver",
        Place::Link(link) => &scenario.links[link as usize].name,
    };
    let group = &scenario.flows[connection.group as usize].name;
    let direction = if record.acknowledgement { "back" } else { "out" };
    write!(
        text,
        "{},{},{place},{group},{},{},{direction},{},{},{},{},{},{},{},{},",
        record.time,
        record.event.name(),
        connection.number,
        record.connection,
        record.sequence,
        record.size,
        record.sent,
        record.echo,
        record.since,
        record.ecn,
        u8::from(record.again),
        record.reason.name(),
    )?;
    for (index, (first, after)) in record.blocks.as_slice().iter().enumerate() {
        let gap = if index == 0 { "" } else { " " };
        write!(text, "{gap}{first}-{after}")?;
    }
    text.push(',');
    text.push_str(causes.words(record.cause));
    text.push('\n');
    Ok(())
}
