//! The plain way of a segment: what most segments of senders set off that neither mark nor pace, time or validate.
//!
//! Such a sender has a dozen things to ask at each acknowledgement and each segment that all have the same answer from its
//! start on, and a few more that are answered while nothing is missing. All of them together are asked here as one.

use super::flight::Flight;
use super::{Ecn, Sender, SenderOptions};
use crate::rule::WindowRule;
use crate::{Receiver, Segment};

impl Sender {
    /// Segment `sequence` reaches `receiver`, whose acknowledgement arrives at once, at `now`. Return false, having done
    /// nothing, if there is more to it than that the segment is the next one and the window grows: then receiver and
    /// sender have to be told of it one after the other.
    #[inline(always)] // for nearly every packet of most networks, as all that follows
    pub fn hears_plainly(&mut self, now: u64, receiver: &mut Receiver, sequence: u32) -> bool {
        let flight = &mut self.flight;
        let is_plain = flight.is_plain && flight.unacknowledged <= sequence;
        if !is_plain || !receiver.takes_plainly(sequence) {
            return false;
        }
        flight.advance_plainly(now, sequence + 1);
        true
    }

    /// As [`Sender::next_sequence`], after [`Sender::hears_plainly`]; and whether there is another one after it.
    #[inline(always)]
    pub fn next_plainly(&mut self) -> Option<(u32, bool)> {
        let sequence = self.flight.choose_in_order()?;
        Some((sequence, self.flight.has_next_within(self.flight.window.congestion)))
    }

    /// As [`Sender::deadline`], after [`Sender::hears_plainly`].
    #[inline(always)]
    #[must_use]
    pub fn deadline_plainly(&self) -> u64 {
        self.flight.timer.deadline // recoveries with timers of their own want to know of every segment
    }

    /// As [`Sender::send`], after [`Sender::next_plainly`].
    #[inline(always)]
    pub fn send_plainly(&mut self, sequence: u32, now: u64) -> Segment {
        self.flight.note_sent(sequence, now);
        Segment { sequence, sent: now, ..Segment::default() }
    }
}

impl Flight {
    /// Notes whether a flight can be plain, of a sender with such options that has been started.
    pub(super) fn note_options(&mut self, options: &SenderOptions) {
        self.is_simple = options.feedback() == Ecn::Off
            && !options.common.sending.pacing
            && !options.common.timer.timestamps
            && !self.tells_of_sending
            // Nobody asks who goes this way how long a segment was on its way.
            && !self.rule.reads_forward_delay();
        self.note_plainness();
    }

    /// Notes whether the flight is plain, after anything that may have changed it.
    #[inline]
    pub(super) fn note_plainness(&mut self) {
        self.is_plain = self.is_simple && self.whole && self.open && self.repair.is_none();
    }

    #[inline(always)]
    fn advance_plainly(&mut self, now: u64, acknowledged: u32) {
        let newly = acknowledged - self.unacknowledged;
        self.unacknowledged = acknowledged;
        self.next = self.next.max(acknowledged);
        self.timer.forget_last_round_trip();
        self.timer.take_without_timestamps(now, acknowledged, self.highest, false);
        self.run_timer(now);
        if !self.grow_simply(newly) {
            self.grow_by_rule(now, newly, 0);
        }
        self.allowance = u32::MAX;
    }
}
