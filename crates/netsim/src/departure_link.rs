//! A link whose queue discipline watches departures.
//!
//! Such a discipline may drop or mark the packet whose turn it is, or has to know what the queue
//! did between two arrivals. When a packet will be sent is then unknown until its turn comes, so
//! the packets wait here and the link is a source of events of its own: the instants at which the
//! next packet is taken from the queue. An empty queue needs none.
//!
//! How they wait, and which of them is next, is the queue's own affair
//! ([`AnyScheduler`]): first in, first out, or in turns of the flows.
//!
//! What is measured is what [`ArrivalLink`](crate::arrival_link::ArrivalLink) measures. A packet dropped from
//! inside the queue has waited: the books count its waiting, the metrics of sojourn, which are those
//! of forwarded packets, do not.

use vermilion_aqm::{
    AnyScheduler, Colour, Discipline, DropReason, Dropped, Ecn, Queue, Scheduler, Verdict,
};
use vermilion_parameters::{ParameterError, Values};

use crate::arrival_link::{LOST, facts};
use crate::calendar::NEVER;
use crate::delay_line::DelayLine;
use crate::flow_traffic::{FlowTraffic, Sent};
use crate::link_books::{Ledger, LinkBooks};
use crate::link_window::LinkWindow;
use crate::loss::{LossModel, LossyWire};
use crate::packet::Packet;
use crate::random::Stream;
use crate::scenario;
use crate::transmitter::Transmitter;

/// A packet that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    packet: Packet,
    line: u32,
}

impl vermilion_aqm::Packet for Waiting {
    #[inline]
    fn size(&self) -> u32 {
        self.packet.size
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }

    #[inline]
    fn mark(&mut self) {
        self.packet.mark();
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.packet.direction()
    }

    #[inline]
    fn colour(&self) -> Colour {
        self.packet.colour()
    }
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

/// Why a packet is no longer in the queue.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// The queue has dropped it.
    Dropped(DropReason),
    /// It was sent, and the wire loses it.
    Lost,
    /// It is sent, and may have been marked on leaving; said only where notes are taken.
    Sent {
        /// Whether it was.
        marked: bool,
    },
}

/// A packet that is no longer in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Gone {
    /// The packet.
    pub packet: Packet,
    /// When it arrived, in nanoseconds.
    pub arrived: u64,
    /// What has become of it.
    pub fate: Fate,
}

/// What is told beside the books to whoever asks.
#[derive(Clone, Debug, Default)]
struct Watch {
    traffic: Option<FlowTraffic>,
    /// Whether notes are taken of what is sent.
    noted: bool,
}

/// The packet in transmission, or the last one.
#[derive(Clone, Copy, Debug, Default)]
struct InService {
    end: u64,
    line: u32,
}

/// What happens to packets that the queue drops.
struct Removal<'a> {
    now: u64,
    gone: &'a mut Vec<Gone>,
    books: &'a mut LinkBooks,
    arrivals_of_waiting: &'a mut u128,
}

