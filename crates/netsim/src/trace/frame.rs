//! A packet as it would be on an Ethernet: headers with addresses, ports, numbers, options and checksums.
//!
//! Sources: RFC 791 (IPv4), RFC 9293 (TCP), RFC 768 (UDP), RFC 7323 (timestamps, here in microseconds), RFC
//! 2018 (selective acknowledgements), RFC 3168 and RFC 9768 (ECN). What the simulator does not have, the
//! frame makes up: addresses follow from the flow's place, the initial sequence numbers are 0, payloads are
//! zeros, the window is always 65,535 times 2^14 bytes.
//!
//! A segment of the simulator has a number, a segment of TCP the bytes before it. What a data packet has beside
//! its headers is its payload; where its size leaves none, it has one byte more than its headers. What an
//! acknowledgement has beside them stands behind the IP packet, as the padding of an Ethernet does.

use vermilion_tcp::Ecn;

use super::connections::Connection;
use super::record::PacketRecord;

const ETHERNET: usize = 14;
const INTERNET: u32 = 20;
const TCP: u32 = 20;
const UDP: u32 = 8;
const TIMESTAMPS: u32 = 12;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// Which way a packet goes.
#[derive(Clone, Copy)]
struct Ends {
    source: u32,
    target: u32,
    source_port: u16,
    target_port: u16,
}

impl Ends {
    fn of(connection: &Connection, back: bool) -> Self {
        // Ports of rounds are used again after 60,000 connections of one place.
        let port = 1024 + (connection.round % 60_000) as u16;
        let sender = 0x0a00_0001 + connection.place;
        let receiver = 0x0a80_0001 + connection.place;
        if back {
            Self { source: receiver, target: sender, source_port: 5001, target_port: port }
        } else {
            Self { source: sender, target: receiver, source_port: port, target_port: 5001 }
        }
    }
}

/// Bytes of data in a full segment.
fn full_payload(connection: &Connection) -> u32 {
    payload(connection.packet_size, connection)
}

/// Bytes of data in a packet of `size` bytes.
fn payload(size: u32, connection: &Connection) -> u32 {
    let options = if connection.timestamps { TIMESTAMPS } else { 0 };
    size.saturating_sub(INTERNET + TCP + options).max(1)
}

/// Sequence number of the first byte of a segment.
fn first_byte(connection: &Connection, segment: u32) -> u32 {
    if segment == 0 {
        return 0;
    }
    let full = u64::from(full_payload(connection));
    let beyond = segment > connection.last_segment;
    let before = if beyond { connection.last_segment } else { segment };
    let mut offset = u64::from(before - 1) * full;
    if beyond {
        offset += u64::from(payload(connection.last_size, connection));
    }
    (1 + offset) as u32 // wraps as TCP's do
}

/// A frame, and how long it was before it was cut behind its headers.
pub struct Frame {
    /// The bytes kept.
    pub bytes: Vec<u8>,
    /// The length of the whole frame.
    pub length: u32,
}

