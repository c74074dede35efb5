//! Packets on the wire, from the end of their transmission until they arrive.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use vermilion_netsim::random::Stream;

use crate::packet::Held;

/// By how much the propagation of single packets differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// Each packet takes longer by something from 0 to this, uniformly, in nanoseconds.
    pub most_ns: u64,
    /// Whether one packet may overtake another because of it. If not, who would have overtaken
    /// arrives with the packet before.
    pub reorders: bool,
}

/// How much farther than the end of the wire addresses are, in nanoseconds.
///
/// Packets to different addresses may overtake each other; those to one address do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    of: HashMap<[u8; 4], u64>,
}

impl Distances {
    /// From IPv4 addresses and what packets to them take longer.
    #[must_use]
    pub fn new(of: HashMap<[u8; 4], u64>) -> Self {
        Self { of }
    }

    /// Whether all is at the end of the wire.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The longest.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.of.values().copied().max().unwrap_or(0)
    }

    /// What a packet takes longer; nothing to an address that is not known.
    #[inline]
    pub fn of(&self, packet: &[u8]) -> u64 {
        match packet {
            [first, rest @ ..] if *first >> 4 == 4 && rest.len() >= 19 => {
                let address = [rest[15], rest[16], rest[17], rest[18]];
                self.of.get(&address).copied().unwrap_or(0)
            }
            _ => 0,
        }
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct Air {
    jitter: Jitter,
    stream: Stream,
    flying: Flying,
}

#[derive(Debug)]
enum Flying {
    InOrder(VecDeque<(u64, Held)>),
    /// By time, and at one time by number.
    InAnyOrder(BinaryHeap<Reverse<Numbered>>, u64),
}

/// A packet on a wire that does not keep the order.
#[derive(Debug)]
struct Numbered {
    due: u64,
    number: u64,
    held: Held,
}

impl Numbered {
    fn key(&self) -> (u64, u64) {
        (self.due, self.number)
    }
}

impl PartialEq for Numbered {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Numbered {}

impl PartialOrd for Numbered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Numbered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Air {
    /// An empty wire that never holds more than `most` packets.
    pub fn new(jitter: Jitter, stream: Stream, most: usize) -> Self {
        let flying = if jitter.reorders && jitter.most_ns > 0 {
            Flying::InAnyOrder(BinaryHeap::with_capacity(most), 0)
        } else {
            Flying::InOrder(VecDeque::with_capacity(most))
        };
        Self { jitter, stream, flying }
    }

    /// From now on, each packet arrives at its own time.
    pub fn let_overtake(&mut self) {
        let Flying::InOrder(packets) = &mut self.flying else { return };
        let mut numbered = BinaryHeap::with_capacity(packets.capacity());
        for (number, (due, held)) in (0..).zip(packets.drain(..)) {
            numbered.push(Reverse(Numbered { due, number, held }));
        }
        let next = numbered.len() as u64;
        self.flying = Flying::InAnyOrder(numbered, next);
    }

    /// A packet will have been sent and have passed the wire at `due`, jitter left out.
    #[inline]
    pub fn push(&mut self, due: u64, held: Held) {
        let late = match self.jitter.most_ns {
            0 => 0,
            most => self.stream.uniform_between(0, most),
        };
        let due = due + late;
        match &mut self.flying {
            Flying::InOrder(packets) => {
                let last = packets.back().map_or(0, |&(due, _)| due);
                packets.push_back((due.max(last), held));
            }
            Flying::InAnyOrder(packets, number) => {
                packets.push(Reverse(Numbered { due, number: *number, held }));
                *number += 1;
            }
        }
    }

    /// When the first packet arrives, if one is on its way.
    #[inline]
    pub fn next_due(&self) -> Option<u64> {
        match &self.flying {
            Flying::InOrder(packets) => packets.front().map(|&(due, _)| due),
            Flying::InAnyOrder(packets, _) => packets.peek().map(|Reverse(first)| first.due),
        }
    }

    /// Takes the first packet, and when it arrives.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, Held)> {
        match &mut self.flying {
            Flying::InOrder(packets) => packets.pop_front(),
            Flying::InAnyOrder(packets, _) => {
                packets.pop().map(|Reverse(first)| (first.due, first.held))
            }
        }
    }

    /// The end of the transmission of the packet that was put in last has moved. On a wire that does
    /// not keep the order it arrives when it would have.
    pub fn move_last(&mut self, before: u64, after: u64) {
        if let Flying::InOrder(packets) = &mut self.flying
            && let Some((due, _)) = packets.back_mut()
        {
            *due = *due - before + after;
            if let Some(last) = packets.len().checked_sub(2).and_then(|place| packets.get(place)) {
                let earliest = last.0;
                if let Some((due, _)) = packets.back_mut() {
                    *due = earliest.max(*due);
                }
            }
        }
    }

    /// Packets on their way.
    pub fn len(&self) -> usize {
        match &self.flying {
            Flying::InOrder(packets) => packets.len(),
            Flying::InAnyOrder(packets, _) => packets.len(),
        }
    }
}
