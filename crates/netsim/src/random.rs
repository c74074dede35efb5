//! Random streams: one for each purpose, all derived from the seed.
//!
//! Because start times, each group's clocks and each queue's coin have streams of their own,
//! changing a parameter of a queue moves nothing else: candidates compared under one seed meet the
//! same traffic (common random numbers).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use vermilion_aqm::Coin;

/// Name and version of the generator and of the way streams are derived. Results for one seed may
/// change only when this changes.
pub const RANDOM_STREAMS: &str = "xoshiro256++ v1";

/// Purpose of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// When the flows of a group start.
    StartTimes = 1,
    /// When the flows of a group stop.
    StopTimes = 2,
    /// How far the hosts' clocks stand apart.
    ClockPhases = 3,
    /// The coin of a queue discipline.
    QueueCoin = 4,
    /// Gaps and sizes of one flow's packets.
    Traffic = 5,
    /// The round trips of a group's flows.
    RoundTrips = 6,
    /// Which packets are lost on the wire of a link.
    WireLoss = 7,
    /// By how much the propagation of single packets of a link differs.
    Jitter = 8,
    /// The rates of a line that is drawn.
    LineRate = 9,
    /// Which packets of a link are overtaken.
    Reordering = 10,
    /// Times between the transfers of one source.
    TransferGaps = 16,
    /// Sizes of the transfers of one source.
    TransferSizes = 17,
    /// How far the clocks of their hosts stand apart.
    TransferClocks = 18,
    /// What a switch hashes with to choose among equal ways.
    PathHash = 32,
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `seed` for `purpose`, number `index` of its kind.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        let key = mix(mix(mix(seed) ^ purpose as u64) ^ index);
        Self(Xoshiro256PlusPlus::seed_from_u64(key))
    }

    /// Uniform over `[0, 1)`, 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform over the whole nanoseconds from `first` to `last`.
    pub fn uniform_between(&mut self, first: u64, last: u64) -> u64 {
        first + (self.uniform() * (last - first + 1) as f64) as u64
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

impl Coin for Stream {
    fn uniform(&mut self) -> f64 {
        Self::uniform(self)
    }
}

/// The finaliser of SplitMix64: every bit of the input changes about half of the output's.
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_purposes_differ_and_repeat() {
        let draw = |purpose, index| Stream::new(7, purpose, index).uniform();
        assert_eq!(draw(Purpose::StartTimes, 0), draw(Purpose::StartTimes, 0));
        assert_ne!(draw(Purpose::StartTimes, 0), draw(Purpose::StopTimes, 0));
        assert_ne!(draw(Purpose::QueueCoin, 0), draw(Purpose::QueueCoin, 1));
    }

    #[test]
    fn uniform_and_exponential_have_their_means() {
        let mut stream = Stream::new(1, Purpose::Traffic, 0);
        let count = 200_000;
        let uniform: f64 = (0..count).map(|_| stream.uniform()).sum::<f64>() / f64::from(count);
        let exponential: f64 =
            (0..count).map(|_| stream.exponential(3.0)).sum::<f64>() / f64::from(count);
        assert!((uniform - 0.5).abs() < 0.003, "{uniform}");
        assert!((exponential - 3.0).abs() < 0.03, "{exponential}");
    }
}
