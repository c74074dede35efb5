//! What is seen of packets that pass, and what changes while they do.

use std::collections::HashMap;

use crate::common::{MILLISECOND, ROOM, WHOLE, link, number_of, packet, plain_sum, take_due, way};
use serde_json::{Value, json};
use vermilion_link::{
    Change, Distances, Jitter, Remark, Sight, Sighting, Sightings, Way, capture_head,
    capture_packets,
};
use vermilion_monitor::CaptureReader;

const HOUR: u64 = 3_600_000 * MILLISECOND;
const ALL: [Sight; 4] = [Sight::Arrives, Sight::Departs, Sight::Dropped, Sight::HandedOn];

/// A change of the link at a time in milliseconds.
fn change_at(way: &mut Way, milliseconds: u64, what: &Value) {
    let mut change = json!({"at_ns": milliseconds * MILLISECOND, "link": "uplink"});
    change.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    let change = serde_json::from_value(change).expect("a test's change can be read");
    way.change_at(milliseconds * MILLISECOND, Change::of(&change)).unwrap();
}

/// When everything that is still to come arrives, in milliseconds.
fn arrivals(way: &mut Way) -> Vec<u64> {
    take_due(way, HOUR).iter().map(|(due, _)| due / MILLISECOND).collect()
}

#[test]
fn every_packet_is_seen_where_it_comes_by() {
    // Ten packets of 1 ms each at once, of which three have room.
    let mut way = way(&link(8_000_000, "drop-tail", json!({"limit": 3.0})), 1);
    way.watch(Some(Sightings::new(&ALL, 40, 1 << 16)));
    for number in 0..10 {
        way.arrive(MILLISECOND, &WHOLE, &packet(number, 1000, 0, 0));
    }
    take_due(&mut way, 100 * MILLISECOND);
    let notes = way.sightings().unwrap().take(<[u8]>::to_vec);
    let seen: Vec<Sighting<'_>> = Sighting::read(&notes).collect();
    let at = |sight| seen.iter().filter(move |each| each.sight == sight);
    let departures: Vec<_> = at(Sight::Departs).map(|each| each.time / MILLISECOND).collect();
    // One is in transmission and three wait.
    assert_eq!(departures, [1, 2, 3, 4]);
    assert_eq!(at(Sight::Arrives).count(), 10);
    assert_eq!(at(Sight::Dropped).count(), 6);
    assert!(at(Sight::Dropped).all(|each| each.remark == Remark::Overflow));
    let handed_on: Vec<_> = at(Sight::HandedOn).map(|each| each.time / MILLISECOND).collect();
    assert_eq!(handed_on, [12, 13, 14, 15]);
    for (number, each) in at(Sight::Arrives).enumerate() {
        assert_eq!(each.bytes, &packet(number as u64, 1000, 0, 0)[..40]);
        assert_eq!(each.size, 1000);
    }
    assert!(way.sightings().unwrap().take(<[u8]>::is_empty));
}

#[test]
fn what_has_no_room_is_counted_and_harms_nothing() {
    let mut way = way(&link(8_000_000, "drop-tail", json!({})), 1);
    way.watch(Some(Sightings::new(&[Sight::HandedOn], 48, 200)));
    for number in 0..10 {
        way.arrive(0, &WHOLE, &packet(number, 1000, 0, 0));
    }
    assert_eq!(take_due(&mut way, 100 * MILLISECOND).len(), 10);
    let notes = way.sightings().unwrap().take(<[u8]>::to_vec);
    // 16 bytes and 48 for each.
    assert_eq!((notes.len(), Sighting::read(&notes).count()), (192, 3));
    assert_eq!(way.report(100 * MILLISECOND).emulator.not_seen, Some(7));
    for cut in 0..notes.len() {
        assert_eq!(Sighting::read(&notes[..cut]).count(), cut / 64);
    }
}

#[test]
fn notes_become_a_capture_file_in_order_of_time() {
    let mut ways =
        [1, 2].map(|seed| way(&link(8_000_000, "drop-tail", json!({"limit": 2.0})), seed));
    let mut notes = Vec::new();
    for (number, way) in (0..).zip(&mut ways) {
        way.watch(Some(Sightings::new(&ALL, 1500, 1 << 16)));
        for packet_number in 0..4 {
            let bytes = packet(packet_number, 500, 0, number);
            way.arrive(u64::from(number) * MILLISECOND / 3, &WHOLE, &bytes);
        }
        take_due(way, 100 * MILLISECOND);
        notes.push(way.sightings().unwrap().take(<[u8]>::to_vec));
    }
    let notes: Vec<&[u8]> = notes.iter().map(Vec::as_slice).collect();
    let (packets, count) = capture_packets(&notes, 1000);
    // Of each way four arrive, three leave and one is dropped.
    assert_eq!(count, 16);
    let mut file = capture_head(&["uplink", "downlink"]);
    file.extend(packets);
    let mut reader = CaptureReader::new();
    let (mut times, mut whole) = (Vec::new(), 0);
    reader
        .feed(&file, &mut |captured| {
            times.push(captured.time.unwrap());
            whole += usize::from(captured.bytes.len() == 500);
            assert_eq!(plain_sum(&captured.bytes[..20]), 0xffff);
        })
        .unwrap();
    reader.finish().unwrap();
    assert_eq!((times.len(), whole), (16, 16));
    assert!(times.is_sorted());
    assert_eq!(capture_packets(&notes, 5).1, 5);
}

