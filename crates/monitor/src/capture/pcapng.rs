//! The format of Wireshark: blocks, in sections that each have a byte order and interfaces of their
//! own.
//!
//! Source: draft-ietf-opsawg-pcapng, "PCAP Next Generation (pcapng) Capture File Format".

use super::error::{CaptureError, in_hexadecimal};
use super::{ByteOrder, LARGEST_PACKET, PacketPlace, Step};
use crate::LinkType;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Bytes of a block around its body: type and length before it, length behind.
const AROUND: usize = 12;
/// The largest block that is read. Larger ones that hold no packets are passed over.
const LARGEST_BLOCK: u32 = LARGEST_PACKET + 65_536;
/// The most interfaces of a section.
const MOST_INTERFACES: usize = 4096;
const NANOSECONDS: u128 = 1_000_000_000;

/// How a timestamp becomes nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Ticks of so many nanoseconds.
    Nanoseconds(u64),
    /// So many ticks a second.
    PerSecond(u128),
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: LinkType,
    snap_length: u32,
    unit: Unit,
    /// Added to every timestamp.
    offset_seconds: i64,
}

/// Facts read of the section at hand so far.
#[derive(Clone, Debug)]
pub struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

/// Return true if a file that begins with these four bytes is one of these.
pub fn is_pcapng(bytes: [u8; 4]) -> bool {
    u32::from_be_bytes(bytes) == SECTION_HEADER
}

impl Pcapng {
    /// A file at its beginning.
    pub fn new() -> Self {
        Self { order: ByteOrder::Big, interfaces: Vec::new() }
    }

