//! Records of packets, where notes are taken: see [`notes`](super::notes).

use vermilion_aqm::DropReason;
use vermilion_tcp::SackBlocks;

use super::Simulation;
use super::notes::{Notes, Queued, answer_record, beginning, marked};
use crate::acknowledgement_pool::AcknowledgementPool;
use crate::any_link::AnyLink;
use crate::arrival_link::ArrivalLink;
use crate::departure_link::{Fate, Gone};
use crate::flow::Connection;
use crate::headers;
use crate::packet::Packet;
use crate::route::Route;
use crate::scripted_losses::{Action, Passing};
use crate::trace::{PacketEvent, PacketRecord, Place, Reason};

impl Notes {
    /// A packet as it is now, to which nothing has happened; `None` if nobody follows packets. Acknowledgements are
    /// among `answers`.
    fn record_of(&self, packet: &Packet, answers: &AcknowledgementPool) -> Option<PacketRecord> {
        if !self.follows_packets() {
            return None;
        }
        let index = self.connections.in_place(packet.flow())?;
        let connection = self.connections.get(index);
        if packet.is_acknowledgement() {
            let sent = packet.stamp().sent() - connection.after_receipt;
            let answer = answers.look_at(packet.sequence()).get();
            return Some(PacketRecord {
                size: packet.size(),
                ecn: packet.ecn() as u8,
                ..answer_record(self, index, &answer, sent)
            });
        }
        let sent = packet.stamp().sent() - connection.first_access;
        let segment = packet.to_segment();
        Some(PacketRecord {
            time: 0,
            order: 0,
            event: PacketEvent::Send,
            place: Place::Sender,
            connection: index,
            acknowledgement: false,
            sequence: packet.sequence(),
            size: packet.size(),
            sent,
            echo: self.connections.echo_of(index, sent),
            since: 0,
            ecn: packet.ecn() as u8,
            again: packet.is_sent_again(),
            opens: connection.has_sender && packet.sequence() == 0,
            window_reduced: segment.window_reduced,
            congestion_echo: false,
            marked: 0,
            reason: Reason::None,
            cause: 0,
            blocks: SackBlocks::default(),
        })
    }

    /// A sender sends a packet, at its own clock's time, which the packet says.
    pub fn keep_sending(&mut self, packet: &Packet, answers: &AcknowledgementPool) {
        if let Some(record) = self.record_of(packet, answers) {
            let event = if record.again { PacketEvent::Retransmit } else { PacketEvent::Send };
            self.keep(record.then(record.sent, event, Place::Sender));
        }
        if let Some(connection) = self.connections.in_place(packet.flow())
            && self.connections.get(connection).has_sender
        {
            let sent = packet.stamp().sent();
            self.connections.note_sent(connection, packet.sequence(), sent);
        }
    }

    /// A receiver sends an acknowledgement.
    pub fn keep_answer(&mut self, packet: &Packet, answers: &AcknowledgementPool) {
        if let Some(record) = self.record_of(packet, answers) {
            self.keep(record.then(record.sent, PacketEvent::Send, Place::Receiver));
        }
    }

    /// An acknowledgement reaches its sender at `now`.
    pub fn keep_hearing(&mut self, now: u64, packet: &Packet, answers: &AcknowledgementPool) {
        let Some(record) = self.record_of(packet, answers) else { return };
        let time = now - self.connections.get(record.connection).first_access;
        self.connections.note_heard(record.connection, time, record.sent);
        self.keep(record.then(time, PacketEvent::Deliver, Place::Sender).since(record.sent));
    }

    /// A packet reaches its receiver at `now`.
    pub fn keep_receipt(&mut self, now: u64, packet: &Packet, answers: &AcknowledgementPool) {
        let Some(record) = self.record_of(packet, answers) else { return };
        let time = now - self.connections.get(record.connection).after_receipt;
        self.keep(record.then(time, PacketEvent::Deliver, Place::Receiver).since(record.sent));
    }

    /// The receiver of a flow has just answered, and its sender is told now. Nothing of the answer is on any
    /// line; the receiver knows what it has said. It has so many bytes.
    pub fn keep_answer_at_once(
        &mut self,
        now: u64,
        flow: u32,
        ends: &Connection,
        route: &Route,
        size: u32,
    ) {
        if !self.follows_packets() {
            return;
        }
        let Some(index) = self.connections.in_place(flow) else { return };
        let (sent, heard) = (now - route.after_receipt, now - route.first_access);
        let answer = ends.receiver.acknowledgement();
        let record = PacketRecord { size, ..answer_record(self, index, &answer, sent) };
        self.keep(record.then(sent, PacketEvent::Send, Place::Receiver));
        self.keep(record.then(heard, PacketEvent::Deliver, Place::Sender).since(sent));
    }

    /// A packet comes to link `link` at `now`, where a script may mark it. True if one drops it.
    pub fn keep_arrival(
        &mut self,
        now: u64,
        packet: &mut Packet,
        link: u32,
        answers: &AcknowledgementPool,
    ) -> bool {
        let record = self.record_of(packet, answers);
        let record = record.map(|it| it.then(now, PacketEvent::Arrive, Place::Link(link)));
        record.into_iter().for_each(|record| self.keep(record));
        let Some(action) = self.scripted(now, packet, link) else { return false };
        let mut record = record.map(|record| PacketRecord { reason: Reason::Scripted, ..record });
        let dropped = action == Action::Drop;
        if dropped {
            record = record.map(|record| PacketRecord { event: PacketEvent::Drop, ..record });
        } else if packet.ecn().is_capable() {
            packet.mark();
            record = record.map(|record| marked(record, PacketEvent::Mark));
        } else {
            return false;
        }
        record.into_iter().for_each(|record| self.keep(record));
        dropped
    }

