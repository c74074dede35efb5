//! Packets on their way: through queues, to receivers, and the acknowledgements back.

use vermilion_tcp::{Segment, Sender};

use super::Simulation;
use super::notes::Notes;
use super::observer::{Observer, observed};
use super::turns::wait_for_turn;
use crate::access::AccessLinks;
use crate::acknowledgement_pool::AcknowledgementPool;
use crate::any_link::AnyLink;
use crate::calendar::{Calendar, NEVER};
use crate::delay_line::End;
use crate::delay_lines::DelayLines;
use crate::delay_lines::standing::{ANY, APART};
use crate::flow::{ANSWER, Connection, PACING, RECEIVER, SENDER, Source};
use crate::flow_delays::FlowDelays;
use crate::group::Group;
use crate::headers;
use crate::packet::{Half, NUMBER, Packet, Stamp};
use crate::route::Hop;
use crate::timers::{flow_of, timer_of};

impl Simulation {
    /// The packet at the head of a line arrives, or something later is next.
    #[inline(always)] // for nearly every packet of most networks
    pub(super) fn on_source<const SOME_WAIT: bool, O: Observer>(&mut self, source: usize) {
        if source < self.lines.sources() {
            self.on_line::<APART, SOME_WAIT, O>(source);
        } else {
            self.on_later_source::<O>(source);
        }
    }

    /// The packet at the head of a line arrives, or the first of all that stand together.
    ///
    /// Most of what arrives there lets a sender send. Its way has no call in it that could be
    /// avoided: all of them together were a tenth of a run.
    #[inline(always)] // as above
    pub(super) fn on_line<const STANDING: u8, const SOME_WAIT: bool, O: Observer>(
        &mut self,
        source: usize,
    ) {
        let Some((end, packet)) = self.take_from_line::<STANDING>(source) else { return };
        // One after the other: a table to jump by takes longer where it is always the same.
        if matches!(end, End::ReceiverAndBack) {
            self.tell_and_send::<STANDING, false, O>(packet);
        } else if SOME_WAIT && matches!(end, End::WaitingReceiverAndBack) {
            self.tell_and_send::<STANDING, true, O>(packet);
        } else {
            let (times, rest) = packet.halves();
            self.on_end::<O>(end, times, rest);
        }
    }

    #[inline(always)] // as above
    pub(super) fn take_from_line<const STANDING: u8>(
        &mut self,
        source: usize,
    ) -> Option<(End, Packet)> {
        self.lines.pop::<STANDING>(source, &mut self.calendar)
    }

    /// A packet has come to the end of its line.
    #[inline(never)] // for the rarer ends
    pub(super) fn on_end<O: Observer>(&mut self, end: End, times: Half, rest: Half) {
        let packet = Packet::of_halves(times, rest);
        match end {
            End::ReceiverAndBack => self.tell_and_send::<ANY, false, O>(packet),
            End::WaitingReceiverAndBack => self.tell_and_send::<ANY, true, O>(packet),
            End::Link => self.offer::<O>(packet, false),
            End::ReturnLink => self.offer::<O>(packet, true),
            End::Receiver => self.on_data::<O>(packet),
            End::Sender => self.on_acknowledgement::<O>(&packet),
            End::Sink => self.on_sink::<O>(packet),
        }
    }

    /// One of the sources after the lines is next; `source`: counted from the first line.
    #[inline(never)]
    pub(super) fn on_later_source<O: Observer>(&mut self, source: usize) {
        match source - self.lines.sources() {
            0 => self.on_timer::<O>(),
            turn if turn <= self.turns.len() => self.on_turn(turn - 1),
            access if access == self.turns.len() + 1 => self.on_access::<O>(),
            air => self.on_air(air - self.turns.len() - 2),
        }
    }

