//! A packet in flight.

use vermilion_aqm::{Colour, Ecn};
use vermilion_tcp::{Acknowledgement, Segment};

use crate::limits::LONGEST_DURATION;

/// Data of a packet besides its number.
const ECN_CAPABLE: u8 = 1;
const CONGESTION_EXPERIENCED: u8 = 2;
const WINDOW_REDUCED: u8 = 4;
const SCALABLE: u8 = 8;
const ACKNOWLEDGEMENT: u8 = 16;
const AGAIN: u8 = 128;
/// Data of an acknowledgement, which is no segment: it tells of segments beyond a gap, or of a mark.
const TELLS_OF_GAP: u8 = WINDOW_REDUCED;
const ECHO: u8 = SCALABLE;
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

/// Where the number of its link, its flags and its codepoint begin in a packet's last word.
const HOP: u32 = 32;
const FLAGS: u32 = 48;
const DSCP: u32 = FLAGS + u8::BITS;

/// A data packet or an acknowledgement on its way, 32 bytes.
///
/// They are four whole numbers, which registers hold. A packet of more and smaller fields is written to memory
/// field by field whenever it is handed over, and read from there in larger pieces, for which a processor waits
/// until all of them have left its queue of writes: in some networks that was a tenth of a run. For the same
/// reason it is given in [halves](Half) to functions that are not a part of their callers.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When it reaches the end of the stretch it is on, in nanoseconds.
    pub time: u64,
    /// When its data was sent by the sender's clock, in nanoseconds; where packets are numbered, a
    /// [`Stamp`].
    pub sent: u64,
    /// Its flow, and its number above that.
    whose: u64,
    /// Its size, the number of its link above that, and its flags above both.
    what: u64,
}

/// Treatment that a packet asks of queues: the bits of its drop precedence and its codepoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Class(u16);

impl Class {
    /// That of packets of this drop precedence and this codepoint.
    pub fn new(colour: Colour, dscp: u8) -> Self {
        Self(u16::from_le_bytes([(colour as u8) << COLOUR, dscp]))
    }
}

/// Half a packet. Of what a packet is asked, its second half alone knows.
#[derive(Clone, Copy, Debug)]
pub struct Half(u64, u64);

impl Half {
    /// The first half of a packet: when it reaches the end of its stretch, and when its data was sent.
    #[inline(always)]
    pub fn of_times(time: u64, sent: u64) -> Self {
        Self(time, sent)
    }

    /// The packet's size, as [`Packet::size`]. The rest likewise.
    #[inline(always)]
    pub fn size(self) -> u32 {
        self.packet().size()
    }

    #[inline(always)]
    fn packet(self) -> Packet {
        Packet::of_halves(Half(0, 0), self)
    }

    /// See [`Packet::direction`].
    #[inline(always)]
    pub fn direction(self) -> u32 {
        self.packet().direction()
    }

    /// See [`Packet::ecn`].
    #[inline(always)]
    pub fn ecn(self) -> Ecn {
        self.packet().ecn()
    }

    /// See [`Packet::colour`].
    #[inline(always)]
    pub fn colour(self) -> Colour {
        self.packet().colour()
    }

    /// The same of a packet that a queue marks.
    #[inline(always)]
    pub fn marked(self) -> Self {
        let mut packet = self.packet();
        packet.mark();
        packet.halves().1
    }
}

impl Packet {
    #[inline(always)]
    fn of(flow: u32, sequence: u32, size: u32, sent: u64, flags: u8) -> Self {
        let whose = u64::from(flow) | u64::from(sequence) << 32;
        Self { time: 0, sent, whose, what: u64::from(size) | u64::from(flags) << FLAGS }
    }

