//! Losses noticed by duplicate acknowledgements: Tahoe, Reno, NewReno.
//!
//! Source: RFC 5681, section 3.2, and RFC 6582; ns-2.35 `tcp.cc`, `tcp-reno.cc`, `tcp-newreno.cc`.
//!
//! Tahoe starts over: half the window becomes the threshold, the window becomes one segment, and
//! sending resumes behind the last acknowledged segment. Reno sends the missing segment again,
//! halves, and inflates the window by each further duplicate until any new data is acknowledged:
//! with several losses in one window the others usually cost a timeout, because within one window
//! there is no second fast retransmit. NewReno stays in recovery until everything outstanding at
//! its start has been acknowledged; an acknowledgement of less (a partial one) sends the next
//! missing segment again and deflates the window by what it acknowledged, less one; the
//! retransmission timer is restarted by the first partial one only ("impatient"); one duplicate
//! releases at most two new segments, as in ns-2.35.

use super::{Reduction, Sender};
use crate::rule::{Congestion, WindowRule};
use crate::scoreboard::DUPLICATES_FOR_LOSS;
use crate::{Acknowledgement, AnyRule, Recovery};

impl Sender {
    /// The next segment in order that the window allows.
    #[inline]
    pub(super) fn choose_in_order(&mut self) -> Option<u32> {
        if self.allowance == 0 || self.next >= self.available {
            return None;
        }
        let usable =
            (self.window.congestion + f64::from(self.inflation)).min(self.window.cap) as u32;
        if self.next - self.unacknowledged >= usable {
            return None;
        }
        self.allowance -= 1;
        let sequence = self.next;
        self.next += 1;
        Some(sequence)
    }

    /// An acknowledgement for a sender that reads no selective ones.
    #[inline]
    pub(super) fn acknowledge_in_order(
        &mut self,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        if answer.next_expected > self.unacknowledged && !self.in_recovery && marked == 0 {
            self.advance(now, answer, 0);
        } else {
            self.acknowledge_what_is_rare(now, answer, marked);
        }
    }

    /// Marks, duplicates, and everything during recovery.
    #[inline(never)]
    fn acknowledge_what_is_rare(&mut self, now: u64, answer: &Acknowledgement<'_>, marked: u32) {
        self.allowance = 0;
        let acknowledged = answer.next_expected;
        if marked > 0 {
            self.respond_to_marks(now, acknowledged);
        }
        if acknowledged > self.unacknowledged {
            if !self.in_recovery {
                self.advance(now, answer, marked);
                return;
            }
            if self.recovery != Recovery::NewReno || acknowledged >= self.recover {
                self.in_recovery = false;
                self.partial_seen = false;
                self.inflation = 0;
                self.advance(now, answer, marked);
                return;
            }
            self.advance_partially(now, answer);
        } else if self.recovery.is_selective() {
            // Without a report a duplicate says nothing is missing.
            self.allowance = u32::MAX;
        } else if acknowledged == self.unacknowledged && self.highest > self.unacknowledged {
            self.count_duplicate(now);
        }
        // A rule that answers every mark hears of these with the next segment acknowledged.
        if marked > 0 && self.rule.answers_marks() {
            self.marked = self.marked.wrapping_sub(marked);
        }
    }

    /// Times the round trip of an acknowledgement of new data; `echo`: with a mark.
    #[inline]
    pub(super) fn time_round_trip(&mut self, now: u64, answer: &Acknowledgement<'_>, echo: bool) {
        if self.switches.timestamps {
            self.round_trip.end_back_off();
            self.note_round_trip(answer.echo, now);
        } else if let Some((sequence, sent)) = self.timed
            && answer.next_expected > sequence
        {
            self.timed = None;
            if !(self.marked_at_one && echo) {
                self.round_trip.end_back_off();
                self.marked_at_one = false;
            }
            self.note_round_trip(sent, now);
        }
    }

    /// New data acknowledged outside recovery, or by the acknowledgement that ends it.
    #[inline(always)] // nearly every acknowledgement
    pub(super) fn advance(&mut self, now: u64, answer: &Acknowledgement<'_>, marked: u32) {
        let acknowledged = answer.next_expected;
        let newly = acknowledged - self.unacknowledged;
        self.duplicates = 0;
        self.unacknowledged = acknowledged;
        self.next = self.next.max(acknowledged);
        self.time_round_trip(now, answer, marked > 0);
        self.deadline = if acknowledged < self.highest || self.next < self.available {
            self.round_trip.expiry(now)
        } else {
            u64::MAX
        };
        self.grow_or_open(now, newly, marked);
        self.allowance = u32::MAX;
    }

