//! A discipline around a buffer of packets of any type: what a user-space router would use.

use std::collections::VecDeque;

use crate::{Arrival, Coin, Departure, Discipline, DropReason, Verdict};

/// First-in, first-out queue of packets of type `P`, guarded by a [`Discipline`].
///
/// The caller takes a packet out with [`Fifo::dequeue`] when the link is ready for the next one,
/// and must ask again when it has been sent, even if nothing is waiting: that is how the queue
/// learns that the link fell idle.
#[derive(Debug)]
pub struct Fifo<P, D> {
    discipline: D,
    packets: VecDeque<Kept<P>>,
    bytes: u64,
    empty_since: u64,
    idle_since: Option<u64>,
}

#[derive(Debug)]
struct Kept<P> {
    packet: P,
    size: u32,
    ecn_capable: bool,
    arrived: u64,
}

impl<P, D: Discipline> Fifo<P, D> {
    /// An empty queue on an idle link at time 0.
    pub fn new(discipline: D) -> Self {
        Self { discipline, packets: VecDeque::new(), bytes: 0, empty_since: 0, idle_since: Some(0) }
    }

    /// Offers a packet of `size` bytes at time `now` (nanoseconds). A packet that is not dropped
    /// is kept; on [`Verdict::Mark`] the caller sets the mark through `mark`.
    pub fn enqueue(
        &mut self,
        now: u64,
        mut packet: P,
        size: u32,
        ecn_capable: bool,
        mark: impl FnOnce(&mut P),
        coin: &mut impl Coin,
    ) -> Verdict {
        let arrival = Arrival {
            now,
            size,
            ecn_capable,
            queue_packets: u32::try_from(self.packets.len()).unwrap_or(u32::MAX),
            queue_bytes: self.bytes,
            empty_since: self.empty_since,
            idle_since: self.idle_since,
        };
        let verdict = self.discipline.on_arrival(&arrival, coin);
        if let Verdict::Drop(_) = verdict {
            return verdict;
        }
        if verdict == Verdict::Mark {
            mark(&mut packet);
        }
        self.bytes += u64::from(size);
        self.packets.push_back(Kept { packet, size, ecn_capable, arrived: now });
        verdict
    }

    /// The next packet to send at time `now`, or `None`: then the link is idle from now on. Packets
    /// that the discipline drops now are given to `dropped`; one that it marks, to `mark`.
    pub fn dequeue(
        &mut self,
        now: u64,
        mark: impl FnOnce(&mut P),
        mut dropped: impl FnMut(P, DropReason),
        coin: &mut impl Coin,
    ) -> Option<P> {
        while let Some(Kept { mut packet, size, ecn_capable, arrived }) = self.packets.pop_front() {
            self.bytes -= u64::from(size);
            if self.packets.is_empty() {
                self.empty_since = now;
            }
            let departure = Departure {
                now,
                arrived,
                size,
                ecn_capable,
                queue_packets: u32::try_from(self.packets.len()).unwrap_or(u32::MAX),
                queue_bytes: self.bytes,
            };
            match self.discipline.on_departure(&departure, coin) {
                Verdict::Drop(reason) => {
                    dropped(packet, reason);
                    continue;
                }
                Verdict::Mark => mark(&mut packet),
                Verdict::Accept => {}
            }
            self.idle_since = None;
            return Some(packet);
        }
        self.idle_since.get_or_insert(now);
        None
    }

    /// Packets waiting.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Bytes waiting.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