    /// Data reaches a receiver whose acknowledgement the sender has at once, and sends what it may then. A receiver that
    /// may wait, if it `WAITS`, has got the data as much earlier as its acknowledgement takes.
    #[inline(always)] // for nearly every packet of most networks
    fn tell_and_send<const STANDING: u8, const WAITS: bool, O: Observer>(
        &mut self,
        mut packet: Packet,
    ) {
        let (now, number) = (self.now, packet.flow());
        if O::NOTES {
            headers::receive(&packet);
        }
        let received = if WAITS { now - self.after_receipt(number) } else { now };
        if WAITS && O::DELAYS && received < self.delays.counted_until {
            packet.sent = packet.stamp().sent();
        } else {
            self.observe_receipt::<O>(&mut packet);
        }
        let flow = &mut self.flows[number as usize];
        let Source::Window(Connection { sender, receiver }) = &mut flow.source else {
            debug_assert!(false, "data reaches flow {number}, which has no receiver");
            return;
        };
        let may_be_plain = !WAITS && !O::NOTES && !self.sends_by_call;
        if may_be_plain && sender.hears_plainly(now, receiver, packet.sequence()) {
            if receiver.next_expected() >= flow.awaited {
                let received = now - self.after_receipt(number);
                return self.complete_and_send::<O>(number, received, now);
            }
            let Some((sequence, has_more)) = sender.next_plainly() else {
                return self.send_after::<O>(number, 1);
            };
            let last = (flow.last_segment, flow.last_size);
            let met = around!(self, now)
                .send::<STANDING, true, O>(sender, last, flow.group, number, sequence);
            // As a rule one packet has come and one has gone.
            flow.in_flight -= u32::from(matches!(met, Met::Lost));
            if has_more {
                return self.send_after::<O>(number, 0);
            }
            let (deadline, group) = (sender.deadline_plainly(), flow.group);
            self.arm(timer_of(number, SENDER), deadline);
            if matches!(met, Met::Waiting) {
                self.end_sending(group);
            }
        } else if WAITS {
            self.tell_and_send_at_length::<STANDING, WAITS, O>(number, received, packet);
        } else {
            let (times, rest) = packet.halves();
            self.tell_and_send_by_call::<STANDING, O>(times, rest);
        }
    }

    /// Nanoseconds from the arrival of data at the receiver of flow `number` to that of the acknowledgement.
    #[inline(always)] // as above
    fn after_receipt(&self, number: u32) -> u64 {
        self.groups[self.flows[number as usize].group as usize].route.after_receipt
    }

    /// Data of a flow completes what is awaited of it, when it is `received`, which is `known` then.
    fn complete_and_send<O: Observer>(&mut self, number: u32, received: u64, known: u64) {
        self.on_complete(number, received, known);
        self.send_after::<O>(number, 1);
    }

    /// As [`Simulation::tell_and_send`] of what cannot be done plainly, where no receiver waits.
    #[inline(never)] // what most packets do should not keep anything ready for it
    fn tell_and_send_by_call<const STANDING: u8, O: Observer>(&mut self, times: Half, rest: Half) {
        let packet = Packet::of_halves(times, rest);
        self.tell_and_send_at_length::<STANDING, false, O>(packet.flow(), self.now, packet);
    }

    /// As [`Simulation::tell_and_send`] of data of flow `number` that has been observed.
    #[inline(always)] // for nearly every packet of senders that cannot be plain
    fn tell_and_send_at_length<const STANDING: u8, const WAITS: bool, O: Observer>(
        &mut self,
        number: u32,
        received: u64,
        packet: Packet,
    ) {
        let now = self.now;
        let flow = &mut self.flows[number as usize];
        let Source::Window(connection) = &mut flow.source else { return };
        let Connection { sender, receiver } = connection;
        let Some(answer) = receiver.on_segment(received, &packet.to_segment(), sender.clock())
        else {
            let (expected, deadline) = (receiver.next_expected(), receiver.deadline());
            return self.on_held_back(number, received, expected, deadline);
        };
        let complete = answer.next_expected >= flow.awaited;
        if O::NOTES
            && let Some(header) = headers::return_at_once(number)
        {
            sender.read_header(header);
        }
        sender.on_acknowledgement(now, &answer);
        if O::NOTES
            && let Some(notes) = &mut self.notes
        {
            let group = &self.groups[flow.group as usize];
            let size = group.acknowledgement_size;
            notes.keep_answer_at_once(now, number, connection, &group.route, size);
        }
        if complete {
            // What waits is complete when it is, and other data when the sender hears of it.
            let known = if WAITS { received } else { now };
            return self.complete_and_send::<O>(number, now - self.after_receipt(number), known);
        }
        if self.sends_by_call || O::NOTES {
            // Nearly all segments of paced senders leave when a timer lets them. What sends them should not stand
            // twice in a processor's cache of instructions, which is full with such senders.
            return self.send_after::<O>(number, 1);
        }
        let sender = &mut connection.sender;
        let last = (flow.last_segment, flow.last_size);
        let mut met = Met::OnItsWay;
        flow.in_flight -= 1;
        let mut next = sender.next_sequence(now);
        while let Some(sequence) = next {
            met = around!(self, now)
                .send::<STANDING, false, O>(sender, last, flow.group, number, sequence);
            flow.in_flight += u32::from(!matches!(met, Met::Lost));
            next = sender.next_sequence(now);
            // Where each is acknowledged, it is mostly one segment. A loop would keep ready what it asks for.
            if !WAITS && next.is_some() {
                return self.send_further::<O>(number, next);
            }
        }
        let (deadline, finished, group) = (sender.deadline(), sender.finished(), flow.group);
        self.arm(timer_of(number, SENDER), deadline);
        if matches!(met, Met::Waiting) {
            self.end_sending(group);
        }
        if finished {
            self.on_finished(number);
        }
    }

