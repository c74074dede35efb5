use vermilion_parameters::settings;

use crate::option_sets::OptionSet;
use crate::rules::Additive;
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `newreno`: recovery that repairs several losses of one window, one per round trip.
    ///
    /// Additive increase; the recovery is in `recovery/duplicates.rs`, that of the option set `linux` in
    /// `recovery/counted.rs`.
    pub NewRenoSettings "newreno": "NewReno",
        "Recovery that repairs several losses of one window, one per round trip",
        "RFC 6582; ns-2.35, tcp-newreno.cc",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings;
}

impl From<NewRenoSettings> for SenderOptions {
    fn from(set: NewRenoSettings) -> Self {
        let of_linux = set.common.option_set == OptionSet::Linux;
        let recovery = if of_linux { Recovery::LinuxNewReno } else { Recovery::NewReno };
        Self::new(set.common, recovery, Additive::new(&set.common.growth))
    }
}
