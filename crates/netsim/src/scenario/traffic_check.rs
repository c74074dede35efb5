//! What no group of flows can send.

use vermilion_parameters::ParameterError;

use super::traffic::MOST_TRACE_ROWS;
use super::{FlowGroup, LARGEST_TRANSFER, MOST_TRANSFERS, Traffic, Video};
use crate::limits::{HIGHEST_RATE, LONGEST_DURATION, MOST_SEGMENTS, within};
use crate::variate::Variate;

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
        match &self.traffic {
            Traffic::Bulk => Ok(()),
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
            Traffic::Requests { size: sizes, think_ns, .. } => {
                size(sizes).and(time("think", think_ns))
            }
            Traffic::Video(video) => video.check(self.largest_transfer()),
            Traffic::Trace { starts_ns, sizes_bytes } => self.check_trace(starts_ns, sizes_bytes),
            Traffic::ConstantRate { .. } | Traffic::Poisson { .. } | Traffic::OnOff { .. } => {
                self.traffic.check_open_loop(self.packet_size_bytes)
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
            Traffic::Requests { think_ns, .. } => {
                let off = think_ns.mean().min(think_ns.median());
                count * active / (off + self.rtt_ns.shortest() as f64)
            }
            Traffic::Video(video) => count * (active / video.segment_ns as f64 + 1.0),
            Traffic::Trace { starts_ns, .. } => starts_ns.len() as f64,
            _ => 0.0,
        }
    }
}

impl Video {
    fn check(&self, largest: u64) -> Result<(), ParameterError> {
        let rates = &self.rates_bit_per_s;
        let ascend = rates.windows(2).all(|pair| pair[0] < pair[1]);
        let within_range = |rate: &f64| (1.0..=HIGHEST_RATE as f64).contains(rate);
        if rates.is_empty() || rates.len() > 100 || !ascend || !rates.iter().all(within_range) {
            let accepted = format!("1 to 100 ascending rates from 1 to {HIGHEST_RATE} bit/s");
            return Err(ParameterError::new("rates", format!("{rates:?}"), accepted));
        }
        within("segment", self.segment_ns, 1_000_000, LONGEST_DURATION, "ns")?;
        within("buffer", self.buffer_ns, self.segment_ns, LONGEST_DURATION, "ns")?;
        let bytes = rates[rates.len() - 1] * self.segment_ns as f64 / 8e9;
        within("segment", bytes as u64, 0, largest, "bytes at the highest rate")
    }
}

fn time(field: &str, time: &Variate) -> Result<(), ParameterError> {
    time.check(1.0, LONGEST_DURATION as f64, "ns").map_err(|error| error.under(field))
}

impl Traffic {
    /// Checks traffic of packets of so many bytes that must be open-loop.
    ///
    /// # Errors
    /// Other traffic, or the first field that cannot be used.
    pub fn check_open_loop(&self, packet_size: u32) -> Result<(), ParameterError> {
        let Some(rate) = self.open_loop_rate() else {
            let accepted = "constant-rate, poisson, or on-off with a rate";
            return Err(ParameterError::new("kind", "another", accepted));
        };
        if !(1e-3..=HIGHEST_RATE as f64).contains(&rate) {
            let accepted = format!("from 0.001 to {HIGHEST_RATE} bit/s");
            return Err(ParameterError::new("rate", rate, accepted));
        }
        let Self::OnOff { on_ns, off_ns, .. } = self else { return Ok(()) };
        time("on", on_ns)?;
        time("off", off_ns)?;
        // Otherwise a packet could need any number of on times.
        let (median, least) = (on_ns.median(), f64::from(packet_size) * 8e6 / rate);
        if median >= least {
            return Ok(());
        }
        let accepted = format!("at least {least} ns, a thousandth of the time per packet");
        Err(ParameterError::new("on", format!("a median of {median} ns"), accepted))
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
