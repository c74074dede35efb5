//! What a sender counts, what it is about, and what it last did to its window.

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Segments sent again.
    pub retransmissions: u64,
}

/// What a sender is about, in the order and with the meanings of Linux (`tcp_ca_state`).
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

/// The last thing that reduced the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    None,
    Loss,
    Mark,
    Timeout,
}
