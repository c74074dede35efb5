//! One flow over a path of constant round trip that loses or marks packets at random.

pub mod bottleneck;
pub mod carry;

use carry::{Passage, carry};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use vermilion_parameters::{Value, Values};
use vermilion_tcp::Sender;
use vermilion_tcp::registry::Profile;

pub const SECOND: u64 = 1_000_000_000;

/// Treatment of packets by the path.
#[derive(Clone, Copy)]
pub struct Path {
    /// Round-trip time in nanoseconds.
    pub round_trip: u64,
    /// Probability of losing a packet.
    pub loss: f64,
    /// Probability of marking a packet.
    pub mark: f64,
}

/// Delivered segments per second, and the sender at the end, after 2000 s.
pub fn transfer(sender: &str, switches: &[(&str, bool)], path: Path, seed: u64) -> (f64, Sender) {
    let mut values = Values::from([("handshake".to_owned(), Value::Switch(false))]);
    values.extend(switches.iter().map(|(name, on)| ((*name).to_owned(), Value::Switch(*on))));
    let profile = Profile::from_values(sender, &values).unwrap();
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut coin = || generator.next_u64() as f64 / u64::MAX as f64;
    let duration = 2000 * SECOND;
    let random = |_, segment: &vermilion_tcp::Segment| {
        let marked = segment.ecn_capable && coin() < path.mark;
        (coin() >= path.loss).then_some(Passage { wait: 0, marked })
    };
    let (delivered, sender) = carry(&profile, path.round_trip, duration, random, |_, _, _| {});
    (f64::from(delivered) / (duration / SECOND) as f64, sender)
}

#[track_caller]
pub fn assert_near(measured: f64, predicted: f64, tolerance: f64) {
    let ratio = measured / predicted;
    assert!((ratio - 1.0).abs() <= tolerance, "{measured:.1} against {predicted:.1}: {ratio:.3}");
}
