use vermilion_parameters::{Algorithm, Parameter};

use crate::named::Named;
use crate::rules::{Cubic, CubicOptions, HyStart, LinuxCubic};
use crate::table::{Defaults, PLAIN, RULED_COUNT, join, ruled};

const OWN: [Parameter; 6] = [
    Parameter::choice("dialect", "rfc9438", &["rfc9438", "linux"]).described(
        "the function as published, or in the kernel's whole numbers, with its constants and its older \
         HyStart; of this table that one asks for fast_convergence and hystart only",
        "RFC 9438; Linux: tcp_cubic.c",
    ),
    Parameter::number("cubic_scaling", "1", Some(0.4), 0.0, 1e3)
        .above_minimum()
        .described("steepness of the cubic function, segments per cubic second", "RFC 9438: C"),
    Parameter::number("decrease_factor", "1", Some(0.7), 0.1, 0.99)
        .described("what a reduction leaves of the window", "RFC 9438: beta"),
    Parameter::switch("fast_convergence", true).described(
        "a flow whose window is reduced before it is back where it was makes room for others",
        "RFC 9438, section 4.7",
    ),
    Parameter::switch("catch_up", true).described(
        "the Reno-friendly window grows by a segment per round trip once it is back where it was",
        "RFC 9438, section 4.3; Linux has false",
    ),
    Parameter::switch("hystart", true).described(
        "the first slow start ends when round trips lengthen; needs timestamps",
        "RFC 9406 (HyStart++), which RFC 9438 recommends; Linux has its own, older one",
    ),
];

/// The window follows a cubic function of the time since the last loss
///
/// The rule is in `rules/cubic.rs`, that of Linux in `rules/linux_cubic.rs`, the slow start in `rules/hystart.rs`.
pub static CUBIC: Named = Named {
    algorithm: Algorithm {
        name: "cubic",
        title: "CUBIC",
        summary: "The window follows a cubic function of the time since the last loss",
        source: "RFC 9438, with HyStart++ (RFC 9406)",
        parameters: &join::<RULED_COUNT, 6, { RULED_COUNT + 6 }>(
            ruled(Defaults { timestamps: true, ..PLAIN }),
            OWN,
        ),
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: None,
    rule: |settings| {
        let paced = settings.switch("pacing");
        if settings.is("dialect", "linux") {
            let tick = (settings.number("timer_tick") * 1e9).round() as u64;
            let fast_convergence = settings.switch("fast_convergence");
            return LinuxCubic::new(tick, fast_convergence, settings.switch("hystart"), paced)
                .into();
        }
        let options = CubicOptions {
            scaling: settings.number("cubic_scaling"),
            decrease: settings.number("decrease_factor"),
            fast_convergence: settings.switch("fast_convergence"),
            catches_up: settings.switch("catch_up"),
            by_segments: settings.switch("byte_counting"),
            increase: settings.number("linear_increase"),
        };
        Cubic::new(options, settings.switch("hystart").then(|| HyStart::new(paced))).into()
    },
    scalable: false,
};
