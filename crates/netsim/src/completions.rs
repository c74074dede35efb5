//! How long transfers took, in bounded memory.
//!
//! A transfer's completion time is the flow completion time of RFC 7928: from the first packet sent
//! (the SYN, where there is a handshake) until the last byte has arrived, in order, at the receiver.
//! A transfer belongs to the span in which it completes; transfers that do not complete have no
//! time, which is why `transfers_begun` and `completed` are reported beside the times.
//!
//! Sums are of whole numbers, so that it does not matter in which order transfers complete.

use serde::Serialize;

use crate::histogram::Distribution;

/// Completion times collected over a window: percentiles as exact as [`Distribution`] is (0.4 %),
/// the rest exact.
#[derive(Clone, Debug, Default)]
pub struct Completions {
    times: Distribution,
    count: u64,
    minimum: u64,
    /// Sum of the squares of all times, in nanoseconds. A run lasts 10^15 ns at most: of times as long there may be 10^8, and a greater sum stays
    /// at the greatest number there is.
    squares: u128,
}

impl Completions {
    /// A transfer took `time` nanoseconds.
    pub fn add(&mut self, time: u64) {
        self.times.count(time);
        self.minimum = if self.count == 0 { time } else { self.minimum.min(time) };
        self.count += 1;
        let time = u128::from(time);
        self.squares = self.squares.saturating_add(time.saturating_mul(time));
    }

    /// Return true if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds everything `other` holds.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.minimum =
            if self.count == 0 { other.minimum } else { self.minimum.min(other.minimum) };
        self.count += other.count;
        self.squares = self.squares.saturating_add(other.squares);
        self.times.merge(&other.times);
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.times.clear();
        (self.count, self.minimum, self.squares) = (0, 0, 0);
    }

    /// The mean of the squared distances from the mean.
    fn variance(&self) -> f64 {
        let count = u128::from(self.count);
        // From the whole number below the mean first, which is exact, and then from the mean.
        let sum = self.times.sum();
        let (mean, rest) = (sum / count, sum % count);
        let squares = self.squares.saturating_sub(mean.saturating_mul(sum + rest)) as f64;
        let share = rest as f64 / count as f64;
        (squares / count as f64 - share * share).max(0.0)
    }

    /// Times that users see; `None` if nothing completed.
    pub fn summary(&self) -> Option<CompletionTimes> {
        let least = self.minimum as f64;
        let quantile = |share| Some(self.times.quantile(share)?.max(least) * 1e-9);
        Some(CompletionTimes {
            count: self.count,
            mean: self.times.mean()? * 1e-9,
            sd: self.variance().sqrt() * 1e-9,
            min: least * 1e-9,
            p5: quantile(0.05)?,
            p50: quantile(0.5)?,
            p95: quantile(0.95)?,
            p99: quantile(0.99)?,
            max: self.times.maximum()? as f64 * 1e-9,
        })
    }
}

/// Summary of completion times, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CompletionTimes {
    /// Transfers that completed.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Shortest.
    pub min: f64,
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_merged_windows_are_those_of_all_times_together() {
        // 1, 2, 3, 10 s: mean 4, variance (9 + 4 + 1 + 36) / 4 = 12.5.
        let (mut first, mut second) = (Completions::default(), Completions::default());
        first.add(10_000_000_000);
        for time in [1_000_000_000, 3_000_000_000, 2_000_000_000] {
            second.add(time);
        }
        let mut both = Completions::default();
        both.merge(&first);
        both.merge(&second);
        both.merge(&Completions::default());
        let summary = both.summary().unwrap();
        assert_eq!((summary.count, summary.min, summary.max), (4, 1.0, 10.0));
        assert!((summary.mean - 4.0).abs() < 1e-12);
        assert!((summary.sd - 12.5_f64.sqrt()).abs() < 1e-9);
        assert!((summary.p50 / 2.0 - 1.0).abs() < 0.004);
        both.clear();
        assert!(both.is_empty() && both.summary().is_none());
    }

    #[test]
    fn the_order_in_which_transfers_complete_does_not_matter() {
        let times = (0..1000_u64).map(|n| 1_000_000_000_000_000 - n * n * 7919);
        let (mut one, mut other) = (Completions::default(), Completions::default());
        times.clone().for_each(|time| one.add(time));
        times.clone().rev().for_each(|time| other.add(time));
        assert_eq!(one.summary(), other.summary());
        // By hand: the variance of n^2 for n below N is (N^2 - 1)(2N - 1)(8N - 11) / 180, of which N is 1000.
        let expected = 7919.0 * (999_999.0 * 1999.0 * 7989.0 / 180.0_f64).sqrt() * 1e-9;
        let sd = one.summary().expect("there are some").sd;
        assert!((sd / expected - 1.0).abs() < 1e-12, "{sd} {expected}");
    }

    #[test]
    fn a_single_time_is_every_quantile_exactly() {
        let mut one = Completions::default();
        one.add(1_234_567_891);
        let summary = one.summary().unwrap();
        for value in [summary.mean, summary.min, summary.p5, summary.p99, summary.max] {
            assert_eq!(value, 1_234_567_891_f64 * 1e-9);
        }
        assert_eq!(summary.sd, 0.0);
    }
}
