use super::options::ReceiverSettings;
use crate::{HostClock, Segment};

/// No segment has arrived yet.
const NEVER: u32 = u32::MAX;
/// The retransmission timeout before there is a sample (`TCP_TIMEOUT_INIT`), in nanoseconds.
const INITIAL_TIMEOUT: u64 = 1_000_000_000;
/// Addition to the smoothed round trip at least (`TCP_RTO_MIN`), and for how long an
/// acknowledgement is held back at most (`TCP_DELACK_MAX`), in nanoseconds.
const LEAST_VARIATION: u64 = 200_000_000;
/// Segments that are acknowledged at once after a pause (`TCP_MAX_QUICKACKS`).
const MOST_QUICK: u32 = 16;
/// Arrivals beyond a gap that are reported at once (`TCP_FASTRETRANS_THRESH`).
const REPORTED_AT_ONCE: u8 = 3;
/// Reports that wait at most (`tcp_comp_sack_nr`).
const MOST_WAITING: u8 = 44;
/// Blocks to which what waits belongs at most (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_THAT_WAIT: usize = 2;
/// For how long they wait at most, in microseconds (`tcp_comp_sack_delay_ns`), and the part of a round trip.
const LONGEST_WAIT: u64 = 1000;
const PART_OF_ROUND_TRIP: u64 = 20;
/// By how much the timer may be late, in microseconds (`tcp_comp_sack_slack_ns`).
const SLACK: u64 = 100;

/// A receiver's state in Linux that follows from the pauses between segments: how long it holds an
/// acknowledgement back, and what it acknowledges at once all the same.
///
/// While something is missing, the first three arrivals beyond it are reported at once, enough for the sender to
/// notice. Those after them are reported together: after a twentieth of the round trip, a millisecond at most, when 44
/// have waited, or when they lie in more than two blocks, so that none is forgotten (SACK compression, since Linux 4.18).
/// Whatever fills a gap is acknowledged at once.
///
/// Source: Linux 6.12, `net/ipv4/tcp_input.c` (`tcp_event_data_recv`, `tcp_data_queue`, `__tcp_ack_snd_check`,
/// `tcp_sack_new_ofo_skb`, `__tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`), `tcp_output.c` (`tcp_send_delayed_ack`),
/// `tcp_timer.c` (`tcp_delack_timer_handler`, `tcp_compressed_ack_kick`), `include/net/tcp.h`
/// (`tcp_dec_quickack_mode`). Times are counted in ticks of the host, as there, but for those of reports.
///
/// Departures: each segment by which the receive window grows is acknowledged at once there (`tcp_grow_window`),
/// and so is the end of a write of the sender's application (PSH) when it has been read. The handshake's round trip
/// is rounded up to ticks here. Of reports, the round trip is that of the handshake, as its sender has it; the
/// kernel takes its own, or a mean of what segments of data took since if that is shorter. A third block goes with
/// what waited; there it is the first one that waits again. What it allows its timer to be late (0.1 ms) is used up
/// here; there it depends on what else the host's timers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxReceiver {
    /// The tick in which the last segment in order arrived; [`NEVER`] before.
    last: u32,
    /// The receiver's own retransmission timeout, in ticks.
    retransmission_timeout: u16,
    /// For how many ticks an acknowledgement is held back at least.
    least: u16,
    /// And at most.
    longest: u16,
    /// For how many now (`ato`), but for the bound from above.
    timeout: u16,
    /// For how many microseconds reports wait for others; 0 if they never do.
    reports_wait: u16,
    /// Arrivals beyond the gap that have been reported at once since it last became smaller.
    reported: u8,
    /// Reports that wait.
    waiting: u8,
    /// True if segments are acknowledged at once again after a pause, a duplicate or a mark.
    renewed: bool,
    /// True if the wait for a second segment follows the pauses between segments.
    adaptive: bool,
    /// True if a segment of data was ECN-capable.
    capable_seen: bool,
    /// True if a segment of data has come: with the first one the handshake's round trip is known.
    timed: bool,
}