    /// Data has reached a receiver at `received`, which waits for more before it acknowledges, until `deadline` (both
    /// in nanoseconds). It expects segment `expected` next.
    #[inline(never)] // much of it is rare
    fn on_held_back(&mut self, number: u32, received: u64, expected: u32, deadline: u64) {
        let flow = &mut self.flows[number as usize];
        flow.in_flight -= 1;
        let complete = expected >= flow.awaited;
        let after_receipt = self.groups[flow.group as usize].route.after_receipt;
        if complete {
            self.on_complete(number, received, received);
        }
        // Without a way back it is the receiver's own.
        let kind = if after_receipt > 0 { ANSWER } else { RECEIVER };
        self.arm(timer_of(number, kind), deadline.saturating_add(after_receipt));
    }

    /// A packet reaches its receiver. It keeps when it was sent, but no more as which of its flow's.
    #[inline(always)] // as above
    fn observe_receipt<O: Observer>(&mut self, packet: &mut Packet) {
        if O::NOTES
            && let Some(notes) = &mut self.notes
        {
            notes.keep_receipt(self.now, packet, &self.answers);
        }
        if O::DELAYS {
            let stamp = packet.stamp();
            packet.sent = stamp.sent();
            // The segment that opens a connection is no data.
            if packet.sequence() > 0 {
                let (number, after) = ((stamp.number(), NUMBER), self.now - packet.sent);
                self.delays.on_arrived(packet.flow(), number, after);
            }
        }
    }

