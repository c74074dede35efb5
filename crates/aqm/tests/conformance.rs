//! What every discipline owes its users, whatever its rule: tried on all that are registered.
//!
//! Each is put in charge of a queue before a link that sends one packet at a time, under random
//! settings from its own table and random traffic, and watched arrival by arrival.

use crate::router::{Router, Traffic};
use crate::seeded::Seeded;
use crate::settings::{corners, random_link, random_values};
use vermilion_aqm::{
    AnyDiscipline, AnyScheduler, Arrival, Coin, Decide, Discipline, Ecn, LinkFacts, Scheduler,
    registry::ALGORITHMS,
};
use vermilion_parameters::{Algorithm, Kind, Parameter, Value, Values};

const LINK: LinkFacts = LinkFacts { rate: 10e6, delay: 0.01 };

/// Runs `check` on every discipline with random settings, each time with another seed.
fn on_random_settings(rounds: u64, check: impl Fn(&'static Algorithm, &Values, LinkFacts, u64)) {
    for algorithm in ALGORITHMS {
        for seed in 0..rounds {
            let mut choice = Seeded::new(seed);
            let link = random_link(&mut choice);
            let values = random_values(algorithm, link, &mut choice);
            check(algorithm, &values, link, seed);
        }
    }
}

fn of(algorithm: &Algorithm, values: &Values, link: LinkFacts) -> AnyDiscipline {
    AnyDiscipline::from_values(algorithm.name, values, link).expect("settings in the table").0
}

/// The router and its traffic for one check.
fn router(algorithm: &Algorithm, values: &Values, link: LinkFacts, seed: u64) -> (Router, Traffic) {
    (Router::new(algorithm, values, link, Seeded::new(seed)), Traffic::new(Seeded::new(!seed)))
}

#[test]
fn the_rules_of_a_queue_hold_at_every_arrival() {
    on_random_settings(40, |algorithm, values, link, seed| {
        let (mut router, mut traffic) = router(algorithm, values, link, seed);
        for _ in 0..3000 {
            router.offer(&mut traffic);
        }
        router.settle();
    });
}

#[test]
fn the_rules_of_a_queue_hold_at_the_ends_of_every_range() {
    for algorithm in ALGORITHMS {
        for (seed, values) in (0..).zip(corners(algorithm, LINK)) {
            let (mut router, mut traffic) = router(algorithm, &values, LINK, seed);
            for _ in 0..1500 {
                router.offer(&mut traffic);
            }
            router.settle();
        }
    }
}

#[test]
fn the_same_coins_give_the_same_verdicts() {
    on_random_settings(5, |algorithm, values, link, seed| {
        let (mut first, mut its_traffic) = router(algorithm, values, link, seed);
        let (mut second, mut same_traffic) = router(algorithm, values, link, seed);
        for number in 0..3000 {
            let outcome = first.offer(&mut its_traffic);
            assert_eq!(outcome, second.offer(&mut same_traffic), "{}, {number}", algorithm.name);
        }
    });
}

#[test]
fn new_settings_on_the_way_keep_the_rules() {
    on_random_settings(20, |algorithm, values, link, seed| {
        let (mut router, mut traffic) = router(algorithm, values, link, seed);
        let mut choice = Seeded::new(seed + 1000);
        for _ in 0..20 {
            for _ in 0..200 {
                router.offer(&mut traffic);
            }
            let link = random_link(&mut choice);
            let mut values = random_values(algorithm, link, &mut choice);
            // What the average is measured in stays; changing it has a test of its own. And what
            // says which packet is where can mostly not be changed.
            for name in ["byte_mode", "mean_packet_size", "flows", "perturbation", "drop"] {
                if let Some(value) = router.values().get(name) {
                    values.insert(name.to_owned(), value.clone());
                }
            }
            // With what stays, the new ones may contradict each other: then nothing changes.
            let _ = router.try_reconfigure(&values, link);
        }
        router.settle();
    });
}

#[test]
fn settings_given_again_change_nothing() {
    on_random_settings(20, |algorithm, values, link, seed| {
        let (mut untouched, mut its_traffic) = router(algorithm, values, link, seed);
        let (mut told_again, mut same_traffic) = router(algorithm, values, link, seed);
        for number in 0..2400 {
            if number % 300 == 299 {
                told_again.reconfigure(values, link);
            }
            assert_eq!(
                untouched.offer(&mut its_traffic),
                told_again.offer(&mut same_traffic),
                "{} with {values:?} on {link:?}, arrival {number}",
                algorithm.name
            );
        }
    });
}

#[test]
fn a_refused_change_changes_nothing() {
    on_random_settings(5, |algorithm, values, link, seed| {
        let (mut untouched, mut its_traffic) = router(algorithm, values, link, seed);
        let (mut refused, mut same_traffic) = router(algorithm, values, link, seed);
        for number in 0..3000 {
            if number % 500 == 499 {
                let unknown = Values::from([("no_such_thing".to_owned(), Value::Number(1.0))]);
                assert!(refused.try_reconfigure(&unknown, link).is_err());
            }
            let outcome = untouched.offer(&mut its_traffic);
            assert_eq!(outcome, refused.offer(&mut same_traffic), "{}", algorithm.name);
        }
    });
}

#[test]
fn settings_that_would_end_a_control_for_good_are_refused() {
    // max_probability times 0 stays 0, as does what grows by a quarter of it. With b above a an empty queue raises
    // the probability at every sample, until nothing gets through (Hollot et al., INFOCOM 2001: a > b > 0).
    for (discipline, given, refused) in [
        ("adaptive-red", vec![("decrease", 0.0)], "decrease"),
        ("pi", vec![("a", 1e-5), ("b", 2e-5)], "a"),
    ] {
        let given = given.iter().map(|&(name, value)| (name.to_owned(), Value::Number(value)));
        let error = AnyDiscipline::from_values(discipline, &given.collect(), LINK).unwrap_err();
        assert_eq!(error.field, refused, "{discipline}");
    }
}

#[test]
fn measuring_in_bytes_instead_of_packets_keeps_the_average() {
    for algorithm in ALGORITHMS {
        let has = |name| algorithm.parameters.iter().any(|parameter| parameter.name == name);
        if !(has("byte_mode") && has("weight")) {
            continue;
        }
        for byte_mode in [false, true] {
            let values = |byte_mode| {
                Values::from([
                    ("weight".to_owned(), Value::Number(0.5)),
                    ("byte_mode".to_owned(), Value::Switch(byte_mode)),
                ])
            };
            let mut discipline = of(algorithm, &values(byte_mode), LINK);
            let arrival = Arrival {
                size: 1000,
                ecn: Ecn::Ect0,
                queue_packets: 20,
                queue_bytes: 20_000,
                ..Arrival::default()
            };
            discipline.on_arrival(&arrival, &mut Seeded::new(0));
            let average = discipline.average_queue();
            discipline.set_values(&values(!byte_mode), LINK).unwrap();
            assert_eq!(average, discipline.average_queue(), "{}, {byte_mode}", algorithm.name);
        }
    }
}

#[test]
fn without_ecn_nothing_is_marked() {
    on_random_settings(10, |algorithm, values, link, seed| {
        if !algorithm.parameters.iter().any(|parameter| parameter.name == "ecn") {
            return;
        }
        let mut values = values.clone();
        values.insert("ecn".to_owned(), Value::Switch(false));
        let (mut router, mut traffic) = router(algorithm, &values, link, seed);
        for _ in 0..2000 {
            router.offer(&mut traffic);
        }
        router.settle();
        assert_eq!(router.marked(), 0, "{}", algorithm.name);
    });
}

#[test]
fn an_empty_queue_under_light_load_takes_every_packet() {
    for algorithm in ALGORITHMS {
        let (mut queue, _) =
            AnyScheduler::from_values(algorithm.name, &Values::new(), LINK).unwrap();
        let mut coin = Seeded::new(1);
        for number in 1..2000 {
            let now = number * 1_000_000;
            let flow = (coin.uniform() * 10.0) as u32;
            let packet = Light { flow, capable: coin.uniform() < 0.5 };
            let mut lost = |_| panic!("{}: a drop from an empty queue", algorithm.name);
            assert!(!queue.enqueue(now, Some(now - 200_000), packet, &mut coin, &mut lost));
            let sent = queue.dequeue(now, &mut coin, &mut lost).expect("it waits");
            assert_eq!((sent.packet, sent.marked), (packet, false), "{}", algorithm.name);
            assert_eq!(queue.dequeue(now + 800_000, &mut coin, &mut lost), None);
        }
    }
}

/// A packet of light traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Light {
    flow: u32,
    capable: bool,
}

