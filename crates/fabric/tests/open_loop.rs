//! Open-loop sources against what can be worked out by hand.

use std::sync::atomic::AtomicBool;

use serde_json::{Value as Json, json};
use vermilion_fabric::{Fabric, Results};
use vermilion_parameters::ParameterError;

/// Part of the traffic: packets of 1000 bytes of one kind of source, until so many nanoseconds.
fn part(source: Json, from: Option<u32>, to: Option<u32>, until_ns: u64) -> Json {
    json!({"kind": "open_loop", "source": source, "packet_size": 1000, "ecn": false, "from": from, "to": to,
        "from_ns": 0, "until_ns": until_ns})
}

fn constant(rate: f64) -> Json {
    json!({"kind": "constant-rate", "rate_bit_per_s": rate})
}

/// Hosts 0 to 19 at a switch, host 20 at another, 10 Gbit/s between them and 100 Gbit/s to hosts; 1 us each.
fn fabric(traffic: &[Json], settings: &[(&str, Json)]) -> Result<Fabric, ParameterError> {
    let (kmin, buffer, pauses) = (4_000_000_000_u32, 100_000, false);
    let mut scenario = json!({
        "hosts": 21,
        "switches": vec![json!({"buffer_bytes": buffer, "reserve_bytes": 0, "resume_offset_bytes": 0,
            "pauses": pauses}); 2],
        "cables": (0..=21).map(|host| json!({
            "a": if host == 21 { 21 } else { host },
            "b": if host < 20 { 21 } else { 22 },
            "rate_bit_per_s": if host == 21 { 1e10 } else { 1e11 },
            "delay_ns": 1000, "kmin_bytes": kmin, "kmax_bytes": kmin, "pmax": 1.0, "alpha": 1.0,
            "headroom_bytes": 0,
        })).collect::<Vec<_>>(),
        "packets": {"payload": 1000, "header": 48, "telemetry": 42, "acknowledgement": 60, "notification": 60,
            "pause": 64},
        "sender": {"algorithm": "dcqcn-mellanox", "parameters": {}},
        "feedback": {"acknowledgements_first": true, "acknowledge_every": 1, "notification_interval_ns": null},
        "marks_at_departure": false,
        "retransmission_timeout_ns": 1_000_000,
        "duration_ns": 1_000_000_000,
        "traffic": traffic,
        "watched": [],
        "size_classes": [],
    });
    for (key, value) in settings {
        scenario[*key] = value.clone();
    }
    Fabric::new(&serde_json::from_value(scenario).unwrap(), 1)
}

fn run(traffic: &[Json], settings: &[(&str, Json)]) -> Results {
    let results = fabric(traffic, settings).unwrap().run(&AtomicBool::new(false)).unwrap().0;
    for group in &results.open_loop {
        // The run ends when nothing is under way.
        assert_eq!(group.packets_sent, group.packets_received + group.packets_lost);
    }
    let lost: u64 = results.open_loop.iter().map(|group| group.packets_lost).sum();
    assert!(results.drops >= lost);
    results
}

/// Three links, on which the packet takes 80, 800 and 80 ns.
const ALONE_S: f64 = 3960e-9;

#[test]
fn below_the_capacity_nothing_is_lost_and_the_delay_is_that_of_the_way() {
    let results = run(&[part(constant(5e9), Some(0), Some(20), 1_000_000)], &[]);
    let found = results.open_loop[0];
    // One packet each 1600 ns.
    assert_eq!((found.packets_sent, found.packets_lost, found.sources), (625, 0, 1));
    let delay = found.delay_s.unwrap();
    assert!((delay.mean - ALONE_S).abs() < 1e-9, "{delay:?}");
    assert!((delay.p99 / ALONE_S - 1.0).abs() < 0.004, "{delay:?}");
    assert!((found.goodput_bit_per_s / (5e9 * 0.952) - 1.0).abs() < 0.01);
    assert_eq!((results.transfers, results.control_hops), (0, 0));
    assert!((results.ended_at_s - (624.0 * 1600e-9 + ALONE_S)).abs() < 2e-9);
}

#[test]
fn at_twice_the_capacity_half_is_lost() {
    let found = run(&[part(constant(2e10), Some(0), Some(20), 10_000_000)], &[]).open_loop[0];
    assert_eq!(found.packets_sent, 25_000);
    // The queue has half of 100 kB: as much as is free.
    let kept = 12_500.0 + 50.0;
    assert!((found.packets_received as f64 - kept).abs() < 5.0, "{found:?}");
    let delay = found.delay_s.unwrap();
    assert!((delay.p99 - (ALONE_S + 40e-6)).abs() < 2e-6, "{delay:?}");
}