    fn on_data<O: Observer>(&mut self, mut packet: Packet) {
        if O::NOTES {
            headers::receive(&packet);
        }
        self.observe_receipt::<O>(&mut packet);
        let number = packet.flow();
        let flow = &mut self.flows[number as usize];
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "data reaches flow {number}, which has no receiver");
            return;
        };
        let answer = connection
            .receiver
            .on_segment(self.now, &packet.to_segment(), connection.sender.clock())
            .map(|answer| self.answers.keep(&answer));
        let deadline = connection.receiver.deadline();
        let complete = connection.receiver.next_expected() >= flow.awaited;
        let group = flow.group;
        // An answer takes the place of what it answers in the network.
        flow.in_flight -= u32::from(answer.is_none());
        if complete {
            self.on_complete(number, self.now, self.now);
        }
        match answer {
            // Who has answered waits for nothing.
            Some(answer) => self.send_acknowledgement(number, group, answer),
            None => self.arm(timer_of(number, RECEIVER), deadline),
        }
    }

    /// An acknowledgement that is kept under this number begins its way; `group` is that of its flow.
    #[inline(never)] // from one place, so that it is put on its line without a call
    pub(super) fn send_acknowledgement(&mut self, flow: u32, group: u32, number: u32) {
        let group = &self.groups[group as usize];
        let (size, told) = (group.acknowledgement_size, self.answers.look_at(number).get());
        let packet = Packet::acknowledgement(flow, size, number, self.now, &told);
        let packet = packet.of_class(group.class);
        let line = group.route.answers.line().expect("laid for separate receivers");
        if let Some(notes) = &mut self.notes {
            notes.keep_answer(&packet, &self.answers);
            headers::return_by(flow, number);
        }
        self.lines.push::<ANY>(line, packet, self.now, &mut self.calendar);
    }

    /// An acknowledgement reaches its sender.
    fn on_acknowledgement<O: Observer>(&mut self, packet: &Packet) {
        if O::NOTES
            && let Some(notes) = &mut self.notes
        {
            notes.keep_hearing(self.now, packet, &self.answers);
        }
        let answer = self.answers.take(packet.sequence());
        let flow = &mut self.flows[packet.flow() as usize];
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "an answer reaches flow {}, which has no sender", packet.flow());
            return;
        };
        if O::NOTES
            && let Some(header) = headers::take_returned(packet.sequence())
        {
            connection.sender.read_header(header);
        }
        connection.sender.on_acknowledgement(self.now, &answer);
        self.send_after::<O>(packet.flow(), 1);
    }

    fn on_sink<O: Observer>(&mut self, packet: Packet) {
        if O::NOTES
            && let Some(notes) = &mut self.notes
        {
            notes.keep_receipt(self.now, &packet, &self.answers);
        }
        if O::DELAYS {
            let (number, after) = ((packet.sequence(), u32::MAX), self.now - packet.sent);
            self.delays.on_arrived(packet.flow(), number, after);
        }
        if !self.shapers.is_empty() {
            self.note_probe_end(&packet);
        }
        let flow = &mut self.flows[packet.flow() as usize];
        let Source::OpenLoop(source) = &mut flow.source else {
            debug_assert!(false, "flow {} has a receiver, and a sink", packet.flow());
            return;
        };
        flow.in_flight -= 1;
        source.on_arrived(self.now, packet.sent, packet.size());
    }

    /// Lets a sender send all it may, and looks after its timer and its end.
    pub(super) fn send(&mut self, number: u32) {
        observed!(self.send_after(number, 0));
    }

    /// As [`Simulation::send`], after so many of the flow's packets have left the network.
    #[inline(never)]
    fn send_after<O: Observer>(&mut self, number: u32, gone: u32) {
        let flow = &mut self.flows[number as usize];
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "flow {number} may send, and has no sender");
            return;
        };
        flow.in_flight -= gone;
        if let Some(samples) = &mut self.monitor
            // A sender is also asked to send when its pacing lets it, and then nothing has been timed.
            && let Some(round_trip) = connection.sender.take_last_round_trip()
        {
            samples.push((number, round_trip));
        }
        let next = connection.sender.next_sequence(self.now);
        self.send_from::<O>(number, next);
    }

    /// A sender that has sent a segment sends all else that it may, from segment `next` on.
    #[inline(never)]
    fn send_further<O: Observer>(&mut self, number: u32, next: Option<u32>) {
        self.send_from::<O>(number, next);
    }

    /// A sender sends all it may, from segment `next` on, if it has named one.
    #[inline(always)] // for every packet of those that pace
    fn send_from<O: Observer>(&mut self, number: u32, mut next: Option<u32>) {
        let now = self.now;
        let flow = &mut self.flows[number as usize];
        let Source::Window(Connection { sender, .. }) = &mut flow.source else { return };
        let (group, last) = (flow.group, (flow.last_segment, flow.last_size));
        let mut around = around!(self, now);
        while let Some(sequence) = next {
            let met = around.send::<ANY, false, O>(sender, last, group, number, sequence);
            flow.in_flight += u32::from(!matches!(met, Met::Lost));
            next = sender.next_sequence(now);
        }
        let (deadline, finished, release) =
            (sender.deadline(), sender.finished(), sender.release());
        self.arm_sender(number, deadline, release);
        self.end_sending(group);
        if O::NOTES {
            self.note_window(number);
        }
        if finished {
            self.on_finished(number);
        }
    }

    /// A sender of group `group` has sent what it may, and some of it may wait: for the link of its host, or in a queue
    /// for its turn.
    fn end_sending(&mut self, group: u32) {
        let first = self.groups[group as usize].route.first.link;
        self.forget_dropped(first as usize);
        if self.access.len() > 0 {
            self.calendar.set(self.access_source(), self.access.next_time());
        }
    }

    /// Looks after the timers of a sender that has sent what it may.
    #[inline(always)] // for every acknowledgement
    pub(super) fn arm_sender(&mut self, number: u32, deadline: u64, release: u64) {
        self.arm(timer_of(number, SENDER), deadline);
        if release > 0 {
            self.arm(timer_of(number, PACING), release);
        }
    }

    /// A packet arrives at the queue of a link on its way (back, if it is an acknowledgement).
    fn offer<O: Observer>(&mut self, packet: Packet, back: bool) {
        if !self.shapers.is_empty() && !back && packet.hop() == 1 {
            self.note_passage(&packet);
        }
        let hop = self.ways.hop(packet.flow(), back, packet.hop().into());
        let link = &mut self.links[hop.link as usize];
        let lines = (&mut self.lines, &mut self.calendar, &mut self.notes, &self.answers);
        match meet::<ANY, O>(link, self.now, packet, hop, false, lines) {
            Met::OnItsWay => {}
            Met::Waiting => self.forget_dropped(hop.link as usize),
            Met::Lost => self.forget(&packet),
        }
    }

    /// A packet has been dropped or lost on its way.
    #[inline]
    pub(super) fn forget(&mut self, packet: &Packet) {
        if packet.is_acknowledgement() {
            self.answers.take(packet.sequence());
        } else {
            self.count_loss(packet);
            if self.notes.is_some() {
                headers::forget(packet);
            }
        }
        self.on_lost(packet.flow());
    }

    /// A packet of so many bytes of an open-loop flow begins its way; `group` is that of the flow.
    #[inline(always)] // for every packet of such a flow
    fn send_open_loop<O: Observer>(&mut self, number: u32, group: u32, size: u32) {
        if !self.shapers.is_empty() {
            self.note_probe(number);
        }
        let group = &self.groups[group as usize];
        let place = if O::DELAYS { self.delays.on_sent(number) } else { 0 };
        let segment = Segment { sequence: place, sent: self.now, ..Segment::default() };
        let packet = Packet::data(number, size, &segment).of_class(group.class);
        if O::NOTES
            && let Some(notes) = &mut self.notes
        {
            notes.keep_sending(&packet, &self.answers);
        }
        if let Some(access) = &group.access
            && !self.access.pass(self.now, packet, access)
        {
            self.calendar.set(self.access_source(), self.access.next_time());
            return;
        }
        self.offer::<O>(packet, false);
    }

    /// A packet that waited for its sender's access link arrives at its first queue.
    fn on_access<O: Observer>(&mut self) {
        // At one instant turns come before.
        self.take_all_turns(self.now + 1);
        let Some(packet) = self.access.pop() else {
            debug_assert!(false, "no packet waits for its access link");
            return;
        };
        self.calendar.set(self.access_source(), self.access.next_time());
        self.offer::<O>(packet, false);
    }

    #[inline(always)] // for every acknowledgement
    pub(super) fn arm(&mut self, timer: u32, deadline: u64) {
        if self.timers.arm(timer, deadline) {
            self.calendar.set(self.timers_source(), deadline);
        }
    }

    /// Takes the first entry out of the timers: which one expires, if one does.
    #[inline(always)] // timers of sources that pace come up for every packet
    pub(super) fn expire_timer(&mut self) -> Option<u32> {
        let (flows, groups) = (&self.flows, &self.groups);
        self.timers.expire(self.now, |timer| {
            let (number, end) = flow_of(timer);
            flows[number as usize].deadline(end, groups)
        })
    }

    /// The first entry among the timers comes up.
    pub(super) fn on_timer<O: Observer>(&mut self) {
        let expired = self.expire_timer();
        if let Some(timer) = expired
            && let (number, _) = flow_of(timer)
            && let flow = &mut self.flows[number as usize]
            && let Source::OpenLoop(source) = &mut flow.source
        {
            let size = source.send();
            // Before the calendar is told of the timers, so that it is told once.
            self.timers.arm(timer, source.next_time());
            flow.in_flight += 1;
            let group = flow.group;
            self.calendar.set(self.timers_source(), self.timers.next_time());
            return self.send_open_loop::<O>(number, group, size);
        }
        self.calendar.set(self.timers_source(), self.timers.next_time());
        let Some(timer) = expired else { return };
        let (number, end) = flow_of(timer);
        match &mut self.flows[number as usize].source {
            Source::OpenLoop(_) => {} // as above
            Source::Transfers(source) => {
                let transfer = source.take();
                let next = source.next_time();
                self.arm(timer, next);
                self.begin_transfer(number, &transfer);
            }
            Source::Window(_) if end == PACING => self.send_after::<O>(number, 0),
            Source::Window(connection) if end == SENDER => {
                connection.sender.on_timer(self.now);
                self.send_after::<O>(number, 0);
            }
            Source::Window(_) => self.on_waited(number),
        }
    }
}

