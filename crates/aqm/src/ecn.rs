//! The two bits of Explicit Congestion Notification in a packet's header (RFC 3168, RFC 9331).

/// A packet's ECN codepoint; the numbers are those of the header's bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT: it may only be dropped.
    #[default]
    NotCapable = 0b00,
    /// ECT(1): it may be marked, and its sender answers marks in proportion (RFC 9331).
    Ect1 = 0b01,
    /// ECT(0): it may be marked, and its sender answers a mark as it would a loss.
    Ect0 = 0b10,
    /// CE: some queue has marked it.
    CongestionExperienced = 0b11,
}

impl Ecn {
    /// Return true if a queue may mark the packet instead of dropping it.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Self::NotCapable
    }
}
