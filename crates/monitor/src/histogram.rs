//! How durations are distributed, in a fixed number of bins whose width grows with the duration.

use serde::Serialize;

/// Bins of one doubling, as a power of two: a quantile is off by at most 1/32, half a bin's width.
const STEPS_LOG: u32 = 4;
const STEPS: usize = 1 << STEPS_LOG;
/// Everything below 2^10 ns, about a microsecond, is one bin.
const SMALLEST_LOG: u32 = 10;
/// Everything from 2^37 ns on, about 137 s, is one bin.
const LARGEST_LOG: u32 = 37;
const BINS: usize = (LARGEST_LOG - SMALLEST_LOG) as usize * STEPS + 2;

/// A histogram of durations in nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram {
    bins: Box<[u64; BINS]>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: Box::new([0; BINS]), count: 0, sum: 0, least: u64::MAX, most: 0 }
    }
}

/// Summary of a histogram, in milliseconds. Percentiles are right to within 3.2 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Durations {
    /// How many there were.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The shortest.
    pub min: f64,
    /// A twentieth is shorter.
    pub p5: f64,
    /// The median.
    pub p50: f64,
    /// A twentieth is longer.
    pub p95: f64,
    /// A hundredth is longer.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Histogram {
    /// Counts a duration.
    pub fn add(&mut self, nanoseconds: u64) {
        self.bins[bin(nanoseconds)] += 1;
        self.count += 1;
        self.sum += u128::from(nanoseconds);
        self.least = self.least.min(nanoseconds);
        self.most = self.most.max(nanoseconds);
    }

    /// Value; `None` if nothing was counted.
    pub fn durations(&self) -> Option<Durations> {
        const MILLISECOND: f64 = 1e6;
        (self.count > 0).then(|| Durations {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 / MILLISECOND,
            min: self.least as f64 / MILLISECOND,
            p5: self.quantile(0.05) / MILLISECOND,
            p50: self.quantile(0.5) / MILLISECOND,
            p95: self.quantile(0.95) / MILLISECOND,
            p99: self.quantile(0.99) / MILLISECOND,
            max: self.most as f64 / MILLISECOND,
        })
    }

    /// The middle of the bin in which a share of the durations is reached.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut counted = 0;
        for (bin, &here) in self.bins.iter().enumerate() {
            counted += here;
            if counted >= wanted {
                let middle = (start(bin) + start(bin + 1)) / 2;
                return middle.clamp(self.least, self.most) as f64;
            }
        }
        self.most as f64
    }
}

/// The bin of a duration.
fn bin(nanoseconds: u64) -> usize {
    let log = nanoseconds.checked_ilog2().unwrap_or(0);
    if log < SMALLEST_LOG {
        return 0;
    }
    if log >= LARGEST_LOG {
        return BINS - 1;
    }
    let step = (nanoseconds >> (log - STEPS_LOG)) as usize & (STEPS - 1);
    1 + (log - SMALLEST_LOG) as usize * STEPS + step
}

/// Where a bin starts.
fn start(bin: usize) -> u64 {
    let Some(bin) = bin.checked_sub(1) else { return 0 };
    let log = SMALLEST_LOG + (bin / STEPS) as u32;
    (1 << log) + (((bin % STEPS) as u64) << (log - STEPS_LOG))
}

#[cfg(test)]
mod tests {
    use super::{BINS, Histogram, bin, start};

    #[test]
    fn a_bin_begins_where_the_one_before_it_ends() {
        for each in 1..BINS {
            assert_eq!(bin(start(each)), each);
            assert_eq!(bin(start(each) - 1), each - 1);
        }
        assert_eq!(bin(0), 0);
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    #[test]
    fn percentiles_of_even_numbers_are_right_to_within_their_bins() {
        let mut histogram = Histogram::default();
        // 1 to 100 ms, a thousand of each.
        for _ in 0..1000 {
            (1..=100).for_each(|millisecond| histogram.add(millisecond * 1_000_000));
        }
        let durations = histogram.durations().unwrap();
        assert_eq!(durations.count, 100_000);
        assert_eq!((durations.min, durations.max), (1.0, 100.0));
        assert!((durations.mean - 50.5).abs() < 1e-9);
        for (got, right) in [
            (durations.p5, 5.0),
            (durations.p50, 50.0),
            (durations.p95, 95.0),
            (durations.p99, 99.0),
        ] {
            assert!((got / right - 1.0_f64).abs() < 0.033, "{got} for {right}");
        }
    }

    #[test]
    fn nothing_counted_has_no_durations() {
        assert!(Histogram::default().durations().is_none());
    }
}
