use std::iter::zip;

use vermilion_aqm::{AnyDiscipline, Arrival, Decide, Discipline, DropReason, LinkFacts, Verdict};
use vermilion_parameters::{ParameterError, Values};

use crate::calendar::NEVER;
use crate::delay_line::DelayLine;
use crate::flow_traffic::{FlowTraffic, Sent};
use crate::link_books::{Ledger, LinkBooks};
use crate::link_window::LinkWindow;
use crate::loss::{LossModel, LossyWire};
use crate::packet::{Half, Packet};
use crate::propagation::Propagation;
use crate::random::Stream;
use crate::ring::Ring;
use crate::scenario;
use crate::transmitter::Transmitter;

/// A packet that waits for its transmission to begin.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: u64,
    arrival: u64,
    size: u32,
    line: u32,
}

/// The packet in transmission, or the last one.
#[derive(Clone, Copy, Debug, Default)]
struct InService {
    end: u64,
    line: u32,
}

/// In place of the line of a packet that the wire will lose.
pub const LOST: u32 = u32::MAX;

/// A link whose queue discipline decides when a packet arrives, and the queue in front of it.
///
/// It serves first in, first out. The instant at which an accepted packet's transmission begins and ends is therefore
/// known when it arrives, and no event is needed for either: departures are accounted for when somebody next looks
/// ([`ArrivalLink::catch_up`]). Only a change of rate or of delay moves instants already given; it re-times the packets
/// that are waiting.
#[derive(Clone, Debug)]
pub struct ArrivalLink {
    propagation: Propagation,
    transmitter: Transmitter,
    discipline: AnyDiscipline,
    values: Values,
    coin: Stream,
    wire: LossyWire,
    waiting: Ring<Waiting>,
    /// When the first of these begins its transmission, [`NEVER`] if there is none.
    next_start: u64,
    in_service: InService,
    /// When its transmission began.
    began: u64,
    queue_bytes: u64,
    empty_since: u64,
    /// Why the last packet was dropped that was; for whoever takes notes.
    last_drop: DropReason,
    books: LinkBooks,
    /// Only where somebody asks for it.
    traffic: Option<Box<FlowTraffic>>,
}

impl ArrivalLink {
    /// An idle link at time 0 with `discipline`, which has been built from `values`, all of its
    /// parameters.
    pub fn new(
        link: &scenario::Link,
        discipline: AnyDiscipline,
        values: Values,
        coin: Stream,
        wire: Stream,
    ) -> Self {
        Self {
            propagation: Propagation::new(link.delay_ns),
            transmitter: Transmitter::new(
                link.rate_bit_per_s,
                link.rate_schedule.as_ref(),
                link.trace.as_ref(),
            ),
            books: LinkBooks::new(link.books, discipline.average_queue()),
            discipline,
            values,
            coin,
            wire: LossyWire::new(link.loss, wire),
            waiting: Ring::default(),
            next_start: NEVER,
            in_service: InService::default(),
            began: 0,
            queue_bytes: 0,
            empty_since: 0,
            last_drop: DropReason::Overflow,
            traffic: None,
        }
    }

    /// Offers a packet at `now`, to leave on delay line `line`: when its transmission ends, [`NEVER`] if it is
    /// dropped or will be lost on the wire, and the packet, which may be marked.
    ///
    /// The whole packet is not needed here; handing it over would force it into memory, from
    /// where reading it back at once is slow. So it is with what the two disciplines that most networks have are told.
    #[inline(always)] // where nearly every packet comes from
    pub fn offer(&mut self, now: u64, packet: Half, line: u32) -> (u64, Half) {
        self.catch_up(now);
        let arrival = self.arrival(now, packet);
        match &mut self.discipline {
            AnyDiscipline::Red(it) => {
                let verdict = it.on_arrival(&arrival, &mut self.coin);
                let average = it.average_queue();
                self.follow(&arrival, packet, line, verdict, average)
            }
            AnyDiscipline::DropTail(it) => {
                let verdict = it.on_arrival(&arrival, &mut self.coin);
                self.follow(&arrival, packet, line, verdict, None)
            }
            _ => self.offer_to_others(now, packet, line),
        }
    }

    /// The same for who is asked for packets of several kinds: much code in it would make all of them slower.
    #[inline(never)]
    pub fn offer_by_call(&mut self, now: u64, packet: Half, line: u32) -> (u64, Half) {
        self.offer(now, packet, line)
    }

