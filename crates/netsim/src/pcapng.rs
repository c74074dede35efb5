//! Blocks of a capture file, as bytes.
//!
//! Source: draft-ietf-opsawg-pcapng, "PCAP Next Generation (pcapng) Capture File Format". Numbers are
//! little-endian, times whole nanoseconds.

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const RESOLUTION: u16 = 9;
/// The more significant bit clear: a power of ten.
const NANOSECONDS: u8 = 9;

/// Writes the beginning of a file.
pub fn begin(bytes: &mut Vec<u8>) {
    let mut body = Vec::new();
    body.extend(MAGIC.to_le_bytes());
    body.extend(1_u16.to_le_bytes());
    body.extend(0_u16.to_le_bytes());
    body.extend(u64::MAX.to_le_bytes()); // the section's length is not known
    option(&mut body, APPLICATION, b"Vermilion");
    end_options(&mut body);
    block(bytes, SECTION_HEADER, &body);
}

/// Writes the description of the next interface: what its frames begin with (a number of the format's own
/// table of link types), and its name. The first one has number 0.
pub fn describe_interface(bytes: &mut Vec<u8>, link_type: u16, name: &str) {
    let mut body = Vec::new();
    body.extend(link_type.to_le_bytes());
    body.extend([0; 2]);
    body.extend(0_u32.to_le_bytes()); // frames of any length
    option(&mut body, INTERFACE_NAME, name.as_bytes());
    option(&mut body, RESOLUTION, &[NANOSECONDS]);
    end_options(&mut body);
    block(bytes, INTERFACE_DESCRIPTION, &body);
}

/// A packet at an interface.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The interface's number.
    pub interface: u32,
    /// When, in nanoseconds.
    pub time: u64,
    /// As many of its bytes as are known.
    pub bytes: &'a [u8],
    /// How many bytes it had.
    pub original_length: u32,
    /// Description; nothing if it is empty.
    pub comment: &'a str,
}

impl Packet<'_> {
    /// Writes it.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let mut body = Vec::with_capacity(self.bytes.len() + self.comment.len() + 48);
        body.extend(self.interface.to_le_bytes());
        body.extend(((self.time >> 32) as u32).to_le_bytes());
        body.extend((self.time as u32).to_le_bytes());
        body.extend((self.bytes.len() as u32).to_le_bytes());
        body.extend(self.original_length.to_le_bytes());
        body.extend(self.bytes);
        pad(&mut body);
        if !self.comment.is_empty() {
            option(&mut body, COMMENT, self.comment.as_bytes());
            end_options(&mut body);
        }
        block(bytes, ENHANCED_PACKET, &body);
    }
}

fn block(bytes: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = body.len() as u32 + 12;
    bytes.extend(kind.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend(body);
    bytes.extend(length.to_le_bytes());
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn end_options(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}
