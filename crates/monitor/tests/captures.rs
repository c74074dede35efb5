//! Capture files written by hand, field by field, as the formats' drafts draw them.

use std::io::Write;

use crate::common::{back, forth};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use vermilion_monitor::{CaptureError, CaptureReader, Captured, LinkType};

/// Outcome of a packet: time, link, bytes, original length.
type Seen = (Option<u64>, LinkType, Vec<u8>, u32);

/// Reads a file in pieces of one size.
fn read_in_pieces(file: &[u8], size: usize) -> (Vec<Seen>, Result<(), CaptureError>) {
    let mut reader = CaptureReader::new();
    let mut seen = Vec::new();
    let mut each = |packet: &Captured<'_>| {
        seen.push((packet.time, packet.link, packet.bytes.to_vec(), packet.original_length));
    };
    let outcome = file
        .chunks(size)
        .try_for_each(|piece| reader.feed(piece, &mut each))
        .and_then(|()| reader.finish());
    (seen, outcome)
}

fn read(file: &[u8]) -> (Vec<Seen>, Result<(), CaptureError>) {
    read_in_pieces(file, usize::MAX)
}

/// Writes numbers in one of the two byte orders.
#[derive(Clone, Copy)]
struct Order(bool);

impl Order {
    fn u16(self, number: u16) -> Vec<u8> {
        if self.0 { number.to_be_bytes().to_vec() } else { number.to_le_bytes().to_vec() }
    }
    fn u32(self, number: u32) -> Vec<u8> {
        if self.0 { number.to_be_bytes().to_vec() } else { number.to_le_bytes().to_vec() }
    }
    fn u32s(self, numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|&number| self.u32(number)).collect()
    }

    /// A block of pcapng: type, length, body with padding, length.
    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let length = self.u32(padded as u32 + 12);
        let mut block = [self.u32(kind), length.clone(), body.to_vec()].concat();
        block.resize(8 + padded, 0);
        [block, length].concat()
    }

    fn section(self) -> Vec<u8> {
        // Byte-order magic, version 1.0, length of the section: not known.
        let body =
            [self.u32(0x1a2b_3c4d), self.u16(1), self.u16(0), self.u32s(&[u32::MAX, u32::MAX])];
        self.block(0x0a0d_0d0a, &body.concat())
    }

    fn interface(self, link: u16, snap_length: u32, options: &[u8]) -> Vec<u8> {
        let body = [self.u16(link), self.u16(0), self.u32(snap_length), options.to_vec()];
        self.block(1, &body.concat())
    }

    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut option = [self.u16(code), self.u16(value.len() as u16), value.to_vec()].concat();
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    fn enhanced(self, interface: u32, ticks: u64, bytes: &[u8], original: u32) -> Vec<u8> {
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let fixed = self.u32s(&[interface, high, low, bytes.len() as u32, original]);
        self.block(6, &[&fixed[..], bytes].concat())
    }
}

const BOTH: [Order; 2] = [Order(true), Order(false)];

/// A pcap file with two packets, 1.5 seconds and 2.000000001 seconds after 1970 (or 2.000001).
fn pcap(order: Order, nanoseconds: bool) -> Vec<u8> {
    let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let half = if nanoseconds { 500_000_000 } else { 500_000 };
    [
        order.u32(magic),
        order.u16(2), // version 2.4
        order.u16(4),
        order.u32s(&[0, 0, 262_144, 101]), // zone, accuracy, snap length, raw IP
        order.u32s(&[1, half, 40, 40]),    // seconds, fraction, captured, original
        forth().bytes(),
        order.u32s(&[2, 1, 20, 40]),
        back().bytes()[..20].to_vec(),
    ]
    .concat()
}

#[test]
fn pcap_in_both_byte_orders_and_both_units() {
    for order in BOTH {
        for (nanoseconds, second) in [(true, 2_000_000_001), (false, 2_000_001_000)] {
            let (seen, outcome) = read(&pcap(order, nanoseconds));
            outcome.unwrap();
            let link = LinkType::RawInternet;
            let packets = [
                (Some(1_500_000_000), link, forth().bytes(), 40),
                (Some(second), link, back().bytes()[..20].to_vec(), 40),
            ];
            assert_eq!(seen, packets);
        }
    }
}

