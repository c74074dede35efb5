use vermilion_parameters::settings;

use crate::rules::{Ledbat, LedbatOptions};
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `ledbat`: less than best effort: gives way as soon as the queue is longer than it wants it.
    ///
    /// The rule is in `rules/ledbat.rs`.
    pub LedbatSettings "ledbat": "LEDBAT",
        "Less than best effort: gives way as soon as the queue is longer than it wants it",
        "RFC 6817",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings { timestamps: Switch(true) };
    ..recovery: Recovery;
    ..rule: LedbatOptions;
}

impl From<LedbatSettings> for SenderOptions {
    fn from(set: LedbatSettings) -> Self {
        Self::new(set.common, set.recovery, Ledbat::new(set.rule))
    }
}