    /// The same under any discipline, once departures are accounted for.
    #[inline(never)] // much code, which those two should not pay for
    fn offer_to_others(&mut self, now: u64, packet: Half, line: u32) -> (u64, Half) {
        let arrival = self.arrival(now, packet);
        let verdict = self.discipline.on_arrival(&arrival, &mut self.coin);
        let average = self.discipline.average_queue();
        self.follow(&arrival, packet, line, verdict, average)
    }

    #[inline(always)] // as above
    fn arrival(&self, now: u64, packet: Half) -> Arrival {
        let free_at = self.transmitter.free_at();
        Arrival {
            now,
            size: packet.size(),
            flow: packet.direction(),
            ecn: packet.ecn(),
            colour: packet.colour(),
            queue_packets: self.waiting.len() as u32,
            queue_bytes: self.queue_bytes,
            empty_since: self.empty_since,
            idle_since: (free_at <= now).then_some(free_at),
        }
    }

    /// Does what the discipline, whose average is `average` now, has decided over a packet that has been offered.
    #[inline(always)] // as above
    fn follow(
        &mut self,
        &Arrival { now, size, flow, queue_packets, .. }: &Arrival,
        mut packet: Half,
        line: u32,
        verdict: Verdict,
        average: Option<f64>,
    ) -> (u64, Half) {
        self.books.hold_average(now, average);
        self.books.window.arrivals += 1;
        if let Verdict::Drop(reason) = verdict {
            self.last_drop = reason;
            self.books.window.count_drop(reason);
            return (NEVER, packet);
        }
        if verdict == Verdict::Mark {
            packet = self.mark_packet(packet);
        }
        if let Some(traffic) = &mut self.traffic {
            traffic.accept(flow, size, queue_packets);
        }
        if self.wire.loses() {
            self.enter_by_call(now, size, LOST, queue_packets);
            return (NEVER, packet);
        }
        (self.enter(now, size, line, queue_packets), packet)
    }

    #[cold] // or else something is added for every packet
    #[inline(never)]
    fn mark_packet(&mut self, packet: Half) -> Half {
        self.books.window.marks += 1;
        packet.marked()
    }

    #[cold] // links that lose nothing should not pay for it
    #[inline(never)]
    fn enter_by_call(&mut self, now: u64, size: u32, line: u32, queue_packets: u32) {
        self.enter(now, size, line, queue_packets);
    }

    /// A packet of `size` bytes enters the queue at `now` behind `queue_packets` others, to leave on `line`: when its
    /// transmission ends.
    #[inline(always)] // as above
    fn enter(&mut self, now: u64, size: u32, line: u32, queue_packets: u32) -> u64 {
        let (start, end) = self.transmitter.send(now, size);
        if start <= now {
            self.begin_transmission(size, 0, InService { end, line });
            self.empty_since = now;
            self.began = now;
        } else {
            if queue_packets == 0 {
                self.next_start = start;
            }
            self.waiting.push_back(Waiting { start, arrival: now, size, line });
            self.queue_bytes += u64::from(size);
        }
        end
    }

    /// Propagation delay in nanoseconds.
    #[inline]
    pub fn delay(&self) -> u64 {
        self.propagation.delay()
    }

    /// Bits that could be sent from `begin` on and before `end`.
    pub fn capacity(&self, begin: u64, end: u64) -> f64 {
        self.transmitter.capacity(begin, end)
    }

    /// Of the packet that was accepted last, at `now`: when its transmission begins, and whether the wire
    /// will lose it. For whoever takes notes.
    pub fn last_accepted(&self, now: u64) -> (u64, bool) {
        match self.waiting.back() {
            Some(last) => (last.start, last.line == LOST),
            None => (now, self.in_service.line == LOST),
        }
    }

    /// Packets dropped, and marked, in the present window. Likewise.
    pub fn verdicts(&self) -> [u64; 2] {
        let window = &self.books.window;
        [window.drops, window.marks]
    }

    /// Why the last packet was dropped that was dropped, and the discipline's words for it.
    pub fn last_drop(&self) -> (DropReason, &'static str) {
        (self.last_drop, self.discipline.cause(self.last_drop))
    }

    /// When the transmissions of those that wait begin, in order. For whoever takes notes.
    pub fn starts(&self) -> impl ExactSizeIterator<Item = u64> {
        self.waiting.iter().map(|packet| packet.start)
    }

