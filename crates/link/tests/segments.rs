//! What a kernel hands over in one piece is cut into the packets that a wire would carry.

use crate::common::plain_sum;
use proptest::prelude::*;
use vermilion_link::{Merger, Offload, Segments, Unusable, mark};

const FIN_PSH_ACK_CWR: u8 = 0x01 | 0x08 | 0x10 | 0x80;

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 251) as u8).collect()
}

/// An IP header before `transport`, and where that begins.
fn behind_ip(version_6: bool, options: usize, protocol: u8, transport: &[u8]) -> (Vec<u8>, usize) {
    let mut packet = if version_6 {
        let mut header = vec![0x60, 0x20, 0x12, 0x34, 0, 0, protocol, 64];
        header.extend(1..=32_u8);
        header
    } else {
        let words = 5 + options as u8;
        let mut header = vec![0x40 | words, 2, 0, 0, 0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0];
        header.extend([10, 1, 2, 3, 192, 168, 200, 201]);
        header.extend(vec![1; options * 4]);
        header
    };
    let begin = packet.len();
    packet.extend(transport);
    if !version_6 {
        let length = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&length);
    }
    (packet, begin)
}

fn tcp(
    version_6: bool,
    options: usize,
    tcp_options: usize,
    length: usize,
) -> (Vec<u8>, usize, usize) {
    let mut segment = vec![0x30, 0x39, 0, 80, 0xff, 0xff, 0xff, 0, 1, 2, 3, 4];
    segment.extend([(5 + tcp_options as u8) << 4, FIN_PSH_ACK_CWR, 1, 2, 0xab, 0xcd, 0, 0]);
    segment.extend(vec![1; tcp_options * 4]);
    let header = segment.len();
    segment.extend(data(length));
    let (packet, begin) = behind_ip(version_6, options, 6, &segment);
    (packet, begin, begin + header)
}

/// The sum over the pseudo header and everything behind the IP header: all ones where it is right.
fn transport_sum(packet: &[u8], begin: usize, protocol: u8) -> u32 {
    let addresses = if packet[0] >> 4 == 6 { &packet[8..40] } else { &packet[12..20] };
    let mut pseudo = addresses.to_vec();
    pseudo.extend([0, protocol]);
    pseudo.extend(((packet.len() - begin) as u16).to_be_bytes());
    pseudo.extend(&packet[begin..]);
    plain_sum_long(&pseudo)
}

fn plain_sum_long(bytes: &[u8]) -> u32 {
    // So long that it has to be folded on the way.
    bytes.chunks(1024).map(plain_sum).fold(0, |sum, part| {
        let sum = sum + part;
        (sum & 0xffff) + (sum >> 16)
    })
}

fn cut(offload: &Offload, packet: &[u8]) -> Vec<Vec<u8>> {
    let segments = Segments::of(offload, packet).expect("it can be cut");
    let one = |number| {
        let mut into = vec![0xee; segments.size(number)];
        segments.write(number, &mut into);
        into
    };
    (0..segments.count()).map(one).collect()
}

fn offload(kind: u8, segment: usize, begin: usize, checksum_offset: u16) -> Offload {
    Offload {
        headers: 0,
        needs_checksum: true,
        kind,
        segment: segment as u16,
        checksum_start: begin as u16,
        checksum_offset,
    }
}

