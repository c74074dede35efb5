//! What a flow sends, as the core takes it, and the rules for it.

use serde::Deserialize;
use vermilion_parameters::ParameterError;

use super::{FlowGroup, HIGHEST_RATE, LONGEST_DURATION, MOST_FLOWS, within};
use crate::traffic::MOST_SEGMENTS;
use crate::variate::Variate;

/// Largest transfer: a terabyte. Drawn sizes beyond it are cut to it.
pub const LARGEST_TRANSFER: u64 = 1_000_000_000_000;
/// Most transfers that all the groups of a run may be expected to begin.
pub const MOST_TRANSFERS: u64 = 10_000_000;
/// Most transfers of one trace.
pub const MOST_TRACE_ROWS: u64 = 1_000_000;

/// What a flow sends.
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
        /// Whether sizes are all equal or exponential with the same mean.
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
    #[must_use]
    pub fn open_loop_rate(&self) -> Option<f64> {
        match self {
            Self::ConstantRate { rate_bit_per_s }
            | Self::Poisson { rate_bit_per_s, .. }
            | Self::OnOff { rate_bit_per_s, .. } => Some(*rate_bit_per_s),
            _ => None,
        }
    }

    /// Whether flows come and go while the network runs.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        matches!(self, Self::Web { .. } | Self::Bursts { .. } | Self::Trace { .. })
    }

    /// Whether its flows have an end of their own, so that completion times exist.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.is_dynamic() || matches!(self, Self::Transfer { .. })
    }
}

impl FlowGroup {
    pub(super) fn check_traffic(&self) -> Result<(), ParameterError> {
        match (self.traffic.open_loop_rate(), &self.sender) {
            (None, None) => {
                let accepted = "a sender, unless traffic is open-loop";
                return Err(ParameterError::new("sender", "nothing", accepted));
            }
            (Some(_), Some(_)) => {
                let accepted = "no sender: open-loop traffic has none";
                return Err(ParameterError::new("sender", "a sender", accepted));
            }
            (Some(rate), None) if !(1e-3..=HIGHEST_RATE as f64).contains(&rate) => {
                let accepted = format!("from 0.001 to {HIGHEST_RATE} bit/s");
                return Err(ParameterError::new("traffic.rate", rate, accepted));
            }
            (Some(rate), None)
                if self.access_rate_bit_per_s.is_some_and(|access| rate > access as f64) =>
            {
                let access = self.access_rate_bit_per_s.unwrap_or_default();
                let accepted = format!("at most the access rate, {access} bit/s");
                return Err(ParameterError::new("traffic.rate", rate, accepted));
            }
            _ => {}
        }
        if matches!(self.traffic, Traffic::Trace { .. }) {
            within("count", u64::from(self.count), 1, 1, "flow, whose transfers a trace lists")?;
        }
        self.check_kind().map_err(|error| error.under("traffic"))
    }

    fn check_kind(&self) -> Result<(), ParameterError> {
        let size = |size: &Variate| {
            size.check(1.0, self.largest_transfer() as f64, "bytes")
                .map_err(|error| error.under("size"))
        };
        let time = |field: &str, time: &Variate| {
            time.check(1.0, LONGEST_DURATION as f64, "ns").map_err(|error| error.under(field))
        };
        match &self.traffic {
            Traffic::Bulk | Traffic::ConstantRate { .. } | Traffic::Poisson { .. } => Ok(()),
            Traffic::Transfer { size_bytes } => {
                within("size", *size_bytes, 1, self.largest_transfer(), "bytes")
            }
            Traffic::Web { mean_gap_ns, size: sizes } => {
                if !(1.0..=LONGEST_DURATION as f64).contains(mean_gap_ns) {
                    let accepted = format!("from 1 to {LONGEST_DURATION} ns");
                    return Err(ParameterError::new("mean_gap", mean_gap_ns, accepted));
                }
                size(sizes)
            }
            Traffic::Bursts { size: sizes, off_ns } => size(sizes).and(time("off", off_ns)),
            Traffic::Trace { starts_ns, sizes_bytes } => self.check_trace(starts_ns, sizes_bytes),
            Traffic::OnOff { rate_bit_per_s, on_ns, off_ns } => {
                time("on", on_ns)?;
                time("off", off_ns)?;
                let gap = f64::from(self.packet_size_bytes) * 8e9 / rate_bit_per_s;
                // Otherwise a packet could need any number of on times.
                let (median, least) = (on_ns.median(), gap / 1000.0);
                if median >= least {
                    return Ok(());
                }
                let accepted = format!("at least {least} ns, a thousandth of the time per packet");
                Err(ParameterError::new("on", format!("a median of {median} ns"), accepted))
            }
        }
    }

    fn check_trace(&self, starts: &[u64], sizes: &[u64]) -> Result<(), ParameterError> {
        within("rows", starts.len() as u64, 1, MOST_TRACE_ROWS, "transfers")?;
        if starts.len() != sizes.len() {
            let accepted = format!("as many sizes as starts, {}", starts.len());
            return Err(ParameterError::new("sizes", sizes.len(), accepted));
        }
        for (&start, &size) in starts.iter().zip(sizes) {
            within("start", start, 0, LONGEST_DURATION, "ns")?;
            within("size", size, 1, self.largest_transfer(), "bytes")?;
        }
        match starts.windows(2).find(|pair| pair[0] > pair[1]) {
            None => Ok(()),
            Some(pair) => {
                let accepted = format!("ascending starts, {} or later", pair[0]);
                Err(ParameterError::new("start", pair[1], accepted))
            }
        }
    }

    fn largest_transfer(&self) -> u64 {
        let payload = u64::from(self.packet_size_bytes - self.header_size_bytes);
        LARGEST_TRANSFER.min(payload * u64::from(MOST_SEGMENTS))
    }

    /// Transfers to be expected in a run of `duration` nanoseconds.
    fn expected_transfers(&self, duration: u64) -> f64 {
        let stop = self.stop_ns.map_or(duration, |stop| stop.1.min(duration));
        let active = stop.saturating_sub(self.start_ns.0) as f64;
        let count = f64::from(self.count);
        match &self.traffic {
            Traffic::Web { mean_gap_ns, .. } => count * active / mean_gap_ns,
            // A round trip opens the connection and another at least is needed for the data.
            Traffic::Bursts { off_ns, .. } => {
                let off = off_ns.mean().min(off_ns.median());
                count * active / (off + 2.0 * self.rtt_ns.shortest() as f64)
            }
            Traffic::Trace { starts_ns, .. } => starts_ns.len() as f64,
            _ => 0.0,
        }
    }
}

/// Refuses groups that together would begin more transfers than a run should have.
pub(super) fn check_transfers(groups: &[FlowGroup], duration: u64) -> Result<(), ParameterError> {
    let mut sum = 0.0;
    for group in groups {
        let expected = group.expected_transfers(duration);
        sum += expected;
        if sum > MOST_TRANSFERS as f64 {
            let accepted = format!("at most {MOST_TRANSFERS} in all groups of a run");
            let value = format!("about {expected:.0} transfers");
            let error = ParameterError::new("traffic", value, accepted);
            return Err(error.under(&format!("flows.{}", group.name)));
        }
    }
    Ok(())
}

/// Most transfers under way at once: as many as there may be flows.
pub const MOST_AT_ONCE: usize = MOST_FLOWS as usize;
