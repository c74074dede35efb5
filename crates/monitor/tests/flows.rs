//! What is known of flows: when they begin and end, what they carried, how it was sent.

use crate::common::{
    ACK, AE, CWR, ECE, FIN, Kept, MILLISECOND, RST, SECOND, SYN, Tcp, Watch, back, forth, udp,
};
use vermilion_monitor::{
    Captured, Configuration, EcnNegotiation, End, LinkType, Monitor, NotTracked, Order, Protocol,
    Reason, STAGES, Stage,
};

fn data(sequence: u32) -> Tcp {
    Tcp { sequence, payload: 1000, ..forth() }
}

#[test]
fn both_directions_are_one_flow() {
    let mut watch = Watch::new();
    watch.segment(5, Tcp { ecn: 2, ..data(0) });
    watch.segment(9, Tcp { acknowledgement: 1000, ..back() });
    let (flow, why) = watch.only_flow();
    assert_eq!(why, End::InputEnded);
    assert_eq!((flow.first, flow.last, flow.initiator_known), (5, 9, false));
    assert_eq!(flow.ends().map(|end| end.port), [1000, 80]);
    let [forth, back] = flow.directions;
    assert_eq!(
        (forth.packets, forth.bytes, forth.payload, forth.ecn),
        (1, 1040, 1000, [0, 0, 1, 0])
    );
    assert_eq!((back.packets, back.bytes, back.payload, back.ecn), (1, 40, 0, [1, 0, 0, 0]));
}

#[test]
fn the_initiator_is_who_sent_the_syn_even_if_only_its_answer_was_seen() {
    let mut watch = Watch::new();
    watch.segment(0, Tcp { flags: SYN | ACK, ..back() });
    let (flow, _) = watch.only_flow();
    assert!(flow.initiator_known);
    assert_eq!(flow.ends().map(|end| end.port), [1000, 80]);
    assert_eq!(flow.directions[1].packets, 1);
}

#[test]
fn a_flow_is_closed_by_both_ends_or_broken_off_by_one() {
    for (last, why) in [(ACK | FIN, End::Closed), (RST, End::Reset), (ACK, End::InputEnded)] {
        let mut watch = Watch::new();
        watch.segment(0, data(0));
        assert_eq!(watch.monitor.active(), [1, 0]);
        watch.segment(1, Tcp { flags: ACK | FIN, ..data(1000) });
        assert_eq!(watch.monitor.active(), [1, 0]);
        watch.segment(2, Tcp { flags: last, acknowledgement: 2001, ..back() });
        let active = u64::from(why == End::InputEnded);
        assert_eq!(watch.monitor.active(), [active, 0], "{why:?}");
        assert_eq!(watch.only_flow().1, why);
    }
}

#[test]
fn a_silent_flow_is_forgotten_by_the_packets_clock_alone() {
    for (packet, silent) in [
        (Tcp { flags: SYN, ..forth() }.bytes(), 30),
        (data(0).bytes(), 300),
        (Tcp { flags: RST, ..forth() }.bytes(), 10),
        (udp((1, 5), (2, 6), b"hello"), 30),
    ] {
        let mut watch = Watch::new();
        watch.see(7, &packet);
        watch.monitor.advance(silent * SECOND + 7, &mut watch.kept);
        assert!(watch.kept.ended.is_empty());
        watch.monitor.advance(silent * SECOND + 8, &mut watch.kept);
        assert_eq!(watch.kept.ended.len(), 1);
        assert_eq!(watch.monitor.followed(), 0);
    }
    let mut watch = Watch::new();
    watch.see(0, &udp((1, 5), (2, 6), b"hello"));
    watch.see(1, &udp((2, 6), (1, 5), b"hello"));
    watch.monitor.advance(60 * SECOND + 2, &mut watch.kept);
    assert_eq!(watch.kept.ended[0].0.stage, Stage::Datagrams);
}

#[test]
fn a_packet_that_comes_too_late_begins_a_flow() {
    let mut watch = Watch::new();
    watch.segment(0, data(0));
    watch.segment(301 * SECOND, data(1000));
    assert_eq!(watch.kept.began, [0, 1]);
    assert_eq!(watch.kept.ended[0].1, End::Silent);
}

