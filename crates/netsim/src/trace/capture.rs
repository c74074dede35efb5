use std::collections::HashMap;

use super::frame::frame;
use super::legend::Legend;
use super::record::{PacketEvent, PacketRecord, Place, Reason};
use crate::pcapng;
use crate::scenario::Scenario;

const ETHERNET: u16 = 1;

/// Where a packet is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Interface {
    Sender(u32),
    Receiver(u32),
    In(u32),
    Out(u32),
    Dropped(u32),
}

/// A packet trace as a capture file: pcapng, an interface for each end of each link and of each group's hosts.
///
/// Times are whole nanoseconds since the run began, which is 1970 to who reads the file. A packet is seen at
///
/// - `GROUP sender` and `GROUP receiver`, when it is sent there or delivered,
/// - `LINK in`, when it arrives at the queue; a comment says that it was dropped at once, or marked,
/// - `LINK out`, when its transmission begins; a comment says that it was marked then, or that the wire loses it,
/// - `LINK dropped`, when it is dropped after it had waited; a comment says why.
///
/// What was sent again has a comment that says so.
#[derive(Clone, Debug)]
pub struct CaptureWriter {
    /// True if frames have their payload.
    whole: bool,
    interfaces: HashMap<Interface, u32>,
    begun: bool,
}

impl CaptureWriter {
    /// A file that nothing has been written to; `whole`: with payloads, which are zeros.
    pub fn new(whole: bool) -> Self {
        Self { whole, interfaces: HashMap::new(), begun: false }
    }

    /// The file's next bytes: its beginning, the first time, and the records, in order. What happens to a
    /// packet in the instant of its arrival has to be among them.
    #[must_use]
    pub fn encode(&mut self, records: &[PacketRecord], legend: &Legend<'_>) -> Vec<u8> {
        let &Legend { connections, scenario, .. } = legend;
        let mut bytes = Vec::with_capacity(128 * records.len() + 64);
        if !self.begun {
            self.begun = true;
            pcapng::begin(&mut bytes);
        }
        let mut fates = Fates::default();
        for (index, record) in records.iter().enumerate() {
            fates.look_at(records, index);
            let group = connections.get(record.connection).group;
            let Some(interface) = interface(record, group) else { continue };
            let comment = comment(record, fates.after(records, index), legend);
            let number = self.number(interface, scenario, &mut bytes);
            let frame = frame(record, connections.get(record.connection), self.whole);
            let sight = pcapng::Packet {
                interface: number,
                time: record.time,
                bytes: &frame.bytes,
                original_length: frame.length,
                comment: &comment,
            };
            sight.write(&mut bytes);
        }
        bytes
    }

    /// The number of an interface, which is described when it is first seen.
    fn number(&mut self, interface: Interface, scenario: &Scenario, bytes: &mut Vec<u8>) -> u32 {
        let next = self.interfaces.len() as u32;
        *self.interfaces.entry(interface).or_insert_with(|| {
            pcapng::describe_interface(bytes, ETHERNET, &name(interface, scenario));
            next
        })
    }
}

fn name(interface: Interface, scenario: &Scenario) -> String {
    let group = |number: u32| &scenario.flows[number as usize].name;
    let link = |number: u32| &scenario.links[number as usize].name;
    match interface {
        Interface::Sender(number) => format!("{} sender", group(number)),
        Interface::Receiver(number) => format!("{} receiver", group(number)),
        Interface::In(number) => format!("{} in", link(number)),
        Interface::Out(number) => format!("{} out", link(number)),
        Interface::Dropped(number) => format!("{} dropped", link(number)),
    }
}

/// Where a record shows a packet; `None` if another record does.
fn interface(record: &PacketRecord, group: u32) -> Option<Interface> {
    match (record.event, record.place) {
        (_, Place::Sender) => Some(Interface::Sender(group)),
        (_, Place::Receiver) => Some(Interface::Receiver(group)),
        (PacketEvent::Arrive, Place::Link(link)) => Some(Interface::In(link)),
        (PacketEvent::Depart, Place::Link(link)) => Some(Interface::Out(link)),
        (PacketEvent::Drop, Place::Link(link)) if record.since < record.time => {
            Some(Interface::Dropped(link))
        }
        _ => None,
    }
}