impl LinuxReceiver {
    /// A receiver that nothing has reached, if it has any of these habits. `timer_tick`: that of its host, in nanoseconds.
    pub(super) fn new(set: &ReceiverSettings, timer_tick: u64) -> Option<Self> {
        let adaptive = set.adaptive_acknowledgement_delay && timer_tick > 0;
        let (renewed, compressed) =
            (set.quick_acknowledgements_renewed, set.compressed_acknowledgements);
        if !(renewed || adaptive || compressed) {
            return None;
        }
        let clock = HostClock::new(timer_tick, 0);
        let ticks = |time| u16::try_from(clock.begun(time)).unwrap_or(u16::MAX);
        let least = ticks(set.acknowledgement_delay.nanoseconds());
        Some(Self {
            last: NEVER,
            retransmission_timeout: ticks(INITIAL_TIMEOUT),
            least,
            longest: ticks(LEAST_VARIATION).max(least),
            timeout: least,
            reports_wait: if compressed { reports_wait(u64::MAX) } else { 0 },
            reported: 0,
            waiting: 0,
            renewed,
            // Of ticks below 16 µs, which no host has, there are more than these numbers can count.
            adaptive: adaptive && clock.begun(INITIAL_TIMEOUT) < u16::MAX.into(),
            capable_seen: false,
            timed: false,
        })
    }

    /// A segment arrives in tick `now` where `expected` is the next in order. How many segments, this one
    /// included, are to be acknowledged at once at least:
    /// 1. 16 after a pause that was longer than the receiver's own retransmission timeout (the sender's window
    ///    has shrunk), and after a segment that it had already;
    /// 2. two after the first mark that it echoes (`first_mark`), and after a segment that is not ECN-capable
    ///    where others have been, which has probably been sent again;
    /// 3. the one whose sender says that it has reduced its window.
    ///
    /// `last_sent`: when the last segment that it has acknowledged was sent, in nanoseconds.
    #[inline(always)] // every packet of data of most senders today
    pub(super) fn take(
        &mut self,
        now: u64,
        segment: &Segment,
        expected: u32,
        first_mark: bool,
        last_sent: u64,
    ) -> u32 {
        let now = now as u32;
        let Segment { sequence, ecn_capable, window_reduced, .. } = *segment;
        let mut quick = 0;
        if sequence == expected && sequence > 1 {
            let pause = now.wrapping_sub(self.last);
            self.last = now;
            quick = self.take_pause(pause);
        } else if sequence <= expected || !self.timed {
            let round_trip = segment.sent.saturating_sub(last_sent);
            quick = self.take_rare(now, sequence, expected, round_trip);
        }
        if ecn_capable != self.capable_seen || first_mark || window_reduced {
            let bits = self.take_bits(sequence, ecn_capable, first_mark, window_reduced);
            quick = quick.max(bits);
        }
        if self.renewed { quick } else { 0 }
    }

    /// A pause of so many ticks came before a segment. The wait becomes half of what it was and the pause, or
    /// half of the least wait for one that is shorter. A pause longer than the wait says nothing of the next one.
    fn take_pause(&mut self, pause: u32) -> u32 {
        if pause < self.timeout.into() {
            let wait = (self.timeout / 2).saturating_add((pause as u16).max(self.least / 2));
            self.timeout = wait.min(self.retransmission_timeout).max(self.least);
        } else if pause > self.retransmission_timeout.into() {
            return MOST_QUICK;
        }
        0
    }

    /// The opening segment and the first of data, and what it had already. `round_trip`: of the handshake, in
    /// nanoseconds, if this is the first segment of data.
    #[inline(never)] // for few segments
    fn take_rare(&mut self, now: u32, sequence: u32, expected: u32, round_trip: u64) -> u32 {
        if sequence < expected {
            return self.begin_quick(MOST_QUICK);
        }
        if sequence > 0 && !self.timed {
            self.timed = true;
            if self.last != NEVER {
                self.time_handshake(now.wrapping_sub(self.last));
                if self.reports_wait > 0 {
                    self.reports_wait = reports_wait(round_trip);
                }
            }
        }
        if sequence == expected {
            self.last = now;
        }
        0
    }

