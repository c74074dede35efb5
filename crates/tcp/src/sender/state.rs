//! What a sender counts, what it is about, and what it last did to its window.

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Segments sent again.
    pub retransmissions: u64,
}

/// State of the sender, in the order and with the meanings of Linux (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderState {
    /// Nothing is known to be missing.
    Open,
    /// Something has arrived beyond a gap that proves no loss yet.
    Disorder,
    /// A mark has reduced the window.
    Reduced,
    /// Losses are being repaired.
    Recovery,
    /// A timeout is being repaired.
    Loss,
}

/// Load of the network as a recovery sees it when the window is reduced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Segments that are outstanding, and neither reported nor lost.
    pub(crate) pipe: u32,
    /// Segments by which it lets more be outstanding than the window says.
    pub(crate) inflation: u32,
}

impl Load {
    /// That of a recovery that keeps to the window.
    pub(crate) fn of(pipe: u32) -> Self {
        Self { pipe, inflation: 0 }
    }
}

/// The last thing that reduced the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    None,
    Loss,
    Mark,
    Timeout,
}
