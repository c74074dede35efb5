use vermilion_parameters::{Algorithm, Parameter};

use crate::named::Named;
use crate::rules::{Ledbat, LedbatOptions};
use crate::table::{Defaults, PLAIN, RULED_COUNT, join, ruled};

const OWN: [Parameter; 6] = [
    Parameter::number("target_delay", "seconds", Some(0.1), 0.0, 10.0)
        .above_minimum()
        .described("queueing delay that is aimed at", "RFC 6817: TARGET, at most 0.1 s"),
    Parameter::number("delay_gain", "1", Some(1.0), 0.0, 1.0).above_minimum().described(
        "segments by which the window grows in a round trip without queueing delay",
        "RFC 6817: GAIN, at most 1",
    ),
    Parameter::number("base_history", "1", Some(10.0), 1.0, 1e4)
        .whole()
        .described("minutes of which the least delay counts", "RFC 6817: BASE_HISTORY"),
    Parameter::number("current_filter", "packets", Some(4.0), 1.0, 1e4).whole().described(
        "last delays of which the least is the current one",
        "RFC 6817 leaves CURRENT_FILTER open; ns-3 has 4",
    ),
    Parameter::number("allowed_increase", "packets", Some(1.0), 0.0, 1e4)
        .above_minimum()
        .described(
            "by how much the window may exceed what was outstanding",
            "RFC 6817: ALLOWED_INCREASE",
        ),
    Parameter::number("minimum_window", "packets", Some(2.0), 1.0, 1e4)
        .described("least window, but for one of 1 after a timeout", "RFC 6817: MIN_CWND"),
];

/// Less than best effort: gives way as soon as the queue is longer than it wants it
///
/// The rule is in `rules/ledbat.rs`.
pub static LEDBAT: Named = Named {
    algorithm: Algorithm {
        name: "ledbat",
        title: "LEDBAT",
        summary: "Less than best effort: gives way as soon as the queue is longer than it wants it",
        source: "RFC 6817",
        parameters: &join::<RULED_COUNT, 6, { RULED_COUNT + 6 }>(
            ruled(Defaults { timestamps: true, ..PLAIN }),
            OWN,
        ),
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: None,
    rule: |settings| {
        Ledbat::new(LedbatOptions {
            target: settings.number("target_delay") * 1e9,
            gain: settings.number("delay_gain"),
            history: settings.number("base_history") as usize,
            filter: settings.number("current_filter") as usize,
            allowed_increase: settings.number("allowed_increase"),
            least: settings.number("minimum_window"),
        })
        .into()
    },
    scalable: false,
};
