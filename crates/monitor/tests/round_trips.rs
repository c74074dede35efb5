//! Which round trips are taken, how long they are, and why the others are not. The expected
//! durations are the delays that each test lays between its packets.

mod whole;

use crate::common::{ACK, FIN, MILLISECOND, RST, SECOND, SYN, Tcp, Watch, back, forth};
use vermilion_monitor::{
    Configuration, Direction, Method, NotTimed, NotWhole, Path, RoundTrip, SLOTS,
};

fn taken(watch: &Watch, path: Path) -> Vec<u64> {
    let round_trips = watch.kept.round_trips.iter().filter(|each| each.path == path);
    round_trips.map(|each| each.nanoseconds / MILLISECOND).collect()
}

fn not_timed(watch: &Watch, reason: NotTimed) -> u64 {
    watch.monitor.totals().not_timed.get(reason)
}

/// Data of 1000 bytes with a timestamp.
fn data(sequence: u32, value: u32, echo: u32) -> Tcp {
    Tcp { sequence, payload: 1000, timestamps: Some((value, echo)), ..forth() }
}

/// A pure acknowledgement with a timestamp.
fn answer(acknowledgement: u32, value: u32, echo: u32) -> Tcp {
    Tcp { acknowledgement, timestamps: Some((value, echo)), ..back() }
}

/// A watch that has joined a connection in its middle, and knows the sender's clock by a segment without
/// data. Of the first timestamp it could not say whether others had gone before with the same.
fn joined(value: u32) -> Watch {
    let mut watch = Watch::new();
    watch.segment(0, Tcp { payload: 0, ..data(0, value, 0) });
    watch
}

/// The same without timestamps.
fn plain(segment: Tcp) -> Tcp {
    Tcp { timestamps: None, ..segment }
}

#[test]
fn a_timestamp_is_timed_from_first_sight_to_first_echo() {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(MILLISECOND, data(1000, 50, 1)); // the clock has not ticked
    watch.segment(20 * MILLISECOND, answer(1000, 7, 50));
    watch.segment(25 * MILLISECOND, answer(2000, 7, 50)); // the value is spent
    assert_eq!(taken(&watch, Path::Beyond), [20]);
    assert_eq!(not_timed(&watch, NotTimed::SameTimestamp), 1);
    assert_eq!(not_timed(&watch, NotTimed::PureAcknowledgement), 3);
}

#[test]
fn in_the_middle_of_a_connection_the_first_sight_of_a_timestamp_may_not_be_its_first() {
    // One segment with it had passed before anybody watched; the echo is its.
    let mut watch = Watch::new();
    watch.segment(4 * MILLISECOND, data(1000, 50, 1));
    watch.segment(20 * MILLISECOND, answer(1000, 7, 50));
    watch.segment(24 * MILLISECOND, answer(2000, 7, 50));
    assert_eq!(taken(&watch, Path::Beyond), Vec::<u64>::new());
    assert_eq!(not_timed(&watch, NotTimed::SameTimestamp), 1);
}

#[test]
fn a_value_that_is_used_again_after_its_echo_stays_spent() {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(20 * MILLISECOND, answer(1000, 7, 50));
    watch.segment(30 * MILLISECOND, data(1000, 50, 7));
    watch.segment(31 * MILLISECOND, answer(2000, 8, 50)); // 1 ms would be a lie
    assert_eq!(taken(&watch, Path::Beyond), [20]);
}

#[test]
fn a_pure_acknowledgement_spends_its_value() {
    // The other end may echo it before the data that carries it too has arrived there.
    let mut watch = Watch::new();
    watch.segment(0, Tcp { payload: 0, ..data(0, 50, 1) });
    watch.segment(10 * MILLISECOND, data(0, 50, 1));
    watch.segment(11 * MILLISECOND, Tcp { payload: 500, ..answer(0, 7, 50) });
    assert_eq!(taken(&watch, Path::Beyond), Vec::<u64>::new());
}

#[test]
fn values_start_anew_after_the_highest() {
    let mut watch = joined(u32::MAX - 1);
    watch.segment(0, data(u32::MAX - 499, u32::MAX, 1));
    watch.segment(10 * MILLISECOND, data(500, 2, 1));
    watch.segment(20 * MILLISECOND, answer(500, 7, u32::MAX));
    watch.segment(40 * MILLISECOND, answer(1500, 9, 2));
    assert_eq!(taken(&watch, Path::Beyond), [20, 30]);
}

