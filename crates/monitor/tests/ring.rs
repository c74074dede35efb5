//! Blocks of a packet socket's ring, written by hand as Linux's `if_packet.h` draws them.

use crate::common::{self, MILLISECOND, back, forth};
use proptest::prelude::*;
use vermilion_monitor::{
    Captured, Configuration, Departures, LinkType, Listener, Monitor, Passage, read_ring_block,
};

const ETHERNET: u16 = 1;
const LOOPBACK: u16 = 772;
const TUNNEL: u16 = 768;
const HOST: u8 = 0;
const OUTGOING: u8 = 4;
const EXIT: u32 = 3;
const ENTRANCE: u32 = 5;

/// A packet of the ring: when, on which kind of device, which way, and its bytes.
struct Frame {
    time: u64,
    device: u16,
    kind: u8,
    /// The interface's number.
    interface: u32,
    /// Bytes before the IP header.
    link: Vec<u8>,
    internet: Vec<u8>,
    /// How many bytes it had.
    length: u32,
}

fn frame(time: u64, kind: u8, internet: Vec<u8>) -> Frame {
    let mut link = vec![0; 12];
    link.extend([8, 0]);
    let length = (link.len() + internet.len()) as u32;
    Frame { time, device: ETHERNET, kind, interface: EXIT, link, internet, length }
}

fn block(frames: &[Frame]) -> Vec<u8> {
    let mut packets = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        let contents = [&frame.link[..], &frame.internet].concat();
        // 48 bytes of header, 20 of the address, then room up to the packet.
        let place = 82_usize;
        let size = (place + contents.len()).next_multiple_of(16);
        let next = if number + 1 == frames.len() { 0 } else { size as u32 };
        let mut packet = Vec::new();
        for number in [
            next,
            (frame.time / 1_000_000_000) as u32,
            (frame.time % 1_000_000_000) as u32,
            contents.len() as u32,
            frame.length,
            1,
        ] {
            packet.extend(number.to_ne_bytes());
        }
        packet.extend((place as u16).to_ne_bytes());
        packet.extend(((place + frame.link.len()) as u16).to_ne_bytes());
        packet.resize(48, 0);
        packet.extend(17_u16.to_ne_bytes());
        packet.extend([8, 0]);
        packet.extend(frame.interface.to_ne_bytes());
        packet.extend(frame.device.to_ne_bytes());
        packet.push(frame.kind);
        packet.resize(place, 0);
        packet.extend(&contents);
        packet.resize(size, 0);
        packets.extend(packet);
    }
    let mut block = Vec::new();
    let length = 48 + packets.len() as u32;
    for number in [2, 48, 1, frames.len() as u32, 48, length] {
        block.extend(number.to_ne_bytes());
    }
    block.resize(48, 0);
    block.extend(packets);
    block
}

type Seen = (Option<u64>, LinkType, Vec<u8>, u32, Passage);

fn read(block: &[u8]) -> (Vec<Seen>, Result<(), String>) {
    let mut seen = Vec::new();
    let mut each = |packet: &Captured<'_>, passage| {
        let bytes = packet.bytes.to_vec();
        seen.push((packet.time, packet.link, bytes, packet.original_length, passage));
    };
    let outcome =
        read_ring_block(block, &[9, ENTRANCE], &mut each).map_err(|error| error.to_string());
    (seen, outcome)
}

#[test]
fn packets_come_with_their_time_and_their_way() {
    let time = 1_700_000_000_123_456_789;
    let whole = forth().bytes();
    let first = Frame { length: 1514, ..frame(time, OUTGOING, whole.clone()) };
    let second = frame(time + 5, HOST, back().bytes());
    let (seen, outcome) = read(&block(&[first, second]));
    assert_eq!(outcome, Ok(()));
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[0].0, seen[0].1, seen[0].3), (Some(time), LinkType::Ethernet, 1514));
    assert_eq!((&seen[0].2[14..], seen[0].4), (&whole[..], Passage::Leaving));
    assert_eq!((seen[1].0, seen[1].4), (Some(time + 5), Passage::Arriving));
}

#[test]
fn what_comes_in_where_packets_go_on_into_the_queue_enters() {
    let passage = |kind, interface| {
        let packet = Frame { interface, ..frame(7, kind, forth().bytes()) };
        read(&block(&[packet])).0[0].4
    };
    assert_eq!(passage(HOST, ENTRANCE), Passage::Entering);
    assert_eq!(passage(HOST, EXIT), Passage::Arriving);
    assert_eq!(passage(OUTGOING, ENTRANCE), Passage::Leaving);
}