#[test]
fn forgetting_takes_small_steps_and_changes_nothing_but_when() {
    let mut watch = Watch::new();
    for port in 0..40 {
        watch.segment(0, Tcp { from: (1, port), ..data(0) });
    }
    assert_eq!(watch.monitor.active(), [40, 0]);
    watch.segment(400 * SECOND, data(0));
    assert_eq!(watch.kept.ended.len(), 4, "at most four for one packet");
    assert_eq!(watch.monitor.active(), [1, 0], "the others are not active either");
    // One of those whose turn has not come yet: it begins anew all the same.
    watch.segment(401 * SECOND, Tcp { from: (1, 39), ..data(0) });
    assert_eq!(watch.kept.began.len(), 42);
}

#[test]
fn a_new_syn_replaces_a_connection_and_a_repeated_one_does_not() {
    let mut watch = Watch::new();
    let syn = Tcp { flags: SYN, sequence: 100, ..forth() };
    watch.segment(0, syn);
    watch.segment(SECOND, syn);
    watch.segment(2 * SECOND, data(101));
    watch.segment(3 * SECOND, syn);
    assert_eq!(watch.kept.began.len(), 1);
    watch.segment(4 * SECOND, Tcp { sequence: 9000, ..syn });
    assert_eq!(watch.kept.began.len(), 2);
    assert_eq!(watch.kept.ended[0].1, End::Replaced);
    assert_eq!(watch.monitor.totals().openings, 2);
}

#[test]
fn shared_numbers_are_the_same_at_every_monitor_that_sees_a_flow() {
    let numbers = |seed, ports: &[u16]| {
        let mut watch =
            Watch::with(Configuration { seed, shared_numbers: true, ..Configuration::default() });
        for &port in ports {
            watch.segment(0, Tcp { from: (1, port), flags: SYN, ..forth() });
        }
        watch.monitor.finish(&mut watch.kept);
        let number = |&port: &u16| {
            let (flow, _) =
                watch.kept.ended.iter().find(|(flow, _)| flow.ends()[0].port == port)?;
            Some(flow.number)
        };
        ports.iter().map(|port| number(port).unwrap()).collect::<Vec<_>>()
    };
    let (all, some) = (numbers(7, &[1, 2, 3, 4]), numbers(7, &[4, 2]));
    assert_eq!(some, [all[3], all[1]]);
    assert!(all.iter().all(|&number| number < 1 << 50));
    let mut distinct = all.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4);
    assert_ne!(numbers(8, &[1, 2, 3, 4]), all);
}

#[test]
fn a_full_table_refuses_new_flows_and_says_so() {
    let mut watch = Watch::with(Configuration { flows: 3, ..Configuration::default() });
    for port in 0..5 {
        watch.segment(0, Tcp { from: (1, port), flags: SYN, ..forth() });
    }
    watch.segment(1, Tcp { from: (1, 4), ..data(0) });
    watch.segment(2, Tcp { from: (1, 2), ..data(0) });
    let totals = watch.monitor.totals();
    assert_eq!(totals.flows, 3);
    assert_eq!(totals.not_tracked.get(NotTracked::FullOpening), 2);
    assert_eq!(totals.not_tracked.get(NotTracked::Full), 1);
    // Their bytes are counted all the same.
    assert_eq!(totals.traffic[0].packets, 7);
    // Those that have been silent for too long make room.
    watch.segment(31 * SECOND, Tcp { from: (1, 9), flags: SYN, ..forth() });
    assert_eq!(watch.monitor.totals().flows, 4);
    assert_eq!(watch.kept.ended.len(), 2);
}

#[test]
fn a_flow_takes_the_memory_that_is_stated() {
    // docs/monitor.md says 1.7 KiB for each flow, 106 MiB by default.
    let memory = Monitor::most_memory(&Configuration::default());
    assert_eq!(memory, 65_536 * vermilion_monitor::BYTES_PER_FLOW as u64);
    assert!(memory <= 106 << 20, "{memory}");
}

