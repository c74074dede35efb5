//! What is told of a distribution: a few of its figures, or as many as a picture needs.

use serde::Serialize;

use crate::histogram::Distribution;

/// A distribution as its quantiles, fine enough to be drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// Percent of the weight, ascending from 0 (the minimum) to 100 (the maximum).
    pub percent: Vec<f64>,
    /// For each the smallest value that so much of the weight does not exceed.
    pub value: Vec<f64>,
}

impl Quantiles {
    /// Quantiles of a distribution whose whole numbers count `unit`s; `None` if it is empty.
    ///
    /// One for each percent, and some more in the tails.
    pub fn of(distribution: &Distribution, unit: f64) -> Option<Self> {
        let percent: Vec<f64> = [0.0, 0.1, 0.5]
            .into_iter()
            .chain((1..100).map(f64::from))
            .chain([99.5, 99.9, 99.99, 100.0])
            .collect();
        let value = percent
            .iter()
            .map(|percent| match *percent {
                // The middle of the last bucket may be below the largest value in it.
                100.0 => Some(distribution.maximum()? as f64 * unit),
                percent => Some(distribution.quantile(percent / 100.0)? * unit),
            })
            .collect::<Option<_>>()?;
        Some(Self { percent, value })
    }
}

/// Summary of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl Summary {
    /// Summarises a distribution whose whole numbers count `unit`s; `None` if it is empty.
    pub fn of(distribution: &Distribution, unit: f64) -> Option<Self> {
        let quantile = |fraction| Some(distribution.quantile(fraction)? * unit);
        Some(Self {
            mean: distribution.mean()? * unit,
            sd: distribution.deviation()? * unit,
            p5: quantile(0.05)?,
            p50: quantile(0.5)?,
            p95: quantile(0.95)?,
            p99: quantile(0.99)?,
            max: distribution.maximum()? as f64 * unit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_of_the_first_hundred_numbers_are_those_numbers() {
        let mut distribution = Distribution::default();
        (1..=100).for_each(|value| distribution.count(value));
        let quantiles = Quantiles::of(&distribution, 0.5).unwrap();
        assert_eq!(quantiles.percent.len(), quantiles.value.len());
        assert!(quantiles.percent.is_sorted());
        for (percent, value) in quantiles.percent.iter().zip(&quantiles.value) {
            assert_eq!(*value, 0.5 * percent.ceil().max(1.0), "{percent} %");
        }
    }

    #[test]
    fn the_last_quantile_is_the_exact_maximum() {
        let mut distribution = Distribution::default();
        distribution.count(1_000_003);
        distribution.count(1);
        let quantiles = Quantiles::of(&distribution, 1.0).unwrap();
        assert_eq!(quantiles.value.last(), Some(&1_000_003.0));
        assert_eq!(Quantiles::of(&Distribution::default(), 1.0), None);
    }
}
