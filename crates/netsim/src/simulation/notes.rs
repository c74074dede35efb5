//! Notes: whatever somebody has asked to be written down or done about single packets.
//!
//! Nobody pays for them who has not asked. Where notes are taken, the delay lines end at places of their own
//! ([`NotedEnd`](crate::delay_line::NotedEnd)), which lead here; senders send here; links that have turns tell who has left. What happens to
//! the packets is the same, in the same order.
//!
//! Hosts' clocks: what happens at the first queue does so later than at the sender, and an arrival whose
//! acknowledgement is told at once is processed later than at the receiver ([`crate::route`]). Notes have the
//! times that the hosts would see.

use std::collections::VecDeque;

use vermilion_parameters::ParameterError;
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Acknowledgement, SackBlocks};

use super::delays::delay_books;
use crate::delay_line::DelayLine;
use crate::flow::{Flow, Source};
use crate::flow_delays::FlowDelays;
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
    pub lines: &'a [DelayLine],
    pub flows: &'a [Flow],
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    pub delays: Option<FlowDelays>,
    pub scripts: Scripts,
    pub connections: Connections,
    pub causes: Causes,
    pub packets: Option<PacketTrace>,
    pub windows: Option<WindowTrace>,
    pub distributions: Option<RawDistributions>,
    /// By number of the link: those in its queue, and those that have left since somebody looked.
    pub queued: Vec<VecDeque<Queued>>,
    /// Packets of open-loop flows that were sent, by place; only where no delays are asked for.
    sent: Vec<u32>,
    /// Records so far.
    pub order: u64,
    /// By how much a record may be earlier than the time at which it is made, in nanoseconds.
    pub lag: u64,
}

impl Notes {
    /// Return true if a scenario itself wants some.
    pub fn are_wanted_by(scenario: &Scenario) -> bool {
        scenario.flow_delays || !scenario.scripted_losses.is_empty()
    }

    /// Those that a scenario itself wants; `None` if it wants none.
    ///
    /// # Errors
    /// A scripted loss that cannot be.
    pub fn of(
        scenario: &Scenario,
        laid: LaidOut<'_>,
        phases: usize,
    ) -> Result<Option<Box<Self>>, ParameterError> {
        let scripts = Scripts::of(scenario)?;
        if Self::are_wanted_by(scenario) {
            return Ok(Some(Box::new(Self::new(scenario, scripts, laid, phases))));
        }
        Ok(None)
    }

    /// Empty ones at time 0.
    pub fn new(
        scenario: &Scenario,
        scripts: Scripts,
        LaidOut { groups, profiles, lines, flows }: LaidOut<'_>,
        phases: usize,
    ) -> Self {
        let delays = scenario
            .flow_delays
            .then(|| delay_books(scenario, groups, lines, (flows.len(), phases)));
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
            delays,
            scripts,
            connections,
            causes: Causes::default(),
            packets: None,
            windows: None,
            distributions: None,
            queued: vec![VecDeque::new(); scenario.links.len()],
            sent: Vec::new(),
            order: 0,
            lag: groups.iter().map(route).max().unwrap_or(0),
        }
    }

    /// Return true if packets are followed.
    pub fn follows_packets(&self) -> bool {
        self.packets.is_some() || self.distributions.is_some()
    }

    /// Return true if packets have to come by. Windows that are read at an interval do without: the events of a
    /// plain run leave senders and receivers just as they are here.
    pub fn need_packets(&self) -> bool {
        self.follows_packets()
            || self.delays.is_some()
            || !self.scripts.is_empty()
            || self.windows.as_ref().is_some_and(WindowTrace::follows_changes)
    }

    /// The number of the next packet of an open-loop flow, which is sent.
    pub fn number(&mut self, flow: u32, group: u32) -> u32 {
        if let Some(delays) = &mut self.delays {
            return delays.on_sent(flow, group);
        }
        let place = flow as usize;
        if place >= self.sent.len() {
            self.sent.resize(place + 1, 0);
        }
        self.sent[place] = self.sent[place].wrapping_add(1);
        self.sent[place] - 1
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