    /// A data packet at its first link.
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
        Self::of(flow, segment.sequence, size, segment.sent, flags)
    }

    /// An acknowledgement at its first link, sent at `sent` (nanoseconds), number `number` of those on
    /// their way; `told` is what it says.
    pub fn acknowledgement(
        flow: u32,
        size: u32,
        number: u32,
        sent: u64,
        told: &Acknowledgement<'_>,
    ) -> Self {
        let mut flags = ACKNOWLEDGEMENT;
        if !told.blocks.is_empty() {
            flags |= TELLS_OF_GAP;
        }
        if told.congestion_echo {
            flags |= ECHO;
        }
        // So much of it is enough to tell it from the one before.
        let sent = Stamp::numbered(sent, told.next_expected & NUMBER);
        Self::of(flow, number, size, sent, flags)
    }

    /// Return true if it is an acknowledgement that says nothing which `later`, of the same flow, does not say: as
    /// far as it tells of a gap, that one does too, and it is no duplicate by which a sender counts.
    pub fn is_superseded_by(self, later: Self) -> bool {
        let said = |packet: Self| packet.flags() & (ACKNOWLEDGEMENT | ECHO);
        let gap = |packet: Self| packet.flags() & TELLS_OF_GAP != 0;
        let repeats = self.stamp().number() == later.stamp().number();
        self.is_acknowledgement()
            && (self.flow(), said(self)) == (later.flow(), said(later))
            && (gap(later) || !gap(self) && !repeats)
    }

    /// Its halves.
    #[inline(always)]
    pub fn halves(self) -> (Half, Half) {
        (Half(self.time, self.sent), Half(self.whose, self.what))
    }

    /// The packet of these halves.
    #[inline(always)]
    pub fn of_halves(Half(time, sent): Half, Half(whose, what): Half) -> Self {
        Self { time, sent, whose, what }
    }

    /// Numbers that no other packet on its way has: of the flow, of the segment, and of the time of sending.
    pub fn identity(&self) -> (u64, u64) {
        (self.whose, self.sent)
    }

    /// Its flow.
    #[inline(always)]
    pub fn flow(self) -> u32 {
        self.whose as u32
    }

    /// Segment number, or an acknowledgement's number in the
    /// [`AcknowledgementPool`](crate::acknowledgement_pool::AcknowledgementPool).
    #[inline(always)]
    pub fn sequence(self) -> u32 {
        (self.whose >> 32) as u32
    }

    /// Size in bytes.
    #[inline(always)]
    pub fn size(self) -> u32 {
        self.what as u32
    }

    /// Number of the link on its path that it crosses next or has crossed last.
    #[inline(always)]
    pub fn hop(self) -> u16 {
        (self.what >> HOP) as u16
    }

    /// It crosses a link; no path has more than its number has room for.
    #[inline(always)]
    pub fn next_hop(&mut self) {
        self.what += 1 << HOP;
    }

    #[inline(always)]
    fn flags(self) -> u8 {
        (self.what >> FLAGS) as u8
    }

    #[inline(always)]
    fn flag(&mut self, flags: u8) {
        self.what |= u64::from(flags) << FLAGS;
    }

    /// The segment a data packet carries.
    pub fn to_segment(self) -> Segment {
        let flags = self.flags();
        Segment {
            sequence: self.sequence(),
            sent: self.sent,
            scalable: flags & SCALABLE != 0,
            ecn_capable: self.ecn_capable(),
            congestion_experienced: flags & CONGESTION_EXPERIENCED != 0,
            window_reduced: flags & WINDOW_REDUCED != 0,
        }
    }

    /// When its data was sent and as which packet of its flow.
    pub fn stamp(self) -> Stamp {
        Stamp(self.sent)
    }

    /// Return true if it is an acknowledgement.
    pub fn is_acknowledgement(self) -> bool {
        self.flags() & ACKNOWLEDGEMENT != 0
    }

    /// The same packet, of `class`.
    #[inline(always)]
    pub fn of_class(mut self, class: Class) -> Self {
        self.what |= u64::from(class.0) << FLAGS;
        self
    }

    /// The same packet, of a segment that was sent before. Only where notes are taken.
    pub fn sent_again(mut self) -> Self {
        self.flag(AGAIN);
        self
    }

    /// Return true if its segment was sent before; known only where notes are taken.
    pub fn is_sent_again(self) -> bool {
        self.flags() & AGAIN != 0
    }

    /// Its drop precedence.
    pub fn colour(self) -> Colour {
        COLOURS[usize::from(self.flags() >> COLOUR) % COLOURS.len()]
    }

    /// Its differentiated services codepoint.
    #[inline(always)]
    pub fn dscp(self) -> u8 {
        (self.what >> DSCP) as u8
    }

    /// Key that tells queues its flow from others: data and acknowledgements of a flow have addresses
    /// and ports the other way round.
    pub fn direction(self) -> u32 {
        direction(self.flow(), self.is_acknowledgement())
    }

    /// Return true if a queue may mark it.
    fn ecn_capable(self) -> bool {
        self.flags() & ECN_CAPABLE != 0
    }

    /// Its ECN codepoint.
    pub fn ecn(self) -> Ecn {
        CODEPOINTS[self.flags() as usize % CODEPOINTS.len()]
    }

    /// A queue marks it.
    pub fn mark(&mut self) {
        self.flag(CONGESTION_EXPERIENCED);
    }
}

/// When data was sent and, above the bits of that time, as which packet of its flow.
#[derive(Clone, Copy, Debug)]
pub struct Stamp(u64);

impl Stamp {
    /// In place of the time `sent` of a segment: that time and the bits of [`NUMBER`] of `number`.
    pub fn numbered(sent: u64, number: u32) -> u64 {
        sent | u64::from(number) << TIME_BITS
    }

    /// When it was sent by the sender's clock, in nanoseconds.
    pub fn sent(self) -> u64 {
        self.0 & TIME
    }

    /// Data kept of its packet's number; 0 where packets are not numbered.
    pub fn number(self) -> u32 {
        (self.0 >> TIME_BITS) as u32
    }
}

/// Key that tells queues the packets of `flow` from others.
pub fn direction(flow: u32, acknowledgement: bool) -> u32 {
    flow << 1 | u32::from(acknowledgement)
}

/// The codepoint with which a packet is sent.
pub const fn ecn_of(capable: bool, scalable: bool) -> Ecn {
    match (capable, scalable) {
        (false, _) => Ecn::NotCapable,
        (true, false) => Ecn::Ect0,
        (true, true) => Ecn::Ect1,
    }
}
