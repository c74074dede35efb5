//! A transmitter and the queue in front of it, whose packets wait for their turns.

use vermilion_aqm::{
    AnyScheduler, Discipline, DropReason, Dropped, Packet, Queue, Scheduler, Standing, Verdict,
    Visit,
};
use vermilion_parameters::{ParameterError, Values};
use vermilion_port::{AnyPort, Shape};

use crate::arrival_link::facts;
use crate::calendar::NEVER;
use crate::link_books::{Ledger, LinkBooks};
use crate::link_window::LinkWindow;
use crate::loss::{LossModel, LossyWire};
use crate::propagation::Propagation;
use crate::random::Stream;
use crate::scenario;
use crate::transmitter::Transmitter;

/// A packet whose transmission begins.
#[derive(Clone, Copy, Debug)]
pub struct Taken<P> {
    /// The packet.
    pub packet: P,
    /// When its transmission ends.
    pub end: u64,
    /// True if the wire loses it.
    pub lost: bool,
    /// When it arrived.
    pub arrived: u64,
    /// True if it was marked as it left.
    pub marked: bool,
}

/// Fate of packets that the queue drops.
struct Removal<'a, F> {
    now: u64,
    books: &'a mut LinkBooks,
    arrivals_of_waiting: &'a mut u128,
    dropped: &'a mut F,
}

impl<F> Removal<'_, F> {
    fn of<P>(&mut self, gone: Dropped<P>)
    where
        F: FnMut(Dropped<P>),
    {
        self.books.window.count_drop(gone.reason);
        self.books.dropped_waiting += u128::from(self.now - gone.arrived);
        *self.arrivals_of_waiting -= u128::from(gone.arrived);
        (self.dropped)(gone);
    }
}

/// A transmitter and the queue in front of it, whose packets wait for their turns.
///
/// Whatever the discipline decides when a packet arrives or leaves, this does it, for packets of any
/// type: those of the simulator ([`DepartureLink`](crate::departure_link::DepartureLink)), and real
/// ones. Who uses it keeps the time: at one instant, turns that are due are taken before packets are
/// offered, and a packet that is offered to an idle link is taken at once.
///
/// How packets wait, and which of them is next, is the queue's own affair
/// ([`AnyPort`]): first in, first out, or in turns of the flows.
///
/// A packet dropped from inside the queue has waited: the books count its waiting, the metrics of
/// sojourn, which are those of forwarded packets, do not.
#[derive(Clone, Debug)]
pub struct TurnLink<P> {
    queue: AnyPort<P>,
    values: Values,
    turns: Turns,
}

/// All of a [`TurnLink`] but the queue: that is one of many types, and what is done for every packet is a piece of
/// code for each.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    propagation: Propagation,
    transmitter: Transmitter,
    /// Packets waiting in the queue: kept here, because which queue it is has to be looked up to ask it.
    standing: Standing,
    coin: Stream,
    wire: LossyWire,
    /// When the next packet's turn comes; [`NEVER`] while none waits.
    next_turn: u64,
    /// When the packet in transmission, or the last one, will have been sent.
    end: u64,
    /// Since when packets wait without a break.
    occupied_since: u64,
    /// Sum of the arrival times of the packets that wait.
    arrivals_of_waiting: u128,
    books: LinkBooks,
}

/// A packet that is offered to a queue.
struct Offer<'a, P, F> {
    turns: &'a mut Turns,
    now: u64,
    packet: P,
    dropped: &'a mut F,
}

impl<P: Packet, F: FnMut(Dropped<P>)> Visit<P> for Offer<'_, P, F> {
    type Coin = Stream;
    type Output = bool;

    fn visit<Q: Scheduler<P, Stream>>(self, queue: &mut Q) -> bool {
        self.turns.offer(queue, self.now, self.packet, self.dropped)
    }
}

/// A turn that has come.
struct Take<'a, F> {
    turns: &'a mut Turns,
    now: u64,
    dropped: &'a mut F,
}

impl<P: Packet, F: FnMut(Dropped<P>)> Visit<P> for Take<'_, F> {
    type Coin = Stream;
    type Output = Option<Taken<P>>;

    fn visit<Q: Scheduler<P, Stream>>(self, queue: &mut Q) -> Option<Taken<P>> {
        self.turns.take(queue, self.now, self.dropped)
    }
}

impl Turns {
    /// See [`TurnLink::next_turn`].
    #[inline(always)]
    pub fn next_turn(&self) -> u64 {
        self.next_turn
    }

