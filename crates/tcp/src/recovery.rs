//! How losses are noticed and repaired: the recoveries, under `recovery/`.
//!
//! Those that go by duplicate acknowledgements (Tahoe, Reno, NewReno) differ in two answers and share a file
//! (`duplicates.rs`). Two have the scoreboard of RFC 6675 (`selective.rs`), and differ in how they notice that a segment
//! is lost (`judge.rs`): by what has arrived beyond it (`by_arrivals.rs`), or by time (`rack.rs`). Linux without selective
//! acknowledgements (`counted.rs`) and ns-2's Sack1 (`sack1.rs`) have files of their own.
//!
//! A recovery is a state machine that owns what it knows of the segments in the network. It works on the
//! [`Flight`], which is what all of them share: sequence numbers, window, timer. The sender asks it which segment may
//! leave, what an acknowledgement means, what follows from a timeout, whether a timer of its own is due, and how
//! much it takes to be in the network. Which recovery a sender under way has is asked in this file and nowhere else.
//!
//! A flight of which nothing is known to be missing is the same for all: then the sender does not ask the
//! recovery ([`Flight::whole`]).

mod by_arrivals;
mod counted;
mod duplicates;
mod judge;
mod options;
mod proportional;
mod rack;
mod reduced_before;
mod sack1;
mod selective;

use crate::sender::flight::Flight;
use crate::sender::segmentation::Segmentation;
use crate::{Acknowledgement, SenderOptions, SenderState};
use by_arrivals::ByArrivals;
use counted::Counted;
use duplicates::Duplicates;
pub use options::{Recovery, RecoveryDialect, RecoverySettings, ReductionBound};
use rack::Rack;
use sack1::Sack1;
use selective::Selective;

/// A recovery under way.
#[derive(Clone, Debug)]
pub(crate) enum AnyRecovery {
    /// By duplicate acknowledgements: Tahoe, Reno, NewReno.
    Duplicates(Duplicates),
    /// By counting them: Linux without selective acknowledgements.
    Counted(Box<Counted>),
    /// By selective acknowledgements, as ns-2 has it.
    Sack1(Box<Sack1>),
    /// By selective acknowledgements, and what has arrived beyond them.
    Selective(Box<Selective<ByArrivals>>),
    /// By selective acknowledgements, and time.
    Rack(Box<Selective<Rack>>),
}

/// The same call for whichever it is.
macro_rules! each {
    ($self:expr, $recovery:ident => $call:expr) => {
        match $self {
            AnyRecovery::Duplicates($recovery) => $call,
            AnyRecovery::Counted($recovery) => $call,
            AnyRecovery::Sack1($recovery) => $call,
            AnyRecovery::Selective($recovery) => $call,
            AnyRecovery::Rack($recovery) => $call,
        }
    };
}

impl AnyRecovery {
    /// The recovery of a connection of which nothing is outstanding; `first`: its first segment.
    pub(crate) fn new(options: &SenderOptions, first: u32) -> Self {
        let set = &options.common.repair;
        match options.recovery {
            Recovery::Tahoe => Self::Duplicates(Duplicates::tahoe(set)),
            Recovery::Reno => Self::Duplicates(Duplicates::reno(set)),
            Recovery::NewReno => Self::Duplicates(Duplicates::newreno(set)),
            Recovery::LinuxNewReno => Self::Counted(Box::new(Counted::new(set))),
            Recovery::Sack1 => Self::Sack1(Box::new(Sack1::new(set, first))),
            Recovery::Sack => Self::Selective(Box::new(Selective::by_arrivals(options, first))),
            Recovery::Rack => Self::Rack(Box::new(Selective::by_time(options, first))),
        }
    }

    /// That of a connection that has nothing to repair: not begun, or over.
    pub(crate) fn idle() -> Self {
        Self::Duplicates(Duplicates::default())
    }

    /// Return true if it treats a flight of which nothing is missing as all others do, from the start on.
    pub(crate) fn begins_whole(&self) -> bool {
        matches!(self, Self::Duplicates(_))
    }

    /// The next segment that may leave at `now`.
    #[inline(always)] // for every packet, as those who ask for it
    pub(crate) fn choose(&mut self, flight: &mut Flight, now: u64) -> Option<u32> {
        match self {
            Self::Duplicates(recovery) => recovery.choose(flight),
            Self::Counted(recovery) => recovery.choose(flight),
            Self::Sack1(recovery) => recovery.choose(flight),
            Self::Selective(recovery) => recovery.choose(flight, now),
            Self::Rack(recovery) => recovery.choose(flight, now),
        }
    }

    /// An acknowledgement has arrived at `now` that tells of so many new marks.
    #[inline]
    pub(crate) fn on_acknowledgement(
        &mut self,
        flight: &mut Flight,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        each!(self, recovery => recovery.on_acknowledgement(flight, now, answer, marked));
    }

