//! How a group's data packets fared over one stretch of time: their delay, its jitter, their loss.
//!
//! Delays are filed less what every packet of the group needs at the least, so that a percentile is
//! within 0.4 % of what varies and not of a round trip across an ocean. Mean, standard deviation,
//! minimum and maximum are exact.

use serde::Serialize;

use crate::histogram::Distribution;
use crate::quantiles::Summary;

/// Nanoseconds to milliseconds.
const MILLISECONDS: f64 = 1e-6;

/// Everything measured of a group's data packets over a window.
#[derive(Clone, Debug, Default)]
pub struct PacketWindow {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets dropped by a queue or lost on a wire.
    pub lost: u64,
    /// Delays of the packets that arrived, less the least possible, in nanoseconds.
    delays: Distribution,
    /// How many those are, the sum of their squares, and the greatest complement of one: that of the smallest.
    delivered: u64,
    squares: u128,
    complement: u64,
    /// Arrivals that have none before them of their flow, and by how much the delays of successive ones differ in all.
    firsts: u64,
    differences: u128,
    /// Runs of losses, the packets in them, and those in the longest.
    runs: u64,
    in_runs: u64,
    longest: u64,
}

impl PacketWindow {
    /// A packet has arrived with a delay of `beyond` nanoseconds more than the least possible.
    #[inline(always)] // for every packet
    pub fn count_arrival(&mut self, beyond: u64) {
        if !beyond > self.complement {
            self.complement = !beyond;
        }
        self.delivered += 1;
        self.squares += u128::from(beyond) * u128::from(beyond);
        self.delays.count(beyond);
    }

    /// The delays of two successive arrivals of one flow differ by so many nanoseconds.
    pub fn count_difference(&mut self, difference: u64) {
        self.differences += u128::from(difference);
    }

    /// The first packet of a flow has arrived.
    #[cold]
    pub fn count_first(&mut self) {
        self.firsts += 1;
    }

    /// A flow has lost so many packets one after the other.
    pub fn count_run(&mut self, length: u64) {
        self.runs += 1;
        self.in_runs += length;
        self.longest = self.longest.max(length);
    }

    /// Packets sent, less those that arrived or were lost: by how much more the network holds of
    /// them at the window's end than at its beginning.
    pub fn growth(&self) -> i64 {
        self.sent as i64 - self.delivered as i64 - self.lost as i64
    }

    /// Adds what another window holds.
    pub fn merge(&mut self, other: &Self) {
        if other.delivered > 0 {
            self.delays.merge(&other.delays);
        }
        self.complement = self.complement.max(other.complement);
        self.sent += other.sent;
        self.lost += other.lost;
        self.delivered += other.delivered;
        self.squares += other.squares;
        self.firsts += other.firsts;
        self.differences += other.differences;
        self.runs += other.runs;
        self.in_runs += other.in_runs;
        self.longest = self.longest.max(other.longest);
    }

    /// Begins anew, keeping the memory.
    pub fn clear(&mut self) {
        let mut delays = std::mem::take(&mut self.delays);
        if self.delivered > 0 {
            delays.clear();
        }
        *self = Self { delays, ..Self::default() };
    }

    /// Times that users see; `least` is what every packet needs at the least, in nanoseconds.
    pub fn metrics(&self, least: u64) -> PacketMetrics {
        let settled = self.delivered + self.lost;
        let pairs = self.delivered - self.firsts;
        PacketMetrics {
            packets_sent: self.sent,
            packets_delivered: self.delivered,
            packets_lost: self.lost,
            packet_loss_rate: (settled > 0).then(|| self.lost as f64 / settled as f64),
            losses_in_a_row: (self.runs > 0).then(|| LossRuns {
                count: self.runs,
                mean: self.in_runs as f64 / self.runs as f64,
                max: self.longest,
            }),
            delay_ms: self.delay(least),
            jitter_ms: (pairs > 0).then(|| self.differences as f64 / pairs as f64 * MILLISECONDS),
            jitter_pairs: pairs,
        }
    }

