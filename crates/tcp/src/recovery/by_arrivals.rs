use super::judge::{Judge, Repairing};
use super::options::{RecoveryDialect, RecoverySettings};
use super::reduced_before;
use crate::RoundTripEstimator;
use crate::scoreboard::Scoreboard;
use crate::sender::flight::Flight;
use crate::sent::{Sent, SentSegments};

/// Losses noticed by what has arrived beyond them: RFC 6675, which needs no timer for it.
///
/// Rules of ns-3.37 (`tcp-socket-base.cc`), where one asks for them with `recovery_dialect`:
/// 1. Recovery does not restart the retransmission timer when it begins, and only its first partial
///    acknowledgement does (the "impatient" variant of RFC 6582). Repairs that take longer than the
///    timeout end in slow start, and what was on its way is sent a second time.
/// 2. The acknowledgement that ends the repair of a timeout counts for what it covers beyond the point
///    of recovery: as a rule for nothing, and the window does not grow.
/// 3. Every timeout sets the threshold anew, also one while an earlier one is being repaired: ns-3 asks for a
///    head that has been sent again after it has forgotten which were.
#[derive(Clone, Debug)]
pub struct ByArrivals {
    timeouts_of_ns3: bool,
    /// True if a part of what is being repaired has been acknowledged.
    partial_seen: bool,
}

impl ByArrivals {
    pub(super) fn new(set: &RecoverySettings) -> Self {
        let timeouts_of_ns3 = set.recovery_dialect == RecoveryDialect::Ns3;
        Self { timeouts_of_ns3, partial_seen: false }
    }
}

impl Judge for ByArrivals {
    const WATCHES: bool = false;
    const RESENDS_UNREPORTED: bool = true;

    fn find_losses(
        &mut self,
        _now: u64,
        board: &mut Scoreboard,
        _sent: &SentSegments<Sent>,
        _clock: &RoundTripEstimator,
        _repairing: bool,
        newly: impl FnMut(u32),
    ) -> u32 {
        board.judge_by_arrivals(newly)
    }

    fn has_reduced(&self, flight: &Flight, repairing: Repairing) -> bool {
        !self.timeouts_of_ns3 && reduced_before::as_published(flight, repairing.timeout)
    }

    fn on_begin(&mut self) {
        self.partial_seen = false;
    }

    fn on_timeout(&mut self) {
        self.partial_seen = false;
    }

    fn restarts_timer(&self) -> bool {
        !self.timeouts_of_ns3
    }

    fn leaves_timer(&mut self) -> bool {
        self.timeouts_of_ns3 && std::mem::replace(&mut self.partial_seen, true)
    }

    fn counts_beyond_timeout(&self) -> bool {
        self.timeouts_of_ns3
    }
}
