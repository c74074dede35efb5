//! Distributions collected without allocation per sample.
//!
//! Values are whole numbers. Those below 256 have a bucket each (queues counted in packets are
//! exact up to there); above, buckets grow with the value, 128 to each power of two, so that a
//! percentile is within 0.4 % of the true one. The sum is exact.

/// Weighted distribution of whole numbers; the weight is a time in nanoseconds or a count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    sum: u128,
    maximum: u64,
    buckets: Vec<u64>,
}

impl Distribution {
    /// Adds `value` once.
    #[inline(always)] // for every packet, as what follows
    pub fn count(&mut self, value: u64) {
        self.sum += u128::from(value);
        self.file(value, 1);
    }

    /// Adds `value` with `weight`.
    #[inline(always)]
    pub fn add(&mut self, value: u64, weight: u64) {
        self.sum += u128::from(value) * u128::from(weight);
        self.file(value, weight);
    }

    #[inline(always)]
    fn file(&mut self, value: u64, weight: u64) {
        let bucket = bucket_of(value);
        match self.buckets.get_mut(bucket) {
            Some(filed) => *filed += weight,
            None => self.grow(bucket, weight),
        }
        if value > self.maximum {
            self.maximum = value;
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bucket: usize, weight: u64) {
        self.buckets.resize((bucket + 1).next_power_of_two().max(256), 0);
        self.buckets[bucket] = weight;
    }

    /// All weights together.
    fn weight(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Adds everything `other` holds.
    pub fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.maximum = self.maximum.max(other.maximum);
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }

    /// Takes out everything that `earlier` holds, which was a part of it; the maximum stays.
    pub fn subtract(&mut self, earlier: &Self) {
        self.sum -= earlier.sum;
        for (mine, theirs) in self.buckets.iter_mut().zip(&earlier.buckets) {
            *mine -= theirs;
        }
    }

    /// Values that these parts of the weight, ascending, do not exceed: [`Distribution::quantile`] of each; and the weight.
    pub fn quantiles<const N: usize>(&self, fractions: [f64; N]) -> Option<([f64; N], u64)> {
        let weight = self.weight();
        let mut wanted = fractions.iter().map(|fraction| wanted(weight, *fraction)).peekable();
        let (mut found, mut place, mut seen) = ([0.0; N], 0, 0);
        for (bucket, filed) in self.buckets.iter().enumerate() {
            seen += filed;
            while wanted.next_if(|wanted| seen >= *wanted).is_some() {
                found[place] = middle_of(bucket).min(self.maximum as f64);
                place += 1;
            }
            if place == N {
                break;
            }
        }
        (weight > 0).then_some((found, weight))
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.buckets.fill(0);
        (self.sum, self.maximum) = (0, 0);
    }

    /// Sum of value x weight.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Mean, or `None` if nothing was added.
    pub fn mean(&self) -> Option<f64> {
        let weight = self.weight();
        (weight > 0).then(|| self.sum as f64 / weight as f64)
    }

    /// Standard deviation of the whole population, or `None` if nothing was added.
    ///
    /// That of the middles of the buckets, around their own mean and not the exact one: exact below 256, and above wrong by
    /// no more than 0.4 % of the largest value, which is how far a value is from the middle. What does not vary has none. It
    /// costs nothing while collecting.
    pub fn deviation(&self) -> Option<f64> {
        let weight = self.weight() as f64;
        let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
            let filed = self.buckets.iter().enumerate().filter(|&(_, &weight)| weight > 0);
            let sum: f64 =
                filed.map(|(bucket, &weight)| weight as f64 * of(middle_of(bucket))).sum();
            sum / weight
        };
        let mean = moment(&|middle| middle);
        (weight > 0.0).then(|| moment(&|middle| (middle - mean).powi(2)).sqrt())
    }

    /// Largest value, or `None` if nothing was added.
    pub fn maximum(&self) -> Option<u64> {
        self.buckets.iter().any(|&weight| weight > 0).then_some(self.maximum)
    }

