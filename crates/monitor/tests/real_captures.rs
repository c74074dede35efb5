//! Captures that tcpdump, dumpcap and editcap wrote of real kernels' traffic over delays and losses
//! that are known; `tests/reference/captures/README.md` says how they were made. What is expected
//! is what was done to the packets, and what tshark counts.

use std::path::Path as FilePath;

use crate::common::{Kept, MILLISECOND};
use serde_json::Value;
use vermilion_monitor::{
    CaptureReader, Configuration, Direction, EcnNegotiation, End, Flow, Method, Monitor,
    NotTracked, Order, Path, Protocol, Sending, Traffic, Undecoded,
};

fn directory() -> std::path::PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/captures")
}

fn watch(name: &str) -> (Monitor, Kept) {
    let bytes = std::fs::read(directory().join(name)).unwrap();
    let mut monitor =
        Monitor::new(Configuration { flows: 100, ..Configuration::default() }).unwrap();
    let mut kept = Kept::default();
    let mut reader = CaptureReader::new();
    for piece in bytes.chunks(1000) {
        reader.feed(piece, &mut |packet| monitor.observe(packet, &mut kept)).unwrap();
    }
    reader.finish().unwrap();
    monitor.finish(&mut kept);
    (monitor, kept)
}

fn expected() -> Value {
    let text = std::fs::read_to_string(directory().join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Round trips in milliseconds that tshark finds for the data sent to this port, least first.
fn tsharks(name: &str, port: u16) -> Vec<f64> {
    let connection = &expected()[name]["connections"][0];
    let numbers = connection["ack_rtt_ms"][port.to_string()].as_array().unwrap();
    let mut numbers: Vec<f64> = numbers.iter().map(|each| each.as_f64().unwrap()).collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// The one TCP flow of a capture.
fn connection(kept: &Kept) -> (&Flow, End) {
    let mut flows = kept.ended.iter().filter(|(flow, _)| flow.key().protocol == Protocol::Tcp);
    let (flow, why) = flows.next().unwrap();
    assert!(flows.next().is_none());
    (flow, *why)
}

/// The captures in which each packet is once.
const ONCE: [(&str, &str); 5] = [
    ("bulk.pcap", "bulk.pcap"),
    ("bulk.editcap.pcap", "bulk.pcap"),
    ("bulk.editcap.pcapng", "bulk.pcap"),
    ("nanoseconds.pcap", "nanoseconds.pcap"),
    ("cooked.pcap.gz", "cooked.pcap"),
];

#[test]
fn packets_bytes_and_marks_are_those_that_tshark_counts() {
    for (file, name) in ONCE {
        let (monitor, kept) = watch(file);
        let (flow, why) = connection(&kept);
        assert_eq!((why, flow.initiator_known), (End::Closed, true), "{file}");
        let right = &expected()[name]["connections"][0];
        let sum = |count: fn(&Direction) -> u64| flow.directions.iter().map(count).sum::<u64>();
        assert_eq!(sum(|side| side.packets), right["packets"], "{file}");
        assert_eq!(sum(|side| side.payload), right["payload"], "{file}");
        if right["ip_bytes"].is_u64() {
            assert_eq!(flow.bytes(), right["ip_bytes"], "{file}");
            assert_eq!(serde_json::json!(monitor.totals().ecn), right["ecn"], "{file}");
        }
        assert_eq!(monitor.totals().merged, 0);
        // The device "any" has seen an answer of ARP.
        let others = u64::from(name == "cooked.pcap");
        assert_eq!(monitor.totals().undecoded.get(Undecoded::NotInternet), others, "{file}");
        assert_eq!(monitor.totals().undecoded.total(), others, "{file}");
        assert_eq!(monitor.totals().not_tracked.get(NotTracked::Full), 0);
    }
}

#[test]
fn what_was_dropped_is_found_on_the_right_side_of_the_monitor() {
    for file in ["bulk.pcap", "bulk.editcap.pcap", "bulk.editcap.pcapng"] {
        let (_, kept) = watch(file);
        let order = connection(&kept).0.directions[0].order;
        assert_eq!(order.get(Order::SentAgainUnseen), expected()["dropped"]["before_router"]);
        assert_eq!(order.get(Order::SentAgain), expected()["dropped"]["behind_router"]);
        assert_eq!(order.total() - order.get(Order::New), 3, "{file}");
    }
    for file in ["nanoseconds.pcap", "cooked.pcap.gz"] {
        let (monitor, _) = watch(file);
        let order = monitor.totals().order;
        assert_eq!(order.total(), order.get(Order::New), "{file}");
    }
}

#[test]
fn round_trips_are_those_of_the_delays_and_within_tsharks() {
    let (near, far) =
        (expected()["near_ms"].as_f64().unwrap(), expected()["far_ms"].as_f64().unwrap());
    for (file, name) in ONCE {
        let (_, kept) = watch(file);
        let flow = connection(&kept).0;
        let [client, server] = flow.ends().map(|end| end.port);
        let mut count = 0;
        for round_trip in &kept.round_trips {
            let milliseconds = round_trip.nanoseconds as f64 / MILLISECOND as f64;
            let (least, port) = match (round_trip.path, round_trip.from_initiator) {
                (Path::Beyond, true) => (far, server),
                (Path::Beyond, false) => (near, client),
                (Path::Whole | Path::Handshake, _) => {
                    // What comes on top is the kernels' and the carrier's own time.
                    assert!((near + far..near + far + 12.0).contains(&milliseconds), "{file}");
                    continue;
                }
            };
            assert!(milliseconds >= least, "{file} {round_trip:?}");
            let others = tsharks(name, port);
            assert!(milliseconds <= others[others.len() - 1] + 0.001, "{file} {round_trip:?}");
            if flow.method == Method::SequenceNumbers {
                // Both then take the time to the exact acknowledgement.
                let same = |other: &f64| (other - milliseconds).abs() < 0.0011;
                assert!(others.iter().any(same), "{file} {round_trip:?}");
            }
            count += 1;
        }
        assert!(count >= 5, "{file} {count}");
        let handshake = flow.handshake_nanoseconds().unwrap() as f64 / MILLISECOND as f64;
        let right = expected()[name]["connections"][0]["handshake_ms"].as_f64().unwrap();
        assert!((handshake - right).abs() < 0.0011, "{file} {handshake} {right}");
    }
}

#[test]
fn how_the_connections_were_set_up() {
    for (file, method, ecn) in [
        ("bulk.pcap", Method::Timestamps, EcnNegotiation::Classic),
        ("nanoseconds.pcap", Method::Timestamps, EcnNegotiation::Classic),
        ("cooked.pcap.gz", Method::SequenceNumbers, EcnNegotiation::NotOffered),
    ] {
        let (_, kept) = watch(file);
        let flow = connection(&kept).0;
        assert_eq!((flow.method, flow.ecn), (method, ecn), "{file}");
        // Linux does not pace its first ten segments.
        assert_eq!(flow.sending(0), Sending::AtOnce, "{file}");
        assert_eq!(flow.directions[0].first_flight.packets, 10, "{file}");
    }
}

#[test]
fn datagrams_that_nobody_wants_are_unresponsive() {
    // Ten of 500 bytes to a closed port; the receiver answers with ICMP.
    let (monitor, _) = watch("nanoseconds.pcap");
    let udp = monitor.totals().amount(Traffic::Udp);
    assert_eq!((udp.packets, udp.bytes), (10, 10 * 528));
    assert!(monitor.totals().amount(Traffic::Other).packets > 0);
}

#[test]
fn editcaps_conversions_say_what_tcpdumps_file_says() {
    let outcome = |file| {
        let (monitor, kept) = watch(file);
        format!("{kept:?} {:?}", monitor.totals())
    };
    assert_eq!(outcome("bulk.editcap.pcap"), outcome("bulk.pcap"));
    assert_eq!(outcome("bulk.editcap.pcapng"), outcome("bulk.pcap"));
}

#[test]
fn a_capture_of_two_interfaces_has_every_packet_twice_and_most_are_known_as_copies() {
    let (once, _) = watch("bulk.pcap");
    let (twice, kept) = watch("both-sides.pcapng");
    // The dropped ones were seen on one side alone: 72 of 75 passed both.
    let copies = twice.totals().order.get(Order::Copy);
    let segments = once.totals().order.total();
    assert_eq!(twice.totals().order.get(Order::New), once.totals().order.get(Order::New));
    assert!(copies > 0 && copies + 5 >= segments - 2, "{copies} of {segments}");
    // They make no round trip shorter.
    for round_trip in kept.round_trips.iter().filter(|each| each.path == Path::Beyond) {
        let least = if round_trip.from_initiator { 40 } else { 10 };
        assert!(round_trip.nanoseconds >= least * MILLISECOND, "{round_trip:?}");
    }
}
