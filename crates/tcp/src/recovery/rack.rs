use std::collections::VecDeque;

use super::judge::{Judge, Repairing};
use super::reduced_before;
use crate::scoreboard::{DUPLICATES_FOR_LOSS, Scoreboard};
use crate::sender::flight::Flight;
use crate::sender::segmentation::Segmentation;
use crate::sender::timer::RetransmissionTimer;
use crate::sent::{Sent, SentSegments};
use crate::{RoundTripEstimator, SenderOptions};

/// How long a probe waits before any round trip is known, in nanoseconds.
const FIRST_WAIT: u64 = 1_000_000_000;

/// Addition to both waits, in nanoseconds (Linux since 6.7: TCP_TIMEOUT_MIN_US).
const SPARE_TIME: u64 = 2_000_000;

/// A probe in the network.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// First segment not sent when it was.
    end: u32,
    /// True if it was a segment sent again.
    again: bool,
}

/// A sending that was not the first one of its segment.
#[derive(Clone, Copy, Debug)]
struct Repair {
    time: u64,
    sequence: u32,
    /// First segment never sent then.
    before: u32,
}

/// RACK-TLP: losses noticed by time, and the end of a flight probed.
///
/// Source: RFC 8985. A segment is lost if one sent after it has arrived and the reordering window
/// has passed; the same holds for retransmissions, so that a lost one is noticed without waiting for
/// the timer. The reordering window is a quarter of the shortest round trip (section 6.2, step 4). Until a segment has
/// arrived after a later one without having been sent again (step 3), it is zero while losses are being repaired or
/// three segments have arrived beyond the first missing one. It never widens further: duplicates that the receiver
/// reports do not count.
///
/// The round trip that a segment may take is that of the segment that arrived last (section 6.2, step 2).
/// Which of those that one acknowledgement covers is last, the RFC leaves open: as in Linux, reports come
/// first and what is acknowledged cumulatively comes after them, in the order of sequence. A delayed
/// acknowledgement that first reports an arrival beyond a loss thus lengthens it, and the loss waits for
/// the reordering timer.
///
/// A timeout means that the first outstanding segment is lost, and of the others those that left a round trip ago
/// (section 6.3). What left since may be on its way, and the next arrival will tell.
///
/// The tail loss probe goes after two smoothed round trips (section 7.2; one second before any is known), and later by
/// the longest delay of an acknowledgement if only one segment is outstanding. The RFC has 200 ms for that; Linux takes
/// the minimum timeout (`tcp_rto_min`), which is the same unless somebody changes it. It never goes after the
/// retransmission timer, in whose place it then goes. It is planned anew whenever new data is sent or acknowledged
/// while nothing is missing. Only one is in the network at a time. A segment that was sent again as a probe has been
/// lost if something beyond what was outstanding then is acknowledged before its duplicate is noticed (section 7.4.2).
///
/// A report of a segment that was sent once times a round trip. It restarts the retransmission timer if the first
/// missing segment was sent after it (Linux: `tcp_ack_update_rtt`, `tcp_clean_rtx_queue`).
///
/// Since it knows when segments left, it also says whether a new one waits for others to leave with it
/// (`sender/segmentation.rs`).
///
/// Departures: at a timeout the reordering window counts for nothing, as in Linux (`tcp_timeout_mark_lost`); section 6.3
/// adds it. A repair that is lost while a timeout is repaired is sent again, but begins no recovery with a
/// reduction of its own (Linux: `FLAG_LOST_RETRANS` and `tcp_rack_reo_timeout` in the state of loss).
///
/// In the order in which it stands in memory ([`Selective`](super::selective::Selective)).
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Rack {
    /// Where segments wait for others to leave with them.
    segmentation: Option<Segmentation>,
    /// When each outstanding segment was sent last, in nanoseconds; empty where more is kept of each sending.
    times: SentSegments<u64>,
    /// Segments sent again, in the order of sending, with sendings that no longer matter among them.
    repairs: VecDeque<Repair>,
    /// When the most recently sent of the segments that have arrived was sent, and which it is.
    newest: (u64, u32),
    /// The round trip of the segment that was noted last.
    round_trip: u64,
    shortest_round_trip: u64,
    probe: Option<Probe>,
    /// How long a probe was to wait when its deadline was last looked at.
    wait: u64,
    /// When that was.
    planned: u64,
    probe_deadline: u64,
    /// When waiting segments are taken for lost.
    reordering_deadline: u64,
    /// First segment beyond all that have arrived, and beyond those before this acknowledgement.
    beyond: (u32, u32),
    /// Of those that were sent once, the first that is not known to have arrived or to be lost is this one, or
    /// comes after it. They left in the order of their numbers.
    unheard: u32,
    probing: bool,
    /// True once a segment has come after a later one.
    is_reordered: bool,
    /// True if more is kept of each sending than its time.
    shares_times: bool,
}

