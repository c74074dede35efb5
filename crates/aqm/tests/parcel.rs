//! A packet with a number, for queues that keep packets.

use vermilion_aqm::{Colour, Ecn, Packet};

#[derive(Clone, Copy, Debug, Default)]
pub struct Parcel {
    pub number: u64,
    pub size: u32,
    pub flow: u32,
    pub ecn: Ecn,
    pub colour: Colour,
    pub dscp: u8,
    pub hosts: [u32; 2],
    pub marked: bool,
}

impl Packet for Parcel {
    fn size(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) {
        assert!(self.ecn.is_capable(), "a mark without ECN");
        self.marked = true;
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn colour(&self) -> Colour {
        self.colour
    }

    fn dscp(&self) -> u8 {
        self.dscp
    }

    fn hosts(&self) -> [u32; 2] {
        self.hosts
    }
}
