use vermilion_parameters::{Packets, ParameterError, Probability, Seconds, settings};

use crate::ns2_red::{Ns2Red, Ns2RedCommon, Rule, RuledRed};
use crate::{Arrival, LinkFacts};

settings! {
    /// Settings of [`PdRed`].
    pub PdRedSettings "pd-red": "PD-RED",
        "RED whose maximum probability follows a proportional-derivative controller",
        "Sun, Ko, Chen, Chan and Zukerman, IEEE Communications Letters 7(8), 2003",
        min_threshold < max_threshold, lowest_probability < highest_probability;
    ..common: Ns2RedCommon;
    /// probability rises to 1 at twice the maximum threshold
    gentle: bool = true, "ns-2.35 (since 2001)";
    /// average at which max_probability rests; automatic: half way between the thresholds
    target_queue: Option<Packets> = automatic in [0, 1e9] linear [1, 100],
        "ours; adaptive RED's target";
    /// step of max_probability in each interval for an error of the whole limit
    proportional_gain: Probability = 0.001 in [0, 1e3] log [1e-5, 0.1],
        "the paper's k_p, after accounts of it";
    /// step of max_probability for a change of the error by the whole limit
    derivative_gain: Probability = 0.05 in [0, 1e3] log [1e-3, 1],
        "the paper's k_d, after accounts of it";
    /// time between two samples of the average
    interval: Seconds = 0.01 in [1e-6, 1e3], "the paper, after accounts of it";
    /// max_probability is never below this
    lowest_probability: Probability = 0 in [0, 1], "ours: a probability's bound";
    /// max_probability is never above this
    highest_probability: Probability = 1 in [0, 1], "ours: a probability's bound";
}

/// PD-RED: a proportional and derivative controller moves RED's maximum probability.
///
/// Source: J. Sun, K.-T. Ko, G. Chen, S. Chan, M. Zukerman, "PD-RED: To Improve the Performance of
/// RED", IEEE Communications Letters 7(8), 2003. Confirmed from the abstract: the controller is
/// proportional-derivative, it adapts the maximal drop rate, changes to RED are minimal, and
/// adaptive RED is what it is compared with. Not confirmed, and taken from accounts of the paper: the
/// formula below and its constants 0.01 s, 0.001 and 0.05.
///
/// State: RED's, and the error at the last sample. Update, every `interval`, with the error
/// e = (average - target_queue) / limit: `max_probability` moves by proportional_gain x e +
/// derivative_gain x (e - the e before). Control law: RED's, here [`Ns2Red`]'s.
///
/// Departures from the source:
/// 1. The target is automatic: half way between the thresholds, where adaptive RED has it. The paper's
///    is not confirmed.
/// 2. `max_probability` is kept between `lowest_probability` and `highest_probability`, by default
///    0 and 1. The derivative refers to samples that were taken, whether or not that bound held.
/// 3. Samples are not timed: those that are due are made up for when a packet arrives, before it is
///    measured. RED's average moves only when packets arrive, so the result is the same.
/// 4. As in ns-2 the gentle slope is not redrawn when `max_probability` moves (see [`Ns2Red`]).
pub type PdRed = RuledRed<ProportionalDerivative>;

/// The rule of [`PdRed`].
#[derive(Clone, Debug)]
pub struct ProportionalDerivative {
    set: PdRedSettings,
    limit: f64,
    /// Nanoseconds.
    interval: u64,
    /// Packets (byte mode: of the mean size).
    target_queue: f64,
    /// When the last sample was due, in nanoseconds.
    sampled: u64,
    last_error: f64,
}

impl Rule for ProportionalDerivative {
    type Settings = PdRedSettings;

    fn red(set: &PdRedSettings) -> (Ns2RedCommon, bool) {
        (set.common, set.gentle)
    }

    fn new(set: PdRedSettings, red: &Ns2Red, _link: LinkFacts) -> Result<Self, ParameterError> {
        let (min_threshold, max_threshold) = red.thresholds();
        let middle = (min_threshold + max_threshold) / 2.0 / red.unit();
        let target_queue = set.target_queue.map_or(middle, |packets| packets.0);
        let limit = f64::from(set.common.limit.0);
        let interval = set.interval.nanoseconds();
        // The queue is empty at first: its error is no change.
        let last_error = -target_queue / limit;
        Ok(Self { set, limit, interval, target_queue, sampled: 0, last_error })
    }

    fn keep(&mut self, before: &Self, _scale: f64) {
        // A new target or limit is no motion of the queue. Settings given again change nothing, to
        // the last bit.
        let same = (self.target_queue, self.limit) == (before.target_queue, before.limit);
        let average = before.last_error * before.limit + before.target_queue;
        self.last_error =
            if same { before.last_error } else { (average - self.target_queue) / self.limit };
        self.sampled = before.sampled;
    }

    #[inline]
    fn meet(&mut self, red: &mut Ns2Red, arrival: &Arrival) {
        let samples = (arrival.now - self.sampled) / self.interval;
        if samples > 0 {
            self.sampled += samples * self.interval;
            self.control(red, samples);
        }
        red.update_average(arrival);
    }
}

impl ProportionalDerivative {
    /// Makes up for so many samples, between which the average did not move.
    fn control(&mut self, red: &mut Ns2Red, samples: u64) {
        let error = (red.average() / red.unit() - self.target_queue) / self.limit;
        let step = self.set.proportional_gain.0 * error;
        let turn = self.set.derivative_gain.0 * (error - self.last_error);
        self.last_error = error;
        let first = self.within_bounds(red.max_probability() + step + turn);
        // The others see no change and all step the same way: the bound can wait for the last.
        red.set_max_probability(self.within_bounds(first + (samples - 1) as f64 * step));
    }

    fn within_bounds(&self, probability: f64) -> f64 {
        probability.clamp(self.set.lowest_probability.0, self.set.highest_probability.0)
    }
}
