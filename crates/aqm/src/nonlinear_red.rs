//! Nonlinear RED: RED whose probability rises with the square of the average.
//!
//! Source: K. Zhou, K. L. Yeung, V. O. K. Li, "Nonlinear RED: A simple yet efficient active queue
//! management scheme", Computer Networks 50(18), 2006. Confirmed from the abstract: the linear
//! dropping function is replaced by a quadratic one and nothing else is changed, so that RED becomes
//! gentler at light load and more aggressive at heavy load. Confirmed from ns-3
//! (`red-queue-disc.cc`, facts, not code): between the thresholds the probability is
//! 1.5 x max_probability x ((average - min) / (max - min))^2. The factor 1.5 makes the area under the
//! curve that of RED's line: the integral of 1.5 x^2 over 0..1 is 1/2. Not confirmed: the paper's own
//! thresholds and weight.
//!
//! State and update are those of [`Ns2Red`], on which ns-3's form is built.
//!
//! Departures from the source:
//! 1. The factor is a parameter, `curve_factor`.
//! 2. Not gentle: the paper keeps RED's certain drop above the maximum threshold. With `gentle` it is
//!    ns-3's, whose line above the maximum threshold starts at max_probability and not at 1.5 times
//!    that: the probability falls by a third there before it rises again.
//! 3. Where curve_factor x max_probability is above 1 the curve ends at 1, as in ns-3.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Settings};

use crate::ns2_red::{
    AUTOMATIC_WEIGHT, BYTE_MODE, ECN, LIMIT, MARK_PROBABILITY, MAX_PROBABILITY, MAX_THRESHOLD,
    MEAN_PACKET_SIZE, MIN_THRESHOLD, TARGET_DELAY, WAIT, WEIGHT,
};
use crate::{Arrival, Coin, Decide, Discipline, LinkFacts, Listed, Ns2Red, Verdict};

/// See the module's head.
#[derive(Clone, Debug)]
pub struct NonlinearRed {
    red: Ns2Red,
    curve_factor: f64,
}

impl Listed for NonlinearRed {
    const ALGORITHM: Algorithm = Algorithm {
        name: "nonlinear-red",
        title: "Nonlinear RED",
        summary: "RED whose drop probability rises with the square of the average queue",
        source: "Zhou, Yeung and Li, Computer Networks 50(18), 2006; ns-3, red-queue-disc.cc",
        parameters: &[
            LIMIT,
            MIN_THRESHOLD,
            MAX_THRESHOLD,
            MAX_PROBABILITY,
            Parameter::number("curve_factor", "1", Some(1.5), 0.0, 1e3).above_minimum().described(
                "the probability at the maximum threshold is so many times max_probability; 1.5 \
                 keeps the area under RED's line",
                "ns-3; the paper",
            ),
            WEIGHT,
            AUTOMATIC_WEIGHT,
            Parameter::switch("gentle", false).described(
                "probability rises from max_probability to 1 at twice the maximum threshold",
                "the paper has none; ns-3 has true",
            ),
            WAIT,
            BYTE_MODE,
            MEAN_PACKET_SIZE,
            ECN,
            MARK_PROBABILITY,
            TARGET_DELAY,
        ],
        ordered: &[("min_threshold", "max_threshold")],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self {
            red: Ns2Red::new(settings, link)?,
            curve_factor: settings.number("curve_factor"),
        })
    }
}

impl Discipline for NonlinearRed {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        self.red.reconfigure(settings, link)?;
        self.curve_factor = settings.number("curve_factor");
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

impl<C: Coin> Decide<C> for NonlinearRed {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.red.update_average(arrival);
        let factor = self.curve_factor;
        self.red.decide_by(arrival, coin, |red| curve(red, factor))
    }
}

/// The quadratic curve between the thresholds; above them RED's own rule.
#[inline]
fn curve(red: &Ns2Red, factor: f64) -> f64 {
    let (min_threshold, max_threshold) = red.thresholds();
    if red.average() >= max_threshold {
        return red.unspaced_probability();
    }
    let part = (red.average() - min_threshold) / (max_threshold - min_threshold);
    (factor * red.max_probability() * part * part).min(1.0)
}
