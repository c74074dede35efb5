//! The short way through a usual acknowledgement leads where the long way does: both are taken, and the
//! senders that come of it are compared in all they know.

use std::collections::VecDeque;

use vermilion_parameters::Values;

use crate::registry::Profile;
use crate::{Acknowledgement, KeptAcknowledgement, Segment, Sender, SenderState};

const MS: u64 = 1_000_000;

impl Sender {
    /// As [`Sender::on_acknowledgement`], the long way.
    fn on_acknowledgement_at_length(&mut self, now: u64, answer: &Acknowledgement<'_>) {
        let flight = &mut self.flight;
        flight.timer.forget_last_round_trip();
        flight.forward_delay = answer.forward_delay;
        let marked = flight.marks.take(answer);
        self.recovery.on_acknowledgement_at_length(flight, now, answer, marked);
    }
}

/// Numbers that look random.
struct Draws(u64);

impl Draws {
    /// Once in so many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33).is_multiple_of(times)
    }
}

/// A sender and its receiver over a link that takes a millisecond for a segment, holds forty, loses some at
/// random and marks some. How many acknowledgements there were of a flight that was open, and how many others.
fn compare(sender: &str, parameters: &str, seed: u64) -> (u32, u32) {
    let values: Values = serde_json::from_str(parameters).unwrap();
    let profile = Profile::from_values(sender, &values).unwrap();
    let (mut sender, mut receiver) = profile.ends(seed);
    let mut draws = Draws(seed);
    sender.limit_to(1500);
    sender.start(&profile.sender);
    let (mut data, mut answers) = (VecDeque::<(u64, Segment)>::new(), VecDeque::new());
    let (mut link_free, mut now) = (0, 0);
    let (mut open, mut others) = (0, 0);
    while !sender.finished() {
        while let Some(mut segment) = sender.next_segment(now) {
            let queued = link_free.max(now) - now;
            if queued < 40 * MS && !draws.once_in(60) {
                link_free = now + queued + MS;
                segment.congestion_experienced = segment.ecn_capable && draws.once_in(90);
                data.push_back((link_free + 15 * MS, segment));
            }
        }
        let release = Some(sender.release()).filter(|release| *release > 0);
        let due = [
            data.front().map_or(u64::MAX, |it| it.0),
            answers.front().map_or(u64::MAX, |it: &(u64, KeptAcknowledgement)| it.0),
            receiver.deadline(),
            sender.deadline(),
            release.unwrap_or(u64::MAX),
        ];
        now = *due.iter().min().unwrap();
        assert!(now < 600_000 * MS, "it stands still");
        if due[1] == now {
            let (_, answer) = answers.pop_front().unwrap();
            let mut other = sender.clone();
            let is_open = sender.state() == SenderState::Open && answer.get().blocks.is_empty();
            sender.on_acknowledgement(now, &answer.get());
            other.on_acknowledgement_at_length(now, &answer.get());
            assert_eq!(format!("{sender:?}"), format!("{other:?}"), "{parameters} at {now}");
            *if is_open { &mut open } else { &mut others } += 1;
        } else if due[0] == now {
            let (_, segment) = data.pop_front().unwrap();
            let answer = receiver.on_segment(now, &segment, sender.clock());
            answers.extend(answer.map(|it| (now + 15 * MS, KeptAcknowledgement::from(it))));
        } else if due[2] == now {
            answers.extend(receiver.on_timer().map(|it| (now + 15 * MS, it.into())));
        } else if due[3] == now {
            sender.on_timer(now);
        }
    }
    (open, others)
}

