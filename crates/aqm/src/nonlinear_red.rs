use vermilion_parameters::{ParameterError, settings};

use crate::LinkFacts;
use crate::ns2_red::{Ns2Red, Ns2RedCommon, Rule, RuledRed};

settings! {
    /// Settings of [`NonlinearRed`].
    pub NonlinearRedSettings "nonlinear-red": "Nonlinear RED",
        "RED whose drop probability rises with the square of the average queue",
        "Zhou, Yeung and Li, Computer Networks 50(18), 2006; ns-3, red-queue-disc.cc",
        min_threshold < max_threshold;
    ..common: Ns2RedCommon;
    /// the probability at the maximum threshold is so many times max_probability; 1.5 keeps the
    /// area under RED's line
    curve_factor: f64 = 1.5 in [> 0, 1e3], "ns-3; the paper";
    /// probability rises from max_probability to 1 at twice the maximum threshold
    gentle: bool = false, "the paper has none; ns-3 has true";
}

/// Nonlinear RED: RED whose probability rises with the square of the average.
///
/// Source: K. Zhou, K. L. Yeung, V. O. K. Li, "Nonlinear RED: A simple yet efficient active queue
/// management scheme", Computer Networks 50(18), 2006. Confirmed from the abstract: the linear
/// dropping function is replaced by a quadratic one and nothing else is changed, so that RED becomes
/// gentler at light load and more aggressive at heavy load. Confirmed from ns-3
/// (`red-queue-disc.cc`, facts, not code): between the thresholds the probability is
/// 1.5 x max_probability x ((average - min) / (max - min))^2. The factor 1.5 makes the area under the
/// curve that of RED's line: the integral of 1.5 x^2 over 0..1 is 1/2. Not confirmed: the paper's own
/// thresholds and weight.
///
/// State and update are those of [`Ns2Red`], on which ns-3's form is built.
///
/// Departures from the source:
/// 1. The factor is a parameter, `curve_factor`.
/// 2. Not gentle: the paper keeps RED's certain drop above the maximum threshold. With `gentle` it is
///    ns-3's, whose line above the maximum threshold starts at max_probability and not at 1.5 times
///    that: the probability falls by a third there before it rises again.
/// 3. Where curve_factor x max_probability is above 1 the curve ends at 1, as in ns-3.
pub type NonlinearRed = RuledRed<Nonlinear>;

/// The rule of [`NonlinearRed`].
#[derive(Clone, Debug)]
pub struct Nonlinear {
    curve_factor: f64,
}

impl Rule for Nonlinear {
    type Settings = NonlinearRedSettings;

    fn red(set: &NonlinearRedSettings) -> (Ns2RedCommon, bool) {
        (set.common, set.gentle)
    }

    fn new(
        set: NonlinearRedSettings,
        _red: &Ns2Red,
        _link: LinkFacts,
    ) -> Result<Self, ParameterError> {
        Ok(Self { curve_factor: set.curve_factor })
    }

    /// The quadratic curve between the thresholds; above them RED's own rule.
    #[inline]
    fn probability(&self, red: &Ns2Red) -> f64 {
        let (min_threshold, max_threshold) = red.thresholds();
        if red.average() >= max_threshold {
            return red.unspaced_probability();
        }
        let part = (red.average() - min_threshold) / (max_threshold - min_threshold);
        (self.curve_factor * red.max_probability() * part * part).min(1.0)
    }
}