proptest! {
    #[test]
    fn segments_of_tcp_are_those_of_a_wire(
        version_6 in any::<bool>(), options in 0..11_usize, tcp_options in 0..11_usize,
        length in 1..60_000_usize, piece in 1..9000_usize,
    ) {
        let piece = piece.max(length / 200 + 1);
        let (packet, begin, header) = tcp(version_6, options, tcp_options, length);
        let kind = if version_6 { Offload::TCP_6 } else { Offload::TCP_4 };
        let segments = cut(&offload(kind, piece, begin, 16), &packet);
        prop_assert_eq!(segments.len(), length.div_ceil(piece));
        let whole: Vec<u8> = segments.iter().flat_map(|each| each[header..].to_vec()).collect();
        prop_assert_eq!(whole, data(length));
        for (number, segment) in segments.iter().enumerate() {
            let last = number + 1 == segments.len();
            prop_assert!(last || segment.len() == header + piece);
            prop_assert_eq!(transport_sum(segment, begin, 6), 0xffff);
            if version_6 {
                let said = u16::from_be_bytes([segment[4], segment[5]]);
                prop_assert_eq!(usize::from(said), segment.len() - 40);
                prop_assert_eq!(&segment[..4], &packet[..4]);
            } else {
                prop_assert_eq!(plain_sum(&segment[..begin]), 0xffff);
                prop_assert_eq!(segment[2..4].to_vec(), (segment.len() as u16).to_be_bytes());
                let identification = 0xfffe_u16.wrapping_add(number as u16);
                prop_assert_eq!(segment[4..6].to_vec(), identification.to_be_bytes());
            }
            let sequence = 0xffff_ff00_u32.wrapping_add((number * piece) as u32);
            prop_assert_eq!(segment[begin + 4..begin + 8].to_vec(), sequence.to_be_bytes());
            let mut flags = FIN_PSH_ACK_CWR;
            if !last {
                flags &= !0x09;
            }
            if number > 0 {
                flags &= !0x80;
            }
            prop_assert_eq!(segment[begin + 13], flags);
            // Nothing else has changed.
            prop_assert_eq!(&segment[begin..begin + 4], &packet[begin..begin + 4]);
            prop_assert_eq!(&segment[begin + 8..begin + 13], &packet[begin + 8..begin + 13]);
            prop_assert_eq!(&segment[begin + 18..header], &packet[begin + 18..header]);
        }
    }

    #[test]
    fn datagrams_are_those_of_a_wire(
        version_6 in any::<bool>(), length in 1..60_000_usize, piece in 400..9000_usize,
    ) {
        let mut datagram = vec![0x30, 0x39, 0, 53, 0, 0, 0, 0];
        datagram.extend(data(length));
        let (packet, begin) = behind_ip(version_6, 0, 17, &datagram);
        let datagrams = cut(&offload(Offload::DATAGRAMS, piece, begin, 6), &packet);
        let whole: Vec<u8> = datagrams.iter().flat_map(|each| each[begin + 8..].to_vec()).collect();
        prop_assert_eq!(whole, data(length));
        for each in &datagrams {
            prop_assert_eq!(transport_sum(each, begin, 17), 0xffff);
            let said = u16::from_be_bytes([each[begin + 4], each[begin + 5]]);
            prop_assert_eq!(usize::from(said), each.len() - begin);
        }
    }

    #[test]
    fn a_checksum_that_was_begun_is_completed(version_6 in any::<bool>(), length in 0..1400_usize) {
        let (mut packet, begin, _) = tcp(version_6, 0, 3, length);
        // As a kernel begins it: the sum over the pseudo header, not complemented.
        packet[begin + 16..begin + 18].fill(0);
        let addresses = if version_6 { &packet[8..40] } else { &packet[12..20] };
        let mut pseudo = addresses.to_vec();
        pseudo.extend([0, 6]);
        pseudo.extend(((packet.len() - begin) as u16).to_be_bytes());
        let begun = plain_sum(&pseudo) as u16;
        packet[begin + 16..begin + 18].copy_from_slice(&begun.to_be_bytes());
        let whole = cut(&offload(Offload::WHOLE, 0, begin, 16), &packet);
        prop_assert_eq!(whole.len(), 1);
        prop_assert_eq!(transport_sum(&whole[0], begin, 6), 0xffff);
        prop_assert_eq!(&whole[0][..begin + 16], &packet[..begin + 16]);
        prop_assert_eq!(&whole[0][begin + 18..], &packet[begin + 18..]);
    }
}

#[test]
fn what_is_not_to_be_cut_stays_as_it_is() {
    for bytes in [vec![], vec![0xff; 3], data(1500)] {
        assert_eq!(cut(&Offload::default(), &bytes), [bytes]);
    }
}

#[test]
fn what_does_not_fit_is_no_packet() {
    let (packet, begin, header) = tcp(false, 0, 0, 3000);
    let right = offload(Offload::TCP_4, 1000, begin, 16);
    assert_eq!(cut(&right, &packet).len(), 3);
    let refused = |offload: &Offload, packet: &[u8]| Segments::of(offload, packet).unwrap_err();
    for wrong in [
        Offload { segment: 0, ..right },
        Offload { checksum_start: 24, ..right },
        Offload { checksum_start: 60_000, ..right },
        Offload { needs_checksum: false, ..right },
        Offload { kind: Offload::TCP_6, ..right },
        Offload { kind: Offload::DATAGRAMS, ..right },
        Offload { kind: Offload::WHOLE, checksum_start: 3000, checksum_offset: 60_000, ..right },
        Offload { kind: Offload::WHOLE, checksum_start: 0, ..right },
    ] {
        assert_eq!(refused(&wrong, &packet), Unusable::Contradiction, "{wrong:?}");
    }
    assert_eq!(refused(&Offload { kind: 3, ..right }, &packet), Unusable::UnknownKind);
    let changed = |at: usize, value: u8| {
        let mut other = packet.clone();
        other[at] = value;
        other
    };
    // A piece of a packet; a header longer than the packet is; one that is too short.
    assert_eq!(refused(&right, &changed(6, 0x20)), Unusable::Contradiction);
    assert_eq!(refused(&right, &changed(7, 1)), Unusable::Contradiction);
    assert_eq!(refused(&right, &changed(begin + 12, 0x40)), Unusable::Contradiction);
    assert_eq!(refused(&right, &packet[..begin + 10]), Unusable::Contradiction);
    assert_eq!(refused(&right, &[]), Unusable::Contradiction);
    // Without data there is one packet, of its headers.
    assert_eq!(cut(&right, &packet[..header]).len(), 1);
}