#[test]
fn loopback_shows_a_packet_twice_and_is_read_once() {
    let twice =
        [OUTGOING, HOST].map(|kind| Frame { device: LOOPBACK, ..frame(7, kind, forth().bytes()) });
    let (seen, outcome) = read(&block(&twice));
    assert_eq!(outcome, Ok(()));
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].4, Passage::Leaving);
}

#[test]
fn what_stands_before_the_ip_header_of_other_devices_is_left_away() {
    let packet = forth().bytes();
    let length = packet.len() as u32 + 4;
    let tunnel =
        Frame { device: TUNNEL, link: vec![9; 4], length, ..frame(7, OUTGOING, packet.clone()) };
    let (seen, _) = read(&block(&[tunnel]));
    assert_eq!((seen[0].1, &seen[0].2, seen[0].3), (LinkType::RawInternet, &packet, length - 4));
}

#[test]
fn a_block_that_makes_no_sense_is_told_by_its_byte() {
    let good = block(&[frame(7, HOST, forth().bytes()), frame(8, HOST, back().bytes())]);
    let (_, outcome) = read(&good[..20]);
    assert_eq!(
        outcome.unwrap_err(),
        "byte 0: 20 bytes; expected the header of a ring's block, 48 bytes"
    );
    let mut other = good.clone();
    other[0] = 1;
    assert!(read(&other).1.unwrap_err().contains("version 1; expected version 2 (TPACKET_V3)"));
    let mut nowhere = good.clone();
    nowhere[48..52].copy_from_slice(&0_u32.to_ne_bytes()); // the next packet is this one
    let (seen, outcome) = read(&nowhere);
    assert_eq!(seen.len(), 1);
    assert!(outcome.unwrap_err().starts_with("byte 48: a packet of 0 bytes"));
    let (seen, outcome) = read(&good[..good.len() - 40]);
    assert_eq!(seen.len(), 1);
    assert!(outcome.unwrap_err().contains("the block's end"));
}

/// A monitor at the exit, and what leaves there.
fn at_the_exit(frames: &[Frame]) -> (Monitor, Departures) {
    let configuration = Configuration { flows: 16, ..Configuration::default() };
    let mut monitor = Monitor::new(configuration).unwrap();
    let mut departures = Departures::new();
    read_ring_block(&block(frames), &[ENTRANCE], &mut |packet, passage| match passage {
        Passage::Entering => monitor.sees_enter(packet, &mut departures),
        Passage::Leaving | Passage::Arriving => {
            departures.passes(passage);
            monitor.observe(packet, &mut departures);
        }
    })
    .unwrap();
    (monitor, departures)
}

/// Dialogue of a sender and its receiver for so many rounds of 20 ms. Data comes in 5 ms after an answer
/// and up to `turn` ms more, waits for 30 ms in the queue, and is answered 40 ms after that.
fn rounds(number: u32, turn: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    for round in 0..number {
        let base = 1_000 + 20 * u64::from(round);
        let came = base + 5 + u64::from(round * 7 % 10) * turn / 9;
        // It names the answer of this round, and is answered in the fourth or fifth after it.
        let data = common::Tcp {
            timestamps: Some((round + 1, 5_000 + round)),
            sequence: 100 * round,
            payload: 100,
            ..forth()
        };
        let answer = common::Tcp {
            timestamps: Some((5_000 + round, round.saturating_sub(4))),
            acknowledgement: 100 * round.saturating_sub(4),
            ..back()
        };
        let at = |milliseconds, kind, interface, packet: &common::Tcp| Frame {
            interface,
            ..frame(milliseconds * MILLISECOND, kind, packet.bytes())
        };
        frames.push(at(base, HOST, EXIT, &answer));
        frames.push(at(came, HOST, ENTRANCE, &data));
        frames.push(at(came + 30, OUTGOING, EXIT, &data));
    }
    frames.sort_by_key(|frame| frame.time);
    frames
}

fn seen_of(frames: &[Frame]) -> (Vec<u64>, u64) {
    let (monitor, mut departures) = at_the_exit(frames);
    let whole = departures.take_round_trips();
    let milliseconds = whole.iter().map(|each| each.nanoseconds / MILLISECOND).collect();
    (milliseconds, monitor.totals().packets)
}