    /// See [`TurnLink::delay`].
    #[inline(always)]
    pub fn delay(&self) -> u64 {
        self.propagation.delay()
    }

    /// See [`TurnLink::offer`].
    #[inline(always)] // for every packet: a call would have it written to memory
    pub fn offer<P: Packet, Q: Scheduler<P, Stream>>(
        &mut self,
        queue: &mut Q,
        now: u64,
        packet: P,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        self.hold_queue(now);
        let free_at = self.transmitter.free_at();
        let was_empty = self.standing.packets == 0;
        let idle_since = (was_empty && free_at <= now).then_some(free_at);
        let mut removal = Removal {
            now,
            books: &mut self.books,
            arrivals_of_waiting: &mut self.arrivals_of_waiting,
            dropped,
        };
        *removal.arrivals_of_waiting += u128::from(now);
        let coin = &mut self.coin;
        let marked = queue.enqueue(now, idle_since, packet, coin, &mut |gone| removal.of(gone));
        let verdict = if marked { Verdict::Mark } else { Verdict::Accept };
        self.books.window.count(verdict);
        self.standing = queue.standing();
        self.hold_average(now, queue);
        if self.standing.packets == 0 {
            self.next_turn = NEVER;
        } else if was_empty {
            self.occupied_since = now;
            self.next_turn = self.turn_after(now, queue);
        } else if Q::HOLDS_BACK {
            self.next_turn = self.turn_after(now, queue);
        }
        marked
    }

    /// See [`TurnLink::take`].
    #[inline(always)] // likewise
    pub fn take<P: Packet, Q: Scheduler<P, Stream>>(
        &mut self,
        queue: &mut Q,
        now: u64,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Taken<P>> {
        self.hold_queue(now);
        let mut removal = Removal {
            now,
            books: &mut self.books,
            arrivals_of_waiting: &mut self.arrivals_of_waiting,
            dropped,
        };
        let sent = queue.dequeue(now, &mut self.coin, &mut |gone| removal.of(gone));
        self.standing = queue.standing();
        self.hold_average(now, queue);
        let Some(sent) = sent else {
            self.next_turn = if Q::HOLDS_BACK { self.turn_after(now, queue) } else { NEVER };
            debug_assert!(self.next_turn > now, "a queue holds back what is ready");
            return None;
        };
        let size = sent.packet.size();
        self.arrivals_of_waiting -= u128::from(sent.arrived);
        self.books.window.marks += u64::from(sent.marked);
        self.books.count_forwarded(size, now - sent.arrived);
        self.end = self.transmitter.transmit(now, size);
        self.next_turn = self.turn_after(now, queue);
        let lost = self.wire.loses();
        self.books.window.losses += u64::from(lost);
        let (arrived, marked) = (sent.arrived, sent.marked);
        Some(Taken { packet: sent.packet, end: self.end, lost, arrived, marked })
    }

    /// When the turn of the next packet comes, not before `now`.
    #[inline]
    fn turn_after<P: Packet, Q: Scheduler<P, Stream>>(&self, now: u64, queue: &Q) -> u64 {
        if self.standing.packets == 0 {
            return NEVER;
        }
        // An opportunity of this very instant serves who waits, one that is over nobody.
        let since = self.occupied_since.max(queue.ready_at()).max(now.saturating_sub(1));
        self.transmitter.begin(since).max(now)
    }

    /// The queue has been as it is until `now`.
    #[inline]
    fn hold_queue(&mut self, now: u64) {
        self.books.hold_queue(now, self.standing.packets, self.standing.bytes);
    }

    /// The discipline's average, if it keeps one, may be another from `now` on.
    #[inline(always)] // twice for every packet, and few disciplines keep one
    fn hold_average(&mut self, now: u64, queue: &impl Discipline) {
        if self.books.has_average() {
            self.books.hold_average(now, queue.average_queue());
        }
    }
}

impl<P: Packet> TurnLink<P> {
    /// An idle link at time 0 with the queue that its description names.
    ///
    /// # Errors
    /// What [`scenario::Link::check`] refuses, an unknown discipline, or a value that its table refuses.
    pub fn of(link: &scenario::Link, coin: Stream, wire: Stream) -> Result<Self, ParameterError> {
        link.check()?;
        if link.line.is_some() || link.rate_control.is_some() || link.air.is_some() {
            let accepted = "no line, rate_control, jitter, reordering or aggregation of its own: \
                            they are simulated only";
            return Err(ParameterError::new("rate", &link.name, accepted));
        }
        let (queue, values) = scheduler(link).map_err(|error| error.under("queue"))?;
        Ok(Self::new(link, queue, values, coin, wire))
    }

