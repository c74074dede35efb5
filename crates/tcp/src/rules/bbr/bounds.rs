//! What losses teach: short-term bounds outside probes, the long-term bound within them.

use super::model::Model;
use super::report::Report;
use super::state::{LEAST_WINDOW, State};
use crate::delivery_rate::{LossSample, TOLERATED_LOSS};
use crate::numbers::greater;

/// Factor by which a round with losses lowers the bounds at most (BBR.Beta).
const DECREASE: f64 = 0.7;

/// Share of the long-term bound left to others (BBR.Headroom).
const HEADROOM: f64 = 0.15;

/// Of a flight in which `loss` was one too many, what was in the network when losses crossed the
/// threshold (`InflightAtLoss`).
pub(super) fn volume_at_loss(loss: &LossSample) -> f64 {
    let before = f64::from(loss.sent_in_network) - 1.0;
    let lost_before = loss.lost as f64 - 1.0;
    before + (TOLERATED_LOSS * before - lost_before) / (1.0 - TOLERATED_LOSS)
}

impl Model {
    /// `HandleLostPacket` for what the acknowledgement reveals, and the answer to marks.
    #[inline(always)]
    pub(super) fn handle_losses(&mut self, report: &mut Report) {
        self.signals.delivered = report.delivered;
        if report.losses {
            self.signals.note_loss();
        }
        let judges = self.cycle.sampling && report.loss.is_some();
        if judges || self.marked {
            (report.sent_in_network, report.lost) = self.judge_losses(report.apart());
        }
    }

    /// Where a loss is to be judged, or marks have been answered: in place of what was in the network and what was
    /// lost, the same of the segment that was lost.
    #[inline(never)]
    fn judge_losses(&mut self, mut report: Report) -> (f64, f64) {
        if let Some(loss) = report.loss
            && self.cycle.sampling
        {
            report.sent_in_network = f64::from(loss.sent_in_network);
            report.lost = loss.lost as f64;
            if loss.is_too_much() {
                report.sent_in_network = volume_at_loss(&loss);
                self.bound_long_term(&report, loss.application_limited);
            }
        }
        if std::mem::take(&mut self.marked) {
            self.signals.note_loss();
            if self.state == State::Startup {
                self.leave_startup_for_congestion();
            } else if self.cycle.sampling {
                self.bound_long_term(&report, report.application_limited);
            }
        }
        (report.sent_in_network, report.lost)
    }

    /// `HandleInflightTooHigh`.
    fn bound_long_term(&mut self, report: &Report, application_limited: bool) {
        self.cycle.too_high = true;
        self.cycle.sampling = false;
        if !application_limited {
            let least = self.target(report.window) * DECREASE;
            self.long_term_volume = report.sent_in_network.max(least);
        }
        if self.state == State::Up {
            self.start_down(report);
        }
    }

    /// `UpdateCongestionSignals` without the bandwidth filter: once per round, answer losses.
    #[inline(always)]
    pub(super) fn adapt_short_term_bounds(&mut self, report: &Report) {
        if !self.signals.round_start {
            return;
        }
        if self.signals.loss && !self.state.is_accelerating() {
            if self.short_term_bandwidth.is_infinite() {
                self.short_term_bandwidth = self.bandwidth.get();
            }
            if self.short_term_volume.is_infinite() {
                self.short_term_volume = report.window;
            }
            self.short_term_bandwidth = self.signals.rate.max(DECREASE * self.short_term_bandwidth);
            self.short_term_volume = self.signals.volume.max(DECREASE * self.short_term_volume);
        }
        self.signals.loss = false;
    }

    /// `ResetShortTermModel`.
    pub(super) fn forget_short_term(&mut self) {
        self.short_term_bandwidth = f64::INFINITY;
        self.short_term_volume = f64::INFINITY;
    }

    /// `InflightWithHeadroom`.
    #[inline(always)]
    pub(super) fn volume_with_headroom(&self) -> f64 {
        if self.long_term_volume == f64::INFINITY {
            return f64::INFINITY;
        }
        let headroom = greater(HEADROOM * self.long_term_volume, 1.0);
        greater(self.long_term_volume - headroom, LEAST_WINDOW)
    }
}
