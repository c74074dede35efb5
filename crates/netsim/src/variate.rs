//! Distributions of sizes and of times, drawn by inverting the distribution function.
//!
//! Every draw takes the same number of uniform numbers (one; two for the lognormal), so that the
//! n-th draw of a stream depends on n alone.
//!
//! Sources: M. E. Crovella and A. Bestavros, "Self-similarity in World Wide Web traffic" (1997), for
//! the Pareto distribution; M. Harchol-Balter and others for its bounded form. The empirical table
//! (values with their cumulative probabilities, linear between them) is that of ns-2.

use serde::Deserialize;
use vermilion_parameters::ParameterError;

use crate::random::Stream;

/// How an empirical table is read between its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The value grows evenly with the probability.
    #[default]
    Linear,
    /// Its logarithm does.
    Logarithmic,
}

/// A distribution of positive numbers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Variate {
    /// Always the same.
    Constant {
        /// The value.
        value: f64,
    },
    /// Exponential.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// Pareto: the probability of exceeding x falls as x^-shape.
    Pareto {
        /// Its mean.
        mean: f64,
        /// Its tail index, above 1.
        shape: f64,
    },
    /// A Pareto distribution between two bounds.
    BoundedPareto {
        /// Smallest value.
        minimum: f64,
        /// Largest value.
        maximum: f64,
        /// Its tail index.
        shape: f64,
    },
    /// The exponential of a normal distribution.
    Lognormal {
        /// Its median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// A table of values and their cumulative probabilities; what lies at or below the first
    /// probability has the first value.
    Empirical {
        /// Values, ascending.
        values: Vec<f64>,
        /// Probability of not exceeding each value, ascending to 1.
        probabilities: Vec<f64>,
        /// Between two entries.
        #[serde(default)]
        interpolation: Interpolation,
    },
}

/// A variate from which very many values are drawn: what is the same for all of them is worked out once.
#[derive(Clone, Debug)]
pub struct Drawn {
    variate: Variate,
    /// See [`Variate::within`].
    within: f64,
}

impl Drawn {
    /// Values of `variate`.
    pub fn new(variate: Variate) -> Self {
        Self { within: variate.within(), variate }
    }

    /// The same as [`Variate::draw`].
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match &self.variate {
            Variate::BoundedPareto { minimum, maximum, shape } => {
                bounded_pareto(*minimum, *maximum, *shape, self.within, stream.uniform())
            }
            variate => variate.draw(stream),
        }
    }
}

impl Variate {
    /// Draws a value.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant { value } => *value,
            Self::Lognormal { median, sigma } => {
                // Box and Muller, of whose two numbers one is used.
                let radius = (-2.0 * (1.0 - stream.uniform()).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * stream.uniform()).cos();
                median * (sigma * normal).exp()
            }
            _ => self.quantile(stream.uniform()),
        }
    }

    /// Its median.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Of a bounded Pareto distribution: how much of the unbounded one lies within its bounds.
    fn within(&self) -> f64 {
        match self {
            Self::BoundedPareto { minimum, maximum, shape } => {
                1.0 - (minimum / maximum).powf(*shape)
            }
            _ => 1.0,
        }
    }

    /// The value that a `share` (below 1) of all does not exceed; of the lognormal: the median.
    fn quantile(&self, share: f64) -> f64 {
        match self {
            Self::Constant { value } | Self::Lognormal { median: value, .. } => *value,
            Self::Exponential { mean } => -mean * (1.0 - share).ln(),
            Self::Pareto { mean, shape } => {
                let scale = mean * (shape - 1.0) / shape;
                scale * (1.0 - share).powf(-1.0 / shape)
            }
            Self::BoundedPareto { minimum, maximum, shape } => {
                bounded_pareto(*minimum, *maximum, *shape, self.within(), share)
            }
            Self::Empirical { values, probabilities, interpolation } => {
                look_up(values, probabilities, *interpolation, share)
            }
        }
    }

    /// Its mean in closed form (of the empirical one: with linear interpolation).
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant { value } => *value,
            Self::Exponential { mean } | Self::Pareto { mean, .. } => *mean,
            Self::BoundedPareto { minimum, maximum, shape } => {
                let (low, high, a) = (*minimum, *maximum, *shape);
                let within = 1.0 - (low / high).powf(a);
                if within <= 0.0 {
                    low
                } else if (a - 1.0).abs() < 1e-9 {
                    low * (high / low).ln() / within
                } else {
                    a / (a - 1.0) * low * (1.0 - (low / high).powf(a - 1.0)) / within
                }
            }
            Self::Lognormal { median, sigma } => median * (sigma * sigma / 2.0).exp(),
            Self::Empirical { values, probabilities, .. } => {
                let steps = values.windows(2).zip(probabilities.windows(2));
                let above: f64 = steps
                    .map(|(value, share)| (value[0] + value[1]) / 2.0 * (share[1] - share[0]))
                    .sum();
                above + values[0] * probabilities[0]
            }
        }
    }

    /// Checks its parameters; values must lie between `low` and `high`, in `unit`.
    ///
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn check(&self, low: f64, high: f64, unit: &str) -> Result<(), ParameterError> {
        let value = |field: &str, value: f64| {
            inside(field, value, low, high, &format!("from {low} to {high} {unit}"))
        };
        let shape = |shape: f64, least: f64| {
            let accepted = format!("a number above {least} up to 100");
            if shape > least && shape <= 100.0 {
                Ok(())
            } else {
                Err(ParameterError::new("shape", shape, accepted))
            }
        };
        match self {
            Self::Constant { value: constant } => value("value", *constant),
            Self::Exponential { mean } => value("mean", *mean),
            Self::Pareto { mean, shape: index } => value("mean", *mean).and(shape(*index, 1.0)),
            Self::BoundedPareto { minimum, maximum, shape: index } => {
                value("minimum", *minimum)?;
                value("maximum", *maximum)?;
                if minimum > maximum {
                    let accepted = format!("at least the minimum, {minimum} {unit}");
                    return Err(ParameterError::new("maximum", maximum, accepted));
                }
                shape(*index, 0.0)
            }
            Self::Lognormal { median, sigma } => {
                value("median", *median)?;
                inside("sigma", *sigma, 0.0, 10.0, "a number from 0 to 10")
            }
            Self::Empirical { values, probabilities, .. } => {
                check_table(values, probabilities)?;
                values.iter().try_for_each(|&entry| value("table", entry))
            }
        }
    }
}

