//! The rate sampler and BBR answer each event as a reference does that follows the draft's wording and
//! shares no code with them (`tests/vectors/reference/senders/bbr.py`).

use std::collections::BTreeMap;

use serde_json::Value;
use vermilion_tcp::delivery_rate::DeliveryRate;
use vermilion_tcp::rule::{Acknowledged, Congestion};
use vermilion_tcp::rules::Bbr;
use vermilion_tcp::sent::Sent;
use vermilion_tcp::{Window, WindowRule};

fn file() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/senders/bbr.json");
    let text = std::fs::read_to_string(path).expect("the vectors are in the repository");
    serde_json::from_str(&text).expect("the vectors are JSON")
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// State of the connection besides the rule.
struct Connection {
    rule: Bbr,
    window: Window,
    rate: DeliveryRate,
    in_network: BTreeMap<u64, Sent>,
    sent: u64,
    shortest: u64,
    in_recovery: bool,
}

impl Connection {
    fn new(window: f64) -> Self {
        Self {
            rule: Bbr::default(),
            window: Window { congestion: window, slow_start_threshold: 1e6, cap: 1e6 },
            rate: DeliveryRate::default(),
            in_network: BTreeMap::new(),
            sent: 0,
            shortest: u64::MAX,
            in_recovery: false,
        }
    }

    fn send(&mut self, now: u64) {
        let sent = self.rate.stamp(now, self.in_network.len() as u32);
        self.in_network.insert(self.sent, sent);
        self.sent += 1;
    }

    fn acknowledge(&mut self, event: &Value) {
        let now = event[1].as_u64().unwrap();
        let (delivered, lost) = (numbers(&event[2]), numbers(&event[3]));
        let round_trip = event[4].as_u64().unwrap();
        let in_recovery = event[5] == 1;
        self.shortest = self.shortest.min(round_trip);
        for number in &delivered {
            self.rate.note_delivered(now, &self.in_network.remove(number).unwrap());
        }
        for number in &lost {
            self.rate.note_lost(&self.in_network.remove(number).unwrap());
        }
        if in_recovery && !lost.is_empty() && !self.in_recovery {
            self.rule.reduced(now, Congestion::Loss, self.window.congestion, &self.window);
        }
        self.in_recovery = in_recovery;
        let event = Acknowledged {
            now,
            delivered: delivered.len() as u32,
            counted: delivered.len() as f64,
            marked: 0,
            round_trip: Some(round_trip),
            forward_delay: None,
            smoothed_round_trip: None,
            unacknowledged: 100,
            highest: 0,
            in_network: self.in_network.len() as u32,
            in_recovery,
            lost: lost.len() as u32,
            rate: self.rate.take_sample(self.shortest),
        };
        self.rule.grow(&event, &mut self.window);
    }
}

#[track_caller]
fn assert_same(what: &str, at: &str, given: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((given - expected).abs() <= 1e-9 * expected, "{at}: {what} {given}, not {expected}");
}

#[test]
fn the_window_and_the_rate_follow_every_acknowledgement_as_in_the_reference() {
    let file = file();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() >= 5);
    for case in cases {
        let mut connection = Connection::new(case["initial_window"].as_f64().unwrap());
        let mut acknowledgements = 0;
        for event in case["events"].as_array().unwrap() {
            match event[0].as_str().unwrap() {
                "s" => connection.send(event[1].as_u64().unwrap()),
                "l" => connection.rate.note_limited(connection.in_network.len() as u32),
                _ => {
                    connection.acknowledge(event);
                    acknowledgements += 1;
                    let at = format!("{} at {} ns", case["name"], event[1]);
                    assert_same("window", &at, connection.window.congestion, &event[6]);
                    assert_same("rate", &at, connection.rule.pacing_rate().unwrap(), &event[7]);
                }
            }
        }
        assert!(acknowledgements > 80, "{}: {acknowledgements}", case["name"]);
    }
}
