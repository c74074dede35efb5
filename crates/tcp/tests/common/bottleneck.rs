//! Flows over one drop-tail link, watched from outside.

use std::collections::VecDeque;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use vermilion_parameters::{Value, Values};
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{KeptAcknowledgement, Receiver, Segment, Sender};

pub const MILLISECOND: u64 = 1_000_000;

/// A link and the path behind it.
#[derive(Clone)]
pub struct Link {
    /// Segments per second from each time in nanoseconds on.
    pub rates: Vec<(u64, f64)>,
    /// Round-trip time without queue or transmission, in nanoseconds.
    pub round_trip: u64,
    /// Segments that fit in, the one in transmission included.
    pub limit: usize,
    /// Probability of losing a segment behind the queue.
    pub loss: f64,
}

/// A flow: the sender's name, its parameters, and when it starts.
pub struct Flow<'a> {
    pub sender: &'a str,
    pub parameters: Values,
    pub start: u64,
}

impl<'a> Flow<'a> {
    pub fn new(sender: &'a str, start: u64) -> Self {
        let number = |value: f64| Value::Number(value);
        let parameters = Values::from([
            ("window_cap".to_owned(), number(1e6)),
            ("initial_window".to_owned(), number(10.0)),
        ]);
        Self { sender, parameters, start }
    }
}

/// Observations at one moment.
#[derive(Clone, Debug)]
pub struct Moment {
    pub time: u64,
    /// Segments that have reached each flow's receiver.
    pub delivered: Vec<u64>,
    /// Segments waiting or in transmission.
    pub queue: usize,
    /// Segments dropped so far.
    pub drops: u64,
    pub windows: Vec<f64>,
}

/// Looks at the flows every `interval` until `duration` (nanoseconds).
pub fn watch(link: &Link, flows: &[Flow], duration: u64, interval: u64, seed: u64) -> Vec<Moment> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut coin = || generator.next_u64() as f64 / u64::MAX as f64;
    let profiles: Vec<Profile> = flows
        .iter()
        .map(|flow| Profile::from_values(flow.sender, &flow.parameters).unwrap())
        .collect();
    let mut ends: Vec<(Sender, Receiver)> =
        profiles.iter().map(|profile| profile.ends(0)).collect();
    let mut started = vec![false; flows.len()];
    let mut segments: Vec<VecDeque<(u64, Segment)>> = vec![VecDeque::new(); flows.len()];
    let mut answers: Vec<VecDeque<(u64, KeptAcknowledgement)>> = vec![VecDeque::new(); flows.len()];
    let mut departures: VecDeque<u64> = VecDeque::new();
    let (mut moments, mut delivered, mut drops) = (Vec::new(), vec![0; flows.len()], 0);
    let mut now = 0;
    while now < duration {
        // Whatever is next, of whichever flow.
        now = ((moments.len() + 1) as u64 * interval).min(duration);
        let mut which = None;
        for (index, (sender, receiver)) in ends.iter().enumerate() {
            let times = [
                if started[index] { u64::MAX } else { flows[index].start },
                segments[index].front().map_or(u64::MAX, |(time, _)| *time),
                answers[index].front().map_or(u64::MAX, |(time, _)| *time),
                if started[index] { sender.deadline() } else { u64::MAX },
                if sender.release() > 0 { sender.release() } else { u64::MAX },
                receiver.deadline(),
            ];
            for (kind, time) in times.into_iter().enumerate() {
                if time < now {
                    (now, which) = (time, Some((index, kind)));
                }
            }
        }
        while departures.front().is_some_and(|time| *time <= now) {
            departures.pop_front();
        }
        let Some((index, kind)) = which else {
            moments.push(Moment {
                time: now,
                delivered: delivered.clone(),
                queue: departures.len(),
                drops,
                windows: ends.iter().map(|(sender, _)| sender.window()).collect(),
            });
            continue;
        };
        let (sender, receiver) = &mut ends[index];
        let answer = match kind {
            0 => {
                started[index] = true;
                sender.start(&profiles[index].sender);
                None
            }
            1 => {
                delivered[index] += 1;
                receiver.on_segment(now, &segments[index].pop_front().unwrap().1, sender.clock())
            }
            2 => {
                sender.on_acknowledgement(now, &answers[index].pop_front().unwrap().1.get());
                None
            }
            3 | 4 => {
                sender.on_timer(now);
                None
            }
            _ => receiver.on_timer(),
        };
        answers[index].extend(answer.map(|answer| (now + link.round_trip / 2, answer.into())));
        while let Some(segment) = ends[index].0.next_segment(now) {
            if departures.len() >= link.limit {
                drops += 1;
                continue;
            }
            let rate = link.rates.iter().rev().find(|(from, _)| *from <= now).unwrap().1;
            let begin = departures.back().map_or(now, |last| (*last).max(now));
            let end = begin + (1e9 / rate) as u64;
            departures.push_back(end);
            if coin() >= link.loss {
                segments[index].push_back((end + link.round_trip / 2, segment));
            }
        }
    }
    moments
}
