//! One flow over a path of constant round trip that loses or marks packets at random.

use std::collections::VecDeque;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use vermilion_parameters::{Value, Values};
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Acknowledgement, Receiver, SackBlocks, Segment, Sender};

pub const SECOND: u64 = 1_000_000_000;

/// What the path does to packets.
#[derive(Clone, Copy)]
pub struct Path {
    /// Round-trip time in nanoseconds.
    pub round_trip: u64,
    /// Probability of losing a packet.
    pub loss: f64,
    /// Probability of marking a packet.
    pub mark: f64,
}

/// Delivered segments per second, and the sender at the end, after 2000 s.
pub fn transfer(sender: &str, switches: &[(&str, bool)], path: Path, seed: u64) -> (f64, Sender) {
    let mut values = Values::from([("handshake".to_owned(), Value::Switch(false))]);
    values.extend(switches.iter().map(|(name, on)| ((*name).to_owned(), Value::Switch(*on))));
    let profile = Profile::from_values(sender, &values).unwrap();
    let mut sender = Sender::new(&profile.sender, 0);
    let selective = profile.sender.recovery.is_selective();
    let mut receiver = Receiver::new(profile.acknowledgements, selective);
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut coin = || generator.next_u64() as f64 / u64::MAX as f64;
    let duration = 2000 * SECOND;
    // The opening segment is not simulated: the receiver has it already.
    receiver.on_segment(0, &Segment::default());
    let mut segments: VecDeque<(u64, Segment)> = VecDeque::new();
    let mut answers: VecDeque<(u64, Acknowledgement<'static>, SackBlocks)> = VecDeque::new();
    sender.start();
    let mut now = 0;
    while now < duration {
        while let Some(mut segment) = sender.next_segment(now) {
            segment.congestion_experienced = segment.ecn_capable && coin() < path.mark;
            if coin() >= path.loss {
                segments.push_back((now + path.round_trip / 2, segment));
            }
        }
        let arrival = segments.front().map_or(u64::MAX, |(time, _)| *time);
        let answer = answers.front().map_or(u64::MAX, |(time, ..)| *time);
        now = arrival.min(answer).min(sender.deadline()).min(receiver.deadline());
        let sent = if now == arrival {
            let (_, segment) = segments.pop_front().unwrap();
            receiver.on_segment(now, &segment)
        } else if now == answer {
            let (_, answer, blocks) = answers.pop_front().unwrap();
            sender
                .on_acknowledgement(now, &Acknowledgement { blocks: blocks.as_slice(), ..answer });
            None
        } else if now == receiver.deadline() {
            receiver.on_timer()
        } else {
            sender.on_timer(now);
            None
        };
        answers.extend(sent.map(|answer| {
            let blocks = SackBlocks::of(answer.blocks);
            (now + path.round_trip / 2, Acknowledgement { blocks: &[], ..answer }, blocks)
        }));
    }
    (f64::from(receiver.next_expected()) / (duration / SECOND) as f64, sender)
}

#[track_caller]
pub fn assert_near(measured: f64, predicted: f64, tolerance: f64) {
    let ratio = measured / predicted;
    assert!((ratio - 1.0).abs() <= tolerance, "{measured:.1} against {predicted:.1}: {ratio:.3}");
}
