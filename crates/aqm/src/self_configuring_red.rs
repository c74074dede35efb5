use vermilion_parameters::{ParameterError, settings};

use crate::ns2_red::{Ns2Red, Ns2RedCommon, Rule, RuledRed};
use crate::{Arrival, LinkFacts};

settings! {
    /// Settings of [`SelfConfiguringRed`].
    pub SelfConfiguringRedSettings "self-configuring-red": "Self-configuring RED",
        "RED that scales its maximum probability when the average leaves the range",
        "Feng, Kandlur, Saha and Shin, INFOCOM 1999",
        min_threshold < max_threshold;
    ..common: Ns2RedCommon;
    /// probability rises to 1 at twice the maximum threshold
    gentle: bool = false, "the paper has none";
    /// divides max_probability when the average falls below the range
    decrease: f64 = 3 in [1, 1e3], "the paper's alpha";
    /// multiplies max_probability when the average rises above the range
    increase: f64 = 2 in [1, 1e3], "the paper's beta";
}

/// The self-configuring RED gateway: RED that learns how aggressive to be.
///
/// Source: W. Feng, D. Kandlur, D. Saha, K. Shin, "A Self-Configuring RED Gateway", INFOCOM 1999,
/// in the form ns-2.35 gives it (`updateMaxPFeng`). When the average falls below the minimum
/// threshold RED has been too aggressive and `max_probability` is divided by `decrease`; when it
/// rises above the maximum threshold RED has been too gentle and it is multiplied by `increase`.
/// Each crossing counts once: the average must come back between the thresholds before the same
/// change can happen again.
///
/// Departures from the source:
/// 1. `max_probability` is kept at most 1 (the published rule has no bound).
/// 2. Underneath runs [`Ns2Red`], the gateway the authors' simulations modified, not gentle.
/// 3. It starts as if the average had been below the range, as an empty queue's is; the source
///    does not say.
/// 4. Some descriptions let `max_probability` rest for a time after a change; the paper's
///    algorithm has no timer and neither has this.
pub type SelfConfiguringRed = RuledRed<SelfConfiguring>;

/// The rule of [`SelfConfiguringRed`].
#[derive(Clone, Debug)]
pub struct SelfConfiguring {
    set: SelfConfiguringRedSettings,
    status: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Below,
    Between,
    Above,
}

impl Rule for SelfConfiguring {
    type Settings = SelfConfiguringRedSettings;

    fn red(set: &SelfConfiguringRedSettings) -> (Ns2RedCommon, bool) {
        (set.common, set.gentle)
    }

    fn new(
        set: SelfConfiguringRedSettings,
        _red: &Ns2Red,
        _link: LinkFacts,
    ) -> Result<Self, ParameterError> {
        // An empty queue is below the range: the first stay there is no fall and changes nothing.
        Ok(Self { set, status: Status::Below })
    }

    fn keep(&mut self, before: &Self, _scale: f64) {
        self.status = before.status;
    }

    #[inline]
    fn meet(&mut self, red: &mut Ns2Red, arrival: &Arrival) {
        red.update_average(arrival);
        let average = red.average();
        let (min_threshold, max_threshold) = red.thresholds();
        if min_threshold < average && average < max_threshold {
            self.status = Status::Between;
        } else if average < min_threshold && self.status != Status::Below {
            self.status = Status::Below;
            red.set_max_probability(red.max_probability() / self.set.decrease);
        } else if average > max_threshold && self.status != Status::Above {
            self.status = Status::Above;
            red.set_max_probability((red.max_probability() * self.set.increase).min(1.0));
        }
    }
}