/// Packets dropped, marked or lost in one instant, by packet and place: very many packets may move in one, and to
/// look through all of them for each took minutes.
#[derive(Default)]
struct Fates {
    /// The number of the first record after the instant.
    end: usize,
    records: HashMap<(Place, u32, bool, u32, u64), Vec<usize>>,
}

impl Fates {
    fn key(record: &PacketRecord) -> (Place, u32, bool, u32, u64) {
        let &PacketRecord { place, connection, acknowledgement, sequence, sent, .. } = record;
        (place, connection, acknowledgement, sequence, sent)
    }

    /// Record number `index` is next: what happens in its instant, if that is a new one.
    fn look_at(&mut self, records: &[PacketRecord], index: usize) {
        if index < self.end {
            return;
        }
        self.records.clear();
        let time = records[index].time;
        let instant = records.iter().enumerate().skip(index).take_while(|it| it.1.time == time);
        for (number, record) in instant {
            if matches!(record.event, PacketEvent::Drop | PacketEvent::Mark | PacketEvent::Lose) {
                self.records.entry(Self::key(record)).or_default().push(number);
            }
            self.end = number + 1;
        }
    }

    /// Fate of the packet of record number `index` after it, in the same instant and place.
    fn after<'a>(
        &'a self,
        records: &'a [PacketRecord],
        index: usize,
    ) -> impl Iterator<Item = &'a PacketRecord> {
        let about = self.records.get(&Self::key(&records[index])).into_iter().flatten();
        about.filter(move |later| **later > index).map(|later| &records[*later])
    }
}

/// Description of the packet of a record, from it and from what becomes of it in the same instant.
fn comment<'a>(
    record: &PacketRecord,
    about: impl Iterator<Item = &'a PacketRecord>,
    legend: &Legend<'_>,
) -> String {
    let mut words = Vec::new();
    if record.again {
        words.push("sent again".to_owned());
    }
    let fate = |event| match event {
        PacketEvent::Arrive => [PacketEvent::Drop, PacketEvent::Mark],
        _ => [PacketEvent::Lose, PacketEvent::Mark],
    };
    match (record.event, record.place) {
        (PacketEvent::Drop, Place::Link(link)) => words.push(drop_words(record, link, legend)),
        (PacketEvent::Arrive | PacketEvent::Depart, Place::Link(link)) => {
            for later in about.filter(|later| fate(record.event).contains(&later.event)) {
                match later.event {
                    PacketEvent::Drop if later.since == later.time => {
                        words.push(drop_words(later, link, legend));
                    }
                    PacketEvent::Lose => words.push("lost on the wire".to_owned()),
                    PacketEvent::Mark if later.reason == Reason::Scripted => {
                        words.push("marked by the scenario".to_owned());
                    }
                    PacketEvent::Mark => {
                        words.push(format!("marked by {}", discipline(link, legend.scenario)))
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    words.join("; ")
}

fn drop_words(record: &PacketRecord, link: u32, legend: &Legend<'_>) -> String {
    if record.reason == Reason::Scripted {
        return "dropped by the scenario".to_owned();
    }
    let waited = record.time - record.since;
    let discipline = discipline(link, legend.scenario);
    let mut words = format!("dropped by {discipline}: {}", record.reason.name());
    if waited > 0 {
        words.push_str(&format!(", after it had waited for {waited} ns"));
    }
    let cause = legend.causes.words(record.cause);
    if !cause.is_empty() {
        words.push_str(&format!(" ({cause})"));
    }
    words
}

fn discipline(link: u32, scenario: &Scenario) -> &str {
    &scenario.links[link as usize].queue.discipline
}
