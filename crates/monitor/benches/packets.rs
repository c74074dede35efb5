//! Packets per CPU second of one core, from memory: decoding, flows and round trips.
//!
//! Bulk transfers with an acknowledgement for every second segment, over Ethernet, as many flows at
//! once as each line says; the packets of all flows take turns, so that each finds its flow cold.

use std::hint::black_box;

use cpu_time::ThreadTime;
use vermilion_monitor::{Captured, Configuration, LinkType, Monitor, Path};

const PACKETS: u64 = 6_000_000;
/// Bytes of a packet that are captured, as of a ring of small frames.
const SNAP_LENGTH: usize = 128;

/// An Ethernet frame with a TCP header, with or without timestamps; data or an acknowledgement.
fn frame(timestamps: bool, data: bool) -> Vec<u8> {
    let header = if timestamps { 32_u16 } else { 20 };
    let payload = if data { 1448 } else { 0 };
    let mut bytes = vec![0; 12];
    bytes.extend([8, 0, 0x45, 2]);
    bytes.extend((20 + header + payload).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 0, 10, 0, 0, 0]);
    let (source, destination) = if data { (443_u16, 5000_u16) } else { (5000, 443) };
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend([0; 8]);
    bytes.extend(((header / 4) << 12 | 16).to_be_bytes());
    bytes.extend([0xff, 0xff, 0, 0, 0, 0]);
    if timestamps {
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    bytes.resize(SNAP_LENGTH.min(usize::from(14 + 20 + header + payload)), 0);
    bytes
}

fn put(frame: &mut [u8], at: usize, number: u32) {
    frame[at..at + 4].copy_from_slice(&number.to_be_bytes());
}

/// Runs so many flows and prints what that took.
fn measure(flows: u32, timestamps: bool) {
    const BEHIND: u32 = 20;
    let mut data = frame(timestamps, true);
    let mut answer = frame(timestamps, false);
    let mut monitor = Monitor::new(Configuration::default()).expect("the default can be used");
    let watch = ThreadTime::now();
    let (mut packets, mut round) = (0, 0_u32);
    while packets < PACKETS {
        for flow in 0..flows {
            // A packet each 10 microseconds in all; a sender's clock ticks with every segment.
            let time = packets * 10_000;
            put(&mut data, 26, flow);
            put(&mut data, 30, !flow);
            put(&mut data, 38, round * 1448);
            if timestamps {
                put(&mut data, 58, round);
                put(&mut data, 62, round.saturating_sub(2));
            }
            let packet = Captured {
                time: Some(time),
                link: LinkType::Ethernet,
                bytes: &data,
                original_length: 1514,
            };
            monitor.observe(black_box(&packet), &mut ());
            packets += 1;
            if round % 2 == 1 && round > BEHIND {
                put(&mut answer, 26, !flow);
                put(&mut answer, 30, flow);
                put(&mut answer, 42, (round + 1 - BEHIND) * 1448);
                if timestamps {
                    put(&mut answer, 58, round);
                    put(&mut answer, 62, round - BEHIND);
                }
                let packet = Captured { bytes: &answer, original_length: 66, ..packet };
                monitor.observe(black_box(&packet), &mut ());
                packets += 1;
            }
        }
        round += 1;
    }
    let seconds = watch.elapsed().as_secs_f64();
    let taken: u64 = [Path::Beyond, Path::Whole]
        .iter()
        .filter_map(|&path| monitor.totals().durations(path))
        .map(|durations| durations.count)
        .sum();
    println!(
        "{flows:>6} flows, {}: {:.1} million packets per CPU second, {:.0} ns each; {} round trips",
        if timestamps { "timestamps      " } else { "sequence numbers" },
        packets as f64 / seconds / 1e6,
        seconds * 1e9 / packets as f64,
        taken,
    );
}

fn main() {
    for timestamps in [true, false] {
        for flows in [10, 1000, 50_000] {
            measure(flows, timestamps);
        }
    }
}
