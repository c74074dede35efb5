//! The defaults of other systems, by name.
//!
//! A set replaces defaults of the parameter table; what a user gives still wins.

use vermilion_parameters::Preset::{self, Choice, Number, Switch};
use vermilion_parameters::{
    Algorithm, AlgorithmSettings, Kind, ParameterError, Settings, TypedSettings, Value, Values,
    choices,
};

choices! {
    /// Whose defaults the other parameters have.
    pub OptionSet {
        /// Those of the table.
        Own = "own",
        /// ns-2 as the papers of 1999 to 2001 ran it.
        Ns2Of2001 = "ns2-2001",
        /// ns-2.35.
        Ns2 = "ns2",
        /// Linux 6.12.
        Linux = "linux",
    }
    row option_set = Own,
        "whose defaults the other parameters have: those of this table, of ns-2 in 2001, of ns-2.35, or of Linux",
        "docs/senders.md"
}

/// ns-2 as the papers of 1999 to 2001 ran it: before the changes of May 2001 (handshake, first
/// window of two), November 2001 (limited transmit, headers), March 2002 (tick) and October 2004
/// (minimum timeout).
const NS2_2001: &[(&str, Preset)] = &[
    ("recovery", Choice("sack1")),
    ("window_cap", Number(20.0)),
    ("initial_window", Number(1.0)),
    ("minimum_timeout", Number(1.0)),
    ("clock_tick", Number(0.1)),
    ("limited_transmit", Switch(false)),
    ("handshake", Switch(false)),
];

/// ns-2.35, `tcl/lib/ns-default.tcl`.
const NS2: &[(&str, Preset)] = &[("recovery", Choice("sack1")), ("window_cap", Number(20.0))];

/// Linux 6.12 with its usual settings: RACK-TLP, proportional rate reduction,
/// timestamps, the first window of ten (RFC 6928), delayed acknowledgements of 40 ms with 16 quick
/// ones at the beginning, a minimum of 200 ms on the variation, timers in ticks of 1 ms (HZ=1000), a maximum timeout of two minutes.
const LINUX: &[(&str, Preset)] = &[
    ("recovery", Choice("rack")),
    ("initial_window", Number(10.0)),
    ("timeout_floor", Choice("variation")),
    ("timeout_estimator", Choice("linux")),
    ("initial_timeout", Number(1.0)),
    ("maximum_timeout", Number(120.0)),
    ("clock_tick", Number(1e-6)),
    ("timer_tick", Number(1e-3)),
    ("timestamps", Switch(true)),
    ("byte_counting", Switch(true)),
    ("catch_up", Switch(false)),
    ("dialect", Choice("linux")),
    ("ecn_capable_retransmissions", Switch(false)),
    ("ecn_fallback", Switch(true)),
    ("handshake_loss", Choice("linux")),
    ("linear_handshake_timeouts", Number(4.0)),
    ("proportional_rate_reduction", Switch(true)),
    ("window_validation", Switch(true)),
    ("segmentation_offload", Switch(true)),
    ("delayed_acknowledgements", Switch(true)),
    ("acknowledgement_delay", Number(0.04)),
    ("quick_acknowledgements", Number(16.0)),
    ("quick_acknowledgements_renewed", Switch(true)),
    ("adaptive_acknowledgement_delay", Switch(true)),
    ("compressed_acknowledgements", Switch(true)),
];

impl OptionSet {
    /// Settings of an algorithm that has such parameters, at the defaults of the set.
    pub fn settings<S: AlgorithmSettings>(self) -> S {
        let mut values = Values::new();
        TypedSettings::write(self, &mut values);
        resolve(&S::ALGORITHM, &values).expect("defaults are accepted").read()
    }
}

fn set(name: &str) -> &'static [(&'static str, Preset)] {
    match name {
        "ns2-2001" => NS2_2001,
        "ns2" => NS2,
        "linux" => LINUX,
        _ => &[],
    }
}

/// The values in force, checked: those `given`, and those of the set that they name, for an algorithm that
/// has such parameters.
///
/// # Errors
/// A value that the table refuses.
pub fn resolve(algorithm: &Algorithm, given: &Values) -> Result<Settings, ParameterError> {
    let mut values = given.clone();
    if let Some(Value::Choice(name)) = given.get("option_set") {
        for (parameter, value) in in_set(algorithm, name) {
            values.entry(parameter.to_owned()).or_insert(value);
        }
    }
    Settings::resolve(algorithm, &values)
}

/// Values that the set called `name` gives to `algorithm`.
///
/// Linux makes whatever a congestion control sends ECN-capable that needs ECN (`tcp_ca_needs_ecn` in
/// `tcp_ecn_send`): what is sent again, too. Those are the ones whose own table has an
/// ECN-capable SYN.
pub fn in_set(algorithm: &Algorithm, name: &str) -> impl Iterator<Item = (&'static str, Value)> {
    let parameters = algorithm.parameters;
    let needs_ecn = parameters.iter().any(|row| {
        row.name == "ecn_capable_handshake" && matches!(row.kind, Kind::Switch { default: true })
    });
    set(name)
        .iter()
        .filter(move |(parameter, _)| parameters.iter().any(|row| row.name == *parameter))
        .filter(move |(parameter, _)| !(needs_ecn && *parameter == "ecn_capable_retransmissions"))
        .map(|&(parameter, default)| (parameter, default.into()))
}
