//! Losses noticed and repaired by counting duplicate acknowledgements: Linux without selective ones.
//!
//! Source: Linux 6.12, `tcp_input.c` and `tcp_recovery.c` (`tcp_add_reno_sack`, `tcp_remove_reno_sacks`,
//! `tcp_limit_reno_sacked`, `tcp_newreno_mark_lost`, `tcp_process_loss`, `tcp_try_undo_recovery`).
//! Every duplicate stands for a segment that has arrived, nobody knows which. The third one means that the
//! first outstanding segment is lost. As many segments may be in the network as the window says, so
//! that every duplicate, also the first two, releases one; a lost one goes first. During recovery an
//! acknowledgement of less than was outstanding means that the next segment is lost, and of those that
//! it covers all but one had been counted. The window falls as with selective acknowledgements
//! (`proportional.rs`). Recovery is over when something sent after its start has been acknowledged.
//!
//! After a timeout everything outstanding is lost, in slow start; duplicates are counted again once
//! something new has been sent. The threshold falls once for each window: not at a timeout during
//! recovery, nor at one after another without progress between them.
//!
//! State: the count of arrivals, how far lost segments reach, how far they have been sent again.
//!
//! Departures: spurious timeouts are not detected (F-RTO, Eifel), and the number of duplicates that mean
//! a loss stays three (the kernel raises it when paths reorder; here none does).

use super::proportional::ProportionalReduction;
use super::{Reduction, Sender};
use crate::Acknowledgement;
use crate::rule::{Congestion, WindowRule};
use crate::scoreboard::DUPLICATES_FOR_LOSS;

/// What such a sender keeps besides.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Segments that have arrived beyond the first outstanding one.
    arrived: u32,
    /// Outstanding segments before this one are lost.
    lost_before: u32,
    /// Of the lost segments those before this one have been sent again.
    again_before: u32,
    /// Whether a timeout is being repaired.
    after_timeout: bool,
    /// Whether anything was acknowledged since the last timeout.
    progressed: bool,
    proportional: bool,
    pub(super) reduction: Option<ProportionalReduction>,
}

impl Counted {
    pub(super) fn new(proportional: bool) -> Self {
        Self {
            arrived: 0,
            lost_before: 0,
            again_before: 0,
            after_timeout: false,
            progressed: true,
            proportional,
            reduction: None,
        }
    }

    /// Of the segments from `first` to before `next`, those that are in the network.
    pub(super) fn in_network(&self, first: u32, next: u32) -> u32 {
        let lost = self.lost_before.saturating_sub(first);
        let again = self.again_before.saturating_sub(first);
        (next - first + again).saturating_sub(self.arrived + lost)
    }

    /// Segments that have arrived beyond the first outstanding one.
    pub(super) fn arrived(&self) -> u32 {
        self.arrived
    }

    /// Lost segments, the first outstanding one being `first`.
    pub(super) fn lost(&self, first: u32) -> u32 {
        self.lost_before.saturating_sub(first)
    }

    pub(super) fn is_repairing_timeout(&self) -> bool {
        self.after_timeout
    }

    /// One more segment has arrived, unless more would have than can.
    fn count(&mut self, first: u32, next: u32) -> u32 {
        let before = self.arrived;
        self.arrived += 1;
        self.limit(first, next);
        self.arrived.saturating_sub(before)
    }

    /// What is missing has not arrived: one segment, or those that are lost.
    fn limit(&mut self, first: u32, next: u32) {
        let missing = self.lost_before.saturating_sub(first).max(1);
        self.arrived = self.arrived.min((next - first).saturating_sub(missing));
    }

    /// All of `newly` segments before `first` are acknowledged. How many of them had not been counted.
    fn acknowledge(&mut self, newly: u32, first: u32, next: u32) -> u32 {
        let delivered = newly.saturating_sub(self.arrived).max(1);
        self.arrived = self.arrived.saturating_sub(newly - 1);
        self.lost_before = self.lost_before.max(first);
        self.again_before = self.again_before.max(first);
        self.progressed = true;
        self.limit(first, next);
        delivered
    }

    /// Whether a timeout finds a window that has been reduced already.
    pub(super) fn is_reduced(&self, in_recovery: bool) -> bool {
        in_recovery || self.after_timeout && !self.progressed
    }

    pub(super) fn on_timeout(&mut self, first: u32, highest: u32) {
        self.arrived = 0;
        self.lost_before = highest;
        self.again_before = first;
        self.after_timeout = true;
        self.progressed = false;
        self.reduction = None;
    }
}

