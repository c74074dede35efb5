//! Loss recovery: what a sender does between the third duplicate acknowledgement and the
//! acknowledgement that ends the episode.
//!
//! Fast retransmit is common to all ([`Sender`](crate::Sender)); the published answers to "does
//! this acknowledgement of new data end the recovery?" are a file each.

mod newreno;
mod reno;

use vermilion_parameters::Algorithm;

pub use newreno::NEWRENO;
pub use reno::RENO;

/// A published way of recovering from loss.
#[derive(Debug)]
pub struct Recovery {
    /// Name, source and parameter table.
    pub algorithm: Algorithm,
    /// Judges an acknowledgement of all segments before the first argument, where the second was
    /// the first segment not yet sent when the loss was noticed.
    pub judge: fn(u32, u32) -> Progress,
    /// Most new segments sent in answer to one duplicate acknowledgement during recovery.
    pub burst: u32,
}

/// What an acknowledgement of new data means during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Recovery is over.
    Complete,
    /// Another segment of the same window is missing and is sent again at once.
    Partial,
}
