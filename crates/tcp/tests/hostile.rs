//! An acknowledgement of anything never panics, and leaves a sender that can go on.
//!
//! Every sender of the registry, with every recovery, hears acknowledgements of what was never sent, of what has been
//! acknowledged, blocks that cannot be, reports that are taken back, echoes from the future and marks that nobody
//! counted, between sendings, timers and pauses. What it sends and says of itself must add up all the while; and when the
//! network is honest from then on, all of its data arrives.

use std::collections::{BTreeSet, VecDeque};
use std::sync::LazyLock;

use proptest::prelude::*;
use vermilion_parameters::{Value, Values};
use vermilion_tcp::registry::{Profile, SENDERS};
use vermilion_tcp::{Acknowledgement, KeptAcknowledgement, Recovery, Sender};

const MS: u64 = 1_000_000;
/// Segments to send; some more may be supplied.
const SEGMENTS: u32 = 120;

/// Every sender with every recovery, in both option sets, paced or not, with and without marks.
static PROFILES: LazyLock<Vec<(String, Profile)>> = LazyLock::new(|| {
    let choice = |text: &str| Value::Choice(text.to_owned());
    let mut profiles = Vec::new();
    for sender in SENDERS {
        let name = sender.algorithm.name;
        for set in [None, Some("linux")] {
            for recovery in Recovery::NAMES.iter().map(Some).chain([None]) {
                for pacing in [false, true] {
                    for marks in [false, true] {
                        let mut values = Values::new();
                        let mut put = |name: &str, value| values.insert(name.to_owned(), value);
                        set.map(|set| put("option_set", choice(set)));
                        recovery.map(|recovery| put("recovery", choice(recovery)));
                        put("pacing", Value::Switch(pacing));
                        put("ecn", Value::Switch(marks));
                        // Not every sender has a choice of its recovery.
                        if let Ok(profile) = Profile::from_values(name, &values) {
                            profiles.push((format!("{name} {values:?}"), profile));
                        }
                    }
                }
            }
        }
    }
    profiles
});

/// Next event. Numbers are taken relative to what the sender has outstanding.
#[derive(Clone, Debug)]
enum Step {
    /// An acknowledgement.
    Answer {
        next: Place,
        blocks: Vec<(Place, Place)>,
        echo: Option<u64>,
        marked: u32,
        echoed: bool,
    },
    /// Time passes, in microseconds; timers that are due expire.
    Wait(u64),
    /// At most so many segments leave.
    Send(u32),
    /// There is more to send.
    Supply(u32),
}

/// A sequence number.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// So many segments after the first outstanding one (before it, if negative).
    First(i32),
    /// So many after the last one sent.
    Last(i32),
    Any(u32),
}

