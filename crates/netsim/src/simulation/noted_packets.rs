//! The ways of packets where notes are taken: see [`notes`](super::notes).

use vermilion_aqm::DropReason;
use vermilion_tcp::SackBlocks;

use super::Simulation;
use super::notes::{Queued, answer_record, beginning, marked};
use super::turns::wait_for_turn_by_call;
use crate::any_link::AnyLink;
use crate::delay_line::NotedEnd;
use crate::departure_link::{Fate, Gone};
use crate::flow::Source;
use crate::packet::{NUMBER, Packet, Stamp};
use crate::scripted_losses::{Action, Passing};
use crate::trace::{PacketEvent, PacketRecord, Place, Reason};

impl Simulation {
    /// From now on packets come by here. Everything has to be still at its beginning.
    pub(super) fn take_notes(&mut self) {
        self.notes_packets = true;
        self.sends_by_call = true;
        self.lines.note_ends();
        for link in &mut self.links {
            if let AnyLink::AtDeparture(link) = link {
                link.take_notes();
            }
        }
    }

    /// A transfer has come to a place in the table of flows.
    pub(super) fn note_beginning(&mut self, place: usize) {
        let Some(notes) = &mut self.notes else { return };
        if let Some(delays) = &mut notes.delays {
            delays.begin(place);
        }
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

    /// A packet reaches the end of a stretch.
    #[cold]
    #[inline(never)]
    pub(super) fn on_noted(&mut self, end: NotedEnd, mut packet: Packet) {
        match end {
            NotedEnd::Link => self.offer_noted(packet, false),
            NotedEnd::ReturnLink => self.offer_noted(packet, true),
            NotedEnd::ReceiverAndBack => {
                self.note_arrival(&mut packet);
                let order = self.reserve(2);
                self.on_data_and_back_by_call(packet);
                self.note_answer_at_once(packet.flow(), order);
            }
            NotedEnd::Receiver => {
                self.note_arrival(&mut packet);
                self.on_data(packet);
            }
            NotedEnd::Sink => {
                self.note_arrival(&mut packet);
                self.on_sink(&packet);
            }
            NotedEnd::Sender => {
                self.note_hearing(&packet);
                self.on_acknowledgement(&packet);
            }
        }
    }

    /// Keeps places in the order of records for what is known only later.
    fn reserve(&mut self, places: u64) -> u64 {
        let Some(notes) = &mut self.notes else { return 0 };
        notes.order += places;
        notes.order - places
    }

    /// A packet as it is now, to which nothing has happened; `None` if nobody follows packets.
    fn record_of(&self, packet: &Packet) -> Option<PacketRecord> {
        let notes = self.notes.as_ref().filter(|notes| notes.follows_packets())?;
        let index = notes.connections.in_place(packet.flow())?;
        let connection = notes.connections.get(index);
        if packet.is_acknowledgement() {
            let sent = packet.stamp().sent() - connection.after_receipt;
            let answer = self.answers.look_at(packet.sequence()).get();
            return Some(PacketRecord {
                size: packet.size(),
                ecn: packet.ecn() as u8,
                ..answer_record(notes, index, &answer, sent)
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
            echo: notes.connections.echo_of(index, sent),
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

    fn keep(&mut self, record: Option<PacketRecord>) {
        if let (Some(notes), Some(record)) = (&mut self.notes, record) {
            notes.keep(record);
        }
    }

    /// A sender sends a packet, at its own clock's time, which the packet says.
    pub(super) fn note_sending(&mut self, packet: &Packet) {
        let record = self.record_of(packet);
        self.keep(record.map(|record| {
            let event = if record.again { PacketEvent::Retransmit } else { PacketEvent::Send };
            record.then(record.sent, event, Place::Sender)
        }));
        let sent = packet.stamp().sent();
        if let Some(notes) = &mut self.notes
            && let Some(connection) = notes.connections.in_place(packet.flow())
            && notes.connections.get(connection).has_sender
        {
            notes.connections.note_sent(connection, packet.sequence(), sent);
        }
    }

    /// A receiver sends an acknowledgement.
    #[cold]
    pub(super) fn note_answer(&mut self, packet: &Packet) {
        let record = self.record_of(packet);
        self.keep(
            record.map(|record| record.then(record.sent, PacketEvent::Send, Place::Receiver)),
        );
    }

    /// An acknowledgement reaches its sender.
    fn note_hearing(&mut self, packet: &Packet) {
        let Some(record) = self.record_of(packet) else { return };
        let Some(notes) = &mut self.notes else { return };
        let connection = notes.connections.get(record.connection);
        let time = self.now - connection.first_access;
        notes.connections.note_heard(record.connection, time, record.sent);
        notes.keep(record.then(time, PacketEvent::Deliver, Place::Sender).since(record.sent));
    }

    /// A flow's receiver has just answered, and its sender has just been told. Nothing of the answer is on any
    /// line; the receiver knows what it has said.
    fn note_answer_at_once(&mut self, flow: u32, order: u64) {
        let Some(notes) = self.notes.as_mut().filter(|notes| notes.follows_packets()) else {
            return;
        };
        let state = &self.flows[flow as usize];
        let Source::Window(ends) = &state.source else {
            debug_assert!(false, "flow {flow} has answered, and has no receiver");
            return;
        };
        let Some(index) = notes.connections.in_place(flow) else { return };
        let group = &self.groups[state.group as usize];
        let sent = self.now - group.route.after_receipt;
        let heard = self.now - group.route.first_access;
        let answer = ends.receiver.acknowledgement();
        let record = PacketRecord {
            size: group.acknowledgement_size,
            ..answer_record(notes, index, &answer, sent)
        };
        let mut sending = record.then(sent, PacketEvent::Send, Place::Receiver);
        let mut hearing = record.then(heard, PacketEvent::Deliver, Place::Sender).since(sent);
        (sending.order, hearing.order) = (order, order + 1);
        notes.file(sending);
        notes.file(hearing);
    }

    /// A packet reaches its receiver now. It keeps when it was sent, but no more as which of its flow's.
    fn note_arrival(&mut self, packet: &mut Packet) {
        if let Some(mut record) = self.record_of(packet)
            && let Some(notes) = &mut self.notes
        {
            let connection = notes.connections.get(record.connection);
            let time = self.now - connection.after_receipt;
            record = record.then(time, PacketEvent::Deliver, Place::Receiver);
            notes.keep(record.since(record.sent));
        }
        self.note_delay(packet);
        packet.sent = packet.stamp().sent();
    }

    /// Note of an arriving packet for the books of delays.
    fn note_delay(&mut self, packet: &Packet) {
        let state = &self.flows[packet.flow() as usize];
        let number = match state.source {
            Source::Window(_) if packet.sequence() == 0 => return,
            Source::Window(_) => (packet.stamp().number(), NUMBER),
            _ => (packet.sequence(), u32::MAX),
        };
        let group = &self.groups[state.group as usize];
        let route = &group.route;
        if let Some(notes) = &mut self.notes
            && let Some(delays) = &mut notes.delays
        {
            let sent = packet.stamp().sent();
            let delay = self.now - route.after_receipt + route.first_access - sent;
            delays.on_arrived(packet.flow(), group.number, number, delay);
        }
    }

    /// A data packet is dropped by a queue or lost on a wire.
    #[cold]
    pub(super) fn note_loss(&mut self, packet: &Packet) {
        let flow = &self.flows[packet.flow() as usize];
        let opens = matches!(flow.source, Source::Window(_)) && packet.sequence() == 0;
        if let Some(notes) = &mut self.notes
            && let Some(delays) = &mut notes.delays
            && !opens
        {
            delays.on_lost(packet.flow(), self.groups[flow.group as usize].number);
        }
    }

    /// Part of [`Simulation::send`] where notes are taken, after so many of the flow's packets have left
    /// the network.
    #[cold]
    #[inline(never)]
    pub(super) fn send_noted(&mut self, number: u32, gone: u32) {
        let now = self.now;
        let flow = &mut self.flows[number as usize];
        flow.in_flight -= gone;
        let laid = flow.group as usize;
        let first_link = self.groups[laid].route.forward[0].link as usize;
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "flow {number} may send, and has no sender");
            return;
        };
        if let Some(samples) = &mut self.monitor
            && let Some(round_trip) = connection.sender.take_last_round_trip()
        {
            samples.push((number, round_trip));
        }
        while let Some(packet) = self.next_packet(number) {
            self.note_sending(&packet);
            let flow = &mut self.flows[number as usize];
            flow.in_flight += 1;
            if let Some(access) = &self.groups[laid].access
                && !self.access.pass(now, packet, access)
            {
                continue;
            }
            self.meet_queue_noted(packet, false);
        }
        let Source::Window(connection) = &self.flows[number as usize].source else {
            debug_assert!(false, "flow {number} has lost its sender while it sent");
            return;
        };
        let sender = &connection.sender;
        let deadline = sender.deadline();
        let (finished, release) = (sender.finished(), sender.release());
        self.arm_sender(number, deadline, release);
        self.forget_dropped(first_link);
        if self.groups[laid].access.is_some() {
            self.calendar.set(self.access_source(), self.access.next_time());
        }
        self.note_window(number);
        if finished {
            self.on_finished(number);
        }
    }

    /// The next packet that a sender sends now.
    fn next_packet(&mut self, number: u32) -> Option<Packet> {
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "flow {number} may send, and has no sender");
            return None;
        };
        let before = connection.sender.counters().retransmissions;
        let mut segment = connection.sender.next_segment_by_call(self.now)?;
        let again = connection.sender.counters().retransmissions > before;
        if let Some(notes) = &mut self.notes
            && let Some(delays) = &mut notes.delays
            && segment.sequence > 0
        {
            let place = delays.on_sent(number, group.number);
            segment.sent = Stamp::numbered(segment.sent, place);
        }
        let size = group.size_of(segment.sequence, (flow.last_segment, flow.last_size));
        let packet = Packet::data(number, size, &segment).coloured(group.colour);
        Some(if again { packet.sent_again() } else { packet })
    }

    /// A packet arrives at the queue of a link, and what that has dropped is forgotten.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_noted(&mut self, packet: Packet, back: bool) {
        let link = self.hop_of(&packet, back).0;
        self.meet_queue_noted(packet, back);
        self.forget_dropped(link);
    }