/// Two sections of different byte order; interfaces of different kind and clock; every block that
/// holds packets, and some that hold none.
fn pcapng() -> (Vec<u8>, Vec<Seen>) {
    let mut file = Vec::new();
    let mut packets = Vec::new();
    let packet = forth().bytes();
    let ethernet = [&[1; 12][..], &[8, 0], &packet].concat();
    for order in BOTH {
        let end = order.option(0, &[]);
        file.extend(order.section());
        // Statistics and names, before and between.
        file.extend(order.block(5, &[0; 12]));
        file.extend(order.interface(1, 0, &[]));
        let nanoseconds = [order.option(2, b"eth1"), order.option(9, &[9]), end.clone()].concat();
        file.extend(order.interface(101, 24, &nanoseconds));
        // 2^-10 s, and 1000 s later.
        let thousand = if order.0 { 1000_i64.to_be_bytes() } else { 1000_i64.to_le_bytes() };
        let binary = [order.option(9, &[0x8a]), order.option(14, &thousand), end].concat();
        file.extend(order.interface(276, 0, &binary));
        file.extend(order.enhanced(0, 1_500_000, &ethernet, 54));
        packets.push((Some(1_500_000_000), LinkType::Ethernet, ethernet.clone(), 54));
        file.extend(order.enhanced(1, 3_000_000_007, &packet[..21], 40));
        packets.push((Some(3_000_000_007), LinkType::RawInternet, packet[..21].to_vec(), 40));
        file.extend(order.block(0x0bad_0bad, b"something private"));
        file.extend(order.enhanced(2, 512, &packet, 40));
        packets.push((Some(1_000_500_000_000), LinkType::LinuxCooked2, packet.clone(), 40));
        // The packet block of old: interface, drops, time, lengths.
        let fixed = [order.u16(0), order.u16(7), order.u32s(&[0, 9, 54, 54])].concat();
        file.extend(order.block(2, &[&fixed[..], &ethernet].concat()));
        packets.push((Some(9_000), LinkType::Ethernet, ethernet.clone(), 54));
        // A simple packet has an original length alone.
        file.extend(order.block(3, &[&order.u32(54)[..], &ethernet].concat()));
        packets.push((None, LinkType::Ethernet, ethernet.clone(), 54));
    }
    (file, packets)
}

#[test]
fn pcapng_with_everything_that_may_hold_a_packet() {
    let (file, packets) = pcapng();
    let (seen, outcome) = read(&file);
    outcome.unwrap();
    assert_eq!(seen, packets);
}

#[test]
fn a_simple_packet_is_cut_at_the_snap_length() {
    let order = Order(false);
    let packet = forth().bytes();
    let simple = [&order.u32(40)[..], &packet[..24]].concat();
    let file = [order.section(), order.interface(101, 24, &[]), order.block(3, &simple)].concat();
    let (seen, outcome) = read(&file);
    outcome.unwrap();
    assert_eq!(seen, [(None, LinkType::RawInternet, packet[..24].to_vec(), 40)]);
}