impl Sender {
    /// The next segment: a lost one first.
    pub(super) fn choose_by_count(&mut self) -> Option<u32> {
        if self.allowance == 0 {
            return None; // not begun
        }
        let counted = self.counted.as_mut()?;
        let in_network = counted.in_network(self.unacknowledged, self.next);
        if in_network >= self.window.congestion as u32 {
            return None;
        }
        let again = counted.again_before.max(self.unacknowledged);
        if again < counted.lost_before {
            counted.again_before = again + 1;
            return Some(again);
        }
        let outstanding = self.next - self.unacknowledged;
        if self.next >= self.available || f64::from(outstanding) >= self.window.cap {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// An acknowledgement for a sender that counts duplicates.
    pub(super) fn acknowledge_by_count(
        &mut self,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        let acknowledged = answer.next_expected;
        let first = self.unacknowledged;
        if acknowledged < first || self.highest == first {
            return; // overtaken, or nothing outstanding
        }
        if marked > 0 {
            self.respond_to_marks(now, acknowledged);
        }
        let newly = acknowledged - first;
        if newly > 0 {
            self.unacknowledged = acknowledged;
            self.time_round_trip(now, answer, marked > 0);
            self.deadline = if acknowledged < self.highest || self.next < self.available {
                self.round_trip.expiry(now)
            } else {
                u64::MAX
            };
        }
        let Some(counted) = &mut self.counted else { return };
        let (mut delivered, mut lost) = (0, false);
        if newly > 0 {
            delivered = counted.acknowledge(newly, acknowledged, self.next);
            let whole = acknowledged >= self.recover;
            if whole || !self.in_recovery {
                counted.arrived = 0;
            } else if counted.lost_before == acknowledged {
                counted.lost_before = acknowledged + 1;
                lost = true;
            }
            // What is sent after the start tells that it is over; before, duplicates may be old ones.
            if acknowledged > self.recover {
                self.in_recovery = false;
                counted.after_timeout = false;
                if counted.reduction.take().is_some() {
                    self.window.congestion = self.window.slow_start_threshold;
                }
            }
        } else if self.in_recovery {
            delivered = counted.count(acknowledged, self.next);
        } else if counted.after_timeout {
            if acknowledged < self.recover && self.next > self.recover {
                delivered = counted.count(acknowledged, self.next);
            }
        } else {
            delivered = counted.count(acknowledged, self.next);
            if counted.arrived >= DUPLICATES_FOR_LOSS {
                counted.lost_before = acknowledged + 1;
                lost = true;
                self.begin_counted_recovery(now);
            }
        }
        self.set_window_by_count(now, delivered, newly, marked, lost);
        self.allowance = u32::MAX;
    }

    fn begin_counted_recovery(&mut self, now: u64) {
        self.in_recovery = true;
        self.timed = None;
        self.deadline = self.round_trip.expiry(now);
        // A window that marks are reducing is not reduced again.
        if self.unacknowledged < self.recover && self.last_reduction == Reduction::Mark {
            self.last_reduction = Reduction::Loss;
            return;
        }
        let old = self.window.congestion;
        self.reduce(now, Congestion::Loss);
        self.last_reduction = Reduction::Loss;
        self.recover = self.highest;
        self.spread_counted_reduction(old);
    }

    /// Lets the window fall from `old` to the threshold over a round trip, if so told.
    pub(super) fn spread_counted_reduction(&mut self, old: f64) {
        let governed = self.rule.governs_window();
        let Some(counted) = &mut self.counted else { return };
        if counted.proportional && !governed {
            counted.reduction = Some(ProportionalReduction::new(old.min(self.window.cap)));
            self.window.congestion = old;
        } else if self.in_recovery && counted.again_before < counted.lost_before {
            self.repair = Some(self.unacknowledged);
            counted.again_before = counted.lost_before;
        }
    }

    /// The window after an acknowledgement; `lost`: it tells of a loss.
    fn set_window_by_count(
        &mut self,
        now: u64,
        delivered: u32,
        newly: u32,
        marked: u32,
        lost: bool,
    ) {
        let threshold = self.window.slow_start_threshold;
        let Some(counted) = &mut self.counted else { return };
        let in_network = counted.in_network(self.unacknowledged, self.next);
        if let Some(reduction) = &mut counted.reduction {
            if delivered > 0 {
                let progress = newly > 0 && !lost;
                self.window.congestion =
                    reduction.window(in_network, threshold, delivered, progress).max(1.0);
            }
        } else if newly > 0 && !self.in_recovery {
            self.grow_or_open(now, delivered, marked);
        }
    }
}
