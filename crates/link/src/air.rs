use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use vermilion_netsim::random::Stream;

use crate::lanes::{Distances, Lanes};
use crate::packet::Held;

/// By how much the propagation of single packets differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// Each packet takes longer by something from 0 to this, uniformly, in nanoseconds.
    pub most_ns: u64,
    /// True if one packet may overtake another because of it. If not, who would have overtaken
    /// arrives with the packet before that goes to the same address.
    pub reorders: bool,
}

/// Packets on the wire, from the end of their transmission until they arrive.
#[derive(Debug)]
pub struct Air {
    jitter: Jitter,
    stream: Stream,
    lanes: Lanes,
    last: Last,
    flying: Flying,
}

/// The packet that was put in last.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    lane: usize,
    /// When it would arrive were it alone.
    alone: u64,
    /// When the packet arrives that it must not overtake.
    ahead: u64,
}

impl Last {
    fn due(self) -> u64 {
        self.alone.max(self.ahead)
    }
}

#[derive(Debug)]
enum Flying {
    /// While all go to one place and none overtakes another.
    InOrder(VecDeque<(u64, Held)>),
    /// By time, and at one time by number; the number of the next.
    ByTime(BinaryHeap<Reverse<Numbered>>, u64),
}

/// A packet of those that may arrive in another order than they left.
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
        // Without jitter nothing can be overtaken because of it.
        let jitter = Jitter { reorders: jitter.reorders && jitter.most_ns > 0, ..jitter };
        let flying = if jitter.reorders {
            Flying::ByTime(BinaryHeap::with_capacity(most), 0)
        } else {
            Flying::InOrder(VecDeque::with_capacity(most))
        };
        Self { jitter, stream, lanes: Lanes::default(), last: Last::default(), flying }
    }

    /// From now on, addresses are farther away than the end of the wire. What is on its way arrives
    /// when it would have.
    pub fn set_distances(&mut self, distances: &Distances) {
        self.lanes.set_distances(distances);
        if distances.is_empty() {
            return;
        }
        let Flying::InOrder(packets) = &mut self.flying else { return };
        let mut by_time = BinaryHeap::with_capacity(packets.capacity());
        for (number, (due, held)) in (0..).zip(packets.drain(..)) {
            by_time.push(Reverse(Numbered { due, number, held }));
        }
        let next = by_time.len() as u64;
        self.flying = Flying::ByTime(by_time, next);
    }

    /// A packet of these bytes will have been sent and have passed the wire at `due`, jitter and
    /// distance left out.
    pub fn push(&mut self, due: u64, held: Held, bytes: &[u8]) {
        let late = match self.jitter.most_ns {
            0 => 0,
            most => self.stream.uniform_between(0, most),
        };
        let number = self.lanes.number(bytes);
        let lane = self.lanes.lane(number);
        let ahead = if self.jitter.reorders { 0 } else { lane.last_due };
        self.last = Last { lane: number, alone: due + lane.farther + late, ahead };
        let due = self.last.due();
        lane.last_due = due;
        match &mut self.flying {
            Flying::InOrder(packets) => packets.push_back((due, held)),
            Flying::ByTime(packets, next) => {
                packets.push(Reverse(Numbered { due, number: *next, held }));
                *next += 1;
            }
        }
    }

    /// When the first packet arrives, if one is on its way.
    pub fn next_due(&self) -> Option<u64> {
        match &self.flying {
            Flying::InOrder(packets) => packets.front().map(|&(due, _)| due),
            Flying::ByTime(packets, _) => packets.peek().map(|Reverse(first)| first.due),
        }
    }

    /// Takes the first packet, and when it arrives.
    pub fn pop(&mut self) -> Option<(u64, Held)> {
        match &mut self.flying {
            Flying::InOrder(packets) => packets.pop_front(),
            Flying::ByTime(packets, _) => {
                packets.pop().map(|Reverse(first)| (first.due, first.held))
            }
        }
    }

    /// The end of the transmission of the packet that was put in last has moved: it is still in
    /// transmission.
    pub fn move_last(&mut self, before: u64, after: u64) {
        self.last.alone = self.last.alone - before + after;
        let due = self.last.due();
        self.lanes.lane(self.last.lane).last_due = due;
        match &mut self.flying {
            Flying::InOrder(packets) => {
                if let Some(last) = packets.back_mut() {
                    last.0 = due;
                }
            }
            Flying::ByTime(packets, next) => {
                // A heap is put in order again in its own memory; rates seldom change.
                let mut unsorted = std::mem::take(packets).into_vec();
                if let Some(Reverse(last)) =
                    unsorted.iter_mut().find(|Reverse(each)| each.number + 1 == *next)
                {
                    last.due = due;
                }
                *packets = BinaryHeap::from(unsorted);
            }
        }
    }

    /// Packets on their way.
    pub fn len(&self) -> usize {
        match &self.flying {
            Flying::InOrder(packets) => packets.len(),
            Flying::ByTime(packets, _) => packets.len(),
        }
    }
}
