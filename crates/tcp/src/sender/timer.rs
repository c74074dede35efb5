use std::num::NonZeroU64;

use crate::{Acknowledgement, RoundTripEstimator, SenderOptions};

/// No segment: sequence numbers end before.
const NOT_TIMED: u32 = u32::MAX;

/// The retransmission timer: when it expires, and which segment's round trip is being timed.
#[derive(Clone, Debug)]
pub(crate) struct RetransmissionTimer {
    /// When it expires, in nanoseconds; `u64::MAX` while it is off.
    pub(crate) deadline: u64,
    /// Segment being timed; [`NOT_TIMED`] if none is.
    timed: u32,
    /// When it was sent.
    timed_since: u64,
    /// True if every acknowledgement times a round trip (RFC 7323).
    timestamps: bool,
    pub(crate) estimator: RoundTripEstimator,
    /// The round trip timed by the last acknowledgement, in nanoseconds.
    last_round_trip: Option<NonZeroU64>,
    /// A second mark at a window of one segment backs the timer off.
    pub(crate) marked_at_one: bool,
    /// Timeouts of the handshake that will still not lengthen the next one.
    linear_handshake_timeouts: u8,
}

impl RetransmissionTimer {
    pub(crate) fn new(options: &SenderOptions, clock_phase: u64) -> Self {
        Self {
            deadline: u64::MAX,
            timed: NOT_TIMED,
            timed_since: 0,
            timestamps: options.common.timer.timestamps,
            estimator: RoundTripEstimator::new(&options.common.timer, clock_phase),
            last_round_trip: None,
            marked_at_one: false,
            linear_handshake_timeouts: options.common.opening.linear_handshake_timeouts,
        }
    }

    /// Runs anew from `now`.
    #[inline]
    pub(crate) fn restart(&mut self, now: u64) {
        self.deadline = self.estimator.expiry(now);
    }

    /// No round trip is being timed any more: what was, may be answered late.
    pub(crate) fn stop_timing(&mut self) {
        self.timed = NOT_TIMED;
    }

    /// Segment `sequence` leaves at `now` for the first time.
    #[inline]
    pub(crate) fn note_first_sending(&mut self, sequence: u32, now: u64) {
        if self.timed == NOT_TIMED {
            (self.timed, self.timed_since) = (sequence, now);
        }
    }

    /// Times the round trip of an acknowledgement of new data, when `next` is the first segment that has not been sent;
    /// `echo`: with a mark.
    #[inline]
    pub(crate) fn take(&mut self, now: u64, answer: &Acknowledgement<'_>, next: u32, echo: bool) {
        if self.timestamps {
            self.estimator.end_back_off();
            self.sample(now, answer.next_expected, answer.echo, next);
        } else {
            self.take_without_timestamps(now, answer.next_expected, next, echo);
        }
    }

    /// The same where segments `before` this one are acknowledged, and acknowledgements have no timestamps.
    #[inline]
    pub(super) fn take_without_timestamps(&mut self, now: u64, before: u32, next: u32, echo: bool) {
        if before > self.timed {
            self.timed = NOT_TIMED;
            if !(self.marked_at_one && echo) {
                self.estimator.end_back_off();
                self.marked_at_one = false;
            }
            self.sample(now, before, self.timed_since, next);
        }
    }

    /// The same for an acknowledgement of a part of a window from which something was lost: without
    /// timestamps it times nothing.
    pub(crate) fn take_partial(&mut self, now: u64, answer: &Acknowledgement<'_>, next: u32) {
        if self.timestamps {
            self.take(now, answer, next, false);
        } else if answer.next_expected > self.timed {
            self.timed = NOT_TIMED;
            self.estimator.end_back_off();
        }
    }

    /// A segment that was `sent` once is reported beyond others that are missing, of which `first` is the first one;
    /// `next` as above.
    pub(crate) fn take_report(&mut self, now: u64, sent: u64, first: u32, next: u32) {
        self.estimator.end_back_off();
        self.estimator.sample(sent, now, first, next);
    }

    /// An acknowledgement of the segments `before` this one has timed a round trip that began at `sent`.
    #[inline]
    fn sample(&mut self, now: u64, before: u32, sent: u64, next: u32) {
        let Some(round_trip) = now.checked_sub(sent) else { return }; // an echo from the future
        self.estimator.sample(sent, now, before, next);
        self.last_round_trip = NonZeroU64::new(round_trip);
    }

    /// The round trip timed by the last acknowledgement, in nanoseconds.
    #[inline]
    pub(crate) fn last_round_trip(&self) -> Option<u64> {
        self.last_round_trip.map(NonZeroU64::get)
    }

    /// The same, once: nobody else is told of it.
    #[inline]
    pub(crate) fn take_last_round_trip(&mut self) -> Option<u64> {
        self.last_round_trip.take().map(NonZeroU64::get)
    }

    /// Another acknowledgement has come, which has timed none so far.
    #[inline]
    pub(crate) fn forget_last_round_trip(&mut self) {
        self.last_round_trip = None;
    }

    /// It has expired before the handshake was over.
    pub(crate) fn lengthen_in_handshake(&mut self) {
        match self.linear_handshake_timeouts.checked_sub(1) {
            Some(left) => self.linear_handshake_timeouts = left,
            None => self.estimator.back_off(),
        }
    }
}
