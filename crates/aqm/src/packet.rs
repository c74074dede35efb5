//! What a queue can read of a packet, and the one thing it may write.

use crate::Ecn;

/// Which packets to sacrifice first: the drop precedence of RFC 2597 and RFC 2697.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Colour {
    /// Within what was promised.
    #[default]
    Green = 0,
    /// Beyond it.
    Yellow = 1,
    /// Far beyond it: dropped first.
    Red = 2,
}

/// Numbers that a packet may carry from its sender through queues to its receiver, which returns them: explicit feedback.
pub type Header = [f64; 4];

/// A handle of a packet that a queue can keep.
pub trait Packet {
    /// Size in bytes.
    fn size(&self) -> u32;

    /// ECN codepoint.
    fn ecn(&self) -> Ecn;

    /// Sets the codepoint to [`Ecn::CongestionExperienced`]. Asked only of ECN-capable packets.
    fn mark(&mut self);

    /// Key shared by the packets of one flow alone (a hash of addresses
    /// and ports would do).
    fn flow(&self) -> u32 {
        0
    }

    /// Drop precedence.
    fn colour(&self) -> Colour {
        Colour::Green
    }

    /// Differentiated services codepoint (RFC 2474), 0 to 63.
    fn dscp(&self) -> u8 {
        0
    }

    /// Header, if it carries one. Asked only by disciplines that are [foreign](crate::ForeignDiscipline).
    fn header(&self) -> Option<Header> {
        None
    }

    /// Changes the header, of a packet that carries one.
    fn set_header(&mut self, _header: Header) {}

    /// Keys shared by the packets of one source host alone, and by those to one destination host.
    /// Asked only by queues that [read them](crate::Scheduler::READS_HOSTS).
    fn hosts(&self) -> [u32; 2] {
        [0; 2]
    }

    /// Return true if it is a TCP acknowledgement without data that says nothing which the acknowledgement `later` of
    /// the same flow does not say.
    fn is_superseded_by(&self, _later: &Self) -> bool {
        false
    }
}
