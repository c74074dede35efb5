//! The receiver: cumulative and selective acknowledgements, reordering, delayed acknowledgements,
//! echoes of marks and timestamps.
//!
//! Source: RFC 5681, section 4.2 (every second segment, at once when there is or was a gap);
//! RFC 2018, section 4 (the block with the segment that has just arrived comes first, then the
//! blocks most recently reported); RFC 3168, section 6.1.3 (the classic echo lasts until the sender
//! says it has reduced its window); RFC 9768 (accurate feedback: the count of marks); RFC 8257,
//! section 3.2 (a change of marking is told at once); RFC 7323, section 4.3 (which timestamp is
//! echoed: that of the earliest segment not yet acknowledged); RFC 6817, section 2.3 (how long the last
//! segment was on its way); Linux 6.12, `net/ipv4/tcp_input.c` (what is acknowledged at
//! once all the same: `renew` below).

use std::collections::VecDeque;

use crate::{Acknowledgement, SackBlocks, Segment};

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcknowledgementPolicy {
    /// Every segment, at once.
    EverySegment,
    /// Every second segment, or after `wait` nanoseconds; at once on anything out of order.
    Delayed {
        /// Longest wait in nanoseconds.
        wait: u64,
        /// The first segments of a connection, which are acknowledged at once.
        quick: u32,
        /// Whether others are, too, after a pause, a duplicate or a mark, as in Linux.
        renewed: bool,
        /// Whether a segment marked differently from the one before is acknowledged at once.
        accurate: bool,
    },
}

/// Pauses between segments are measured in 2 to this power nanoseconds, 1.05 ms: about as Linux
/// measures them.
const SHIFT: u32 = 20;
/// No segment has arrived yet.
const NEVER: u32 = u32::MAX;
/// The retransmission timeout of Linux before it has a sample (`TCP_TIMEOUT_INIT`), in nanoseconds.
const INITIAL_TIMEOUT: u64 = 1_000_000_000;
/// What it adds to the smoothed round trip at least (`TCP_RTO_MIN`), in nanoseconds.
const LEAST_VARIATION: u64 = 200_000_000;

/// Acknowledgements that go at once after a pause (`TCP_MAX_QUICKACKS`).
const MOST_QUICK: u32 = 16;

/// A time in nanoseconds in units of [`SHIFT`].
const fn units(time: u64) -> u16 {
    (time >> SHIFT) as u16
}

/// One flow's receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    next_expected: u32,
    congestion_echo: bool,
    /// Marked segments that have arrived.
    marked: u32,
    /// Whether the last segment was marked.
    last_was_marked: bool,
    /// Whether an in-order segment waits to be acknowledged.
    pending: bool,
    /// Segments that will still be acknowledged at once although nothing is missing.
    quick: u32,
    /// [`AcknowledgementPolicy::Delayed`]; false if every segment is acknowledged.
    renewed: bool,
    /// [`AcknowledgementPolicy`]: 0 if every segment is acknowledged.
    wait: u64,
    /// Likewise.
    accurate: bool,
    /// Whether arrivals beyond a gap are reported.
    selective: bool,
    /// When the last segment in order arrived, in units of [`SHIFT`]; [`NEVER`] before.
    last: u32,
    /// The receiver's own retransmission timeout, likewise.
    timeout: u16,
    /// Whether a segment of data was ECN-capable.
    capable_seen: bool,
    /// When a waiting acknowledgement must go, in nanoseconds.
    deadline: u64,
    /// Timestamp to be echoed.
    echo: u64,
    /// One-way delay of the last segment, in nanoseconds.
    forward_delay: u64,
    /// What has arrived beyond `next_expected`: stretches from first to one after last, ascending.
    beyond_gap: VecDeque<(u32, u32)>,
    /// Whether anything has.
    has_gap: bool,
    /// The blocks of the next acknowledgement.
    reported: SackBlocks,
}

impl Receiver {
    /// A receiver that waits for segment `first`: 0, or 1 where no segment opens the connection.
    /// `selective`: it reports what arrives beyond a gap.
    #[inline(always)] // see `Profile::ends`
    #[must_use]
    pub fn new(policy: AcknowledgementPolicy, selective: bool, first: u32) -> Self {
        let (wait, quick, renewed, accurate) = match policy {
            AcknowledgementPolicy::Delayed { wait, quick, renewed, accurate } => {
                (wait.max(1), quick, renewed, accurate)
            }
            AcknowledgementPolicy::EverySegment => (0, 0, false, false),
        };
        Self {
            next_expected: first,
            congestion_echo: false,
            marked: 0,
            last_was_marked: false,
            pending: false,
            quick,
            last: NEVER,
            timeout: units(INITIAL_TIMEOUT),
            capable_seen: false,
            renewed,
            wait,
            accurate,
            selective,
            deadline: u64::MAX,
            echo: 0,
            forward_delay: 0,
            beyond_gap: VecDeque::new(),
            has_gap: false,
            reported: SackBlocks::default(),
        }
    }

