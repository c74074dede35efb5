//! What a sender can be told.

use crate::{AnyRule, RecoveryOptions, TimerRules};

/// Quantity halved when a loss is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossWindow {
    /// The congestion window (ns-2).
    CongestionWindow,
    /// Segments outstanding (RFC 5681, equation 4).
    FlightSize,
    /// Segments outstanding and neither reported nor lost (RFC 6675's pipe, as ns-3 has it).
    Pipe,
}

/// Consequence of a lost SYN, besides that it is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeLoss {
    /// Consequence of any timeout: the threshold falls to two segments, and slow start is over when the connection
    /// opens (ns-2).
    Timeout,
    /// The connection opens with a window of one segment (RFC 5681, section 3.1).
    OneSegment,
    /// The same, unless the SYN was sent again only once (Linux: `tcp_init_transfer`).
    OneSegmentFromSecond,
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

/// How marks are told to the sender and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Data is not ECN-capable.
    Off,
    /// The echo of RFC 3168.
    Classic,
    /// The count of RFC 9768.
    Accurate,
    /// The count of RFC 9768, and data is sent as ECT(1) (RFC 9331).
    Scalable,
}

/// Options about marks.
#[derive(Clone, Copy, Debug)]
pub struct EcnOptions {
    /// How they are told.
    pub feedback: Ecn,
    /// True if data that is sent again is ECN-capable too.
    pub capable_retransmissions: bool,
    /// True if the SYN is ECN-capable too.
    pub capable_handshake: bool,
    /// True if a connection whose SYN is lost goes on without ECN.
    pub fallback: bool,
}

/// Options of a sender. Windows in segments.
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// Window rule.
    pub rule: AnyRule,
    /// Loss recovery.
    pub recovery: RecoveryOptions,
    /// Largest window the receiver allows.
    pub window_cap: f64,
    /// Window once the connection is open.
    pub initial_window: f64,
    /// Window at which the first slow start ends.
    pub slow_start_threshold: f64,
    /// Quantity halved when a loss is noticed.
    pub loss_window: LossWindow,
    /// True if windows grow by the segments acknowledged (RFC 3465) instead of by one for each
    /// acknowledgement.
    pub byte_counting: bool,
    /// True if only a window that is used grows, and one that is not shrinks (RFC 7661, RFC 2861).
    pub window_validation: bool,
    /// Rules of the retransmission timer.
    pub timer: TimerRules,
    /// True if every acknowledgement times a round trip (RFC 7323).
    pub timestamps: bool,
    /// True if a SYN precedes the data.
    pub handshake: bool,
    /// Consequence of a lost SYN.
    pub handshake_loss: HandshakeLoss,
    /// Retransmissions of the SYN that do not back the timer off.
    pub linear_handshake_timeouts: u8,
    /// Explicit congestion notification.
    pub ecn: EcnOptions,
    /// True if segments are spaced over the round trip.
    pub pacing: bool,
}
