//! How large packets are.

use serde::Serialize;

/// The largest size of each bin in bytes, but for the last, which has no bound. 576 and 1280 are
/// what IPv4 and IPv6 promise to carry, 1500 is Ethernet's, 9000 is usual for jumbo frames.
pub const BOUNDS: [u32; 7] = [64, 128, 256, 576, 1280, 1500, 9000];

/// Sizes from the IP header on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Packets by size: up to each of [`BOUNDS`], and above the last.
    pub bins: [u64; BOUNDS.len() + 1],
    /// All sizes together.
    pub sum: u64,
    /// The sum of their squares.
    pub sum_of_squares: u128,
    /// The largest.
    pub most: u32,
}

impl Sizes {
    /// Counts a packet.
    pub fn add(&mut self, bytes: u32) {
        let bin = BOUNDS.iter().filter(|&&bound| bytes > bound).count();
        self.bins[bin] += 1;
        self.sum += u64::from(bytes);
        self.sum_of_squares += u128::from(bytes) * u128::from(bytes);
        self.most = self.most.max(bytes);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Their mean; `None` if there were none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// Their standard deviation; `None` if there were none.
    pub fn standard_deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let square = self.sum_of_squares as f64 / self.count() as f64;
        Some((square - mean * mean).max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[test]
    fn a_size_on_a_bound_is_within_it() {
        let mut sizes = Sizes::default();
        for size in [40, 64, 65, 1500, 1501, 9001] {
            sizes.add(size);
        }
        assert_eq!(sizes.bins, [2, 1, 0, 0, 0, 1, 1, 1]);
        assert_eq!(sizes.most, 9001);
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_sizes() {
        let mut sizes = Sizes::default();
        assert_eq!(sizes.mean(), None);
        for size in [100, 300] {
            sizes.add(size);
        }
        assert_eq!(sizes.mean(), Some(200.0));
        assert_eq!(sizes.standard_deviation(), Some(100.0));
    }
}
