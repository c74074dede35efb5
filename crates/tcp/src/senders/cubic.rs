use vermilion_parameters::settings;

use crate::rules::{Cubic, CubicDialect, CubicOptions, LinuxCubic};
use crate::{AnyRule, CommonSettings, Recovery, SenderOptions};

settings! {
    /// Settings of the sender `cubic`: the window follows a cubic function of the time since the last loss.
    ///
    /// The rule is in `rules/cubic.rs`, that of Linux in `rules/linux_cubic.rs`, the slow start in `rules/hystart.rs`.
    pub CubicSettings "cubic": "CUBIC",
        "The window follows a cubic function of the time since the last loss",
        "RFC 9438, with HyStart++ (RFC 9406)",
        minimum_timeout < maximum_timeout;
    ..common: CommonSettings { timestamps: Switch(true) };
    ..recovery: Recovery;
    ..rule: CubicOptions;
}

impl From<CubicSettings> for SenderOptions {
    fn from(set: CubicSettings) -> Self {
        let CommonSettings { growth, timer, sending, .. } = set.common;
        let rule: AnyRule = match set.rule.dialect {
            CubicDialect::Rfc9438 => Cubic::new(set.rule, growth, sending.pacing).into(),
            CubicDialect::Linux => {
                LinuxCubic::new(timer.timer_tick.nanoseconds(), set.rule, sending.pacing).into()
            }
        };
        Self::new(set.common, set.recovery, rule)
    }
}
