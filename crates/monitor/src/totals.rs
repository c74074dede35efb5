//! What is counted of all packets together.

use serde::Serialize;

use crate::decode::Undecoded;
use crate::flows::{End, Order, Traffic};
use crate::histogram::{Durations, Histogram};
use crate::round_trips::{NotTimed, Path};
use crate::sizes::Sizes;
use crate::tally::{Reason, Tally, reasons};

reasons! {
    /// Why a beyond round trip did not become part of a whole one.
    pub enum NotWhole {
        /// The connection is timed by sequence numbers, which do not say what made a sender send.
        SequenceNumbers = "sequence-numbers",
        /// Nothing of the sender's was under way any more: it may have waited for its application.
        /// How long it usually takes was not known, or what came took longer.
        Idle = "sender-may-have-been-idle",
        /// The answer has the timestamp of an earlier answer, which the next segment may name.
        SameTimestamp = "same-timestamp",
        /// Every slot waited for an answer to be named.
        SlotsBlocked = "slots-blocked",
        /// The sender named a later answer.
        Overtaken = "answer-overtaken",
        /// The segment that names the answer was sent before, and comes later than an answer would
        /// have set it off: a timer may have.
        Retransmission = "ambiguous-by-retransmission",
        /// The segment that names the answer was captured before what it started from.
        TimeBackwards = "time-runs-backwards",
        /// The flow ended before.
        Unanswered = "unanswered",
    }
}

reasons! {
    /// Why a packet of a flow was not counted for a flow.
    pub enum NotTracked {
        /// The table was full, and this packet would have opened a connection.
        FullOpening = "table-full-opening",
        /// The table was full, and this packet may be the first of its flow or a later one.
        Full = "table-full",
    }
}

/// The share of a kind of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Packets, as they were captured.
    pub packets: u64,
    /// Their bytes from the IP header on.
    pub bytes: u64,
}

/// Counts of all packets. Counts only grow.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Packets that were handed in.
    pub packets: u64,
    /// Their bytes with the link's header, as long as they were on the wire.
    pub wire_bytes: u64,
    /// Packets of which less was captured than there was.
    pub cut: u64,
    /// Packets whose time is before that of an earlier one.
    pub backwards: u64,
    /// Packets without a time.
    pub without_time: u64,
    /// When the first packet with a time passed.
    pub first: Option<u64>,
    /// The latest time that any packet had.
    pub last: Option<u64>,
    /// IP packets by kind of traffic.
    pub traffic: [Amount; Traffic::ALL.len()],
    /// Packets of which no more was read, by reason.
    pub undecoded: Tally<Undecoded>,
    /// Pieces of IP packets, first ones included.
    pub fragments: u64,
    /// IP packets by ECN field: Not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    /// Sizes of IP packets.
    pub sizes: Sizes,
    /// Packets that are several, captured as one.
    pub merged: u64,
    /// How many they were, at least.
    pub merged_from: u64,
    /// TCP segments of flows that are followed.
    pub segments: u64,
    /// Those with data by what they are.
    pub order: Tally<Order>,
    /// Segments with ECE and with CWR, but for those of handshakes and of accurate ECN.
    pub ece: u64,
    /// See `ece`.
    pub cwr: u64,
    /// How often data was acknowledged that the monitor had not seen.
    pub acknowledged_unseen: u64,
    /// Round trips that were taken, by [`Path`].
    pub round_trips: [Histogram; 3],
    /// Segments that gave no round trip, by reason.
    pub not_timed: Tally<NotTimed>,
    /// Round trips beyond the monitor that became no whole one, by reason.
    pub not_whole: Tally<NotWhole>,
    /// Flows that were followed.
    pub flows: u64,
    /// TCP connections whose opening was seen.
    pub openings: u64,
    /// Flows that are no longer followed, by reason.
    pub ended: Tally<End>,
    /// Packets that belong to no flow that is followed.
    pub not_tracked: Tally<NotTracked>,
}

impl Totals {
    /// Round trips of a path; `None` if there were none.
    pub fn durations(&self, path: Path) -> Option<Durations> {
        self.round_trips[path as usize].durations()
    }

    /// The share of a kind of traffic.
    pub fn amount(&self, traffic: Traffic) -> Amount {
        self.traffic[traffic as usize]
    }

    /// The share of bytes of IP that nothing is known to slow down: UDP that is not known to
    /// respond. `None` if there were no bytes.
    pub fn unresponsive_share(&self) -> Option<f64> {
        let all: u64 = self.traffic.iter().map(|amount| amount.bytes).sum();
        (all > 0).then(|| self.amount(Traffic::Udp).bytes as f64 / all as f64)
    }
}