    /// An idle link at time 0 with the empty `queue`, which has been built from `values`, all of its
    /// parameters.
    pub(crate) fn new(
        link: &scenario::Link,
        queue: AnyPort<P>,
        values: Values,
        coin: Stream,
        wire: Stream,
    ) -> Self {
        let turns = Turns {
            propagation: Propagation::new(link.delay_ns),
            transmitter: Transmitter::new(
                link.rate_bit_per_s,
                link.rate_schedule.as_ref(),
                link.trace.as_ref(),
            ),
            books: LinkBooks::new(link.books, queue.average_queue()),
            standing: queue.standing(),
            coin,
            wire: LossyWire::new(link.loss, wire),
            next_turn: NEVER,
            end: 0,
            occupied_since: 0,
            arrivals_of_waiting: 0,
        };
        Self { queue, values, turns }
    }

    /// The queue and the rest.
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> (&mut AnyPort<P>, &mut Turns) {
        (&mut self.queue, &mut self.turns)
    }

    /// When [`TurnLink::take`] is due; [`NEVER`] while nothing waits.
    #[inline]
    #[must_use]
    pub fn next_turn(&self) -> u64 {
        self.turns.next_turn
    }

    /// Offers a packet at `now`: it waits for its turn, even if that comes at once, or is dropped.
    /// Turns that are due at `now` must have been taken. What the queue drops is given to `dropped`. Whether
    /// the packet is marked.
    #[inline]
    pub fn offer(&mut self, now: u64, packet: P, dropped: &mut impl FnMut(Dropped<P>)) -> bool {
        self.queue.visit(Offer { turns: &mut self.turns, now, packet, dropped })
    }

    /// Takes the next packet to be sent at `now`, when a turn is due. `None` if the discipline drops
    /// every packet that waits. What it drops is given to `dropped`.
    #[inline]
    pub fn take(&mut self, now: u64, dropped: &mut impl FnMut(Dropped<P>)) -> Option<Taken<P>> {
        self.queue.visit(Take { turns: &mut self.turns, now, dropped })
    }

    /// Propagation delay in nanoseconds.
    #[inline]
    #[must_use]
    pub fn delay(&self) -> u64 {
        self.turns.delay()
    }

    /// Bits that could be sent from `begin` on and before `end`.
    #[must_use]
    pub fn capacity(&self, begin: u64, end: u64) -> f64 {
        self.turns.transmitter.capacity(begin, end)
    }

    /// That of the packet in transmission, or of the last one.
    pub(crate) fn delay_in_service(&self) -> u64 {
        self.turns.propagation.of(self.turns.books.forwarded().saturating_sub(1))
    }

    /// Ends the window at `now`, adds it to each of `into`, and begins the next.
    pub fn close_window(&mut self, now: u64, into: &mut [&mut LinkWindow]) {
        self.turns.hold_queue(now);
        self.turns.books.close_window(now, &self.turns.transmitter, (self.turns.end, 0), into);
    }

    /// From `now` on [`TurnLink::since_mark`] counts.
    pub fn mark(&mut self, now: u64) {
        self.turns.hold_queue(now);
        self.turns.books.mark(now, &self.turns.transmitter, (self.turns.end, 0));
    }

    /// Measurements since the mark, if there is one.
    pub fn since_mark(&mut self, now: u64) -> Option<LinkWindow> {
        self.turns.hold_queue(now);
        self.turns.books.since_mark(now, &self.turns.transmitter, (self.turns.end, 0))
    }

    /// Measurements since the last window was closed.
    #[must_use]
    pub fn window(&self) -> &LinkWindow {
        &self.turns.books.window
    }

    /// Totals since time 0, up to `now`.
    pub fn ledger(&mut self, now: u64) -> Ledger {
        self.turns.hold_queue(now);
        self.turns.books.ledger()
    }

    /// Waiting so far of the packets still in the queue, in nanoseconds.
    #[must_use]
    pub fn waiting_so_far(&self, now: u64) -> u128 {
        u128::from(self.turns.standing.packets) * u128::from(now) - self.turns.arrivals_of_waiting
    }

    /// Shows every packet that waits.
    pub fn each(&self, look: &mut impl FnMut(&P)) {
        self.queue.each(look);
    }

    /// Packets and bytes waiting.
    #[must_use]
    pub fn queue(&self) -> (u32, u64) {
        (self.turns.standing.packets, self.turns.standing.bytes)
    }

