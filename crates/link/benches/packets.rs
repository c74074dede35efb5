//! Packets of 1500 bytes per CPU second of one core, from memory to memory: in, decided over, kept,
//! sent and handed on.
//!
//! One by one, and 42 in one piece, as a kernel hands them over. The link is as fast as its packets
//! come, so that a queue stands; every packet is copied in and out.

use std::hint::black_box;

use cpu_time::ThreadTime;
use serde_json::json;
use vermilion_link::{Jitter, Offload, Room, Way};

const PACKETS: u64 = 2_000_000;
const PIECE: usize = 1448;
const HEADERS: usize = 52;

/// A TCP segment of IPv4 with timestamps, or as many in one as fit.
fn packet(pieces: usize) -> (Offload, Vec<u8>) {
    let length = HEADERS + pieces * PIECE;
    let mut bytes = vec![0x5a; length];
    bytes[..20]
        .copy_from_slice(&[0x45, 2, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    (bytes[32], bytes[33]) = (0x80, 0x10);
    let offload = Offload {
        needs_checksum: true,
        kind: if pieces > 1 { Offload::TCP_4 } else { Offload::WHOLE },
        headers: 0,
        segment: PIECE as u16,
        checksum_start: 20,
        checksum_offset: 16,
    };
    (offload, bytes)
}

fn measure(discipline: &str, pieces: usize) {
    let link = serde_json::from_value(json!({
        "name": "uplink",
        "rate_bit_per_s": 12_000_000_000_u64,
        "delay_ns": 1_000_000,
        "queue": {"discipline": discipline},
    }))
    .expect("the link can be read");
    let room = Room { packets: 65_536, largest: 1500 };
    let mut way = Way::new(&link, Jitter::default(), 1, 0, room).expect("the link can be used");
    let (offload, mut bytes) = packet(pieces);
    let mut out = vec![0; 1500];
    let watch = ThreadTime::now();
    let (mut sent, mut handed_on, mut now) = (0, 0_u64, 0);
    while sent < PACKETS {
        // 64 flows in turns; a packet each microsecond, which is the link's rate.
        bytes[20] = (sent / pieces as u64 % 64) as u8;
        way.arrive(now, &offload, black_box(&bytes));
        sent += pieces as u64;
        now += 1000 * pieces as u64;
        way.advance(now);
        while let Some(delivery) = way.next_delivery(now) {
            out.copy_from_slice(way.bytes(&delivery));
            black_box(&out);
            way.delivered(delivery, now);
            handed_on += 1;
        }
    }
    let seconds = watch.elapsed().as_secs_f64();
    println!(
        "{discipline:>10}, {pieces:2} in one piece: {:.2} million packets per CPU second, {:.0} ns each ({handed_on} handed on)",
        sent as f64 / seconds / 1e6,
        seconds / sent as f64 * 1e9,
    );
}

fn main() {
    for discipline in ["drop-tail", "red", "pie", "codel", "fq-codel"] {
        for pieces in [1, 42] {
            measure(discipline, pieces);
        }
    }
}