#[test]
fn packets_to_one_address_keep_their_order_and_others_overtake() {
    let mut way = way(&link(80_000_000, "drop-tail", json!({})), 1);
    let far = HashMap::from([([10, 0, 0, 2], 30 * MILLISECOND)]);
    way.set_distances(Distances::new(far)).unwrap();
    for number in 0..20 {
        let mut bytes = packet(number, 1000, 0, 0);
        if number % 2 == 1 {
            bytes[19] = 3; // an address that is at the end of the wire
        }
        way.arrive(0, &WHOLE, &bytes);
    }
    let taken = take_due(&mut way, 1000 * MILLISECOND);
    let numbers: Vec<u64> = taken.iter().map(|(_, bytes)| number_of(bytes)).collect();
    let expected: Vec<u64> = (0..10).map(|n| 2 * n + 1).chain((0..10).map(|n| 2 * n)).collect();
    assert_eq!(numbers, expected);
    // 0.1 ms for each packet before it and itself, 10 ms of wire, and 30 ms beyond for the others.
    let tenth = MILLISECOND / 10;
    assert_eq!((taken[0].0, taken[10].0), (10 * MILLISECOND + 2 * tenth, 40 * MILLISECOND + tenth));
    let endless = HashMap::from([([10, 0, 0, 2], u64::MAX)]);
    assert_eq!(way.set_distances(Distances::new(endless)).unwrap_err().field, "distances");
}

#[test]
fn changes_that_cannot_be_are_refused_or_counted() {
    let mut way = way(&link(8_000_000, "red", json!({})), 1);
    let rate = Change { rate: Some(0), ..Change::default() };
    assert_eq!(way.change_at(5, rate).unwrap_err().field, "rate");
    let delay = Change { delay: Some(u64::MAX), ..Change::default() };
    assert_eq!(way.change_at(5, delay).unwrap_err().field, "delay");
    let queue = serde_json::from_value(json!({"min_threshold": -4.0})).unwrap();
    way.change_at(5, Change { queue: Some(queue), ..Change::default() }).unwrap();
    assert_eq!(way.next_due(), Some(5));
    way.advance(10);
    assert_eq!(way.carried().changes_refused, 1);
    assert_eq!(way.next_due(), None);
}

#[test]
fn a_rate_change_while_a_lost_packet_is_sent_leaves_the_packet_before_it_alone() {
    // 10 ms of transmission and 10 ms of wire. The second packet is sent from 10 or from 15 ms on.
    for (second, rate) in [(0, 10_000), (0, 10_000_000), (15, 10_000), (15, 10_000_000)] {
        let mut way = way(&link(1_000_000, "drop-tail", json!({})), 1);
        change_at(&mut way, 5, &json!({"loss": {"model": "bernoulli", "probability": 1.0}}));
        change_at(&mut way, 16, &json!({"rate_bit_per_s": rate}));
        way.arrive(0, &WHOLE, &packet(0, 1250, 0, 0));
        way.arrive(second * MILLISECOND, &WHOLE, &packet(1, 1250, 0, 0));
        assert_eq!(arrivals(&mut way), [20], "{second} ms, {rate} bit/s");
        assert_eq!(way.ledger(HOUR).losses, 1);
    }
}

#[test]
fn a_packet_held_back_by_the_one_before_it_is_moved_by_no_more_than_its_own_way() {
    let mut way = way(&link(1_000_000, "drop-tail", json!({})), 1);
    change_at(&mut way, 5, &json!({"delay_ns": 0}));
    change_at(&mut way, 11, &json!({"rate_bit_per_s": 100_000}));
    way.arrive(0, &WHOLE, &packet(0, 1250, 0, 0));
    // It is sent from 10 to 12 ms and held back until 20. When the rate changes, its last
    // millisecond becomes ten.
    way.arrive(0, &WHOLE, &packet(1, 250, 0, 0));
    assert_eq!(arrivals(&mut way), [20, 21]);
}

/// A way whose packets differ in how long they take, and what distances are set.
fn jittery(most: u64, reorders: bool, distances: &[(u8, u64)]) -> Way {
    let jitter = Jitter { most_ns: most * MILLISECOND, reorders };
    let link = link(1_000_000, "drop-tail", json!({"limit": 200.0}));
    let mut way = Way::new(&link, jitter, 1, 0, ROOM).unwrap();
    let far = distances.iter().map(|&(last, far)| ([10, 0, 0, last], far * MILLISECOND));
    way.set_distances(Distances::new(far.collect())).unwrap();
    way
}

