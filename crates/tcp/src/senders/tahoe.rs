use vermilion_parameters::settings;

use crate::rules::Additive;
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `tahoe`: fast retransmit, then slow start from one segment.
    ///
    /// Additive increase; the recovery is in `recovery/duplicates.rs`.
    pub TahoeSettings "tahoe": "Tahoe",
        "Fast retransmit, then slow start from one segment",
        "V. Jacobson, Congestion avoidance and control, 1988; ns-2.35, tcp.cc",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings;
}

impl From<TahoeSettings> for SenderOptions {
    fn from(set: TahoeSettings) -> Self {
        Self::new(set.common, Recovery::Tahoe, Additive::new(&set.common.growth))
    }
}
