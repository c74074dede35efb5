//! A packet in flight.

use vermilion_aqm::{Colour, Ecn};
use vermilion_tcp::Segment;

use crate::scenario::LONGEST_DURATION;

/// What a packet carries besides its number.
const ECN_CAPABLE: u8 = 1;
const CONGESTION_EXPERIENCED: u8 = 2;
const WINDOW_REDUCED: u8 = 4;
const SCALABLE: u8 = 8;
const ACKNOWLEDGEMENT: u8 = 16;
const AGAIN: u8 = 128;
/// Where the two bits of its colour begin.
const COLOUR: u8 = 5;

/// Colours by those bits.
const COLOURS: [Colour; 4] = [Colour::Green, Colour::Yellow, Colour::Red, Colour::Red];

/// The codepoint that the four lowest bits say: looked up, because to ask for each of them costs more.
const CODEPOINTS: [Ecn; 16] = {
    let mut codepoints = [Ecn::NotCapable; 16];
    let mut flags = 0;
    while flags < 16 {
        codepoints[flags as usize] = if flags & CONGESTION_EXPERIENCED != 0 {
            Ecn::CongestionExperienced
        } else {
            ecn_of(flags & ECN_CAPABLE != 0, flags & SCALABLE != 0)
        };
        flags += 1;
    }
    codepoints
};

/// Bits of a time that no run is too long for; those above have room for a number.
const TIME_BITS: u32 = 50;
const TIME: u64 = (1 << TIME_BITS) - 1;
const _: () = assert!(LONGEST_DURATION <= TIME);

/// The bits that a data packet of a connection keeps of its number among those of its flow.
pub const NUMBER: u32 = u32::MAX >> (TIME_BITS - 32);

/// A data packet or an acknowledgement on its way, 32 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When it reaches the end of the stretch it is on, in nanoseconds.
    pub time: u64,
    /// When its data was sent by the sender's clock, in nanoseconds; where packets are numbered, a
    /// [`Stamp`].
    pub sent: u64,
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

    /// An acknowledgement at its first link, sent at `sent` (nanoseconds), number `number` of those on
    /// their way.
    #[inline]
    pub fn acknowledgement(flow: u32, size: u32, number: u32, sent: u64) -> Self {
        Self { time: 0, sent, flow, sequence: number, size, hop: 0, flags: ACKNOWLEDGEMENT }
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

    /// When its data was sent and as which packet of its flow.
    #[inline]
    pub fn stamp(self) -> Stamp {
        Stamp(self.sent)
    }

    /// Whether it is an acknowledgement.
    #[inline]
    pub fn is_acknowledgement(self) -> bool {
        self.flags & ACKNOWLEDGEMENT != 0
    }

    /// The same packet in `colour`.
    #[inline]
    pub fn coloured(mut self, colour: Colour) -> Self {
        self.flags |= (colour as u8) << COLOUR;
        self
    }

    /// The same packet, of a segment that was sent before. Only where notes are taken.
    pub fn sent_again(mut self) -> Self {
        self.flags |= AGAIN;
        self
    }

    /// Whether its segment was sent before; known only where notes are taken.
    pub fn is_sent_again(self) -> bool {
        self.flags & AGAIN != 0
    }

    /// Its drop precedence.
    #[inline]
    pub fn colour(self) -> Colour {
        COLOURS[usize::from(self.flags >> COLOUR) % COLOURS.len()]
    }

    /// What tells queues its flow from others: data and acknowledgements of a flow have addresses
    /// and ports the other way round.
    #[inline]
    pub fn direction(self) -> u32 {
        direction(self.flow, self.is_acknowledgement())
    }

    /// Whether a queue may mark it.
    #[inline]
    fn ecn_capable(self) -> bool {
        self.flags & ECN_CAPABLE != 0
    }

    /// Its ECN codepoint.
    #[inline]
    pub fn ecn(self) -> Ecn {
        CODEPOINTS[self.flags as usize % CODEPOINTS.len()]
    }

    /// A queue marks it.
    #[inline]
    pub fn mark(&mut self) {
        self.flags |= CONGESTION_EXPERIENCED;
    }
}

/// When data was sent and, above the bits of that time, as which packet of its flow.
#[derive(Clone, Copy, Debug)]
pub struct Stamp(u64);

impl Stamp {
    /// In place of the time `sent` of a segment: that time and the bits of [`NUMBER`] of `number`.
    #[inline]
    pub fn numbered(sent: u64, number: u32) -> u64 {
        sent | u64::from(number) << TIME_BITS
    }

    /// When it was sent by the sender's clock, in nanoseconds.
    #[inline]
    pub fn sent(self) -> u64 {
        self.0 & TIME
    }

    /// What it keeps of its packet's number; 0 where packets are not numbered.
    #[inline]
    pub fn number(self) -> u32 {
        (self.0 >> TIME_BITS) as u32
    }
}

/// What tells queues the packets of `flow` from others.
#[inline]
pub fn direction(flow: u32, acknowledgement: bool) -> u32 {
    flow << 1 | u32::from(acknowledgement)
}

/// The codepoint with which a packet is sent.
#[inline]
pub const fn ecn_of(capable: bool, scalable: bool) -> Ecn {
    match (capable, scalable) {
        (false, _) => Ecn::NotCapable,
        (true, false) => Ecn::Ect0,
        (true, true) => Ecn::Ect1,
    }
}
