//! The receiver: cumulative and selective acknowledgements, reordering, delayed acknowledgements,
//! echoes of marks and timestamps.
//!
//! Source: RFC 5681, section 4.2 (every second segment, at once when there is or was a gap);
//! RFC 2018, section 4 (the block with the segment that has just arrived comes first, then the
//! blocks most recently reported); RFC 3168, section 6.1.3 (the classic echo lasts until the sender
//! says it has reduced its window); RFC 9768 (accurate feedback: the count of marks); RFC 8257,
//! section 3.2 (a change of marking is told at once); RFC 7323, section 4.3 (which timestamp is
//! echoed: that of the earliest segment not yet acknowledged); RFC 6817, section 2.3 (how long the last
//! segment was on its way). What Linux does besides: [`linux`].

mod linux;
mod options;

use std::collections::VecDeque;

use linux::LinuxReceiver;
pub use options::ReceiverSettings;

use crate::{Acknowledgement, HostClock, SackBlocks, Segment};

/// One flow's receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    next_expected: u32,
    congestion_echo: bool,
    /// Marked segments that have arrived.
    marked: u32,
    /// True if the last segment was marked.
    last_was_marked: bool,
    /// True if an in-order segment waits to be acknowledged.
    pending: bool,
    /// Segments that will still be acknowledged at once although nothing is missing.
    quick: u32,
    /// Its habits of Linux, if it has any.
    linux: Option<LinuxReceiver>,
    /// Longest wait of a delayed acknowledgement, in nanoseconds; 0 if every segment is acknowledged.
    wait: u32,
    /// True if a segment marked differently from the one before is acknowledged at once.
    accurate: bool,
    /// True if arrivals beyond a gap are reported.
    selective: bool,
    /// When a waiting acknowledgement must go, in nanoseconds.
    deadline: u64,
    /// Timestamp to be echoed.
    echo: u64,
    /// One-way delay of the last segment, in nanoseconds.
    forward_delay: u64,
    /// Segments that have arrived beyond `next_expected`: stretches from first to one after last, ascending.
    beyond_gap: VecDeque<(u32, u32)>,
    /// True if anything has.
    has_gap: bool,
    /// True if nothing has, every segment is acknowledged, and no habits are kept.
    is_plain: bool,
    /// The blocks of the next acknowledgement.
    reported: SackBlocks,
}

impl Receiver {
    /// A receiver that waits for segment `first`: 0, or 1 where no segment opens the connection. `timer_tick`: that of
    /// its host, in nanoseconds. `accurate`: it tells how many marks there were. `selective`: it reports what arrives
    /// beyond a gap.
    #[must_use]
    pub fn new(
        set: &ReceiverSettings,
        timer_tick: u64,
        accurate: bool,
        selective: bool,
        first: u32,
    ) -> Self {
        let delays = set.delayed_acknowledgements;
        let wait = if delays { set.acknowledgement_delay.nanoseconds() as u32 } else { 0 };
        let linux = LinuxReceiver::new(set, timer_tick).filter(|_| delays);
        let is_plain = wait == 0 && linux.is_none();
        Self {
            next_expected: first,
            congestion_echo: false,
            marked: 0,
            last_was_marked: false,
            pending: false,
            quick: if delays { set.quick_acknowledgements.0 } else { 0 },
            linux,
            wait,
            accurate: accurate && delays,
            selective,
            deadline: u64::MAX,
            echo: 0,
            forward_delay: 0,
            beyond_gap: VecDeque::new(),
            has_gap: false,
            is_plain,
            reported: SackBlocks::default(),
        }
    }

