//! Round trips: which there are, why others were not taken, and what is kept of a flow's.

mod reactions;
mod slots;

use serde::Serialize;

pub use reactions::Reactions;
pub use slots::{SLOTS, Slots};

use crate::tally::reasons;

reasons! {
    /// From where to where, and back.
    pub enum Path {
        /// From the monitor to the receiver of the data and back: from a segment to the answer
        /// that names it.
        Beyond = "beyond",
        /// From the monitor to the receiver of the data, on to their sender, and back to the
        /// monitor: from a segment to the answer that names it, and from there to the first new
        /// segment that names the answer. This is the connection's whole round trip. Where nothing
        /// is under way beyond the monitor any more when the answer passes, the sender's part is
        /// the latest that was timed, if that was lately ([`Reactions`]).
        Whole = "whole",
        /// The whole round trip of a three-way handshake: from the SYN to the ACK that answers the
        /// SYN of the other end.
        Handshake = "handshake",
    }
}

reasons! {
    /// Why a TCP segment gave no round trip. Every segment either gave one, still waits for its
    /// answer, or is counted here, once.
    pub enum NotTimed {
        /// It carries nothing that must be answered: the answer to it may take any time.
        PureAcknowledgement = "pure-acknowledgement",
        /// It breaks the connection off; nothing answers that.
        Reset = "reset",
        /// It is a piece of a packet: the rest arrives with another.
        Fragment = "fragment",
        /// The capture does not say when.
        NoTime = "no-capture-time",
        /// The connection uses timestamps, and this segment has none, though all were captured.
        NoTimestamp = "no-timestamp-option",
        /// The captured bytes end before the timestamps.
        CutOptions = "cut-options",
        /// Its timestamp is that of an earlier segment: the sender's clock has not ticked since.
        /// The answer will name the earlier one. Or there may have been one: this is the first
        /// segment that was seen of a connection whose beginning was not.
        SameTimestamp = "same-timestamp",
        /// It comes after segments that were sent later.
        Reordered = "reordered",
        /// It was sent before, or shares its numbers with segments that were (Karn's rule).
        Retransmission = "ambiguous-by-retransmission",
        /// Segments shortly before it were taken: enough for this round trip.
        Enough = "enough-taken",
        /// It was left out, because the last answer was to several segments at once: the next
        /// segment may be the one that is answered.
        OutOfStep = "left-out",
        /// Every slot waited for an answer.
        SlotsBlocked = "slots-blocked",
        /// An answer named a later segment: that to this one was lost, or stands for several.
        Overtaken = "answer-overtaken",
        /// The answer acknowledged nothing new (RFC 7323, section 4.1): the first answer may have
        /// been lost, and this is a later one.
        NothingNew = "answer-acknowledges-nothing-new",
        /// The answer was captured before the segment.
        TimeBackwards = "time-runs-backwards",
        /// No answer came while it was waited for.
        Unanswered = "unanswered",
        /// The monitor has never seen a packet of the other direction.
        OneDirection = "other-direction-unseen",
    }
}

/// How a connection's round trips are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Nothing was seen that could tell.
    Unknown,
    /// By the timestamps option: first sight of a value, first echo of it.
    Timestamps,
    /// By sequence and acknowledgement numbers with Karn's rule.
    SequenceNumbers,
}

/// A round trip that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The flow's number, in order of first sight.
    pub flow: u64,
    /// From where to where.
    pub path: Path,
    /// True if the data that was timed went from the initiator to the responder.
    pub from_initiator: bool,
    /// When it ended, in nanoseconds.
    pub time: u64,
    /// How long it took, in nanoseconds.
    pub nanoseconds: u64,
}

/// Record kept of one flow's round trips, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    /// How many were taken.
    pub count: u64,
    /// All of them together.
    pub sum: u64,
    /// The shortest; meaningless if there is none.
    pub least: u64,
    /// The longest.
    pub most: u64,
    /// The last; 0 if there is none.
    pub latest: u64,
}

impl Default for Durations {
    fn default() -> Self {
        Self { count: 0, sum: 0, least: u64::MAX, most: 0, latest: 0 }
    }
}

impl Durations {
    /// Counts one.
    pub fn add(&mut self, nanoseconds: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(nanoseconds);
        self.least = self.least.min(nanoseconds);
        self.most = self.most.max(nanoseconds);
        self.latest = nanoseconds;
    }
}
