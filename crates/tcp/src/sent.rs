//! When each outstanding segment was last sent, and what the sender knew then.

use std::collections::VecDeque;

/// The last sending of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// When, in nanoseconds.
    pub time: u64,
    /// When the last of the segments was delivered that were by then.
    pub delivered_time: u64,
    /// When the flight began that was being sampled.
    pub first_sent: u64,
    /// Segments delivered by then; a connection has no more than this can count.
    pub delivered: u32,
    /// Segments declared lost by then, wrapping.
    pub lost: u32,
    /// Segments in the network, this one included.
    pub in_network: u32,
    /// Whether the sender had nothing more to send.
    pub application_limited: bool,
}

// There is one for each segment in the network, and each is fetched from far away when it is acknowledged.
const _: () = assert!(size_of::<Sent>() == 40);

/// What is kept of the last sendings of the segments from the first outstanding one on: all of it, or no
/// more than when they were, which is a fifth of that.
#[derive(Clone, Debug, Default)]
pub struct SentSegments<T> {
    first: u32,
    segments: VecDeque<T>,
}

impl<T> SentSegments<T> {
    /// The last sending of the first outstanding segment.
    pub(crate) fn front(&self) -> Option<&T> {
        self.segments.front()
    }

    /// Segment `sequence` is sent: anew, or the next in order.
    #[inline]
    pub fn note(&mut self, sequence: u32, sent: T) {
        if self.segments.is_empty() {
            self.first = sequence;
        }
        let index = (sequence - self.first) as usize;
        if let Some(segment) = self.segments.get_mut(index) {
            *segment = sent;
        } else {
            debug_assert_eq!(index, self.segments.len(), "segments are first sent in order");
            self.segments.push_back(sent);
        }
    }

    /// The last sending of segment `sequence`, if it is outstanding.
    #[inline]
    #[must_use]
    pub fn get(&self, sequence: u32) -> Option<&T> {
        self.segments.get(sequence.checked_sub(self.first)? as usize)
    }

    /// Forgets the segments before `acknowledged`.
    #[inline]
    pub fn acknowledge(&mut self, acknowledged: u32) {
        while self.first < acknowledged && self.segments.pop_front().is_some() {
            self.first += 1;
        }
    }
}