fn places() -> impl Strategy<Value = Place> {
    prop_oneof![
        6 => (-3..20_i32).prop_map(Place::First),
        3 => (-12..4_i32).prop_map(Place::Last),
        1 => any::<u32>().prop_map(Place::Any),
        1 => Just(Place::Any(u32::MAX)),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    let blocks = prop::collection::vec((places(), places()), 0..5);
    let echo = prop_oneof![6 => Just(None), 1 => any::<u64>().prop_map(Some), 1 => (0..10_u64).prop_map(Some)];
    let marked = prop_oneof![6 => 0..3_u32, 1 => any::<u32>()];
    let answer = (places(), blocks, echo, marked, prop::bool::weighted(0.1));
    prop_oneof![
        8 => answer.prop_map(|(next, blocks, echo, marked, echoed)| Step::Answer { next, blocks, echo, marked, echoed }),
        3 => (0..40_000_u64).prop_map(Step::Wait),
        1 => (0..3_000_000_u64).prop_map(Step::Wait),
        5 => (0..12_u32).prop_map(Step::Send),
        1 => (1..20_u32).prop_map(Step::Supply),
    ]
}

/// A sender, and what has been seen of it.
struct Watched {
    sender: Sender,
    now: u64,
    first: u32,
    highest: u32,
    again: u64,
    times: Vec<u64>,
    marked: u32,
    supplied: u32,
}

impl Watched {
    fn new(profile: &Profile) -> Self {
        let (mut sender, _) = profile.ends(0);
        sender.limit_to(SEGMENTS);
        sender.start(&profile.sender);
        let first = sender.unacknowledged();
        let times = vec![0; first as usize];
        Self {
            sender,
            now: MS,
            first,
            highest: first,
            again: 0,
            times,
            marked: 0,
            supplied: SEGMENTS,
        }
    }

    fn place(&self, place: Place) -> u32 {
        match place {
            Place::First(offset) => self.first.saturating_add_signed(offset),
            Place::Last(offset) => self.highest.saturating_add_signed(offset),
            Place::Any(number) => number,
        }
    }

    /// At most so many segments leave. Which.
    fn send(&mut self, most: u32) -> Vec<u32> {
        let mut left = Vec::new();
        for _ in 0..most {
            let Some(segment) = self.sender.next_segment(self.now) else { break };
            let sequence = segment.sequence;
            assert!(sequence >= self.first, "{sequence} is sent again, and was acknowledged");
            assert!(sequence <= self.highest, "{sequence} leaves before {}", self.highest);
            if sequence == self.highest {
                self.highest += 1;
                self.times.push(self.now);
            } else {
                self.again += 1;
                self.times[sequence as usize] = self.now;
            }
            left.push(sequence);
        }
        assert!(self.highest <= self.supplied + 1, "more leaves than there is");
        self.check();
        left
    }

    fn answer(&mut self, answer: &Acknowledgement<'_>) {
        let never_sent = answer.next_expected > self.highest;
        self.sender.take_last_round_trip();
        let before = never_sent.then(|| format!("{:?}", self.sender));
        self.sender.on_acknowledgement(self.now, answer);
        if let Some(before) = before {
            assert_eq!(format!("{:?}", self.sender), before, "what was never sent is acknowledged");
        } else {
            self.first = self.first.max(answer.next_expected);
        }
        self.check();
    }

    /// Until `until`; timers expire when they are due.
    fn wait(&mut self, until: u64) {
        while self.sender.deadline() <= until {
            self.now = self.now.max(self.sender.deadline());
            self.sender.on_timer(self.now);
            self.check();
            self.send(1);
        }
        self.now = self.now.max(until);
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Answer { next, blocks, echo, marked, echoed } => {
                let blocks: Vec<_> =
                    blocks.iter().map(|it| (self.place(it.0), self.place(it.1))).collect();
                self.marked = self.marked.wrapping_add(*marked);
                let next_expected = self.place(*next);
                let last = next_expected.saturating_sub(1) as usize;
                let echo = echo.or_else(|| self.times.get(last).copied()).unwrap_or(self.now);
                self.answer(&Acknowledgement {
                    next_expected,
                    echo,
                    forward_delay: echo / 2,
                    congestion_echo: *echoed,
                    marked: self.marked,
                    blocks: &blocks,
                });
            }
            Step::Wait(microseconds) => self.wait(self.now + microseconds * 1000),
            Step::Send(most) => {
                self.send(*most);
            }
            Step::Supply(segments) => {
                self.supplied += segments;
                self.sender.supply(self.now, *segments);
            }
        }
    }

    /// Check that what the sender says of itself adds up, and agrees with what was seen.
    fn check(&self) {
        let sender = &self.sender;
        assert_eq!(sender.unacknowledged(), self.first);
        let outstanding = self.highest - self.first;
        assert_eq!(sender.outstanding(), outstanding);
        assert_eq!(sender.counters().retransmissions, self.again);
        assert!(sender.sacked() <= outstanding, "{} of {outstanding}", sender.sacked());
        assert!(sender.lost() <= outstanding, "{} lost of {outstanding}", sender.lost());
        let most = u64::from(outstanding) + self.again + 1;
        assert!(u64::from(sender.in_flight()) <= most, "{} in flight", sender.in_flight());
        assert!(sender.window().is_finite() && sender.window() >= 0.0, "{}", sender.window());
        assert!(sender.threshold() >= 0.0, "{}", sender.threshold());
        if outstanding > 0 {
            assert_ne!(sender.deadline(), u64::MAX, "nothing will wake it");
        }
    }

    /// From now on the network loses nothing, takes 20 ms, and its receiver has what the sender knows to be
    /// acknowledged, and nothing else.
    fn finish_honestly(&mut self) {
        let (mut answers, mut arrived) = (VecDeque::new(), BTreeSet::new());
        let mut next = self.first;
        for _ in 0..100_000 {
            let left = self.send(u32::MAX);
            for sequence in left {
                if sequence >= next {
                    arrived.insert(sequence);
                }
                while arrived.remove(&next) {
                    next += 1;
                }
                let block = arrived.range(sequence.max(next)..).next().map(|&begin| {
                    let after = (begin..).find(|it| !arrived.contains(it)).expect("an end");
                    (begin, after)
                });
                let blocks: Vec<_> = block.into_iter().collect();
                let answer = Acknowledgement {
                    next_expected: next,
                    echo: self.now,
                    marked: self.marked,
                    forward_delay: 10 * MS,
                    congestion_echo: false,
                    blocks: &blocks,
                };
                answers.push_back((self.now + 20 * MS, KeptAcknowledgement::from(answer)));
            }
            if self.sender.finished() {
                return;
            }
            let release = Some(self.sender.release()).filter(|it| *it > self.now);
            let arrival = answers.front().map_or(u64::MAX, |it| it.0);
            let due = arrival.min(self.sender.deadline()).min(release.unwrap_or(u64::MAX));
            assert_ne!(due, u64::MAX, "nothing will happen any more");
            self.now = self.now.max(due);
            if arrival <= self.now {
                let (_, answer) = answers.pop_front().expect("the first");
                self.answer(&answer.get());
            } else if self.sender.deadline() <= self.now {
                self.sender.on_timer(self.now);
                self.check();
            }
        }
        panic!("{} of {} segments are acknowledged", self.first, self.supplied);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_acknowledgement_leaves_a_sender_that_adds_up_and_goes_on(
        chosen in any::<prop::sample::Index>(),
        steps in prop::collection::vec(steps(), 1..60),
    ) {
        let (name, profile) = chosen.get(&PROFILES);
        let mut watched = Watched::new(profile);
        // The opening segment, and the first window: else most of what comes is of what was never sent.
        watched.send(u32::MAX);
        prop_assert!(watched.highest > 0, "{name} does not begin");
        for step in &steps {
            watched.take(step);
        }
        watched.finish_honestly();
    }
}

#[test]
fn an_old_segment_that_is_acknowledged_after_a_timeout_leaves_every_sender_that_adds_up() {
    let answer =
        |next| Step::Answer { next, blocks: Vec::new(), echo: None, marked: 0, echoed: false };
    for (_, profile) in PROFILES.iter() {
        let mut watched = Watched::new(profile);
        watched.send(u32::MAX);
        for step in
            [answer(Place::First(1)), Step::Send(10), Step::Wait(207_000), answer(Place::Last(-10))]
        {
            watched.take(&step);
        }
        watched.finish_honestly();
    }
}

#[test]
fn every_sender_and_every_recovery_takes_part() {
    for sender in SENDERS {
        let name = format!("{} ", sender.algorithm.name);
        assert!(PROFILES.iter().any(|it| it.0.starts_with(&name)), "{name}");
    }
    for recovery in Recovery::NAMES {
        assert!(PROFILES.iter().any(|it| it.1.sender.recovery.name() == *recovery), "{recovery}");
    }
}