fn inside(
    field: &str,
    value: f64,
    low: f64,
    high: f64,
    accepted: &str,
) -> Result<(), ParameterError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(ParameterError::new(field, value, accepted))
}

fn check_table(values: &[f64], probabilities: &[f64]) -> Result<(), ParameterError> {
    let refuse = |value: String, accepted: &str| Err(ParameterError::new("table", value, accepted));
    if values.is_empty() || values.len() != probabilities.len() {
        let given = format!("{} values, {} probabilities", values.len(), probabilities.len());
        return refuse(given, "a probability for each of at least one value");
    }
    if let Some(pair) = not_ascending(values) {
        return refuse(format!("{} after {}", pair[1], pair[0]), "values that ascend");
    }
    if let Some(pair) = not_ascending(probabilities) {
        let accepted = "cumulative probabilities that ascend";
        return refuse(format!("{} after {}", pair[1], pair[0]), accepted);
    }
    if !(0.0..=1.0).contains(&probabilities[0]) || probabilities.last() != Some(&1.0) {
        let ends = format!("{} .. {}", probabilities[0], probabilities[probabilities.len() - 1]);
        return refuse(ends, "cumulative probabilities from 0 or more up to exactly 1");
    }
    Ok(())
}

/// The first two neighbours that do not ascend.
fn not_ascending(numbers: &[f64]) -> Option<&[f64]> {
    numbers.windows(2).find(|pair| pair[0].total_cmp(&pair[1]).is_ge())
}

/// The value that a `share` of a bounded Pareto distribution does not exceed.
fn bounded_pareto(minimum: f64, maximum: f64, shape: f64, within: f64, share: f64) -> f64 {
    (minimum * (1.0 - share * within).powf(-1.0 / shape)).min(maximum)
}

