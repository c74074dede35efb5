//! Laws against lines that are worked out by hand, and against nonsense.

use std::collections::VecDeque;

use proptest::prelude::*;
use vermilion_parameters::{Value, Values};
use vermilion_shaping::{Answer, AnyLaw, RateLaw, State, Waiting, registry::ALGORITHMS};

const MS: u64 = 1_000_000;

/// A line with an endless queue behind a shaper with endless demand, both as fluids.
struct Line {
    law: AnyLaw,
    let_out: f64,
    queue: f64,
    now: u64,
    rate: f64,
    all_served: f64,
    /// Probes in the queue: when they were sent, and behind which byte.
    probes: VecDeque<(u64, f64)>,
    /// Answers on their way: when they come.
    answers: Vec<(u64, Answer)>,
    wait_most: f64,
    served: f64,
    way_back: u64,
}

impl Line {
    fn new(name: &str, values: &[(&str, f64)]) -> Self {
        let values: Values =
            values.iter().map(|&(name, value)| (name.to_owned(), Value::Number(value))).collect();
        let law = AnyLaw::from_values(name, &values).unwrap();
        let (answers, now) = (Vec::new(), 1_000 * MS);
        let mut line = Self {
            law,
            let_out: 0.0,
            queue: 0.0,
            now,
            rate: 0.0,
            all_served: 0.0,
            probes: VecDeque::new(),
            answers,
            wait_most: 0.0,
            served: 0.0,
            way_back: 40 * MS,
        };
        line.rate = line.law.rate(now, 0).min(1e8);
        line
    }

    /// So many milliseconds at that capacity in bit/s, probed every 50 ms over an empty round trip of 40 ms.
    fn run(&mut self, milliseconds: u64, capacity: f64) {
        (self.wait_most, self.served) = (0.0, 0.0);
        for _ in 0..milliseconds {
            self.now += MS;
            self.let_out += self.rate / 8e3;
            self.queue += self.rate / 8e3;
            let served = self.queue.min(capacity / 8e3);
            self.queue -= served;
            self.served += served;
            self.all_served += served;
            let milliseconds = self.now / MS;
            if milliseconds.is_multiple_of(50) {
                self.law.probe_sent(self.now, self.let_out as u64);
                self.probes.push_back((self.now, self.let_out));
            }
            while let Some(&(sent, behind)) = self.probes.front()
                && behind <= self.all_served + 1e-3
            {
                self.probes.pop_front();
                self.wait_most = self.wait_most.max((self.now - sent) as f64 / 1e9);
                let (received, reflector) = (self.now + self.way_back, (sent / MS / 50 % 6) as u32);
                let answer = Answer { reflector, sent, received, one_way: None, own_wait: 0 };
                self.answers.push((received, answer));
            }
            let now = self.now;
            let law = &mut self.law;
            self.answers.retain(|&(time, answer)| {
                if time <= now {
                    law.answered(answer);
                }
                time > now
            });
            if milliseconds.is_multiple_of(20) {
                self.rate = self.law.rate(now, self.let_out as u64).min(1e8);
            }
        }
    }

    fn used(&self, milliseconds: u64, capacity: f64) -> f64 {
        self.served * 8e3 / (milliseconds as f64 * capacity)
    }
}

#[test]
fn a_line_of_constant_rate_is_found_and_used_without_a_queue() {
    let mut line = Line::new("service-curve", &[]);
    line.run(5_000, 12e6);
    line.run(20_000, 12e6);
    let State { capacity, doubt, waiting, .. } = line.law.state();
    assert!((capacity.unwrap() / 12e6 - 1.0).abs() < 0.08, "{capacity:?}");
    assert!(doubt.unwrap() < 0.2, "{doubt:?}");
    assert_eq!(waiting, Some(Waiting::Here));
    assert!(line.used(20_000, 12e6) > 0.93, "{}", line.used(20_000, 12e6));
    assert!(line.wait_most < 0.03, "{}", line.wait_most);
}

#[test]
fn a_line_that_halves_its_rate_is_followed_within_a_second() {
    let mut line = Line::new("service-curve", &[]);
    line.run(8_000, 12e6);
    line.run(1_000, 6e6);
    line.run(5_000, 6e6);
    assert!(line.wait_most < 0.05, "{}", line.wait_most);
    assert!(line.used(5_000, 6e6) > 0.9, "{}", line.used(5_000, 6e6));
    // And one that doubles it is asked for more within seconds.
    line.run(6_000, 12e6);
    line.run(4_000, 12e6);
    assert!(line.used(4_000, 12e6) > 0.85, "{}", line.used(4_000, 12e6));
}

#[test]
fn an_outage_stops_the_flow_and_is_got_over() {
    let mut line = Line::new("service-curve", &[]);
    line.run(8_000, 12e6);
    line.run(1_000, 0.0);
    assert!(line.rate < 2e6, "{}", line.rate);
    line.run(2_000, 12e6);
    line.run(4_000, 12e6);
    assert!(line.used(4_000, 12e6) > 0.85, "{}", line.used(4_000, 12e6));
}

