//! One flow over a path that treats each segment as a test says.

use std::collections::VecDeque;

use vermilion_tcp::registry::Profile;
use vermilion_tcp::{KeptAcknowledgement, Segment, Sender};

/// Fate of a segment that is not lost.
#[derive(Clone, Copy)]
pub struct Passage {
    /// Time it waits in nanoseconds, in addition to the round trip without queueing.
    pub wait: u64,
    /// True if it is marked, if it can be.
    pub marked: bool,
}

/// Carries the flow's segments for `duration` over a path of `round_trip` (nanoseconds), and tells
/// `watch` of every acknowledgement's time and the sender after it. `path` says what happens to each
/// segment, `None` if it is lost; it must not let one overtake another. The opening segment is not
/// simulated. Segments that have arrived in order, and the sender at the end.
pub fn carry(
    profile: &Profile,
    round_trip: u64,
    duration: u64,
    mut path: impl FnMut(u64, &Segment) -> Option<Passage>,
    mut watch: impl FnMut(u64, &Sender, u32),
) -> (u32, Sender) {
    let (mut sender, mut receiver) = profile.ends(0);
    let mut segments: VecDeque<(u64, Segment)> = VecDeque::new();
    let mut answers: VecDeque<(u64, KeptAcknowledgement)> = VecDeque::new();
    sender.start(&profile.sender);
    let mut now = 0;
    while now < duration {
        while let Some(mut segment) = sender.next_segment(now) {
            if let Some(passage) = path(now, &segment) {
                segment.congestion_experienced = segment.ecn_capable && passage.marked;
                segments.push_back((now + passage.wait + round_trip / 2, segment));
            }
        }
        let arrival = segments.front().map_or(u64::MAX, |(time, _)| *time);
        let answer = answers.front().map_or(u64::MAX, |(time, _)| *time);
        let release = if sender.release() > 0 { sender.release() } else { u64::MAX };
        let timer = sender.deadline().min(release);
        now = arrival.min(answer).min(timer).min(receiver.deadline());
        let sent = if now == arrival {
            let (_, segment) = segments.pop_front().unwrap();
            receiver.on_segment(now, &segment, sender.clock())
        } else if now == answer {
            sender.on_acknowledgement(now, &answers.pop_front().unwrap().1.get());
            watch(now, &sender, receiver.next_expected());
            None
        } else if now == receiver.deadline() {
            receiver.on_timer()
        } else {
            sender.on_timer(now);
            None
        };
        answers.extend(sent.map(|answer| (now + round_trip / 2, answer.into())));
    }
    (receiver.next_expected(), sender)
}
