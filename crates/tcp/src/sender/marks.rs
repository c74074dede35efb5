//! The sender's answer to marks.

use super::flight::Flight;
use super::{Ecn, EcnOptions, Reduction};
use crate::Acknowledgement;
use crate::rule::{Congestion, WindowRule};

/// What marks have told, and what is said of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    options: EcnOptions,
    /// The next segment says that the window has been reduced.
    announce_reduction: bool,
    /// Marked segments that the receiver has counted.
    counted: u32,
}

impl Marks {
    pub(crate) fn new(options: EcnOptions) -> Self {
        Self { options, announce_reduction: false, counted: 0 }
    }

    /// Segments newly known to have arrived marked, or 1 where the classic echo says that some did.
    #[inline]
    pub(crate) fn take(&mut self, answer: &Acknowledgement<'_>) -> u32 {
        match self.options.feedback {
            Ecn::Off => 0,
            Ecn::Classic => u32::from(answer.congestion_echo),
            Ecn::Accurate | Ecn::Scalable => {
                let newly = answer.marked.wrapping_sub(self.counted);
                // Acknowledgements that were overtaken report an older count.
                if newly > u32::MAX / 2 {
                    return 0;
                }
                self.counted = answer.marked;
                newly
            }
        }
    }

    /// So many that were taken are to be told once more, with the next segment acknowledged.
    pub(crate) fn give_back(&mut self, marked: u32) {
        self.counted = self.counted.wrapping_sub(marked);
    }

    /// Whether a segment may be marked, and whether its sender answers every mark; `again`: it is sent
    /// again.
    #[inline]
    pub(crate) fn label(&self, sequence: u32, again: bool) -> (bool, bool) {
        let capable = self.options.feedback != Ecn::Off
            && (sequence > 0 || self.options.capable_handshake)
            && (self.options.capable_retransmissions || !again);
        (capable, capable && self.options.feedback == Ecn::Scalable)
    }

    /// The window has been reduced: where the echo is the classic one, the receiver is told.
    #[inline]
    pub(crate) fn announce_reduction(&mut self) {
        self.announce_reduction = self.options.feedback == Ecn::Classic;
    }

    /// Whether the segment that leaves now tells it.
    #[inline]
    pub(crate) fn take_announcement(&mut self) -> bool {
        std::mem::take(&mut self.announce_reduction)
    }

    /// Whether it asks for marks, and has not given that up.
    pub(crate) fn are_understood(&self) -> bool {
        self.options.feedback != Ecn::Off
    }

    /// The opening segment was lost: perhaps because of its marks.
    pub(crate) fn fall_back(&mut self) {
        if self.options.fallback {
            self.options.feedback = Ecn::Off;
            self.announce_reduction = false;
        }
    }
}

impl Flight {
    /// RFC 3168: marks reduce the window, once for each window of data. Rules that answer every
    /// mark do so when they grow. The window before, if it was reduced. `pipe`: what the recovery takes to
    /// be in the network.
    pub(crate) fn respond_to_marks(
        &mut self,
        now: u64,
        acknowledged: u32,
        pipe: u32,
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
        self.reduce(now, Congestion::Mark, pipe);
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