/// When segment `sequence` was sent last, if it is outstanding: from `times` unless these are shared with `sent`.
fn time_of(
    shared: bool,
    times: &SentSegments<u64>,
    sequence: u32,
    sent: &SentSegments<Sent>,
) -> Option<u64> {
    if shared { sent.get(sequence).map(|sent| sent.time) } else { times.get(sequence).copied() }
}

impl Rack {
    /// `sampling`: more is kept of each sending than when it was, and handed over where that is asked for.
    pub(super) fn new(options: &SenderOptions, sampling: bool) -> Self {
        Self {
            segmentation: options.leaves_in_bursts().then(Segmentation::default),
            times: SentSegments::default(),
            repairs: VecDeque::new(),
            newest: (0, 0),
            round_trip: 0,
            shortest_round_trip: u64::MAX,
            probe: None,
            wait: 0,
            planned: u64::MAX,
            probe_deadline: u64::MAX,
            reordering_deadline: u64::MAX,
            beyond: (0, 0),
            unheard: 0,
            probing: options.common.repair.tail_loss_probe,
            is_reordered: false,
            shares_times: sampling,
        }
    }

    /// The window is being reduced anyway: what becomes of the probe says nothing more.
    fn forget_probe(&mut self) {
        self.probe_deadline = u64::MAX;
        self.probe = None;
    }

    /// When segment `sequence` was sent last, if it is outstanding; `sent`: what is kept for delivery rates.
    fn time_of(&self, sequence: u32, sent: &SentSegments<Sent>) -> Option<u64> {
        time_of(self.shares_times, &self.times, sequence, sent)
    }

    /// The earliest of the sendings that are still in the network, as far as is known: when, and of which
    /// segment. Forgets those before it.
    #[inline(always)] // in two places, one of which asks for every acknowledgement
    fn first_in_network(
        &mut self,
        board: &Scoreboard,
        sent: &SentSegments<Sent>,
    ) -> Option<(u64, u32)> {
        self.unheard = board.next_unnoted(self.unheard);
        // Who comes later was sent again no earlier: the first one that is behind ends it.
        while let Some(repair) = self.repairs.front()
            && repair.before <= self.unheard
        {
            let matters = self.time_of(repair.sequence, sent) == Some(repair.time)
                && board.is_in_network(repair.sequence);
            if matters {
                return Some((repair.time, repair.sequence));
            }
            self.repairs.pop_front();
        }
        self.time_of(self.unheard, sent).map(|time| (time, self.unheard))
    }

    /// As [`Judge::find_losses`], where something was sent before the newest arrival; `window`: the reordering window.
    #[inline(never)] // much code, for few of those who ask
    fn find_overdue(
        &mut self,
        now: u64,
        board: &mut Scoreboard,
        sent: &SentSegments<Sent>,
        clock: &RoundTripEstimator,
        window: u64,
        newly: &mut impl FnMut(u32),
    ) -> u32 {
        let mut lost = 0;
        while let Some((time, sequence)) = self.first_in_network(board, sent) {
            if (time, sequence) >= self.newest {
                break;
            }
            let due = time + self.round_trip + window;
            if due > now {
                self.reordering_deadline = clock.after(now, due - now + SPARE_TIME);
                break;
            }
            board.mark_lost(sequence);
            newly(sequence);
            lost += 1;
        }
        lost
    }

