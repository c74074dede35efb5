use vermilion_parameters::settings;

use crate::rules::Additive;
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `sack`: recovery by selective acknowledgements: all losses of a window in one round trip.
    ///
    /// Additive increase; the recoveries to choose from are in `recovery/selective.rs` (RFC 6675 and, by
    /// time, RFC 8985) and `recovery/sack1.rs` (ns-2).
    pub SackSettings "sack": "SACK",
        "Recovery by selective acknowledgements: all losses of a window in one round trip",
        "RFC 6675, RFC 2018",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings;
    ..recovery: Recovery;
}

impl From<SackSettings> for SenderOptions {
    fn from(set: SackSettings) -> Self {
        Self::new(set.common, set.recovery, Additive::new(&set.common.growth))
    }
}