#[test]
fn a_way_that_becomes_longer_is_no_queue() {
    let mut line = Line::new("service-curve", &[]);
    line.run(8_000, 12e6);
    line.way_back = 140 * MS;
    line.run(5_000, 12e6);
    line.run(10_000, 12e6);
    assert!(line.used(10_000, 12e6) > 0.9, "{}", line.used(10_000, 12e6));
    assert!(line.wait_most < 0.05, "{}", line.wait_most);
}

#[test]
fn a_queue_that_stands_for_minutes_does_not_become_the_base() {
    let mut line = Line::new("service-curve", &[("minimum", 12e6)]);
    line.run(5_000, 24e6);
    // The least rate is more than the line can: nothing helps, and the law has to know that it waits.
    line.run(60_000, 11e6);
    assert!(line.law.state().wait_behind.unwrap() > 1.0, "{:?}", line.law.state());
    assert_eq!(line.law.state().waiting, Some(Waiting::Behind));
}

/// A line of 20 Mbit/s, more or less by a third each half second: the 95th percentile of the waits of some seconds, and
/// the bytes served.
fn up_and_down(line: &mut Line, seconds: u64) -> (f64, f64) {
    let mut coin = 7_u64;
    let (mut waits, mut served) = (Vec::new(), 0.0);
    for tenth in 0..10 * seconds {
        if tenth % 5 == 0 {
            coin = coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        let part = (coin >> 40) as f64 / (1_u64 << 24) as f64;
        line.run(100, 20e6 * (2.0 + 2.0 * part) / 3.0);
        waits.push(line.wait_most);
        served += line.served;
    }
    waits.sort_by(f64::total_cmp);
    (waits[waits.len() * 95 / 100], served)
}

#[test]
fn constants_of_a_model_shorten_waits_that_are_too_long_and_cost_next_to_nothing() {
    let told = [("excess", 0.03)];
    let mut alone = Line::new("service-curve", &told);
    let mut tuned = Line::new("tuned-service-curve", &told);
    up_and_down(&mut alone, 120);
    up_and_down(&mut tuned, 120);
    let choice = tuned.law.state().choice.expect("a minute shows that the bound is broken");
    assert!(choice.excess < choice.excess_before && choice.goodput > 0.9, "{choice:?}");
    let (before, after) = (up_and_down(&mut alone, 60), up_and_down(&mut tuned, 60));
    assert!(before.0 > 0.06 && after.0 < 0.9 * before.0, "{before:?} {after:?} {choice:?}");
    assert!(after.1 > 0.97 * before.1, "{before:?} {after:?} {choice:?}");
}

#[test]
fn a_steady_line_needs_no_other_constants() {
    let mut line = Line::new("tuned-service-curve", &[]);
    line.run(120_000, 12e6);
    assert_eq!(line.law.state().choice, None);
    line.run(10_000, 12e6);
    assert!(line.used(10_000, 12e6) > 0.93, "{}", line.used(10_000, 12e6));
    assert!(line.wait_most < 0.03, "{}", line.wait_most);
}

#[test]
fn a_fixed_rate_stays() {
    let mut line = Line::new("fixed", &[("rate", 5e6)]);
    line.run(2_000, 3e6);
    assert_eq!(line.rate, 5e6);
}

fn law() -> impl Strategy<Value = AnyLaw> {
    let bounded: Values = [("minimum", 1e6), ("maximum", 1e8)]
        .map(|(name, value)| (name.to_owned(), Value::Number(value)))
        .into();
    let index = 0..ALGORITHMS.len();
    index.prop_map(move |index| match ALGORITHMS[index].name {
        "fixed" => AnyLaw::from_values("fixed", &Values::new()).unwrap(),
        name => AnyLaw::from_values(name, &bounded).unwrap(),
    })
}

#[derive(Clone, Debug)]
enum Told {
    Sent(u64, u64),
    Answered(Answer),
    Lost(u64),
    Asked(u64, u64),
}

/// Times near each other as a rule, and sometimes anything.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..20_000 * MS, 1 => any::<u64>()]
}

fn told() -> impl Strategy<Value = Told> {
    let answer = (any::<u32>(), time(), time(), any::<Option<i64>>(), time()).prop_map(
        |(reflector, sent, received, one_way, own_wait)| {
            Told::Answered(Answer { reflector, sent, received, one_way, own_wait })
        },
    );
    prop_oneof![
        (time(), time()).prop_map(|(sent, bytes)| Told::Sent(sent, bytes)),
        answer,
        time().prop_map(Told::Lost),
        (time(), time()).prop_map(|(now, bytes)| Told::Asked(now, bytes)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nonsense_is_survived_and_rates_stay_in_their_bounds(
        mut law in law(),
        script in prop::collection::vec(told(), 1..200),
    ) {
        for each in script {
            match each {
                Told::Sent(sent, bytes) => law.probe_sent(sent, bytes),
                Told::Answered(answer) => law.answered(answer),
                Told::Lost(sent) => law.lost(sent),
                Told::Asked(now, bytes) => {
                    let rate = law.rate(now, bytes);
                    prop_assert!((1e6..=1e8).contains(&rate), "{rate}");
                }
            }
            let state = law.state();
            for number in [state.capacity, state.doubt, state.wait_here, state.wait_behind] {
                prop_assert!(number.is_none_or(f64::is_finite));
            }
        }
    }
}
