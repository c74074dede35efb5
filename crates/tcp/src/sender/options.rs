//! What a sender can be told.

use vermilion_parameters::{choices, settings};

use super::marks::{Ecn, EcnFeedback, MarkSettings};
use crate::option_sets::OptionSet;
use crate::receiver::ReceiverSettings;
use crate::recovery::{Recovery, RecoverySettings};
use crate::round_trip::TimerSettings;
use crate::rule::{GrowthSettings, WindowRule};
use crate::rules::AnyRule;
use crate::window::WindowSettings;

settings! {
    /// Settings of when segments leave.
    pub SendingSettings;
    /// segments are spaced over the round trip
    pacing: bool = false, "Linux, fq";
    /// recovery by time: segments leave in bursts of what a millisecond carries, at least two; less waits for the next
    /// acknowledgement if that is near; with pacing bursts are spaced
    segmentation_offload: bool = false, "Linux: tcp_tso_should_defer";
    /// only a window that is used grows, and one that is not used for a timeout shrinks
    window_validation: bool = false, "RFC 7661, RFC 2861; Linux: tcp_cwnd_validate";
}

choices! {
    /// Consequence of a lost SYN, besides that it is sent again.
    pub HandshakeLoss {
        /// Consequence of any timeout: the threshold falls to two segments, and slow start is over when the connection
        /// opens (ns-2).
        Timeout = "timeout",
        /// The connection opens with a window of one segment (RFC 5681, section 3.1).
        OneSegment = "rfc5681",
        /// The same, unless the SYN was sent again only once (Linux: `tcp_init_transfer`).
        OneSegmentFromSecond = "linux",
    }
}

settings! {
    /// Settings of how a connection opens.
    pub HandshakeSettings;
    /// a 40-byte exchange (SYN) precedes the data
    handshake: bool = true, "ns-2.35: syn_";
    /// what follows from a lost SYN: the same as from any timeout, so that slow start ends at two segments, or (rfc5681)
    /// a connection that opens with one segment, or (linux) the same from the second lost SYN on
    handshake_loss: HandshakeLoss = Timeout,
        "ns-2.35: TcpAgent::timeout; RFC 5681, section 3.1; Linux: tcp_init_transfer, tcp_init_metrics";
    /// times that the SYN is sent again before the timer backs off
    linear_handshake_timeouts: u8 = 0 in [0, 200], "Linux: tcp_syn_linear_timeouts";
}

settings! {
    /// Settings that every sender has. The defaults are those of ns-2.35, except for the window's cap, which ns-2 sets
    /// to 20 segments and everybody raises.
    pub CommonSettings;
    ..option_set: OptionSet;
    ..window: WindowSettings;
    ..timer: TimerSettings;
    ..growth: GrowthSettings;
    ..repair: RecoverySettings;
    ..sending: SendingSettings;
    ..marks: MarkSettings;
    ..opening: HandshakeSettings;
    ..receiver: ReceiverSettings;
}

impl HandshakeLoss {
    /// The window with which a connection opens whose SYN was sent again so many times, and which would be `usual`.
    pub(crate) fn window(self, repetitions: u64, usual: f64) -> f64 {
        let tolerated = match self {
            Self::Timeout => u64::MAX,
            Self::OneSegment => 0,
            Self::OneSegmentFromSecond => 1,
        };
        if repetitions > tolerated { 1.0 } else { usual }
    }
}

/// A sender put together.
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// Window rule.
    pub rule: AnyRule,
    /// Loss recovery.
    pub recovery: Recovery,
    /// True if its data is ECT(1).
    pub scalable: bool,
    /// Settings that every sender has.
    pub common: CommonSettings,
}

impl SenderOptions {
    /// A sender whose data is ECT(0), if it is ECN-capable.
    pub(crate) fn new(
        common: CommonSettings,
        recovery: Recovery,
        rule: impl Into<AnyRule>,
    ) -> Self {
        Self { rule: rule.into(), recovery, scalable: false, common }
    }

    /// How marks are told to it and answered.
    pub fn feedback(&self) -> Ecn {
        match self.common.marks.ecn_feedback {
            _ if !self.common.marks.ecn => Ecn::Off,
            EcnFeedback::Classic => Ecn::Classic,
            EcnFeedback::Accurate if self.scalable => Ecn::Scalable,
            EcnFeedback::Accurate => Ecn::Accurate,
        }
    }

    /// Return true if segments leave in bursts that are worth it (`sender/segmentation.rs`).
    pub fn leaves_in_bursts(&self) -> bool {
        let SendingSettings { pacing, segmentation_offload, .. } = self.common.sending;
        // BBR 1 has bursts of its own; BBR 3 and Prague space every segment.
        segmentation_offload && !(pacing && (self.rule.governs_window() || self.scalable))
    }
}
