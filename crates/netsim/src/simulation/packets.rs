//! Packets on their way: through queues, to receivers, and the acknowledgements back.

use vermilion_tcp::Segment;

use super::Simulation;
use super::expected::bring_flow;
use super::turns::{wait_for_turn, wait_for_turn_by_call};
use crate::any_link::AnyLink;
use crate::calendar::{Calendar, NEVER};
use crate::delay_line::End;
use crate::delay_lines::DelayLines;
use crate::delay_lines::standing::{ANY, APART};
use crate::flow::{ANSWER, PACING, RECEIVER, SENDER, Source};
use crate::packet::{Half, Packet};
use crate::timers::{flow_of, timer_of};

impl Simulation {
    /// The packet at the head of a line arrives, or something later is next.
    #[inline(always)] // for nearly every packet of most networks
    pub(super) fn on_source<const SOME_WAIT: bool>(&mut self, source: usize) {
        if source < self.lines.sources() {
            self.on_line::<APART, SOME_WAIT>(source);
        } else {
            self.on_later_source(source);
        }
    }

    /// The packet at the head of a line arrives, or the first of all that stand together.
    ///
    /// Most of what arrives there lets a sender send. Its way has no call in it that could be
    /// avoided: all of them together were a tenth of a run.
    #[inline(always)] // as above
    pub(super) fn on_line<const STANDING: u8, const SOME_WAIT: bool>(&mut self, source: usize) {
        let Some((end, packet)) = self.take_from_line::<STANDING>(source) else { return };
        // One after the other: a table to jump by takes longer where it is always the same.
        let heard = if matches!(end, End::ReceiverAndBack) {
            self.tell_and_hear(packet)
        } else if SOME_WAIT && matches!(end, End::WaitingReceiverAndBack) {
            self.tell_waiting_and_hear(packet)
        } else {
            let (times, rest) = packet.halves();
            return self.on_end(end, times, rest);
        };
        if heard {
            self.send_answering::<STANDING>(packet.flow());
        }
    }

    #[inline(always)] // as above
    pub(super) fn take_from_line<const STANDING: u8>(
        &mut self,
        source: usize,
    ) -> Option<(End, Packet)> {
        if self.is_far() {
            self.expect_packets(source);
        }
        let (flows, groups) = (&self.flows, &self.groups);
        self.lines
            .pop::<STANDING>(source, &mut self.calendar, |packet| bring_flow(flows, groups, packet))
    }

    /// A packet has come to the end of its line.
    #[inline(never)] // for the rarer ends
    pub(super) fn on_end(&mut self, end: End, times: Half, rest: Half) {
        let packet = Packet::of_halves(times, rest);
        match end {
            End::ReceiverAndBack => self.on_data_and_back_by_call(packet),
            End::WaitingReceiverAndBack => self.on_waiting_and_back(packet),
            End::Link => self.offer(packet, false),
            End::ReturnLink => self.offer(packet, true),
            End::Receiver => self.on_data(packet),
            End::Sender => self.on_acknowledgement(&packet),
            End::Sink => self.on_sink(&packet),
            End::Noted(end) => self.on_noted(end, packet),
        }
    }

    /// One of the sources after the lines is next; `source`: counted from the first line.
    #[inline(never)]
    pub(super) fn on_later_source(&mut self, source: usize) {
        match source - self.lines.sources() {
            0 => self.on_timer(),
            turn if turn <= self.turns.len() => self.on_turn(turn - 1),
            _ => self.on_access(),
        }
    }

    /// Data reaches a receiver whose acknowledgement the sender has at once. Whether it has one.
    #[inline(always)] // for nearly every packet of most networks
    fn tell_and_hear(&mut self, packet: Packet) -> bool {
        let now = self.now;
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
        if complete {
            let received = now - self.groups[flow.group as usize].route.after_receipt;
            self.on_complete(packet.flow(), received, now);
        }
        true
    }

