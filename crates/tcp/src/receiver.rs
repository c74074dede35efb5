//! The receiver: cumulative acknowledgements, reordering, delayed acknowledgements, ECN echo.
//!
//! Source: RFC 5681, section 4.2 (every second segment, at once when there is or was a gap);
//! RFC 3168, section 6.1.3 (the echo lasts until the sender says it has reduced its window).

use crate::{Acknowledgement, Segment};

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcknowledgementPolicy {
    /// Every segment, at once.
    EverySegment,
    /// Every second segment, or after `wait` nanoseconds; at once on anything out of order.
    Delayed {
        /// Longest wait in nanoseconds.
        wait: u64,
    },
}

/// One flow's receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    next_expected: u32,
    /// Segments that have arrived beyond a gap.
    beyond_gap: u32,
    congestion_echo: bool,
    /// Whether an in-order segment waits to be acknowledged.
    pending: bool,
    policy: AcknowledgementPolicy,
    /// When a waiting acknowledgement must go, in nanoseconds.
    deadline: u64,
    /// Which segments beyond `next_expected` have arrived: a ring of bits, its length a power of two.
    arrived: Vec<u64>,
}

impl Receiver {
    /// A receiver that waits for segment 0.
    #[must_use]
    pub fn new(policy: AcknowledgementPolicy) -> Self {
        Self {
            next_expected: 0,
            beyond_gap: 0,
            congestion_echo: false,
            pending: false,
            policy,
            deadline: u64::MAX,
            arrived: Vec::new(),
        }
    }

    /// Takes a segment at time `now` (nanoseconds); the acknowledgement to send, if any.
    #[inline]
    pub fn on_segment(&mut self, now: u64, segment: &Segment) -> Option<Acknowledgement> {
        if segment.window_reduced {
            self.congestion_echo = false;
        }
        if segment.congestion_experienced {
            self.congestion_echo = true;
        }
        let in_order = segment.sequence == self.next_expected;
        let had_gap = self.beyond_gap > 0;
        if in_order && !had_gap {
            self.next_expected += 1;
        } else {
            self.place(segment.sequence);
        }
        let AcknowledgementPolicy::Delayed { wait } = self.policy else {
            return Some(self.acknowledgement());
        };
        let at_once = !in_order || had_gap || self.pending || segment.sequence == 0;
        if at_once {
            self.pending = false;
            self.deadline = u64::MAX;
            return Some(self.acknowledgement());
        }
        self.pending = true;
        self.deadline = now + wait;
        None
    }

    /// When [`Receiver::on_timer`] wants to be called; `u64::MAX` for never.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    /// The wait for a second segment is over: the acknowledgement to send.
    pub fn on_timer(&mut self) -> Option<Acknowledgement> {
        self.deadline = u64::MAX;
        std::mem::take(&mut self.pending).then(|| self.acknowledgement())
    }

    /// The first segment that has not arrived.
    #[inline]
    #[must_use]
    pub fn next_expected(&self) -> u32 {
        self.next_expected
    }

    fn acknowledgement(&self) -> Acknowledgement {
        Acknowledgement { next_expected: self.next_expected, congestion_echo: self.congestion_echo }
    }

    /// Files a segment that is out of order, or fills a gap.
    fn place(&mut self, sequence: u32) {
        if sequence < self.next_expected {
            return;
        }
        self.reserve(sequence - self.next_expected);
        if self.has(sequence) {
            return;
        }
        if sequence > self.next_expected {
            self.flip(sequence);
            self.beyond_gap += 1;
            return;
        }
        self.next_expected += 1;
        while self.beyond_gap > 0 && self.has(self.next_expected) {
            self.flip(self.next_expected);
            self.beyond_gap -= 1;
            self.next_expected += 1;
        }
    }

    fn slot(&self, sequence: u32) -> (usize, u64) {
        let bit = sequence as usize & (self.arrived.len() * 64 - 1);
        (bit / 64, 1 << (bit % 64))
    }

    fn has(&self, sequence: u32) -> bool {
        let (word, bit) = self.slot(sequence);
        self.arrived[word] & bit != 0
    }

    fn flip(&mut self, sequence: u32) {
        let (word, bit) = self.slot(sequence);
        self.arrived[word] ^= bit;
    }

    /// Makes the ring longer than `distance` beyond the next expected segment.
    fn reserve(&mut self, distance: u32) {
        let bits = self.arrived.len() * 64;
        if (distance as usize) < bits {
            return;
        }
        let longer = (distance as usize + 1).next_power_of_two().max(64);
        let shorter = std::mem::replace(&mut self.arrived, vec![0; longer / 64]);
        for offset in 1..bits as u32 {
            let sequence = self.next_expected + offset;
            let bit = sequence as usize & (bits - 1);
            if shorter[bit / 64] & (1 << (bit % 64)) != 0 {
                self.flip(sequence);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(receiver: &mut Receiver, sequence: u32) -> Option<u32> {
        let segment = Segment { sequence, ..Segment::default() };
        receiver.on_segment(0, &segment).map(|answer| answer.next_expected)
    }

    #[test]
    fn a_gap_repeats_the_acknowledgement_until_it_is_filled() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment);
        let answers: Vec<_> =
            [0, 1, 3, 4, 6, 2, 5].map(|sequence| take(&mut receiver, sequence).unwrap()).into();
        assert_eq!(answers, [1, 2, 2, 2, 2, 5, 7]);
    }

    #[test]
    fn duplicates_change_nothing() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment);
        for sequence in [0, 2, 2, 0, 2] {
            assert_eq!(take(&mut receiver, sequence), Some(1));
        }
        assert_eq!(take(&mut receiver, 1), Some(3));
    }

    #[test]
    fn the_ring_of_bits_grows_without_forgetting() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment);
        for sequence in (1..5000).rev() {
            assert_eq!(take(&mut receiver, sequence), Some(0));
        }
        assert_eq!(take(&mut receiver, 0), Some(5000));
        for sequence in (5001..5100).chain(5101..9000) {
            take(&mut receiver, sequence);
        }
        assert_eq!(take(&mut receiver, 5000), Some(5100));
        assert_eq!(take(&mut receiver, 5100), Some(9000));
    }

    #[test]
    fn delayed_acknowledgements_come_for_every_second_segment_or_at_the_deadline() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::Delayed { wait: 100 });
        assert_eq!(take(&mut receiver, 0), Some(1)); // the opening segment is never delayed
        assert_eq!(take(&mut receiver, 1), None);
        assert_eq!(take(&mut receiver, 2), Some(3));
        assert_eq!(take(&mut receiver, 3), None);
        assert_eq!(receiver.deadline(), 100);
        assert_eq!(receiver.on_timer().map(|answer| answer.next_expected), Some(4));
        assert_eq!(take(&mut receiver, 5), Some(4)); // a gap: at once
        assert_eq!(take(&mut receiver, 4), Some(6)); // the gap filled: at once
    }

    #[test]
    fn the_echo_lasts_until_the_sender_has_reduced_its_window() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment);
        let mut echo = |sequence, congestion_experienced, window_reduced| {
            let segment =
                Segment { sequence, ecn_capable: true, congestion_experienced, window_reduced };
            receiver.on_segment(0, &segment).unwrap().congestion_echo
        };
        assert!(!echo(0, false, false));
        assert!(echo(1, true, false));
        assert!(echo(2, false, false));
        assert!(!echo(3, false, true));
        assert!(echo(4, true, true)); // a new mark on the very segment that says so
    }
}
