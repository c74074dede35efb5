//! What a flow sends, as the core takes it.

use serde::Deserialize;

use crate::limits::MOST_FLOWS;
use crate::variate::Variate;

/// Largest transfer: a terabyte. Drawn sizes beyond it are cut to it.
pub const LARGEST_TRANSFER: u64 = 1_000_000_000_000;
/// Most transfers that all the groups of a run may be expected to begin.
pub const MOST_TRANSFERS: u64 = 10_000_000;
/// Most transfers of one trace.
pub const MOST_TRACE_ROWS: u64 = 1_000_000;
/// Most transfers under way at once: as many as there may be flows.
pub const MOST_AT_ONCE: usize = MOST_FLOWS as usize;

/// Traffic that a flow sends.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Traffic {
    /// Endless data under the control of the sender.
    #[default]
    Bulk,
    /// A number of bytes under the control of the sender, once.
    Transfer {
        /// Goodput in bytes.
        size_bytes: u64,
    },
    /// Transfers that arrive in a Poisson process, each over a connection of its own.
    Web {
        /// Mean time between two arrivals of one source in nanoseconds.
        mean_gap_ns: f64,
        /// Goodput of a transfer in bytes.
        size: Variate,
    },
    /// Transfers one after the other, each over a connection of its own.
    Bursts {
        /// Goodput of a transfer in bytes.
        size: Variate,
        /// From a transfer's last acknowledgement to the next transfer, in nanoseconds.
        off_ns: Variate,
    },
    /// Transfers one after the other over one connection.
    Requests {
        /// Goodput of a transfer in bytes; it fills whole packets.
        size: Variate,
        /// From a transfer's last acknowledgement to the next transfer, in nanoseconds.
        think_ns: Variate,
        /// True if each waits until those of all flows of the group are over, and completion times are of all together.
        #[serde(default)]
        barrier: bool,
    },
    /// Segments of a video over one connection.
    Video(Video),
    /// Listed transfers, each over a connection of its own.
    Trace {
        /// When each begins, in nanoseconds after the flow's start, ascending.
        starts_ns: Vec<u64>,
        /// Goodput of each in bytes.
        sizes_bytes: Vec<u64>,
    },
    /// Packets of equal size at equal intervals, whatever happens to them.
    ConstantRate {
        /// Rate in bits per second.
        rate_bit_per_s: f64,
    },
    /// Packets at the times of a Poisson process, whatever happens to them.
    Poisson {
        /// Mean rate in bits per second.
        rate_bit_per_s: f64,
        /// True if sizes are all equal or exponential with the same mean.
        #[serde(default)]
        packet_size: PacketSize,
    },
    /// Packets at equal intervals during on times, none during off times, whatever happens to them.
    OnOff {
        /// Rate during on times in bits per second.
        rate_bit_per_s: f64,
        /// Length of an on time in nanoseconds.
        on_ns: Variate,
        /// Length of an off time in nanoseconds.
        off_ns: Variate,
    },
}

/// A video and its player.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Rates in which there are segments, in bits per second, ascending.
    pub rates_bit_per_s: Vec<f64>,
    /// Playing time of a segment in nanoseconds.
    pub segment_ns: u64,
    /// Playing time that the player keeps at most, in nanoseconds.
    pub buffer_ns: u64,
    /// Rule for the rate of the next segment.
    pub rule: BitRateRule,
}

/// Rule for the rate of a video's next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BitRateRule {
    /// By the buffer.
    Buffer,
    /// By the rates of the last downloads.
    Throughput,
}

/// Distribution of packet sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketSize {
    /// All of the same size.
    #[default]
    Constant,
    /// Exponential, rounded to whole bytes, at least one.
    Exponential,
}

impl Traffic {
    /// Rate of open-loop traffic in bits per second; `None` for what a window controls.
    pub fn open_loop_rate(&self) -> Option<f64> {
        match self {
            Self::ConstantRate { rate_bit_per_s }
            | Self::Poisson { rate_bit_per_s, .. }
            | Self::OnOff { rate_bit_per_s, .. } => Some(*rate_bit_per_s),
            _ => None,
        }
    }

    /// Return true if flows come and go while the network runs.
    pub fn is_dynamic(&self) -> bool {
        matches!(self, Self::Web { .. } | Self::Bursts { .. } | Self::Trace { .. })
            || self.keeps_connections()
    }

    /// Return true if a source's transfers share one connection.
    pub fn keeps_connections(&self) -> bool {
        matches!(self, Self::Requests { .. } | Self::Video(_))
    }

    /// Return true if the transfers of all flows of a group wait for each other.
    pub fn has_barrier(&self) -> bool {
        matches!(self, Self::Requests { barrier: true, .. })
    }

    /// Return true if its flows have an end of their own, so that completion times exist.
    pub fn is_finite(&self) -> bool {
        self.is_dynamic() || matches!(self, Self::Transfer { .. })
    }
}