    /// Takes a segment at time `now` (nanoseconds); the acknowledgement to send, if any.
    #[inline(always)] // every packet of data
    pub fn on_segment(&mut self, now: u64, segment: &Segment) -> Option<Acknowledgement<'_>> {
        self.forward_delay = now.saturating_sub(segment.sent);
        if segment.window_reduced {
            self.congestion_echo = false;
        }
        // The SYN's mark does not count: nothing that its sender did led to it, and Linux hands none of it to
        // the congestion control.
        let marked = segment.congestion_experienced && segment.sequence > 0;
        if self.renewed {
            self.renew(now, segment, marked && !self.accurate);
        }
        if marked {
            self.congestion_echo = true;
            self.marked = self.marked.wrapping_add(1);
        }
        let in_order = segment.sequence == self.next_expected && !self.has_gap;
        if in_order && self.wait == 0 {
            self.next_expected += 1;
            self.echo = segment.sent;
        } else if in_order && self.quick == 0 && !self.accurate && segment.sequence > 0 {
            self.next_expected += 1;
            self.pending = !self.pending;
            if self.pending {
                self.echo = segment.sent;
                self.deadline = now + self.wait;
                return None;
            }
            self.deadline = u64::MAX;
        } else if !self.takes_slowly(now, segment.sequence, segment.sent, marked, in_order) {
            return None;
        }
        Some(self.acknowledgement())
    }

    /// Linux acknowledges at once again
    /// 1. up to 16 segments after a pause that was longer than the receiver's own
    ///    retransmission timeout (`tcp_event_data_recv`: the sender's window has shrunk), and after one
    ///    that it had already (`tcp_data_queue`);
    /// 2. two after the first mark that it echoes, and after one that is not ECN-capable where others
    ///    have been, which has probably been sent again (`__tcp_ecn_check_ce`);
    /// 3. the segment whose sender says that it has reduced its window (`tcp_ecn_accept_cwr`).
    ///
    /// A receiver that sends nothing has one sample of its round trip: the handshake.
    #[inline]
    fn renew(&mut self, now: u64, segment: &Segment, marked: bool) {
        let now = (now >> SHIFT) as u32;
        if segment.sequence == self.next_expected {
            let pause = now.wrapping_sub(self.last);
            if segment.sequence == 1 && self.last != NEVER {
                let variation = u32::from(units(LEAST_VARIATION)).max(pause.saturating_mul(2));
                self.timeout = u16::try_from(pause.saturating_add(variation)).unwrap_or(u16::MAX);
            } else if segment.sequence > 1 && pause > self.timeout.into() {
                self.quick = self.quick.max(MOST_QUICK);
            }
            self.last = now;
        } else if segment.sequence < self.next_expected {
            self.quick = self.quick.max(MOST_QUICK);
        }
        if segment.ecn_capable {
            self.capable_seen |= segment.sequence > 0;
            if marked && !self.congestion_echo {
                self.quick = self.quick.max(2);
            }
        } else if self.capable_seen {
            self.quick = self.quick.max(2);
        }
        if segment.window_reduced {
            self.quick = self.quick.max(1);
        }
    }

    /// As [`Receiver::on_segment`], for what is rare. Whether to acknowledge.
    fn takes_slowly(
        &mut self,
        now: u64,
        sequence: u32,
        sent: u64,
        marked: bool,
        in_order: bool,
    ) -> bool {
        let at_once = self.is_answered_at_once(now, sequence, sent, marked, in_order);
        // Last, so that as a rule nothing has to be kept meanwhile.
        if in_order {
            self.next_expected += 1;
        } else if !self.extends_last_block(sequence) {
            self.file(sequence);
        }
        at_once
    }

    /// Whether segment `sequence` is acknowledged at once.
    #[inline]
    fn is_answered_at_once(
        &mut self,
        now: u64,
        sequence: u32,
        sent: u64,
        marked: bool,
        in_order: bool,
    ) -> bool {
        if self.wait == 0 {
            self.echo = sent;
            return true;
        }
        let waiting = self.pending;
        let changed = self.accurate && marked != self.last_was_marked;
        self.last_was_marked = marked;
        if !waiting {
            self.echo = sent;
        }
        let quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        let at_once = !in_order || waiting || changed || quick || sequence == 0;
        self.pending = !at_once;
        self.deadline = if at_once { u64::MAX } else { now + self.wait };
        at_once
    }

    /// Files a segment that is out of order, or fills a gap, and what is to be reported of it.
    #[inline(never)] // much code, for few of those segments
    fn file(&mut self, sequence: u32) {
        let block = self.place(sequence);
        self.report(block);
    }

    /// When [`Receiver::on_timer`] wants to be called; `u64::MAX` for never.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    /// The wait for a second segment is over: the acknowledgement to send.
    pub fn on_timer(&mut self) -> Option<Acknowledgement<'_>> {
        self.deadline = u64::MAX;
        std::mem::take(&mut self.pending).then(|| self.acknowledgement())
    }

    /// The first segment that has not arrived.
    #[inline]
    #[must_use]
    pub fn next_expected(&self) -> u32 {
        self.next_expected
    }

    /// The acknowledgement as it would be sent now; where it has just been sent, that one.
    #[inline(always)] // as above, so that it is not written to memory
    #[must_use]
    pub fn acknowledgement(&self) -> Acknowledgement<'_> {
        Acknowledgement {
            next_expected: self.next_expected,
            echo: self.echo,
            forward_delay: self.forward_delay,
            congestion_echo: self.congestion_echo,
            marked: self.marked,
            blocks: if self.has_gap { self.reported.as_slice() } else { &[] },
        }
    }

    /// RFC 2018: first the `block` of the segment that has just arrived, then those reported before, as they
    /// are by now: no other block has changed.
    fn report(&mut self, block: Option<(u32, u32)>) {
        self.has_gap = !self.beyond_gap.is_empty();
        if !self.selective {
            return;
        }
        if self.has_gap {
            self.reported.lead_with(block, self.next_expected);
        } else {
            self.reported = SackBlocks::default();
        }
    }

    /// The commonest arrival while something is missing, the next one after the last: true if that is
    /// what segment `sequence` is, and it is in the block reported first, if any is. It grows there too, and no
    /// other block has changed.
    #[inline]
    fn extends_last_block(&mut self, sequence: u32) -> bool {
        let Some(last) = self.beyond_gap.back_mut().filter(|last| last.1 == sequence) else {
            return false;
        };
        if self.selective {
            match self.reported.first_mut() {
                Some(first) if *first == *last => first.1 += 1,
                _ => return false,
            }
        }
        last.1 += 1;
        true
    }

    /// Files a segment that is out of order, or fills a gap. The block beyond the gap that it is in now.
    fn place(&mut self, sequence: u32) -> Option<(u32, u32)> {
        if sequence < self.next_expected {
            return None;
        }
        if sequence == self.next_expected {
            self.next_expected += 1;
            if let Some(&(first, after)) = self.beyond_gap.front()
                && first == self.next_expected
            {
                self.next_expected = after;
                self.beyond_gap.pop_front();
            }
            return None;
        }
        let alone = (sequence, sequence + 1);
        match self.beyond_gap.back_mut() {
            Some(last) if last.1 == sequence => {
                last.1 += 1;
                return Some(*last);
            }
            Some(last) if last.1 > sequence => {}
            _ => {
                self.beyond_gap.push_back(alone);
                return Some(alone);
            }
        }
        // The first block that ends at or behind the segment.
        let index = self.beyond_gap.partition_point(|block| block.1 < sequence);
        let Some(block) = self.beyond_gap.get_mut(index) else {
            self.beyond_gap.push_back(alone);
            return Some(alone);
        };
        if block.0 <= sequence && sequence < block.1 {
            return Some(*block);
        }
        if block.1 == sequence {
            block.1 += 1;
            let mut grown = *block;
            if let Some(&next) = self.beyond_gap.get(index + 1)
                && next.0 == grown.1
            {
                grown.1 = next.1;
                self.beyond_gap[index] = grown;
                self.beyond_gap.remove(index + 1);
            }
            return Some(grown);
        }
        if block.0 == sequence + 1 {
            block.0 = sequence;
            return Some(*block);
        }
        self.beyond_gap.insert(index, alone);
        Some(alone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAYED: AcknowledgementPolicy =
        AcknowledgementPolicy::Delayed { wait: 100, quick: 0, renewed: false, accurate: false };

    fn answer(receiver: &mut Receiver, sequence: u32) -> Option<Acknowledgement<'_>> {
        receiver.on_segment(0, &Segment { sequence, sent: sequence.into(), ..Segment::default() })
    }

    fn take(receiver: &mut Receiver, sequence: u32) -> Option<u32> {
        answer(receiver, sequence).map(|answer| answer.next_expected)
    }

    #[test]
    fn a_gap_repeats_the_acknowledgement_until_it_is_filled() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment, true, 0);
        let answers: Vec<_> =
            [0, 1, 3, 4, 6, 2, 5].map(|sequence| take(&mut receiver, sequence).unwrap()).into();
        assert_eq!(answers, [1, 2, 2, 2, 2, 5, 7]);
    }

    #[test]
    fn duplicates_change_nothing() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment, true, 0);
        for sequence in [0, 2, 2, 0, 2] {
            assert_eq!(take(&mut receiver, sequence), Some(1));
        }
        assert_eq!(take(&mut receiver, 1), Some(3));
    }

    #[test]
    fn nothing_is_forgotten_in_whatever_order_segments_arrive() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment, true, 0);
        for sequence in (1..5000).rev() {
            assert_eq!(take(&mut receiver, sequence), Some(0));
        }
        assert_eq!(take(&mut receiver, 0), Some(5000));
        for sequence in (5001..5100).chain(5101..9000) {
            take(&mut receiver, sequence);
        }
        assert_eq!(take(&mut receiver, 5000), Some(5100));
        assert_eq!(take(&mut receiver, 5100), Some(9000));
        for sequence in (9002..9100).step_by(2).chain((9001..9100).step_by(2)) {
            take(&mut receiver, sequence);
        }
        assert_eq!(take(&mut receiver, 9000), Some(9100));
    }

    #[test]
    fn blocks_are_those_of_rfc_2018_section_4() {
        // The RFC's case 2 in segments: every other one of 8 is lost (0 is the opening one).
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment, true, 0);
        take(&mut receiver, 0);
        let mut blocks = |sequence| answer(&mut receiver, sequence).unwrap().blocks.to_vec();
        assert_eq!(blocks(2), [(2, 3)]);
        assert_eq!(blocks(4), [(4, 5), (2, 3)]);
        assert_eq!(blocks(6), [(6, 7), (4, 5), (2, 3)]);
        assert_eq!(blocks(8), [(8, 9), (6, 7), (4, 5)]);
        // Its continuation: the fourth arrives, then the second.
        assert_eq!(blocks(3), [(2, 5), (8, 9), (6, 7)]);
        assert_eq!(blocks(1), [(8, 9), (6, 7)]);
    }

    #[test]
    fn delayed_acknowledgements_come_for_every_second_segment_or_at_the_deadline() {
        let mut receiver = Receiver::new(DELAYED, true, 0);
        assert_eq!(take(&mut receiver, 0), Some(1)); // the opening segment is never delayed
        assert_eq!(take(&mut receiver, 1), None);
        let second = answer(&mut receiver, 2).unwrap();
        assert_eq!((second.next_expected, second.echo), (3, 1)); // the time of the first of the two
        assert_eq!(take(&mut receiver, 3), None);
        assert_eq!(receiver.deadline(), 100);
        assert_eq!(receiver.on_timer().map(|answer| answer.next_expected), Some(4));
        assert_eq!(take(&mut receiver, 5), Some(4)); // a gap: at once
        assert_eq!(take(&mut receiver, 4), Some(6)); // the gap filled: at once
    }

    #[test]
    fn the_first_segments_are_acknowledged_quickly_if_told_so() {
        let policy =
            AcknowledgementPolicy::Delayed { wait: 100, quick: 3, renewed: false, accurate: false };
        let mut receiver = Receiver::new(policy, true, 0);
        let answers = [0, 1, 2, 3, 4].map(|sequence| take(&mut receiver, sequence));
        assert_eq!(answers, [Some(1), Some(2), Some(3), None, Some(5)]);
    }

    /// Whether segments of data are acknowledged at once by a receiver as Linux', whose handshake took
    /// 50 ms, and whose three quick acknowledgements are used up. Each has its time in milliseconds.
    fn at_once<const N: usize>(segments: [(u64, Segment); N]) -> [bool; N] {
        const MS: u64 = 1_000_000;
        let policy = AcknowledgementPolicy::Delayed {
            wait: 40 * MS,
            quick: 3,
            renewed: true,
            accurate: false,
        };
        let mut receiver = Receiver::new(policy, true, 0);
        for (sequence, at) in [(0, 0), (1, 50), (2, 51)] {
            let segment = Segment { sequence, ecn_capable: sequence > 0, ..Segment::default() };
            assert!(receiver.on_segment(at * MS, &segment).is_some());
        }
        segments.map(|(at, segment)| receiver.on_segment(at * MS, &segment).is_some())
    }

    /// A segment of data that may be marked.
    fn data(sequence: u32) -> Segment {
        Segment { sequence, ecn_capable: true, ..Segment::default() }
    }

    /// How many of 18 segments from `sequence` on are acknowledged at once, one after the other, if they
    /// arrive at once after `before`.
    fn at_once_after<const N: usize>(before: [(u64, Segment); N], sequence: u32, at: u64) -> usize {
        let mut segments = [(at, Segment::default()); 20];
        segments[..N].copy_from_slice(&before);
        for (number, segment) in segments[N..].iter_mut().enumerate() {
            segment.1 = data(sequence + number as u32);
        }
        at_once(segments)[N..].iter().take_while(|at_once| **at_once).count()
    }

    #[test]
    fn a_pause_longer_than_the_timeout_of_the_receiver_renews_quick_acknowledgements() {
        // Its timeout is 50 + 200 ms.
        let before = [(60, data(3)), (60, data(4))];
        assert_eq!(at_once_after(before, 5, 60 + 240), 0);
        assert_eq!(at_once_after(before, 5, 60 + 260), 16);
    }

    #[test]
    fn what_it_has_already_renews_quick_acknowledgements() {
        // It is acknowledged at once itself.
        assert_eq!(at_once_after([(60, data(3)), (61, data(1))], 4, 61), 15);
    }

    #[test]
    fn a_first_mark_and_a_segment_sent_again_give_two_of_them() {
        let marked = |sequence| Segment { congestion_experienced: true, ..data(sequence) };
        let first = at_once([(60, marked(3)), (60, data(4)), (60, marked(5)), (60, data(6))]);
        assert_eq!(first, [true, true, false, true]);
        let incapable = Segment { ecn_capable: false, ..data(3) };
        let again = at_once([(60, incapable), (60, data(4)), (60, data(5)), (60, data(6))]);
        assert_eq!(again, [true, true, false, true]);
    }

    #[test]
    fn a_sender_that_has_reduced_its_window_is_answered_at_once() {
        let reduced = Segment { window_reduced: true, ..data(3) };
        let answers = at_once([(60, reduced), (60, data(4)), (60, data(5))]);
        assert_eq!(answers, [true, false, true]);
    }

    #[test]
    fn a_change_of_marking_is_told_at_once() {
        let policy =
            AcknowledgementPolicy::Delayed { wait: 100, quick: 0, renewed: false, accurate: true };
        let mut receiver = Receiver::new(policy, true, 0);
        let mut counts = |sequence, congestion_experienced| {
            let segment = Segment { sequence, congestion_experienced, ..Segment::default() };
            receiver.on_segment(0, &segment).map(|answer| answer.marked)
        };
        assert_eq!(counts(0, false), Some(0));
        assert_eq!(counts(1, false), None);
        assert_eq!(counts(2, true), Some(1)); // the second anyway
        assert_eq!(counts(3, true), None);
        assert_eq!(counts(4, true), Some(3));
        assert_eq!(counts(5, false), Some(3)); // a change
    }

    #[test]
    fn a_mark_on_the_opening_segment_counts_for_nothing() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment, true, 0);
        for (sequence, marked) in [(0, 0), (1, 1)] {
            let segment = Segment { sequence, congestion_experienced: true, ..Segment::default() };
            let answer = receiver.on_segment(0, &segment).unwrap();
            assert_eq!((answer.marked, answer.congestion_echo), (marked, marked > 0));
        }
    }

    #[test]
    fn the_echo_lasts_until_the_sender_has_reduced_its_window() {
        let mut receiver = Receiver::new(AcknowledgementPolicy::EverySegment, true, 0);
        let mut echo = |sequence, congestion_experienced, window_reduced| {
            let segment = Segment {
                sequence,
                ecn_capable: true,
                congestion_experienced,
                window_reduced,
                ..Segment::default()
            };
            receiver.on_segment(0, &segment).unwrap().congestion_echo
        };
        assert!(!echo(0, false, false));
        assert!(echo(1, true, false));
        assert!(echo(2, false, false));
        assert!(!echo(3, false, true));
        assert!(echo(4, true, true)); // a new mark on the very segment that says so
    }
}
