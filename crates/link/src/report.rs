//! What is told of one way, under the simulator's names and some of its own.

use serde::Serialize;
use vermilion_netsim::results::{LedgerResults, LinkMetrics, Spans, Summary};

/// Measurements of one way of a link.
#[derive(Clone, Debug, Serialize)]
pub struct WayReport {
    /// Description of a link as the simulator gives it.
    #[serde(flatten)]
    pub spans: Spans<LinkMetrics>,
    /// Its books, from time 0.
    pub ledger: LedgerResults,
    /// Facts that only an emulator has to tell.
    pub emulator: EmulatorReport,
}

/// Facts that an emulator has to tell beside what a link does.
#[derive(Clone, Debug, Serialize)]
pub struct EmulatorReport {
    /// Counts, from time 0.
    #[serde(flatten)]
    pub carried: Carried,
    /// Bits per second whose transmission began, over the measured time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput_bit_per_s: Option<f64>,
    /// Packets on the wire.
    pub on_the_wire: u64,
    /// How much later packets were handed on than the link would have delivered them, in
    /// microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing_error_us: Option<Summary>,
    /// Packets that somebody wanted to see and for whose notes there was no room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_seen: Option<u64>,
}

/// Fate of packets outside of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Carried {
    /// Packets handed on.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets that nobody took at the other end.
    pub refused: u64,
    /// Packets for which the pool had no place.
    pub no_room: u64,
    /// Packets that are larger than a place.
    pub too_long: u64,
    /// Arrivals that were no packets that can be carried.
    pub unusable: u64,
    /// Changes of the discipline that it refused when their time had come.
    pub changes_refused: u64,
}