fn compressed(file: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(file).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_around_either_and_in_several_members() {
    let (file, packets) = pcapng();
    assert_eq!(read(&compressed(&file)), (packets.clone(), Ok(())));
    let (first, second) = file.split_at(100);
    assert_eq!(read(&[compressed(first), compressed(second)].concat()), (packets, Ok(())));
    let plain = pcap(Order(true), true);
    assert_eq!(read(&compressed(&plain)), read(&plain));
}

#[test]
fn a_file_may_come_in_pieces_of_any_size_and_be_split_anywhere() {
    for file in [pcap(Order(false), false), pcapng().0, compressed(&pcapng().0)] {
        let whole = read(&file);
        for size in 1..=40 {
            assert_eq!(read_in_pieces(&file, size), whole, "pieces of {size}");
        }
        for place in 0..=file.len() {
            let mut reader = CaptureReader::new();
            let mut count = 0;
            let mut each = |_: &Captured<'_>| count += 1;
            reader.feed(&file[..place], &mut each).unwrap();
            reader.feed(&file[place..], &mut each).unwrap();
            reader.finish().unwrap();
            assert_eq!(count, whole.0.len(), "split at {place}");
        }
    }
}

#[test]
fn a_file_that_ends_too_early_gives_its_packets_and_says_so() {
    for (file, starts) in [
        // Where packets begin and end: nothing is missing there.
        (pcap(Order(true), true), vec![24, 80, 116]),
        (compressed(&pcap(Order(true), true)), vec![]),
    ] {
        let (whole, _) = read(&file);
        for length in 4..file.len() {
            let (seen, outcome) = read(&file[..length]);
            assert!(whole.starts_with(&seen));
            match outcome {
                Ok(()) => assert!(starts.contains(&length), "{length}"),
                // Less than the file's header may be anything.
                Err(error) => assert_eq!(
                    error.cut_short,
                    length >= 24 || starts.is_empty(),
                    "{length} {error}"
                ),
            }
        }
    }
    let file = pcap(Order(true), true);
    let error = read(&file[..90]).1.unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 80: the file's end, 10 bytes into what begins here; expected at least 6 bytes more"
    );
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let kinds = "a capture file: pcap, pcapng, or one of them compressed with gzip";
    let order = Order(false);
    let begun = [order.section(), order.interface(1, 0, &[])].concat();
    assert_eq!(begun.len(), 48);
    let with = |more: &[u8]| [&begun[..], more].concat();
    let mut version = pcap(order, false);
    version[4] = 3;
    let mut large = pcap(order, false);
    large[80 + 8..80 + 12].copy_from_slice(&[0, 0, 0, 1]);
    let mut length = order.enhanced(0, 1, &[0; 8], 8);
    *length.last_mut().unwrap() = 1;
    let mut cut = order.enhanced(0, 1, &[0; 8], 8);
    cut[20] = 9;
    for (file, says) in [
        (vec![], format!("byte 0: an empty file; expected {kinds}")),
        (b"PK\x03\x04zip".to_vec(), format!("byte 0: a file that begins with the bytes 50 4b 03 04; expected {kinds}")),
        (vec![0xa1, 0xb2], format!("byte 0: a file of 2 bytes; expected {kinds}")),
        (version, "byte 4: version 3.4; expected version 2.4 of the pcap format".into()),
        (large, "byte 88: a packet of 16777216 captured bytes; expected at most 262144 bytes".into()),
        (with(&order.u32s(&[6, 15, 0])), "byte 52: a block of 15 bytes; expected a multiple of 4, at least 12".into()),
        (with(&order.u32s(&[6, 1 << 20, 0])), "byte 52: a block of 1048576 bytes; expected at most 327680 bytes".into()),
        (with(&length), "byte 84: another length than the 40 bytes at the block's beginning; expected the same length at its end".into()),
        (with(&cut), "byte 68: a packet of 9 captured bytes; expected at most 8, the block's rest".into()),
        (with(&order.enhanced(3, 1, &[0; 8], 8)), "byte 56: a packet of interface 3; expected 0, the only interface described".into()),
        (
            [order.section(), order.enhanced(0, 1, &[0; 8], 8)].concat(),
            "byte 36: a packet of interface 0; expected an interface description before the first packet".into(),
        ),
        (
            [order.section(), order.interface(1, 0, &order.option(9, &[39]))].concat(),
            "byte 48: timestamps in units of 10^-39 s; expected 10^-38 s or larger".into(),
        ),
        (
            compressed(&large_inside()),
            "byte 32 after decompression: a packet of 4294967295 captured bytes; expected at most 262144 bytes".into(),
        ),
    ] {
        for size in [1, 7, usize::MAX] {
            let error = read_in_pieces(&file, size).1.unwrap_err();
            assert_eq!(error.to_string(), says);
            assert!(!error.cut_short);
        }
    }
}

fn large_inside() -> Vec<u8> {
    let mut file = pcap(Order(true), false);
    file[32..36].copy_from_slice(&[0xff; 4]);
    file
}

#[test]
fn damaged_compression_is_told_from_a_short_file() {
    let whole = compressed(&pcap(Order(true), true));
    for (place, says) in [
        (whole.len() - 8, "a checksum that is not that of the data; expected undamaged gzip data"),
        (whole.len() - 1, "a checksum that is not that of the data; expected undamaged gzip data"),
        (2, "1f 8b 07; expected 1f 8b 08, the beginning of gzip data"),
    ] {
        let mut file = whole.clone();
        file[place] ^= 15;
        let error = read(&file).1.unwrap_err();
        let offset = if place == 2 { 0 } else { whole.len() - 8 };
        assert_eq!(error.to_string(), format!("byte {offset}: {says}"));
        assert!(!error.cut_short);
    }
    // RFC 1951: block type 3 is reserved.
    let reserved = [&whole[..10], &[0x07]].concat();
    let error = read(&reserved).1.unwrap_err();
    assert!(error.found.contains("cannot be read") && !error.cut_short, "{error}");
    let behind = [&whole[..], b"something else"].concat();
    let error = read(&behind).1.unwrap_err();
    assert_eq!(error.offset, whole.len() as u64);
}