    fn delay(&self, least: u64) -> Option<Summary> {
        let count = u128::from(self.delivered);
        let sum = self.delays.sum();
        let milliseconds = |beyond: f64| (least as f64 + beyond) * MILLISECONDS;
        let quantile = |fraction| {
            Some(milliseconds(self.delays.quantile(fraction)?.max(!self.complement as f64)))
        };
        // Whole numbers, because the difference of two large ones of them is exact.
        let spread = count
            .checked_mul(self.squares)
            .zip(sum.checked_mul(sum))
            .map_or_else(|| self.rounded_spread(), |(squares, square)| (squares - square) as f64);
        Some(Summary {
            mean: milliseconds(self.delays.mean()?),
            sd: spread.sqrt() / count as f64 * MILLISECONDS,
            p5: quantile(0.05)?,
            p50: quantile(0.5)?,
            p95: quantile(0.95)?,
            p99: quantile(0.99)?,
            max: milliseconds(self.delays.maximum()? as f64),
        })
    }

    /// Count times the sum of squares less the square of the sum, where they are too large.
    fn rounded_spread(&self) -> f64 {
        let sum = self.delays.sum() as f64;
        (self.delivered as f64 * self.squares as f64 - sum * sum).max(0.0)
    }
}

/// How a group's data packets fared over a span.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PacketMetrics {
    /// Packets that were sent.
    pub packets_sent: u64,
    /// Packets that reached their receiver.
    pub packets_delivered: u64,
    /// Packets dropped by a queue or lost on a wire.
    pub packets_lost: u64,
    /// Of the packets that were delivered or lost, the share that was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_loss_rate: Option<f64>,
    /// Packets of one flow lost one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses_in_a_row: Option<LossRuns>,
    /// From the sender to the receiver, over the packets that were delivered, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Summary>,
    /// By how much the delays of successive packets of a flow differ, on average, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<f64>,
    /// The pairs of successive packets that the jitter is the mean over.
    pub jitter_pairs: u64,
}

/// Runs of losses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossRuns {
    /// How many.
    pub count: u64,
    /// Mean length in packets.
    pub mean: f64,
    /// Packets in the longest.
    pub max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(delays: &[u64]) -> PacketWindow {
        let mut window = PacketWindow::default();
        delays.iter().for_each(|&delay| window.count_arrival(delay));
        window
    }

    #[test]
    fn moments_of_merged_windows_are_those_of_all_packets_together() {
        // 5 ms and 1, 2, 3, 10 ms: mean 9, variance (9 + 4 + 1 + 36) / 4 = 12.5.
        let mut both = PacketWindow::default();
        both.merge(&window(&[10_000_000]));
        both.merge(&window(&[1_000_000, 3_000_000, 2_000_000]));
        both.merge(&PacketWindow { sent: 3, lost: 1, ..PacketWindow::default() });
        let metrics = both.metrics(5_000_000);
        let delay = metrics.delay_ms.unwrap();
        assert_eq!((delay.mean, delay.max), (9.0, 15.0));
        assert!((delay.sd - 12.5_f64.sqrt()).abs() < 1e-12);
        assert!((delay.p50 - 7.0).abs() <= 0.004 * 2.0);
        assert_eq!(metrics.packet_loss_rate, Some(0.2));
        assert_eq!(both.growth(), 3 - 4 - 1);
        both.clear();
        assert_eq!(both.metrics(5_000_000), PacketWindow::default().metrics(0));
    }

    #[test]
    fn a_single_delay_is_every_statistic_exactly_and_does_not_vary() {
        let delay = window(&[1_234_567; 3]).metrics(100_000_000).delay_ms.unwrap();
        for value in [delay.mean, delay.p5, delay.p50, delay.p99, delay.max] {
            assert!((value - 101.234_567).abs() < 1e-12, "{value}");
        }
        assert_eq!(delay.sd, 0.0);
    }

    #[test]
    fn the_spread_of_delays_whose_squares_are_too_large_is_rounded() {
        let days = 900_000_000_000_000;
        let mut window = window(&[days, days / 2]);
        for _ in 0..26 {
            let same = window.clone();
            window.merge(&same);
        }
        let delay = window.metrics(0).delay_ms.unwrap();
        // Half of them at each of two values: the deviation is half their distance.
        assert!((delay.sd / (days as f64 / 4.0 * 1e-6) - 1.0).abs() < 1e-6, "{}", delay.sd);
    }

    #[test]
    fn nothing_measured_means_nothing_known() {
        let metrics = PacketWindow::default().metrics(7);
        assert_eq!((metrics.delay_ms, metrics.jitter_ms), (None, None));
        assert_eq!((metrics.packet_loss_rate, metrics.losses_in_a_row), (None, None));
    }
}
