use super::RecoverySettings;
use crate::Acknowledgement;
use crate::rule::WindowRule;
use crate::scoreboard::DUPLICATES_FOR_LOSS;
use crate::sender::flight::Flight;
use crate::sender::state::Load;

/// Segments that an acknowledgement during NewReno's recovery releases at most.
const NEWRENO_BURST: u32 = 2;

/// Losses noticed by duplicate acknowledgements: Tahoe, Reno, NewReno.
///
/// Source: RFC 5681, section 3.2, and RFC 6582; ns-2.35 `tcp.cc`, `tcp-reno.cc`, `tcp-newreno.cc`.
///
/// Tahoe starts over: half the window becomes the threshold, the window becomes one segment, and
/// sending resumes behind the last acknowledged segment. Reno sends the missing segment again,
/// halves, and inflates the window by each further duplicate until any new data is acknowledged:
/// with several losses in one window the others usually cost a timeout, because within one window
/// there is no second fast retransmit. NewReno stays in recovery until everything outstanding at
/// its start has been acknowledged; an acknowledgement of less (a partial one) sends the next
/// missing segment again and deflates the window by what it acknowledged, less one; the
/// retransmission timer is restarted by the first partial one only ("impatient"); one duplicate
/// releases at most two new segments, as in ns-2.35.
#[derive(Clone, Debug, Default)]
pub struct Duplicates {
    /// True if a loss starts over with slow start, without fast recovery.
    starts_over: bool,
    /// True if recovery lasts until everything outstanding at its start is acknowledged.
    repairs_all: bool,
    limited_transmit: bool,
    duplicates: u32,
    in_recovery: bool,
    partial_seen: bool,
    /// Segments by which more may be outstanding than the window says: each duplicate stands for one that has
    /// arrived.
    inflation: u32,
}

impl Duplicates {
    pub(super) fn tahoe(set: &RecoverySettings) -> Self {
        Self { starts_over: true, ..Self::reno(set) }
    }

    pub(super) fn reno(set: &RecoverySettings) -> Self {
        Self { limited_transmit: set.limited_transmit, ..Self::default() }
    }

    pub(super) fn newreno(set: &RecoverySettings) -> Self {
        Self { repairs_all: true, ..Self::reno(set) }
    }

    #[inline]
    pub(super) fn choose(&mut self, flight: &mut Flight) -> Option<u32> {
        flight.choose_within(flight.window.congestion + f64::from(self.inflation))
    }

    /// Marks, duplicates, what ends them, and everything during recovery.
    #[inline(never)]
    pub(super) fn on_acknowledgement(
        &mut self,
        flight: &mut Flight,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        flight.allowance = 0;
        let acknowledged = answer.next_expected;
        if marked > 0 {
            flight.respond_to_marks(now, acknowledged, self.load(flight));
        }
        if acknowledged > flight.unacknowledged {
            let partial = self.in_recovery && self.repairs_all && acknowledged < flight.recover;
            if !partial {
                if std::mem::take(&mut self.in_recovery) {
                    self.partial_seen = false;
                    self.inflation = 0;
                }
                self.duplicates = 0;
                flight.whole = true;
                flight.advance(now, answer, marked);
                return;
            }
            self.advance_partially(flight, now, answer);
        } else if acknowledged == flight.unacknowledged && flight.highest > flight.unacknowledged {
            flight.whole = false;
            self.count_duplicate(flight, now);
        }
        // A rule that answers every mark hears of these with the next segment acknowledged.
        if marked > 0 && flight.rule.answers_marks() {
            flight.marks.give_back(marked);
        }
    }

    /// New data acknowledged, but not all of the window in which the loss happened.
    fn advance_partially(&mut self, flight: &mut Flight, now: u64, answer: &Acknowledgement<'_>) {
        let acknowledged = answer.next_expected;
        let newly = acknowledged - flight.unacknowledged;
        if !self.partial_seen {
            self.partial_seen = true;
            flight.timer.restart(now);
        }
        // Deflate by what was acknowledged, less the one retransmission that leaves now.
        if self.inflation > newly {
            self.inflation -= newly - 1;
        } else {
            flight.window.congestion =
                (flight.window.congestion - f64::from(newly - self.inflation)).max(1.0);
            self.inflation = 1;
        }
        flight.unacknowledged = acknowledged;
        flight.next = flight.next.max(acknowledged);
        flight.timer.take_partial(now, answer, flight.highest);
        flight.repair_first(acknowledged);
        self.allow_during_recovery(flight);
    }

    /// The same acknowledgement once more: something was lost, or overtaken.
    fn count_duplicate(&mut self, flight: &mut Flight, now: u64) {
        self.duplicates += 1;
        if self.duplicates == DUPLICATES_FOR_LOSS {
            self.notice_loss(flight, now);
            self.allow_during_recovery(flight);
        } else if self.duplicates > DUPLICATES_FOR_LOSS {
            if self.in_recovery {
                self.inflation += 1;
            }
            self.allow_during_recovery(flight);
        } else if self.limited_transmit {
            flight.transmit_limited(self.duplicates);
        }
    }

    fn allow_during_recovery(&self, flight: &mut Flight) {
        if self.duplicates >= DUPLICATES_FOR_LOSS {
            flight.allowance = if self.repairs_all { NEWRENO_BURST } else { u32::MAX };
        }
    }

    /// The third duplicate: send the missing segment again, reduce the window once per window.
    fn notice_loss(&mut self, flight: &mut Flight, now: u64) {
        // The first window may always be repaired, even if the opening segment was lost before it.
        if flight.unacknowledged > flight.recover || flight.unacknowledged == 1 {
            flight.reduce_for_loss(now, self.load(flight));
        } else if !flight.takes_last_reduction_for_marks() {
            return;
        }
        flight.timer.stop_timing();
        flight.timer.restart(now);
        if self.starts_over {
            flight.window.congestion = 1.0;
            flight.next = flight.unacknowledged;
            return;
        }
        self.in_recovery = true;
        self.partial_seen = false;
        self.inflation = DUPLICATES_FOR_LOSS;
        flight.repair_first(flight.unacknowledged);
    }

    fn load(&self, flight: &Flight) -> Load {
        Load { pipe: flight.flight_size(), inflation: self.inflation }
    }

    pub(super) fn on_timeout(&mut self, flight: &mut Flight) {
        self.duplicates = 0;
        self.in_recovery = false;
        self.partial_seen = false;
        self.inflation = 0;
        flight.next = flight.unacknowledged;
        flight.whole = true;
    }

    pub(super) fn in_network(&self, flight: &Flight) -> u32 {
        flight.outstanding()
    }

    /// Duplicates, each of which stands for an arrival; more than there can be are none (Linux:
    /// `tcp_limit_reno_sacked`). What a partial acknowledgement covers of them, nobody tells.
    pub(super) fn sacked(&self, flight: &Flight) -> u32 {
        self.duplicates.min(flight.flight_size().saturating_sub(1))
    }

    /// In recovery the first segment; where sending has begun anew behind it, all.
    pub(super) fn lost(&self, flight: &Flight) -> u32 {
        if flight.next < flight.highest || flight.is_repairing_timeout() {
            flight.flight_size()
        } else {
            u32::from(self.in_recovery)
        }
    }

    pub(super) fn is_repairing(&self) -> bool {
        self.in_recovery
    }

    pub(super) fn is_repairing_timeout(&self, flight: &Flight) -> bool {
        flight.is_repairing_timeout()
    }
}
