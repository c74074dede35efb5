//! PD-RED: a proportional and derivative controller moves RED's maximum probability.
//!
//! Source: J. Sun, K.-T. Ko, G. Chen, S. Chan, M. Zukerman, "PD-RED: To Improve the Performance of
//! RED", IEEE Communications Letters 7(8), 2003. Confirmed from the abstract: the controller is
//! proportional-derivative, it adapts the maximal drop rate, changes to RED are minimal, and
//! adaptive RED is what it is compared with. Not confirmed, and taken from accounts of the paper: the
//! formula below and its constants 0.01 s, 0.001 and 0.05.
//!
//! State: RED's, and the error at the last sample. Update, every `interval`, with the error
//! e = (average - target_queue) / limit: `max_probability` moves by proportional_gain x e +
//! derivative_gain x (e - the e before). Control law: RED's, here [`Ns2Red`]'s.
//!
//! Departures from the source:
//! 1. The target is automatic: half way between the thresholds, where adaptive RED has it. The paper's
//!    is not confirmed.
//! 2. `max_probability` is kept between `lowest_probability` and `highest_probability`, by default
//!    0 and 1. The derivative refers to samples that were taken, whether or not that bound held.
//! 3. Samples are not timed: those that are due are made up for when a packet arrives, before it is
//!    measured. RED's average moves only when packets arrive, so the result is the same.
//! 4. As in ns-2 the gentle slope is not redrawn when `max_probability` moves (see [`Ns2Red`]).

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::ns2_red::{
    AUTOMATIC_WEIGHT, BYTE_MODE, ECN, GENTLE, LIMIT, MARK_PROBABILITY, MAX_PROBABILITY,
    MAX_THRESHOLD, MEAN_PACKET_SIZE, MIN_THRESHOLD, TARGET_DELAY, WAIT, WEIGHT,
};
use crate::{Arrival, Coin, Decide, Discipline, LinkFacts, Listed, Ns2Red, Verdict};

/// See the module's head.
#[derive(Clone, Debug)]
pub struct PdRed {
    red: Ns2Red,
    limit: f64,
    /// Packets (byte mode: of the mean size).
    target_queue: f64,
    proportional_gain: f64,
    derivative_gain: f64,
    /// Nanoseconds.
    interval: u64,
    lowest_probability: f64,
    highest_probability: f64,
    /// When the last sample was due, in nanoseconds.
    sampled: u64,
    last_error: f64,
}

impl Listed for PdRed {
    const ALGORITHM: Algorithm = Algorithm {
        name: "pd-red",
        title: "PD-RED",
        summary: "RED whose maximum probability follows a proportional-derivative controller",
        source: "Sun, Ko, Chen, Chan and Zukerman, IEEE Communications Letters 7(8), 2003",
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
            Parameter::number("target_queue", "packets", None, 0.0, 1e9)
                .searched(1.0, 100.0, Scale::Linear)
                .described(
                    "average at which max_probability rests; automatic: half way between the \
                     thresholds",
                    "ours; adaptive RED's target",
                ),
            Parameter::number("proportional_gain", "probability", Some(0.001), 0.0, 1e3)
                .searched(1e-5, 0.1, Scale::Log)
                .described(
                    "step of max_probability in each interval for an error of the whole limit",
                    "the paper's k_p, after accounts of it",
                ),
            Parameter::number("derivative_gain", "probability", Some(0.05), 0.0, 1e3)
                .searched(1e-3, 1.0, Scale::Log)
                .described(
                    "step of max_probability for a change of the error by the whole limit",
                    "the paper's k_d, after accounts of it",
                ),
            Parameter::number("interval", "seconds", Some(0.01), 1e-6, 1e3).described(
                "time between two samples of the average",
                "the paper, after accounts of it",
            ),
            Parameter::number("lowest_probability", "probability", Some(0.0), 0.0, 1.0)
                .described("max_probability is never below this", "ours: a probability's bound"),
            Parameter::number("highest_probability", "probability", Some(1.0), 0.0, 1.0)
                .described("max_probability is never above this", "ours: a probability's bound"),
        ],
        ordered: &[
            ("min_threshold", "max_threshold"),
            ("lowest_probability", "highest_probability"),
        ],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        let red = Ns2Red::new(settings, link)?;
        let (min_threshold, max_threshold) = red.thresholds();
        let middle = (min_threshold + max_threshold) / 2.0 / red.unit();
        let target_queue = settings.automatic("target_queue").unwrap_or(middle);
        let limit = settings.number("limit");
        Ok(Self {
            red,
            limit,
            target_queue,
            proportional_gain: settings.number("proportional_gain"),
            derivative_gain: settings.number("derivative_gain"),
            interval: (settings.number("interval") * 1e9).round() as u64,
            lowest_probability: settings.number("lowest_probability"),
            highest_probability: settings.number("highest_probability"),
            sampled: 0,
            // The queue is empty at first: its error is no change.
            last_error: -target_queue / limit,
        })
    }
}

impl Discipline for PdRed {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fresh = Self::new(settings, link)?;
        self.red.reconfigure(settings, link)?;
        // A new target or limit is no motion of the queue. Settings given again change nothing, to
        // the last bit.
        let same = (fresh.target_queue, fresh.limit) == (self.target_queue, self.limit);
        let average = self.last_error * self.limit + self.target_queue;
        let last_error =
            if same { self.last_error } else { (average - fresh.target_queue) / fresh.limit };
        *self = Self { red: self.red.clone(), sampled: self.sampled, last_error, ..fresh };
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

impl<C: Coin> Decide<C> for PdRed {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        let samples = (arrival.now - self.sampled) / self.interval;
        if samples > 0 {
            self.sampled += samples * self.interval;
            self.control(samples);
        }
        self.red.update_average(arrival);
        self.red.decide(arrival, coin)
    }
}

impl PdRed {
    /// Makes up for so many samples, between which the average did not move.
    fn control(&mut self, samples: u64) {
        let error = (self.red.average() / self.red.unit() - self.target_queue) / self.limit;
        let step = self.proportional_gain * error;
        let turn = self.derivative_gain * (error - self.last_error);
        self.last_error = error;
        let first = self.within_bounds(self.red.max_probability() + step + turn);
        // The others see no change and all step the same way: the bound can wait for the last.
        let last = self.within_bounds(first + (samples - 1) as f64 * step);
        self.red.set_max_probability(last);
    }

    fn within_bounds(&self, probability: f64) -> f64 {
        probability.clamp(self.lowest_probability, self.highest_probability)
    }
}