    /// Data has reached a receiver that may wait, when its acknowledgement would be at the sender. Whether it
    /// is there.
    #[inline(always)] // for nearly every packet of senders as Linux'
    fn tell_waiting_and_hear(&mut self, packet: Packet) -> bool {
        let (now, number) = (self.now, packet.flow());
        let flow = &mut self.flows[number as usize];
        let after_receipt = self.groups[flow.group as usize].route.after_receipt;
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "data reaches flow {number}, which has no receiver");
            return false;
        };
        let received = now - after_receipt;
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

    #[inline(never)] // as for those that do not wait
    fn on_waiting_and_back(&mut self, packet: Packet) {
        if self.tell_waiting_and_hear(packet) {
            self.send_answering::<ANY>(packet.flow());
        }
    }

    /// A sender that has heard of a packet which has left the network sends what it may.
    #[inline(always)] // as above
    fn send_answering<const STANDING: u8>(&mut self, number: u32) {
        if self.sends_by_call {
            // Nearly all segments of paced senders leave when a timer lets them. What sends them should not stand
            // twice in a processor's cache of instructions, which is full with such senders.
            return self.send_after(number, 1);
        }
        self.send_segments::<STANDING>(number, 1);
    }

    /// Data reaches a receiver whose acknowledgement the sender has at once, on another line than the first or
    /// where notes are taken.
    #[inline(always)]
    pub(super) fn on_data_and_back_by_call(&mut self, packet: Packet) {
        let (times, rest) = packet.halves();
        self.on_halves_and_back(times, rest);
    }

    #[inline(never)] // much code in one place would make others slower that are there
    fn on_halves_and_back(&mut self, times: Half, rest: Half) {
        let packet = Packet::of_halves(times, rest);
        if self.tell_and_hear(packet) {
            self.send_answering::<ANY>(packet.flow());
        }
    }

    #[inline(always)] // a second caller, who takes notes, must not keep it out of the first one
    pub(super) fn on_data(&mut self, packet: Packet) {
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
        if self.notes_packets {
            self.note_answer(&packet);
        }
        self.lines.push::<ANY>(line, packet, self.now, &mut self.calendar);
    }

    /// An acknowledgement reaches its sender. Whether there is one.
    #[inline(always)] // as above
    fn hear(&mut self, packet: &Packet) -> bool {
        let answer = self.answers.take(packet.sequence());
        let flow = &mut self.flows[packet.flow() as usize];
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "an answer reaches flow {}, which has no sender", packet.flow());
            return false;
        };
        connection.sender.on_acknowledgement(self.now, &answer);
        true
    }

    #[inline(always)] // as above
    pub(super) fn on_acknowledgement(&mut self, packet: &Packet) {
        if self.hear(packet) {
            self.send_after(packet.flow(), 1);
        }
    }

    #[inline(always)] // as above
    pub(super) fn on_sink(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow() as usize];
        let Source::OpenLoop(source) = &mut flow.source else {
            debug_assert!(false, "flow {} has a receiver, and a sink", packet.flow());
            return;
        };
        flow.in_flight -= 1;
        source.delivered_bytes += u64::from(packet.size());
        source.delivered_packets += 1;
    }

    /// Lets a sender send all it may, and looks after its timer and its end.
    pub(super) fn send(&mut self, number: u32) {
        self.send_after(number, 0);
    }

    /// As [`Simulation::send`], after so many of the flow's packets have left the network.
    #[inline(never)]
    fn send_after(&mut self, number: u32, gone: u32) {
        if self.notes_packets {
            return self.send_noted(number, gone);
        }
        self.send_segments::<ANY>(number, gone);
    }

    /// The same, where nobody takes notes: asking for every packet would cost.
    #[inline(always)]
    fn send_segments<const STANDING: u8>(&mut self, number: u32, gone: u32) {
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
        let AnyLink::AtArrival(link) = &mut self.links[hop.link as usize] else {
            return self.send_to_wait(number, gone);
        };
        if group.access.is_some() {
            return self.send_to_wait(number, gone);
        }
        flow.in_flight -= gone;
        while let Some(segment) = sender.next_segment(now) {
            let size = group.size_of(segment.sequence, (flow.last_segment, flow.last_size));
            let packet = Packet::data(number, size, &segment).coloured(group.colour);
            let offered = link.offer(now, packet.halves().1, hop.line);
            let (delay, lines) = (link.delay(), &mut self.lines);
            let calendar = &mut self.calendar;
            if cross::<STANDING>(offered, packet, delay, hop.line, lines, calendar) {
                flow.in_flight += 1;
            }
        }
        let deadline = sender.deadline();
        let (finished, release) = (sender.finished(), sender.release());
        self.arm_sender(number, deadline, release);
        if finished {
            self.on_finished(number);
        }
    }

    /// The same where packets may have to wait: for the link of their host, or in a queue for their turn.
    #[inline(never)]
    fn send_to_wait(&mut self, number: u32, gone: u32) {
        let now = self.now;
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let hop = group.route.first;
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "flow {number} may send, and has no sender");
            return;
        };
        let sender = &mut connection.sender;
        let link = &mut self.links[hop.link as usize];
        flow.in_flight -= gone;
        while let Some(segment) = sender.next_segment(now) {
            let size = group.size_of(segment.sequence, (flow.last_segment, flow.last_size));
            let mut packet = Packet::data(number, size, &segment).coloured(group.colour);
            let (lines, calendar) = (&mut self.lines, &mut self.calendar);
            let is_kept = if let Some(access) = &group.access
                && !self.access.pass(now, packet, access)
            {
                true
            } else {
                match link {
                    AnyLink::AtArrival(link) => {
                        let offered = link.offer_by_call(now, packet.halves().1, hop.line);
                        cross::<ANY>(offered, packet, link.delay(), hop.line, lines, calendar)
                    }
                    AnyLink::AtDeparture(link) => {
                        packet.next_hop();
                        let (times, rest) = packet.halves();
                        wait_for_turn(link, now, times, rest, hop.line, lines, calendar);
                        true
                    }
                }
            };
            flow.in_flight += u32::from(is_kept);
        }
        let waits_for_access = group.access.is_some();
        let deadline = sender.deadline();
        let (finished, release) = (sender.finished(), sender.release());
        self.arm_sender(number, deadline, release);
        self.forget_dropped(hop.link as usize);
        if waits_for_access {
            self.calendar.set(self.access_source(), self.access.next_time());
        }
        if finished {
            self.on_finished(number);
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
    #[inline(always)]
    pub(super) fn offer(&mut self, packet: Packet, back: bool) {
        let (times, rest) = packet.halves();
        self.offer_halves(times, rest, back);
    }

    #[inline(never)] // one place for all of them
    fn offer_halves(&mut self, times: Half, rest: Half, back: bool) {
        let mut packet = Packet::of_halves(times, rest);
        let route = &self.groups[self.flows[packet.flow() as usize].group as usize].route;
        let path = if back { &route.backward } else { &route.forward };
        let hop = path[packet.hop() as usize];
        let link = match &mut self.links[hop.link as usize] {
            AnyLink::AtArrival(link) => link,
            AnyLink::AtDeparture(link) => {
                let (lines, calendar) = (&mut self.lines, &mut self.calendar);
                packet.next_hop();
                let (times, rest) = packet.halves();
                wait_for_turn_by_call(link, self.now, times, rest, hop.line, lines, calendar);
                self.forget_dropped(hop.link as usize);
                return;
            }
        };
        let offered = link.offer(self.now, rest, hop.line);
        let (lines, calendar) = (&mut self.lines, &mut self.calendar);
        if !cross::<ANY>(offered, packet, link.delay(), hop.line, lines, calendar) {
            self.forget(&packet);
        }
    }

    /// A packet has been dropped or lost on its way.
    #[inline]
    pub(super) fn forget(&mut self, packet: &Packet) {
        if packet.is_acknowledgement() {
            self.answers.take(packet.sequence());
        } else if self.notes_packets {
            self.note_loss(packet);
        }
        self.on_lost(packet.flow());
    }

    /// A packet of so many bytes of an open-loop flow begins its way; `group` is that of the flow.
    #[inline(always)] // for every packet of such a flow
    fn send_open_loop(&mut self, number: u32, group: u32, size: u32) {
        let group = &self.groups[group as usize];
        let place = match &mut self.notes {
            Some(notes) => notes.number(number, group.number),
            None => 0,
        };
        let segment = Segment { sequence: place, sent: self.now, ..Segment::default() };
        let packet = Packet::data(number, size, &segment).coloured(group.colour);
        let hop = group.route.first;
        let AnyLink::AtArrival(link) = &mut self.links[hop.link as usize] else {
            return self.send_open_loop_to_wait(&packet);
        };
        if self.notes_packets || group.access.is_some() {
            return self.send_open_loop_to_wait(&packet);
        }
        let offered = link.offer_by_call(self.now, packet.halves().1, hop.line);
        let (lines, calendar) = (&mut self.lines, &mut self.calendar);
        if !cross::<ANY>(offered, packet, link.delay(), hop.line, lines, calendar) {
            self.on_lost(packet.flow());
        }
    }

    /// The same where notes are taken, or packets may have to wait for the link of their host or for their turn.
    #[inline(never)]
    fn send_open_loop_to_wait(&mut self, packet: &Packet) {
        let packet = *packet;
        if self.notes_packets {
            self.note_sending(&packet);
        }
        let group = &self.groups[self.flows[packet.flow() as usize].group as usize];
        if let Some(access) = &group.access
            && !self.access.pass(self.now, packet, access)
        {
            self.calendar.set(self.access_source(), self.access.next_time());
            return;
        }
        self.offer_first(packet);
    }

    /// A packet arrives at its first queue.
    #[inline]
    fn offer_first(&mut self, packet: Packet) {
        if self.notes_packets {
            return self.offer_noted(packet, false);
        }
        self.offer(packet, false);
    }

    /// A packet that waited for its sender's access link arrives at its first queue.
    fn on_access(&mut self) {
        // At one instant turns come before.
        self.take_all_turns(self.now + 1);
        let Some(packet) = self.access.pop() else {
            debug_assert!(false, "no packet waits for its access link");
            return;
        };
        self.calendar.set(self.access_source(), self.access.next_time());
        self.offer_first(packet);
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
    pub(super) fn on_timer(&mut self) {
        if self.is_far() {
            self.expect_timers();
        }
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
            return self.send_open_loop(number, group, size);
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
            Source::Window(_) if end == PACING => self.send(number),
            Source::Window(connection) if end == SENDER => {
                connection.sender.on_timer(self.now);
                self.send(number);
            }
            Source::Window(_) => self.on_waited(number),
        }
    }
}

/// A packet that was offered to a link which decides at once enters delay line `line` behind it, when it has been
/// sent. Whether it is on its way; if not, it has been dropped or will be lost.
#[inline(always)] // for every packet, which should not be written anywhere but to its line
fn cross<const STANDING: u8>(
    (sent, marked): (u64, bool),
    mut packet: Packet,
    delay: u64,
    line: u32,
    lines: &mut DelayLines,
    calendar: &mut Calendar,
) -> bool {
    if sent == NEVER {
        return false;
    }
    packet.next_hop();
    if marked {
        packet.mark();
    }
    lines.push::<STANDING>(line, packet, sent + delay, calendar);
    true
}
