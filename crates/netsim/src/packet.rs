//! A packet in flight.

use vermilion_tcp::{Acknowledgement, Segment};

/// What a packet carries besides its number.
const ECN_CAPABLE: u8 = 1;
const CONGESTION_EXPERIENCED: u8 = 2;
const WINDOW_REDUCED: u8 = 4;
const CONGESTION_ECHO: u8 = 8;

/// A data packet or an acknowledgement on its way, 24 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When it reaches the end of the stretch it is on, in nanoseconds.
    pub time: u64,
    /// Its flow.
    pub flow: u32,
    /// Segment number, or the next expected one in an acknowledgement.
    pub sequence: u32,
    /// Size in bytes.
    pub size: u32,
    /// Number of the link on its path that it crosses next or has crossed last.
    pub hop: u16,
    flags: u8,
}

impl Packet {
    /// A data packet at its first link.
    #[inline]
    pub fn data(flow: u32, size: u32, segment: &Segment) -> Self {
        let mut flags = 0;
        if segment.ecn_capable {
            flags |= ECN_CAPABLE;
        }
        if segment.window_reduced {
            flags |= WINDOW_REDUCED;
        }
        Self { time: 0, flow, sequence: segment.sequence, size, hop: 0, flags }
    }

    /// An acknowledgement at its first link.
    #[inline]
    pub fn acknowledgement(flow: u32, size: u32, answer: &Acknowledgement) -> Self {
        let flags = if answer.congestion_echo { CONGESTION_ECHO } else { 0 };
        Self { time: 0, flow, sequence: answer.next_expected, size, hop: 0, flags }
    }

    /// The segment a data packet carries.
    #[inline]
    pub fn to_segment(self) -> Segment {
        Segment {
            sequence: self.sequence,
            ecn_capable: self.ecn_capable(),
            congestion_experienced: self.flags & CONGESTION_EXPERIENCED != 0,
            window_reduced: self.flags & WINDOW_REDUCED != 0,
        }
    }

    /// The acknowledgement this packet is.
    #[inline]
    pub fn to_acknowledgement(self) -> Acknowledgement {
        Acknowledgement {
            next_expected: self.sequence,
            congestion_echo: self.flags & CONGESTION_ECHO != 0,
        }
    }

    /// Whether a queue may mark it.
    #[inline]
    pub fn ecn_capable(self) -> bool {
        self.flags & ECN_CAPABLE != 0
    }

    /// A queue marks it.
    #[inline]
    pub fn mark(&mut self) {
        self.flags |= CONGESTION_EXPERIENCED;
    }
}
