use vermilion_parameters::settings;

use crate::rules::Bbr1;
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `bbr1`: BBR version 1, which is what Linux has: the greatest bandwidth and the
    /// shortest round trip of late, whatever is lost.
    ///
    /// The rule is in `rules/bbr1/`. Its parameters are those of `bbr`.
    pub Bbr1Settings "bbr1": "BBR version 1",
        "As BBR, but with the first version's model, which hardly minds losses; what Linux has",
        "Cardwell et al. 2016; Linux 6.12: tcp_bbr.c",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings { timestamps: Switch(true), pacing: Switch(true) };
    /// how losses are noticed and repaired
    recovery: Recovery = Rack of [Rack, Sack], "RFC 8985; sack is RFC 6675";
}

impl From<Bbr1Settings> for SenderOptions {
    fn from(set: Bbr1Settings) -> Self {
        Self::new(set.common, set.recovery, Bbr1::default())
    }
}