impl vermilion_aqm::Packet for Light {
    fn size(&self) -> u32 {
        1000
    }

    fn ecn(&self) -> Ecn {
        if self.capable { Ecn::Ect0 } else { Ecn::NotCapable }
    }

    fn mark(&mut self) {
        panic!("a mark in an empty queue");
    }

    fn flow(&self) -> u32 {
        self.flow
    }
}

#[test]
fn values_outside_the_table_are_refused_by_name() {
    for algorithm in ALGORITHMS {
        for parameter in algorithm.parameters {
            for value in unacceptable(&parameter.kind) {
                let values = Values::from([(parameter.name.to_owned(), value.clone())]);
                let error = AnyScheduler::<Light>::from_values(algorithm.name, &values, LINK)
                    .expect_err(&format!("{}.{} = {value}", algorithm.name, parameter.name));
                assert_eq!(error.field, parameter.name, "{}: {error}", algorithm.name);
            }
        }
    }
}

/// Values of every kind that a table row must not take.
fn unacceptable(kind: &Kind) -> Vec<Value> {
    let stranger = Value::Choice("no such choice".to_owned());
    match *kind {
        Kind::Number { default, minimum, minimum_excluded, maximum, integer, .. } => {
            let mut refused = vec![stranger, Value::Switch(true)];
            let step = 1e-6 * (1.0 + maximum.abs().min(1e12));
            refused.extend(
                [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, minimum - step, maximum + step]
                    .map(Value::Number),
            );
            if minimum_excluded {
                refused.push(Value::Number(minimum));
            }
            if integer {
                refused.push(Value::Number(minimum + 0.5));
            }
            if default.is_some() {
                refused.push(Value::Automatic);
            }
            refused
        }
        Kind::Switch { .. } => vec![stranger, Value::Number(1.0), Value::Automatic],
        Kind::Choice { .. } => {
            vec![stranger, Value::Number(1.0), Value::Switch(true), Value::Automatic]
        }
    }
}