    /// The same by the way that is right for any acknowledgement.
    #[cfg(test)]
    pub(crate) fn on_acknowledgement_at_length(
        &mut self,
        flight: &mut Flight,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        match self {
            Self::Selective(recovery) => recovery.weigh(flight, now, answer, marked),
            Self::Rack(recovery) => recovery.weigh(flight, now, answer, marked),
            _ => self.on_acknowledgement(flight, now, answer, marked),
        }
    }

    /// Segment `sequence` leaves at `now`; `again`: not for the first time.
    #[inline(always)] // as above
    pub(crate) fn note_sent(&mut self, flight: &mut Flight, now: u64, sequence: u32, again: bool) {
        match self {
            Self::Duplicates(_) | Self::Sack1(_) => {}
            Self::Counted(recovery) => recovery.note_sent(),
            Self::Selective(recovery) => recovery.note_sent(flight, now, sequence, again),
            Self::Rack(recovery) => recovery.note_sent(flight, now, sequence, again),
        }
    }

    /// Return true if something makes bursts of its segments.
    #[inline]
    pub(crate) fn makes_bursts(&self) -> bool {
        matches!(self, Self::Rack(recovery) if recovery.makes_bursts())
    }

    /// Segmentation into bursts, if there is any, and the shortest round trip, in nanoseconds.
    #[inline]
    pub(crate) fn segmentation(&mut self) -> Option<(&mut Segmentation, u64)> {
        match self {
            Self::Rack(recovery) => recovery.segmentation(),
            _ => None,
        }
    }

    /// Return true if a timeout finds a window that has been reduced for the same losses already.
    pub(crate) fn has_reduced(&self, flight: &Flight) -> bool {
        match self {
            Self::Duplicates(_) | Self::Sack1(_) => reduced_before::as_in_ns2(flight),
            Self::Counted(recovery) => recovery.has_reduced(flight),
            Self::Selective(recovery) => recovery.has_reduced(flight),
            Self::Rack(recovery) => recovery.has_reduced(flight),
        }
    }

    /// The retransmission timer has expired at `now`, and the threshold is what it will be.
    pub(crate) fn on_timeout(&mut self, flight: &mut Flight, now: u64) {
        match self {
            Self::Duplicates(recovery) => recovery.on_timeout(flight),
            Self::Counted(recovery) => recovery.on_timeout(flight),
            Self::Sack1(recovery) => recovery.on_timeout(flight),
            Self::Selective(recovery) => recovery.on_timeout(flight, now),
            Self::Rack(recovery) => recovery.on_timeout(flight, now),
        }
    }

    /// When a timer of its own is due, in nanoseconds; `u64::MAX` for never.
    #[inline]
    pub(crate) fn deadline(&self) -> u64 {
        match self {
            Self::Rack(recovery) => recovery.deadline(),
            _ => u64::MAX,
        }
    }

    /// Return true if something is due at `now` that goes before a timeout that is due as well.
    pub(crate) fn precedes_timeout(&self, now: u64) -> bool {
        match self {
            Self::Rack(recovery) => recovery.probe_is_due(now),
            _ => false,
        }
    }

    /// A timer of its own may be due.
    pub(crate) fn on_timer(&mut self, flight: &mut Flight, now: u64) {
        if let Self::Rack(recovery) = self {
            recovery.on_timer(flight, now);
        }
    }

    /// Segments in the network.
    pub(crate) fn in_network(&self, flight: &Flight) -> u32 {
        each!(self, recovery => recovery.in_network(flight))
    }

    /// Segments outstanding when the window is reduced, as far as it is neither reported nor lost.
    pub(crate) fn pipe(&self, flight: &Flight) -> u32 {
        match self {
            Self::Duplicates(_) | Self::Counted(_) => flight.flight_size(),
            Self::Sack1(recovery) => recovery.unreported(flight),
            Self::Selective(recovery) => recovery.in_network(flight),
            Self::Rack(recovery) => recovery.in_network(flight),
        }
    }

    /// Segments that have arrived beyond the first missing one, as far as it knows.
    pub(crate) fn sacked(&self, flight: &Flight) -> u32 {
        each!(self, recovery => recovery.sacked(flight))
    }

    /// Segments that are taken for lost and have not arrived since.
    pub(crate) fn lost(&self, flight: &Flight) -> u32 {
        each!(self, recovery => recovery.lost(flight))
    }

    /// Return true if losses are being repaired that were noticed before a timeout.
    #[inline]
    pub(crate) fn is_repairing(&self) -> bool {
        each!(self, recovery => recovery.is_repairing())
    }

    /// State of the sender.
    pub(crate) fn state(&self, flight: &Flight) -> SenderState {
        if self.is_repairing() {
            SenderState::Recovery
        } else if each!(self, recovery => recovery.is_repairing_timeout(flight)) {
            SenderState::Loss
        } else if flight.is_reduced_for_marks() {
            SenderState::Reduced
        } else if self.sacked(flight) > 0 {
            SenderState::Disorder
        } else {
            SenderState::Open
        }
    }
}
