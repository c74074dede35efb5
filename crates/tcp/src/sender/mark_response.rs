//! The sender's answer to marks.

use super::flight::Flight;
use super::state::{Load, Reduction};
use crate::rule::{Congestion, WindowRule};

impl Flight {
    /// RFC 3168: marks reduce the window, once for each window of data. Rules that answer every
    /// mark do so when they grow. The window before, if it was reduced.
    pub(crate) fn respond_to_marks(
        &mut self,
        now: u64,
        acknowledged: u32,
        load: Load,
    ) -> Option<f64> {
        if self.rule.answers_marks() {
            return None;
        }
        let new_window = acknowledged > self.recover;
        if !new_window && self.last_reduction != Reduction::Timeout {
            return None;
        }
        self.recover = self.highest;
        self.last_reduction = Reduction::Mark;
        if self.window.congestion <= 1.0 {
            if self.timer.marked_at_one {
                self.timer.estimator.back_off();
            }
            self.timer.marked_at_one = true;
        } else {
            self.timer.marked_at_one = false;
        }
        let old = self.window.congestion;
        self.reduce(now, Congestion::Mark, load);
        Some(old)
    }

    /// RFC 3168, section 6.1.2: a mark at a window of one segment silences the sender until the
    /// timer expires. Nothing is outstanding and nothing was lost, so that this is no timeout: one
    /// segment may be sent, neither threshold nor timer change.
    pub(crate) fn resume_after_marks(&mut self, now: u64) {
        self.window.congestion = self.window.congestion.max(1.0);
        self.recover = self.highest;
        self.last_reduction = Reduction::Timeout;
        self.marks.announce_reduction();
        self.timer.stop_timing();
        self.timer.restart(now);
        self.allowance = u32::MAX;
    }
}