#[test]
fn a_gzip_header_may_have_all_its_fields() {
    let plain = pcap(Order(true), true);
    let whole = compressed(&plain);
    for flags in 0..32_u8 {
        let mut file = whole[..10].to_vec();
        file[3] = flags;
        // RFC 1952, section 2.3: extra field, name, comment, checksum of the header.
        let fields: [(u8, &[u8]); 4] =
            [(4, &[3, 0, 1, 2, 3]), (8, b"name\0"), (16, b"\0"), (2, &[0xab, 0xcd])];
        for (flag, field) in fields {
            if flags & flag != 0 {
                file.extend(field);
            }
        }
        file.extend(&whole[10..]);
        for size in [1, usize::MAX] {
            assert_eq!(read_in_pieces(&file, size), read(&plain), "flags {flags}");
        }
    }
}

#[test]
fn what_expands_a_thousandfold_is_read() {
    // A pcap file, then a packet of zeros again and again: 40 MB of 40 kB.
    let order = Order(true);
    let mut file = pcap(order, true);
    let packet = [order.u32s(&[3, 0, 200_000, 200_000]), vec![0; 200_000]].concat();
    for _ in 0..200 {
        file.extend(&packet);
    }
    let (seen, outcome) = read(&compressed(&file));
    outcome.unwrap();
    assert_eq!(seen.len(), 202);
}

#[test]
fn a_reader_that_has_failed_stays_so() {
    let mut reader = CaptureReader::new();
    let first = reader.feed(b"not a capture", &mut |_| ()).unwrap_err();
    assert_eq!(reader.feed(&pcap(Order(true), true), &mut |_| panic!()).unwrap_err(), first);
    assert_eq!(reader.finish().unwrap_err(), first);
}

#[test]
fn timestamps_of_every_unit() {
    let order = Order(true);
    // Units of 10^-6, 1, 10^-12, 10^-38 and 2^-127 seconds, and what so many ticks are.
    for (resolution, ticks, nanoseconds) in [
        (6, 1, 1000),
        (0, 3, 3_000_000_000),
        (12, 1_999, 1),
        (38, u64::MAX, 0),
        (0xff, u64::MAX, 0),
        (0x80, 2, 2_000_000_000),
        (0, u64::MAX, u64::MAX), // more than can be said
    ] {
        let interface = order.interface(101, 0, &order.option(9, &[resolution]));
        let packet = order.enhanced(0, ticks, &[], 0);
        let (seen, outcome) = read(&[order.section(), interface, packet].concat());
        outcome.unwrap();
        assert_eq!(seen[0].0, Some(nanoseconds), "{resolution} {ticks}");
    }
    let interface = order.interface(101, 0, &order.option(14, &i64::MIN.to_be_bytes()));
    let (seen, _) = read(&[order.section(), interface, order.enhanced(0, 5, &[], 0)].concat());
    assert_eq!(seen[0].0, Some(0));
}

proptest! {
    #[test]
    fn damaged_files_give_an_error_or_packets(
        which in 0..3_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        size in 1..200_usize,
    ) {
        let (file, _) = pcapng();
        let mut file = vec![pcap(Order(true), true), compressed(&file), file].swap_remove(which);
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        // In whatever pieces, the outcome is the same; where compression fails can only be said to
        // the piece.
        let (seen, outcome) = read_in_pieces(&file, size);
        let (whole, outcome_of_whole) = read(&file);
        prop_assert_eq!(outcome.is_ok(), outcome_of_whole.is_ok());
        if which != 1 {
            prop_assert_eq!(&seen, &whole);
            prop_assert_eq!(outcome, outcome_of_whole);
        }
    }

    #[test]
    fn any_bytes_behind_a_known_beginning(
        ng: bool,
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let order = Order(true);
        let mut file = if ng {
            [order.section(), order.interface(1, 0, &[])].concat()
        } else {
            pcap(order, true)
        };
        file.extend(bytes);
        let (seen, _) = read(&file);
        let before = if ng { 0 } else { 2 };
        prop_assert!(seen.len() >= before);
    }
}