/// A network without its flows, as packets meet it at `now`.
struct Around<'a> {
    now: u64,
    groups: &'a [Group],
    links: &'a mut [AnyLink],
    access: &'a mut AccessLinks,
    lines: &'a mut DelayLines,
    calendar: &'a mut Calendar,
    answers: &'a AcknowledgementPool,
    delays: &'a mut FlowDelays,
    notes: &'a mut Option<Box<Notes>>,
}

/// That of a simulation whose flows are borrowed.
macro_rules! around {
    ($it:ident, $now:ident) => {
        Around {
            now: $now,
            groups: &$it.groups,
            links: &mut $it.links,
            access: &mut $it.access,
            lines: &mut $it.lines,
            calendar: &mut $it.calendar,
            answers: &$it.answers,
            delays: &mut $it.delays,
            notes: &mut $it.notes,
        }
    };
}
use around;

impl Around<'_> {
    /// The sender of flow `number`, of group `group`, sends segment `sequence`, which it has named; `last`: its last one,
    /// and the size of that.
    #[inline(always)] // for every packet, which should not be written anywhere but to its line
    fn send<const STANDING: u8, const PLAIN: bool, O: Observer>(
        &mut self,
        sender: &mut Sender,
        last: (u32, u32),
        group: u32,
        number: u32,
        sequence: u32,
    ) -> Met {
        let group = &self.groups[group as usize];
        let hop = group.route.first;
        let before = if O::NOTES { sender.counters().retransmissions } else { 0 };
        let mut segment = if PLAIN {
            sender.send_plainly(sequence, self.now)
        } else {
            sender.send(sequence, self.now)
        };
        // A plain segment is never the one that opens a connection.
        let is_data = PLAIN || sequence > 0;
        if O::DELAYS && is_data {
            segment.sent = Stamp::numbered(self.now, self.delays.on_sent(number));
        }
        let size = group.size_of(sequence, last);
        let mut packet = Packet::data(number, size, &segment).of_class(group.class);
        if O::NOTES
            && let Some(notes) = &mut *self.notes
        {
            if sender.counters().retransmissions > before {
                packet = packet.sent_again();
            }
            notes.keep_sending(&packet, self.answers);
            if let Some(header) = sender.take_header() {
                headers::write(&packet, header);
            }
        }
        if let Some(access) = &group.access
            && !self.access.pass(self.now, packet, access)
        {
            return Met::Waiting;
        }
        let link = &mut self.links[hop.link as usize];
        let surroundings = (&mut *self.lines, &mut *self.calendar, &mut *self.notes, self.answers);
        let met = meet::<STANDING, O>(link, self.now, packet, hop, true, surroundings);
        if O::DELAYS && is_data && matches!(met, Met::Lost) {
            self.delays.on_lost(number);
        }
        if O::NOTES && matches!(met, Met::Lost) {
            headers::forget(&packet);
        }
        met
    }
}