/// Packets that a kernel would cut, cut and merged again for another kernel: cut there, it is the same.
#[test]
fn pieces_that_are_merged_are_cut_into_the_same_packets() {
    for (version_6, tcp_options) in [(false, 0), (false, 3), (true, 3), (true, 10)] {
        let (mut packet, begin, _) = tcp(version_6, 0, tcp_options, 10_000);
        // Neither the last packet of all nor one of a reduced window.
        packet[begin + 13] = 0x18;
        let kind = if version_6 { Offload::TCP_6 } else { Offload::TCP_4 };
        let offload = Offload {
            needs_checksum: true,
            kind,
            headers: 0,
            segment: 1448,
            checksum_start: begin as u16,
            checksum_offset: 16,
        };
        let packets = cut(&offload, &packet);
        assert_eq!(packets.len(), 7);
        let mut merger = Merger::default();
        assert!(packets.iter().all(|each| merger.add(each, true)), "{version_6} {tcp_options}");
        // After the last one, which is shorter and pushed, nothing comes.
        assert!(!merger.add(&packets[0], true));
        assert_eq!(merger.packets(), 7);
        let (told, piece) = merger.finish();
        let read = Offload::read(told.written());
        assert_eq!(read, told);
        assert_eq!(cut(&read, piece), packets);
        merger.clear();

        // Alone, a packet stays as it is.
        assert!(merger.add(&packets[3], true));
        assert_eq!(merger.finish(), (Offload::default(), packets[3].as_slice()));
        merger.clear();

        // A packet is missing; one is marked; one's checksum may be wrong; one acknowledges more.
        let differs = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut other = packets[1].clone();
            change(&mut other);
            let mut merger = Merger::default();
            merger.add(&packets[0], true) && !merger.add(&other, true)
        };
        assert!(differs(&|other| *other = packets[2].clone()));
        assert!(differs(&|other| mark(other)));
        assert!(differs(&|other| other[begin + 11] ^= 1));
        assert!(differs(&|other| other[begin + 13] |= 0x01));
        assert!(differs(&|other| other[begin + 1] ^= 1));
        assert!(!differs(&|_| ()));
        let mut merger = Merger::default();
        assert!(merger.add(&packets[0], true) && !merger.add(&packets[1], false));
    }
}

proptest! {
    /// Whatever is merged, cutting it gives what was merged.
    #[test]
    fn nothing_is_merged_that_would_not_come_out_the_same(
        version_6 in any::<bool>(),
        sizes in prop::collection::vec(prop::sample::select(vec![1448_usize, 1448, 1448, 700]), 1..40),
        flips in prop::collection::vec((0..40_usize, 0..80_usize, any::<u8>()), 0..6),
    ) {
        let (first, begin, data_at) = tcp(version_6, 0, 3, 0);
        let mut packets = Vec::new();
        let mut sequence = 7_u32;
        for (number, size) in sizes.iter().enumerate() {
            let mut packet = first.clone();
            packet.extend(data(*size));
            packet[begin + 13] = 0x10;
            packet[begin + 4..begin + 8].copy_from_slice(&sequence.to_be_bytes());
            sequence += *size as u32;
            if version_6 {
                let length = (packet.len() - 40) as u16;
                packet[4..6].copy_from_slice(&length.to_be_bytes());
            } else {
                let length = packet.len() as u16;
                packet[2..4].copy_from_slice(&length.to_be_bytes());
                packet[4..6].copy_from_slice(&(number as u16).to_be_bytes());
            }
            for &(_, at, bits) in flips.iter().filter(|flip| flip.0 == number) {
                packet[at.min(data_at)] ^= bits;
            }
            // The checksums that a kernel would have completed.
            if !version_6 {
                packet[10..12].fill(0);
                let sum = !(plain_sum(&packet[..20]) as u16);
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            packet[begin + 16..begin + 18].fill(0);
            let sum = !(transport_sum(&packet, begin, 6) as u16);
            packet[begin + 16..begin + 18].copy_from_slice(&sum.to_be_bytes());
            packets.push(packet);
        }
        let mut merger = Merger::default();
        let mut merged: Vec<Vec<u8>> = Vec::new();
        let mut out = Vec::new();
        for packet in packets.iter().map(Some).chain([None]) {
            if packet.is_some_and(|packet| merger.add(packet, true)) {
                merged.push(packet.unwrap().clone());
                continue;
            }
            let (offload, piece) = merger.finish();
            let found = if merged.len() == 1 { vec![piece.to_vec()] } else { cut(&offload, piece) };
            prop_assert_eq!(&found, &merged);
            out.append(&mut merged);
            merger.clear();
            if let Some(packet) = packet {
                prop_assert!(merger.add(packet, true));
                merged.push(packet.clone());
            }
        }
        prop_assert_eq!(out, packets);
    }
}