    /// Accounts for every departure up to and including `now`.
    #[inline(always)] // for every packet: the call was 2 % of a run
    pub fn catch_up(&mut self, now: u64) {
        while self.next_start <= now {
            let start = self.next_start;
            self.hold_queue(start);
            let Some(first) = self.waiting.pop_front() else { break };
            self.queue_bytes -= u64::from(first.size);
            let end = match self.waiting.front() {
                Some(next) => {
                    self.next_start = next.start;
                    next.start
                }
                None => {
                    self.next_start = NEVER;
                    self.empty_since = start;
                    self.transmitter.free_at()
                }
            };
            self.began = start;
            let in_service = InService { end, line: first.line };
            self.begin_transmission(first.size, start - first.arrival, in_service);
        }
        self.hold_queue(now);
    }

    /// The queue has been as it is until `now`.
    #[inline(always)] // as above
    fn hold_queue(&mut self, now: u64) {
        self.books.hold_queue(now, self.waiting.len() as u32, self.queue_bytes);
    }

    #[inline(always)] // as above
    fn begin_transmission(&mut self, size: u32, waited: u64, in_service: InService) {
        self.books.count_forwarded(size, waited);
        if in_service.line == LOST {
            self.books.window.losses += 1;
        }
        self.in_service = in_service;
    }

    /// Ends the window at `now`, adds it to each of `into`, and begins the next.
    pub fn close_window(&mut self, now: u64, into: &mut [&mut LinkWindow]) {
        self.catch_up(now);
        let in_service = (self.in_service.end, self.queue_bytes);
        self.books.close_window(now, &self.transmitter, in_service, into);
    }

    /// From `now` on [`ArrivalLink::since_mark`] counts.
    pub fn mark(&mut self, now: u64) {
        self.catch_up(now);
        self.books.mark(now, &self.transmitter, (self.in_service.end, self.queue_bytes));
    }

    /// Measurements since the mark, if there is one.
    pub fn since_mark(&mut self, now: u64) -> Option<LinkWindow> {
        self.catch_up(now);
        let in_service = (self.in_service.end, self.queue_bytes);
        self.books.since_mark(now, &self.transmitter, in_service)
    }

    /// Totals since time 0, up to `now`.
    pub fn ledger(&mut self, now: u64) -> Ledger {
        self.catch_up(now);
        self.books.ledger()
    }

    /// Traffic that each flow has sent since the last call; the first call begins to watch.
    pub fn take_traffic(&mut self, now: u64) -> Vec<Sent> {
        self.catch_up(now);
        let waiting = self.waiting.len() as u32;
        let traffic = self.traffic.get_or_insert_with(|| Box::new(FlowTraffic::behind(waiting)));
        traffic.count_all_but(waiting);
        traffic.take()
    }

    /// Waiting so far of the packets still in the queue, in nanoseconds.
    pub fn waiting_so_far(&self, now: u64) -> u128 {
        self.waiting.iter().map(|packet| u128::from(now - packet.arrival)).sum()
    }

    /// Packets and bytes waiting, as of the last [`ArrivalLink::catch_up`].
    pub fn queue(&self) -> (u32, u64) {
        (self.waiting.len() as u32, self.queue_bytes)
    }

    /// See [`Discipline::average_queue`].
    pub fn average_queue(&self) -> Option<f64> {
        self.discipline.average_queue()
    }

    /// See [`Discipline::drop_probability`].
    pub fn drop_probability(&self) -> Option<f64> {
        self.discipline.drop_probability()
    }

    /// Every parameter in force.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Replaces some parameters of the discipline; on error nothing changes. Whether what waits has
    /// to be dropped ([`ArrivalLink::flush`]).
    pub fn set_parameters(&mut self, now: u64, changed: &Values) -> Result<bool, ParameterError> {
        self.catch_up(now);
        let mut values = self.values.clone();
        values.extend(changed.iter().map(|(name, value)| (name.clone(), value.clone())));
        let link = facts(self.transmitter.rate(), self.delay());
        let settings = self.discipline.set_values(&values, link)?;
        let values = settings.to_values();
        let changed = values != self.values;
        self.values = values;
        self.books.hold_average(now, self.discipline.average_queue());
        Ok(changed && self.discipline.is_flushed_by_change())
    }

