//! Every window rule answers the test vectors of `tests/vectors/senders` as an independent reference
//! does.
//!
//! The format is described in the README of `tests/vectors`. The vectors come from reference scripts
//! that share no code with this crate, and from cases worked out by hand.

#[path = "../../../tests/vectors/rows.rs"]
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;
use vermilion_parameters::{Kind, Settings, Value, Values};
use vermilion_tcp::registry::{Profile, SENDERS};
use vermilion_tcp::rule::{Acknowledged, Congestion};
use vermilion_tcp::{AnyRule, Window, WindowRule};

/// Relative error that double precision may leave in a window.
const TOLERANCE: f64 = 1e-9;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VectorFile {
    format: u32,
    sender: String,
    #[serde(rename = "source")]
    _source: String,
    /// The parameters that the window rule adds, and their defaults.
    own: Values,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    origin: String,
    #[serde(rename = "about")]
    _about: String,
    parameters: Values,
    window: f64,
    slow_start_threshold: f64,
    window_cap: f64,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    acknowledgement: Option<GivenAcknowledgement>,
    congestion: Option<GivenCongestion>,
    expected: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenAcknowledgement {
    now_ns: u64,
    delivered: u32,
    counted: u32,
    marked: u32,
    round_trip_ns: Option<u64>,
    smoothed_ns: Option<u64>,
    #[serde(default)]
    forward_delay_ns: Option<u64>,
    unacknowledged: u32,
    highest: u32,
    #[serde(default)]
    in_recovery: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenCongestion {
    now_ns: u64,
    sign: String,
    base: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    window: f64,
    slow_start_threshold: f64,
}

impl From<&GivenAcknowledgement> for Acknowledged {
    fn from(given: &GivenAcknowledgement) -> Self {
        Self {
            now: given.now_ns,
            delivered: given.delivered,
            counted: f64::from(given.counted),
            marked: given.marked,
            round_trip: given.round_trip_ns,
            forward_delay: given.forward_delay_ns,
            smoothed_round_trip: given.smoothed_ns,
            unacknowledged: given.unacknowledged,
            highest: given.highest,
            in_network: given.highest - given.unacknowledged,
            in_recovery: given.in_recovery,
            lost: 0,
            rate: None,
        }
    }
}

/// Return true if a sender's rule sets the window alone, from delivery rates. These vectors carry none:
/// BBR has a format of its own (`bbr_vectors.rs`).
fn governs_window(name: &str) -> bool {
    let profile = Profile::from_values(name, &Values::new()).unwrap_or_else(|error| {
        panic!("a file of vectors is called {name}: {error}");
    });
    profile.sender.rule.governs_window()
}

/// Every file of vectors, by the name of its sender.
fn files() -> BTreeMap<String, VectorFile> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/senders");
    let entries = std::fs::read_dir(folder).expect("the folder of vectors is in the repository");
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| !governs_window(&path.file_stem().unwrap().to_string_lossy()))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let file: VectorFile =
                rows::read(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert_eq!(path.file_stem().unwrap(), file.sender.as_str(), "{path:?}");
            assert_eq!(file.format, 2, "{path:?}");
            (file.sender.clone(), file)
        })
        .collect()
}

/// Use of the rule's answer to a sign of congestion.
fn reduce(rule: &mut impl WindowRule, given: &GivenCongestion, window: &mut Window) {
    let sign = match given.sign.as_str() {
        "loss" => Congestion::Loss,
        "mark" => Congestion::Mark,
        "timeout" => Congestion::Timeout,
        unknown => panic!("a sign that does not exist: {unknown}"),
    };
    let reduced = rule.reduced(given.now_ns, sign, given.base, window);
    window.slow_start_threshold = reduced.floor().max(2.0);
    if sign == Congestion::Timeout {
        rule.timed_out(given.now_ns);
    }
    window.congestion = if sign == Congestion::Timeout { 1.0 } else { reduced.max(1.0) };
}