    pub(super) fn deadline(&self) -> u64 {
        self.reordering_deadline.min(self.probe_deadline)
    }

    /// Return true if something makes bursts.
    pub(super) fn makes_bursts(&self) -> bool {
        self.segmentation.is_some()
    }

    /// Segmentation into bursts, if there is any, and the shortest round trip, in nanoseconds.
    pub(super) fn segmentation(&mut self) -> Option<(&mut Segmentation, u64)> {
        Some((self.segmentation.as_mut()?, self.shortest_round_trip))
    }

    /// Return true if a probe is due.
    pub(super) fn probe_is_due(&self, now: u64) -> bool {
        self.probe_deadline <= now
    }

    /// A probe goes; `end`: the first segment not sent then; `again`: it has been sent before.
    pub(super) fn note_probe(&mut self, end: u32, again: bool) {
        self.probe_deadline = u64::MAX;
        self.probe = Some(Probe { end, again });
    }

    /// Return true if the reordering timer was due.
    pub(super) fn take_reordering_timer(&mut self, now: u64) -> bool {
        let due = self.reordering_deadline <= now;
        if due {
            self.reordering_deadline = u64::MAX;
        }
        due
    }
}

impl Judge for Rack {
    const WATCHES: bool = true;
    /// Only what is known to be lost goes again.
    const RESENDS_UNREPORTED: bool = false;

    fn has_reduced(&self, flight: &Flight, repairing: Repairing) -> bool {
        reduced_before::as_in_linux(flight, repairing.losses, repairing.stalled)
    }

    fn on_begin(&mut self) {
        self.forget_probe();
    }

    fn on_timeout(&mut self) {
        self.reordering_deadline = u64::MAX;
        self.forget_probe();
    }

    fn last_sending(&self, sequence: u32, sent: &SentSegments<Sent>) -> Option<u64> {
        self.time_of(sequence, sent)
    }

    /// Segment `sequence` leaves; `repairs`: not for the first time, and as many have ever been sent.
    fn note_sent(&mut self, now: u64, sequence: u32, repairs: Option<u32>) {
        if let Some(before) = repairs {
            self.repairs.push_back(Repair { time: now, sequence, before });
        }
        if !self.shares_times {
            self.times.note(sequence, now);
        }
        if let Some(segmentation) = &mut self.segmentation {
            segmentation.note_sent(now);
        }
    }

    fn defers(
        &mut self,
        now: u64,
        flight: &Flight,
        in_network: u32,
        sent: &SentSegments<Sent>,
    ) -> bool {
        let Self { segmentation, times, shares_times, shortest_round_trip, .. } = self;
        segmentation.as_mut().is_some_and(|segmentation| {
            let first = || time_of(*shares_times, times, flight.unacknowledged, sent);
            segmentation.defers(now, flight, in_network, *shortest_round_trip, first)
        })
    }

    /// Segment `sequence` has arrived; `again`: it had been sent again.
    fn note_delivered(&mut self, now: u64, sequence: u32, again: bool) {
        let Some(&sent) = self.times.get(sequence) else {
            debug_assert!(false, "segment {sequence} arrives and was not outstanding");
            return;
        };
        self.note_arrival(now, sequence, again, sent);
    }

    /// The same where it is known that it had been sent at `sent`.
    fn note_arrival(&mut self, now: u64, sequence: u32, again: bool, sent: u64) {
        let round_trip = now - sent;
        // An answer faster than any round trip was to the first sending, not to the second.
        if again && round_trip < self.shortest_round_trip {
            return;
        }
        // Those of one acknowledgement come in any order.
        self.is_reordered |= !again && sequence < self.beyond.1;
        self.beyond.0 = self.beyond.0.max(sequence + 1);
        self.shortest_round_trip = self.shortest_round_trip.min(round_trip);
        // That of every segment, not only of the newest, as in Linux (tcp_rack_advance).
        self.round_trip = round_trip;
        if (sent, sequence) > self.newest {
            self.newest = (sent, sequence);
        }
    }

