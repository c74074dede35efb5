use vermilion_parameters::{Algorithm, Parameter};

use crate::named::Named;
use crate::rules::{Additive, Dctcp};
use crate::table::{Defaults, PLAIN, RULED_COUNT, join, ruled};

const OWN: [Parameter; 1] = [Parameter::number("mark_gain", "1", Some(0.0625), 0.0, 1.0)
    .above_minimum()
    .described("weight of a new fraction of marks in the average", "RFC 8257: g = 1/16")];

/// The window falls in proportion to the fraction of marked segments
///
/// The rule is in `rules/dctcp.rs`.
pub static DCTCP: Named = Named {
    algorithm: Algorithm {
        name: "dctcp",
        title: "DCTCP",
        summary: "The window falls in proportion to the fraction of marked segments",
        source: "RFC 8257; M. Alizadeh and others, Data center TCP, 2010",
        parameters: &join::<RULED_COUNT, 1, { RULED_COUNT + 1 }>(
            ruled(Defaults {
                ecn: true,
                ecn_feedback: "accurate",
                ecn_capable_handshake: true,
                ..PLAIN
            }),
            OWN,
        ),
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: None,
    rule: |settings| Dctcp::new(settings.number("mark_gain"), Additive::new(settings)).into(),
    scalable: false,
};
