//! Recovery as ns-2's Sack1 does it: a count of packets in the network, kept by hand.
//!
//! Source: K. Fall and S. Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP",
//! 1996; ns-2.35 `tcp-sack1.cc`, `scoreboard-rq.cc`. From the third duplicate acknowledgement on,
//! `pipe` falls by one with every acknowledgement, by two with a partial one, and rises with every
//! segment sent; while it is below the window, holes below the highest report are sent again, each
//! once, and then new data. Unlike RFC 6675, a hole is not discounted before it is sent again. The
//! scoreboard is forgotten at a timeout (go-back-N), after which duplicates are ignored until new
//! data is acknowledged. The acknowledgement that ends recovery does not grow the window.

use super::{Reduction, Sender};
use crate::Acknowledgement;
use crate::rule::Congestion;
use crate::scoreboard::DUPLICATES_FOR_LOSS;

impl Sender {
    /// The next segment, for a sender that recovers as ns-2's Sack1.
    pub(super) fn choose_by_pipe(&mut self) -> Option<u32> {
        if !self.in_recovery {
            return self.choose_in_order();
        }
        let selective = self.selective.as_mut()?;
        if selective.pipe >= i64::from(self.window.congestion as u32) {
            return None;
        }
        let outstanding = self.next - self.unacknowledged;
        let sequence = if let Some(hole) = selective.board.next_unreported(selective.tried) {
            selective.tried = hole + 1;
            hole
        } else if self.next < self.available && f64::from(outstanding) < self.window.cap {
            self.next += 1;
            self.next - 1
        } else {
            return None;
        };
        selective.pipe += 1;
        Some(sequence)
    }

    /// An acknowledgement for such a sender.
    pub(super) fn acknowledge_by_pipe(
        &mut self,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        self.allowance = 0;
        let acknowledged = answer.next_expected;
        if marked > 0 {
            self.respond_to_marks(now, acknowledged);
        }
        if acknowledged < self.unacknowledged {
            return;
        }
        let newly = acknowledged > self.unacknowledged;
        let complete = self.in_recovery && acknowledged >= self.recover;
        if newly && (complete || !self.in_recovery) {
            let window = self.window;
            self.advance(now, answer, marked);
            if complete {
                self.in_recovery = false;
                self.recover = 0;
                self.window = window;
            }
            if let Some(selective) = &mut self.selective {
                selective.board.clear();
                selective.board.acknowledge(acknowledged);
                selective.after_timeout = false;
            }
            return;
        }
        let Some(selective) = &mut self.selective else { return };
        if self.in_recovery {
            selective.pipe -= 1 + i64::from(newly);
        }
        if newly {
            self.unacknowledged = acknowledged;
            self.next = self.next.max(acknowledged);
            selective.board.acknowledge(acknowledged);
            self.round_trip.end_back_off();
            self.time_round_trip(now, answer, marked > 0);
            self.deadline = self.round_trip.expiry(now);
        }
        let Some(selective) = &mut self.selective else { return };
        if selective.after_timeout || self.highest == self.unacknowledged {
            self.allowance = if newly { u32::MAX } else { 0 };
            return;
        }
        let mut changed = false;
        for &(first, after) in answer.blocks {
            selective.board.report(first, after.min(self.highest), |_, _| changed = true);
        }
        if !self.in_recovery && changed {
            self.duplicates += 1;
            if self.duplicates == DUPLICATES_FOR_LOSS {
                self.notice_loss_by_pipe(now);
            } else if self.duplicates < DUPLICATES_FOR_LOSS && self.switches.limited_transmit {
                self.transmit_limited();
            }
        }
    }

    fn notice_loss_by_pipe(&mut self, now: u64) {
        if self.unacknowledged > self.recover || self.unacknowledged == 1 {
            self.reduce(now, Congestion::Loss);
            self.recover = self.highest;
        } else if self.last_reduction != Reduction::Mark {
            return;
        }
        self.last_reduction = Reduction::Loss;
        self.timed = None;
        self.deadline = self.round_trip.expiry(now);
        self.in_recovery = true;
        self.repair = Some(self.unacknowledged);
        if let Some(selective) = &mut self.selective {
            let outstanding = i64::from(self.highest - self.unacknowledged);
            selective.pipe = outstanding - i64::from(DUPLICATES_FOR_LOSS);
            selective.tried = self.unacknowledged + 1;
        }
    }
}