/// 120 packets of 1 ms each, to three addresses in turn: the numbers of those to each, as they arrive.
fn orders(way: &mut Way) -> [Vec<u64>; 3] {
    for number in 0..120 {
        let mut bytes = packet(number, 125, 0, 0);
        bytes[19] = 2 + (number % 3) as u8;
        way.arrive(0, &WHOLE, &bytes);
    }
    let mut numbers = [const { Vec::new() }; 3];
    for (_, bytes) in take_due(way, HOUR) {
        numbers[usize::from(bytes[19] - 2)].push(number_of(&bytes));
    }
    numbers
}

#[test]
fn jitter_reorders_no_packets_to_one_address_unless_it_may() {
    let far = [(3, 7), (4, 30)];
    let kept = orders(&mut jittery(50, false, &far));
    assert!(kept.iter().all(|numbers| numbers.len() == 40 && numbers.is_sorted()), "{kept:?}");
    let overtaken = orders(&mut jittery(50, true, &far));
    assert!(overtaken.iter().all(|numbers| !numbers.is_sorted()), "{overtaken:?}");
}

#[test]
fn a_shorter_delay_reorders_no_packets_to_one_address() {
    let mut way = jittery(0, false, &[(3, 7), (4, 30)]);
    change_at(&mut way, 50, &json!({"delay_ns": 0}));
    let kept = orders(&mut way);
    assert!(kept.iter().all(|numbers| numbers.len() == 40 && numbers.is_sorted()), "{kept:?}");
    // The same if an address comes nearer.
    let mut way = jittery(0, false, &[(2, 300), (3, 7), (4, 30)]);
    way.arrive(0, &WHOLE, &packet(0, 125, 0, 0));
    way.advance(50 * MILLISECOND);
    way.set_distances(Distances::new(HashMap::from([([10, 0, 0, 2], 0)]))).unwrap();
    way.arrive(50 * MILLISECOND, &WHOLE, &packet(1, 125, 0, 0));
    assert_eq!(arrivals(&mut way), [311, 311]);
}

#[test]
fn what_is_far_away_changes_nothing_for_other_addresses() {
    let due = |reorders, distances: &[(u8, u64)]| {
        let mut way = jittery(3, reorders, distances);
        for (at, rate) in [(20, 50_000), (60, 10_000_000), (70, 10_000), (300, 1_000_000)] {
            change_at(&mut way, at, &json!({"rate_bit_per_s": rate}));
        }
        change_at(&mut way, 40, &json!({"delay_ns": 2_000_000}));
        change_at(&mut way, 310, &json!({"delay_ns": 0}));
        for number in 0..120 {
            way.arrive(number / 3 * MILLISECOND, &WHOLE, &packet(number, 125, 0, 0));
        }
        take_due(&mut way, HOUR)
    };
    for reorders in [false, true] {
        let alone = due(reorders, &[]);
        assert_eq!(alone.len(), 120);
        assert!(alone == due(reorders, &[(9, 40)]), "reorders: {reorders}");
    }
}

#[test]
fn packets_that_new_settings_flush_are_seen() {
    let mut way = way(&link(100_000, "linux-red", json!({"limit": 100_000.0})), 1);
    way.watch(Some(Sightings::new(&ALL, 64, 1 << 16)));
    for number in 0..10 {
        way.arrive(0, &WHOLE, &packet(number, 1250, 0, 0));
    }
    let values = serde_json::from_value(json!({"limit": 90_000.0})).unwrap();
    way.set_parameters(20 * MILLISECOND, &values).unwrap();
    assert_eq!(way.ledger(20 * MILLISECOND).drops, 9);
    let notes = way.sightings().unwrap().take(<[u8]>::to_vec);
    let dropped: Vec<_> =
        Sighting::read(&notes).filter(|each| each.sight == Sight::Dropped).collect();
    let numbers: Vec<u64> = dropped.iter().map(|each| number_of(each.bytes)).collect();
    assert_eq!(numbers, Vec::from_iter(1..10));
    let flushed = (20 * MILLISECOND, Remark::Flush, "dropped: flush");
    assert!(dropped.iter().all(|each| (each.time, each.remark, each.remark.words()) == flushed));
}

#[test]
fn the_first_reading_holds_nothing_from_before_anyone_asked_for_readings() {
    let mut way = way(&link(10_000_000, "drop-tail", json!({"limit": 5.0})), 1);
    for number in 0..100 {
        way.arrive(0, &WHOLE, &packet(number, 1250, 0, 0));
    }
    take_due(&mut way, 100 * MILLISECOND);
    way.read_every(100 * MILLISECOND);
    way.arrive(150 * MILLISECOND, &WHOLE, &packet(100, 1250, 0, 0));
    way.advance(250 * MILLISECOND);
    let readings = way.take_readings();
    assert_eq!(readings.time_s, [0.1, 0.2]);
    assert_eq!(readings.arrivals, [0.0, 1.0]);
    assert_eq!(readings.drops, [0.0, 0.0]);
    // One packet in 100 ms.
    assert_eq!(readings.throughput_bit_per_s, [0.0, 100_000.0]);
}