impl Removal<'_> {
    #[inline(never)] // most packets are not dropped
    fn of(&mut self, dropped: &Dropped<Waiting>) {
        self.books.window.count_drop(dropped.reason);
        self.books.dropped_waiting += u128::from(self.now - dropped.arrived);
        *self.arrivals_of_waiting -= u128::from(dropped.arrived);
        self.gone.push(Gone {
            packet: dropped.packet.packet,
            arrived: dropped.arrived,
            fate: Fate::Dropped(dropped.reason),
        });
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct DepartureLink {
    /// Its number in the calendar.
    pub source: usize,
    /// Packets dropped, or lost on the wire, since somebody last looked; where notes are taken, those sent
    /// too.
    pub gone: Vec<Gone>,
    delay: u64,
    transmitter: Transmitter,
    queue: AnyScheduler<Waiting>,
    values: Values,
    coin: Stream,
    wire: LossyWire,
    /// When the next packet's turn comes; [`NEVER`] while none waits.
    next_turn: u64,
    in_service: InService,
    /// Since when packets wait without a break.
    occupied_since: u64,
    /// Sum of the arrival times of the packets that wait.
    arrivals_of_waiting: u128,
    books: LinkBooks,
    /// Only where somebody asks for it.
    watch: Option<Box<Watch>>,
}

impl DepartureLink {
    /// An idle link at time 0 with the empty `queue`, which has been built from `values`, all of its
    /// parameters.
    pub fn new(
        link: &scenario::Link,
        queue: AnyScheduler<Waiting>,
        values: Values,
        coin: Stream,
        wire: Stream,
    ) -> Self {
        Self {
            source: 0,
            delay: link.delay_ns,
            transmitter: Transmitter::of(link),
            books: LinkBooks::new(queue.average_queue()),
            queue,
            values,
            coin,
            wire: LossyWire::new(link.loss, wire),
            gone: Vec::new(),
            next_turn: NEVER,
            in_service: InService::default(),
            occupied_since: 0,
            arrivals_of_waiting: 0,
            watch: None,
        }
    }

    /// When [`DepartureLink::take`] is due; [`NEVER`] while nothing waits.
    #[inline]
    pub fn next_turn(&self) -> u64 {
        self.next_turn
    }

    /// Offers a packet at `now`, to leave on delay line `line`: it waits for its turn, even if that
    /// comes at once, or is dropped. Turns that are due at `now` must have been taken. Whether it is marked.
    #[inline]
    pub fn offer(&mut self, now: u64, packet: Packet, line: u32) -> bool {
        self.hold_queue(now);
        let free_at = self.transmitter.free_at();
        let was_empty = self.queue.is_empty();
        let idle_since = (was_empty && free_at <= now).then_some(free_at);
        let mut removal = Removal {
            now,
            gone: &mut self.gone,
            books: &mut self.books,
            arrivals_of_waiting: &mut self.arrivals_of_waiting,
        };
        *removal.arrivals_of_waiting += u128::from(now);
        let (packet, coin) = (Waiting { packet, line }, &mut self.coin);
        let marked =
            self.queue.enqueue(now, idle_since, packet, coin, &mut |dropped| removal.of(&dropped));
        let verdict = if marked { Verdict::Mark } else { Verdict::Accept };
        self.books.window.count(verdict);
        self.books.hold_average(now, || self.queue.average_queue());
        if self.queue.is_empty() {
            self.next_turn = NEVER;
        } else if self.next_turn == NEVER {
            self.occupied_since = now;
            self.next_turn = self.transmitter.begin(now);
        }
        marked
    }

    /// Takes the next packet to be sent at `now`, when a turn is due. `None` if the discipline drops
    /// every packet that waits, or the wire loses the one that is sent.
    #[inline]
    pub fn take(&mut self, now: u64) -> Option<Taken> {
        self.hold_queue(now);
        let mut removal = Removal {
            now,
            gone: &mut self.gone,
            books: &mut self.books,
            arrivals_of_waiting: &mut self.arrivals_of_waiting,
        };
        let sent = self.queue.dequeue(now, &mut self.coin, &mut |dropped| removal.of(&dropped));
        self.books.hold_average(now, || self.queue.average_queue());
        let Some(sent) = sent else {
            self.next_turn = NEVER;
            return None;
        };
        let Waiting { packet, line } = sent.packet;
        self.arrivals_of_waiting -= u128::from(sent.arrived);
        self.books.window.marks += u64::from(sent.marked);
        self.books.count_forwarded(packet.size, now - sent.arrived);
        if self.watch.is_some() {
            self.tell_of_sent(packet, sent.arrived, sent.marked);
        }
        let end = self.transmitter.transmit(now, packet.size);
        self.next_turn = self.turn_after(now);
        if self.wire.loses() {
            self.books.window.losses += 1;
            self.in_service = InService { end, line: LOST };
            self.lose(packet, sent.arrived);
            return None;
        }
        self.in_service = InService { end, line };
        Some(Taken { packet, line, end })
    }

    /// The same for whoever asks. A call, so that those who do not ask have a short way.
    #[cold]
    #[inline(never)]
    fn tell_of_sent(&mut self, packet: Packet, arrived: u64, marked: bool) {
        let Some(watch) = &mut self.watch else { return };
        if let Some(traffic) = &mut watch.traffic {
            traffic.count(packet.direction(), packet.size);
        }
        if watch.noted {
            self.gone.push(Gone { packet, arrived, fate: Fate::Sent { marked } });
        }
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self, packet: Packet, arrived: u64) {
        self.gone.push(Gone { packet, arrived, fate: Fate::Lost });
    }

    /// What each flow has sent since the last call; the first call begins to watch.
    pub fn take_traffic(&mut self) -> Vec<Sent> {
        self.watch.get_or_insert_default().traffic.get_or_insert_default().take()
    }

    /// From now on notes are taken of what is sent.
    pub fn take_notes(&mut self) {
        self.watch.get_or_insert_default().noted = true;
    }

    /// When the turn of the next packet comes, not before `now`.
    fn turn_after(&mut self, now: u64) -> u64 {
        if self.queue.is_empty() {
            return NEVER;
        }
        self.transmitter.begin(self.occupied_since).max(now)
    }

    /// Propagation delay in nanoseconds.
    #[inline]
    pub fn delay(&self) -> u64 {
        self.delay
    }

    /// The queue has been as it is until `now`.
    #[inline]
    fn hold_queue(&mut self, now: u64) {
        self.books.hold_queue(now, self.queue.len() as u32, self.queue.bytes());
    }

    /// Ends the window at `now`, adds it to each of `into`, and begins the next.
    pub fn close_window(&mut self, now: u64, into: &mut [&mut LinkWindow]) {
        self.hold_queue(now);
        self.books.close_window(now, &self.transmitter, (self.in_service.end, 0), into);
    }

    /// What has been measured since the last window was closed.
    pub fn window(&self) -> &LinkWindow {
        &self.books.window
    }

    /// Totals since time 0, up to `now`.
    pub fn ledger(&mut self, now: u64) -> Ledger {
        self.hold_queue(now);
        self.books.ledger()
    }

    /// Waiting so far of the packets still in the queue, in nanoseconds.
    pub fn waiting_so_far(&self, now: u64) -> u128 {
        self.queue.len() as u128 * u128::from(now) - self.arrivals_of_waiting
    }

    /// Every packet that waits.
    #[cfg(test)]
    pub fn packets(&self) -> Vec<Packet> {
        let mut packets = Vec::new();
        self.queue.each(&mut |waiting| packets.push(waiting.packet));
        packets
    }

    /// Packets and bytes waiting.
    pub fn queue(&self) -> (u32, u64) {
        (self.queue.len() as u32, self.queue.bytes())
    }

    /// See [`Discipline::average_queue`].
    pub fn average_queue(&self) -> Option<f64> {
        self.queue.average_queue()
    }

    /// See [`Discipline::drop_probability`].
    pub fn drop_probability(&self) -> Option<f64> {
        self.queue.drop_probability()
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
        let settings = self.queue.set_values(&values, link)?;
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
        self.queue.link_changed(facts(self.transmitter.rate(), self.delay));
    }
}
