//! Packets and ways for the tests, short to write.

use serde_json::{Value, json};
use vermilion_link::{Jitter, Offload, Room, Way};
use vermilion_netsim::scenario::Link;

pub const MILLISECOND: u64 = 1_000_000;
pub const ROOM: Room = Room { packets: 4096, largest: 1500 };
pub const WHOLE: Offload = Offload {
    needs_checksum: false,
    kind: Offload::WHOLE,
    headers: 0,
    segment: 0,
    checksum_start: 0,
    checksum_offset: 0,
};

/// A link of 10 ms.
pub fn link(rate: u64, discipline: &str, parameters: Value) -> Link {
    serde_json::from_value(json!({
        "name": "uplink",
        "rate_bit_per_s": rate,
        "delay_ns": 10 * MILLISECOND,
        "queue": {"discipline": discipline, "parameters": parameters},
    }))
    .expect("a test's link can be read")
}

pub fn way(link: &Link, seed: u64) -> Way {
    Way::new(link, Jitter::default(), seed, 0, ROOM).expect("a test's link is valid")
}

/// The Internet checksum as the book has it, to judge the other by.
pub fn plain_sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (folded & 0xffff) + (folded >> 16)
}

/// An IPv4 datagram of `size` bytes, at least 36, with a number in it.
pub fn packet(number: u64, size: usize, ecn: u8, flow: u16) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..size).map(|at| (at as u8).wrapping_mul(37)).collect();
    bytes[0] = 0x45;
    bytes[1] = ecn;
    bytes[2..4].copy_from_slice(&(size as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&[0x40, 0]);
    (bytes[8], bytes[9]) = (64, 17);
    bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[20..22].copy_from_slice(&flow.to_be_bytes());
    bytes[22..26].copy_from_slice(&[0, 9, 0, 0]);
    bytes[24..26].copy_from_slice(&((size - 20) as u16).to_be_bytes());
    bytes[28..36].copy_from_slice(&number.to_be_bytes());
    bytes[10..12].fill(0);
    let checksum = !(plain_sum(&bytes[..20]) as u16);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

pub fn number_of(packet: &[u8]) -> u64 {
    u64::from_be_bytes(packet[28..36].try_into().expect("eight bytes"))
}

/// Everything that is handed on by `now`: when it was due, and its bytes.
pub fn take_due(way: &mut Way, now: u64) -> Vec<(u64, Vec<u8>)> {
    let mut taken = Vec::new();
    way.advance(now);
    while let Some(delivery) = way.next_delivery(now) {
        taken.push((delivery.due, way.bytes(&delivery).to_vec()));
        way.delivered(delivery, now);
    }
    taken
}
