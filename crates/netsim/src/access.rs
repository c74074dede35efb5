//! The senders' own access links: each serialises one flow's packets, shares them with nobody and
//! loses none.
//!
//! Sender and first queue are put in one place by setting the sender's clock back
//! ([`crate::route`]), here by the access delay *and* the transmission of one full packet on the
//! access link. A packet that finds its access link idle therefore is offered to the first queue at
//! the instant it is sent, and costs nothing more; only those behind it in a burst wait, each until
//! its own transmission after the one before.
//!
//! One departure from the real thing: a packet smaller than a full one that finds its access link
//! idle reaches the first queue as late as a full one would. Nothing here moves a packet to before
//! the instant at which its sender decides.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use crate::calendar::NEVER;
use crate::packet::Packet;

/// Nanoseconds for `size` bytes at `rate` bits per second, rounded up.
pub fn transmission(size: u32, rate: u64) -> u64 {
    (u64::from(size) * 8_000_000_000).div_ceil(rate)
}

/// An access link at one rate, as its flow's group knows it.
#[derive(Clone, Copy, Debug)]
pub struct AccessRate {
    rate: u64,
    full_size: u32,
    /// Transmission of a full packet, in nanoseconds.
    full_time: u64,
}

impl AccessRate {
    /// A link of `rate` bits per second for packets of at most `full_size` bytes.
    pub fn new(rate: u64, full_size: u32) -> Self {
        Self { rate, full_size, full_time: transmission(full_size, rate) }
    }

    /// Nanoseconds for a packet of `size` bytes.
    pub fn time(&self, size: u32) -> u64 {
        if size == self.full_size { self.full_time } else { transmission(size, self.rate) }
    }
}

/// One flow's access link.
#[derive(Clone, Debug, Default)]
struct AccessLink {
    /// When it will have sent everything, a full packet's transmission late like the flow's clock.
    free_at: u64,
    /// Packets to be offered to the first queue at their times.
    waiting: VecDeque<Packet>,
}

/// The access links of all flows.
#[derive(Clone, Debug, Default)]
pub struct AccessLinks {
    /// One for each flow; none at all where no flow's access has a rate.
    links: Vec<AccessLink>,
    /// One entry for each flow with packets waiting: when the first is due.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// Packets waiting.
    held: u64,
}

impl AccessLinks {
    /// Idle links for `flows` flows.
    pub fn new(flows: usize) -> Self {
        Self { links: vec![AccessLink::default(); flows], heap: BinaryHeap::new(), held: 0 }
    }

    /// Idle links for further flows, `flows` in all, if any has one.
    pub fn grow(&mut self, flows: usize) {
        if !self.links.is_empty() {
            self.links.resize_with(flows, AccessLink::default);
        }
    }

    /// When the first packet is due at its first queue, [`NEVER`] if none waits.
    pub fn next_time(&self) -> u64 {
        self.heap.peek().map_or(NEVER, |Reverse((time, _))| *time)
    }

    /// The sender of `packet` sends it at `now`: whether it reaches the first queue at once. If
    /// not, it is kept.
    #[inline(never)] // flows without access rates should not pay for it
    pub fn pass(&mut self, now: u64, mut packet: Packet, access: &AccessRate) -> bool {
        let link = &mut self.links[packet.flow() as usize];
        link.free_at = link.free_at.max(now) + access.time(packet.size());
        let time = link.free_at.saturating_sub(access.full_time);
        if time <= now {
            return true;
        }
        if link.waiting.is_empty() {
            self.heap.push(Reverse((time, packet.flow())));
        }
        packet.time = time;
        link.waiting.push_back(packet);
        self.held += 1;
        false
    }

    /// Number of packets that wait.
    pub fn len(&self) -> u64 {
        self.held
    }

    /// Every packet that waits.
    #[cfg(test)]
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.links.iter().flat_map(|link| &link.waiting)
    }

    /// Takes the packet out that is due first.
    pub fn pop(&mut self) -> Option<Packet> {
        let mut first = self.heap.peek_mut()?;
        let waiting = &mut self.links[first.0.1 as usize].waiting;
        let packet = waiting.pop_front();
        self.held -= 1;
        match waiting.front() {
            Some(next) => first.0.0 = next.time,
            None => {
                PeekMut::pop(first);
            }
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use vermilion_tcp::Segment;

    use super::*;

    fn packet(flow: u32, size: u32) -> Packet {
        Packet::data(flow, size, &Segment::default())
    }

    #[test]
    fn a_burst_leaves_one_transmission_apart_and_flows_do_not_wait_for_each_other() {
        let access = AccessRate::new(8_000_000, 1000); // a full packet in 1 ms
        let mut links = AccessLinks::new(2);
        assert!(links.pass(5_000_000, packet(0, 1000), &access));
        assert!(!links.pass(5_000_000, packet(0, 1000), &access));
        assert!(!links.pass(5_000_000, packet(0, 500), &access));
        assert!(links.pass(5_200_000, packet(1, 1000), &access));
        assert!(!links.pass(5_200_000, packet(1, 1000), &access));
        let times: Vec<_> =
            std::iter::from_fn(|| links.pop()).map(|p| (p.time, p.flow())).collect();
        assert_eq!(times, [(6_000_000, 0), (6_200_000, 1), (6_500_000, 0)]);
        assert_eq!(links.next_time(), NEVER);
        // Idle from 6.5 ms (and a full packet's time) on.
        assert!(!links.pass(7_400_000, packet(0, 1000), &access));
        assert!(links.pass(8_500_000, packet(0, 1000), &access));
    }
}
