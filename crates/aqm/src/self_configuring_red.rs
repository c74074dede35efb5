//! The self-configuring RED gateway: RED that learns how aggressive to be.
//!
//! Source: W. Feng, D. Kandlur, D. Saha, K. Shin, "A Self-Configuring RED Gateway", INFOCOM 1999,
//! in the form ns-2.35 gives it (`updateMaxPFeng`). When the average falls below the minimum
//! threshold RED has been too aggressive and `max_probability` is divided by `decrease`; when it
//! rises above the maximum threshold RED has been too gentle and it is multiplied by `increase`.
//! Each crossing counts once: the average must come back between the thresholds before the same
//! change can happen again.
//!
//! Departures from the source:
//! 1. `max_probability` is kept at most 1 (the published rule has no bound).
//! 2. Underneath runs [`Ns2Red`], the gateway the authors' simulations modified, not gentle.
//! 3. It starts as if the average had been below the range, as an empty queue's is; the source
//!    does not say.
//! 4. Some descriptions let `max_probability` rest for a time after a change; the paper's
//!    algorithm has no timer and neither has this.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Settings};

use crate::ns2_red::{
    AUTOMATIC_WEIGHT, BYTE_MODE, ECN, LIMIT, MARK_PROBABILITY, MAX_PROBABILITY, MAX_THRESHOLD,
    MEAN_PACKET_SIZE, MIN_THRESHOLD, TARGET_DELAY, WAIT, WEIGHT,
};
use crate::{Arrival, Coin, Decide, Discipline, LinkFacts, Listed, Ns2Red, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Below,
    Between,
    Above,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct SelfConfiguringRed {
    red: Ns2Red,
    decrease: f64,
    increase: f64,
    status: Status,
}

impl Listed for SelfConfiguringRed {
    const ALGORITHM: Algorithm = Algorithm {
        name: "self-configuring-red",
        title: "Self-configuring RED",
        summary: "RED that scales its maximum probability when the average leaves the range",
        source: "Feng, Kandlur, Saha and Shin, INFOCOM 1999",
        parameters: &[
            LIMIT,
            MIN_THRESHOLD,
            MAX_THRESHOLD,
            MAX_PROBABILITY,
            WEIGHT,
            AUTOMATIC_WEIGHT,
            Parameter::switch("gentle", false).described(
                "probability rises to 1 at twice the maximum threshold",
                "the paper has none",
            ),
            WAIT,
            BYTE_MODE,
            MEAN_PACKET_SIZE,
            ECN,
            MARK_PROBABILITY,
            TARGET_DELAY,
            Parameter::number("decrease", "1", Some(3.0), 1.0, 1e3).described(
                "divides max_probability when the average falls below the range",
                "the paper's alpha",
            ),
            Parameter::number("increase", "1", Some(2.0), 1.0, 1e3).described(
                "multiplies max_probability when the average rises above the range",
                "the paper's beta",
            ),
        ],
        ordered: &[("min_threshold", "max_threshold")],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self {
            red: Ns2Red::new(settings, link)?,
            decrease: settings.number("decrease"),
            increase: settings.number("increase"),
            // An empty queue is below the range: the first stay there is no fall and changes nothing.
            status: Status::Below,
        })
    }
}

impl Discipline for SelfConfiguringRed {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        self.red.reconfigure(settings, link)?;
        self.decrease = settings.number("decrease");
        self.increase = settings.number("increase");
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

impl<C: Coin> Decide<C> for SelfConfiguringRed {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.red.update_average(arrival);
        self.adapt();
        self.red.decide(arrival, coin)
    }
}

impl SelfConfiguringRed {
    #[inline]
    fn adapt(&mut self) {
        let average = self.red.average();
        let (min_threshold, max_threshold) = self.red.thresholds();
        if min_threshold < average && average < max_threshold {
            self.status = Status::Between;
        } else if average < min_threshold && self.status != Status::Below {
            self.status = Status::Below;
            self.red.set_max_probability(self.red.max_probability() / self.decrease);
        } else if average > max_threshold && self.status != Status::Above {
            self.status = Status::Above;
            self.red.set_max_probability((self.red.max_probability() * self.increase).min(1.0));
        }
    }
}
