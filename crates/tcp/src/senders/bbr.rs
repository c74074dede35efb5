use vermilion_parameters::settings;

use crate::rules::Bbr;
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `bbr`: a model of the path instead of losses: bandwidth and shortest round trip, probed in turn.
    ///
    /// The rule is in `rules/bbr/`. It needs selective acknowledgements and pacing.
    pub BbrSettings "bbr": "BBR version 3",
        "A model of the path instead of losses: bandwidth and shortest round trip, probed in turn",
        "draft-ietf-ccwg-bbr (August 2026)",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings { timestamps: Switch(true), pacing: Switch(true) };
    /// how losses are noticed and repaired
    recovery: Recovery = Rack of [Rack, Sack], "RFC 8985; sack is RFC 6675";
}

impl From<BbrSettings> for SenderOptions {
    fn from(set: BbrSettings) -> Self {
        Self::new(set.common, set.recovery, Bbr::default())
    }
}