    /// Meaning of the ECN bits of IP and TCP: a first mark, a segment sent again, or a window reduced.
    #[inline(never)] // likewise
    fn take_bits(&mut self, sequence: u32, capable: bool, first_mark: bool, reduced: bool) -> u32 {
        let sent_again = !capable && self.capable_seen;
        self.capable_seen |= capable && sequence > 0;
        if first_mark || sent_again { self.begin_quick(2) } else { reduced.into() }
    }

    /// Segments that follow are acknowledged at once, and after that the wait is short.
    fn begin_quick(&mut self, segments: u32) -> u32 {
        self.timeout = self.least;
        segments
    }

    /// A receiver that sends nothing has one sample of its round trip: the handshake, of so many ticks.
    fn time_handshake(&mut self, ticks: u32) {
        let round_trip = u16::try_from(ticks.saturating_add(1)).unwrap_or(u16::MAX);
        // As long as there is no sample, the bound of the wait is the least variation too.
        let variation = self.longest.max(round_trip.saturating_mul(2));
        self.retransmission_timeout = round_trip.saturating_add(variation);
        self.longest = self.longest.min(round_trip.max(self.least));
    }

    /// Until when an acknowledgement is held back from tick `now` on, in nanoseconds; `None` if that does not
    /// follow the pauses.
    pub(super) fn expiry(&self, now: u64, clock: &HostClock) -> Option<u64> {
        self.adaptive.then(|| clock.expiry(now, self.timeout.min(self.longest).into()))
    }

    /// Segment `sequence` has arrived beyond a gap, where these `blocks` would have been reported without it. For how
    /// long its report waits for others from now on, in nanoseconds; `None`: it goes at once.
    pub(super) fn hold_report(&mut self, blocks: &[(u32, u32)], sequence: u32) -> Option<u64> {
        if self.reports_wait == 0 {
            return None;
        }
        if self.reported < REPORTED_AT_ONCE {
            self.reported += 1;
            return None;
        }
        if self.waiting == MOST_WAITING || (self.waiting > 0 && is_third(blocks, sequence)) {
            return None;
        }
        self.waiting += 1;
        Some(u64::from(self.reports_wait) * 1000)
    }

    /// An acknowledgement goes. Whether reports have waited, which it has.
    pub(super) fn release_reports(&mut self) -> bool {
        std::mem::take(&mut self.waiting) > 0
    }

    /// Note that so many segments fewer are missing, and something still is or nothing (`gap`).
    pub(super) fn make_progress(&mut self, segments: u32, gap: bool) {
        // That single segment's acknowledgement counts: it says nothing new but what is missing now.
        self.reported = u8::from(segments == 1 && gap);
    }

    /// An acknowledgement was held back in vain: the next will be for twice as long.
    pub(super) fn miss(&mut self) {
        self.timeout = self.timeout.saturating_mul(2).min(self.retransmission_timeout);
    }

    /// The last acknowledgement that had to go at once has gone.
    pub(super) fn end_quick(&mut self) {
        self.timeout = self.least;
    }
}

/// Return true if segment `sequence` belongs to none of the first two `blocks`, where there are so many. What waits may be in
/// those two, and there is room for three in an acknowledgement.
fn is_third(blocks: &[(u32, u32)], sequence: u32) -> bool {
    let Some(first) = blocks.get(..BLOCKS_THAT_WAIT) else { return false };
    first.iter().all(|&(from, after)| sequence + 1 < from || after < sequence)
}

/// For how many microseconds reports wait at a round trip in nanoseconds.
fn reports_wait(round_trip: u64) -> u16 {
    ((round_trip / (PART_OF_ROUND_TRIP * 1000)).min(LONGEST_WAIT) + SLACK) as u16
}

#[cfg(test)]
mod tests {
    use vermilion_parameters::{Packets, Seconds};

