//! Every law against its vectors in `tests/vectors/shaping`.

use std::path::Path;

use serde_json::Value as Json;
use vermilion_parameters::{Value, Values};
use vermilion_shaping::{Answer, AnyLaw, RateLaw, registry::ALGORITHMS};

/// Holds a figure against a number, two bounds, a word, or `null` for one that there is not.
fn hold(place: &str, found: Option<f64>, expected: &Json) {
    match (found, expected) {
        (None, Json::Null) => {}
        (Some(found), Json::Number(number)) => {
            let number = number.as_f64().unwrap();
            assert!(
                (found - number).abs() <= 1e-9 * number.abs(),
                "{place}: {found}, not {number}"
            );
        }
        (Some(found), Json::Array(bounds)) => {
            let [low, high] = [0, 1].map(|side| bounds[side].as_f64().unwrap());
            assert!((low..=high).contains(&found), "{place}: {found}, not {low} to {high}");
        }
        _ => panic!("{place}: {found:?}, not {expected}"),
    }
}

fn replay(name: &str, case: &Json) {
    let values: Values = case["parameters"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| {
            let value = match value {
                Json::String(word) => Value::Choice(word.clone()),
                other => Value::Number(other.as_f64().unwrap()),
            };
            (key.clone(), value)
        })
        .collect();
    let mut law = AnyLaw::from_values(name, &values).unwrap();
    for (number, event) in case["events"].as_array().unwrap().iter().enumerate() {
        let place = format!("{name}, {}, event {number}", case["name"]);
        let whole = |at: usize| event[at].as_u64().unwrap_or_else(|| panic!("{place}: {event}"));
        match event[0].as_str().unwrap() {
            "sent" => law.probe_sent(whole(1), whole(2)),
            "lost" => law.lost(whole(1)),
            "answered" => law.answered(Answer {
                reflector: whole(1) as u32,
                sent: whole(2),
                received: whole(3),
                one_way: event[4].as_i64(),
                own_wait: whole(5),
            }),
            "rate" => {
                let rate = law.rate(whole(1), whole(2));
                let state = law.state();
                for (key, expected) in event[3].as_object().unwrap() {
                    let place = format!("{place}, {key}");
                    match key.as_str() {
                        "rate" => hold(&place, Some(rate), expected),
                        "capacity" => hold(&place, state.capacity, expected),
                        "wait_here" => hold(&place, state.wait_here, expected),
                        "wait_behind" => hold(&place, state.wait_behind, expected),
                        "waiting" => assert_eq!(
                            state.waiting.map(|it| it.name()),
                            expected.as_str(),
                            "{place}"
                        ),
                        other => panic!("{place}: {other} is no figure"),
                    }
                }
            }
            other => panic!("{place}: {other} is no event"),
        }
    }
}

#[test]
fn every_law_answers_as_its_vectors_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/shaping");
    for algorithm in ALGORITHMS {
        let text = std::fs::read_to_string(folder.join(format!("{}.json", algorithm.name)));
        let file: Json = serde_json::from_str(&text.expect("a file of vectors")).unwrap();
        for case in file["cases"].as_array().unwrap() {
            replay(algorithm.name, case);
        }
    }
}