    /// Takes a segment at time `now` (nanoseconds), by the host's `clock`; the acknowledgement to send, if
    /// any.
    #[inline(always)] // every packet of data
    pub fn on_segment(
        &mut self,
        now: u64,
        segment: &Segment,
        clock: &HostClock,
    ) -> Option<Acknowledgement<'_>> {
        self.forward_delay = now.saturating_sub(segment.sent);
        if segment.window_reduced {
            self.congestion_echo = false;
        }
        // The SYN's mark does not count: nothing that its sender did led to it, and Linux hands none of it to
        // the congestion control.
        let marked = segment.congestion_experienced && segment.sequence > 0;
        let mut ticks = 0;
        if let Some(linux) = &mut self.linux {
            ticks = clock.ticks(now);
            let first_mark = marked && !self.accurate && !self.congestion_echo;
            let quick = linux.take(ticks, segment, self.next_expected, first_mark, self.echo);
            self.quick = self.quick.max(quick);
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
                self.deadline = self.held_until(now, ticks, clock);
                return None;
            }
            self.deadline = u64::MAX;
        } else if !self.takes_slowly(now, segment.sequence, segment.sent, marked, in_order, clock) {
            return None;
        }
        Some(self.acknowledgement())
    }

    /// Takes segment `sequence` if it is the next one, and nothing is to be told of it but that: return false if not.
    #[inline(always)] // as above
    pub(crate) fn takes_plainly(&mut self, sequence: u32) -> bool {
        if sequence != self.next_expected || !self.is_plain {
            return false;
        }
        self.next_expected += 1;
        true
    }

    /// As [`Receiver::on_segment`], for what is rare. Whether to acknowledge.
    fn takes_slowly(
        &mut self,
        now: u64,
        sequence: u32,
        sent: u64,
        marked: bool,
        in_order: bool,
        clock: &HostClock,
    ) -> bool {
        let at_once = self.is_answered_at_once(now, sequence, sent, marked, in_order, clock);
        // Last, so that as a rule nothing has to be kept meanwhile.
        if in_order {
            self.next_expected += 1;
        } else if !self.extends_last_block(sequence) {
            self.file(sequence);
        }
        at_once
    }

    /// Return true if a segment is acknowledged at once.
    #[inline]
    fn is_answered_at_once(
        &mut self,
        now: u64,
        sequence: u32,
        sent: u64,
        marked: bool,
        in_order: bool,
        clock: &HostClock,
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
        if let Some(linux) = &mut self.linux
            && quick
            && self.quick == 0
        {
            linux.end_quick();
        }
        if sequence > self.next_expected
            && self.selective
            && !quick
            && !changed
            && let Some(linux) = &mut self.linux
            && let Some(wait) = linux.hold_report(self.reported.as_slice(), sequence)
        {
            // From when the first of those that wait began to; nothing else is held back now.
            self.deadline = self.deadline.min(now + wait);
            return false;
        }
        let at_once = !in_order || waiting || changed || quick || sequence == 0;
        self.pending = !at_once;
        if at_once && let Some(linux) = &mut self.linux {
            linux.release_reports();
        }
        self.deadline =
            if at_once { u64::MAX } else { self.held_until(now, clock.ticks(now), clock) };
        at_once
    }

    /// Until when an acknowledgement is held back from `now` on, where the host's clock has counted `ticks`.
    #[inline]
    fn held_until(&self, now: u64, ticks: u64, clock: &HostClock) -> u64 {
        let linux = self.linux.as_ref().and_then(|linux| linux.expiry(ticks, clock));
        linux.unwrap_or(now + u64::from(self.wait))
    }

    /// Files a segment that is out of order, or fills a gap, and what is to be reported of it.
    #[inline(never)] // much code, for few of those segments
    fn file(&mut self, sequence: u32) {
        let before = self.next_expected;
        let block = self.place(sequence);
        self.report(block);
        let progress = self.next_expected - before;
        if progress > 0
            && let Some(linux) = &mut self.linux
        {
            linux.make_progress(progress, self.has_gap);
        }
    }

    /// When [`Receiver::on_timer`] wants to be called; `u64::MAX` for never.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    /// The wait for a second segment, or of reports for others, is over: the acknowledgement to send.
    pub fn on_timer(&mut self) -> Option<Acknowledgement<'_>> {
        self.deadline = u64::MAX;
        let mut due = std::mem::take(&mut self.pending);
        if let Some(linux) = &mut self.linux {
            if due {
                linux.miss();
            }
            due |= linux.release_reports();
        }
        due.then(|| self.acknowledgement())
    }

    /// The first segment that has not arrived.
    #[inline]
    #[must_use]
    pub fn next_expected(&self) -> u32 {
        self.next_expected
    }

    /// The first segment that will not have arrived once these have, in any order.
    #[must_use]
    pub fn next_expected_after(&self, segments: impl ExactSizeIterator<Item = u32>) -> u32 {
        if segments.len() == 0 {
            return self.next_expected;
        }
        let mut stretches: Vec<_> = self.beyond_gap.iter().copied().collect();
        stretches.extend(segments.map(|sequence| (sequence, sequence + 1)));
        stretches.sort_unstable();
        let join = |next: u32, (first, after)| if first <= next { next.max(after) } else { next };
        stretches.into_iter().fold(self.next_expected, join)
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
        self.is_plain = !self.has_gap && self.wait == 0 && self.linux.is_none();
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
    use vermilion_parameters::{Packets, Seconds};

    use super::*;

    /// A selective receiver that delays acknowledgements by a microsecond, but for so many at the beginning.
    fn delaying(quick: u32, accurate: bool) -> Receiver {
        let set = ReceiverSettings {
            delayed_acknowledgements: true,
            acknowledgement_delay: Seconds(1e-6),
            quick_acknowledgements: Packets(quick),
            ..ReceiverSettings::default()
        };
        Receiver::new(&set, 0, accurate, true, 0)
    }

    /// One that acknowledges every segment.
    fn prompt() -> Receiver {
        Receiver::new(&ReceiverSettings::default(), 0, false, true, 0)
    }

    /// Answer of a receiver to a segment at time 0.
    fn hand<'a>(receiver: &'a mut Receiver, segment: &Segment) -> Option<Acknowledgement<'a>> {
        receiver.on_segment(0, segment, &HostClock::new(0, 0))
    }

    fn answer(receiver: &mut Receiver, sequence: u32) -> Option<Acknowledgement<'_>> {
        hand(receiver, &Segment { sequence, sent: sequence.into(), ..Segment::default() })
    }

    fn take(receiver: &mut Receiver, sequence: u32) -> Option<u32> {
        answer(receiver, sequence).map(|answer| answer.next_expected)
    }

    #[test]
    fn a_gap_repeats_the_acknowledgement_until_it_is_filled() {
        let mut receiver = prompt();
        let answers: Vec<_> =
            [0, 1, 3, 4, 6, 2, 5].map(|sequence| take(&mut receiver, sequence).unwrap()).into();
        assert_eq!(answers, [1, 2, 2, 2, 2, 5, 7]);
    }

    #[test]
    fn duplicates_change_nothing() {
        let mut receiver = prompt();
        for sequence in [0, 2, 2, 0, 2] {
            assert_eq!(take(&mut receiver, sequence), Some(1));
        }
        assert_eq!(take(&mut receiver, 1), Some(3));
    }

    #[test]
    fn nothing_is_forgotten_in_whatever_order_segments_arrive() {
        let mut receiver = prompt();
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
        let mut receiver = prompt();
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
        let mut receiver = delaying(0, false);
        assert_eq!(take(&mut receiver, 0), Some(1)); // the opening segment is never delayed
        assert_eq!(take(&mut receiver, 1), None);
        let second = answer(&mut receiver, 2).unwrap();
        assert_eq!((second.next_expected, second.echo), (3, 1)); // the time of the first of the two
        assert_eq!(take(&mut receiver, 3), None);
        assert_eq!(receiver.deadline(), 1000);
        assert_eq!(receiver.on_timer().map(|answer| answer.next_expected), Some(4));
        assert_eq!(take(&mut receiver, 5), Some(4)); // a gap: at once
        assert_eq!(take(&mut receiver, 4), Some(6)); // the gap filled: at once
    }

    #[test]
    fn what_will_be_expected_is_what_is_once_all_of_it_has_arrived() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut receiver = prompt();
        let mut gaps = 0;
        for _ in 0..2000 {
            let next = receiver.next_expected();
            let arriving: Vec<u32> =
                (0..draw(6)).map(|_| (next + draw(8) as u32).saturating_sub(2)).collect();
            let expected = receiver.next_expected_after(arriving.iter().copied());
            for sequence in arriving {
                take(&mut receiver, sequence);
            }
            assert_eq!(receiver.next_expected(), expected);
            gaps += u32::from(receiver.has_gap);
        }
        assert!(gaps > 500, "{gaps}");
    }

    #[test]
    fn the_first_segments_are_acknowledged_quickly_if_told_so() {
        let mut receiver = delaying(3, false);
        let answers = [0, 1, 2, 3, 4].map(|sequence| take(&mut receiver, sequence));
        assert_eq!(answers, [Some(1), Some(2), Some(3), None, Some(5)]);
    }

    #[test]
    fn a_change_of_marking_is_told_at_once() {
        let mut receiver = delaying(0, true);
        let mut counts = |sequence, congestion_experienced| {
            let segment = Segment { sequence, congestion_experienced, ..Segment::default() };
            hand(&mut receiver, &segment).map(|answer| answer.marked)
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
        let mut receiver = prompt();
        for (sequence, marked) in [(0, 0), (1, 1)] {
            let segment = Segment { sequence, congestion_experienced: true, ..Segment::default() };
            let answer = hand(&mut receiver, &segment).unwrap();
            assert_eq!((answer.marked, answer.congestion_echo), (marked, marked > 0));
        }
    }

    #[test]
    fn the_echo_lasts_until_the_sender_has_reduced_its_window() {
        let mut receiver = prompt();
        let mut echo = |sequence, congestion_experienced, window_reduced| {
            let segment = Segment {
                sequence,
                ecn_capable: true,
                congestion_experienced,
                window_reduced,
                ..Segment::default()
            };
            hand(&mut receiver, &segment).unwrap().congestion_echo
        };
        assert!(!echo(0, false, false));
        assert!(echo(1, true, false));
        assert!(echo(2, false, false));
        assert!(!echo(3, false, true));
        assert!(echo(4, true, true)); // a new mark on the very segment that says so
    }
}