    /// Script of the scenario for a packet that comes to a link.
    fn scripted(&mut self, now: u64, packet: &Packet, link: u32) -> Option<Action> {
        let connection = self.connections.in_place(packet.flow())?;
        let state = self.connections.get(connection);
        let acknowledgement = packet.is_acknowledgement();
        let segment = (state.has_sender && !acknowledgement).then_some(packet.sequence());
        self.scripts.judge(&Passing {
            now,
            link,
            connection,
            group: state.group,
            number: state.number,
            packet: 0, // each script counts for itself
            acknowledgement,
            segment,
            retransmission: !acknowledgement && packet.is_sent_again(),
            size: packet.size(),
            ecn: packet.ecn() as u8,
        })
    }

    /// A link that decides at once has decided over a packet, which came to it at `now`: from its drops and marks
    /// `before`.
    pub fn keep_verdict(
        &mut self,
        now: u64,
        packet: &Packet,
        (link, state): (u32, &ArrivalLink),
        before: [u64; 2],
        answers: &AcknowledgementPool,
    ) {
        let Some(record) = self.record_of(packet, answers) else { return };
        let mut record = record.then(now, PacketEvent::Arrive, Place::Link(link));
        let after = state.verdicts();
        let [drops, marks] = std::array::from_fn(|index| after[index] > before[index]);
        if drops {
            let (reason, words) = state.last_drop();
            return self.keep_drop(record, reason, words);
        }
        let (start, lost) = state.last_accepted(now);
        if marks {
            record = marked(record, PacketEvent::Mark);
            self.keep(record);
        }
        self.queued[link as usize].push_back(Queued { record, start, lost });
    }

    /// A link with turns has marked a packet that came to it at `now`.
    pub fn keep_mark(
        &mut self,
        now: u64,
        packet: &Packet,
        link: u32,
        answers: &AcknowledgementPool,
    ) {
        if let Some(record) = self.record_of(packet, answers) {
            let record = record.then(now, PacketEvent::Arrive, Place::Link(link));
            self.keep(marked(record, PacketEvent::Mark));
        }
    }

    /// A discipline has dropped a packet, and has these words for what of it has.
    fn keep_drop(&mut self, record: PacketRecord, reason: DropReason, words: &'static str) {
        let (reason, cause) = (reason.into(), self.causes.number(words));
        self.keep(PacketRecord { event: PacketEvent::Drop, reason, cause, ..record });
    }

    /// A packet has left a link with turns, or was dropped there.
    fn keep_one_gone(
        &mut self,
        now: u64,
        (link, state): (usize, &AnyLink),
        gone: &Gone,
        answers: &AcknowledgementPool,
    ) {
        let place = Place::Link(link as u32);
        let Some(record) = self.record_of(&gone.packet, answers) else { return };
        let record = record.then(now, PacketEvent::Depart, place).since(gone.arrived);
        match gone.fate {
            Fate::Dropped(reason) => {
                let AnyLink::AtDeparture(state) = state else {
                    debug_assert!(false, "link {link} has no turns");
                    return;
                };
                self.keep_drop(record, reason, state.cause(reason));
            }
            Fate::Lost => {
                self.keep(PacketRecord { event: PacketEvent::Lose, since: now, ..record });
            }
            Fate::Sent { marked: on_leaving } => {
                self.keep(record);
                if on_leaving {
                    self.keep(marked(record, PacketEvent::Mark));
                }
            }
        }
    }
}

impl Simulation {
    /// A transfer has come to a place in the table of flows.
    pub(super) fn begin_observing(&mut self, place: usize) {
        self.begin_delays(place);
        let Some(notes) = &mut self.notes else { return };
        headers::begin(place as u32);
        let flow = &self.flows[place];
        let group = &self.groups[flow.group as usize];
        let profile = self.profiles[group.number as usize].as_ref();
        let connection = notes.connections.begin(place, &beginning(group, profile, flow, None));
        let state = notes.connections.get(connection);
        let who = (connection, state.group, state.number);
        if let Some(windows) = &mut notes.windows {
            let offset = group.route.first_access;
            windows.begin(who, self.now.saturating_sub(offset));
        }
    }

    /// Packets that have left a link with turns, or were dropped there, since somebody looked.
    pub(super) fn note_gone(&mut self, link: usize) {
        let (Some(notes), AnyLink::AtDeparture(state)) = (&mut self.notes, &mut self.links[link])
        else {
            return;
        };
        let gone = std::mem::take(state.gone());
        for each in &gone {
            notes.keep_one_gone(self.now, (link, &self.links[link]), each, &self.answers);
        }
        // What was dropped is still to be forgotten.
        if let AnyLink::AtDeparture(state) = &mut self.links[link] {
            *state.gone() = gone;
        }
    }

    /// The rate of a link has changed: those that wait leave at other times.
    pub(super) fn note_new_rate(&mut self, link: usize) {
        let AnyLink::AtArrival(state) = &self.links[link] else { return };
        let Some(notes) = &mut self.notes else { return };
        let starts = state.starts();
        let queued = &mut notes.queued[link];
        let left = queued.len().saturating_sub(starts.len());
        for (each, start) in queued.iter_mut().skip(left).zip(starts) {
            each.start = start;
        }
    }

    /// A link has dropped all that waited.
    pub(super) fn note_flush(&mut self, link: usize) {
        let now = self.now;
        let Some(notes) = &mut self.notes else { return };
        notes.settle(now);
        for each in std::mem::take(&mut notes.queued[link]) {
            let record = PacketRecord { reason: Reason::Flush, ..each.record };
            let dropped = record.then(now, PacketEvent::Drop, Place::Link(link as u32));
            notes.keep(dropped.since(each.record.time));
        }
    }
}