    use super::*;
    use crate::Receiver;

    const MS: u64 = 1_000_000;

    /// Settings of a receiver that waits for 40 ms, and whose quick acknowledgements are renewed.
    fn renewing() -> ReceiverSettings {
        ReceiverSettings {
            delayed_acknowledgements: true,
            acknowledgement_delay: Seconds(0.04),
            quick_acknowledgements_renewed: true,
            ..ReceiverSettings::default()
        }
    }

    /// A receiver whose handshake took so many milliseconds, and whose three quick acknowledgements are
    /// used up: the opening segment has come at 0, the first of data with the handshake's end, the second one
    /// millisecond later.
    fn open(tick: u64, adaptive: bool, handshake: u64) -> Receiver {
        let set = ReceiverSettings {
            quick_acknowledgements: Packets(3),
            adaptive_acknowledgement_delay: adaptive,
            ..renewing()
        };
        let mut receiver = Receiver::new(&set, tick, false, true, 0);
        let clock = &HostClock::new(tick, 0);
        for (sequence, at) in [(0, 0), (1, handshake), (2, handshake + 1)] {
            let segment = Segment { sequence, ecn_capable: sequence > 0, ..Segment::default() };
            assert!(receiver.on_segment(at * MS, &segment, clock).is_some());
        }
        receiver
    }

    /// How many milliseconds each of these segments waits for another at most. A segment comes at a time in
    /// milliseconds; after it comes nothing until the wait is over (`in_vain`), or another one at once.
    fn held<const N: usize>(tick: u64, handshake: u64, segments: [(u64, bool); N]) -> [u64; N] {
        let clock = HostClock::new(tick, 0);
        let mut receiver = open(tick, true, handshake);
        segments.map(|(at, in_vain)| {
            assert!(
                receiver.on_segment(at * MS, &data(receiver.next_expected()), &clock).is_none()
            );
            let wait = receiver.deadline() / MS - at;
            let answered = if in_vain {
                receiver.on_timer().is_some()
            } else {
                let second = data(receiver.next_expected());
                receiver.on_segment(at * MS, &second, &clock).is_some()
            };
            assert!(answered);
            wait
        })
    }

    #[test]
    fn the_wait_follows_the_pauses() {
        // By hand from the source, 100 ticks a second. The handshake takes 10 ticks, 11 begun ones: no wait is
        // longer, and the timeout is 33. Wait after each segment (`ato`): 4, in vain: 8; half of it and the pause
        // of 6: 10, in vain: 20; and the pause of 12: 22, of which 11 count; then 13 and 8; 6; a pause of 9 is longer: 6.
        // A timer comes one tick later than asked for.
        let segments =
            [(120, true), (180, true), (300, false), (310, false), (400, false), (460, false)];
        assert_eq!(held(10 * MS, 100, segments), [50, 110, 120, 90, 70, 60]);
        // 1000 ticks a second: 40, in vain: 80; and a pause of 44: 84, which the wheel has in eights; then 62
        // and 51, 45 and 42, 41 and 40.
        let segments = [(301, true), (345, false), (350, false), (360, false), (370, false)];
        assert_eq!(held(MS, 300, segments), [41, 87, 52, 43, 41]);
    }

    #[test]
    fn quick_acknowledgements_end_with_a_short_wait() {
        let clock = HostClock::new(10 * MS, 0);
        let mut receiver = open(10 * MS, true, 100);
        receiver.on_segment(120 * MS, &data(3), &clock);
        receiver.on_timer();
        // As above the wait is 10 ticks after the pause of 6. This segment is acknowledged at once all the same.
        let reduced = Segment { window_reduced: true, ..data(4) };
        assert!(receiver.on_segment(180 * MS, &reduced, &clock).is_some());
        // So it is 4 again; it would be 7.
        receiver.on_segment(190 * MS, &data(5), &clock);
        assert_eq!(receiver.deadline(), 240 * MS);
    }

