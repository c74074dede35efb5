//! Packets on their way: through queues, to receivers, and the acknowledgements back.

use vermilion_tcp::{Segment, Sender};

use super::Simulation;
use super::notes::Notes;
use super::observer::{Observer, observed};
use super::turns::wait_for_turn;
use crate::acknowledgement_pool::AcknowledgementPool;
use crate::any_link::AnyLink;
use crate::calendar::{Calendar, NEVER};
use crate::delay_line::End;
use crate::delay_lines::DelayLines;
use crate::delay_lines::standing::{ANY, APART};
use crate::flow::{ANSWER, PACING, RECEIVER, SENDER, Source};
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
        let heard = if matches!(end, End::ReceiverAndBack) {
            self.tell_and_hear::<O>(packet)
        } else if SOME_WAIT && matches!(end, End::WaitingReceiverAndBack) {
            self.tell_waiting_and_hear::<O>(packet)
        } else {
            let (times, rest) = packet.halves();
            return self.on_end::<O>(end, times, rest);
        };
        if heard {
            self.send_answering::<STANDING, O>(packet.flow());
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
            End::ReceiverAndBack => {
                if self.tell_and_hear::<O>(packet) {
                    self.send_after::<O>(packet.flow(), 1);
                }
            }
            End::WaitingReceiverAndBack => {
                if self.tell_waiting_and_hear::<O>(packet) {
                    self.send_after::<O>(packet.flow(), 1);
                }
            }
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
            _ => self.on_access::<O>(),
        }
    }

    /// Data reaches a receiver whose acknowledgement the sender has at once. Whether it has one.
    #[inline(always)] // for nearly every packet of most networks
    fn tell_and_hear<O: Observer>(&mut self, mut packet: Packet) -> bool {
        let now = self.now;
        self.observe_receipt::<O>(&mut packet);
        let flow = &mut self.flows[packet.flow() as usize];
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "data reaches flow {}, which has no receiver", packet.flow());
            return false;
        };
        let clock = connection.sender.clock();
        let Some(answer) = connection.receiver.on_segment(now, &packet.to_segment(), clock) else {
            flow.in_flight -= 1;
            return false;
        };
        let complete = answer.next_expected >= flow.awaited;
        connection.sender.on_acknowledgement(now, &answer);
        if O::NOTES
            && let Some(notes) = &mut self.notes
        {
            let group = &self.groups[flow.group as usize];
            let size = group.acknowledgement_size;
            notes.keep_answer_at_once(now, packet.flow(), connection, &group.route, size);
        }
        if complete {
            let received = now - self.groups[flow.group as usize].route.after_receipt;
            self.on_complete(packet.flow(), received, now);
        }
        true
    }

    /// Data has reached a receiver that may wait, when its acknowledgement would be at the sender. Whether it
    /// is there.
    #[inline(always)] // for nearly every packet of senders as Linux'
    fn tell_waiting_and_hear<O: Observer>(&mut self, mut packet: Packet) -> bool {
        let (now, number) = (self.now, packet.flow());
        let group = &self.groups[self.flows[number as usize].group as usize];
        let after_receipt = group.route.after_receipt;
        let received = now - after_receipt;
        if O::DELAYS && received < self.delays.counted_until {
            packet.sent = packet.stamp().sent();
        } else {
            self.observe_receipt::<O>(&mut packet);
        }
        let flow = &mut self.flows[number as usize];
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "data reaches flow {number}, which has no receiver");
            return false;
        };
        let clock = connection.sender.clock();
        let answer = connection.receiver.on_segment(received, &packet.to_segment(), clock);
        let Some(answer) = answer else {
            flow.in_flight -= 1;
            let complete = connection.receiver.next_expected() >= flow.awaited;
            let deadline = connection.receiver.deadline().saturating_add(after_receipt);
            if complete {
                self.on_complete(number, received, received);
            }
            // Without a way back it is the receiver's own.
            let kind = if after_receipt > 0 { ANSWER } else { RECEIVER };
            self.arm(timer_of(number, kind), deadline);
            return false;
        };
        let complete = answer.next_expected >= flow.awaited;
        connection.sender.on_acknowledgement(now, &answer);
        if complete {
            self.on_complete(number, received, received);
        }
        true
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

    /// A sender that has heard of a packet which has left the network sends what it may.
    #[inline(always)] // as above
    fn send_answering<const STANDING: u8, O: Observer>(&mut self, number: u32) {
        if self.some_pace {
            // Nearly all segments of paced senders leave when a timer lets them. What sends them should not stand
            // twice in a processor's cache of instructions, which is full with such senders.
            return self.send_after::<O>(number, 1);
        }
        self.send_segments::<STANDING, O>(number, 1);
    }

    fn on_data<O: Observer>(&mut self, mut packet: Packet) {
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
        let packet = Packet::acknowledgement(flow, group.acknowledgement_size, number, self.now)
            .coloured(group.colour);
        let line = group.route.answers.line().expect("laid for separate receivers");
        if let Some(notes) = &mut self.notes {
            notes.keep_answer(&packet, &self.answers);
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
        self.send_segments::<ANY, O>(number, gone);
    }

    #[inline(always)] // as above
    fn send_segments<const STANDING: u8, O: Observer>(&mut self, number: u32, gone: u32) {
        let now = self.now;
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let hop = group.route.first;
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "flow {number} may send, and has no sender");
            return;
        };
        let sender = &mut connection.sender;
        if let Some(samples) = &mut self.monitor
            // A sender is also asked to send when its pacing lets it, and then nothing has been timed.
            && let Some(round_trip) = sender.take_last_round_trip()
        {
            samples.push((number, round_trip));
        }
        let link = &mut self.links[hop.link as usize];
        flow.in_flight -= gone;
        let sent_again = |sender: &Sender| sender.counters().retransmissions;
        loop {
            let before = if O::NOTES { sent_again(sender) } else { 0 };
            let Some(mut segment) = sender.next_segment(now) else { break };
            if O::DELAYS && segment.sequence > 0 {
                segment.sent = Stamp::numbered(now, self.delays.on_sent(number));
            }
            let size = group.size_of(segment.sequence, (flow.last_segment, flow.last_size));
            let mut packet = Packet::data(number, size, &segment).coloured(group.colour);
            if O::NOTES
                && let Some(notes) = &mut self.notes
            {
                if sent_again(sender) > before {
                    packet = packet.sent_again();
                }
                notes.keep_sending(&packet, &self.answers);
            }
            let waits = group.access.as_ref().is_some_and(|it| !self.access.pass(now, packet, it));
            let (lines, calendar) = (&mut self.lines, &mut self.calendar);
            let surroundings = (lines, calendar, &mut self.notes, &self.answers);
            if waits || meet::<STANDING, O>(link, now, packet, hop, surroundings) {
                flow.in_flight += 1;
            } else if O::DELAYS && segment.sequence > 0 {
                self.delays.on_lost(number);
            }
        }
        let deadline = sender.deadline();
        let (finished, release) = (sender.finished(), sender.release());
        let is_plain = matches!(link, AnyLink::AtArrival(_)) && group.access.is_none();
        self.arm_sender(number, deadline, release);
        if !is_plain {
            self.end_sending(hop.link as usize);
        }
        if O::NOTES {
            self.note_window(number);
        }
        if finished {
            self.on_finished(number);
        }
    }

    /// A sender has sent what it may, and some of it may wait: for the link of its host, or in a queue for its turn.
    #[inline(never)]
    fn end_sending(&mut self, link: usize) {
        self.forget_dropped(link);
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
        let hop = self.ways.hop(packet.flow(), back, packet.hop().into());
        let link = &mut self.links[hop.link as usize];
        let (lines, calendar) = (&mut self.lines, &mut self.calendar);
        let surroundings = (lines, calendar, &mut self.notes, &self.answers);
        if !meet::<ANY, O>(link, self.now, packet, hop, surroundings) {
            return self.forget(&packet);
        }
        self.forget_dropped(hop.link as usize);
    }

    /// A packet has been dropped or lost on its way.
    #[inline]
    pub(super) fn forget(&mut self, packet: &Packet) {
        if packet.is_acknowledgement() {
            self.answers.take(packet.sequence());
        } else {
            self.count_loss(packet);
        }
        self.on_lost(packet.flow());
    }

    /// A packet of so many bytes of an open-loop flow begins its way; `group` is that of the flow.
    #[inline(always)] // for every packet of such a flow
    fn send_open_loop<O: Observer>(&mut self, number: u32, group: u32, size: u32) {
        let group = &self.groups[group as usize];
        let place = if O::DELAYS { self.delays.on_sent(number) } else { 0 };
        let segment = Segment { sequence: place, sent: self.now, ..Segment::default() };
        let packet = Packet::data(number, size, &segment).coloured(group.colour);
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

    #[inline]
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

/// Surroundings of a packet on its way.
type Surroundings<'a> =
    (&'a mut DelayLines, &'a mut Calendar, &'a mut Option<Box<Notes>>, &'a AcknowledgementPool);

/// A packet arrives at the queue of a link at `now`. Whether it is on its way; if not, it has been dropped or will be
/// lost.
#[inline(always)] // for every packet, which should not be written anywhere but to its line
fn meet<const STANDING: u8, O: Observer>(
    link: &mut AnyLink,
    now: u64,
    mut packet: Packet,
    hop: Hop,
    (lines, calendar, notes, answers): Surroundings<'_>,
) -> bool {
    if O::NOTES
        && let Some(notes) = notes
        && notes.keep_arrival(now, &mut packet, hop.link, answers)
    {
        return false;
    }
    match link {
        AnyLink::AtArrival(link) => {
            let before = if O::NOTES { link.verdicts() } else { [0; 2] };
            let (sent, marked) = link.offer(now, packet.halves().1, hop.line);
            if O::NOTES
                && let Some(notes) = notes
            {
                notes.keep_verdict(now, &packet, (hop.link, link), before, answers);
            }
            if sent == NEVER {
                return false;
            }
            packet.next_hop();
            if marked {
                packet.mark();
            }
            lines.push::<STANDING>(hop.line, packet, sent + link.delay(), calendar);
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
        }
    }
    true
}