/// Outcome of a packet's arrival at a queue.
enum Met {
    /// It is on the line behind the link, already.
    OnItsWay,
    /// It waits for its turn, or has just been dropped for another.
    Waiting,
    /// It has been dropped, or will be lost on the wire.
    Lost,
}

/// A packet arrives at the queue of a link at `now`, its sender's if it `is_first`.
#[inline(always)] // as above
fn meet<const STANDING: u8, O: Observer>(
    link: &mut AnyLink,
    now: u64,
    mut packet: Packet,
    hop: Hop,
    is_first: bool,
    (lines, calendar, notes, answers): (
        &mut DelayLines,
        &mut Calendar,
        &mut Option<Box<Notes>>,
        &AcknowledgementPool,
    ),
) -> Met {
    if O::NOTES
        && let Some(notes) = notes
        && notes.keep_arrival(now, &mut packet, hop.link, answers)
    {
        return Met::Lost;
    }
    match link {
        AnyLink::AtArrival(link) => {
            let before = if O::NOTES { link.verdicts() } else { [0; 2] };
            let (times, rest) = packet.halves();
            let (sent, rest) = if is_first {
                link.offer(now, rest, hop.line)
            } else {
                link.offer_by_call(now, rest, hop.line)
            };
            if O::NOTES
                && let Some(notes) = notes
            {
                notes.keep_verdict(now, &packet, (hop.link, link), before, answers);
            }
            if sent == NEVER {
                return Met::Lost;
            }
            packet = Packet::of_halves(times, rest);
            packet.next_hop();
            lines.push::<STANDING>(hop.line, packet, sent + link.delay(), calendar);
            Met::OnItsWay
        }
        AnyLink::AtDeparture(link) => {
            packet.next_hop();
            let (times, rest) = packet.halves();
            let marked = wait_for_turn(link, now, times, rest, hop.line, lines, calendar);
            if O::NOTES
                && marked
                && let Some(notes) = notes
            {
                notes.keep_mark(now, &packet, hop.link, answers);
            }
            Met::Waiting
        }
    }
}
