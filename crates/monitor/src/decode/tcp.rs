//! The header of TCP (RFC 9293) and those of its options that are looked at: the largest segment
//! (RFC 9293), timestamps (RFC 7323), and what has arrived behind a hole (RFC 2018).

use super::Undecoded;
use super::big_endian::{u16_at, u32_at};
use crate::sequence::ahead;

/// The timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock (TSval).
    pub value: u32,
    /// The clock of the other end that it has last seen (TSecr); meaningless without `ACK`.
    pub echo: u32,
}

/// The control bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(
    /// From the lowest bit: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR, AE.
    pub u16,
);

impl Flags {
    /// No more data will come.
    pub const fn fin(self) -> bool {
        self.0 & 1 != 0
    }
    /// Opens a connection.
    pub const fn syn(self) -> bool {
        self.0 & 2 != 0
    }
    /// Breaks a connection off.
    pub const fn rst(self) -> bool {
        self.0 & 4 != 0
    }
    /// The acknowledgement number counts.
    pub const fn ack(self) -> bool {
        self.0 & 16 != 0
    }
    /// Congestion was experienced (RFC 3168).
    pub const fn ece(self) -> bool {
        self.0 & 64 != 0
    }
    /// The window was reduced (RFC 3168).
    pub const fn cwr(self) -> bool {
        self.0 & 128 != 0
    }
    /// The third bit of accurate ECN's counter (RFC 9768), once the nonce sum.
    pub const fn ae(self) -> bool {
        self.0 & 256 != 0
    }
    /// AE, CWR and ECE as a number of three bits.
    pub const fn ecn_bits(self) -> u8 {
        (self.ae() as u8) << 2 | (self.cwr() as u8) << 1 | self.ece() as u8
    }
}

/// Fields of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Of the first byte of data, or of the SYN.
    pub sequence: u32,
    /// The next byte that the sender expects; meaningless without `ACK`.
    pub acknowledgement: u32,
    /// The control bits.
    pub flags: Flags,
    /// Bytes of data.
    pub payload: u32,
    /// The largest segment that the sender wants to get, if it says so.
    pub largest_segment: Option<u16>,
    /// The timestamps option, if it is there.
    pub timestamps: Option<Timestamps>,
    /// The stretch behind a hole that has grown with the latest segment: its first byte, and that
    /// behind its last (the first block of SACK). Not what has arrived twice (RFC 2883).
    pub arrived: Option<(u32, u32)>,
    /// True if it acknowledges selectively, or says in its SYN that it is ready for it (RFC 2018).
    pub selective: bool,
    /// True if the captured bytes end within the options, so that more of them may be there.
    pub options_cut: bool,
}

impl Tcp {
    /// Reads a header from the bytes of a segment that has `length` of them, captured or not.
    pub(super) fn read(segment: &[u8], length: u32) -> Result<Self, Undecoded> {
        const FIXED: usize = 20;
        if length < FIXED as u32 {
            return Err(Undecoded::BadTransport);
        }
        let header: &[u8; FIXED] = segment.first_chunk().ok_or(Undecoded::CutTransport)?;
        let header_length = u32::from(header[12] >> 4) * 4;
        if header_length < FIXED as u32 || header_length > length {
            return Err(Undecoded::BadTransport);
        }
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let end = segment.len().min(header_length as usize);
        let mut tcp = Self {
            source_port: u16::from_be_bytes([header[0], header[1]]),
            destination_port: u16::from_be_bytes([header[2], header[3]]),
            sequence: word(4),
            acknowledgement: word(8),
            flags: Flags(u16::from_be_bytes([header[12] & 1, header[13]])),
            payload: length - header_length,
            largest_segment: None,
            timestamps: None,
            arrived: None,
            selective: false,
            options_cut: segment.len() < header_length as usize,
        };
        tcp.read_options(segment.get(FIXED..end).unwrap_or(&[]));
        Ok(tcp)
    }

    /// Reads the options. A malformed one ends them, as receivers do.
    #[inline]
    fn read_options(&mut self, options: &[u8]) {
        const END: u8 = 0;
        const NO_OPERATION: u8 = 1;
        const LARGEST_SEGMENT: u8 = 2;
        const SELECTIVE_PERMITTED: u8 = 4;
        const SELECTIVE_ACKNOWLEDGEMENT: u8 = 5;
        const TIMESTAMPS: u8 = 8;
        let mut at = 0;
        while let Some(&kind) = options.get(at) {
            match kind {
                END => return,
                NO_OPERATION => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            let Some(&length) = options.get(at + 1) else { return };
            match (kind, length) {
                (_, 0 | 1) => return,
                (LARGEST_SEGMENT, 4) => self.largest_segment = u16_at(options, at + 2),
                (TIMESTAMPS, 10) => {
                    if let (Some(value), Some(echo)) =
                        (u32_at(options, at + 2), u32_at(options, at + 6))
                    {
                        self.timestamps = Some(Timestamps { value, echo });
                    }
                }
                (SELECTIVE_PERMITTED, 2) => self.selective |= self.flags.syn(),
                (SELECTIVE_ACKNOWLEDGEMENT, 10 | 18 | 26 | 34) => {
                    self.arrived = self.newly_arrived(options, at + 2, length);
                    self.selective |= !self.flags.syn();
                }
                _ => {}
            }
            at += usize::from(length);
        }
    }

    /// The first of the blocks at a place, unless it reports a duplicate: what the acknowledgement
    /// number or the second block has already (RFC 2883, section 4).
    fn newly_arrived(&self, options: &[u8], at: usize, length: u8) -> Option<(u32, u32)> {
        const WITH_ONE_BLOCK: u8 = 10;
        let block = |at: usize| Some((u32_at(options, at)?, u32_at(options, at + 4)?));
        let (first, behind) = block(at)?;
        let again = length > WITH_ONE_BLOCK
            && block(at + 8)
                .is_some_and(|(from, to)| ahead(first, from) >= 0 && ahead(to, behind) >= 0);
        let beyond = ahead(first, self.acknowledgement) > 0 && ahead(behind, first) > 0;
        (beyond && !again).then_some((first, behind))
    }
}
