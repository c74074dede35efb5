//! Loss recovery: what a sender does between the third duplicate acknowledgement and the
//! acknowledgement that ends the episode.
//!
//! Fast retransmit is common to all ([`Sender`](crate::Sender)); the two published answers to
//! "does this acknowledgement of new data end the recovery?" are a file each.

mod newreno;
mod reno;

use vermilion_parameters::Algorithm;

pub use newreno::NEWRENO;
pub use reno::RENO;

/// A published way of recovering from loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Any new acknowledgement ends it ([`reno`]).
    Reno,
    /// It lasts until all that was outstanding is acknowledged ([`newreno`]).
    NewReno,
}

/// What an acknowledgement of new data means during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Recovery is over.
    Complete,
    /// Another segment of the same window is missing and is sent again at once.
    Partial,
}

impl Recovery {
    /// The description shown to users.
    #[must_use]
    pub const fn algorithm(self) -> &'static Algorithm {
        match self {
            Self::Reno => &RENO,
            Self::NewReno => &NEWRENO,
        }
    }

    /// Judges an acknowledgement of all segments before `acknowledged`, where `recover` was the
    /// first segment not yet sent when the loss was noticed.
    #[inline]
    #[must_use]
    pub fn judge(self, acknowledged: u32, recover: u32) -> Progress {
        match self {
            Self::Reno => reno::judge(),
            Self::NewReno => newreno::judge(acknowledged, recover),
        }
    }

    /// Most new segments sent in answer to one duplicate acknowledgement during recovery.
    #[inline]
    #[must_use]
    pub fn burst_in_recovery(self) -> u32 {
        match self {
            Self::Reno => u32::MAX,
            Self::NewReno => newreno::BURST,
        }
    }
}