#[test]
fn the_hash_seed_changes_nothing() {
    let outcome = |seed| {
        // Each flow comes back after 7.75 s, so that they are forgotten in between.
        let silent_ns = [5 * SECOND; STAGES];
        let small = Configuration { flows: 20, silent_ns, seed, ..Configuration::default() };
        let mut watch = Watch::with(small);
        for each in 0..3000_u64 {
            let port = (each * 7919 % 31) as u16;
            let flags = if each % 17 == 0 { ACK | FIN } else { ACK };
            let segment = Tcp { from: (1, port), sequence: each as u32 * 100, flags, ..data(0) };
            watch.segment(each * SECOND / 4, segment);
        }
        watch.monitor.finish(&mut watch.kept);
        let ended = watch.kept.ended.iter().map(|(flow, why)| (flow.number, flow.ends(), *why));
        (watch.kept.began.clone(), ended.collect::<Vec<_>>(), watch.monitor.totals().not_tracked)
    };
    let first = outcome(0);
    assert!(first.1.len() > 1000 && first.2.total() > 0);
    for seed in 1..20 {
        assert_eq!(outcome(seed), first);
    }
}

#[test]
fn what_a_segment_is_by_its_timestamp() {
    let mut watch = Watch::new();
    let at = |sequence, value| Tcp { timestamps: Some((value, 1)), ..data(sequence) };
    let order = [
        (at(0, 50), Order::New),
        (at(1000, 51), Order::New),
        (at(1000, 51), Order::Copy),            // word for word
        (at(0, 50), Order::Copy),               // older than the newest, and seen before
        (at(3000, 53), Order::New),             // leaves a hole
        (at(2000, 52), Order::Reordered),       // fills it, and was sent before
        (at(5000, 55), Order::New),             // leaves a hole
        (at(4000, 90), Order::SentAgainUnseen), // fills it, and was sent after
        (at(4000, 95), Order::SentAgain),       // was seen before
        (at(7000, 96), Order::New),             // leaves a hole
        (at(6000, 96), Order::Doubtful),        // within one tick of the clock
    ];
    for (each, (segment, is)) in order.iter().enumerate() {
        let before = watch.monitor.totals().order;
        watch.segment(each as u64 * MILLISECOND, *segment);
        for &case in Order::ALL {
            let rise = watch.monitor.totals().order.get(case) - before.get(case);
            assert_eq!(rise, u64::from(case == *is), "segment {each}, {case:?}");
        }
    }
}

#[test]
fn what_a_segment_is_by_its_number_and_the_time_it_took() {
    let mut watch = Watch::new();
    let order = |watch: &Watch, case| watch.monitor.totals().order.get(case);
    // A round trip of 50 ms by the handshake.
    watch.segment(0, Tcp { flags: SYN, sequence: u32::MAX, ..forth() });
    watch.segment(1, Tcp { flags: SYN | ACK, ..back() });
    watch.segment(50 * MILLISECOND, Tcp { acknowledgement: 1, ..forth() });
    watch.segment(60 * MILLISECOND, data(1000));
    watch.segment(62 * MILLISECOND, data(0)); // faster than any repair
    assert_eq!(order(&watch, Order::Reordered), 1);
    watch.segment(70 * MILLISECOND, data(3000));
    watch.segment(130 * MILLISECOND, data(2000)); // as a repair
    assert_eq!(order(&watch, Order::SentAgainUnseen), 1);
    watch.segment(140 * MILLISECOND, data(2000));
    assert_eq!(order(&watch, Order::SentAgain), 1);
    // The last byte once more.
    watch.segment(900 * MILLISECOND, Tcp { payload: 1, ..data(3999) });
    assert_eq!(order(&watch, Order::KeepAlive), 1);

    // Without a round trip to compare with, nobody can tell.
    let mut watch = Watch::new();
    watch.segment(0, data(0));
    watch.segment(1, data(2000));
    watch.segment(2, data(1000));
    assert_eq!(order(&watch, Order::Doubtful), 1);
}