#[test]
fn a_lost_echo_is_not_replaced_by_a_later_one() {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(10 * MILLISECOND, data(1000, 60, 1));
    // The acknowledgement of the first was lost; this one echoes the second.
    watch.segment(30 * MILLISECOND, answer(2000, 7, 60));
    assert_eq!(taken(&watch, Path::Beyond), [20]);
    assert_eq!(not_timed(&watch, NotTimed::Overtaken), 1);
}

#[test]
fn an_echo_that_acknowledges_nothing_new_is_not_taken() {
    // RFC 7323, section 4.1. The second segment was lost beyond the monitor: what follows is
    // answered with the first one's timestamp, however late.
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(20 * MILLISECOND, plain(answer(1000, 0, 0))); // as if its option were lost
    watch.segment(90 * MILLISECOND, answer(1000, 9, 50));
    assert_eq!(taken(&watch, Path::Beyond), Vec::<u64>::new());
    assert_eq!(not_timed(&watch, NotTimed::NothingNew), 1);
}

/// Three segments a millisecond apart, of which the first is lost beyond the monitor, and the answers
/// to the others, which name with their timestamps only what came before the hole.
fn behind_a_hole() -> Watch {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(20 * MILLISECOND, answer(1000, 7, 50));
    for each in 1..4 {
        watch.segment((100 + each) * MILLISECOND, data(each as u32 * 1000, 100 + each as u32, 7));
    }
    let second = Tcp { arrived: &[(2000, 3000)], ..answer(1000, 8, 50) };
    watch.segment(132 * MILLISECOND, second);
    watch
}

#[test]
fn what_arrives_behind_a_hole_is_timed_by_what_the_receiver_has() {
    let mut watch = behind_a_hole();
    assert_eq!(taken(&watch, Path::Beyond), [20, 30]);
    assert_eq!(not_timed(&watch, NotTimed::Overtaken), 1); // the one that was lost
    watch.segment(134 * MILLISECOND, Tcp { arrived: &[(2000, 4000)], ..answer(1000, 9, 50) });
    assert_eq!(taken(&watch, Path::Beyond), [20, 30, 31]);
    // The sender goes on with new data: the whole way round.
    watch.segment(142 * MILLISECOND, data(4000, 142, 8));
    watch.segment(144 * MILLISECOND, data(5000, 144, 9));
    assert_eq!(taken(&watch, Path::Whole), [40, 41]);
}

#[test]
fn what_arrives_twice_or_was_sent_twice_behind_a_hole_is_not_timed() {
    // A duplicate, below the acknowledgement (RFC 2883) or within the second block.
    for blocks in [&[(0, 1000)][..], &[(3000, 4000), (2000, 4000)], &[(3000, 4000), (3000, 4000)]] {
        let mut watch = behind_a_hole();
        watch.segment(134 * MILLISECOND, Tcp { arrived: blocks, ..answer(1000, 9, 50) });
        assert_eq!(taken(&watch, Path::Beyond), [20, 30], "{blocks:?}");
    }
    // One that was sent again: the answer may be to either sight of it (Karn's rule).
    let mut watch = behind_a_hole();
    watch.segment(150 * MILLISECOND, data(3000, 150, 8));
    watch.segment(180 * MILLISECOND, Tcp { arrived: &[(2000, 4000)], ..answer(1000, 9, 50) });
    assert_eq!(taken(&watch, Path::Beyond), [20, 30]);
    // What was never sent cannot have arrived.
    let mut watch = behind_a_hole();
    watch.segment(134 * MILLISECOND, Tcp { arrived: &[(2000, 9000)], ..answer(1000, 9, 50) });
    assert_eq!(taken(&watch, Path::Beyond), [20, 30]);
}

#[test]
fn an_echo_of_what_was_never_sent_is_no_answer() {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(10 * MILLISECOND, answer(1000, 7, 5000));
    watch.segment(20 * MILLISECOND, answer(1000, 8, 50));
    assert_eq!(not_timed(&watch, NotTimed::Overtaken), 0);
    // The forged one has acknowledged the data before.
    assert_eq!(not_timed(&watch, NotTimed::NothingNew), 1);
}

