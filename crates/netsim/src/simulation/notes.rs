use std::collections::VecDeque;

use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Acknowledgement, SackBlocks};

use crate::flow::{Flow, Source};
use crate::group::Group;
use crate::scenario::Scenario;
use crate::scripted_losses::Scripts;
use crate::trace::{
    Beginning, Causes, Connections, PacketEvent, PacketRecord, PacketTrace, Place,
    RawDistributions, Reason, WindowTrace,
};

/// A packet that waits at a link which needs no event for its departure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub record: PacketRecord,
    pub start: u64,
    pub lost: bool,
}

/// A network at its beginning, as far as notes have to know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaidOut<'a> {
    pub groups: &'a [Group],
    /// Templates of the flows of each of the scenario's groups.
    pub profiles: &'a [Option<Profile>],
    pub flows: &'a [Flow],
}

/// Notes of whatever somebody has asked to be written down or done about single packets.
///
/// Nobody pays for them who has not asked ([`observer`](super::observer)). Where notes are taken, receivers that may
/// wait have lines of their own for what they answer, and links that have turns tell who has left. What happens to the
/// packets is the same, in the same order.
///
/// Hosts' clocks: what happens at the first queue does so later than at the sender, and an arrival whose
/// acknowledgement is told at once is processed later than at the receiver ([`crate::route`]). Notes have the
/// times that the hosts would see.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    pub scripts: Scripts,
    pub connections: Connections,
    pub causes: Causes,
    pub packets: Option<PacketTrace>,
    pub windows: Option<WindowTrace>,
    pub distributions: Option<RawDistributions>,
    /// By number of the link: those in its queue, and those that have left since somebody looked.
    pub queued: Vec<VecDeque<Queued>>,
    /// Records so far.
    pub order: u64,
    /// By how much a record may be earlier than the time at which it is made, in nanoseconds.
    pub lag: u64,
}

impl Notes {
    /// Empty ones at time 0.
    pub fn new(
        scenario: &Scenario,
        scripts: Scripts,
        LaidOut { groups, profiles, flows }: LaidOut<'_>,
    ) -> Self {
        let mut connections = Connections::new(scenario.flows.len());
        let (mut group, mut number) = (0, 0);
        for (place, flow) in flows.iter().enumerate() {
            let laid = &groups[flow.group as usize];
            if laid.number != group {
                (group, number) = (laid.number, 0);
            }
            if matches!(flow.source, Source::Transfers(_)) {
                connections.skip();
            } else {
                let profile = profiles[laid.number as usize].as_ref();
                connections.begin(place, &beginning(laid, profile, flow, Some(number)));
            }
            number += 1;
        }
        let route = |group: &Group| group.route.first_access.max(group.route.after_receipt);
        Self {
            scripts,
            connections,
            causes: Causes::default(),
            packets: None,
            windows: None,
            distributions: None,
            queued: vec![VecDeque::new(); scenario.links.len()],
            order: 0,
            lag: groups.iter().map(route).max().unwrap_or(0),
        }
    }

    /// Return true if packets are followed.
    pub fn follows_packets(&self) -> bool {
        self.packets.is_some() || self.distributions.is_some()
    }

    /// Something happens to a packet.
    pub fn keep(&mut self, mut record: PacketRecord) {
        record.order = self.order;
        self.order += 1;
        self.file(record);
    }

    /// The same with an order that was given before.
    pub fn file(&mut self, record: PacketRecord) {
        let connection = self.connections.get(record.connection);
        if let Some(distributions) = &mut self.distributions {
            distributions.count(&record, connection.group);
        }
        if let Some(packets) = &mut self.packets
            && packets.flows.has(connection.group, connection.number)
        {
            packets.keep(record);
        }
    }

    /// Tells of the departures up to `now` from queues that need no events for them.
    pub fn settle(&mut self, now: u64) {
        for link in 0..self.queued.len() {
            while let Some(first) = self.queued[link].front().copied()
                && first.start <= now
            {
                self.queued[link].pop_front();
                let (record, place) = (first.record, Place::Link(link as u32));
                self.keep(record.then(first.start, PacketEvent::Depart, place).since(record.time));
                if first.lost {
                    self.keep(record.then(first.start, PacketEvent::Lose, place));
                }
            }
        }
    }
}

/// Facts that two ends are told by their group.
pub(super) fn beginning<'a>(
    group: &Group,
    profile: Option<&'a Profile>,
    flow: &Flow,
    number: Option<u32>,
) -> Beginning<'a> {
    Beginning {
        group: group.number,
        number,
        profile,
        packet_size: group.packet_size,
        last: (flow.last_segment, flow.last_size),
        first_access: group.route.first_access,
        after_receipt: group.route.after_receipt,
    }
}

/// The same packet with the mark on it.
pub(super) fn marked(record: PacketRecord, event: PacketEvent) -> PacketRecord {
    PacketRecord { event, ecn: vermilion_aqm::Ecn::CongestionExperienced as u8, ..record }
}

/// An acknowledgement that was sent at `sent` by its receiver's clock.
pub(super) fn answer_record(
    notes: &Notes,
    index: u32,
    answer: &Acknowledgement<'_>,
    sent: u64,
) -> PacketRecord {
    let connection = notes.connections.get(index);
    PacketRecord {
        time: 0,
        order: 0,
        event: PacketEvent::Send,
        place: Place::Receiver,
        connection: index,
        acknowledgement: true,
        sequence: answer.next_expected,
        size: 0,
        sent,
        echo: answer.echo.saturating_sub(connection.first_access),
        since: 0,
        ecn: 0,
        again: false,
        opens: answer.next_expected == 1 && answer.echo < connection.first_data,
        window_reduced: false,
        congestion_echo: answer.congestion_echo,
        marked: answer.marked,
        reason: Reason::None,
        cause: 0,
        blocks: SackBlocks::of(answer.blocks),
    }
}
