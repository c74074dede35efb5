use vermilion_parameters::{ParameterError, Probability, Seconds, settings};

use crate::ns2_red::{Ns2Red, Ns2RedCommon, Rule, RuledRed};
use crate::{Arrival, LinkFacts};

settings! {
    /// Settings of [`AdaptiveRed`].
    pub AdaptiveRedSettings "adaptive-red": "Adaptive RED",
        "RED that moves its maximum probability to keep the average mid-range",
        "Floyd, Gummadi and Shenker, 2001; ns-2.35, queue/red.cc",
        min_threshold < max_threshold, lowest_probability < highest_probability;
    ..common: Ns2RedCommon;
    /// probability rises to 1 at twice the maximum threshold
    gentle: bool = true, "ns-2.35 (since 2001)";
    /// most that max_probability grows in one interval
    increase: Probability = 0.01 in [0, 1], "the paper's alpha";
    /// factor by which max_probability shrinks
    decrease: f64 = 0.9 in [> 0, 1], "the paper's beta";
    /// least time between two changes
    interval: Seconds = 0.5 in [1e-6, 1e3], "the paper";
    /// max_probability shrinks no more below this
    lowest_probability: Option<Probability> = automatic in [0, 1], "ns-2.35";
    /// max_probability grows no more above this
    highest_probability: Probability = 0.5 in [0, 1], "the paper";
}

/// Adaptive RED: RED that moves its maximum probability to hold the average between its thresholds.
///
/// Source: S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An Algorithm for Increasing the
/// Robustness of RED's Active Queue Management", 2001, in the form of ns-2.35 (`updateMaxP`).
/// Every `interval`: with d the distance between the thresholds, if the average is above
/// max - 0.4 d then `max_probability` grows by the smaller of `increase` and a quarter of itself;
/// if it is below min + 0.4 d it shrinks by the factor `decrease`; always within
/// `lowest_probability` and `highest_probability` by the test before each change.
///
/// Departures from the source:
/// 1. As in ns-2 the interval is looked at when packets arrive, not by a timer, and it starts anew
///    only when `max_probability` really changes: after a quiet spell the next change is immediate.
/// 2. As in ns-2 the gentle slope is not redrawn when `max_probability` moves (see [`Ns2Red`]).
/// 3. `lowest_probability` is automatic as in ns-2.35: the smaller of 0.01 and 80000 / rate (bit/s),
///    the paper has 0.01. A change of the link alone moves no automatic setting, a change of any setting
///    moves all (see [`Ns2Red`]).
pub type AdaptiveRed = RuledRed<Adaptive>;

/// The rule of [`AdaptiveRed`].
#[derive(Clone, Debug)]
pub struct Adaptive {
    set: AdaptiveRedSettings,
    lowest_probability: f64,
    /// Nanoseconds.
    interval: u64,
    last_change: u64,
}

impl Rule for Adaptive {
    type Settings = AdaptiveRedSettings;

    fn red(set: &AdaptiveRedSettings) -> (Ns2RedCommon, bool) {
        (set.common, set.gentle)
    }

    fn new(
        set: AdaptiveRedSettings,
        _red: &Ns2Red,
        link: LinkFacts,
    ) -> Result<Self, ParameterError> {
        let automatic = || Probability((80_000.0 / link.rate).min(0.01));
        let lowest_probability = set.lowest_probability.unwrap_or_else(automatic).0;
        let highest = set.highest_probability.0;
        ParameterError::unless_below(
            ("lowest_probability", lowest_probability),
            ("highest_probability", highest),
        )?;
        let interval = (set.interval.0 * 1e9) as u64;
        Ok(Self { set, lowest_probability, interval, last_change: 0 })
    }

    fn keep(&mut self, before: &Self, _scale: f64) {
        self.last_change = before.last_change;
    }

    #[inline]
    fn meet(&mut self, red: &mut Ns2Red, arrival: &Arrival) {
        red.update_average(arrival);
        if arrival.now > self.last_change + self.interval {
            self.adapt(red, arrival.now);
        }
    }
}

impl Adaptive {
    fn adapt(&mut self, red: &mut Ns2Red, now: u64) {
        let (average, max_probability) = (red.average(), red.max_probability());
        let (min_threshold, max_threshold) = red.thresholds();
        let margin = 0.4 * (max_threshold - min_threshold);
        if average < min_threshold + margin && max_probability > self.lowest_probability {
            red.set_max_probability(max_probability * self.set.decrease);
            self.last_change = now;
        } else if average > max_threshold - margin
            && max_probability < self.set.highest_probability.0
        {
            let step = self.set.increase.0.min(max_probability / 4.0);
            red.set_max_probability(max_probability + step);
            self.last_change = now;
        }
    }
}
