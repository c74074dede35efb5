//! The way behind a link on which packets take different times: jitter, reordering, aggregation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Deserialize;
use vermilion_parameters::ParameterError;

use crate::calendar::NEVER;
use crate::limits::{LONGEST_DELAY, within};
use crate::packet::Packet;
use crate::random::{Purpose, Stream};
use crate::variate::Variate;

/// By how much longer than the propagation delay of a link its packets take.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AirModel {
    /// Each packet's own, drawn independently, in nanoseconds. Who would overtake another arrives with it.
    #[serde(default)]
    pub jitter_ns: Option<Variate>,
    /// Packets that others overtake.
    #[serde(default)]
    pub reordering: Option<Reordering>,
    /// Packets arrive together, at whole multiples of so many nanoseconds; 0: each by itself.
    #[serde(default)]
    pub aggregation_ns: u64,
}

/// Packets that take longer, and are overtaken by those behind them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Probability that a packet is one of them.
    pub probability: f64,
    /// How much longer they take, in nanoseconds.
    pub delay_ns: u64,
}

impl AirModel {
    /// Refuses what no link has.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn check(&self) -> Result<(), ParameterError> {
        if let Some(jitter) = &self.jitter_ns {
            let checked = jitter.check(0.0, LONGEST_DELAY as f64, "ns");
            checked.map_err(|error| error.under("jitter"))?;
        }
        if let Some(reordering) = &self.reordering {
            if !(0.0..=1.0).contains(&reordering.probability) {
                let value = reordering.probability;
                let error = ParameterError::new("probability", value, "a number from 0 to 1");
                return Err(error.under("reordering"));
            }
            within("delay", reordering.delay_ns, 0, LONGEST_DELAY, "ns")
                .map_err(|error| error.under("reordering"))?;
        }
        within("aggregation", self.aggregation_ns, 0, LONGEST_DELAY, "ns")
    }
}

/// Packets that have been sent and are held until their propagation begins.
#[derive(Clone, Debug)]
pub struct Air {
    model: AirModel,
    jitter: Stream,
    coin: Stream,
    /// By time, and at one time in the order in which they were sent.
    held: BinaryHeap<Reverse<Held>>,
    sent: u64,
    /// When the last packet is let go that must not be overtaken.
    last: u64,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    time: u64,
    number: u64,
    packet: Packet,
    line: u32,
}

impl Held {
    fn key(&self) -> (u64, u64) {
        (self.time, self.number)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Air {
    /// That of link number `index`, empty.
    pub fn new(model: AirModel, seed: u64, index: u64) -> Self {
        Self {
            model,
            jitter: Stream::new(seed, Purpose::Jitter, index),
            coin: Stream::new(seed, Purpose::Reordering, index),
            held: BinaryHeap::new(),
            sent: 0,
            last: 0,
        }
    }

    /// Holds a packet that has been sent at `end`, to go on by delay line `line`.
    pub fn hold(&mut self, packet: Packet, line: u32, end: u64) {
        let jitter = self.model.jitter_ns.as_ref().map_or(0.0, |it| it.draw(&mut self.jitter));
        let mut time = (end + jitter.min(LONGEST_DELAY as f64) as u64).max(self.last);
        match &self.model.reordering {
            Some(slow) if self.coin.uniform() < slow.probability => time += slow.delay_ns,
            _ => self.last = time,
        }
        if self.model.aggregation_ns > 0 {
            time = time.next_multiple_of(self.model.aggregation_ns);
        }
        self.held.push(Reverse(Held { time, number: self.sent, packet, line }));
        self.sent += 1;
    }

    /// When the next packet is let go; [`NEVER`] if none is held.
    pub fn next_time(&self) -> u64 {
        self.held.peek().map_or(NEVER, |Reverse(held)| held.time)
    }

    /// Lets the next packet go that is due at `now`: it, and its line.
    pub fn release(&mut self, now: u64) -> Option<(Packet, u32)> {
        if self.next_time() > now {
            return None;
        }
        self.held.pop().map(|Reverse(held)| (held.packet, held.line))
    }
}
