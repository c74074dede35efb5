use super::RecoverySettings;
use crate::Acknowledgement;
use crate::scoreboard::{DUPLICATES_FOR_LOSS, Scoreboard};
use crate::sender::flight::Flight;
use crate::sender::state::Load;

/// Recovery as ns-2's Sack1 does it: a count of packets in the network, kept by hand.
///
/// Source: K. Fall and S. Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP",
/// 1996; ns-2.35 `tcp-sack1.cc`, `scoreboard-rq.cc`. From the third duplicate acknowledgement on,
/// `pipe` falls by one with every acknowledgement, by two with a partial one, and rises with every
/// segment sent; while it is below the window, holes below the highest report are sent again, each
/// once, and then new data. Unlike RFC 6675, a hole is not discounted before it is sent again. The
/// scoreboard is forgotten at a timeout (go-back-N), after which duplicates are ignored until new
/// data is acknowledged. The acknowledgement that ends recovery does not grow the window.
#[derive(Clone, Debug)]
pub struct Sack1 {
    board: Scoreboard,
    /// Segments in the network by this count.
    pipe: i64,
    /// Holes before this have been sent again already.
    tried: u32,
    duplicates: u32,
    limited_transmit: bool,
    in_recovery: bool,
    /// True if a timeout is being repaired: until new data is acknowledged.
    after_timeout: bool,
}

impl Sack1 {
    pub(super) fn new(set: &RecoverySettings, first: u32) -> Self {
        let mut board = Scoreboard::default();
        board.acknowledge(first);
        Self {
            board,
            pipe: 0,
            tried: 0,
            duplicates: 0,
            limited_transmit: set.limited_transmit,
            in_recovery: false,
            after_timeout: false,
        }
    }

    pub(super) fn choose(&mut self, flight: &mut Flight) -> Option<u32> {
        if !self.in_recovery {
            return flight.choose_in_order();
        }
        if self.pipe >= i64::from(flight.window.congestion as u32) {
            return None;
        }
        let sequence = if let Some(hole) = self.board.next_unreported(self.tried) {
            self.tried = hole + 1;
            hole
        } else if flight.has_new_data() {
            flight.take_next()
        } else {
            return None;
        };
        self.pipe += 1;
        Some(sequence)
    }

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
            flight.respond_to_marks(now, acknowledged, Load::of(self.unreported(flight)));
        }
        if acknowledged < flight.unacknowledged {
            return;
        }
        let newly = acknowledged > flight.unacknowledged;
        let complete = self.in_recovery && acknowledged >= flight.recover;
        if newly && (complete || !self.in_recovery) {
            let window = flight.window;
            self.duplicates = 0;
            flight.advance(now, answer, marked);
            if complete {
                self.in_recovery = false;
                flight.recover = 0;
                flight.window = window;
            }
            self.board.clear();
            self.board.acknowledge(acknowledged);
            self.after_timeout = false;
            return;
        }
        if self.in_recovery {
            self.pipe -= 1 + i64::from(newly);
        }
        if newly {
            flight.unacknowledged = acknowledged;
            flight.next = flight.next.max(acknowledged);
            self.board.acknowledge(acknowledged);
            flight.timer.estimator.end_back_off();
            flight.timer.take(now, answer, flight.highest, marked > 0);
            flight.timer.restart(now);
        }
        if self.after_timeout || flight.highest == flight.unacknowledged {
            flight.allowance = if newly { u32::MAX } else { 0 };
            return;
        }
        let mut changed = false;
        for &(first, after) in answer.blocks {
            self.board.report(first, after.min(flight.highest), |_, _| changed = true);
        }
        if !self.in_recovery && changed {
            self.duplicates += 1;
            if self.duplicates == DUPLICATES_FOR_LOSS {
                self.notice_loss(flight, now);
            } else if self.duplicates < DUPLICATES_FOR_LOSS && self.limited_transmit {
                flight.transmit_limited(self.duplicates);
            }
        }
    }

    fn notice_loss(&mut self, flight: &mut Flight, now: u64) {
        if flight.unacknowledged > flight.recover || flight.unacknowledged == 1 {
            flight.reduce_for_loss(now, Load::of(self.unreported(flight)));
        } else if !flight.takes_last_reduction_for_marks() {
            return;
        }
        flight.timer.stop_timing();
        flight.timer.restart(now);
        self.in_recovery = true;
        flight.repair_first(flight.unacknowledged);
        self.pipe = i64::from(flight.flight_size()) - i64::from(DUPLICATES_FOR_LOSS);
        self.tried = flight.unacknowledged + 1;
    }

    /// Go-back-N: what was reported counts no more.
    pub(super) fn on_timeout(&mut self, flight: &mut Flight) {
        self.in_recovery = false;
        self.duplicates = 0;
        flight.next = flight.unacknowledged;
        self.board.clear();
        self.board.acknowledge(flight.unacknowledged);
        self.after_timeout = true;
    }

    /// Outstanding segments that have not been reported.
    pub(super) fn unreported(&self, flight: &Flight) -> u32 {
        self.board.in_network(flight.outstanding())
    }

    pub(super) fn in_network(&self, flight: &Flight) -> u32 {
        if self.in_recovery { self.pipe.max(0) as u32 } else { self.unreported(flight) }
    }

    pub(super) fn sacked(&self, _flight: &Flight) -> u32 {
        self.board.arrived()
    }

    /// In recovery what is missing below the highest report; after a timeout all.
    pub(super) fn lost(&self, flight: &Flight) -> u32 {
        if self.after_timeout {
            return flight.flight_size();
        }
        let first_missing = |from| self.board.next_unreported(from);
        let next = |hole: &u32| first_missing(hole + 1);
        let holes = first_missing(flight.unacknowledged).filter(|_| self.in_recovery);
        std::iter::successors(holes, next).count() as u32
    }

    pub(super) fn is_repairing(&self) -> bool {
        self.in_recovery
    }

    pub(super) fn is_repairing_timeout(&self, _flight: &Flight) -> bool {
        self.after_timeout
    }
}