    #[test]
    fn the_wait_is_exact_where_it_does_not_adapt() {
        let clock = HostClock::new(10 * MS, 3 * MS);
        let mut receiver = open(10 * MS, false, 50);
        for at in [60, 160] {
            receiver.on_segment(at * MS, &data(receiver.next_expected()), &clock);
            assert_eq!(receiver.deadline(), (at + 40) * MS);
            assert!(receiver.on_timer().is_some());
        }
    }

    /// Return true if segments of data are acknowledged at once by a receiver as Linux', whose handshake took
    /// 50 ms, and whose three quick acknowledgements are used up. Each has its time in milliseconds.
    fn at_once<const N: usize>(segments: [(u64, Segment); N]) -> [bool; N] {
        let clock = HostClock::new(MS, 0);
        let mut receiver = open(MS, false, 50);
        segments.map(|(at, segment)| receiver.on_segment(at * MS, &segment, &clock).is_some())
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

    /// A receiver that reports several arrivals together, whose handshake took so many milliseconds. 0 and 1 have come,
    /// at once after another.
    fn reporting(handshake: u64, selective: bool) -> Receiver {
        let set = ReceiverSettings { compressed_acknowledgements: true, ..renewing() };
        let mut receiver = Receiver::new(&set, MS, false, selective, 0);
        let clock = HostClock::new(MS, 0);
        for (sequence, sent) in [(0, 0), (1, handshake)] {
            let segment = Segment {
                sequence,
                sent: (10 + sent) * MS,
                ecn_capable: sequence > 0,
                ..Segment::default()
            };
            receiver.on_segment((15 + sent) * MS, &segment, &clock);
        }
        receiver
    }

    /// Return true if a segment that arrives at so many microseconds is acknowledged at once.
    fn is_answered(receiver: &mut Receiver, sequence: u32, at: u64) -> bool {
        receiver.on_segment(at * 1000, &data(sequence), &HostClock::new(MS, 0)).is_some()
    }

    #[test]
    fn the_fourth_arrival_beyond_a_gap_and_those_after_it_are_reported_together() {
        // A twentieth of 12 ms, and the tenth of a millisecond by which the timer may be late.
        let mut receiver = reporting(12, true);
        let at_once = [3, 4, 5].map(|sequence| is_answered(&mut receiver, sequence, 100_000));
        assert_eq!(at_once, [true; 3]);
        assert_eq!(
            [6, 7].map(|sequence| is_answered(&mut receiver, sequence, 100_200)),
            [false; 2]
        );
        assert!(!is_answered(&mut receiver, 8, 100_300));
        assert_eq!(receiver.deadline(), 100_900_000);
        let report = receiver.on_timer().unwrap();
        assert_eq!((report.next_expected, report.blocks), (2, &[(3, 9)][..]));
        assert_eq!(receiver.deadline(), u64::MAX);
        assert!(receiver.on_timer().is_none());
        // They wait again: there has been no progress.
        assert!(!is_answered(&mut receiver, 9, 101_000));
        assert_eq!(receiver.deadline(), 101_700_000);
        // What fills the gap is acknowledged at once, and nothing waits any more.
        assert!(is_answered(&mut receiver, 2, 101_100));
        assert_eq!((receiver.next_expected(), receiver.deadline()), (10, u64::MAX));
        assert!(receiver.on_timer().is_none());
    }

    #[test]
    fn reports_wait_for_a_millisecond_at_most() {
        for (handshake, wait) in [(0, 100), (2, 200), (20, 1100), (200, 1100)] {
            let mut receiver = reporting(handshake, true);
            let answers =
                [3, 4, 5, 6].map(|sequence| is_answered(&mut receiver, sequence, 500_000));
            assert_eq!(answers, [true, true, true, false]);
            assert_eq!(receiver.deadline(), (500_000 + wait) * 1000);
        }
    }

    #[test]
    fn forty_four_reports_wait_at_most() {
        let mut receiver = reporting(20, true);
        let answers: Vec<_> =
            (3..100).map(|sequence| is_answered(&mut receiver, sequence, 100_000)).collect();
        let at_once: Vec<_> = (0..answers.len()).filter(|index| answers[*index]).collect();
        // Three, and each forty-fifth after them.
        assert_eq!(at_once, [0, 1, 2, 47, 92]);
    }

    #[test]
    fn reports_of_a_third_block_do_not_wait() {
        // 2, 6, 9 and 12 are missing. So that no block is forgotten: an acknowledgement has room for three.
        let mut receiver = reporting(20, true);
        for sequence in [3, 4, 5] {
            assert!(is_answered(&mut receiver, sequence, 100_000));
        }
        // A second block, and a third one.
        assert_eq!(
            [7, 8].map(|sequence| is_answered(&mut receiver, sequence, 100_100)),
            [false; 2]
        );
        assert!(is_answered(&mut receiver, 10, 100_200));
        assert_eq!(receiver.acknowledgement().blocks, [(10, 11), (7, 9), (3, 6)]);
        // Nothing waits now. What is in the first two blocks may, or a new block alone; what is behind them may not.
        assert!(!is_answered(&mut receiver, 11, 100_300));
        assert!(is_answered(&mut receiver, 13, 100_400));
        assert!(!is_answered(&mut receiver, 15, 100_500));
        assert!(!is_answered(&mut receiver, 14, 100_500));
        assert!(is_answered(&mut receiver, 6, 100_600));
        assert_eq!(receiver.acknowledgement().blocks, [(3, 9), (13, 16), (10, 12)]);
    }

    #[test]
    fn progress_renews_what_is_reported_at_once() {
        // 2, 5 and 7 are missing.
        let mut receiver = reporting(20, true);
        for sequence in [3, 4, 6, 8] {
            is_answered(&mut receiver, sequence, 100_000);
        }
        assert!(receiver.deadline() < u64::MAX);
        // 2 arrives, and with it 3 and 4 are acknowledged, since three are more than one.
        assert!(is_answered(&mut receiver, 2, 100_100));
        assert_eq!((receiver.next_expected(), receiver.deadline()), (5, u64::MAX));
        let after_three =
            [9, 10, 11, 12].map(|sequence| is_answered(&mut receiver, sequence, 100_200));
        assert_eq!(after_three, [true, true, true, false]);
        assert!(is_answered(&mut receiver, 5, 100_300));
        assert_eq!(receiver.next_expected(), 7);
    }

    #[test]
    fn after_a_single_segment_of_progress_two_more_are_reported_at_once() {
        // 2, 3 and 5 are missing.
        let mut receiver = reporting(20, true);
        for sequence in [4, 6, 7, 8] {
            is_answered(&mut receiver, sequence, 100_000);
        }
        assert!(is_answered(&mut receiver, 2, 100_100));
        assert_eq!(receiver.next_expected(), 3);
        let after_one = [9, 10, 11].map(|sequence| is_answered(&mut receiver, sequence, 100_200));
        assert_eq!(after_one, [true, true, false]);
    }

    #[test]
    fn what_must_be_told_is_told_at_once_while_reports_wait() {
        let waiting = || {
            let mut receiver = reporting(20, true);
            for sequence in [3, 4, 5, 6] {
                is_answered(&mut receiver, sequence, 100_000);
            }
            assert!(receiver.deadline() < u64::MAX);
            receiver
        };
        let marked = Segment { congestion_experienced: true, ..data(7) };
        let again = Segment { ecn_capable: false, ..data(7) };
        for segment in [marked, again, data(1)] {
            let mut receiver = waiting();
            let clock = HostClock::new(MS, 0);
            assert!(receiver.on_segment(100_100_000, &segment, &clock).is_some(), "{segment:?}");
            // The reports have gone with it.
            assert_eq!(receiver.deadline(), u64::MAX);
        }
    }

    #[test]
    fn without_selective_reports_every_arrival_beyond_a_gap_is_acknowledged_at_once() {
        let mut receiver = reporting(20, false);
        assert!((3..20).all(|sequence| is_answered(&mut receiver, sequence, 100_000)));
    }
}
