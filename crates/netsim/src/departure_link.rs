//! A link whose queue discipline watches departures.
//!
//! Such a discipline may drop or mark the packet whose turn it is, or has to know what the queue
//! did between two arrivals. When a packet will be sent is then unknown until its turn comes, so
//! the packets wait here and the link is a source of events of its own: the instants at which the
//! next packet is taken from the queue. An empty queue needs none.
//!
//! How they wait and are taken is [`TurnLink`]'s; here is what the simulator needs around it: the
//! delay lines on which packets leave, and who is told of those that are gone. What is measured is what
//! [`ArrivalLink`](crate::arrival_link::ArrivalLink) measures.

use vermilion_aqm::{AnyScheduler, Colour, DropReason, Dropped, Ecn};
use vermilion_parameters::{ParameterError, Values};

use crate::arrival_link::LOST;
use crate::delay_line::DelayLine;
use crate::flow_traffic::{FlowTraffic, Sent};
use crate::link_books::Ledger;
use crate::link_window::LinkWindow;
use crate::loss::LossModel;
use crate::packet::{Half, Packet};
use crate::random::Stream;
use crate::scenario;
use crate::turn_link::TurnLink;

/// A packet that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    packet: Packet,
    line: u32,
}

impl vermilion_aqm::Packet for Waiting {
    #[inline]
    fn size(&self) -> u32 {
        self.packet.size()
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

impl From<Dropped<Waiting>> for Gone {
    fn from(dropped: Dropped<Waiting>) -> Self {
        let Dropped { packet, arrived, reason } = dropped;
        Self { packet: packet.packet, arrived, fate: Fate::Dropped(reason) }
    }
}

/// What is told beside the books to whoever asks.
#[derive(Clone, Debug, Default)]
struct Watch {
    traffic: Option<FlowTraffic>,
    /// Whether notes are taken of what is sent.
    noted: bool,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct DepartureLink {
    /// Its number in the calendar.
    pub source: usize,
    /// Packets dropped, or lost on the wire, since somebody last looked; where notes are taken, those sent
    /// too.
    pub gone: Vec<Gone>,
    turns: TurnLink<Waiting>,
    /// The delay line of the packet in transmission, or of the last one.
    line_in_service: u32,
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
            gone: Vec::new(),
            turns: TurnLink::new(link, queue, values, coin, wire),
            line_in_service: 0,
            watch: None,
        }
    }

    /// When [`DepartureLink::take`] is due; [`NEVER`](crate::calendar::NEVER) while nothing waits.
    #[inline]
    pub fn next_turn(&self) -> u64 {
        self.turns.next_turn()
    }

    /// Offers a packet at `now`, to leave on delay line `line`: it waits for its turn, even if that
    /// comes at once, or is dropped. Turns that are due at `now` must have been taken. Whether it is marked.
    #[inline]
    pub fn offer(&mut self, now: u64, packet: Packet, line: u32) -> bool {
        let gone = &mut self.gone;
        self.turns.offer(now, Waiting { packet, line }, &mut |dropped| gone.push(dropped.into()))
    }

    /// Takes the next packet to be sent at `now`, when a turn is due. `None` if the discipline drops
    /// every packet that waits, or the wire loses the one that is sent.
    #[inline]
    pub fn take(&mut self, now: u64) -> Option<Taken> {
        let gone = &mut self.gone;
        let taken = self.turns.take(now, &mut |dropped| gone.push(dropped.into()))?;
        let Waiting { packet, line } = taken.packet;
        if self.watch.is_some() {
            let (times, rest) = packet.halves();
            self.tell_of_sent(times, rest, taken.arrived, taken.marked);
        }
        if taken.lost {
            self.line_in_service = LOST;
            let (times, rest) = packet.halves();
            self.lose(times, rest, taken.arrived);
            return None;
        }
        self.line_in_service = line;
        Some(Taken { packet, line, end: taken.end })
    }

    /// The same for whoever asks. A call, so that those who do not ask have a short way.
    #[cold]
    #[inline(never)]
    fn tell_of_sent(&mut self, times: Half, rest: Half, arrived: u64, marked: bool) {
        let packet = Packet::of_halves(times, rest);
        let Some(watch) = &mut self.watch else { return };
        if let Some(traffic) = &mut watch.traffic {
            traffic.count(packet.direction(), packet.size());
        }
        if watch.noted {
            self.gone.push(Gone { packet, arrived, fate: Fate::Sent { marked } });
        }
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self, times: Half, rest: Half, arrived: u64) {
        let packet = Packet::of_halves(times, rest);
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

    /// Propagation delay in nanoseconds.
    #[inline]
    pub fn delay(&self) -> u64 {
        self.turns.delay()
    }

    /// Ends the window at `now`, adds it to each of `into`, and begins the next.
    pub fn close_window(&mut self, now: u64, into: &mut [&mut LinkWindow]) {
        self.turns.close_window(now, into);
    }

    /// What has been measured since the last window was closed.
    pub fn window(&self) -> &LinkWindow {
        self.turns.window()
    }

    /// Totals since time 0, up to `now`.
    pub fn ledger(&mut self, now: u64) -> Ledger {
        self.turns.ledger(now)
    }

    /// Waiting so far of the packets still in the queue, in nanoseconds.
    pub fn waiting_so_far(&self, now: u64) -> u128 {
        self.turns.waiting_so_far(now)
    }

    /// Every packet that waits.
    #[cfg(test)]
    pub fn packets(&self) -> Vec<Packet> {
        let mut packets = Vec::new();
        self.turns.each(&mut |waiting| packets.push(waiting.packet));
        packets
    }

    /// Packets and bytes waiting.
    pub fn queue(&self) -> (u32, u64) {
        self.turns.queue()
    }

    /// See [`Discipline::average_queue`](vermilion_aqm::Discipline::average_queue).
    pub fn average_queue(&self) -> Option<f64> {
        self.turns.average_queue()
    }

    /// See [`Discipline::drop_probability`](vermilion_aqm::Discipline::drop_probability).
    pub fn drop_probability(&self) -> Option<f64> {
        self.turns.drop_probability()
    }

    /// See [`Discipline::cause`](vermilion_aqm::Discipline::cause).
    pub fn cause(&self, reason: DropReason) -> &'static str {
        self.turns.cause(reason)
    }

    /// Every parameter in force.
    pub fn values(&self) -> &Values {
        self.turns.values()
    }

    /// Replaces some parameters of the discipline; on error nothing changes. No discipline that
    /// watches departures has what waits dropped.
    pub fn set_parameters(&mut self, now: u64, changed: &Values) -> Result<(), ParameterError> {
        self.turns.set_parameters(now, changed).map(|_| ())
    }

    /// Changes the propagation delay for packets whose transmission begins from now on.
    pub fn set_delay(&mut self, delay: u64) {
        self.turns.set_delay(delay);
    }

    /// Changes how the wire loses packets sent from now on.
    pub fn set_loss(&mut self, model: LossModel) {
        self.turns.set_loss(model);
    }

    /// Changes the rate at `now` and re-times the packet in transmission; what waits follows. The
    /// caller must have closed the window, and re-enters this link and the delay lines in the
    /// calendar.
    pub fn set_rate(&mut self, now: u64, rate: u64, lines: &mut [DelayLine]) {
        let moved = self.turns.set_rate(now, rate);
        // The packet in transmission is the last that was put on its line, unless it will be lost.
        if let Some((old_end, end)) = moved
            && let Some(line) = lines.get_mut(self.line_in_service as usize)
        {
            if let Some(packet) = line.nth_from_end(0) {
                packet.time = packet.time - old_end + end;
            }
            line.restore_order();
        }
    }
}
