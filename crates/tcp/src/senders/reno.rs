use vermilion_parameters::settings;

use crate::rules::Additive;
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `reno`: fast retransmit and recovery that ends with the first new acknowledgement.
    ///
    /// Additive increase; the recovery is in `recovery/duplicates.rs`.
    pub RenoSettings "reno": "Reno",
        "Fast retransmit and recovery that ends with the first new acknowledgement",
        "RFC 5681; ns-2.35, tcp-reno.cc",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings;
}

impl From<RenoSettings> for SenderOptions {
    fn from(set: RenoSettings) -> Self {
        Self::new(set.common, Recovery::Reno, Additive::new(&set.common.growth))
    }
}