#[test]
fn acknowledged_data_that_was_not_seen_is_counted() {
    let mut watch = Watch::new();
    watch.segment(0, data(0));
    watch.segment(1, Tcp { acknowledgement: 3000, ..back() });
    watch.segment(2, data(3000));
    let (flow, _) = watch.only_flow();
    assert_eq!(flow.directions[0].acknowledged_unseen, 1);
    assert_eq!(flow.directions[0].order.get(Order::New), 2);
}

#[test]
fn ecn_is_negotiated_as_the_standards_say() {
    use EcnNegotiation::{Accurate, Classic, NotOffered, Refused, Unknown};
    // RFC 3168, section 6.1.1; RFC 9768, section 3.1.
    for (offer, answer, outcome) in [
        (Some(0), 0, NotOffered),
        (Some(ECE | CWR), ECE, Classic),
        (Some(ECE | CWR), 0, Refused),
        (Some(ECE | CWR), ECE | CWR, Refused), // reflects what it does not understand
        (Some(AE | ECE | CWR), CWR, Accurate),
        (Some(AE | ECE | CWR), CWR | ECE, Accurate),
        (Some(AE | ECE | CWR), AE, Accurate),
        (Some(AE | ECE | CWR), AE | CWR, Accurate),
        (Some(AE | ECE | CWR), ECE, Classic),
        (Some(AE | ECE | CWR), AE | ECE | CWR, Refused),
        (Some(AE | ECE | CWR), 0, Refused),
        (None, ECE, Unknown),
    ] {
        let mut watch = Watch::new();
        if let Some(offer) = offer {
            watch.segment(0, Tcp { flags: SYN | offer, ..forth() });
        }
        watch.segment(1, Tcp { flags: SYN | ACK | answer, acknowledgement: 1, ..back() });
        assert_eq!(watch.only_flow().0.ecn, outcome, "{offer:?} {answer}");
    }
}

#[test]
fn marks_and_what_is_said_of_them() {
    let mut watch = Watch::new();
    watch.segment(0, Tcp { flags: SYN | ECE | CWR, ..forth() });
    watch.segment(1, Tcp { flags: SYN | ACK | ECE, acknowledgement: 1, ..back() });
    watch.segment(2, Tcp { ecn: 3, ..data(1) });
    watch.segment(3, Tcp { flags: ACK | ECE, acknowledgement: 1001, ..back() });
    watch.segment(4, Tcp { ecn: 2, flags: ACK | CWR, ..data(1001) });
    let totals = watch.monitor.totals();
    // Those of the handshake say something else.
    assert_eq!((totals.ece, totals.cwr, totals.ecn), (1, 1, [3, 0, 1, 1]));
    let [forth, back] = watch.only_flow().0.directions;
    assert_eq!((forth.ece, forth.cwr, forth.ecn[3]), (0, 1, 1));
    assert_eq!((back.ece, back.cwr), (1, 0));
}

#[test]
fn segments_that_the_link_cannot_have_carried_are_counted_as_merged() {
    let mut watch = Watch::new();
    let opening = Tcp { flags: SYN, largest_segment: Some(1000), ..forth() };
    watch.segment(0, opening);
    watch.segment(
        1,
        Tcp { flags: SYN | ACK, acknowledgement: 1, largest_segment: Some(1200), ..back() },
    );
    watch.segment(2, Tcp { payload: 1200, ..data(1) });
    watch.segment(3, Tcp { payload: 1201, ..data(1201) }); // two of at most 1200
    watch.segment(4, Tcp { payload: 60_000, ..data(2402) }); // fifty
    let totals = watch.monitor.totals();
    assert_eq!((totals.merged, totals.merged_from), (2, 52));

    // Without a handshake, by what a link carries: 1460 bytes in a packet of 1500.
    let mut watch = Watch::new();
    watch.segment(0, Tcp { payload: 1460, ..data(0) });
    watch.segment(1, Tcp { payload: 14_600, ..data(1460) });
    watch.see(2, &udp((1, 2), (3, 4), &[0; 2000]));
    assert_eq!((watch.monitor.totals().merged, watch.monitor.totals().merged_from), (2, 12));
}