/// Plays one case and says where the rule first answers otherwise.
fn play(name: &str, case: &Case) -> Result<(), String> {
    let profile =
        Profile::from_values(name, &case.parameters).map_err(|error| error.to_string())?;
    let mut rule = profile.sender.rule;
    let mut window = Window {
        congestion: case.window,
        slow_start_threshold: case.slow_start_threshold,
        cap: case.window_cap,
    };
    for (index, step) in case.steps.iter().enumerate() {
        match (&step.acknowledgement, &step.congestion) {
            (Some(given), None) => rule.grow(&given.into(), &mut window),
            (None, Some(given)) => reduce(&mut rule, given, &mut window),
            _ => panic!("{name}, {}: a step is one event", case.name),
        }
        for (got, expected, what) in [
            (window.congestion, step.expected.window, "window"),
            (window.slow_start_threshold, step.expected.slow_start_threshold, "threshold"),
        ] {
            if (got - expected).abs() > TOLERANCE * expected {
                return Err(format!("step {}: {what} {got} instead of {expected}", index + 1));
            }
        }
    }
    Ok(())
}

#[test]
fn every_sender_with_a_window_rule_of_its_own_has_vectors() {
    let with_vectors: BTreeSet<_> = files().into_keys().collect();
    let ruled: BTreeSet<_> = SENDERS
        .iter()
        .map(|sender| sender.algorithm.name)
        .filter(|name| {
            let profile = Profile::from_values(name, &Values::new()).unwrap();
            !matches!(profile.sender.rule, AnyRule::Additive(_)) && !governs_window(name)
        })
        .map(str::to_owned)
        .collect();
    assert_eq!(with_vectors, ruled);
}

#[test]
fn every_file_has_cases_by_hand_and_cases_from_a_reference() {
    for (name, file) in files() {
        for origin in ["by hand", "reference"] {
            let cases: Vec<_> = file.cases.iter().filter(|case| case.origin == origin).collect();
            assert!(!cases.is_empty(), "{name} has no case with origin \"{origin}\"");
            assert!(cases.iter().all(|case| !case.steps.is_empty()), "{name} has an empty case");
        }
    }
}

#[test]
fn the_defaults_of_the_rules_are_those_of_the_vectors() {
    let plain = Profile::algorithms().find(|algorithm| algorithm.name == "sack").unwrap();
    for (name, file) in files() {
        let algorithm = Profile::algorithms().find(|algorithm| algorithm.name == name).unwrap();
        let mut own = Settings::resolve(algorithm, &Values::new()).unwrap().to_values();
        own.retain(|row, _| {
            row != "recovery" && plain.parameters.iter().all(|common| common.name != row)
        });
        assert_eq!(own, file.own, "{name}");
    }
}

#[test]
fn every_rule_answers_as_its_vectors_say() {
    let mut problems = Vec::new();
    for (name, file) in files() {
        for case in &file.cases {
            if let Err(problem) = play(&name, case) {
                problems.push(format!("{name}, \"{}\" ({}): {problem}", case.name, case.origin));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn every_sender_can_be_made_from_its_defaults_with_every_recovery() {
    for sender in SENDERS {
        let name = sender.algorithm.name;
        let profile = |given: &Values| {
            Profile::from_values(name, given).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        profile(&Values::new());
        // What the table says is also accepted when it is given.
        profile(&Settings::resolve(&sender.algorithm, &Values::new()).unwrap().to_values());
        let row = sender.algorithm.parameters.iter().find(|row| row.name == "recovery");
        let Some(Kind::Choice { choices, .. }) = row.map(|row| row.kind) else { continue };
        for recovery in choices {
            let value = Value::Choice((*recovery).to_owned());
            let made = profile(&Values::from([("recovery".to_owned(), value)]));
            assert_eq!(made.sender.recovery.name(), *recovery, "{name}");
        }
    }
}

#[test]
fn a_sender_that_answers_every_mark_refuses_to_be_told_of_one_at_most() {
    let classic = ("ecn_feedback".to_owned(), Value::Choice("classic".to_owned()));
    for name in ["dctcp", "prague", "rem"] {
        let refusal = Profile::from_values(name, &Values::from([classic.clone()])).unwrap_err();
        assert_eq!(refusal.field, "ecn_feedback");
        assert!(refusal.accepted.contains("accurate"), "{refusal}");
        // Without ECN nothing is told at all.
        let off = ("ecn".to_owned(), Value::Switch(false));
        Profile::from_values(name, &Values::from([classic.clone(), off])).unwrap();
    }
}
