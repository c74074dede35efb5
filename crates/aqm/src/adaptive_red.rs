//! Adaptive RED: RED that moves its maximum probability to hold the average between its thresholds.
//!
//! Source: S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An Algorithm for Increasing the
//! Robustness of RED's Active Queue Management", 2001, in the form of ns-2.35 (`updateMaxP`).
//! Every `interval`: with d the distance between the thresholds, if the average is above
//! max - 0.4 d then `max_probability` grows by the smaller of `increase` and a quarter of itself;
//! if it is below min + 0.4 d it shrinks by the factor `decrease`; always within
//! `lowest_probability` and `highest_probability` by the test before each change.
//!
//! Departures from the source:
//! 1. As in ns-2 the interval is looked at when packets arrive, not by a timer, and it starts anew
//!    only when `max_probability` really changes: after a quiet spell the next change is immediate.
//! 2. As in ns-2 the gentle slope is not redrawn when `max_probability` moves (see [`Ns2Red`]).
//! 3. `lowest_probability` is automatic as in ns-2.35: the smaller of 0.01 and 80000 / rate (bit/s),
//!    the paper has 0.01. A change of the link alone moves no automatic setting, a change of any setting
//!    moves all (see [`Ns2Red`]).

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Settings};

use crate::ns2_red::{
    AUTOMATIC_WEIGHT, BYTE_MODE, ECN, GENTLE, LIMIT, MARK_PROBABILITY, MAX_PROBABILITY,
    MAX_THRESHOLD, MEAN_PACKET_SIZE, MIN_THRESHOLD, TARGET_DELAY, WAIT, WEIGHT,
};
use crate::{Arrival, Coin, Decide, Discipline, LinkFacts, Listed, Ns2Red, Verdict};

/// See the module's head.
#[derive(Clone, Debug)]
pub struct AdaptiveRed {
    red: Ns2Red,
    increase: f64,
    decrease: f64,
    /// Nanoseconds.
    interval: u64,
    lowest_probability: f64,
    highest_probability: f64,
    last_change: u64,
}

impl Listed for AdaptiveRed {
    const ALGORITHM: Algorithm = Algorithm {
        name: "adaptive-red",
        title: "Adaptive RED",
        summary: "RED that moves its maximum probability to keep the average mid-range",
        source: "Floyd, Gummadi and Shenker, 2001; ns-2.35, queue/red.cc",
        parameters: &[
            LIMIT,
            MIN_THRESHOLD,
            MAX_THRESHOLD,
            MAX_PROBABILITY,
            WEIGHT,
            AUTOMATIC_WEIGHT,
            GENTLE,
            WAIT,
            BYTE_MODE,
            MEAN_PACKET_SIZE,
            ECN,
            MARK_PROBABILITY,
            TARGET_DELAY,
            Parameter::number("increase", "probability", Some(0.01), 0.0, 1.0)
                .described("most that max_probability grows in one interval", "the paper's alpha"),
            Parameter::number("decrease", "1", Some(0.9), 0.0, 1.0)
                .above_minimum()
                .described("factor by which max_probability shrinks", "the paper's beta"),
            Parameter::number("interval", "seconds", Some(0.5), 1e-6, 1e3)
                .described("least time between two changes", "the paper"),
            Parameter::number("lowest_probability", "probability", None, 0.0, 1.0)
                .described("max_probability shrinks no more below this", "ns-2.35"),
            Parameter::number("highest_probability", "probability", Some(0.5), 0.0, 1.0)
                .described("max_probability grows no more above this", "the paper"),
        ],
        ordered: &[
            ("min_threshold", "max_threshold"),
            ("lowest_probability", "highest_probability"),
        ],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        let lowest_probability = settings
            .automatic("lowest_probability")
            .unwrap_or_else(|| (80_000.0 / link.rate).min(0.01));
        let highest_probability = settings.number("highest_probability");
        if lowest_probability >= highest_probability {
            let accepted =
                format!("a value above lowest_probability, which is {lowest_probability}");
            return Err(ParameterError::new("highest_probability", highest_probability, accepted));
        }
        Ok(Self {
            red: Ns2Red::new(settings, link)?,
            increase: settings.number("increase"),
            decrease: settings.number("decrease"),
            interval: (settings.number("interval") * 1e9) as u64,
            lowest_probability,
            highest_probability,
            last_change: 0,
        })
    }
}

impl Discipline for AdaptiveRed {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fresh = Self::new(settings, link)?;
        self.red.reconfigure(settings, link)?;
        *self = Self { red: self.red.clone(), last_change: self.last_change, ..fresh };
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.red.link_changed(link);
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        self.red.average_queue()
    }

    fn drop_probability(&self) -> Option<f64> {
        self.red.drop_probability()
    }
}

impl<C: Coin> Decide<C> for AdaptiveRed {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.red.update_average(arrival);
        if arrival.now > self.last_change + self.interval {
            self.adapt(arrival.now);
        }
        self.red.decide(arrival, coin)
    }
}

impl AdaptiveRed {
    fn adapt(&mut self, now: u64) {
        let average = self.red.average();
        let (min_threshold, max_threshold) = self.red.thresholds();
        let margin = 0.4 * (max_threshold - min_threshold);
        let max_probability = self.red.max_probability();
        if average < min_threshold + margin && max_probability > self.lowest_probability {
            self.red.set_max_probability(max_probability * self.decrease);
            self.last_change = now;
        } else if average > max_threshold - margin && max_probability < self.highest_probability {
            let step = self.increase.min(max_probability / 4.0);
            self.red.set_max_probability(max_probability + step);
            self.last_change = now;
        }
    }
}
