//! Startup looks for the bandwidth, Drain empties the queue that this has built.

use super::model::Model;
use super::report::Report;
use super::state::State;
use crate::delivery_rate::TOLERATED_LOSS;

/// Growth of the delivery rate in a round below which the pipe may be full.
const GROWTH: f64 = 1.25;

/// Rounds without that growth after which it is.
const ROUNDS_WITHOUT_GROWTH: u32 = 3;

/// Acknowledgements of a round that must reveal losses (BBRStartupFullLossCnt).
const LOSS_EVENTS: u32 = 6;

/// Rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u64 = 3;

impl Model {
    /// `CheckFullBWReached`.
    #[inline(always)]
    pub(super) fn check_full_pipe(&mut self, report: &Report) {
        if !self.round_start || self.pipe.now || report.application_limited {
            return;
        }
        if report.rate >= self.pipe.baseline * GROWTH {
            self.pipe.reset(report.rate);
            return;
        }
        self.pipe.rounds += 1;
        if self.pipe.rounds >= ROUNDS_WITHOUT_GROWTH {
            self.pipe.now = true;
            self.filled = true;
        }
    }

    /// Return true if one of the first two states is over.
    #[cold] // for a few round trips
    #[inline(never)]
    pub(super) fn check_early_states(&mut self, report: &Report) {
        self.check_startup_done(report);
        self.check_drain_done(report);
    }

    /// `CheckStartupDone`: a plateau, or a whole round of recovery with too many losses.
    fn check_startup_done(&mut self, report: &Report) {
        if self.state == State::Startup {
            self.loss_events += u32::from(report.losses);
            let too_many = report.lost > report.sent_in_network * TOLERATED_LOSS;
            if self.signals.round_start
                && report.in_recovery
                && self.loss_events >= LOSS_EVENTS
                && too_many
            {
                self.leave_startup_for_congestion();
            }
            if self.signals.round_start {
                self.loss_events = 0;
            }
        }
        if self.state == State::Startup && self.filled {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// The pipe is full, whatever the rates say: keep to what was delivered.
    pub(super) fn leave_startup_for_congestion(&mut self) {
        self.filled = true;
        self.pipe.now = true;
        let volume = self.volume(self.bandwidth.get(), 1.0);
        self.long_term_volume = volume.max(self.signals.volume);
    }

    /// `CheckDrainDone`.
    fn check_drain_done(&mut self, report: &Report) {
        if self.state == State::Drain
            && (report.in_network <= self.volume_in_network(self.usable_bandwidth, 1.0)
                || self.round_count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_down(report);
        }
    }
}
