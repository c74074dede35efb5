//! From the bytes of a packet to what its headers say. No state, no allocation, and no way to
//! panic: whatever the bytes are, the outcome is headers or a reason why there are none.

mod address;
mod big_endian;
mod internet;
mod link;
mod tcp;
mod undecoded;

pub use address::Address;
pub use internet::{Fragment, Internet};
pub use link::LinkType;
pub use tcp::{Flags, Tcp, Timestamps};
pub use undecoded::Undecoded;

/// Payload of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP, with the header's fields.
    Tcp(Tcp),
    /// UDP.
    Udp(Udp),
    /// A later fragment: it has no ports.
    LaterFragment,
    /// Any other protocol, by its number.
    Other(u8),
}

/// A UDP header, and as much of what follows as is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// True if the payload begins as a long header of QUIC does (RFC 8999, section 5.1: the highest
    /// bit, then a version that is not 0; RFC 9000, section 17.2: the next bit is set).
    pub quic_long_header: bool,
}

/// The headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The IP header.
    pub internet: Internet,
    /// The header behind it.
    pub transport: Result<Transport, Undecoded>,
}

impl Headers {
    /// Reads the headers of a packet.
    ///
    /// # Arguments
    /// - `link`: what the bytes begin with.
    /// - `bytes`: as many as were captured.
    /// - `original_length`: how many bytes the packet had when it was captured.
    ///
    /// # Errors
    /// If there is no IP header that can be read.
    pub fn read(link: LinkType, bytes: &[u8], original_length: u32) -> Result<Self, Undecoded> {
        let start = link.internet_header(bytes)?;
        let packet = bytes.get(start..).ok_or(Undecoded::CutLink)?;
        let on_the_wire = (original_length as usize).max(bytes.len()).saturating_sub(start);
        let internet = Internet::read(packet, u32::try_from(on_the_wire).unwrap_or(u32::MAX))?;
        let transport = Self::transport(&internet, packet);
        Ok(Self { internet, transport })
    }

    fn transport(internet: &Internet, packet: &[u8]) -> Result<Transport, Undecoded> {
        if internet.extensions_cut {
            return Err(Undecoded::CutInternet);
        }
        if internet.fragment == Fragment::Later {
            return Ok(Transport::LaterFragment);
        }
        // An Ethernet frame may be longer than the packet in it: what follows is padding.
        let end = packet.len().min(internet.length as usize);
        let segment = packet.get(internet.header_length as usize..end).unwrap_or(&[]);
        let length = internet.length.saturating_sub(internet.header_length);
        match internet.protocol {
            internet::TCP => Tcp::read(segment, length).map(Transport::Tcp),
            internet::UDP => Udp::read(segment, length).map(Transport::Udp),
            other => Ok(Transport::Other(other)),
        }
    }
}

impl Udp {
    /// Reads a UDP header (RFC 768).
    fn read(segment: &[u8], length: u32) -> Result<Self, Undecoded> {
        const HEADER: u32 = 8;
        const LONG_HEADER: u8 = 0b1100_0000;
        if length < HEADER {
            return Err(Undecoded::BadTransport);
        }
        let (Some(source_port), Some(destination_port), Some(_)) = (
            big_endian::u16_at(segment, 0),
            big_endian::u16_at(segment, 2),
            big_endian::u32_at(segment, 4),
        ) else {
            return Err(Undecoded::CutTransport);
        };
        let first = segment.get(8).copied().unwrap_or(0);
        let version = big_endian::u32_at(segment, 9).unwrap_or(0);
        let quic_long_header = first & LONG_HEADER == LONG_HEADER && version != 0;
        Ok(Self { source_port, destination_port, quic_long_header })
    }
}
