//! Capture files: bytes in, packets out.
//!
//! A [`CaptureReader`] is fed a file's bytes in pieces of any size and calls back for each packet.
//! It recognises by itself what it is fed: pcap (of both byte orders, with micro- and nanoseconds),
//! pcapng, and either of them compressed with gzip. It opens nothing and reads nothing; the pieces
//! may come from a file, a pipe or a test. It keeps at most one packet and the piece at hand.
//! [`read_ring_block`] does the same for a block of a packet socket's ring, which is whole.

mod error;
mod gzip;
mod pcap;
mod pcapng;
mod reader;
mod ring;

pub use error::CaptureError;
pub use reader::CaptureReader;
pub use ring::{Passage, read_ring_block};

/// The largest packet that is read, in bytes: what tcpdump captures at most.
pub const LARGEST_PACKET: u32 = 262_144;

/// Contents of the bytes at hand.
enum Step {
    /// So many bytes, from the beginning, are wanted before anything can be said.
    Wants(usize),
    /// So many bytes hold no packet.
    Skip(u64),
    /// A packet.
    Packet(PacketPlace),
}

/// Where a packet stands in the bytes at hand.
struct PacketPlace {
    /// Where its bytes begin and end.
    start: usize,
    end: usize,
    /// How many bytes are done with.
    consumed: usize,
    time: Option<u64>,
    link: crate::LinkType,
    original_length: u32,
}

/// The order in which a file writes the bytes of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    /// The two bytes at `at`; `None` if they are not there.
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        })
    }

    /// The four bytes at `at`; `None` if they are not there.
    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        })
    }
}
