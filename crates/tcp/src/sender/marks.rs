//! The sender's answer to marks.

use super::{Ecn, Reduction, Sender};
use crate::rule::{Congestion, WindowRule};
use crate::{Acknowledgement, Recovery};

impl Sender {
    /// Segments newly known to have arrived marked, or 1 where the classic echo says that some did.
    #[inline]
    pub(super) fn take_marks(&mut self, answer: &Acknowledgement<'_>) -> u32 {
        match self.switches.ecn {
            Ecn::Off => 0,
            Ecn::Classic => u32::from(answer.congestion_echo),
            Ecn::Accurate | Ecn::Scalable => {
                let newly = answer.marked.wrapping_sub(self.marked);
                // Acknowledgements that were overtaken report an older count.
                if newly > u32::MAX / 2 {
                    return 0;
                }
                self.marked = answer.marked;
                newly
            }
        }
    }

    /// RFC 3168: marks reduce the window, once for each window of data. Rules that answer every
    /// mark do so when they grow.
    pub(super) fn respond_to_marks(&mut self, now: u64, acknowledged: u32) {
        if self.rule.answers_marks() {
            return;
        }
        let new_window = acknowledged > self.recover;
        if !new_window && self.last_reduction != Reduction::Timeout {
            return;
        }
        self.recover = self.highest;
        self.last_reduction = Reduction::Mark;
        if self.window.congestion <= 1.0 {
            if self.marked_at_one {
                self.round_trip.back_off();
            }
            self.marked_at_one = true;
        } else {
            self.marked_at_one = false;
        }
        let old = self.window.congestion;
        self.reduce(now, Congestion::Mark);
        if self.recovery != Recovery::Sack1 {
            self.spread_reduction(old);
        }
    }

    /// RFC 3168, section 6.1.2: a mark at a window of one segment silences the sender until the
    /// timer expires. Nothing is outstanding and nothing was lost, so that this is no timeout: one
    /// segment may be sent, neither threshold nor timer change.
    pub(super) fn resume_after_marks(&mut self, now: u64) {
        self.window.congestion = self.window.congestion.max(1.0);
        self.recover = self.highest;
        self.last_reduction = Reduction::Timeout;
        self.announce_reduction = self.switches.ecn == Ecn::Classic;
        self.timed = None;
        self.deadline = self.round_trip.expiry(now);
        self.allowance = u32::MAX;
    }
}
