use crate::delivery_rate::LossSample;

/// Report of one acknowledgement, in the terms of the draft (RS and C). Segments, seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Report {
    /// Now, in nanoseconds.
    pub(super) now: u64,
    /// Segments newly delivered (`RS.newly_acked`).
    pub(super) newly: f64,
    /// Segments delivered so far (`C.delivered`).
    pub(super) delivered: u64,
    /// Segments delivered when the newest one delivered was sent (`RS.prior_delivered`).
    pub(super) prior_delivered: u64,
    /// Delivery rate in segments per second, 0 if unknown.
    pub(super) rate: f64,
    /// Segments delivered since the newest one delivered was sent (`RS.delivered`).
    pub(super) volume: f64,
    /// Segments in the network after the acknowledgement.
    pub(super) in_network: f64,
    /// Segments in the network before the acknowledgement.
    pub(super) in_network_before: f64,
    /// Segments in the network when the segment in question was sent (`RS.tx_in_flight`).
    pub(super) sent_in_network: f64,
    /// Segments lost since then.
    pub(super) lost: f64,
    /// True if the sender had run out of data when it was sent.
    pub(super) application_limited: bool,
    /// The round trip timed, in nanoseconds.
    pub(super) round_trip: Option<u64>,
    /// True if lost segments are being repaired.
    pub(super) in_recovery: bool,
    /// True if losses were newly found.
    pub(super) losses: bool,
    /// The loss to be judged.
    pub(super) loss: Option<LossSample>,
    /// True if this acknowledges the first segment sent after an idle time.
    pub(super) after_idle: bool,
    /// The window before the acknowledgement.
    pub(super) window: f64,
    /// True if the window was full within the last round (`C.is_cwnd_limited`).
    pub(super) window_full: bool,
}

impl Report {
    /// A copy, for a call that is rare.
    #[inline(always)]
    pub(super) fn apart(&self) -> Self {
        *self
    }
}
