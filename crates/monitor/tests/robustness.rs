//! No bytes make the monitor panic, and whatever they are, its books balance.

use crate::common::{self, Kept, Tcp, back, forth, internet_4, udp};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use vermilion_monitor::{
    Captured, Configuration, Departures, LinkType, Monitor, Passage, Path, Traffic, Undecoded,
};

/// Packets of every kind to begin with.
fn seeds() -> Vec<Vec<u8>> {
    let ethernet = |packet: &[u8], ether_type: [u8; 2]| {
        [&[1; 12][..], &[0x81, 0, 0, 5], &ether_type, packet].concat()
    };
    let segment = Tcp { payload: 40, timestamps: Some((70, 60)), ecn: 2, ..forth() }.bytes();
    let mut version_6 = vec![0x60, 0, 0, 0, 0, 60, 44, 64];
    version_6.extend([9; 32]);
    version_6.extend([60, 0, 0, 1, 0, 0, 0, 9, 6, 0, 1, 4, 0, 0, 0, 0]);
    version_6.extend(&segment[20..]);
    vec![
        ethernet(&segment, [8, 0]),
        ethernet(&version_6, [0x86, 0xdd]),
        Tcp { largest_segment: Some(1460), flags: common::SYN, ..back() }.bytes(),
        segment,
        version_6,
        udp((1, 2), (3, 443), &[0xc0, 0, 0, 0, 1]),
        internet_4(1, 2, 1, 8, 0),
    ]
}

/// Hands in random and mutated packets and checks the books.
fn storm(packets: u64, seed: u64) {
    let seeds = seeds();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let configuration = Configuration { flows: 100, ..Configuration::default() };
    let mut monitor = Monitor::new(configuration).unwrap();
    let mut all = (Kept::default(), Departures::new());
    let mut bytes = Vec::new();
    for _ in 0..packets {
        let dice = random.next_u64();
        bytes.clear();
        if dice & 7 == 0 {
            bytes.resize((dice >> 8) as usize % 120, 0);
            random.fill_bytes(&mut bytes);
        } else {
            bytes.extend(&seeds[(dice >> 8) as usize % seeds.len()]);
            for _ in 0..(dice >> 16) & 7 {
                let change = random.next_u64();
                let at = (change >> 8) as usize % bytes.len();
                bytes[at] = change as u8;
            }
            if dice >> 20 & 3 == 0 {
                bytes.truncate((dice >> 24) as usize % (bytes.len() + 1));
            }
        }
        let packet = Captured {
            time: (dice >> 30 & 31 != 0).then(|| random.next_u64() >> (dice >> 40 & 63)),
            link: LinkType::from_number(
                [1, 101, 101, 101, 113, 276, 0, 147][(dice >> 50) as usize & 7],
            ),
            bytes: &bytes,
            original_length: if dice >> 60 == 0 { random.next_u32() } else { bytes.len() as u32 },
        };
        if dice >> 61 == 0 {
            monitor.sees_enter(&packet, &mut all);
        }
        let leaves = dice >> 58 & 1 == 0;
        all.1.passes(if leaves { Passage::Leaving } else { Passage::Arriving });
        monitor.observe(&packet, &mut all);
        assert!(monitor.followed() <= 100);
    }
    monitor.finish(&mut all);
    let (kept, _) = all;
    assert_eq!(monitor.followed(), 0);
    let totals = monitor.totals();
    assert_eq!(totals.packets, packets);
    let internet: u64 = totals.traffic.iter().map(|amount| amount.packets).sum();
    assert_eq!(internet, totals.sizes.count());
    assert_eq!(internet, totals.ecn.iter().sum::<u64>());
    let bytes: u64 = totals.traffic.iter().map(|amount| amount.bytes).sum();
    assert_eq!(bytes, totals.sizes.sum);
    let behind_the_internet_header: u64 = [Undecoded::CutTransport, Undecoded::BadTransport]
        .map(|reason| totals.undecoded.get(reason))
        .iter()
        .sum();
    assert!(behind_the_internet_header <= totals.amount(Traffic::Other).packets);
    let taken = |path| totals.durations(path).map_or(0, |durations| durations.count);
    assert_eq!(totals.segments, taken(Path::Beyond) + totals.not_timed.total());
    assert_eq!(taken(Path::Beyond), taken(Path::Whole) + totals.not_whole.total());
    assert_eq!(totals.flows, totals.ended.total());
    assert_eq!(totals.flows, kept.ended.len() as u64);
    let followed: u64 = kept
        .ended
        .iter()
        .map(|(flow, _)| flow.directions.iter().map(|side| side.packets).sum::<u64>())
        .sum();
    let others = totals.amount(Traffic::Other).packets + totals.not_tracked.total();
    assert_eq!(internet, followed + others);
}

#[test]
fn two_hundred_thousand_random_and_mutated_packets() {
    storm(200_000, 1);
}

/// `make evidence`, or `cargo test --release -p vermilion-monitor --test monitoring -- --ignored`
#[test]
#[ignore = "ten million packets are too many for every run of the tests, which take 200,000; make evidence"]
fn ten_million_random_and_mutated_packets() {
    for seed in 2..52 {
        storm(200_000, seed);
    }
}

proptest! {
    #[test]
    fn any_bytes_on_any_link(number: u16, bytes in prop::collection::vec(any::<u8>(), 0..300), length: u32) {
        let link = LinkType::from_number(number);
        let mut monitor = Monitor::new(Configuration { flows: 1, ..Configuration::default() }).unwrap();
        let packet = Captured { time: Some(0), link, bytes: &bytes, original_length: length };
        monitor.observe(&packet, &mut ());
        monitor.finish(&mut ());
        prop_assert_eq!(monitor.totals().packets, 1);
    }

    /// Two connections that agree on nothing, on one pair of ports.
    #[test]
    fn any_sequence_of_segments(
        segments in prop::collection::vec(
            (any::<bool>(), any::<u32>(), any::<u32>(), 0_u16..512, 0_u16..1500, any::<Option<(u32, u32)>>(), any::<u64>()),
            0..200,
        ),
    ) {
        let mut watch = common::Watch::new();
        for (towards, sequence, acknowledgement, flags, payload, timestamps, time) in segments {
            let segment = Tcp {
                sequence, acknowledgement, flags, payload, timestamps,
                ..if towards { forth() } else { back() }
            };
            watch.segment(time, segment);
        }
        watch.monitor.finish(&mut watch.kept);
        let totals = watch.monitor.totals();
        let taken = totals.durations(Path::Beyond).map_or(0, |durations| durations.count);
        prop_assert_eq!(totals.segments, taken + totals.not_timed.total());
    }
}
