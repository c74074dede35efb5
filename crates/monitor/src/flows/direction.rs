use crate::holes::Holes;
use crate::round_trips::{Durations, Reactions, Slots};
use crate::tally::{Tally, reasons};

reasons! {
    /// Kind of a TCP segment with data (or SYN or FIN), judged by what was seen before it.
    pub enum Order {
        /// It has data that the monitor has not seen yet, behind all that it has seen.
        New = "new",
        /// The monitor has seen its data before: it was lost beyond the monitor, or was not lost.
        SentAgain = "sent-again",
        /// The monitor has seen what follows its data, but not its data, and it was sent after
        /// that: it was lost before the monitor.
        SentAgainUnseen = "sent-again-lost-before-monitor",
        /// It was sent before segments that were seen before it, and its data was not seen yet.
        Reordered = "reordered",
        /// It was seen before, and this is not a retransmission: the network or the capture has
        /// doubled it.
        Copy = "copy",
        /// Sent again or reordered; what was seen does not tell.
        Doubtful = "doubtful",
        /// The last byte that was sent, once more: asks whether the other end is still there. (Linux
        /// sends no byte at all; that counts as a pure acknowledgement.)
        KeepAlive = "keep-alive",
    }
}

/// The packets that a sender sent before anything of its data had been acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstFlight {
    /// How many.
    pub packets: u32,
    /// Bytes of data in them.
    pub bytes: u32,
    /// When the first passed.
    pub first: u64,
    /// When the last passed.
    pub last: u64,
    /// The longest time between one and the next.
    pub widest: u64,
    /// True if anything is wrong with it: merged packets, retransmissions, no times.
    pub spoilt: bool,
    /// True if it is over.
    pub over: bool,
}

/// Copy of the last segment's fields, to recognise a copy of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Print {
    pub sequence: u32,
    pub acknowledgement: u32,
    pub payload: u32,
    pub value: u32,
    pub echo: u32,
}

/// State kept of one direction of a flow. Its size does not depend on the traffic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Direction {
    /// Packets, counted as they were captured.
    pub packets: u64,
    /// Their bytes from the IP header on.
    pub bytes: u64,
    /// Bytes of data of TCP; what was sent again counts again.
    pub payload: u64,
    /// Packets by ECN field: Not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    /// Segments with ECE, but for those of handshakes and those of accurate ECN.
    pub ece: u64,
    /// Segments with CWR, likewise.
    pub cwr: u64,
    /// Packets that are larger than a link could carry: several that were captured as one.
    pub merged: u64,
    /// How many packets those merged were, at least.
    pub merged_from: u64,
    /// Segments with data by what they are.
    pub order: Tally<Order>,
    /// How often data was acknowledged that the monitor had not seen.
    pub acknowledged_unseen: u64,
    /// The most data that was under way at once, as the monitor saw it.
    pub most_in_flight: u32,
    /// Round trips between the monitor and the receiver of this direction.
    pub beyond: Durations,
    /// Whole round trips of this direction's data.
    pub whole: Durations,
    /// First sending.
    pub first_flight: FirstFlight,
    /// True if a FIN was seen.
    pub fin: bool,

    /// The largest segment that this direction's sender wants to get; 0 if that is unknown.
    pub(super) largest_segment: u16,
    /// The number of the SYN, if it was seen.
    pub(super) initial: Option<u32>,
    /// Behind the last byte seen, if any was.
    pub(super) next: Option<u32>,
    /// Number up to which the other end has acknowledged of this direction, if any of it was seen.
    pub(super) acknowledged: Option<u32>,
    /// The newest timestamp.
    pub(super) newest: Option<u32>,
    /// When the last hole opened.
    pub(super) hole_time: u64,
    /// True if a coin decides if the next segment is left out, since the last was answered with
    /// others.
    pub(super) tosses: bool,
    /// The longest round trip beyond the monitor lately. An eighth of it lies between segments that
    /// are timed: were it an eighth of the latest, short ones would be taken more often than long ones.
    pub(super) longest: u64,
    /// How long this direction's sender takes from an answer to what it sets off.
    pub(super) reactions: Reactions,
    /// When a segment was last put into a slot.
    pub(super) waited: u64,
    pub(super) holes: Holes,
    /// Segments that wait for their answer.
    pub(super) slots: Slots,
    /// Answers that wait for this direction's sender to name them; with the instant at which what
    /// they answer had passed.
    pub(super) chain: Slots,
    pub(super) print: Print,
}

impl Direction {
    /// Frees all slots: how many segments waited for an answer, and how many answers to be named.
    pub(crate) fn stop_waiting(&mut self) -> (u64, u64) {
        (self.slots.clear(), self.chain.clear())
    }

    /// Return true if its SYN was seen.
    pub(crate) fn opened(&self) -> bool {
        self.initial.is_some()
    }

    /// Data that was sent and not acknowledged, in bytes; `None` if that cannot be known.
    pub(super) fn in_flight(&self) -> Option<u32> {
        let flight = crate::sequence::ahead(self.next?, self.acknowledged?);
        Some(u32::try_from(flight).unwrap_or(0))
    }
}

/// How a sender sent its first flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sending {
    /// It cannot be told.
    Unknown,
    /// Without pauses: it does not pace.
    AtOnce,
    /// Evenly spread: it paces, or a slow link before the monitor has spread what it sent at once.
    Spread,
}

impl FirstFlight {
    /// Tells how it was sent, from the round trip of the handshake.
    ///
    /// At once: within a sixteenth of the round trip. Spread: over at least a quarter of it, with no
    /// gap longer than twice the mean. Anything else, fewer than five packets, merged packets, or
    /// packets sent again: unknown.
    pub fn sending(&self, handshake_nanoseconds: Option<u64>) -> Sending {
        const FEWEST: u32 = 5;
        let Some(round_trip) = handshake_nanoseconds.filter(|&round_trip| round_trip > 0) else {
            return Sending::Unknown;
        };
        if self.spoilt || self.packets < FEWEST {
            return Sending::Unknown;
        }
        let spread = self.last - self.first;
        let mean = spread / u64::from(self.packets - 1);
        if spread <= round_trip / 16 {
            Sending::AtOnce
        } else if spread >= round_trip / 4 && self.widest <= 2 * mean {
            Sending::Spread
        } else {
            Sending::Unknown
        }
    }
}