/// The packet of a record; with its payload of zeros if it is wanted `whole`.
pub fn frame(record: &PacketRecord, connection: &Connection, whole: bool) -> Frame {
    let ends = Ends::of(connection, record.acknowledgement);
    let segment = if connection.has_sender {
        segment(record, connection, ends)
    } else {
        datagram(record, ends)
    };
    let headers = ETHERNET + INTERNET as usize + segment.bytes.len();
    let length = (headers + segment.payload as usize).max(ETHERNET + record.size as usize);
    let kept = if whole { length } else { headers };
    let mut bytes = Vec::with_capacity(length);
    for (host, number) in [(1_u8, ends.target), (0, ends.source)] {
        bytes.extend([2, host]);
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend([0x08, 0x00]);
    bytes.extend(internet_header(record, ends, &segment));
    bytes.extend(segment.bytes);
    bytes.resize(kept, 0);
    Frame { bytes, length: length as u32 }
}

/// Payload of an IP packet.
struct Carried {
    protocol: u8,
    bytes: Vec<u8>,
    /// Zeros behind that.
    payload: u32,
}

fn internet_header(record: &PacketRecord, ends: Ends, carried: &Carried) -> [u8; 20] {
    let length = (INTERNET + carried.bytes.len() as u32 + carried.payload).min(65_535) as u16;
    let mut header = [0; 20];
    header[0] = 0x45;
    header[1] = record.ecn;
    header[2..4].copy_from_slice(&length.to_be_bytes());
    header[4..6].copy_from_slice(&(record.sequence as u16).to_be_bytes());
    header[6] = 0x40; // must not be fragmented
    header[8] = 64;
    header[9] = carried.protocol;
    header[12..16].copy_from_slice(&ends.source.to_be_bytes());
    header[16..20].copy_from_slice(&ends.target.to_be_bytes());
    let checksum = checksum(0, &header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

fn datagram(record: &PacketRecord, ends: Ends) -> Carried {
    let payload = record.size.saturating_sub(INTERNET + UDP).max(1);
    let length = (UDP + payload) as u16;
    let mut bytes = Vec::with_capacity(UDP as usize);
    bytes.extend(ends.source_port.to_be_bytes());
    bytes.extend(ends.target_port.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0]);
    let checksum = match checksum(pseudo_header(ends, 17, u32::from(length)), &bytes) {
        0 => 0xffff, // 0 says that there is none
        checksum => checksum,
    };
    bytes[6..8].copy_from_slice(&checksum.to_be_bytes());
    Carried { protocol: 17, bytes, payload }
}

fn segment(record: &PacketRecord, connection: &Connection, ends: Ends) -> Carried {
    let (number, answer, payload) = if record.acknowledgement {
        // The receiver sends nothing but the opening segment's answer.
        let sent = if record.opens { 0 } else { 1 };
        (sent, first_byte(connection, record.sequence), 0)
    } else {
        let answer = u32::from(!record.opens);
        let payload = if record.opens { 0 } else { payload(record.size, connection) };
        (first_byte(connection, record.sequence), answer, payload)
    };
    let options = options(record, connection);
    let mut bytes = Vec::with_capacity(TCP as usize + options.len());
    bytes.extend(ends.source_port.to_be_bytes());
    bytes.extend(ends.target_port.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes.extend(answer.to_be_bytes());
    let (accurate, flags) = flags(record, connection);
    let words = (TCP as usize + options.len()) / 4;
    bytes.push((words as u8) << 4 | u8::from(accurate));
    bytes.push(flags);
    bytes.extend(65_535_u16.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(options);
    let length = bytes.len() as u32 + payload;
    let checksum = checksum(pseudo_header(ends, 6, length), &bytes);
    bytes[16..18].copy_from_slice(&checksum.to_be_bytes());
    Carried { protocol: 6, bytes, payload }
}

/// The flag of accurate ECN, and the other eight.
fn flags(record: &PacketRecord, connection: &Connection) -> (bool, u8) {
    let accurate = matches!(connection.ecn, Ecn::Accurate | Ecn::Scalable);
    let bit = |on: bool, flag: u8| if on { flag } else { 0 };
    let classic = connection.ecn == Ecn::Classic;
    match (record.acknowledgement, record.opens) {
        (false, true) => (accurate, SYN | bit(accurate || classic, ECE | CWR)),
        (false, false) => (false, ACK | bit(record.window_reduced, CWR)),
        // RFC 9768, table 2: that the SYN came unmarked, or marked.
        (true, true) if accurate => (record.marked > 0, SYN | ACK | bit(true, CWR)),
        (true, true) => (false, SYN | ACK | bit(classic, ECE)),
        // The count of marks from 5 on, in three bits (RFC 9768, section 3.2.2).
        (true, false) if accurate => {
            let count = record.marked.wrapping_add(5) & 7;
            (count & 4 != 0, ACK | bit(count & 2 != 0, CWR) | bit(count & 1 != 0, ECE))
        }
        (true, false) => (false, ACK | bit(classic && record.congestion_echo, ECE)),
    }
}

fn options(record: &PacketRecord, connection: &Connection) -> Vec<u8> {
    let mut options = Vec::new();
    if record.opens {
        let most = full_payload(connection).min(65_535) as u16;
        options.extend([2, 4]);
        options.extend(most.to_be_bytes());
        options.extend([1, 3, 3, 14]);
        if connection.selective {
            options.extend([1, 1, 4, 2]);
        }
    }
    if connection.timestamps {
        let [sent, echo] = [record.sent, record.echo].map(|time| (time / 1000) as u32);
        options.extend([1, 1, 8, 10]);
        options.extend(sent.to_be_bytes());
        options.extend(echo.to_be_bytes());
    }
    let blocks = record.blocks.as_slice();
    if !blocks.is_empty() {
        options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for &(first, after) in blocks {
            options.extend(first_byte(connection, first).to_be_bytes());
            options.extend(first_byte(connection, after).to_be_bytes());
        }
    }
    options
}

fn pseudo_header(ends: Ends, protocol: u8, length: u32) -> u32 {
    let halves = |word: u32| (word >> 16) + (word & 0xffff);
    halves(ends.source) + halves(ends.target) + u32::from(protocol) + length
}

/// RFC 1071, of `bytes` after what has been summed up already.
fn checksum(begun: u32, bytes: &[u8]) -> u16 {
    let mut sum = begun;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}