#[test]
fn pairs_in_the_wrong_order_are_refused_and_so_are_equal_ones() {
    for algorithm in ALGORITHMS {
        for (lower, upper) in algorithm.ordered {
            let whole = |row: &Parameter| matches!(row.kind, Kind::Number { integer: true, .. });
            let scale = if algorithm.parameters.iter().any(|row| row.name == *lower && whole(row)) {
                10.0
            } else {
                1.0
            };
            for (low, high) in [(0.4, 0.3), (0.4, 0.4)] {
                let (low, high) = (low * scale, high * scale);
                let values = Values::from([
                    ((*lower).to_owned(), Value::Number(low)),
                    ((*upper).to_owned(), Value::Number(high)),
                ]);
                let error = AnyScheduler::<Light>::from_values(algorithm.name, &values, LINK)
                    .expect_err(&format!("{}: {lower} {low}, {upper} {high}", algorithm.name));
                assert_eq!(error.field, *upper);
            }
        }
    }
}

#[test]
fn an_unknown_discipline_is_refused_with_the_known_ones() {
    let error = AnyScheduler::<Light>::from_values("rde", &Values::new(), LINK).unwrap_err();
    assert_eq!(error.field, "discipline");
    assert!(ALGORITHMS.iter().all(|algorithm| error.accepted.contains(algorithm.name)));
}

#[test]
fn every_table_is_complete_and_its_names_are_unique() {
    for (index, algorithm) in ALGORITHMS.iter().enumerate() {
        assert!(ALGORITHMS[..index].iter().all(|other| other.name != algorithm.name));
        for text in [algorithm.name, algorithm.title, algorithm.summary, algorithm.source] {
            assert!(!text.is_empty(), "{}", algorithm.name);
        }
        for (index, parameter) in algorithm.parameters.iter().enumerate() {
            let name = format!("{}.{}", algorithm.name, parameter.name);
            let before = &algorithm.parameters[..index];
            assert!(before.iter().all(|other| other.name != parameter.name), "{name}");
            assert!(!parameter.meaning.is_empty() && !parameter.source.is_empty(), "{name}");
            if let Kind::Number { search: Some((low, high)), minimum, maximum, .. } = parameter.kind
            {
                assert!(minimum <= low && low < high && high <= maximum, "{name}");
            }
            if let Some((choice, needed)) = parameter.only_with {
                let chosen = algorithm.parameters.iter().find(|other| other.name == choice);
                let Some(Kind::Choice { choices, .. }) = chosen.map(|other| other.kind) else {
                    panic!("{name}: {choice} is no choice of {}", algorithm.name);
                };
                assert!(choices.contains(&needed), "{name}");
            }
        }
        for (lower, upper) in algorithm.ordered {
            for name in [lower, upper] {
                assert!(algorithm.parameters.iter().any(|parameter| parameter.name == *name));
            }
        }
    }
}
