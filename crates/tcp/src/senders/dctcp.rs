use vermilion_parameters::settings;

use crate::rules::{Additive, Dctcp, DctcpOptions};
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `dctcp`: the window falls in proportion to the fraction of marked segments.
    ///
    /// The rule is in `rules/dctcp.rs`.
    pub DctcpSettings "dctcp": "DCTCP",
        "The window falls in proportion to the fraction of marked segments",
        "RFC 8257; M. Alizadeh and others, Data center TCP, 2010",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings {
        ecn: Switch(true),
        ecn_feedback: Choice("accurate"),
        ecn_capable_handshake: Switch(true),
    };
    ..recovery: Recovery;
    ..rule: DctcpOptions;
}

impl From<DctcpSettings> for SenderOptions {
    fn from(set: DctcpSettings) -> Self {
        Self::new(set.common, set.recovery, Dctcp::new(set.rule, Additive::new(&set.common.growth)))
    }
}
