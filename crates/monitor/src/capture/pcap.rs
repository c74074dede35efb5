//! The classic format of tcpdump.
//!
//! Source: draft-ietf-opsawg-pcap, "PCAP Capture File Format" (also `pcap-savefile(5)`).

use super::error::{CaptureError, in_hexadecimal};
use super::{ByteOrder, LARGEST_PACKET, PacketPlace, Step};
use crate::LinkType;

/// Bytes of the header of the file.
const FILE_HEADER: usize = 24;
/// Bytes of the header of a packet.
const RECORD_HEADER: usize = 16;

/// Header of a file.
#[derive(Clone, Copy, Debug)]
pub struct Pcap {
    order: ByteOrder,
    nanoseconds_per_unit: u64,
    link: LinkType,
}

/// The byte order and the unit of a file that begins with these four bytes.
fn magic(bytes: [u8; 4]) -> Option<(ByteOrder, u64)> {
    Some(match bytes {
        [0xa1, 0xb2, 0xc3, 0xd4] => (ByteOrder::Big, 1000),
        [0xd4, 0xc3, 0xb2, 0xa1] => (ByteOrder::Little, 1000),
        [0xa1, 0xb2, 0x3c, 0x4d] => (ByteOrder::Big, 1),
        [0x4d, 0x3c, 0xb2, 0xa1] => (ByteOrder::Little, 1),
        _ => return None,
    })
}

/// Return true if a file that begins with these four bytes is one of these.
pub fn is_pcap(bytes: [u8; 4]) -> bool {
    magic(bytes).is_some()
}

impl Pcap {
    /// Reads the header of the file: it, and its length; or how many bytes are wanted.
    pub fn open(bytes: &[u8]) -> Result<Result<(Self, usize), usize>, CaptureError> {
        let (Some(header), Some(&first)) = (bytes.get(..FILE_HEADER), bytes.first_chunk()) else {
            return Ok(Err(FILE_HEADER));
        };
        let Some((order, nanoseconds_per_unit)) = magic(first) else {
            return Err(CaptureError::new(0, in_hexadecimal(&first), "the header of a pcap file"));
        };
        let number = |at| order.u16(header, at).unwrap_or(0);
        let (major, minor) = (number(4), number(6));
        if major != 2 {
            let found = format!("version {major}.{minor}");
            return Err(CaptureError::new(4, found, "version 2.4 of the pcap format"));
        }
        // The upper half has flags: the length of a checksum behind each frame.
        let link = LinkType::from_number(order.u32(header, 20).unwrap_or(0) as u16);
        Ok(Ok((Self { order, nanoseconds_per_unit, link }, FILE_HEADER)))
    }

    /// Reads on.
    pub fn step(&self, bytes: &[u8]) -> Result<Step, CaptureError> {
        let number = |at| self.order.u32(bytes, at);
        let (Some(seconds), Some(fraction), Some(captured), Some(original_length)) =
            (number(0), number(4), number(8), number(12))
        else {
            return Ok(Step::Wants(RECORD_HEADER));
        };
        if captured > LARGEST_PACKET {
            let found = format!("a packet of {captured} captured bytes");
            return Err(CaptureError::new(8, found, format!("at most {LARGEST_PACKET} bytes")));
        }
        let end = RECORD_HEADER + captured as usize;
        if bytes.len() < end {
            return Ok(Step::Wants(end));
        }
        let time =
            u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.nanoseconds_per_unit;
        Ok(Step::Packet(PacketPlace {
            start: RECORD_HEADER,
            end,
            consumed: end,
            time: Some(time),
            link: self.link,
            original_length: original_length.max(captured),
        }))
    }
}
