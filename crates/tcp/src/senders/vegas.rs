use vermilion_parameters::settings;

use crate::rules::{Vegas, VegasOptions};
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `vegas`: keeps a few segments of its own in queues, by the delay that they cause.
    ///
    /// The rule is in `rules/vegas.rs`.
    pub VegasSettings "vegas": "Vegas",
        "Keeps a few segments of its own in queues, by the delay that they cause",
        "Brakmo and Peterson, IEEE JSAC 13(8), 1995; Linux 6.12, net/ipv4/tcp_vegas.c",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings;
    ..recovery: Recovery;
    ..rule: VegasOptions;
}

impl From<VegasSettings> for SenderOptions {
    fn from(set: VegasSettings) -> Self {
        Self::new(set.common, set.recovery, Vegas::new(set.rule))
    }
}