    /// Smallest value that at least `fraction` of the weight does not exceed.
    pub fn quantile(&self, fraction: f64) -> Option<f64> {
        let wanted = wanted(self.weight(), fraction);
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|weight| {
            seen += weight;
            seen >= wanted
        })?;
        Some(middle_of(bucket).min(self.maximum as f64))
    }
}

/// Part of the weight that a value with at least this fraction of it has not above it.
fn wanted(weight: u64, fraction: f64) -> u64 {
    // 0.07 * 100 is a hair above 7 in floating point, which is not to ask for the 8th value.
    let exact = weight as f64 * fraction * (1.0 - 4.0 * f64::EPSILON);
    exact.ceil().max(1.0) as u64
}

fn bucket_of(value: u64) -> usize {
    let exponent = 63 - (value | 128).leading_zeros();
    let shift = exponent - 7;
    ((shift as usize) << 7) + (value >> shift) as usize
}

fn middle_of(bucket: usize) -> f64 {
    if bucket < 256 {
        return bucket as f64;
    }
    let shift = (bucket >> 7) - 1;
    let lowest = (((bucket & 127) + 128) as u64) << shift;
    lowest as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_have_a_bucket_each_and_buckets_never_overlap() {
        for value in 0..256 {
            assert_eq!(bucket_of(value), value as usize);
        }
        let mut last = 255;
        for value in 256..100_000 {
            let bucket = bucket_of(value);
            assert!(bucket == last || bucket == last + 1);
            last = bucket;
            assert!((middle_of(bucket) / value as f64 - 1.0).abs() <= 1.0 / 256.0);
        }
        assert!(bucket_of(u64::MAX) < 7_500);
    }

    #[test]
    fn moments_and_quantiles_match_a_hand_calculation() {
        // 10 for 1 s, 20 for 3 s: mean 17.5, variance (56.25 + 3 * 6.25) / 4 = 18.75.
        let mut distribution = Distribution::default();
        distribution.add(10, 1_000_000_000);
        distribution.add(20, 3_000_000_000);
        assert_eq!(distribution.mean(), Some(17.5));
        assert!((distribution.deviation().unwrap() - 18.75_f64.sqrt()).abs() < 1e-12);
        assert_eq!(distribution.quantile(0.25), Some(10.0));
        assert_eq!(distribution.quantile(0.26), Some(20.0));
        assert_eq!(distribution.maximum(), Some(20));
    }

    #[test]
    fn what_does_not_vary_has_no_deviation_however_coarse_the_buckets_are() {
        let mut distribution = Distribution::default();
        distribution.add(16_400, 1_000_000_000);
        assert_eq!(distribution.deviation(), Some(0.0));
        // For as long 16,500, in the same bucket of 128: half of the distance, which is less than half of the bucket.
        distribution.add(16_500, 1_000_000_000);
        assert!((distribution.deviation().unwrap() - 50.0).abs() <= 64.0);
        // And 20,000 for twice as long: the mean of 16,450 and 20,000 with equal weights, and 0.4 % of 20,000.
        distribution.add(20_000, 2_000_000_000);
        let exact = (1775.0_f64.powi(2) + 50.0_f64.powi(2) / 2.0).sqrt();
        assert!((distribution.deviation().unwrap() - exact).abs() <= 80.0);
    }

    #[test]
    fn nothing_added_means_nothing_known() {
        let distribution = Distribution::default();
        assert_eq!(distribution.mean(), None);
        assert_eq!(distribution.deviation(), None);
        assert_eq!(distribution.quantile(0.5), None);
        assert_eq!(distribution.maximum(), None);
    }

    #[test]
    fn merging_is_adding() {
        let (mut left, mut right, mut both) = Default::default();
        let add = |distribution: &mut Distribution, value| distribution.add(value, value + 1);
        for value in [1, 5, 300, 70_000] {
            add(&mut left, value);
            add(&mut both, value);
        }
        for value in [2, 1_000_000] {
            add(&mut right, value);
            add(&mut both, value);
        }
        left.merge(&right);
        assert_eq!(left.mean(), both.mean());
        assert_eq!(left.quantile(0.9), both.quantile(0.9));
    }
}