    /// The number of the link that a packet comes to, and that of the delay line behind it.
    fn hop_of(&self, packet: &Packet, back: bool) -> (usize, u32) {
        let group = self.flows[packet.flow() as usize].group as usize;
        let route = &self.groups[group].route;
        let path = if back { &route.backward } else { &route.forward };
        let hop = path[packet.hop() as usize];
        (hop.link as usize, hop.line)
    }

    /// A packet arrives at the queue of a link.
    fn meet_queue_noted(&mut self, mut packet: Packet, back: bool) {
        let (link, line) = self.hop_of(&packet, back);
        let (now, place) = (self.now, Place::Link(link as u32));
        let record = self.record_of(&packet).map(|it| it.then(now, PacketEvent::Arrive, place));
        self.keep(record);
        match self.scripted(&packet, link) {
            None => {}
            Some(Action::Drop) => {
                self.keep(record.map(|record| PacketRecord {
                    event: PacketEvent::Drop,
                    reason: Reason::Scripted,
                    ..record
                }));
                self.forget(&packet);
                return;
            }
            Some(Action::Mark) if packet.ecn().is_capable() => {
                packet.mark();
                self.keep(record.map(|record| PacketRecord {
                    reason: Reason::Scripted,
                    ..marked(record, PacketEvent::Mark)
                }));
            }
            Some(Action::Mark) => {}
        }
        let record = record.map(|record| PacketRecord { ecn: packet.ecn() as u8, ..record });
        match &mut self.links[link] {
            AnyLink::AtArrival(_) => {
                let before = self.links[link].verdicts();
                self.offer_by_call(packet, back);
                if let Some(record) = record {
                    self.note_verdict(link, record, before);
                }
            }
            AnyLink::AtDeparture(state) => {
                let (lines, calendar) = (&mut self.lines, &mut self.calendar);
                packet.next_hop();
                let (times, rest) = packet.halves();
                if wait_for_turn_by_call(state, now, times, rest, line, lines, calendar) {
                    self.keep(record.map(|record| marked(record, PacketEvent::Mark)));
                }
            }
        }
    }