fn look_up(values: &[f64], probabilities: &[f64], between: Interpolation, uniform: f64) -> f64 {
    let above = probabilities.partition_point(|&probability| probability <= uniform);
    if above == 0 {
        return values[0];
    }
    let above = above.min(values.len() - 1);
    let (lower, upper) = (values[above - 1], values[above]);
    let share =
        (uniform - probabilities[above - 1]) / (probabilities[above] - probabilities[above - 1]);
    match between {
        Interpolation::Linear => lower + share * (upper - lower),
        Interpolation::Logarithmic => lower * (upper / lower).powf(share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const DRAWS: usize = 400_000;

    fn sorted(variate: &Variate) -> Vec<f64> {
        let mut stream = Stream::new(1, Purpose::TransferSizes, 0);
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| variate.draw(&mut stream)).collect();
        draws.sort_by(f64::total_cmp);
        draws
    }

    #[track_caller]
    fn assert_quantiles(variate: &Variate, quantile: impl Fn(f64) -> f64) {
        let draws = sorted(variate);
        for share in [0.01, 0.1, 0.5, 0.9, 0.99] {
            let measured = draws[(share * DRAWS as f64) as usize];
            let expected = quantile(share);
            assert!((measured / expected - 1.0).abs() < 0.05, "{share}: {measured}, {expected}");
        }
    }

    #[track_caller]
    fn assert_mean(variate: &Variate, expected: f64, tolerance: f64) {
        let draws = sorted(variate);
        let mean = draws.iter().sum::<f64>() / DRAWS as f64;
        assert!((mean / expected - 1.0).abs() < tolerance, "{mean} against {expected}");
        assert!((variate.mean() / expected - 1.0).abs() < 1e-3, "{}", variate.mean());
    }

    #[test]
    fn exponential_draws_have_the_quantiles_of_the_formula() {
        let variate = Variate::Exponential { mean: 30_000.0 };
        assert_mean(&variate, 30_000.0, 0.01);
        assert_quantiles(&variate, |share| -30_000.0 * (1.0 - share).ln());
    }

    #[test]
    fn pareto_draws_have_the_quantiles_of_the_formula() {
        // Mean 3 at shape 3: scale 2.
        let variate = Variate::Pareto { mean: 3.0, shape: 3.0 };
        assert_mean(&variate, 3.0, 0.01);
        assert_quantiles(&variate, |share| 2.0 / (1.0 - share).powf(1.0 / 3.0));
    }

    #[test]
    fn bounded_pareto_draws_keep_their_bounds_and_mean() {
        // Shape 1.2 from 4 kB to 10 MB. By hand: (L/H)^1.2 = 8.365e-5, (L/H)^0.2 = 0.20913;
        // mean = 6 L (1 - 0.20913) / (1 - 8.365e-5) = 18982.
        let variate = Variate::BoundedPareto { minimum: 4e3, maximum: 1e7, shape: 1.2 };
        assert_mean(&variate, 18_982.0, 0.05);
        let draws = sorted(&variate);
        assert!(draws[0] >= 4e3 && draws[DRAWS - 1] <= 1e7);
        assert_quantiles(&variate, |share| 4e3 / (1.0 - share * (1.0 - 8.365e-5)).powf(1.0 / 1.2));
        // Shape 1 has a mean of its own: L ln(H/L) / (1 - L/H) = 2 ln 2 of 1 .. 2.
        let one = Variate::BoundedPareto { minimum: 1.0, maximum: 2.0, shape: 1.0 };
        assert_mean(&one, 2.0 * 2.0_f64.ln(), 0.01);
    }

    #[test]
    fn lognormal_draws_have_the_median_the_spread_and_the_mean_of_the_formula() {
        let variate = Variate::Lognormal { median: 10.0, sigma: 1.0 };
        assert_mean(&variate, 16.4872, 0.01);
        // Standard normal quantiles.
        let normal = |share: f64| match (share * 100.0).round() as u32 {
            1 => -2.326_35,
            10 => -1.281_55,
            50 => 0.0,
            90 => 1.281_55,
            _ => 2.326_35,
        };
        assert_quantiles(&variate, |share| 10.0 * f64::exp(normal(share)));
    }

    #[test]
    fn an_empirical_table_is_read_between_its_entries() {
        let table = |interpolation| Variate::Empirical {
            values: vec![100.0, 1_000.0, 10_000.0],
            probabilities: vec![0.2, 0.6, 1.0],
            interpolation,
        };
        // A fifth is 100; then 550 and 5500 on average, two fifths each.
        assert_mean(&table(Interpolation::Linear), 20.0 + 220.0 + 2_200.0, 0.01);
        assert_quantiles(&table(Interpolation::Linear), |share| match share {
            _ if share <= 0.2 => 100.0,
            _ if share <= 0.6 => 100.0 + 900.0 * (share - 0.2) / 0.4,
            _ => 1_000.0 + 9_000.0 * (share - 0.6) / 0.4,
        });
        assert_quantiles(&table(Interpolation::Logarithmic), |share| {
            10.0_f64.powf(2.0 + (share - 0.2).max(0.0) / 0.4)
        });
        let certain = Variate::Empirical {
            values: vec![7.0],
            probabilities: vec![1.0],
            interpolation: Interpolation::Linear,
        };
        assert_mean(&certain, 7.0, 1e-9);
    }

    #[test]
    fn what_is_no_distribution_is_refused_by_the_name_of_the_field() {
        let table = |values: &[f64], probabilities: &[f64]| Variate::Empirical {
            values: values.to_vec(),
            probabilities: probabilities.to_vec(),
            interpolation: Interpolation::Linear,
        };
        for (variate, field) in [
            (Variate::Constant { value: 0.0 }, "value"),
            (Variate::Constant { value: f64::NAN }, "value"),
            (Variate::Exponential { mean: -1.0 }, "mean"),
            (Variate::Exponential { mean: 1e13 }, "mean"),
            (Variate::Pareto { mean: 5.0, shape: 1.0 }, "shape"),
            (Variate::BoundedPareto { minimum: 5.0, maximum: 4.0, shape: 1.0 }, "maximum"),
            (Variate::BoundedPareto { minimum: 5.0, maximum: 6.0, shape: 0.0 }, "shape"),
            (Variate::BoundedPareto { minimum: 5.0, maximum: 6.0, shape: f64::NAN }, "shape"),
            (Variate::Lognormal { median: 5.0, sigma: -0.1 }, "sigma"),
            (table(&[], &[]), "table"),
            (table(&[1.0, 2.0], &[1.0]), "table"),
            (table(&[2.0, 1.0], &[0.5, 1.0]), "table"),
            (table(&[1.0, 2.0], &[0.5, 0.5]), "table"),
            (table(&[1.0, 2.0], &[0.5, 0.9]), "table"),
            (table(&[1.0, 2.0], &[f64::NAN, 1.0]), "table"),
            (table(&[0.0, 2.0], &[0.5, 1.0]), "table"),
        ] {
            let refused = variate.check(1.0, 1e12, "bytes").expect_err("not a distribution");
            assert_eq!(refused.field, field, "{variate:?}");
        }
    }
}
