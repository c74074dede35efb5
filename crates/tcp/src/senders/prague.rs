use vermilion_parameters::{Algorithm, Parameter};

use crate::named::Named;
use crate::rules::{Prague, PragueOptions};
use crate::table::{Defaults, RULED_COUNT, join, ruled};

const OWN: [Parameter; 4] = [
    Parameter::number("mark_gain", "1", Some(0.0625), 0.0, 1.0).above_minimum().described(
        "weight of a new fraction of marks in the average",
        "tcp_prague.c: 1/16, as DCTCP",
    ),
    Parameter::switch("round_trip_independence", true).described(
        "flows with a short round trip become as fast as one with the reference round trip",
        "the draft; tcp_prague.c: prague_rtt_scaling 1",
    ),
    Parameter::number("reference_round_trip", "seconds", Some(0.025), 1e-6, 1.0)
        .described("round trip as which shorter ones behave", "tcp_prague.c: prague_rtt_target"),
    Parameter::number("independence_delay", "1", Some(500.0), 0.0, 1e9).whole().described(
        "round trips after slow start before a flow behaves so",
        "tcp_prague.c: prague_rtt_transition",
    ),
];

/// DCTCP for the Internet: answers every mark, for queues that mark early
///
/// The rule is in `rules/prague.rs`.
pub static PRAGUE: Named = Named {
    algorithm: Algorithm {
        name: "prague",
        title: "Prague",
        summary: "DCTCP for the Internet: answers every mark, for queues that mark early (ECT(1))",
        source: "draft-briscoe-iccrg-prague-congestion-control; L4STeam, tcp_prague.c; RFC 9331",
        parameters: &join::<RULED_COUNT, 4, { RULED_COUNT + 4 }>(
            ruled(Defaults {
                ecn: true,
                ecn_feedback: "accurate",
                ecn_capable_handshake: true,
                timestamps: true,
                pacing: true,
            }),
            OWN,
        ),
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: None,
    rule: |settings| {
        Prague::new(PragueOptions {
            gain: settings.number("mark_gain"),
            reference: settings
                .switch("round_trip_independence")
                .then(|| settings.number("reference_round_trip")),
            delay: settings.number("independence_delay") as u32,
        })
        .into()
    },
    scalable: true,
};