#[test]
fn who_paces_is_timed_without_the_wait_for_its_turn_where_packets_are_seen_to_come_in() {
    let paced = rounds(200, 18);
    let at_the_exit: Vec<_> =
        rounds(200, 18).into_iter().filter(|frame| frame.interface == EXIT).collect();
    let (with, seen_with) = seen_of(&paced);
    let (without, seen_without) = seen_of(&at_the_exit);
    // What is seen to come in is no packet of its own.
    assert_eq!((seen_with, seen_without), (400, 400));
    // An answer passes where a round begins: for data that has left late in the one before, sooner.
    let mean = |trips: &[u64]| trips.iter().sum::<u64>() as f64 / trips.len() as f64;
    let late = |trips: &[u64]| mean(&trips[trips.len() / 2..]);
    // The sender waits for 0 to 18 ms, 9 in the mean; it is the same with the wait and without.
    assert!((late(&without) - late(&with) - 9.0).abs() < 1.0, "{} {}", late(&without), late(&with));
}

#[test]
fn who_does_not_pace_is_timed_as_without_an_entrance() {
    let frames = rounds(200, 0);
    let at_the_exit: Vec<_> =
        rounds(200, 0).into_iter().filter(|frame| frame.interface == EXIT).collect();
    assert_eq!(seen_of(&frames), seen_of(&at_the_exit));
}

#[test]
fn no_flow_begins_with_what_is_only_seen_to_come_in() {
    let entered = Frame { interface: ENTRANCE, ..frame(7, HOST, forth().bytes()) };
    let (monitor, mut departures) = at_the_exit(&[entered]);
    assert_eq!((monitor.followed(), monitor.totals().packets), (0, 0));
    assert_eq!(departures.take_volumes(), []);
}

#[test]
fn the_exit_knows_who_sends_and_who_only_answers() {
    let at = |milliseconds, kind, packet| frame(milliseconds * MILLISECOND, kind, packet);
    let data = |value, echo, sequence| {
        let segment = forth();
        let timestamps = Some((value, echo));
        common::Tcp { timestamps, sequence, payload: 100, ..segment }.bytes()
    };
    let answer = |value, echo, acknowledgement| {
        common::Tcp { timestamps: Some((value, echo)), acknowledgement, ..back() }.bytes()
    };
    // Of another connection only the answers leave here.
    let other_way = common::Tcp { from: (7, 70), to: (8, 80), payload: 50, ..forth() }.bytes();
    let its_answer = common::Tcp { from: (8, 80), to: (7, 70), ..forth() }.bytes();
    let before = common::Tcp { timestamps: Some((9, 1)), ..forth() }.bytes();
    let (monitor, mut departures) = at_the_exit(&[
        at(999, OUTGOING, before), // whence the sender's clock is known
        at(1000, OUTGOING, data(10, 1, 0)),
        at(1001, HOST, answer(100, 10, 100)),
        // Nothing is under way beyond the exit; but this was sent before the answer came ...
        at(1011, OUTGOING, data(15, 1, 100)),
        // ... so this one tells the whole round trip: 30 ms of it in the queue before the exit.
        at(1031, OUTGOING, data(20, 100, 200)),
        at(1032, HOST, other_way),
        at(1033, OUTGOING, its_answer),
    ]);
    let whole = departures.take_round_trips();
    assert_eq!(whole.iter().map(|each| each.nanoseconds).collect::<Vec<_>>(), [31 * MILLISECOND]);
    assert_eq!(departures.active(&monitor, 0), 1);
    assert_eq!(departures.active(&monitor, 2_000 * MILLISECOND), 0);
    let volumes = departures.take_volumes();
    let told: Vec<_> = volumes
        .iter()
        .map(|each| (each.volume.packets, each.volume.bytes, each.slows_down))
        .collect();
    assert_eq!(told, [(4, 508, Some(true)), (1, 40, None)]);
    assert!(volumes.iter().all(|each| !each.selective));
    assert_eq!(departures.take_volumes(), []);
}

