//! ProbeBW: slow down, cruise, refill the pipe, speed up; again and again.

use super::model::{Feedback, Model};
use super::report::Report;
use super::state::State;
use crate::delivery_rate::TOLERATED_LOSS;
use crate::numbers::{greater, lesser, mix, real};

const SECOND: u64 = 1_000_000_000;

/// Most rounds between probes, for coexistence with Reno and CUBIC.
const MOST_ROUNDS: f64 = 63.0;

impl Model {
    #[inline(never)]
    pub(super) fn start_down(&mut self, report: &Report) {
        self.signals.reset();
        self.raise.each = f64::INFINITY;
        self.pick_wait(report);
        self.cycle.start = report.now;
        self.cycle.feedback = Feedback::Stopping;
        self.start_round(report);
        self.state = State::Down;
    }

    /// `PickProbeWait`: 2 to 3 s, and 0 or 1 of the rounds waited already.
    fn pick_wait(&mut self, report: &Report) {
        let bits = mix(report.now, report.delivered);
        self.cycle.rounds_since_probe = bits & 1;
        self.cycle.wait = 2 * SECOND + (bits >> 1) % SECOND;
    }

    #[cold]
    #[inline(never)]
    fn start_refill(&mut self, report: &Report) {
        self.forget_short_term();
        self.raise.rounds = 0;
        self.raise.acknowledged = 0.0;
        self.cycle.precautionary = false;
        self.cycle.feedback = Feedback::Refilling;
        self.start_round(report);
        self.state = State::Refill;
    }

    #[cold]
    #[inline(never)]
    fn start_up(&mut self, report: &Report) {
        self.cycle.sampling = true;
        self.cycle.feedback = Feedback::Starting;
        self.start_round(report);
        self.pipe.reset(report.rate);
        self.state = State::Up;
        self.raise_slope(report);
    }

    /// `UpdateProbeBWCyclePhase`.
    #[inline(always)]
    pub(super) fn update_cycle(&mut self, report: &Report) {
        if !self.filled || self.adapt_long_term(report) {
            return;
        }
        match self.state {
            State::Down => {
                if self.is_time_to_probe(report) {
                    self.start_refill(&report.apart());
                } else if self.is_time_to_cruise(report) {
                    self.state = State::Cruise;
                }
            }
            State::Cruise => {
                if self.is_time_to_probe(report) {
                    self.start_refill(&report.apart());
                }
            }
            State::Refill => {
                if self.round_start {
                    self.start_up(&report.apart());
                }
            }
            State::Up => {
                self.go_down_in_time(&report.apart());
            }
            State::Startup | State::Drain | State::ProbeRoundTrip => {}
        }
    }

    /// `AdaptLongTermModel`. Whether it has changed the state.
    #[inline(always)]
    fn adapt_long_term(&mut self, report: &Report) -> bool {
        if self.round_start && self.advance_feedback(&report.apart()) {
            return true;
        }
        let too_high = report.lost > report.sent_in_network * TOLERATED_LOSS;
        if !too_high && self.long_term_volume < f64::INFINITY {
            self.long_term_volume = greater(self.long_term_volume, report.sent_in_network);
            if self.state == State::Up {
                self.raise_long_term(&report.apart());
            }
        }
        false
    }

    /// A round begins: what acknowledgements tell of a probe may be something else now. Whether it has changed
    /// the state.
    #[cold] // once in a round
    #[inline(never)]
    fn advance_feedback(&mut self, report: &Report) -> bool {
        if self.cycle.feedback == Feedback::Starting {
            self.cycle.feedback = Feedback::Probing;
        }
        if self.cycle.feedback == Feedback::Stopping {
            self.cycle.sampling = false;
            self.cycle.feedback = Feedback::None;
            if self.state.is_cycling() {
                if !report.application_limited {
                    self.bandwidth.advance();
                }
                if self.cycle.precautionary && !self.cycle.too_high {
                    self.start_refill(report);
                    return true;
                }
            }
        }
        false
    }

    /// `ProbeInflightLongtermUpward`.
    #[inline(never)]
    fn raise_long_term(&mut self, report: &Report) {
        if !report.window_full || report.window < self.long_term_volume.floor() {
            return;
        }
        self.raise.acknowledged += report.newly;
        let raise = (self.raise.acknowledged / self.raise.each).floor();
        if raise >= 1.0 {
            self.raise.acknowledged -= raise * self.raise.each;
            self.long_term_volume += raise;
        }
        if self.round_start {
            self.raise_slope(report);
        }
    }

    /// `RaiseInflightLongtermSlope`: 1, 2, 4, ... segments in each successive round.
    fn raise_slope(&mut self, report: &Report) {
        let growth = f64::from(1_u32 << self.raise.rounds);
        self.raise.rounds = (self.raise.rounds + 1).min(30);
        self.raise.each = (report.window / growth).max(1.0);
    }

    #[inline(always)]
    fn is_time_to_probe(&self, report: &Report) -> bool {
        let rounds = lesser(self.target(report.window), MOST_ROUNDS);
        report.now > self.cycle.start + self.cycle.wait
            || real(self.cycle.rounds_since_probe) >= rounds
    }

    #[inline(always)]
    fn is_time_to_cruise(&self, report: &Report) -> bool {
        report.in_network <= self.volume_with_headroom()
            && report.in_network <= self.volume_in_network(self.bandwidth.get(), 1.0)
    }

    #[cold] // for a few round trips
    #[inline(never)]
    fn go_down_in_time(&mut self, report: &Report) {
        if self.is_time_to_go_down(report) {
            self.cycle.too_high = false;
            self.start_down(report);
        }
    }

    fn is_time_to_go_down(&mut self, report: &Report) -> bool {
        if self.cycle.too_high && report.in_network_before >= self.long_term_volume.floor() {
            self.cycle.precautionary = true;
            return true;
        }
        if report.window_full && report.window >= self.long_term_volume.floor() {
            self.pipe.reset(report.rate);
            return false;
        }
        self.pipe.now
    }
}
