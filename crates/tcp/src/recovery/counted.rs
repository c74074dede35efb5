use super::options::{RecoverySettings, ReductionBound};
use super::proportional::ProportionalReduction;
use super::reduced_before;
use crate::Acknowledgement;
use crate::rule::WindowRule;
use crate::scoreboard::DUPLICATES_FOR_LOSS;
use crate::sender::flight::Flight;
use crate::sender::state::Load;

/// Losses noticed and repaired by counting duplicate acknowledgements: Linux without selective ones.
///
/// Source: Linux 6.12, `tcp_input.c` and `tcp_recovery.c` (`tcp_add_reno_sack`, `tcp_remove_reno_sacks`,
/// `tcp_limit_reno_sacked`, `tcp_newreno_mark_lost`, `tcp_process_loss`, `tcp_try_undo_recovery`).
/// Every duplicate stands for a segment that has arrived, nobody knows which. The third one means that the
/// first outstanding segment is lost. As many segments may be in the network as the window says, so
/// that every duplicate, also the first two, releases one; a lost one goes first. During recovery an
/// acknowledgement of less than was outstanding means that the next segment is lost, and of those that
/// it covers all but one had been counted. The window falls as with selective acknowledgements
/// (`proportional.rs`). Recovery is over when something sent after its start has been acknowledged.
///
/// After a timeout everything outstanding is lost, in slow start; duplicates are counted again once
/// something new has been sent. The threshold falls once for each window: not at a timeout during
/// recovery, nor at one after another without progress between them.
///
/// State: the count of arrivals, how far lost segments reach, how far they have been sent again.
///
/// Departures: spurious timeouts are not detected (F-RTO, Eifel), and the number of duplicates that mean
/// a loss stays three (the kernel raises it when paths reorder; here none does).
#[derive(Clone, Debug)]
pub struct Counted {
    /// Segments that have arrived beyond the first outstanding one.
    arrived: u32,
    /// Outstanding segments before this one are lost, if there are any.
    lost_before: u32,
    /// Of the lost segments those before this one have been sent again.
    again_before: u32,
    in_recovery: bool,
    /// True if a timeout is being repaired.
    after_timeout: bool,
    /// True if anything was acknowledged since the last timeout.
    progressed: bool,
    proportional: bool,
    reduction: Option<ProportionalReduction>,
}

impl Counted {
    pub(super) fn new(set: &RecoverySettings) -> Self {
        Self {
            arrived: 0,
            lost_before: 0,
            again_before: 0,
            in_recovery: false,
            after_timeout: false,
            progressed: true,
            proportional: set.proportional_rate_reduction,
            reduction: None,
        }
    }

    /// Segments in the network.
    pub(super) fn in_network(&self, flight: &Flight) -> u32 {
        let first = flight.unacknowledged;
        let again = self.again_before.saturating_sub(first);
        (flight.outstanding() + again).saturating_sub(self.arrived + self.lost(flight))
    }

    /// One more segment has arrived, unless more would have than can.
    fn count(&mut self, flight: &Flight) -> u32 {
        let before = self.arrived;
        self.arrived += 1;
        self.limit(flight);
        self.arrived.saturating_sub(before)
    }

    /// Limit arrivals by what is missing: one segment, or those that are lost.
    fn limit(&mut self, flight: &Flight) {
        let missing = self.lost(flight).max(1);
        self.arrived = self.arrived.min(flight.outstanding().saturating_sub(missing));
    }

    /// `newly` segments more are acknowledged. How many of them had not been counted.
    fn acknowledge(&mut self, newly: u32, flight: &Flight) -> u32 {
        let delivered = newly.saturating_sub(self.arrived).max(1);
        self.arrived = self.arrived.saturating_sub(newly - 1);
        self.progressed = true;
        self.limit(flight);
        delivered
    }

    /// Return true if a timeout finds a window that has been reduced already.
    pub(super) fn has_reduced(&self, flight: &Flight) -> bool {
        let stalled = self.after_timeout && !self.progressed;
        reduced_before::as_in_linux(flight, self.in_recovery, stalled)
    }

    pub(super) fn on_timeout(&mut self, flight: &mut Flight) {
        self.in_recovery = false;
        self.arrived = 0;
        self.lost_before = flight.highest;
        self.again_before = flight.unacknowledged;
        self.after_timeout = true;
        self.progressed = false;
        self.reduction = None;
        flight.whole = false;
    }

    pub(super) fn note_sent(&mut self) {
        if let Some(reduction) = &mut self.reduction {
            reduction.note_sent();
        }
    }

    /// The next segment: a lost one first.
    pub(super) fn choose(&mut self, flight: &mut Flight) -> Option<u32> {
        if flight.allowance == 0 {
            return None; // not begun
        }
        if self.in_network(flight) >= flight.window.congestion as u32 {
            return None;
        }
        let again = self.again_before.max(flight.unacknowledged);
        if again < self.lost_before {
            self.again_before = again + 1;
            return Some(again);
        }
        flight.has_new_data().then(|| flight.take_next())
    }

