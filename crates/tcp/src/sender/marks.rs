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
}