    /// As [`Simulation::offer`], which should be part of those who have no notes taken.
    #[inline(never)]
    fn offer_by_call(&mut self, packet: Packet, back: bool) {
        self.offer(packet, back);
    }

    /// Script of the scenario for a packet that comes to a link.
    fn scripted(&mut self, packet: &Packet, link: usize) -> Option<Action> {
        let notes = self.notes.as_mut()?;
        let connection = notes.connections.in_place(packet.flow())?;
        let state = notes.connections.get(connection);
        let acknowledgement = packet.is_acknowledgement();
        let segment = (state.has_sender && !acknowledgement).then_some(packet.sequence());
        notes.scripts.judge(&Passing {
            now: self.now,
            link: link as u32,
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

    /// Decision of a queue over a packet that has just arrived, from its books before and after.
    fn note_verdict(&mut self, link: usize, record: PacketRecord, before: [u64; 2]) {
        let after = self.links[link].verdicts();
        let [drops, marks] = std::array::from_fn(|index| after[index] > before[index]);
        let AnyLink::AtArrival(state) = &self.links[link] else {
            debug_assert!(false, "link {link} does not decide at once");
            return;
        };
        if drops {
            let (reason, words) = state.last_drop();
            self.keep_drop(record, reason, words);
            return;
        }
        let (start, lost) = state.last_accepted(self.now);
        let Some(notes) = &mut self.notes else { return };
        let mut record = record;
        if marks {
            record = marked(record, PacketEvent::Mark);
            notes.keep(record);
        }
        notes.queued[link].push_back(Queued { record, start, lost });
    }

    /// A discipline has dropped a packet, and has these words for what of it has.
    fn keep_drop(&mut self, record: PacketRecord, reason: DropReason, words: &'static str) {
        let Some(notes) = &mut self.notes else { return };
        let (reason, cause) = (reason.into(), notes.causes.number(words));
        notes.keep(PacketRecord { event: PacketEvent::Drop, reason, cause, ..record });
    }

    /// Packets that have left a link with turns, or were dropped there, since somebody looked.
    #[cold]
    pub(super) fn note_gone(&mut self, link: usize) {
        let AnyLink::AtDeparture(state) = &mut self.links[link] else {
            debug_assert!(false, "link {link} has no turns");
            return;
        };
        let gone = std::mem::take(state.gone());
        for each in &gone {
            self.note_one_gone(link, each);
        }
        // What was dropped is still to be forgotten.
        if let AnyLink::AtDeparture(state) = &mut self.links[link] {
            *state.gone() = gone;
        }
    }

    fn note_one_gone(&mut self, link: usize, gone: &Gone) {
        let (now, place) = (self.now, Place::Link(link as u32));
        let Some(record) = self.record_of(&gone.packet) else { return };
        let record = record.then(now, PacketEvent::Depart, place).since(gone.arrived);
        match gone.fate {
            Fate::Dropped(reason) => {
                let AnyLink::AtDeparture(state) = &self.links[link] else {
                    debug_assert!(false, "link {link} has no turns");
                    return;
                };
                let words = state.cause(reason);
                self.keep_drop(record, reason, words);
            }
            Fate::Lost => {
                self.keep(Some(PacketRecord { event: PacketEvent::Lose, since: now, ..record }));
            }
            Fate::Sent { marked: on_leaving } => {
                self.keep(Some(record));
                if on_leaving {
                    self.keep(Some(marked(record, PacketEvent::Mark)));
                }
            }
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
