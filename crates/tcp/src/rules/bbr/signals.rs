use super::report::Report;
use crate::numbers::greater;

/// The deliveries of the last round, in which losses are looked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliverySignals {
    /// Greatest rate of the round (`BBR.bw_latest`).
    pub(super) rate: f64,
    /// Greatest volume of the round (`BBR.inflight_latest`).
    pub(super) volume: f64,
    /// True if losses were found in it.
    pub(super) loss: bool,
    /// Deliveries at which it ends.
    ends_at: u64,
    /// Deliveries by the last acknowledgement.
    pub(super) delivered: u64,
    /// True if a new one begins with this acknowledgement (`BBR.loss_round_start`).
    pub(super) round_start: bool,
}

impl DeliverySignals {
    /// `NoteLoss`: the first one begins a round.
    pub(super) fn note_loss(&mut self) {
        if !self.loss {
            self.ends_at = self.delivered;
        }
        self.loss = true;
    }

    /// `UpdateLatestDeliverySignals`.
    #[inline(always)]
    pub(super) fn update(&mut self, report: &Report) {
        self.rate = greater(self.rate, report.rate);
        self.volume = greater(self.volume, report.volume);
        self.round_start = report.prior_delivered >= self.ends_at;
        if self.round_start {
            self.ends_at = report.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    #[inline(always)]
    pub(super) fn advance(&mut self, report: &Report) {
        if self.round_start {
            self.rate = report.rate;
            self.volume = report.volume;
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset(&mut self) {
        self.loss = false;
        self.rate = 0.0;
        self.volume = 0.0;
    }
}
