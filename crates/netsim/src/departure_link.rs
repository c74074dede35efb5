//! A link whose queue discipline watches departures.
//!
//! Such a discipline may drop or mark the packet whose turn it is, or has to know what the queue
//! did between two arrivals. When a packet will be sent is then unknown until its turn comes, so
//! the packets wait here and the link is a source of events of its own: the instants at which the
//! next packet is taken from the queue. An empty queue needs none.
//!
//! What is measured is what [`LinkState`](crate::link::LinkState) measures. A packet dropped at
//! the head has waited: the books count its waiting, the metrics of sojourn, which are those of
//! forwarded packets, do not.

use std::collections::VecDeque;

use vermilion_aqm::{AnyDiscipline, Arrival, Departure, Link, Verdict};
use vermilion_parameters::{ParameterError, Values};

use crate::calendar::NEVER;
use crate::delay_line::DelayLine;
use crate::link::{LOST, Ledger};
use crate::link_window::LinkWindow;
use crate::loss::{LossModel, LossyWire};
use crate::packet::Packet;
use crate::random::Stream;
use crate::scenario;
use crate::transmitter::Transmitter;

/// A packet that waits for its turn.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    arrived: u64,
    line: u32,
}

/// A packet whose transmission begins.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The packet.
    pub packet: Packet,
    /// The delay line it leaves on.
    pub line: u32,
    /// When its transmission ends.
    pub end: u64,
}

/// The packet in transmission, or the last one.
#[derive(Clone, Copy, Debug, Default)]
struct InService {
    end: u64,
    line: u32,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct DepartureLink {
    /// Its number in the calendar.
    pub source: usize,
    /// Packets dropped, or lost on the wire, since somebody last looked.
    pub dropped: Vec<Packet>,
    delay: u64,
    transmitter: Transmitter,
    discipline: AnyDiscipline,
    values: Values,
    coin: Stream,
    wire: LossyWire,
    waiting: VecDeque<Waiting>,
    /// When the next packet's turn comes; [`NEVER`] while none waits.
    next_turn: u64,
    in_service: InService,
    queue_bytes: u64,
    empty_since: u64,
    /// Up to when the queue's statistics are complete.
    accounted: u64,
    average: Option<f64>,
    average_since: u64,
    window: LinkWindow,
    /// Waiting in nanoseconds of the packets dropped at the head in this window.
    dropped_waiting: u128,
    window_begin: u64,
    bits_ahead: f64,
    ledger: Ledger,
}

impl DepartureLink {
    /// An idle link at time 0.
    pub fn new(link: &scenario::Link, coin: Stream, wire: Stream) -> Result<Self, ParameterError> {
        let facts = facts(link.rate_bit_per_s, link.delay_ns);
        let (discipline, settings) =
            AnyDiscipline::from_values(&link.queue.discipline, &link.queue.parameters, facts)?;
        Ok(Self {
            source: 0,
            delay: link.delay_ns,
            transmitter: Transmitter::of(link),
            average: discipline.average_queue(),
            discipline,
            values: settings.to_values(),
            coin,
            wire: LossyWire::new(link.loss, wire),
            dropped: Vec::new(),
            waiting: VecDeque::new(),
            next_turn: NEVER,
            in_service: InService::default(),
            queue_bytes: 0,
            empty_since: 0,
            accounted: 0,
            average_since: 0,
            window: LinkWindow::default(),
            dropped_waiting: 0,
            window_begin: 0,
            bits_ahead: 0.0,
            ledger: Ledger::default(),
        })
    }

    /// When [`DepartureLink::take`] is due; [`NEVER`] while nothing waits.
    #[inline]
    pub fn next_turn(&self) -> u64 {
        self.next_turn
    }

