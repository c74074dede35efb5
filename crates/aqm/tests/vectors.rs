//! Every discipline answers the test vectors of `tests/vectors` as an independent reference does.
//!
//! The format is described beside the files. The vectors come from reference scripts that share
//! no code with this crate, and from cases worked out by hand. Those of disciplines that keep the
//! packets themselves are played by `vectors/kept.rs`.

mod kept;
#[path = "../../../tests/vectors/rows.rs"]
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;
use vermilion_aqm::{
    AnyDiscipline, Arrival, Colour, Decide, Departure, Discipline, DropReason, Ecn, LinkFacts,
    Verdict, registry::ALGORITHMS,
};
use vermilion_parameters::{Settings, Values};

/// Relative error that double precision may leave in a figure.
const TOLERANCE: f64 = 1e-9;
/// Absolute error that it may leave in one whose digits were cancelled by a subtraction.
const FLOOR: f64 = 1e-12;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VectorFile {
    format: u32,
    discipline: String,
    #[serde(rename = "source")]
    _source: String,
    defaults: Values,
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
    link: GivenLink,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenLink {
    rate_bit_per_s: f64,
    delay_s: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Step {
    Arrival(GivenArrival),
    Departure(GivenDeparture),
    Offer(kept::Offer),
    Turn(kept::Turn),
    Settings(GivenSettings),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenSettings {
    parameters: Values,
    link: GivenLink,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenArrival {
    #[serde(default = "once")]
    times: u32,
    time_ns: u64,
    size_bytes: u32,
    ecn_capable: bool,
    #[serde(default)]
    ecn: Option<Codepoint>,
    #[serde(default)]
    flow: u32,
    #[serde(default)]
    colour: Hue,
    queue_packets: u32,
    queue_bytes: u64,
    empty_since_ns: u64,
    idle_since_ns: Option<u64>,
    coins: Vec<f64>,
    expected: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenDeparture {
    #[serde(default = "once")]
    times: u32,
    time_ns: u64,
    size_bytes: u32,
    ecn_capable: bool,
    #[serde(default)]
    ecn: Option<Codepoint>,
    #[serde(default)]
    flow: u32,
    #[serde(default)]
    colour: Hue,
    arrived_ns: u64,
    queue_packets: u32,
    queue_bytes: u64,
    coins: Vec<f64>,
    expected: Expected,
}

/// Which of the codepoints that may be marked.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Codepoint {
    Ect0,
    Ect1,
    Ce,
}

fn codepoint(capable: bool, given: Option<Codepoint>) -> Ecn {
    match (capable, given) {
        (false, None) => Ecn::NotCapable,
        (false, Some(_)) => panic!("a codepoint of a packet that is not ECN-capable"),
        (true, None | Some(Codepoint::Ect0)) => Ecn::Ect0,
        (true, Some(Codepoint::Ect1)) => Ecn::Ect1,
        (true, Some(Codepoint::Ce)) => Ecn::CongestionExperienced,
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Hue {
    #[default]
    Green,
    Yellow,
    Red,
}

impl From<Hue> for Colour {
    fn from(hue: Hue) -> Self {
        match hue {
            Hue::Green => Self::Green,
            Hue::Yellow => Self::Yellow,
            Hue::Red => Self::Red,
        }
    }
}

fn once() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    verdict: String,
    reason: Option<String>,
    /// Of `make-room`: the place of the packet that is dropped.
    place: Option<u32>,
    /// Absent: not stated. Null: the discipline has none.
    #[serde(default, deserialize_with = "stated")]
    average_queue_packets: Option<Figure>,
    #[serde(default, deserialize_with = "stated")]
    drop_probability: Option<Figure>,
    /// Not published by a discipline of this crate; it shows in the drop probabilities.
    #[serde(default, rename = "max_probability")]
    _max_probability: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Figure {
    Exact(f64),
    Quoted { value: f64, within: f64 },
    None,
}

fn stated<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Figure>, D::Error> {
    Figure::deserialize(from).map(Some)
}

impl std::fmt::Display for Figure {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact(value) => write!(to, "{value}"),
            Self::Quoted { value, within } => write!(to, "{value} within {within}"),
            Self::None => to.write_str("none"),
        }
    }
}

impl Figure {
    fn agrees(self, published: Option<f64>) -> bool {
        match (self, published) {
            (Self::Exact(value), Some(published)) => {
                (published - value).abs() <= TOLERANCE * value.abs() + FLOOR
            }
            (Self::Quoted { value, within }, Some(published)) => {
                (published - value).abs() <= within
            }
            (Self::None, None) => true,
            _ => false,
        }
    }
}

impl From<GivenLink> for LinkFacts {
    fn from(given: GivenLink) -> Self {
        Self { rate: given.rate_bit_per_s, delay: given.delay_s }
    }
}

impl GivenArrival {
    fn arrival(&self) -> Arrival {
        Arrival {
            now: self.time_ns,
            size: self.size_bytes,
            flow: self.flow,
            ecn: codepoint(self.ecn_capable, self.ecn),
            colour: self.colour.into(),
            queue_packets: self.queue_packets,
            queue_bytes: self.queue_bytes,
            empty_since: self.empty_since_ns,
            idle_since: self.idle_since_ns,
        }
    }
}

impl GivenDeparture {
    fn departure(&self) -> Departure {
        Departure {
            now: self.time_ns,
            arrived: self.arrived_ns,
            size: self.size_bytes,
            flow: self.flow,
            ecn: codepoint(self.ecn_capable, self.ecn),
            colour: self.colour.into(),
            queue_packets: self.queue_packets,
            queue_bytes: self.queue_bytes,
        }
    }
}

impl Expected {
    fn verdict(&self) -> Verdict {
        let reason = self.reason.as_deref().map(reason_called);
        match (self.verdict.as_str(), reason, self.place) {
            ("accept", None, None) => Verdict::Accept,
            ("mark", None, None) => Verdict::Mark,
            ("drop", Some(reason), None) => Verdict::Drop(reason),
            ("make-room", Some(reason), Some(place)) => Verdict::MakeRoom { place, reason },
            unknown => panic!("a verdict that does not exist: {unknown:?}"),
        }
    }
}

fn reason_called(name: &str) -> DropReason {
    match name {
        "early" => DropReason::Early,
        "forced" => DropReason::Forced,
        "overflow" => DropReason::Overflow,
        unknown => panic!("a reason that does not exist: {unknown}"),
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")
}

/// Every file of vectors, by the name of its discipline.
fn files() -> BTreeMap<String, VectorFile> {
    let entries = std::fs::read_dir(folder()).expect("the folder of vectors is in the repository");
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let file: VectorFile =
                rows::read(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert_eq!(path.file_stem().unwrap(), file.discipline.as_str(), "{path:?}");
            assert_eq!(file.format, 2, "{path:?}");
            (file.discipline.clone(), file)
        })
        .collect()
}

fn complete(defaults: &Values, given: &Values) -> Values {
    let mut values = defaults.clone();
    values.extend(given.clone());
    values
}

/// Plays one case and says where the discipline first answers otherwise.
fn play(name: &str, defaults: &Values, case: &Case) -> Result<(), String> {
    if case.steps.iter().any(|step| matches!(step, Step::Offer(_))) {
        return kept::play(name, defaults, case);
    }
    let values = complete(defaults, &case.parameters);
    let (mut discipline, _) = AnyDiscipline::from_values(name, &values, case.link.into())
        .map_err(|error| error.to_string())?;
    for (index, step) in case.steps.iter().enumerate() {
        let (times, coins_given, expected) = match step {
            Step::Arrival(given) => (given.times, &given.coins, &given.expected),
            Step::Departure(given) => (given.times, &given.coins, &given.expected),
            Step::Settings(given) => {
                discipline
                    .set_values(&complete(defaults, &given.parameters), given.link.into())
                    .map_err(|error| error.to_string())?;
                continue;
            }
            Step::Offer(_) | Step::Turn(_) => return Err("steps of two kinds".to_owned()),
        };
        let fail = |problem: String| Err(format!("step {}: {problem}", index + 1));
        for _ in 0..times {
            let mut coins = coins_given.iter();
            let mut asked = 0;
            let mut coin = || {
                asked += 1;
                *coins.next().unwrap_or(&f64::NAN)
            };
            let verdict = match step {
                Step::Departure(given) => discipline.on_departure(&given.departure(), &mut coin),
                Step::Arrival(given) => discipline.on_arrival(&given.arrival(), &mut coin),
                _ => unreachable!("others were taken care of above"),
            };
            let verdict = match verdict {
                Verdict::Drop(reason) => Verdict::Drop(kept::plain(reason)),
                other => other,
            };
            if verdict != expected.verdict() {
                return fail(format!("{verdict:?} instead of {:?}", expected.verdict()));
            }
            if asked != coins_given.len() {
                return fail(format!("{asked} coins instead of {}", coins_given.len()));
            }
        }
        for (figure, published, what) in [
            (expected.average_queue_packets, discipline.average_queue(), "average"),
            (expected.drop_probability, discipline.drop_probability(), "drop probability"),
        ] {
            if let Some(figure) = figure
                && !figure.agrees(published)
            {
                return fail(format!("{what} {published:?} instead of {figure}"));
            }
        }
    }
    Ok(())
}

#[test]
fn every_discipline_has_vectors_and_every_file_has_a_discipline() {
    let with_vectors: BTreeSet<_> = files().into_keys().collect();
    let registered: BTreeSet<_> =
        ALGORITHMS.iter().map(|algorithm| algorithm.name.to_owned()).collect();
    assert_eq!(with_vectors, registered);
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
fn the_defaults_are_those_of_the_vectors() {
    for (name, file) in files() {
        let algorithm = ALGORITHMS
            .iter()
            .find(|algorithm| algorithm.name == name)
            .unwrap_or_else(|| panic!("no discipline is called {name}"));
        let in_force = Settings::resolve(algorithm, &Values::new()).unwrap().to_values();
        assert_eq!(in_force, file.defaults, "{name}");
    }
}

#[test]
fn every_discipline_answers_as_its_vectors_say() {
    let mut problems = Vec::new();
    for (name, file) in files() {
        for case in &file.cases {
            if let Err(problem) = play(&name, &file.defaults, case) {
                problems.push(format!("{name}, \"{}\" ({}): {problem}", case.name, case.origin));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