#[test]
fn the_exit_knows_whose_receivers_acknowledge_selectively() {
    let at = |milliseconds, kind, packet| frame(milliseconds * MILLISECOND, kind, packet);
    let first = || common::Tcp { payload: 100, ..forth() };
    let second = || common::Tcp { sequence: 200, ..first() };
    let selective = |frames: &[Frame]| {
        let (_, mut departures) = at_the_exit(frames);
        departures.take_volumes().iter().map(|each| each.selective).collect::<Vec<_>>()
    };
    let plain = at(1002, HOST, common::Tcp { acknowledgement: 100, ..back() }.bytes());
    let block = common::Tcp { acknowledgement: 100, arrived: &[(200, 300)], ..back() };
    let block = at(1002, HOST, block.bytes());
    // What was sent once more has arrived twice: that is a block too.
    let twice = common::Tcp { acknowledgement: 300, arrived: &[(200, 300)], ..back() };
    let twice = at(1002, HOST, twice.bytes());
    for (answer, told) in [(plain, false), (block, true), (twice, true)] {
        let frames = [
            at(1000, OUTGOING, first().bytes()),
            at(1001, OUTGOING, second().bytes()),
            answer,
            at(1003, OUTGOING, common::Tcp { sequence: 300, ..first() }.bytes()),
        ];
        assert_eq!(selective(&frames), [told]);
    }
    for (ours, theirs) in [(true, true), (true, false), (false, true)] {
        let syn = common::Tcp { flags: common::SYN, permits_selective: ours, ..forth() };
        let answer = common::Tcp {
            flags: common::SYN | common::ACK,
            acknowledgement: 1,
            permits_selective: theirs,
            ..back()
        };
        let frames = [
            at(1000, OUTGOING, syn.bytes()),
            at(1001, HOST, answer.bytes()),
            at(1002, OUTGOING, common::Tcp { sequence: 1, acknowledgement: 1, ..first() }.bytes()),
        ];
        assert_eq!(selective(&frames), [ours && theirs]);
    }
}

#[test]
fn round_trips_that_nobody_takes_are_bounded_and_counted() {
    let (monitor, mut departures) = at_the_exit(&[frame(7, OUTGOING, forth().bytes())]);
    let [flow] = monitor.flows().collect::<Vec<_>>()[..] else { panic!("one flow") };
    let trip = vermilion_monitor::RoundTrip {
        flow: flow.number,
        path: vermilion_monitor::Path::Whole,
        from_initiator: true,
        time: 0,
        nanoseconds: 1,
    };
    for _ in 0..Departures::MOST_KEPT + 3 {
        departures.round_trip(&trip);
    }
    assert_eq!(departures.take_round_trips().len(), Departures::MOST_KEPT);
    assert_eq!(departures.left_out(), 3);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400),
                              plausible in any::<bool>()) {
        if plausible && bytes.len() >= 48 {
            bytes[..4].copy_from_slice(&2_u32.to_ne_bytes());
            bytes[16..20].copy_from_slice(&48_u32.to_ne_bytes());
        }
        let _ = read(&bytes);
    }

    #[test]
    fn a_damaged_block_gives_an_error_or_packets(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = block(&[
            frame(7, OUTGOING, forth().bytes()),
            frame(8, HOST, back().bytes()),
        ]);
        for (place, value) in changes {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        let (seen, _) = read(&bytes);
        prop_assert!(seen.len() <= bytes.len() / 48);
    }
}

#[test]
fn the_exit_knows_whose_packets_may_be_marked_in_place_of_being_dropped() {
    let at = |milliseconds, packet: common::Tcp| {
        frame(milliseconds * MILLISECOND, OUTGOING, packet.bytes())
    };
    let data = || common::Tcp { payload: 100, ..forth() };
    let capable = |ecn: &[u8]| {
        let frames: Vec<_> = (0..)
            .zip(ecn)
            .map(|(place, &ecn)| {
                at(1000 + place, common::Tcp { sequence: 100 * place as u32, ecn, ..data() })
            })
            .collect();
        let (_, mut departures) = at_the_exit(&frames);
        departures.take_volumes().iter().map(|each| each.ecn_capable).collect::<Vec<_>>()
    };
    // RFC 3168, section 5: 0b00 is not capable, 0b01 and 0b10 are, 0b11 has been marked on its way.
    assert_eq!(capable(&[0b00, 0b00]), [false]);
    for codepoint in [0b01, 0b10, 0b11] {
        assert_eq!(capable(&[codepoint]), [true]);
    }
    // What is sent again is not capable; its flow stays so.
    assert_eq!(capable(&[0b10, 0b00, 0b00]), [true]);
}
