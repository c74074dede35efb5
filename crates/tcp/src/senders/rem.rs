use vermilion_parameters::{Algorithm, Parameter};

use crate::named::Named;
use crate::rules::{Rem, RemOptions};
use crate::table::{Defaults, PLAIN, RULED_COUNT, join, ruled};

const OWN: [Parameter; 7] = [
    Parameter::number("phi", "1", Some(1.04), 1.0, 1e3).above_minimum().described(
        "base of the marking probability; that of the queues",
        "not in the paper; prices of 10 to 40 ask for 1.03 to 1.05; ns-2's queue has 1.001",
    ),
    Parameter::number("marks_memory", "packets", Some(50.0), 1.0, 1e5)
        .whole()
        .described("last segments among which marks are counted", "the paper: N"),
    Parameter::number("utility_weight", "packets", Some(4000.0), 0.0, 1e9)
        .above_minimum()
        .described(
            "weight of the utility: packets in a second at a price of 1",
            "the paper: the bottleneck's capacity, there 4 packets in a millisecond",
        ),
    Parameter::number("max_rate", "packets", None, 0.0, 1e9).above_minimum().described(
        "packets in a second while nothing is marked",
        "not in the paper; automatic: the utility weight",
    ),
    Parameter::number("min_rate", "packets", None, 0.0, 1e9).described(
        "packets in a second while everything is marked",
        "not in the paper; automatic: one packet in a round trip",
    ),
    Parameter::number("round_trip_gain", "1", Some(0.02), 0.0, 1.0)
        .above_minimum()
        .described("weight of a new round trip in the average", "the paper: beta"),
    Parameter::choice("adjustment", "immediate", &["immediate", "smoothed"]).described(
        "the window is what the price asks for, or moves towards it by a packet in a round trip",
        "the paper has both",
    ),
];

/// A rate that follows from the price that marks tell
///
/// The rule is in `rules/rem.rs`.
pub static REM: Named = Named {
    algorithm: Algorithm {
        name: "rem",
        title: "REM source",
        summary: "The rate follows from the price that the marks of REM queues tell",
        source: "S. Athuraliya, S. Low, Simulation comparison of RED and REM, ICON 2000",
        parameters: &join::<RULED_COUNT, 7, { RULED_COUNT + 7 }>(
            ruled(Defaults { ecn: true, ecn_feedback: "accurate", timestamps: true, ..PLAIN }),
            OWN,
        ),
        ordered: &[("minimum_timeout", "maximum_timeout"), ("min_rate", "max_rate")],
    },
    recovery: None,
    rule: |settings| {
        let weight = settings.number("utility_weight");
        Rem::new(RemOptions {
            phi: settings.number("phi"),
            memory: settings.number("marks_memory") as usize,
            weight,
            most: settings.automatic("max_rate").unwrap_or(weight),
            least: settings.automatic("min_rate").unwrap_or(0.0),
            gain: settings.number("round_trip_gain"),
            smoothed: settings.is("adjustment", "smoothed"),
        })
        .into()
    },
    scalable: false,
};
