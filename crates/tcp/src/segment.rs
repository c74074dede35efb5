//! What crosses the network.

/// A segment on its way to the receiver. Sequence numbers count segments; 0 is the one that opens
/// the connection (SYN) and carries no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment.
    pub sequence: u32,
    /// Whether it may be marked instead of dropped (ECT).
    pub ecn_capable: bool,
    /// Whether a queue has marked it (CE).
    pub congestion_experienced: bool,
    /// Whether the sender says that it has reduced its window (CWR).
    pub window_reduced: bool,
}

/// An acknowledgement on its way to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The next segment the receiver waits for: all before it have arrived.
    pub next_expected: u32,
    /// The receiver's echo of a mark (ECE).
    pub congestion_echo: bool,
}