#[test]
fn reordered_segments_and_reordered_echoes_are_not_timed() {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(10 * MILLISECOND, data(2000, 70, 1));
    watch.segment(11 * MILLISECOND, data(1000, 60, 1)); // sent before the one before it
    assert_eq!(not_timed(&watch, NotTimed::Reordered), 1);
    watch.segment(30 * MILLISECOND, answer(3000, 8, 70));
    watch.segment(31 * MILLISECOND, answer(1000, 7, 50)); // came later, was sent before
    assert_eq!(taken(&watch, Path::Beyond), [20]);
    assert_eq!(not_timed(&watch, NotTimed::Overtaken), 1);
}

#[test]
fn echoes_that_never_come_block_no_slot_once_any_comes() {
    let mut watch = joined(49);
    let segments = SLOTS as u32 + 3;
    for each in 0..segments {
        watch.segment(u64::from(each) * MILLISECOND, data(each * 1000, 50 + each, 1));
    }
    assert_eq!(not_timed(&watch, NotTimed::SlotsBlocked), 3);
    // One echo, of a value that has no slot, frees all of them.
    watch.segment(SECOND, answer(segments * 1000, 7, 49 + segments));
    assert_eq!(not_timed(&watch, NotTimed::Overtaken), SLOTS as u64);
    for each in segments..segments + 10 {
        let time = u64::from(each) * SECOND;
        watch.segment(time, data(each * 1000, 500 + each, 7));
        watch.segment(time + 30 * MILLISECOND, answer((each + 1) * 1000, 7 + each, 500 + each));
    }
    let round_trips = taken(&watch, Path::Beyond);
    // The first may be left out, by a coin, until one is taken.
    assert!(round_trips.len() >= 5 && round_trips.iter().all(|&each| each == 30));
}

#[test]
fn with_no_echo_at_all_age_frees_the_slots() {
    let mut watch = joined(49);
    for each in 0..SLOTS as u32 {
        watch.segment(u64::from(each) * MILLISECOND, data(each * 1000, 50 + each, 1));
    }
    watch.segment(5 * SECOND, data(100_000, 100, 1));
    assert_eq!(not_timed(&watch, NotTimed::SlotsBlocked), 1);
    watch.segment(11 * SECOND, data(101_000, 200, 1));
    assert_eq!(not_timed(&watch, NotTimed::Unanswered), SLOTS as u64);
}

#[test]
fn round_trips_are_spread_over_the_time_that_one_takes() {
    // 80 ms there and back, a segment each millisecond: once the round trip is known, one segment
    // of ten is taken, for there are eight slots.
    assert_eq!(SLOTS, 8);
    let mut watch = joined(49);
    for now in 0..1000_u32 {
        let time = u64::from(now) * MILLISECOND;
        watch.segment(time, data(now * 1000, 50 + now, 1));
        if let Some(sent) = now.checked_sub(80) {
            watch.segment(time, answer((sent + 1) * 1000, 7, 50 + sent));
        }
    }
    let round_trips = taken(&watch, Path::Beyond);
    assert!(round_trips.iter().all(|&each| each == 80));
    assert!((80..=100).contains(&round_trips.len()), "{}", round_trips.len());
    assert!(not_timed(&watch, NotTimed::Enough) > 700);
    // Until the first echo, the eight slots are all there is; later, now and then the echo that
    // frees one comes just behind the segment that wants it.
    let blocked = not_timed(&watch, NotTimed::SlotsBlocked);
    assert!((73..73 + 1000 / 80).contains(&blocked), "{blocked}");
}

#[test]
fn short_round_trips_are_not_taken_much_more_often_than_long_ones() {
    // 40 ms, then 120 ms, in turn, each for segments of 300 ms.
    let round_trip = |now: u64| if (now / 300).is_multiple_of(2) { 40 } else { 120 };
    let mut watch = Watch::new();
    let mut events = Vec::new();
    let mut arrival = 0;
    for now in 0..12_000_u64 {
        let segment = data(now as u32 * 1000, 50 + now as u32, 1);
        events.push((now, segment));
        arrival = (now + round_trip(now)).max(arrival); // nothing overtakes
        events.push((arrival, answer((now as u32 + 1) * 1000, 9, 50 + now as u32)));
    }
    events.sort_by_key(|event| event.0);
    for (now, segment) in events {
        watch.segment(now * MILLISECOND, segment);
    }
    let (mut short, mut long) = (0.0, 0.0);
    for each in watch.kept.round_trips.iter().filter(|each| each.path == Path::Beyond) {
        let sent = (each.time - each.nanoseconds) / MILLISECOND;
        *(if round_trip(sent) == 40 { &mut short } else { &mut long }) += 1.0;
    }
    // Eight slots for each round trip alone would make it three to one.
    assert!(long > 300.0 && short / long < 1.5, "{short} short, {long} long");
}

