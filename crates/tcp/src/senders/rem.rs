use vermilion_parameters::settings;

use crate::rules::{Rem, RemOptions};
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `rem`: a rate that follows from the price that marks tell.
    ///
    /// The rule is in `rules/rem.rs`.
    pub RemSettings "rem": "REM source",
        "The rate follows from the price that the marks of REM queues tell",
        "S. Athuraliya, S. Low, Simulation comparison of RED and REM, ICON 2000",
        minimum_timeout < maximum_timeout, min_rate < max_rate;
    ..common: CommonSettings { ecn: Switch(true), ecn_feedback: Choice("accurate"), timestamps: Switch(true) };
    ..recovery: Recovery;
    ..rule: RemOptions;
}

impl From<RemSettings> for SenderOptions {
    fn from(set: RemSettings) -> Self {
        Self::new(set.common, set.recovery, Rem::new(set.rule))
    }
}
