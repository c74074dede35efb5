//! A packet in flight.

use vermilion_tcp::Segment;

/// What a packet carries besides its number.
const ECN_CAPABLE: u8 = 1;
const CONGESTION_EXPERIENCED: u8 = 2;
const WINDOW_REDUCED: u8 = 4;
const SCALABLE: u8 = 8;
const ACKNOWLEDGEMENT: u8 = 16;

/// A data packet or an acknowledgement on its way, 32 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When it reaches the end of the stretch it is on, in nanoseconds.
    pub time: u64,
    /// When its data was sent by the sender's clock, in nanoseconds.
    sent: u64,
    /// Its flow.
    pub flow: u32,
    /// Segment number, or an acknowledgement's number in the
    /// [`AcknowledgementPool`](crate::acknowledgement_pool::AcknowledgementPool).
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
        if segment.scalable {
            flags |= SCALABLE;
        }
        if segment.window_reduced {
            flags |= WINDOW_REDUCED;
        }
        Self { time: 0, sent: segment.sent, flow, sequence: segment.sequence, size, hop: 0, flags }
    }

    /// An acknowledgement at its first link, number `number` of those on their way.
    #[inline]
    pub fn acknowledgement(flow: u32, size: u32, number: u32) -> Self {
        Self { time: 0, sent: 0, flow, sequence: number, size, hop: 0, flags: ACKNOWLEDGEMENT }
    }

    /// The segment a data packet carries.
    #[inline]
    pub fn to_segment(self) -> Segment {
        Segment {
            sequence: self.sequence,
            sent: self.sent,
            scalable: self.flags & SCALABLE != 0,
            ecn_capable: self.ecn_capable(),
            congestion_experienced: self.flags & CONGESTION_EXPERIENCED != 0,
            window_reduced: self.flags & WINDOW_REDUCED != 0,
        }
    }

    /// Whether it is an acknowledgement.
    #[inline]
    pub fn is_acknowledgement(self) -> bool {
        self.flags & ACKNOWLEDGEMENT != 0
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
