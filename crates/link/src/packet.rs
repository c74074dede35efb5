use vermilion_aqm::{Colour, Ecn, Packet};

use crate::header::Label;

/// Packet that is kept: where its bytes are, and what a queue has to know of it. A queue has it in place of the packet.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Its place in the pool.
    pub slot: u32,
    /// Its bytes, from the IP header on.
    pub size: u32,
    /// Flow, ECN codepoint and drop precedence.
    pub label: Label,
    /// True if its transport checksum was completed here, and so is right.
    pub is_whole: bool,
}

impl Packet for Held {
    #[inline]
    fn size(&self) -> u32 {
        self.size
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.label.ecn
    }

    /// The bytes follow when it is handed on.
    #[inline]
    fn mark(&mut self) {
        self.label.ecn = Ecn::CongestionExperienced;
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.label.flow
    }

    #[inline]
    fn colour(&self) -> Colour {
        self.label.colour
    }

    #[inline]
    fn dscp(&self) -> u8 {
        self.label.dscp
    }

    #[inline]
    fn hosts(&self) -> [u32; 2] {
        self.label.hosts
    }
}
