//! The headers of IPv4 (RFC 791) and IPv6 (RFC 8200), with the ECN field of RFC 3168.

use super::big_endian::{u16_at, u32_at};
use super::{Address, Undecoded};

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
/// That there is no further header.
const NOTHING: u8 = 59;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
/// Extension headers that are passed; each may occur once, one of them twice.
const MOST_EXTENSIONS: usize = 8;

/// True if a packet is a piece of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// It is whole.
    None,
    /// The first piece, which has the ports.
    First,
    /// A later one.
    Later,
}

/// Fields of an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Internet {
    /// Who sent it.
    pub source: Address,
    /// Whom it is for.
    pub destination: Address,
    /// The protocol behind the header and its extensions.
    pub protocol: u8,
    /// The ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// Bytes of the packet from its IP header on.
    pub length: u32,
    /// Bytes of the IP header with its extensions.
    pub header_length: u32,
    /// True if it is a piece.
    pub fragment: Fragment,
    /// True if the header leaves its length open (0), as merged packets of more than 65,535 bytes
    /// do; `length` then is what the capture says.
    pub length_open: bool,
    /// True if the captured bytes end within the extension headers. Then nothing is known of what
    /// follows.
    pub extensions_cut: bool,
}

impl Internet {
    /// Reads an IP header.
    ///
    /// `on_the_wire` is the length of the packet from here on, captured or not.
    pub(super) fn read(packet: &[u8], on_the_wire: u32) -> Result<Self, Undecoded> {
        match packet.first().ok_or(Undecoded::CutInternet)? >> 4 {
            4 => Self::read_4(packet, on_the_wire),
            6 => Self::read_6(packet, on_the_wire),
            _ => Err(Undecoded::BadInternet),
        }
    }

    fn read_4(packet: &[u8], on_the_wire: u32) -> Result<Self, Undecoded> {
        const FIXED: usize = 20;
        let header: &[u8; FIXED] = packet.first_chunk().ok_or(Undecoded::CutInternet)?;
        let header_length = u32::from(header[0] & 15) * 4;
        let said = u32::from(u16::from_be_bytes([header[2], header[3]]));
        let length = if said == 0 { on_the_wire } else { said };
        if header_length < FIXED as u32 || header_length > length {
            return Err(Undecoded::BadInternet);
        }
        // More fragments: bit 13; the offset in units of 8 bytes: bits 0 to 12.
        let pieces = u16::from_be_bytes([header[6], header[7]]);
        let fragment = match (pieces & 0x1fff != 0, pieces & 0x2000 != 0) {
            (true, _) => Fragment::Later,
            (false, true) => Fragment::First,
            (false, false) => Fragment::None,
        };
        let address = |at: usize| {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&header[at..at + 4]);
            Address { bytes, version_6: false }
        };
        Ok(Self {
            source: address(12),
            destination: address(16),
            protocol: header[9],
            ecn: header[1] & 3,
            length,
            header_length,
            fragment,
            length_open: said == 0,
            extensions_cut: packet.len() < header_length as usize,
        })
    }

    fn read_6(packet: &[u8], on_the_wire: u32) -> Result<Self, Undecoded> {
        const FIXED: usize = 40;
        let header: &[u8; FIXED] = packet.first_chunk().ok_or(Undecoded::CutInternet)?;
        let said = u32::from(u16::from_be_bytes([header[4], header[5]]));
        let length_open = said == 0 && header[6] != NOTHING;
        let length = if length_open { on_the_wire } else { said + FIXED as u32 };
        let address = |at: usize| {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&header[at..at + 16]);
            Address { bytes, version_6: true }
        };
        let mut internet = Self {
            source: address(8),
            destination: address(24),
            protocol: header[6],
            // The traffic class is 8 bits behind the version's 4; ECN is its last two.
            ecn: (header[1] >> 4) & 3,
            length,
            header_length: FIXED as u32,
            fragment: Fragment::None,
            length_open,
            extensions_cut: false,
        };
        internet.pass_extensions(packet)?;
        Ok(internet)
    }

    /// Goes over the extension headers of IPv6.
    fn pass_extensions(&mut self, packet: &[u8]) -> Result<(), Undecoded> {
        for _ in 0..MOST_EXTENSIONS {
            if !matches!(
                self.protocol,
                HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION_OPTIONS | MOBILITY
            ) {
                return Ok(());
            }
            let at = self.header_length as usize;
            let Some(two) = u16_at(packet, at) else {
                self.extensions_cut = true;
                return Ok(());
            };
            let [next, length] = two.to_be_bytes();
            let length = u32::from(length);
            self.header_length += match self.protocol {
                FRAGMENT => 8,
                // In units of 4 bytes, less 2 (RFC 4302).
                AUTHENTICATION => (length + 2) * 4,
                _ => (length + 1) * 8,
            };
            if self.protocol == FRAGMENT {
                let Some(word) = u32_at(packet, at).map(|word| word as u16) else {
                    self.extensions_cut = true;
                    return Ok(());
                };
                // The offset: bits 3 to 15; more fragments: bit 0. Both 0: whole (RFC 6946).
                if word & 0xfff8 != 0 {
                    self.fragment = Fragment::Later;
                } else if word & 1 != 0 {
                    self.fragment = Fragment::First;
                }
            }
            self.protocol = next;
            if self.header_length > self.length {
                return Err(Undecoded::BadInternet);
            }
            if self.fragment == Fragment::Later {
                return Ok(());
            }
        }
        // More of them than anything sends on purpose.
        Err(Undecoded::BadInternet)
    }
}
