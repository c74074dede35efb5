//! Disciplines that keep the packets themselves.
//!
//! A [`Discipline`](crate::Discipline) advises one first-in, first-out queue. One that serves flows
//! in turns has an order of its own and drops packets from inside, so it keeps the packets; its
//! users know neither which packet is next nor which will be dropped.

use vermilion_parameters::{Algorithm, ParameterError, Settings};

use crate::{Coin, DropReason, Link, Packet};

/// A packet that a queue has dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet.
    pub packet: P,
    /// When it arrived, in nanoseconds; now, if it never joined the queue.
    pub arrived: u64,
    /// Why.
    pub reason: DropReason,
}

/// A packet that a queue hands over to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<P> {
    /// The packet.
    pub packet: P,
    /// When it arrived, in nanoseconds.
    pub arrived: u64,
    /// Whether it was marked as it left.
    pub marked: bool,
}

/// A queue of packets of type `P` with an order of its own.
///
/// Every packet dropped, be it the one that arrives or one from inside, is given to `dropped` at
/// once; those dropped after they had joined in the order in which they left the queue.
pub trait Scheduler<P: Packet>: Sized {
    /// Name, source and parameter table.
    const ALGORITHM: Algorithm;

    /// An empty queue in front of `link`.
    ///
    /// # Errors
    /// Values that the table accepts one by one but that do not go together.
    fn new(settings: &Settings, link: Link) -> Result<Self, ParameterError>;

    /// Takes new settings while running. The packets stay, and so does what has been measured.
    ///
    /// # Errors
    /// As for [`Scheduler::new`], and what cannot change while packets wait; then nothing has
    /// changed.
    fn reconfigure(&mut self, settings: &Settings, link: Link) -> Result<(), ParameterError>;

    /// The link behind it has changed; the settings stay, the automatic ones as they were.
    fn link_changed(&mut self, link: Link);

    /// A packet arrives at `now` (nanoseconds): whether it has been marked. `idle_since`: since when
    /// nothing has even been in transmission; `None` while the link is busy.
    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        packet: P,
        coin: &mut impl Coin,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool;

    /// The link is free at `now`: the packet to be sent, or `None` if none waits (any more).
    fn dequeue(
        &mut self,
        now: u64,
        coin: &mut impl Coin,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>>;

    /// Packets waiting.
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes waiting.
    fn bytes(&self) -> u64;

    /// Shows every packet that waits, in no particular order.
    fn each(&self, look: &mut impl FnMut(&P));

    /// See [`Discipline::average_queue`](crate::Discipline::average_queue).
    fn average_queue(&self) -> Option<f64> {
        None
    }

    /// See [`Discipline::drop_probability`](crate::Discipline::drop_probability); where each flow has
    /// its own, the largest.
    fn drop_probability(&self) -> Option<f64> {
        None
    }
}