#[test]
fn the_last_segment_of_a_few_is_timed_as_the_first() {
    // Three segments close together in each round trip; the last of them waits for a fourth 40 ms long.
    let mut watch = joined(49);
    for turn in 0..50_u32 {
        let (begin, first) = (u64::from(turn) * 100, turn * 3);
        for each in 0..3 {
            let segment = data((first + each) * 1000, 50 + turn * 100 + each, 9);
            watch.segment((begin + u64::from(each)) * MILLISECOND, segment);
        }
        for (each, at) in [(0, 20), (1, 21), (2, 62)] {
            let echo = 50 + turn * 100 + each;
            watch.segment((begin + at) * MILLISECOND, answer((first + each + 1) * 1000, 9, echo));
        }
    }
    let round_trips = taken(&watch, Path::Beyond);
    assert_eq!(round_trips.iter().filter(|&&each| each == 60).count(), 50);
    assert_eq!(round_trips.len(), 150);
}

#[test]
fn a_handshake_gives_all_three_round_trips() {
    for timestamps in [true, false] {
        let mut watch = Watch::new();
        let with = |value, echo| timestamps.then_some((value, echo));
        let syn = Tcp { sequence: 99, flags: SYN, timestamps: with(50, 0), ..forth() };
        watch.segment(0, syn);
        let both = Tcp { sequence: 499, acknowledgement: 100, flags: SYN | ACK, ..back() };
        watch.segment(30 * MILLISECOND, Tcp { timestamps: with(7, 50), ..both });
        let last = Tcp { sequence: 100, acknowledgement: 500, timestamps: with(60, 7), ..forth() };
        watch.segment(42 * MILLISECOND, last);
        assert_eq!(taken(&watch, Path::Handshake), [42]);
        let paths: Vec<_> = watch
            .kept
            .round_trips
            .iter()
            .map(|each| (each.path, each.from_initiator, each.nanoseconds / MILLISECOND))
            .collect();
        assert_eq!(
            paths,
            [(Path::Beyond, true, 30), (Path::Handshake, true, 42), (Path::Beyond, false, 12)]
        );
        let (flow, _) = watch.only_flow();
        assert!(flow.initiator_known);
        let method = if timestamps { Method::Timestamps } else { Method::SequenceNumbers };
        assert_eq!(flow.method, method);
        assert_eq!(flow.handshake_nanoseconds(), Some(42 * MILLISECOND));
    }
}

#[test]
fn a_handshake_whose_syn_came_twice_is_ambiguous() {
    let mut watch = Watch::new();
    let syn = Tcp { sequence: 99, flags: SYN, ..forth() };
    watch.segment(0, syn);
    watch.segment(SECOND, syn);
    let both = Tcp { sequence: 499, acknowledgement: 100, flags: SYN | ACK, ..back() };
    watch.segment(SECOND + MILLISECOND, both);
    watch.segment(SECOND + 2 * MILLISECOND, Tcp { sequence: 100, acknowledgement: 500, ..forth() });
    assert_eq!(taken(&watch, Path::Handshake), Vec::<u64>::new());
    let round_trips: Vec<RoundTrip> = watch.kept.round_trips.clone();
    assert_eq!(round_trips.len(), 1, "that of the other SYN: {round_trips:?}");
    assert!(!round_trips[0].from_initiator);
}

#[test]
fn timestamps_that_the_other_end_declines_are_not_waited_for() {
    let mut watch = Watch::new();
    watch.segment(0, Tcp { sequence: 99, flags: SYN, timestamps: Some((50, 0)), ..forth() });
    let both = Tcp { sequence: 499, acknowledgement: 100, flags: SYN | ACK, ..back() };
    watch.segment(30 * MILLISECOND, both);
    watch.segment(40 * MILLISECOND, Tcp { sequence: 100, acknowledgement: 500, ..forth() });
    let request = Tcp { sequence: 100, acknowledgement: 500, payload: 100, ..forth() };
    watch.segment(50 * MILLISECOND, request);
    watch.segment(80 * MILLISECOND, Tcp { sequence: 500, acknowledgement: 200, ..back() });
    assert_eq!(taken(&watch, Path::Beyond), [10, 30]);
    assert_eq!(watch.only_flow().0.method, Method::SequenceNumbers);
}

