//! Disciplines that keep the packets themselves.
//!
//! Most disciplines decide over one first-in, first-out queue ([`Decide`](crate::Decide)). One that serves
//! flows in turns has an order of its own and drops packets from inside, so it keeps the packets; its
//! users know neither which packet is next nor which will be dropped.

use crate::{Coin, Discipline, DropReason, Packet};

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
    /// True if it was marked as it left. What this queue marked before, as it arrived, is not marked again.
    pub marked: bool,
}

/// Packets waiting in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u64,
}

/// One of several queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Packets that wait in it.
    pub standing: Standing,
    /// When it last became empty, in nanoseconds; meaningful only while it is.
    pub empty_since: u64,
    /// Size in bytes of its first packet, and when that arrived; `None` while it is empty.
    pub head: Option<(u32, u64)>,
}

/// Packets of type `P` that wait.
pub trait Queue<P>: Discipline {
    /// Packets waiting.
    fn len(&self) -> usize;

    /// Return true if nothing waits.
    #[inline]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes waiting.
    fn bytes(&self) -> u64;

    /// Both at one look.
    #[inline]
    fn standing(&self) -> Standing {
        Standing { packets: self.len() as u32, bytes: self.bytes() }
    }

    /// Shows every packet that waits, in no particular order.
    fn each(&self, look: &mut impl FnMut(&P));
}

/// A queue with an order of its own, given coins of the kind `C`.
///
/// Every packet dropped, be it the one that arrives or one from inside, is given to `dropped` at
/// once; those dropped after they had joined in the order in which they left the queue.
pub trait Scheduler<P: Packet, C: Coin>: Queue<P> {
    /// True if it asks packets for [`Packet::hosts`].
    const READS_HOSTS: bool = false;
    /// True if it may have nothing to hand over though packets wait: [`Scheduler::ready_at`] says until when.
    const HOLDS_BACK: bool = false;

    /// Earliest time at which a packet that waits may be handed over, in nanoseconds; 0: at once. Meaningful only
    /// while some wait.
    #[inline]
    fn ready_at(&self) -> u64 {
        0
    }

    /// A packet arrives at `now` (nanoseconds): whether it has been marked. `idle_since`: since when
    /// nothing has even been in transmission; `None` while the link is busy.
    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool;

    /// The link is free at `now`: the packet to be sent, or `None` if none waits (any more), or all that wait are
    /// held back.
    fn dequeue(
        &mut self,
        now: u64,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>>;
}

/// Something that is done with a queue of packets of type `P`, whichever it is
/// ([`AnyScheduler::visit`](crate::AnyScheduler::visit)): there is one piece of code for each, in which
/// nothing about the queue has to be looked up.
pub trait Visit<P: Packet> {
    /// The kind of coins that the queue is given.
    type Coin: Coin;
    /// Outcome.
    type Output;

    /// Does it.
    fn visit<Q: Scheduler<P, Self::Coin>>(self, queue: &mut Q) -> Self::Output;
}

/// Generates a [`Queue`] whose packets wait in one of its fields.
macro_rules! waits_in {
    ($place:ident) => {
        #[inline]
        fn len(&self) -> usize {
            self.$place.len()
        }

        #[inline]
        fn bytes(&self) -> u64 {
            self.$place.bytes()
        }

        fn each(&self, look: &mut impl FnMut(&P)) {
            self.$place.each(look);
        }
    };
}
pub(crate) use waits_in;