#[test]
fn poisson_arrivals_wait_as_in_a_queue_with_equal_service() {
    // M/D/1: load / (2 (1 - load)) of the time of a packet, 800 ns.
    for (load, until) in [(0.5, 20_000_000), (0.8, 60_000_000)] {
        let source = json!({"kind": "poisson", "rate_bit_per_s": load * 1e10 / 20.0});
        let found = run(&[part(source, None, Some(20), until)], &[]).open_loop[0];
        assert_eq!((found.sources, found.packets_lost), (20, 0));
        let wait = found.delay_s.unwrap().mean - ALONE_S;
        let expected = load / (2.0 * (1.0 - load)) * 800e-9;
        assert!((wait / expected - 1.0).abs() < 0.05, "{load}: {wait} for {expected}");
    }
}

#[test]
fn packets_that_cannot_be_marked_are_dropped_where_others_are_marked() {
    let mut cables = Vec::new();
    for host in 0..3 {
        cables.push(json!({"a": host, "b": 3, "rate_bit_per_s": 1e10, "delay_ns": 1000, "kmin_bytes": 20_000,
            "kmax_bytes": 20_000, "pmax": 1.0, "alpha": 1.0, "headroom_bytes": 0}));
    }
    for ecn in [false, true] {
        let traffic = [0, 1].map(|from| {
            let mut part = part(constant(6e9), Some(from), Some(2), 100_000);
            part["ecn"] = json!(ecn);
            part
        });
        let switch = json!({"buffer_bytes": 1_000_000, "reserve_bytes": 0, "resume_offset_bytes": 0, "pauses": false});
        let settings =
            [("hosts", json!(3)), ("switches", json!([switch])), ("cables", json!(cables))];
        let results = run(&traffic, &settings);
        assert_eq!((results.drops == 0, results.marks > 0), (ecn, ecn));
    }
}

#[test]
fn sources_stand_beside_transfers_of_every_kind_and_runs_repeat() {
    let on_off = json!({"kind": "on-off", "rate_bit_per_s": 1e10,
        "on_ns": {"distribution": "constant", "value": 10_000.0},
        "off_ns": {"distribution": "constant", "value": 30_000.0}});
    let list = json!({"kind": "list", "transfers": [[1, 20, 300_000, 0], [2, 20, 300_000, 1000]]});
    let parts = [list.clone(), part(on_off, None, None, 1_000_000), list];
    let reno = json!([{"algorithm": "reno", "parameters": {}}]);
    let settings = [
        ("further_senders", reno),
        ("traffic_senders", json!([0, 0, 1])),
        ("traffic_classes", json!([0, 3, 0])),
    ];
    let results = run(&parts, &settings);
    let again = run(&parts, &settings);
    assert_eq!(serde_json::to_string(&results).unwrap(), serde_json::to_string(&again).unwrap());
    assert_eq!((results.transfers, results.not_done), (4, 0));
    let found = results.open_loop[0];
    assert_eq!((found.traffic, found.sources), (1, 21));
    // A quarter of 1250 packets, to the on time that was last.
    assert!((found.packets_sent as f64 / 21.0 - 312.5).abs() < 13.0, "{found:?}");
    // TCP alone stands beside them too, and without them nothing is said of them.
    let tcp = [("sender", json!({"algorithm": "reno", "parameters": {}}))];
    assert_eq!(run(&parts[..2], &tcp).not_done, 0);
    let without = serde_json::to_value(run(&parts[..1], &tcp)).unwrap();
    assert_eq!(without.get("open_loop"), None);
}

#[test]
fn a_part_that_cannot_be_is_refused_with_its_place() {
    let refused =
        |part| fabric(&[part], &[]).err().map(|error| error.to_string()).unwrap_or_default();
    for (part, words) in [
        (part(constant(0.0), Some(0), Some(20), 1000), "traffic[0].rate"),
        (part(constant(1e9), Some(20), Some(20), 1000), "traffic[0]"),
        (part(constant(1e9), Some(0), Some(21), 1000), "traffic[0]"),
        (part(json!({"kind": "bulk"}), Some(0), Some(20), 1000), "traffic[0].kind"),
    ] {
        let said = refused(part);
        assert!(said.contains(words), "{said}");
    }
}