    pub(super) fn on_acknowledgement(
        &mut self,
        flight: &mut Flight,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        let acknowledged = answer.next_expected;
        let first = flight.unacknowledged;
        if acknowledged < first || flight.highest == first {
            return; // overtaken, or nothing outstanding
        }
        if marked > 0 {
            self.answer_marks(flight, now, acknowledged);
        }
        let newly = acknowledged - first;
        if newly > 0 {
            flight.unacknowledged = acknowledged;
            flight.timer.take(now, answer, flight.highest, marked > 0);
            flight.run_timer(now);
        }
        let (mut delivered, mut lost) = (0, false);
        if newly > 0 {
            delivered = self.acknowledge(newly, flight);
            if acknowledged >= flight.recover || !self.in_recovery {
                self.arrived = 0;
            } else if self.lost_before <= acknowledged {
                self.lost_before = acknowledged + 1;
                lost = true;
            }
            // What is sent after the start tells that it is over; before, duplicates may be old ones.
            if acknowledged > flight.recover {
                self.end(flight);
            }
        } else if self.in_recovery {
            delivered = self.count(flight);
        } else if self.after_timeout {
            if acknowledged < flight.recover && flight.next > flight.recover {
                delivered = self.count(flight);
            }
        } else {
            delivered = self.count(flight);
            if self.arrived >= DUPLICATES_FOR_LOSS {
                self.lost_before = acknowledged + 1;
                lost = true;
                self.begin(flight, now);
            }
        }
        self.set_window(flight, now, delivered, newly, marked, lost);
        flight.whole = self.is_whole(flight);
        flight.allowance = u32::MAX;
    }

    /// An acknowledgement tells of marks. Where it ends a recovery it does so first (Linux: `tcp_fastretrans_alert`):
    /// the answer to the marks is a reduction of its own, and begins another window.
    fn answer_marks(&mut self, flight: &mut Flight, now: u64, acknowledged: u32) {
        if acknowledged > flight.recover && !flight.rule.answers_marks() {
            self.end(flight);
        }
        let load = Load::of(flight.flight_size());
        if let Some(old) = flight.respond_to_marks(now, acknowledged, load) {
            self.spread_reduction(flight, old);
        }
    }

    /// Something sent after the start of the recovery, or of a reduction for marks, has been acknowledged.
    fn end(&mut self, flight: &mut Flight) {
        self.in_recovery = false;
        self.after_timeout = false;
        if self.reduction.take().is_some() {
            flight.window.congestion = flight.window.slow_start_threshold;
        }
    }

    /// Return true if nothing is missing, and no reduction is under way. Where the receiver allows a part of a segment, a
    /// whole flight has room for one segment less than this recovery has.
    fn is_whole(&self, flight: &Flight) -> bool {
        let cap = flight.window.cap;
        !self.in_recovery
            && !self.after_timeout
            && self.progressed
            && self.reduction.is_none()
            && self.arrived == 0
            && self.lost_before <= flight.unacknowledged
            && f64::from(cap as u32) == cap
    }

    fn begin(&mut self, flight: &mut Flight, now: u64) {
        self.in_recovery = true;
        flight.timer.stop_timing();
        flight.timer.restart(now);
        // A window that marks are reducing is not reduced again.
        if flight.takes_reduction_for_marks() {
            return;
        }
        let old = flight.window.congestion;
        flight.reduce_for_loss(now, Load::of(flight.flight_size()));
        self.spread_reduction(flight, old);
    }

    /// Lets the window fall from `old` to the threshold over a round trip, if so told.
    fn spread_reduction(&mut self, flight: &mut Flight, old: f64) {
        if self.proportional && !flight.rule.governs_window() {
            let base = old.min(flight.window.cap);
            self.reduction = Some(ProportionalReduction::new(base, ReductionBound::Published));
            flight.window.congestion = old;
        } else if self.in_recovery && self.again_before < self.lost_before {
            flight.repair_first(flight.unacknowledged);
            self.again_before = self.lost_before;
        }
    }

    /// The window after an acknowledgement; `lost`: it tells of a loss.
    fn set_window(
        &mut self,
        flight: &mut Flight,
        now: u64,
        delivered: u32,
        newly: u32,
        marked: u32,
        lost: bool,
    ) {
        let threshold = flight.window.slow_start_threshold;
        let in_network = self.in_network(flight);
        if let Some(reduction) = &mut self.reduction {
            if delivered > 0 {
                let progress = newly > 0 && !lost;
                flight.window.congestion =
                    reduction.window(in_network, threshold, delivered, progress).max(1.0);
            }
        } else if newly > 0 && !self.in_recovery {
            flight.grow_or_open(now, delivered, marked);
        }
    }

    pub(super) fn sacked(&self, _flight: &Flight) -> u32 {
        self.arrived
    }

    pub(super) fn lost(&self, flight: &Flight) -> u32 {
        self.lost_before.saturating_sub(flight.unacknowledged)
    }

    pub(super) fn is_repairing(&self) -> bool {
        self.in_recovery
    }

    pub(super) fn is_repairing_timeout(&self, _flight: &Flight) -> bool {
        self.after_timeout
    }
}