    /// Reads on.
    pub fn step(&mut self, bytes: &[u8]) -> Result<Step, CaptureError> {
        // The type of a section's header reads the same in both byte orders.
        let Some(first) = self.order.u32(bytes, 0) else { return Ok(Step::Wants(AROUND)) };
        if first == SECTION_HEADER {
            // Which of them it is stands behind its length.
            let Some(magic) = bytes.get(8..12) else { return Ok(Step::Wants(AROUND)) };
            self.order = match magic {
                [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
                [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
                other => {
                    let found = in_hexadecimal(other);
                    return Err(CaptureError::new(8, found, "the byte-order magic 1a2b3c4d"));
                }
            };
        }
        let (Some(kind), Some(length)) = (self.order.u32(bytes, 0), self.order.u32(bytes, 4))
        else {
            return Ok(Step::Wants(AROUND));
        };
        if length < AROUND as u32 || length % 4 != 0 {
            let found = format!("a block of {length} bytes");
            return Err(CaptureError::new(4, found, "a multiple of 4, at least 12"));
        }
        if !matches!(
            kind,
            SECTION_HEADER | INTERFACE_DESCRIPTION | PACKET | SIMPLE_PACKET | ENHANCED_PACKET
        ) {
            return Ok(Step::Skip(u64::from(length)));
        }
        if length > LARGEST_BLOCK {
            let found = format!("a block of {length} bytes");
            return Err(CaptureError::new(4, found, format!("at most {LARGEST_BLOCK} bytes")));
        }
        let end = length as usize;
        let Some(block) = bytes.get(..end) else { return Ok(Step::Wants(end)) };
        if self.order.u32(block, end - 4) != Some(length) {
            let found = format!("another length than the {length} bytes at the block's beginning");
            return Err(CaptureError::new(end - 4, found, "the same length at its end"));
        }
        let body = &block[8..end - 4];
        match kind {
            SECTION_HEADER => self.open_section(body)?,
            INTERFACE_DESCRIPTION => self.describe(body)?,
            SIMPLE_PACKET => return self.simple(body, end).map(Step::Packet),
            _ => return self.packet(kind, body, end).map(Step::Packet),
        }
        Ok(Step::Skip(u64::from(length)))
    }

    fn open_section(&mut self, body: &[u8]) -> Result<(), CaptureError> {
        self.interfaces.clear();
        match self.order.u16(body, 4) {
            Some(1) => Ok(()),
            Some(major) => {
                let found = format!("version {major}");
                Err(CaptureError::new(12, found, "version 1 of the pcapng format"))
            }
            None => Err(short(12, body, "a section header of at least 28 bytes")),
        }
    }

    fn describe(&mut self, body: &[u8]) -> Result<(), CaptureError> {
        let (Some(link), Some(snap_length)) = (self.order.u16(body, 0), self.order.u32(body, 4))
        else {
            return Err(short(8, body, "an interface description of at least 20 bytes"));
        };
        if self.interfaces.len() == MOST_INTERFACES {
            let found = format!("more than {MOST_INTERFACES} interfaces");
            return Err(CaptureError::new(0, found, format!("at most {MOST_INTERFACES}")));
        }
        let link = LinkType::from_number(link);
        let unit = Unit::Nanoseconds(1000); // unless an option says otherwise
        let mut interface = Interface { link, snap_length, unit, offset_seconds: 0 };
        self.read_options(body, &mut interface)?;
        self.interfaces.push(interface);
        Ok(())
    }

    /// Reads the options of an interface that matter: the unit of its timestamps and what is to be
    /// added to them.
    fn read_options(&self, body: &[u8], interface: &mut Interface) -> Result<(), CaptureError> {
        const END: u16 = 0;
        const RESOLUTION: u16 = 9;
        const OFFSET: u16 = 14;
        let mut at = 8;
        while at < body.len() {
            let (Some(code), Some(length)) =
                (self.order.u16(body, at), self.order.u16(body, at + 2))
            else {
                return Ok(());
            };
            let start = at + 4;
            let end = start + usize::from(length);
            let Some(value) = body.get(start..end) else {
                let found = format!("an option of {length} bytes");
                let expected = "one that ends within its block";
                return Err(CaptureError::new(8 + at, found, expected));
            };
            match (code, value) {
                (END, _) => return Ok(()),
                (RESOLUTION, &[resolution]) => {
                    let Some(unit) = unit(resolution) else {
                        let found = format!("timestamps in units of 10^-{resolution} s");
                        return Err(CaptureError::new(8 + start, found, "10^-38 s or larger"));
                    };
                    interface.unit = unit;
                }
                (OFFSET, &[a, b, c, d, e, f, g, h]) => {
                    let bytes = [a, b, c, d, e, f, g, h];
                    interface.offset_seconds = match self.order {
                        ByteOrder::Big => i64::from_be_bytes(bytes),
                        ByteOrder::Little => i64::from_le_bytes(bytes),
                    };
                }
                _ => {}
            }
            at = end.next_multiple_of(4);
        }
        Ok(())
    }

    /// An enhanced packet, or the packet block that came before it.
    fn packet(&self, kind: u32, body: &[u8], end: usize) -> Result<PacketPlace, CaptureError> {
        const FIXED: usize = 20;
        let number = |at| self.order.u32(body, at);
        // The older block has the interface in two bytes, and behind it how many were dropped.
        let number_of_interface =
            if kind == PACKET { self.order.u16(body, 0).map(u32::from) } else { number(0) };
        let (Some(interface), Some(high), Some(low), Some(captured), Some(original)) =
            (number_of_interface, number(4), number(8), number(12), number(16))
        else {
            return Err(short(8, body, "a packet block of at least 32 bytes"));
        };
        let interface = self.interface(interface)?;
        if captured > LARGEST_PACKET || captured as usize > body.len() - FIXED {
            let found = format!("a packet of {captured} captured bytes");
            let most = (body.len() - FIXED).min(LARGEST_PACKET as usize);
            return Err(CaptureError::new(20, found, format!("at most {most}, the block's rest")));
        }
        let ticks = u64::from(high) << 32 | u64::from(low);
        Ok(PacketPlace {
            start: 8 + FIXED,
            end: 8 + FIXED + captured as usize,
            consumed: end,
            time: Some(interface.nanoseconds(ticks)),
            link: interface.link,
            original_length: original.max(captured),
        })
    }

    /// A simple packet: of the first interface, and without a time.
    fn simple(&self, body: &[u8], end: usize) -> Result<PacketPlace, CaptureError> {
        const FIXED: usize = 4;
        let Some(original) = self.order.u32(body, 0) else {
            return Err(short(8, body, "a simple packet block of at least 16 bytes"));
        };
        let interface = self.interface(0)?;
        let snap_length = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
        let captured = (original.min(snap_length) as usize).min(body.len() - FIXED);
        Ok(PacketPlace {
            start: 8 + FIXED,
            end: 8 + FIXED + captured,
            consumed: end,
            time: None,
            link: interface.link,
            original_length: original,
        })
    }

    fn interface(&self, number: u32) -> Result<&Interface, CaptureError> {
        self.interfaces.get(number as usize).ok_or_else(|| {
            let described = match self.interfaces.len() {
                0 => "an interface description before the first packet".to_owned(),
                1 => "0, the only interface described".to_owned(),
                count => format!("0 to {}, the interfaces described", count - 1),
            };
            CaptureError::new(8, format!("a packet of interface {number}"), described)
        })
    }
}

impl Interface {
    /// The time of a timestamp; what lies before 1970 is 1970.
    fn nanoseconds(&self, ticks: u64) -> u64 {
        let since = match self.unit {
            Unit::Nanoseconds(nanoseconds) => u128::from(ticks) * u128::from(nanoseconds),
            Unit::PerSecond(rate) => u128::from(ticks) * NANOSECONDS / rate,
        };
        // At most 2^64 times 10^9, so that nothing here overflows.
        let offset = i128::from(self.offset_seconds) * NANOSECONDS as i128;
        let time = since.cast_signed() + offset;
        u64::try_from(time.max(0)).unwrap_or(u64::MAX)
    }
}

/// The unit that `if_tsresol` means; `None` if it is smaller than can be reckoned with.
fn unit(resolution: u8) -> Option<Unit> {
    let exponent = u32::from(resolution & 0x7f);
    Some(if resolution & 0x80 != 0 {
        Unit::PerSecond(1 << exponent)
    } else if exponent <= 9 {
        Unit::Nanoseconds(10_u64.pow(9 - exponent))
    } else {
        Unit::PerSecond(10_u128.checked_pow(exponent)?)
    })
}

fn short(offset: usize, body: &[u8], expected: &str) -> CaptureError {
    CaptureError::new(offset, format!("a block with {} bytes of content", body.len()), expected)
}
