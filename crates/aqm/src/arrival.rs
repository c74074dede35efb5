//! What a discipline is told, and what it answers.

use crate::{Colour, Ecn, Packet};

/// A packet arriving at a queue, and the queue as it is just before the packet joins it.
///
/// The packet in transmission is not part of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Time of arrival in nanoseconds.
    pub now: u64,
    /// Size of the packet in bytes.
    pub size: u32,
    /// Its flow: see [`Packet::flow`].
    pub flow: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its drop precedence.
    pub colour: Colour,
    /// Packets waiting.
    pub queue_packets: u32,
    /// Bytes waiting.
    pub queue_bytes: u64,
    /// When the queue last became empty, in nanoseconds: the instant the last waiting packet began
    /// its transmission. Meaningful only while `queue_packets` is 0.
    pub empty_since: u64,
    /// Since when nothing is even in transmission, in nanoseconds; `None` while the link is busy.
    pub idle_since: Option<u64>,
}

impl Arrival {
    /// A packet that arrives at `now`, at a queue that has been empty and idle from the start.
    #[inline(always)] // for every packet
    pub fn of(packet: &impl Packet, now: u64) -> Self {
        Self {
            now,
            size: packet.size(),
            flow: packet.flow(),
            ecn: packet.ecn(),
            colour: packet.colour(),
            queue_packets: 0,
            queue_bytes: 0,
            empty_since: 0,
            idle_since: None,
        }
    }

    /// The verdict over a packet that is to be noticed: a mark if `ecn` allows it and the packet can be marked, else
    /// a drop for `reason`.
    #[inline]
    pub fn notify(&self, ecn: bool, reason: DropReason) -> Verdict {
        if ecn && self.ecn_capable() { Verdict::Mark } else { Verdict::Drop(reason) }
    }

    /// Return true if the packet may be marked instead of dropped (ECT, RFC 3168).
    #[inline]
    pub fn ecn_capable(&self) -> bool {
        self.ecn.is_capable()
    }
}

/// Of which kind a drop is, whatever its discipline calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropKind {
    /// See [`DropReason::Early`].
    Early,
    /// See [`DropReason::Forced`].
    Forced,
    /// See [`DropReason::Overflow`].
    Overflow,
}

impl DropKind {
    /// The word for its kind.
    pub const fn choose<'a>(self, early: &'a str, forced: &'a str, overflow: &'a str) -> &'a str {
        match self {
            Self::Early => early,
            Self::Forced => forced,
            Self::Overflow => overflow,
        }
    }
}

/// Why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The discipline's random choice, made early to give notice of congestion.
    Early,
    /// The discipline's rule without a choice (its average is above the maximum threshold).
    Forced,
    /// The buffer is full.
    Overflow,
    /// One of these, where a discipline has several causes for it and tells them apart.
    Own {
        /// Which.
        kind: DropKind,
        /// The discipline's number for the cause: [`Discipline::cause`](crate::Discipline::cause) has
        /// words for it.
        cause: u16,
    },
}

impl DropReason {
    /// Of which kind it is.
    #[inline]
    pub const fn kind(self) -> DropKind {
        match self {
            Self::Early => DropKind::Early,
            Self::Forced => DropKind::Forced,
            Self::Overflow => DropKind::Overflow,
            Self::Own { kind, .. } => kind,
        }
    }
}

/// Fate of a packet that arrives, or whose turn it is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It joins the queue, or is sent.
    Accept,
    /// As [`Verdict::Accept`], with the congestion-experienced mark. Given only to ECN-capable
    /// packets.
    Mark,
    /// It is dropped.
    Drop(DropReason),
    /// The packet that waits at `place`, 0 being the head, is dropped for the one that arrives, over
    /// which the discipline is then asked again. Given to arrivals only, and only by disciplines
    /// that watch departures.
    MakeRoom {
        /// Whose turn it was after so many others; less than the packets that wait.
        place: u32,
        /// Why.
        reason: DropReason,
    },
}

/// Facts that a discipline may know of the link behind its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkFacts {
    /// Rate in bits per second.
    pub rate: f64,
    /// Propagation delay in seconds, one way.
    pub delay: f64,
}

impl LinkFacts {
    /// Packets of `size` bytes that the link carries in one second.
    pub fn packets_per_second(&self, size: f64) -> f64 {
        self.rate / (8.0 * size)
    }
}

/// A source of independent random numbers.
pub trait Coin {
    /// The next number, uniform over `[0, 1)`.
    fn uniform(&mut self) -> f64;
}

impl<F: FnMut() -> f64> Coin for F {
    fn uniform(&mut self) -> f64 {
        self()
    }
}