    /// Offers a packet at `now`, to leave on delay line `line`: it waits for its turn, even if that
    /// comes at once, or is dropped. Turns that are due at `now` must have been taken.
    #[inline]
    pub fn offer(&mut self, now: u64, mut packet: Packet, line: u32) {
        self.hold_queue(now);
        let free_at = self.transmitter.free_at();
        let idle = self.waiting.is_empty() && free_at <= now;
        let arrival = Arrival {
            now,
            size: packet.size,
            ecn_capable: packet.ecn_capable(),
            queue_packets: self.waiting.len() as u32,
            queue_bytes: self.queue_bytes,
            empty_since: self.empty_since,
            idle_since: idle.then_some(free_at),
        };
        let verdict = self.discipline.on_arrival(&arrival, &mut self.coin);
        self.hold_average(now);
        self.window.count(verdict);
        match verdict {
            Verdict::Drop(_) => {
                self.dropped.push(packet);
                return;
            }
            Verdict::Mark => packet.mark(),
            Verdict::Accept => {}
        }
        self.queue_bytes += u64::from(packet.size);
        self.waiting.push_back(Waiting { packet, arrived: now, line });
        if self.next_turn == NEVER {
            self.next_turn = self.transmitter.begin(now);
        }
    }

    /// Takes the next packet to be sent at `now`, when a turn is due. `None` if the discipline drops
    /// every packet that waits, or the wire loses the one that is sent.
    #[inline]
    pub fn take(&mut self, now: u64) -> Option<Taken> {
        self.hold_queue(now);
        while let Some(Waiting { mut packet, arrived, line }) = self.waiting.pop_front() {
            let size = packet.size;
            self.queue_bytes -= u64::from(size);
            if self.waiting.is_empty() {
                self.empty_since = now;
            }
            let departure = Departure {
                now,
                arrived,
                size,
                ecn_capable: packet.ecn_capable(),
                queue_packets: self.waiting.len() as u32,
                queue_bytes: self.queue_bytes,
            };
            let verdict = self.discipline.on_departure(&departure, &mut self.coin);
            self.hold_average(now);
            self.window.count_at_head(verdict);
            match verdict {
                Verdict::Drop(_) => {
                    self.dropped_waiting += u128::from(now - arrived);
                    self.dropped.push(packet);
                    continue;
                }
                Verdict::Mark => packet.mark(),
                Verdict::Accept => {}
            }
            self.window.forwarded += 1;
            self.window.bits += f64::from(size) * 8.0;
            self.window.sojourn.count(now - arrived);
            self.ledger.forwarded_bytes += u64::from(size);
            let end = self.transmitter.transmit(now, size);
            self.next_turn = self.turn_after(now);
            if self.wire.loses() {
                self.window.losses += 1;
                self.in_service = InService { end, line: LOST };
                self.dropped.push(packet);
                return None;
            }
            self.in_service = InService { end, line };
            return Some(Taken { packet, line, end });
        }
        self.next_turn = NEVER;
        None
    }

    /// When the turn of the packet now at the head comes, not before `now`.
    fn turn_after(&mut self, now: u64) -> u64 {
        match self.waiting.front() {
            Some(head) => self.transmitter.begin(head.arrived).max(now),
            None => NEVER,
        }
    }

    /// Propagation delay in nanoseconds.
    #[inline]
    pub fn delay(&self) -> u64 {
        self.delay
    }

    /// The queue has been as it is until `now`.
    #[inline]
    fn hold_queue(&mut self, now: u64) {
        let time = now - self.accounted;
        if time > 0 {
            self.window.queue_packets.add(self.waiting.len() as u64, time);
            self.window.queue_bytes.add(self.queue_bytes, time);
            self.accounted = now;
        }
    }

    /// The average, if the discipline keeps one, has been as it was until `now`.
    #[inline]
    fn hold_average(&mut self, now: u64) {
        if let Some(average) = self.average {
            self.window.hold_average(average, now - self.average_since);
            self.average_since = now;
            self.average = self.discipline.average_queue();
        }
    }