    /// All outstanding segments before `acknowledged` have arrived, each of which was sent once, and nothing is
    /// known of those after them: as [`Self::note_delivered`] for each, and [`Self::forget_before`]. The last one
    /// is the newest, and has the shortest round trip. Where no more is kept of sendings than their times.
    fn note_all_delivered(&mut self, now: u64, acknowledged: u32) {
        self.note_delivered(now, acknowledged - 1, false);
        self.times.acknowledge(acknowledged);
    }

    /// Marks what was sent before the newest arrival, and has waited, as lost, and calls `newly` for
    /// each. How many.
    fn find_losses(
        &mut self,
        now: u64,
        board: &mut Scoreboard,
        sent: &SentSegments<Sent>,
        clock: &RoundTripEstimator,
        repairing: bool,
        mut newly: impl FnMut(u32),
    ) -> u32 {
        self.beyond.1 = self.beyond.0;
        let hurries = repairing || board.arrived() >= DUPLICATES_FOR_LOSS;
        let window = if hurries && !self.is_reordered { 0 } else { self.shortest_round_trip / 4 };
        self.reordering_deadline = u64::MAX;
        // As a rule nothing that is in the network was sent before the newest arrival.
        if self.first_in_network(board, sent).is_none_or(|first| first >= self.newest) {
            return 0;
        }
        self.find_overdue(now, board, sent, clock, window, &mut newly)
    }

    /// Return true if segment `sequence` left as long ago as the last arrival took, at a timeout at `now`. The reordering window
    /// counts for nothing then.
    fn is_overdue(&self, now: u64, sequence: u32, sent: &SentSegments<Sent>) -> bool {
        self.time_of(sequence, sent).is_none_or(|time| time + self.round_trip <= now)
    }

    /// A segment leaves at `now` for the first time, besides others of which at least two have left since
    /// an acknowledgement, or are what that has left: the probe is as it was planned, but for the time from
    /// which it waits.
    fn put_probe_off(&mut self, now: u64, timer: &RetransmissionTimer) {
        if self.probe_deadline == u64::MAX || self.planned == now {
            return;
        }
        self.planned = now;
        self.probe_deadline = timer.estimator.after(now, self.wait).min(timer.deadline);
    }

    /// Arms the probe, if one is `wanted` and none is in the network, for two of the smoothed round
    /// trips from `now`, but no later than the retransmission timer; else disarms it.
    fn plan_probe(
        &mut self,
        now: u64,
        wanted: bool,
        outstanding: u32,
        timer: &RetransmissionTimer,
    ) {
        self.planned = now;
        self.probe_deadline = u64::MAX;
        if !wanted || !self.probing || self.probe.is_some() {
            return;
        }
        self.wait = match timer.estimator.smoothed() {
            None => FIRST_WAIT,
            Some(smoothed) if outstanding == 1 => {
                2 * smoothed + timer.estimator.minimum_timeout().max(SPARE_TIME)
            }
            Some(smoothed) => 2 * smoothed + SPARE_TIME,
        };
        self.probe_deadline = timer.estimator.after(now, self.wait).min(timer.deadline);
    }

    /// Return true if a probe is in the network.
    fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// All before `acknowledged` has arrived, or had: `duplicate`, and nothing is reported missing. Whether
    /// this tells that the probe has repaired a loss.
    fn judge_probe(&mut self, acknowledged: u32, duplicate: bool) -> bool {
        let Some(probe) = self.probe.filter(|probe| acknowledged >= probe.end) else {
            return false;
        };
        let repaired = probe.again && acknowledged > probe.end;
        if !probe.again || repaired || duplicate {
            self.probe = None;
        }
        repaired
    }

    /// Forgets sendings that have been acknowledged.
    fn forget_before(&mut self, acknowledged: u32) {
        if !self.shares_times {
            self.times.acknowledge(acknowledged);
        }
        while self.repairs.front().is_some_and(|repair| repair.sequence < acknowledged) {
            self.repairs.pop_front();
        }
    }
}