#[test]
fn without_timestamps_the_exact_acknowledgement_is_timed() {
    let mut watch = Watch::new();
    for each in 0..3 {
        watch.segment(u64::from(each) * 10 * MILLISECOND, plain(data(each * 1000, 0, 0)));
    }
    // One acknowledgement for the first two, one for the third.
    watch.segment(40 * MILLISECOND, plain(answer(2000, 0, 0)));
    watch.segment(50 * MILLISECOND, plain(answer(3000, 0, 0)));
    assert_eq!(taken(&watch, Path::Beyond), [30, 30]);
    assert_eq!(not_timed(&watch, NotTimed::Overtaken), 1);
    assert_eq!(watch.monitor.totals().not_whole.get(NotWhole::SequenceNumbers), 2);
}

#[test]
fn segments_in_step_with_the_acknowledgements_are_timed_all_the_same() {
    // Every second segment is acknowledged, and each acknowledgement sets off two more: whichever
    // of the two takes the slot that has become free, it must not be the wrong one for ever.
    for (timestamps, first) in [(true, 0), (false, 0), (true, 1), (false, 1)] {
        let mut watch = Watch::new();
        for each in 0..4000_u32 {
            let time = u64::from(each) * MILLISECOND;
            let segment = data(each * 1000, 1000 + each, 1);
            watch.segment(time, if timestamps { segment } else { plain(segment) });
            if each % 2 == first && each > 20 {
                let sent = each - 20;
                // The echo is that of the first of the two (RFC 7323, section 4.3).
                let acknowledges = answer((sent + 1) * 1000, 5000 + each, 1000 + sent - 1);
                let acknowledges = if timestamps { acknowledges } else { plain(acknowledges) };
                watch.segment(time + MILLISECOND / 2, acknowledges);
            }
        }
        let round_trips = taken(&watch, Path::Beyond);
        assert!(round_trips.len() > 400, "{timestamps} {first}: {}", round_trips.len());
        let right = if timestamps { 21 } else { 20 };
        assert!(round_trips.iter().all(|&each| each == right));
    }
}

#[test]
fn karn_what_was_sent_again_and_what_waited_for_it_are_ambiguous() {
    let mut watch = Watch::new();
    for each in 0..4 {
        watch.segment(u64::from(each) * MILLISECOND, plain(data(each * 1000, 0, 0)));
    }
    watch.segment(20 * MILLISECOND, plain(answer(1000, 0, 0)));
    watch.segment(40 * MILLISECOND, plain(data(1000, 0, 0))); // the second again
    watch.segment(60 * MILLISECOND, plain(answer(4000, 0, 0))); // waited for it
    assert_eq!(taken(&watch, Path::Beyond), [20]);
    // The copies of the second, third and fourth that waited, and the retransmission.
    assert_eq!(not_timed(&watch, NotTimed::Retransmission), 4);
}

#[test]
fn timestamps_tell_a_retransmission_from_the_original() {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(300 * MILLISECOND, data(0, 350, 1));
    watch.segment(330 * MILLISECOND, answer(1000, 7, 350));
    assert_eq!(taken(&watch, Path::Beyond), [30]);
    assert_eq!(not_timed(&watch, NotTimed::Overtaken), 1);
}

#[test]
fn one_direction_alone_gives_no_round_trip_and_says_why() {
    for timestamps in [true, false] {
        let mut watch = if timestamps { joined(49) } else { Watch::new() };
        for each in 0..5 {
            let segment = data(each * 1000, 50 + each, 1);
            let segment = if timestamps { segment } else { plain(segment) };
            watch.segment(u64::from(each) * MILLISECOND, segment);
        }
        let (flow, _) = watch.only_flow();
        assert_eq!(flow.not_timed.get(NotTimed::OneDirection), 5);
        assert!(watch.kept.round_trips.is_empty());
    }
}

#[test]
fn a_segment_without_timestamp_in_a_connection_with_timestamps_is_counted() {
    let mut watch = Watch::new();
    watch.segment(0, data(0, 50, 1));
    watch.segment(1, plain(data(1000, 0, 0)));
    assert_eq!(not_timed(&watch, NotTimed::NoTimestamp), 1);
}

