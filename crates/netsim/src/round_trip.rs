//! The base round trips of a group's flows: all the same, dealt from a list, or drawn.

use std::f64::consts::TAU;

use serde::Deserialize;
use vermilion_parameters::ParameterError;

use crate::limits::{LONGEST_DELAY, within};
use crate::random::Stream;

/// Most values in a list of round trips.
pub const MOST_ROUND_TRIPS: usize = 1_000_000;

/// Draws outside the bounds before the nearer bound is taken.
const MOST_DRAWS: u32 = 1000;

/// Round-trip times without queueing and transmission.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum RoundTrips {
    /// Every flow has the same, in nanoseconds.
    Same(u64),
    /// Flow `i` has number `i` modulo their count, in nanoseconds.
    Dealt(Vec<u64>),
    /// Every flow draws its own.
    Drawn(Drawn),
}

/// A distribution cut off at two bounds: values outside are drawn again.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// The distribution.
    pub distribution: Shape,
    /// Smallest value in nanoseconds.
    pub min_ns: u64,
    /// Largest value in nanoseconds.
    pub max_ns: u64,
    /// Mean of an exponential distribution before it is cut off, in nanoseconds.
    #[serde(default)]
    pub mean_ns: Option<u64>,
    /// Median of a lognormal distribution before it is cut off, in nanoseconds.
    #[serde(default)]
    pub median_ns: Option<u64>,
    /// Standard deviation of the logarithm of a lognormal distribution.
    #[serde(default)]
    pub sigma: Option<f64>,
}

/// A kind of distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Every nanosecond between the bounds alike.
    Uniform,
    /// Exponential.
    Exponential,
    /// Lognormal.
    Lognormal,
}

impl RoundTrips {
    /// The shortest round trip that a flow can have, in nanoseconds.
    pub fn shortest(&self) -> u64 {
        match self {
            Self::Same(value) => *value,
            Self::Dealt(values) => values.iter().copied().min().unwrap_or(0),
            Self::Drawn(drawn) => drawn.min_ns,
        }
    }

    /// About the mean of a group's round trips, in nanoseconds.
    pub fn typical(&self) -> u64 {
        match self {
            Self::Same(value) => *value,
            Self::Dealt(values) => values.iter().sum::<u64>() / values.len().max(1) as u64,
            Self::Drawn(drawn) => {
                let middle = drawn.min_ns.midpoint(drawn.max_ns);
                drawn.mean_ns.or(drawn.median_ns).unwrap_or(middle).min(drawn.max_ns)
            }
        }
    }

    /// The round trip of flow `index` of a group, in nanoseconds; flows draw in their order.
    pub fn of_flow(&self, index: u32, stream: &mut Stream) -> u64 {
        match self {
            Self::Same(value) => *value,
            Self::Dealt(values) => values[index as usize % values.len()],
            Self::Drawn(drawn) => drawn.draw(stream),
        }
    }

    /// Refuses what no flow can have; `propagation` is what the links on the way take.
    pub fn check(&self, propagation: u64) -> Result<(), ParameterError> {
        let least = |field: &str, value: u64| {
            within(field, value, 0, LONGEST_DELAY, "ns")?;
            if value >= propagation {
                return Ok(());
            }
            let accepted = format!("at least {propagation} ns, the delay of the links crossed");
            Err(ParameterError::new(field, value, accepted))
        };
        match self {
            Self::Same(value) => least("rtt", *value),
            Self::Dealt(values) => {
                within("rtt", values.len() as u64, 1, MOST_ROUND_TRIPS as u64, "round trips")?;
                values.iter().try_for_each(|&value| least("rtt", value))
            }
            Self::Drawn(drawn) => {
                least("rtt.min", drawn.min_ns)?;
                drawn.check()
            }
        }
    }
}