    /// Ends the window at `now`, adds it to each of `into`, and begins the next.
    pub fn close_window(&mut self, now: u64, into: &mut [&mut LinkWindow]) {
        self.hold_queue(now);
        self.hold_average(now);
        // Bits were counted when transmissions began: what lies ahead belongs to the next window.
        let bits_ahead = self.transmitter.bits_ahead(now, self.in_service.end, 0);
        self.window.bits += self.bits_ahead - bits_ahead;
        self.window.capacity = self.transmitter.capacity(self.window_begin, now);
        for window in into {
            window.merge(&self.window);
        }
        self.ledger = self.ledger(now);
        self.window.clear();
        self.dropped_waiting = 0;
        self.window_begin = now;
        self.bits_ahead = bits_ahead;
    }

    /// Totals since time 0, up to `now`.
    pub fn ledger(&mut self, now: u64) -> Ledger {
        self.hold_queue(now);
        let mut ledger = self.ledger;
        ledger.arrivals += self.window.arrivals;
        ledger.forwarded += self.window.forwarded;
        ledger.drops += self.window.drops;
        ledger.marks += self.window.marks;
        ledger.losses += self.window.losses;
        ledger.backlog += self.window.queue_packets.sum();
        ledger.sojourn += self.window.sojourn.sum() + self.dropped_waiting;
        ledger
    }

    /// Waiting so far of the packets still in the queue, in nanoseconds.
    pub fn waiting_so_far(&self, now: u64) -> u128 {
        self.waiting.iter().map(|packet| u128::from(now - packet.arrived)).sum()
    }

    /// Every packet that waits.
    #[cfg(test)]
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.iter().map(|waiting| &waiting.packet)
    }

    /// Packets and bytes waiting.
    pub fn queue(&self) -> (u32, u64) {
        (self.waiting.len() as u32, self.queue_bytes)
    }

    /// The discipline.
    pub fn discipline(&self) -> &AnyDiscipline {
        &self.discipline
    }

    /// Every parameter in force.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Replaces some parameters of the discipline; on error nothing changes.
    pub fn set_parameters(&mut self, changed: &Values) -> Result<(), ParameterError> {
        let mut values = self.values.clone();
        values.extend(changed.iter().map(|(name, value)| (name.clone(), value.clone())));
        let link = facts(self.transmitter.rate(), self.delay);
        let settings = self.discipline.reconfigure(&values, link)?;
        self.values = settings.to_values();
        Ok(())
    }

    /// Changes the propagation delay for packets whose transmission begins from now on.
    pub fn set_delay(&mut self, delay: u64) {
        self.delay = delay;
        self.tell_discipline();
    }

    /// Changes how the wire loses packets sent from now on.
    pub fn set_loss(&mut self, model: LossModel) {
        self.wire.set_model(model);
    }

    /// Changes the rate at `now` and re-times the packet in transmission; what waits follows. The
    /// caller must have closed the window, and re-enters this link and the delay lines in the
    /// calendar.
    pub fn set_rate(&mut self, now: u64, rate: u64, lines: &mut [DelayLine]) {
        let old_end = self.in_service.end;
        if old_end > now {
            let left = u128::from(old_end - now) * u128::from(self.transmitter.rate());
            let end = now + left.div_ceil(u128::from(rate)) as u64;
            // The packet in transmission is the last that was put on its line, unless it will be lost.
            if let Some(line) = lines.get_mut(self.in_service.line as usize) {
                if let Some(packet) = line.nth_from_end(0) {
                    packet.time = packet.time - old_end + end;
                }
                line.restore_order();
            }
            self.in_service.end = end;
            self.transmitter.replace(rate, end);
        } else {
            self.transmitter.replace(rate, self.transmitter.free_at());
        }
        self.next_turn = self.turn_after(now);
        self.tell_discipline();
    }

    fn tell_discipline(&mut self) {
        self.discipline.link_changed(facts(self.transmitter.rate(), self.delay));
    }
}

fn facts(rate: u64, delay: u64) -> Link {
    Link { rate: rate as f64, delay: delay as f64 / 1e9 }
}