/// A connection with a round trip of 100 ms whose responder sends ten packets of 1000 bytes at these
/// milliseconds after the handshake.
fn first_flight(times: &[u64]) -> vermilion_monitor::FirstFlight {
    let mut watch = Watch::new();
    watch.segment(0, Tcp { flags: SYN, sequence: 0, ..forth() });
    watch.segment(1, Tcp { flags: SYN | ACK, acknowledgement: 1, ..back() });
    watch.segment(100 * MILLISECOND, Tcp { sequence: 1, acknowledgement: 1, ..forth() });
    for (each, time) in times.iter().enumerate() {
        let sequence = 1 + each as u32 * 1000;
        let time = (100 + time) * MILLISECOND;
        watch.segment(time, Tcp { sequence, payload: 1000, acknowledgement: 1, ..back() });
    }
    watch.segment(200 * MILLISECOND, Tcp { sequence: 1, acknowledgement: 1001, ..forth() });
    watch.segment(201 * MILLISECOND, Tcp { sequence: 90_001, payload: 1000, ..back() });
    let flow = watch.only_flow().0;
    assert_eq!(
        flow.sending(1),
        flow.directions[1].first_flight.sending(flow.handshake_nanoseconds())
    );
    assert_eq!(flow.sending(0), vermilion_monitor::Sending::Unknown);
    flow.directions[1].first_flight
}

#[test]
fn how_the_first_flight_was_sent_is_told_where_it_can_be() {
    use vermilion_monitor::Sending;
    let told = |times: &[u64]| first_flight(times).sending(Some(100 * MILLISECOND));
    assert_eq!(told(&[0, 0, 1, 1, 1, 1, 2, 2, 2, 2]), Sending::AtOnce);
    assert_eq!(told(&[0, 8, 16, 24, 32, 40, 48, 56, 64, 72]), Sending::Spread);
    assert_eq!(told(&[0, 0, 0, 0, 0, 40, 40, 40, 40, 40]), Sending::Unknown); // two bursts
    assert_eq!(told(&[0, 1, 1]), Sending::Unknown); // too few to say
    let flight = first_flight(&[0, 8, 16, 24, 32]);
    assert_eq!((flight.packets, flight.bytes, flight.over), (5, 5000, true));
    assert_eq!(flight.sending(None), Sending::Unknown);
}

#[test]
fn udp_and_tcp_with_the_same_ports_are_two_flows() {
    let mut watch = Watch::new();
    watch.segment(0, data(0));
    watch.see(1, &udp((1, 1000), (2, 80), b"x"));
    watch.see(2, &udp((2, 80), (1, 1000), b"x"));
    assert_eq!(watch.monitor.active(), [1, 1]);
    let protocols: Vec<_> = watch.monitor.flows().map(|flow| flow.key().protocol).collect();
    assert_eq!(protocols, [Protocol::Tcp, Protocol::Udp]);
    let share = watch.monitor.totals().unresponsive_share().unwrap();
    assert!((share - 58.0 / (1040.0 + 58.0)).abs() < 1e-12);
}

#[test]
fn a_replay_at_any_pace_gives_the_same_output() {
    // Nothing but the packets goes in. A pause, or a reader that hands over much at once, could
    // only matter if the monitor looked at a clock.
    let packets: Vec<(u64, Vec<u8>)> = (0..2000_u64)
        .map(|each| {
            let port = (each % 7) as u16;
            (each * 100 * MILLISECOND, Tcp { from: (1, port), ..data(each as u32 * 1000) }.bytes())
        })
        .collect();
    let outcome = |pause: bool| {
        let mut monitor =
            Monitor::new(Configuration { flows: 5, ..Configuration::default() }).unwrap();
        let mut kept = Kept::default();
        for (each, (time, bytes)) in packets.iter().enumerate() {
            if pause && each % 500 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
            let original_length = bytes.len() as u32;
            let link = LinkType::RawInternet;
            monitor
                .observe(&Captured { time: Some(*time), link, bytes, original_length }, &mut kept);
        }
        monitor.finish(&mut kept);
        format!("{kept:?} {:?}", monitor.totals())
    };
    assert_eq!(outcome(false), outcome(true));
}
