//! A block of the ring that Linux fills for a packet socket, in its third version.
//!
//! Source: `include/uapi/linux/if_packet.h` and `Documentation/networking/packet_mmap.rst` of Linux
//! (`struct tpacket_block_desc`, `struct tpacket3_hdr`, `struct sockaddr_ll`). Numbers are in the
//! machine's own byte order. Whoever owns the socket hands over a copy of a block that the kernel has
//! closed; nothing in it is believed: every length is checked against the bytes that are there.

use super::LARGEST_PACKET;
use super::error::CaptureError;
use crate::LinkType;
use crate::monitor::Captured;

/// `TPACKET_V3`.
const VERSION: u32 = 2;
/// Bytes of the header of a block.
const BLOCK_HEADER: usize = 48;
/// Bytes of the header of a packet; the address follows it.
const PACKET_HEADER: usize = 48;
/// Bytes of `struct sockaddr_ll`.
const ADDRESS: usize = 20;
/// `PACKET_OUTGOING`: this machine sends it.
const OUTGOING: u8 = 4;
const ETHERNET: u16 = 1;
/// `ARPHRD_LOOPBACK`, whose packets begin with an Ethernet header of zeros.
const LOOPBACK: u16 = 772;

/// Which way a packet passes an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It leaves through the interface; its queue has let it go.
    Leaving,
    /// It comes in.
    Arriving,
    /// It comes in through an interface from where it goes on into the queue.
    Entering,
}

/// Calls `each` for every packet of a block, in the order of their arrival.
///
/// Of a loopback interface, which shows every packet twice, only the second sight is taken; it
/// counts as leaving.
///
/// # Arguments
/// * `entrances`: numbers of the interfaces through which packets come that go on into the queue.
///
/// # Errors
/// What is wrong with the block. Packets before that have been handed over.
pub fn read_ring_block(
    block: &[u8],
    entrances: &[u32],
    each: &mut impl FnMut(&Captured<'_>, Passage),
) -> Result<(), CaptureError> {
    let header = |at| u32_at(block, at).filter(|_| block.len() >= BLOCK_HEADER);
    let (Some(version), Some(packets), Some(first)) = (header(0), header(12), header(16)) else {
        let found = format!("{} bytes", block.len());
        return Err(CaptureError::new(0, found, "the header of a ring's block, 48 bytes"));
    };
    if version != VERSION {
        return Err(CaptureError::new(0, format!("version {version}"), "version 2 (TPACKET_V3)"));
    }
    let mut at = first as usize;
    for number in 0..packets {
        let (next, kept) = read_packet(block, at, entrances)?;
        if let Some((packet, passage)) = kept {
            each(&packet, passage);
        }
        if number + 1 < packets {
            // Every step goes on by a header at least, so that no block can be walked for ever.
            if (next as usize) < PACKET_HEADER {
                let found = format!("a packet of {next} bytes");
                return Err(CaptureError::new(at, found, "the place of the next one"));
            }
            at = at.saturating_add(next as usize);
        }
    }
    Ok(())
}

/// The packet at `at`: how far the next one is, and what is to be seen of it.
#[allow(clippy::type_complexity, reason = "read in one place")]
fn read_packet<'a>(
    block: &'a [u8],
    at: usize,
    entrances: &[u32],
) -> Result<(u32, Option<(Captured<'a>, Passage)>), CaptureError> {
    let short = |expected: &str| CaptureError::new(at, "the block's end", expected);
    let bytes = block.get(at..).unwrap_or_default();
    let header = bytes
        .get(..PACKET_HEADER + ADDRESS)
        .ok_or_else(|| short("a packet's header and address, 68 bytes"))?;
    let number = |at| u32_at(header, at).unwrap_or(0);
    let (next, seconds, nanoseconds) = (number(0), number(4), number(8));
    let (captured, length) = (number(12), number(16));
    let (link_at, internet_at) = (half_at(header, 24), half_at(header, 26));
    let device = half_at(header, PACKET_HEADER + 8) as u16;
    let kind = header[PACKET_HEADER + 10];
    if captured > LARGEST_PACKET {
        let found = format!("a packet of {captured} captured bytes");
        return Err(CaptureError::new(at, found, format!("at most {LARGEST_PACKET} bytes")));
    }
    let end = link_at + captured as usize;
    let (link, start) = match device {
        ETHERNET | LOOPBACK => (LinkType::Ethernet, link_at),
        // What stands before the IP header of other devices is left away.
        _ => (LinkType::RawInternet, internet_at.clamp(link_at, end)),
    };
    let contents = bytes.get(start..end).ok_or_else(|| short("the bytes of a packet"))?;
    if device == LOOPBACK && kind == OUTGOING {
        return Ok((next, None));
    }
    let passage = match kind == OUTGOING || device == LOOPBACK {
        true => Passage::Leaving,
        false if entrances.contains(&number(PACKET_HEADER + 4)) => Passage::Entering,
        false => Passage::Arriving,
    };
    let packet = Captured {
        time: Some(u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds)),
        link,
        bytes: contents,
        original_length: length.max(captured) - (start - link_at) as u32,
    };
    Ok((next, Some((packet, passage))))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn half_at(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 2).map_or(0, |two| usize::from(u16::from_ne_bytes([two[0], two[1]])))
}