#[test]
fn the_short_way_through_an_acknowledgement_leads_where_the_long_way_does() {
    let (mut open, mut others) = (0, 0);
    for (sender, parameters) in [
        ("sack", r#"{"option_set": "linux"}"#),
        ("sack", r#"{"option_set": "linux", "ecn": true}"#),
        ("cubic", r#"{"option_set": "linux", "pacing": true}"#),
        ("sack", r#"{"recovery": "sack", "proportional_rate_reduction": true}"#),
        ("sack", r#"{"recovery": "rack", "tail_loss_probe": false}"#),
        ("prague", r#"{"recovery": "rack"}"#),
        ("newreno", r#"{"option_set": "linux"}"#),
        ("cubic", r#"{"recovery": "linux-newreno", "ecn": true}"#),
        ("bbr", r#"{"option_set": "linux"}"#),
        ("bbr", r#"{"recovery": "sack"}"#),
    ] {
        for seed in 1..=3 {
            let counted = compare(sender, parameters, seed);
            (open, others) = (open + counted.0, others + counted.1);
        }
    }
    // Both happen, and neither of them seldom.
    assert!(open > 4000 && others > 4000, "{open} and {others}");
}

/// A sender that hears at once of what reaches its receiver over such a link: how many segments went the plain way, and
/// how many did not.
fn compare_plain(sender: &str, parameters: &str, seed: u64) -> (u32, u32) {
    let values: Values = serde_json::from_str(parameters).unwrap();
    let profile = Profile::from_values(sender, &values).unwrap();
    let (mut sender, mut receiver) = profile.ends(seed);
    let mut draws = Draws(seed);
    sender.limit_to(1500);
    sender.start(&profile.sender);
    let mut data = VecDeque::<(u64, Segment)>::new();
    let (mut link_free, mut now) = (0, 0);
    let (mut plain, mut others) = (0, 0);
    let mut was_plain = false;
    while !sender.finished() {
        let (mut other, mut has_more) = (sender.clone(), was_plain);
        while let Some(segment) = sender.next_segment(now) {
            if was_plain {
                let (sequence, more) = other.next_plainly().unwrap();
                assert!(has_more && sequence == segment.sequence);
                has_more = more;
                assert_eq!(other.send_plainly(sequence, now), segment);
                assert_eq!(format!("{sender:?}"), format!("{other:?}"), "{parameters} at {now}");
            }
            let queued = link_free.max(now) - now;
            if queued < 40 * MS && !draws.once_in(60) {
                link_free = now + queued + MS;
                data.push_back((link_free + 30 * MS, segment));
            }
        }
        assert!(!was_plain || other.next_plainly().is_none());
        let arrival = data.front().map_or(u64::MAX, |it| it.0);
        now = arrival.min(sender.deadline());
        assert!(now < 600_000 * MS, "it stands still");
        was_plain = false;
        if arrival > now {
            sender.on_timer(now);
            continue;
        }
        let (_, segment) = data.pop_front().unwrap();
        let (mut other, mut its_receiver) = (sender.clone(), receiver.clone());
        was_plain = sender.hears_plainly(now, &mut receiver, segment.sequence);
        *if was_plain { &mut plain } else { &mut others } += 1;
        let answer = its_receiver.on_segment(now, &segment, other.clock()).unwrap();
        other.on_acknowledgement(now, &answer);
        if was_plain {
            assert_eq!(receiver.next_expected(), answer.next_expected);
            // Nobody asks who goes that way how long a segment was on its way.
            sender.flight.forward_delay = other.flight.forward_delay;
            assert_eq!(format!("{sender:?}"), format!("{other:?}"), "{parameters} at {now}");
        } else {
            (sender, receiver) = (other, its_receiver);
        }
    }
    (plain, others)
}

#[test]
fn the_plain_way_of_a_segment_leads_where_the_usual_one_does() {
    for (sender, parameters) in [
        ("tahoe", "{}"),
        ("reno", "{}"),
        ("newreno", "{}"),
        ("newreno", r#"{"byte_counting": true, "window_cap": 12}"#),
        ("sack", "{}"),
        ("cubic", r#"{"timestamps": false, "recovery": "newreno"}"#),
    ] {
        let counts = (1..=3).map(|seed| compare_plain(sender, parameters, seed));
        let (plain, others) = counts.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        assert!(plain > 1000 && others > 50, "{sender} {parameters}: {plain} and {others}");
    }
    for (sender, parameters) in [
        ("newreno", r#"{"ecn": true}"#),
        ("newreno", r#"{"timestamps": true}"#),
        ("newreno", r#"{"pacing": true}"#),
        ("ledbat", "{}"),
    ] {
        assert_eq!(compare_plain(sender, parameters, 1).0, 0, "{sender} {parameters}");
    }
}