#[test]
fn a_capture_that_cuts_the_options_falls_back_on_sequence_numbers() {
    let mut watch = Watch::new();
    for (time, segment) in [(0, data(0, 50, 1)), (20 * MILLISECOND, answer(1000, 7, 50))] {
        let bytes = segment.bytes();
        let packet = vermilion_monitor::Captured {
            time: Some(time),
            link: vermilion_monitor::LinkType::RawInternet,
            bytes: &bytes[..44], // 20 of IP, 24 of TCP
            original_length: bytes.len() as u32,
        };
        watch.monitor.observe(&packet, &mut watch.kept);
    }
    assert_eq!(taken(&watch, Path::Beyond), [20]);
    assert_eq!(watch.monitor.totals().cut, 2);
}

#[test]
fn times_that_run_backwards_or_are_missing_give_no_round_trip() {
    let mut watch = joined(49);
    watch.segment(50 * MILLISECOND, data(0, 50, 1));
    watch.segment(20 * MILLISECOND, answer(1000, 7, 50));
    assert_eq!(not_timed(&watch, NotTimed::TimeBackwards), 1);
    assert_eq!(watch.monitor.totals().backwards, 1);
    let link = vermilion_monitor::LinkType::RawInternet;
    watch.see_as(link, None, &data(1000, 60, 7).bytes());
    assert_eq!(not_timed(&watch, NotTimed::NoTime), 1);
    assert_eq!(watch.monitor.totals().without_time, 1);
}

#[test]
fn data_both_ways_is_timed_both_ways() {
    let mut watch = joined(u32::MAX);
    watch.segment(0, answer(0, 0, u32::MAX)); // and the responder's
    // Requests of 100 bytes and replies of 200: 10 ms to the responder and back, whose reply takes
    // 25 ms to be answered by the next request.
    let mut time = 0;
    for each in 0..5_u32 {
        let clock = 100 * each;
        let request = Tcp {
            sequence: each * 100,
            acknowledgement: each * 200,
            payload: 100,
            timestamps: Some((clock, clock.wrapping_sub(50))),
            ..forth()
        };
        watch.segment(time, request);
        let reply = Tcp {
            sequence: each * 200,
            acknowledgement: (each + 1) * 100,
            payload: 200,
            timestamps: Some((clock + 50, clock)),
            ..back()
        };
        watch.segment(time + 10 * MILLISECOND, reply);
        time += 35 * MILLISECOND;
    }
    let flow = watch.only_flow().0;
    let sums = |side: &Direction| (side.beyond.count, side.beyond.sum / MILLISECOND);
    assert_eq!(sums(&flow.directions[0]), (5, 50));
    assert_eq!(sums(&flow.directions[1]), (4, 100));
}

#[test]
fn every_segment_is_timed_or_has_a_reason() {
    let mut watch = Watch::with(Configuration { flows: 4, ..Configuration::default() });
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for now in 0..200_000 {
        let towards = random(2) == 0;
        let segment = Tcp {
            sequence: random(50) as u32 * 500,
            acknowledgement: random(50) as u32 * 500,
            payload: [0, 500, 500, 1000][random(4) as usize],
            flags: [ACK, ACK, ACK, ACK, ACK | FIN, SYN, SYN | ACK, RST][random(8) as usize],
            timestamps: (random(4) > 0)
                .then(|| (now as u32 / 4 + random(3) as u32, random(1 + now) as u32 / 4)),
            ..if towards { forth() } else { back() }
        };
        watch.segment(now * MILLISECOND / 2, segment);
    }
    watch.monitor.finish(&mut watch.kept);
    let totals = watch.monitor.totals();
    let beyond = taken(&watch, Path::Beyond).len() as u64;
    assert_eq!(totals.segments, 200_000);
    // Segments that carry data both answer and are answered, so each is counted once as what it is.
    assert_eq!(totals.segments, beyond + totals.not_timed.total());
    assert!(beyond > 0);
    // Every round trip beyond the monitor became part of a whole one or has a reason.
    assert_eq!(beyond, taken(&watch, Path::Whole).len() as u64 + totals.not_whole.total());
    // What the flows say adds up to the totals.
    let flows: u64 = watch.kept.ended.iter().map(|(flow, _)| flow.not_timed.total()).sum();
    assert_eq!(flows, totals.not_timed.total());
}