impl Drawn {
    fn check(&self) -> Result<(), ParameterError> {
        within("rtt.max", self.max_ns, self.min_ns, LONGEST_DELAY, "ns")?;
        let (uniform, exponential, lognormal) = (
            self.distribution == Shape::Uniform,
            self.distribution == Shape::Exponential,
            self.distribution == Shape::Lognormal,
        );
        for (field, value, wanted) in
            [("rtt.mean", self.mean_ns, exponential), ("rtt.median", self.median_ns, lognormal)]
        {
            match value {
                Some(value) if wanted => within(field, value, self.min_ns, self.max_ns, "ns")?,
                None if !wanted => {}
                Some(value) => {
                    return Err(ParameterError::new(field, value, "nothing for this distribution"));
                }
                None => return Err(ParameterError::new(field, "nothing", "a time")),
            }
        }
        match self.sigma {
            Some(sigma) if lognormal && sigma > 0.0 && sigma <= 10.0 => Ok(()),
            None if uniform || exponential => Ok(()),
            Some(sigma) => {
                let accepted = "above 0 and at most 10, for a lognormal distribution only";
                Err(ParameterError::new("rtt.sigma", sigma, accepted))
            }
            None => Err(ParameterError::new("rtt.sigma", "nothing", "above 0 and at most 10")),
        }
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        if self.distribution == Shape::Uniform {
            return stream.uniform_between(self.min_ns, self.max_ns);
        }
        let mut value = 0;
        for _ in 0..MOST_DRAWS {
            value = if let (Some(median), Some(sigma)) = (self.median_ns, self.sigma) {
                (median as f64 * (sigma * normal(stream)).exp()).round() as u64
            } else {
                stream.exponential(self.mean_ns.unwrap_or(self.min_ns) as f64).round() as u64
            };
            if (self.min_ns..=self.max_ns).contains(&value) {
                return value;
            }
        }
        value.clamp(self.min_ns, self.max_ns)
    }
}

/// A standard normal number (Box and Muller 1958).
fn normal(stream: &mut Stream) -> f64 {
    let radius = (2.0 * stream.exponential(1.0)).sqrt();
    radius * (TAU * stream.uniform()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn draws(text: &str, count: u32) -> Vec<f64> {
        let trips: RoundTrips = serde_json::from_str(text).unwrap();
        trips.check(0).unwrap();
        let mut stream = Stream::new(1, Purpose::RoundTrips, 0);
        (0..count).map(|index| trips.of_flow(index, &mut stream) as f64).collect()
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    #[test]
    fn lists_are_dealt_in_turn() {
        assert_eq!(draws("[10, 50, 30]", 7), [10.0, 50.0, 30.0, 10.0, 50.0, 30.0, 10.0]);
        assert_eq!(draws("7", 2), [7.0, 7.0]);
    }

    #[test]
    fn a_lognormal_has_its_median_and_its_spread() {
        let text = r#"{"distribution": "lognormal", "median_ns": 50000, "sigma": 0.5,
            "min_ns": 1, "max_ns": 100000000}"#;
        let values = draws(text, 100_000);
        let logs: Vec<f64> = values.iter().map(|value| (value / 50_000.0).ln()).collect();
        let variance = logs.iter().map(|log| log * log).sum::<f64>() / logs.len() as f64;
        assert!((median(values) / 50_000.0 - 1.0).abs() < 0.01);
        assert!((variance.sqrt() / 0.5 - 1.0).abs() < 0.01, "{variance}");
    }

    #[test]
    fn an_exponential_cut_off_keeps_its_shape_between_the_bounds() {
        // P(x < m | a < x < b) = (e^-a - e^-m) / (e^-a - e^-b), half of it at
        // m = -ln((e^-a + e^-b) / 2): for a = 0.5 and b = 2 means, 0.992 means.
        let text = r#"{"distribution": "exponential", "mean_ns": 1000000,
            "min_ns": 500000, "max_ns": 2000000}"#;
        let values = draws(text, 100_000);
        assert!(values.iter().all(|value| (5e5..=2e6).contains(value)));
        let expected = -((-0.5_f64).exp().midpoint((-2.0_f64).exp())).ln();
        assert!((median(values) / 1e6 / expected - 1.0).abs() < 0.01, "{expected}");
    }

    #[test]
    fn a_uniform_reaches_from_bound_to_bound() {
        let values = draws(r#"{"distribution": "uniform", "min_ns": 20, "max_ns": 29}"#, 100_000);
        for wanted in 20..30 {
            let share = values.iter().filter(|&&value| value == f64::from(wanted)).count();
            assert!((9_500..10_500).contains(&share), "{wanted}: {share}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, field) in [
            ("[]", "rtt"),
            ("5", "rtt"),
            (r#"{"distribution": "uniform", "min_ns": 9, "max_ns": 8}"#, "rtt.max"),
            (r#"{"distribution": "uniform", "min_ns": 8, "max_ns": 20}"#, "rtt.min"),
            (r#"{"distribution": "uniform", "min_ns": 9, "max_ns": 20, "mean_ns": 9}"#, "rtt.mean"),
            (r#"{"distribution": "exponential", "min_ns": 9, "max_ns": 20}"#, "rtt.mean"),
            (
                r#"{"distribution": "lognormal", "min_ns": 9, "max_ns": 20, "median_ns": 9}"#,
                "rtt.sigma",
            ),
        ] {
            let trips: RoundTrips = serde_json::from_str(text).unwrap();
            let error = trips.check(9).unwrap_err();
            assert_eq!(error.field, field, "{text}");
        }
    }
}
