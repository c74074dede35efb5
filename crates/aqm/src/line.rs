//! Packets that wait, first in, first out.

use std::collections::VecDeque;

use crate::{Arrival, Departure, DropReason, Dropped, Packet, Standing, Waiting};

/// What waits, and the figures of it that disciplines are told.
#[derive(Clone, Debug)]
pub(crate) struct Line<P> {
    packets: VecDeque<Kept<P>>,
    bytes: u64,
    /// When it last became empty, in nanoseconds.
    empty_since: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept<P> {
    pub(crate) packet: P,
    pub(crate) arrived: u64,
    /// True if it was marked as it arrived: it is counted once.
    pub(crate) marked: bool,
}

impl<P: Packet> Line<P> {
    /// Empty at time 0.
    pub(crate) fn new() -> Self {
        Self { packets: VecDeque::new(), bytes: 0, empty_since: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn each(&self, look: &mut impl FnMut(&P)) {
        self.packets.iter().for_each(|kept| look(&kept.packet));
    }

    /// State of it.
    pub(crate) fn waiting(&self) -> Waiting {
        let standing = Standing { packets: self.packets.len() as u32, bytes: self.bytes };
        let head = self.packets.front().map(|kept| (kept.packet.size(), kept.arrived));
        Waiting { standing, empty_since: self.empty_since, head }
    }

    /// A packet that arrives at it.
    #[inline(always)] // for every packet
    pub(crate) fn met_by(&self, packet: &P, now: u64, idle_since: Option<u64>) -> Arrival {
        Arrival {
            queue_packets: self.packets.len() as u32,
            queue_bytes: self.bytes,
            empty_since: self.empty_since,
            idle_since,
            ..Arrival::of(packet, now)
        }
    }

    /// A packet that leaves it, and has been taken out.
    #[inline(always)]
    pub(crate) fn left_by(&self, kept: &Kept<P>, now: u64) -> Departure {
        Departure {
            queue_packets: self.packets.len() as u32,
            queue_bytes: self.bytes,
            ..Departure::of(&kept.packet, kept.arrived, now)
        }
    }

    /// Puts a packet of `size` bytes at its end, and marks it there.
    #[inline(always)] // packets are large: a call would copy them once more
    pub(crate) fn push(&mut self, packet: P, now: u64, size: u32, marked: bool) {
        self.bytes += u64::from(size);
        self.packets.push_back(Kept { packet, arrived: now, marked });
        if marked && let Some(kept) = self.packets.back_mut() {
            kept.packet.mark();
        }
    }

    /// Takes the first packet out.
    #[inline(always)]
    pub(crate) fn pop(&mut self, now: u64) -> Option<Kept<P>> {
        let kept = self.packets.pop_front()?;
        self.note_taken(now, kept.packet.size());
        Some(kept)
    }

    /// Takes the packet at `place` out, which may be anywhere.
    pub(crate) fn remove(
        &mut self,
        now: u64,
        place: usize,
        reason: DropReason,
    ) -> Option<Dropped<P>> {
        let Kept { packet, arrived, .. } = self.packets.remove(place)?;
        self.note_taken(now, packet.size());
        Some(Dropped { packet, arrived, reason })
    }

    /// The packet at `place`.
    pub(crate) fn at(&self, place: usize) -> &P {
        &self.packets[place].packet
    }

    /// Drops all at `now`.
    pub(crate) fn flush(&mut self, now: u64, dropped: &mut impl FnMut(P)) {
        if !self.packets.is_empty() {
            self.empty_since = now;
        }
        self.bytes = 0;
        self.packets.drain(..).for_each(|kept| dropped(kept.packet));
    }

    #[inline(always)]
    fn note_taken(&mut self, now: u64, size: u32) {
        self.bytes -= u64::from(size);
        if self.packets.is_empty() {
            self.empty_since = now;
        }
    }
}