    /// Drops all packets that wait at `now` and gives them back; the one in transmission is sent. Delay
    /// lines have to be re-entered in the calendar.
    pub fn flush(&mut self, now: u64, lines: &mut [DelayLine]) -> Vec<Packet> {
        self.catch_up(now);
        if self.waiting.is_empty() {
            return Vec::new();
        }
        if let Some(traffic) = &mut self.traffic {
            traffic.flush(self.waiting.len() as u32);
        }
        let mut dropped = Vec::with_capacity(self.waiting.len());
        // They stand at the end of their lines, in this order.
        while let Some(Waiting { arrival, line, .. }) = self.waiting.pop_back() {
            self.books.count_flushed(1, u128::from(now - arrival));
            // What the wire would have lost is on no line and has been forgotten.
            if let Some(line) = lines.get_mut(line as usize) {
                dropped.extend(line.pop_last());
            }
        }
        self.transmitter.take_back(self.in_service.end, self.queue_bytes);
        self.next_start = NEVER;
        self.queue_bytes = 0;
        self.empty_since = now;
        dropped
    }

    /// Changes the propagation delay for packets whose transmission begins from now on, and re-times those
    /// that wait. Delay lines have to be re-entered in the calendar.
    pub fn set_delay(&mut self, now: u64, delay: u64, lines: &mut [DelayLine]) {
        self.catch_up(now);
        let begun = self.books.forwarded();
        // One that begins at this very instant does so after the change.
        let begins = begun > 0 && self.began == now;
        self.propagation.change(begun.saturating_sub(1), begun - u64::from(begins), delay);
        // The lines of those that move, and when they arrive at the end of the wire.
        let mut moved: Vec<(u32, u64)> = Vec::with_capacity(self.waiting.len() + 1);
        let mut given_after = self.queue_bytes;
        let mut note = |line, given_after, next_start| {
            moved.push((line, self.transmitter.end_of(given_after, next_start) + delay));
        };
        if begins {
            note(self.in_service.line, given_after, self.waiting.front().map(|next| next.start));
        }
        for (packet, next) in
            zip(self.waiting.iter(), self.waiting.iter().skip(1).map(Some).chain([None]))
        {
            given_after -= u64::from(packet.size);
            note(packet.line, given_after, next.map(|next| next.start));
        }
        move_all(moved, lines);
        self.tell_discipline();
    }

    /// Changes how the wire loses packets accepted from now on.
    pub fn set_loss(&mut self, model: LossModel) {
        self.wire.set_model(model);
    }

    /// Changes the rate at `now` and re-times what is in transmission and what waits. The caller
    /// must have closed the window. Delay lines whose packets moved have to be re-entered in the
    /// calendar.
    pub fn set_rate(&mut self, now: u64, rate: u64, lines: &mut [DelayLine]) {
        self.catch_up(now);
        let old_rate = self.transmitter.rate();
        let begun = self.books.forwarded();
        // The lines of those that move, and when they arrive at the end of the wire.
        let mut moved: Vec<(u32, u64)> = Vec::with_capacity(self.waiting.len() + 1);
        let old_end = self.in_service.end;
        if old_end > now {
            let left = u128::from(old_end - now) * u128::from(old_rate);
            self.in_service.end = now + left.div_ceil(u128::from(rate)) as u64;
            let delay = self.propagation.of(begun.saturating_sub(1));
            moved.push((self.in_service.line, self.in_service.end + delay));
        }
        self.transmitter.replace(rate, self.in_service.end);
        let mut start = self.in_service.end;
        for packet in self.waiting.iter_mut() {
            packet.start = start;
            start = self.transmitter.transmit(start, packet.size);
            moved.push((packet.line, start + self.propagation.delay()));
        }
        self.next_start = self.waiting.front().map_or(NEVER, |first| first.start);
        move_all(moved, lines);
        self.tell_discipline();
    }

    fn tell_discipline(&mut self) {
        self.discipline.link_changed(facts(self.transmitter.rate(), self.delay()));
    }
}

/// Moves the last packets of delay lines: the line of each, in the order in which they leave the link, and
/// when it arrives at the end of the wire.
fn move_all(moved: Vec<(u32, u64)>, lines: &mut [DelayLine]) {
    // The packets of one line stand in it in this order, at its end.
    let mut seen = vec![0; lines.len()];
    for (line, time) in moved.into_iter().rev() {
        // What the wire loses is on no line; a rehearsal of changes has none.
        let Some(count) = seen.get_mut(line as usize) else { continue };
        lines[line as usize].move_from_end(*count, time);
        *count += 1;
    }
    for (line, count) in lines.iter_mut().zip(seen) {
        if count > 0 {
            line.restore_order();
        }
    }
}

/// Facts that a discipline may know of a link of `rate` bits per second and `delay` nanoseconds.
pub fn facts(rate: u64, delay: u64) -> LinkFacts {
    LinkFacts { rate: rate as f64, delay: delay as f64 / 1e9 }
}
