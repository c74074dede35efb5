use crate::RoundTripEstimator;
use crate::scoreboard::Scoreboard;
use crate::sender::flight::Flight;
use crate::sender::timer::RetransmissionTimer;
use crate::sent::{Sent, SentSegments};

/// Facts known when a timeout asks whether the window has been reduced for the same losses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repairing {
    /// Losses that were noticed before a timeout are being repaired.
    pub(crate) losses: bool,
    /// A timeout is being repaired.
    pub(crate) timeout: bool,
    /// Nothing has been acknowledged since that.
    pub(crate) stalled: bool,
}

/// Way in which a sender with selective acknowledgements notices that a segment is lost: by what has arrived beyond it
/// (`by_arrivals.rs`), or by time (`rack.rs`). What both do with a loss is in `selective.rs`.
///
/// What only judging by time needs does nothing where it is not implemented.
pub(crate) trait Judge: Clone + std::fmt::Debug + 'static {
    /// True if it wants to know of every segment that leaves and arrives.
    const WATCHES: bool;
    /// True if, when there is nothing else to send, what has not been reported goes again although nothing says
    /// that it is lost (RFC 6675, NextSeg, rules 3 and 4).
    const RESENDS_UNREPORTED: bool;

    /// Marks segments as lost and calls `newly` for each; `repairing`: losses or a timeout are being repaired;
    /// `sent`: what is kept for delivery rates. How many.
    fn find_losses(
        &mut self,
        now: u64,
        board: &mut Scoreboard,
        sent: &SentSegments<Sent>,
        clock: &RoundTripEstimator,
        repairing: bool,
        newly: impl FnMut(u32),
    ) -> u32;

    /// Return true if a timeout finds a window that has been reduced already.
    fn has_reduced(&self, flight: &Flight, repairing: Repairing) -> bool;

    /// Repair of losses begins.
    fn on_begin(&mut self);

    /// The retransmission timer has expired.
    fn on_timeout(&mut self);

    /// Return true if a timeout takes segment `sequence` for lost, which has not been reported and is not the first.
    fn is_overdue(&self, _now: u64, _sequence: u32, _sent: &SentSegments<Sent>) -> bool {
        true
    }

    /// Return true if the retransmission timer runs anew when repair begins.
    fn restarts_timer(&self) -> bool {
        true
    }

    /// Return true if an acknowledgement of a part of what is repaired leaves the timer alone.
    fn leaves_timer(&mut self) -> bool {
        false
    }

    /// Return true if the acknowledgement that ends the repair of a timeout counts for what it covers beyond it.
    fn counts_beyond_timeout(&self) -> bool {
        false
    }

    /// When segment `sequence` was sent last, if that is known; `sent`: what is kept for delivery rates.
    fn last_sending(&self, _sequence: u32, _sent: &SentSegments<Sent>) -> Option<u64> {
        None
    }

    /// Segment `sequence` leaves; `repairs`: not for the first time, and as many have ever been sent.
    fn note_sent(&mut self, _now: u64, _sequence: u32, _repairs: Option<u32>) {}

    /// Segment `sequence` has arrived; `again`: it had been sent again.
    fn note_delivered(&mut self, _now: u64, _sequence: u32, _again: bool) {}

    /// The same where it is known that it had been sent at `sent`.
    fn note_arrival(&mut self, _now: u64, _sequence: u32, _again: bool, _sent: u64) {}

    /// All outstanding segments before `acknowledged` have arrived, each of which was sent once, and nothing is
    /// known of those after them.
    fn note_all_delivered(&mut self, _now: u64, _acknowledged: u32) {}

    /// Forgets what has been acknowledged.
    fn forget_before(&mut self, _acknowledged: u32) {}

    /// Return true if a probe is in the network.
    fn is_probing(&self) -> bool {
        false
    }

    /// Return true if a new segment waits for others to leave with it, while so many are in the network and nothing is
    /// repaired; `sent`: what is kept for delivery rates.
    fn defers(
        &mut self,
        _now: u64,
        _flight: &Flight,
        _in_network: u32,
        _sent: &SentSegments<Sent>,
    ) -> bool {
        false
    }

    /// A new segment leaves at `now` besides at least two: a probe waits from then on.
    fn put_probe_off(&mut self, _now: u64, _timer: &RetransmissionTimer) {}

    /// Arms the probe if one is `wanted`; else disarms it.
    fn plan_probe(
        &mut self,
        _now: u64,
        _wanted: bool,
        _outstanding: u32,
        _timer: &RetransmissionTimer,
    ) {
    }

    /// Return true if an acknowledgement of all before `acknowledged`, or a `duplicate`, tells that a probe has repaired
    /// a loss.
    fn judge_probe(&mut self, _acknowledged: u32, _duplicate: bool) -> bool {
        false
    }
}