    /// The window grows, unless marks have just been answered; the opening segment's
    /// acknowledgement makes it the initial one.
    #[inline]
    pub(super) fn grow_or_open(&mut self, now: u64, delivered: u32, marked: u32) {
        if !self.open {
            self.open = true;
            self.window.congestion = self.initial_window;
        } else if !self.window_is_used() {
            self.tell_rule_of_marks(now, delivered, marked);
        } else if let AnyRule::Additive(rule) = &mut self.rule {
            // The only rule that needs to be told nothing else: most flows of most networks.
            if marked == 0 {
                let counted = if self.switches.byte_counting { delivered } else { 1 };
                rule.grow_by(f64::from(counted), &mut self.window);
            }
        } else if marked == 0 || self.rule.answers_marks() {
            let event = self.acknowledged(now, delivered, marked);
            self.rule.grow(&event, &mut self.window);
        }
    }

    /// New data acknowledged, but not all of the window in which the loss happened.
    fn advance_partially(&mut self, now: u64, answer: &Acknowledgement<'_>) {
        let acknowledged = answer.next_expected;
        let newly = acknowledged - self.unacknowledged;
        if !self.partial_seen {
            self.partial_seen = true;
            self.deadline = self.round_trip.expiry(now);
        }
        // Deflate by what was acknowledged, less the one retransmission that leaves now.
        if self.inflation > newly {
            self.inflation -= newly - 1;
        } else {
            self.window.congestion =
                (self.window.congestion - f64::from(newly - self.inflation)).max(1.0);
            self.inflation = 1;
        }
        self.unacknowledged = acknowledged;
        self.next = self.next.max(acknowledged);
        if self.switches.timestamps {
            self.time_round_trip(now, answer, false);
        } else if let Some((sequence, _)) = self.timed
            && acknowledged > sequence
        {
            self.timed = None;
            self.round_trip.end_back_off();
        }
        self.repair = Some(acknowledged);
        self.allow_during_recovery();
    }

    /// The same acknowledgement once more: something was lost, or overtaken.
    fn count_duplicate(&mut self, now: u64) {
        self.duplicates += 1;
        if self.duplicates == DUPLICATES_FOR_LOSS {
            self.notice_loss(now);
            self.allow_during_recovery();
        } else if self.duplicates > DUPLICATES_FOR_LOSS {
            if self.in_recovery {
                self.inflation += 1;
            }
            self.allow_during_recovery();
        } else if self.switches.limited_transmit {
            self.transmit_limited();
        }
    }

    fn allow_during_recovery(&mut self) {
        if self.duplicates >= DUPLICATES_FOR_LOSS {
            self.allowance = if self.recovery == Recovery::NewReno { 2 } else { u32::MAX };
        }
    }

    /// RFC 3042: one segment beyond the window for each of the first two duplicates.
    pub(super) fn transmit_limited(&mut self) {
        let outstanding = self.next - self.unacknowledged;
        let usable = (self.window.congestion + f64::from(self.duplicates)).min(self.window.cap);
        if outstanding < usable as u32 && self.next < self.available {
            self.repair = Some(self.next);
            self.next += 1;
        }
    }

    /// The third duplicate: send the missing segment again, reduce the window once per window.
    fn notice_loss(&mut self, now: u64) {
        // The first window may always be repaired, even if the opening segment was lost before it.
        if self.unacknowledged > self.recover || self.unacknowledged == 1 {
            self.reduce(now, Congestion::Loss);
            self.last_reduction = Reduction::Loss;
            self.recover = self.highest;
        } else if self.last_reduction == Reduction::Mark {
            self.last_reduction = Reduction::Loss;
        } else {
            return;
        }
        self.timed = None;
        self.deadline = self.round_trip.expiry(now);
        if self.recovery == Recovery::Tahoe {
            self.window.congestion = 1.0;
            self.next = self.unacknowledged;
            return;
        }
        self.in_recovery = true;
        self.partial_seen = false;
        self.inflation = DUPLICATES_FOR_LOSS;
        self.repair = Some(self.unacknowledged);
    }
}
