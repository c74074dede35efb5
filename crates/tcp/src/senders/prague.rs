use vermilion_parameters::settings;

use crate::rules::{Prague, PragueOptions};
use crate::{CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `prague`: DCTCP for the Internet: answers every mark, for queues that mark early.
    ///
    /// The rule is in `rules/prague.rs`.
    pub PragueSettings "prague": "Prague",
        "DCTCP for the Internet: answers every mark, for queues that mark early (ECT(1))",
        "draft-briscoe-iccrg-prague-congestion-control; L4STeam, tcp_prague.c; RFC 9331",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings {
        ecn: Switch(true),
        ecn_feedback: Choice("accurate"),
        ecn_capable_handshake: Switch(true),
        timestamps: Switch(true),
        pacing: Switch(true),
    };
    ..recovery: Recovery;
    ..rule: PragueOptions;
}

impl From<PragueSettings> for SenderOptions {
    fn from(set: PragueSettings) -> Self {
        Self { scalable: true, ..Self::new(set.common, set.recovery, Prague::new(set.rule)) }
    }
}