    /// See [`Discipline::average_queue`].
    #[must_use]
    pub fn average_queue(&self) -> Option<f64> {
        self.queue.average_queue()
    }

    /// See [`Discipline::drop_probability`].
    #[must_use]
    pub fn drop_probability(&self) -> Option<f64> {
        self.queue.drop_probability()
    }

    /// See [`Discipline::cause`].
    #[must_use]
    pub fn cause(&self, reason: DropReason) -> &'static str {
        self.queue.cause(reason)
    }

    /// Every parameter in force.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Replaces some parameters of the discipline at `now`; on error nothing changes. Whether what
    /// waits has to be dropped ([`TurnLink::flush`]).
    ///
    /// # Errors
    /// A value that the discipline refuses.
    pub fn set_parameters(&mut self, now: u64, changed: &Values) -> Result<bool, ParameterError>
    where
        P: Clone,
    {
        let mut values = self.values.clone();
        values.extend(changed.iter().map(|(name, value)| (name.clone(), value.clone())));
        let link = facts(self.turns.transmitter.rate(), self.turns.delay());
        let values = self.queue.set_values(&values, link)?;
        let changed = values != self.values;
        self.values = values;
        self.turns.hold_average(now, &self.queue);
        self.turns.next_turn = self.turns.turn_after(now, &self.queue);
        Ok(changed && self.queue.is_flushed_by_change())
    }

    /// Drops all packets that wait at `now`; the one in transmission is sent. Only disciplines that
    /// decide at arrival ask for it, and those stand in front of a first-in, first-out queue.
    pub fn flush(&mut self, now: u64, dropped: &mut impl FnMut(P)) {
        if !self.queue.flush(now, dropped) {
            return;
        }
        let Standing { packets, bytes } = self.turns.standing;
        let waited = u128::from(packets) * u128::from(now) - self.turns.arrivals_of_waiting;
        self.turns.books.hold_queue(now, packets, bytes);
        self.turns.books.count_flushed(packets.into(), waited);
        self.turns.arrivals_of_waiting = 0;
        self.turns.standing = self.queue.standing();
        self.turns.next_turn = NEVER;
    }

    /// Changes the propagation delay for packets whose transmission begins from now on.
    pub fn set_delay(&mut self, delay: u64) {
        let begun = self.turns.books.forwarded();
        self.turns.propagation.change(begun.saturating_sub(1), begun, delay);
        self.tell_discipline();
    }

    /// Changes how the wire loses packets sent from now on.
    pub fn set_loss(&mut self, model: LossModel) {
        self.turns.wire.set_model(model);
    }

    /// Changes the rate at `now`, to be constant from then on. The caller must have closed the window.
    /// When the packet in transmission, the last that was taken, would have been sent and when it
    /// will; `None` if there is none.
    pub fn set_rate(&mut self, now: u64, rate: u64) -> Option<(u64, u64)> {
        let old_end = self.turns.end;
        let mut moved = None;
        if old_end > now {
            let left = u128::from(old_end - now) * u128::from(self.turns.transmitter.rate());
            self.turns.end = now + left.div_ceil(u128::from(rate)) as u64;
            self.turns.transmitter.replace(rate, self.turns.end);
            moved = Some((old_end, self.turns.end));
        } else {
            self.turns.transmitter.replace(rate, self.turns.transmitter.free_at());
        }
        self.tell_discipline();
        self.turns.next_turn = self.turns.turn_after(now, &self.queue);
        moved
    }

    fn tell_discipline(&mut self) {
        self.queue.link_changed(facts(self.turns.transmitter.rate(), self.turns.delay()));
    }
}

/// The queue that a link's description names, and all of its parameters.
///
/// # Errors
/// An unknown discipline, or a value that its table refuses.
pub(crate) fn scheduler<P: Packet>(
    link: &scenario::Link,
) -> Result<(AnyPort<P>, Values), ParameterError> {
    let facts = facts(link.rate_bit_per_s, link.delay_ns);
    let chosen = &link.queue;
    if let Some(factory) = chosen.foreign.as_deref() {
        let (queue, settings) = AnyScheduler::from_foreign(factory, &chosen.parameters, facts)?;
        return Ok((AnyPort::Plain(queue), settings.to_values()));
    }
    let shape = Shape { discipline: chosen.discipline.clone(), classes: chosen.classes.clone() };
    AnyPort::from_shape(&shape, &chosen.parameters, facts)
}
