//! Finite transfers: completion times worked out by hand, arrivals, and places used by turns.

use std::sync::atomic::AtomicBool;

use crate::common::limits::buffer;
use crate::common::{MILLISECOND, SECOND, bulk, link, parse, scenario, simulate};
use proptest::prelude::*;
use serde_json::{Value, json};
use vermilion_netsim::results::GroupMetrics;
use vermilion_netsim::{Results, Simulation};

/// Rate at which a packet of 1000 bytes takes a millisecond and one of 40 bytes 40 microseconds.
const RATE: u64 = 8_000_000;

fn long_queue(rate: u64) -> Value {
    link("link", rate, "drop-tail", json!({"limit": 100_000}))
}

/// A group over the link, with a round trip of 60 ms, that starts at 0.
fn group(count: u32, traffic: Value, sender: Value) -> Value {
    let mut flows = bulk("flows", count, &["link"], "newreno", sender);
    flows["start_ns"] = json!([0, 0]);
    flows["traffic"] = traffic;
    flows
}

fn total(results: &Results) -> &GroupMetrics {
    &results.flows["flows"].total
}

/// Mean completion time in milliseconds.
fn completion_ms(results: &Results) -> f64 {
    let metrics = total(results).transfers.as_ref().unwrap();
    metrics.completion_time_s.unwrap().mean * 1e3
}

#[track_caller]
fn assert_near(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance * expected.abs(),
        "{measured} is not within {tolerance} of {expected}"
    );
}

#[test]
fn a_lone_transfer_takes_its_rounds_and_its_transmission() {
    // SYN and its answer: 60 + 0.04 ms. Two segments, then four, each round 60 + 1 ms. The last
    // four leave together: 35 ms on the way and 4 ms of transmission. No queue delays the growth.
    let run = |change: &dyn Fn(&mut Value)| {
        let mut flows = group(1, json!({"kind": "transfer", "size_bytes": 10_000}), json!({}));
        change(&mut flows);
        simulate(&scenario(2.0, &[long_queue(RATE)], &[flows]), 1)
    };
    let results = run(&|_| ());
    assert_near(completion_ms(&results), 60.04 + 61.0 + 61.0 + 39.0, 1e-9);
    let metrics = total(&results);
    assert_eq!(metrics.transfers.as_ref().unwrap().completed, 1);
    assert_eq!(metrics.goodput_bit_per_s.unwrap().total, 40_000.0); // 80 kbit in 2 s
    assert_eq!(metrics.each.len(), 1);
    assert_near(metrics.each[0].completion_time_s.unwrap(), 0.221_04, 1e-9);
    // 500 bytes less in the last segment: half a millisecond of transmission less.
    let shorter = run(&|flows| flows["traffic"]["size_bytes"] = json!(9_500));
    assert_near(completion_ms(&shorter), 220.54, 1e-9);
    assert_eq!(total(&shorter).goodput_bit_per_s.unwrap().total, 38_000.0);
    // With 40 bytes of header the same ten segments carry 9600 bytes.
    let headers = run(&|flows| {
        flows["header_size_bytes"] = json!(40);
        flows["traffic"]["size_bytes"] = json!(9_600);
    });
    assert_near(completion_ms(&headers), 221.04, 1e-9);
    assert_eq!(total(&headers).goodput_bit_per_s.unwrap().total, 38_400.0);
    // Whenever it starts.
    let later = run(&|flows| flows["start_ns"] = json!([777_777_777, 777_777_777]));
    assert_near(completion_ms(&later), 221.04, 1e-9);
    // Without a handshake its 60.04 ms are saved.
    let open = run(&|flows| flows["sender"]["parameters"] = json!({"handshake": false}));
    assert_near(completion_ms(&open), 161.0, 1e-9);
    // A window of ten at once: the way there and ten transmissions after the handshake.
    let at_once = run(&|flows| flows["sender"]["parameters"] = json!({"initial_window": 10}));
    assert_near(completion_ms(&at_once), 60.04 + 35.0 + 10.0, 1e-9);
}

#[test]
fn a_lone_transfer_whose_acknowledgements_cross_a_link_takes_as_long_as_they_need() {
    // 10 ms of access at each of four places: the way there is 30 ms, the way back 30 ms and 40 ns
    // of transmission for each of the three rounds that are waited for.
    let mut flows = group(1, json!({"kind": "transfer", "size_bytes": 10_000}), json!({}));
    flows["return_path"] = json!(["back"]);
    let back = link("back", 8_000_000_000, "drop-tail", json!({"limit": 100}));
    let results = simulate(&scenario(2.0, &[long_queue(RATE), back], &[flows]), 1);
    assert_near(completion_ms(&results), 60.04 + 61.0 + 61.0 + 34.0 + 3.0 * 4e-5, 1e-9);
}

#[test]
fn a_transfer_that_is_stopped_or_cut_off_has_no_completion_time() {
    let mut flows = group(1, json!({"kind": "transfer", "size_bytes": 1_000_000}), json!({}));
    flows["stop_ns"] = json!([500 * MILLISECOND, 500 * MILLISECOND]);
    for duration in [0.4, 5.0] {
        let results = simulate(&scenario(duration, &[long_queue(RATE)], &[flows.clone()]), 1);
        let metrics = total(&results).transfers.as_ref().unwrap();
        assert_eq!((metrics.transfers_begun, metrics.completed), (1, 0));
        assert!(metrics.completion_time_s.is_none());
    }
}

#[test]
fn bulk_traffic_has_no_transfers_to_report() {
    let network =
        scenario(2.0, &[long_queue(RATE)], &[group(2, json!({"kind": "bulk"}), json!({}))]);
    assert!(total(&simulate(&network, 1)).transfers.is_none());
}

#[test]
fn a_time_belongs_to_the_phase_in_which_its_transfer_completes() {
    let mut flows = group(1, json!({"kind": "transfer", "size_bytes": 10_000}), json!({}));
    flows["start_ns"] = json!([900 * MILLISECOND, 900 * MILLISECOND]);
    let mut network = scenario(3.0, &[long_queue(RATE)], &[flows]);
    network["changes"] = json!([{"at_ns": SECOND, "link": "link", "rate_bit_per_s": RATE}]);
    let results = simulate(&network, 1);
    let phases = &results.flows["flows"].phases;
    let counts: Vec<_> = phases
        .iter()
        .map(|phase| phase.transfers.as_ref().unwrap())
        .map(|metrics| (metrics.transfers_begun, metrics.completed))
        .collect();
    assert_eq!(counts, [(0, 0), (1, 0), (0, 1)]);
}

fn web(mean_gap_ms: f64, size: Value) -> Value {
    json!({"kind": "web", "mean_gap_ns": mean_gap_ms * 1e6, "size": size})
}

#[test]
fn a_source_that_runs_and_begins_no_transfer_has_a_goodput_of_nothing() {
    // The gap is an hour.
    let mut idle = group(1, web(3.6e6, constant(1000)), json!({}));
    idle["start_ns"] = json!([SECOND, SECOND]);
    idle["stop_ns"] = json!([3 * SECOND, 3 * SECOND]);
    let results = simulate(&scenario(4.0, &[long_queue(RATE)], &[idle]), 1);
    let goodput = |metrics: &GroupMetrics| metrics.goodput_bit_per_s.map(|it| it.total);
    let phases: Vec<_> = results.flows["flows"].phases.iter().map(goodput).collect();
    assert_eq!(phases, [None, Some(0.0), None], "before it starts, while it runs, once it stops");
    assert_eq!((goodput(total(&results)), total(&results).flows), (Some(0.0), 0));
}

fn constant(bytes: u64) -> Value {
    json!({"distribution": "constant", "value": bytes})
}

#[test]
fn arrivals_are_poisson() {
    // Ten sources of 200 a second together, for 2 s: 400 with a variance of 400.
    let counts: Vec<f64> = (0..60)
        .map(|seed| {
            let flows = group(10, web(50.0, constant(1_000)), json!({}));
            let results = simulate(&scenario(2.0, &[long_queue(100 * RATE)], &[flows]), seed);
            total(&results).transfers.as_ref().unwrap().transfers_begun as f64
        })
        .collect();
    let mean = counts.iter().sum::<f64>() / 60.0;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 59.0;
    // The link begins to see the sources 12.5 ms late: 397.5 arrivals.
    assert!((mean - 397.5).abs() < 4.0 * (400.0 / 60.0_f64).sqrt(), "{mean}");
    // 99.9 % of a chi-square distribution with 59 degrees of freedom lie within.
    assert!((0.51..1.71).contains(&(variance / 400.0)), "{variance}");
}

#[test]
fn web_traffic_carries_its_mean_size_times_its_rate() {
    let size = json!({"distribution": "exponential", "mean": 20_000.0});
    let flows = group(5, web(50.0, size), json!({}));
    let mut network = scenario(210.0, &[long_queue(4 * RATE)], &[flows]);
    network["warm_up_ns"] = json!(10 * SECOND);
    let results = simulate(&network, 1);
    // 100 transfers of 160 kbit a second, 20000 of them: the sum is within 1 % once in three.
    assert_near(total(&results).goodput_bit_per_s.unwrap().total, 16e6, 0.03);
    assert!(total(&results).each.is_empty());
}

/// Everything arrives before 8 s, and the network has 100 s to carry it.
fn finite_load(seed: u64, queue: Value, rate: u64) -> GroupMetrics {
    let size =
        json!({"distribution": "bounded-pareto", "shape": 1.2, "minimum": 2e3, "maximum": 1e6});
    let mut flows = group(4, web(100.0, size), json!({}));
    flows["stop_ns"] = json!([8 * SECOND, 8 * SECOND]);
    let mut link = link("link", rate, "drop-tail", json!({}));
    link["queue"] = queue;
    total(&simulate(&scenario(100.0, &[link], &[flows]), seed)).clone()
}

#[test]
fn neither_a_queue_nor_a_link_moves_an_arrival_or_a_size() {
    for seed in 0..5 {
        let red = json!({"discipline": "red", "parameters": {}});
        let tail = json!({"discipline": "drop-tail", "parameters": {"limit": 7}});
        let [first, second] = [(red, 3 * RATE), (tail, RATE)].map(|(queue, rate)| {
            let metrics = finite_load(seed, queue, rate);
            let transfers = metrics.transfers.unwrap();
            assert_eq!(transfers.transfers_begun, transfers.completed);
            assert!(metrics.retransmissions > 0 || rate > RATE);
            (transfers.completed, metrics.goodput_bit_per_s.unwrap().total)
        });
        assert_eq!(first, second);
    }
}

#[test]
fn fifty_thousand_transfers_need_as_many_places_as_are_under_way_at_once() {
    let mut flows = group(10, web(10.0, constant(5_000)), json!({}));
    let network = scenario(50.0, &[long_queue(100_000_000)], &[flows.clone()]);
    let mut simulation = Simulation::new(parse(&network), 1).unwrap();
    simulation.run(&AtomicBool::new(false)).unwrap();
    // 1000 a second of about 0.2 s each, by Little's law: 200 on average, with a deviation of 14.
    let places = simulation.flow_places();
    let results = simulation.into_results(true);
    let transfers = total(&results).transfers.clone().unwrap();
    assert!(transfers.transfers_begun > 49_000, "{transfers:?}");
    let expected = 1000.0 * (transfers.completion_time_s.unwrap().mean + 0.025);
    assert!((places as f64) < expected + 10.0 + 5.5 * expected.sqrt(), "{places}");
    // The same with losses in both directions and delayed acknowledgements.
    flows["return_path"] = json!(["back"]);
    flows["sender"]["parameters"] = json!({"delayed_acknowledgements": true});
    let tight = link("link", 44_000_000, "drop-tail", json!({"limit": 20}));
    let back = link("back", 1_100_000, "drop-tail", json!({"limit": 20}));
    let network = scenario(50.0, &[tight, back], &[flows]);
    let mut simulation = Simulation::new(parse(&network), 1).unwrap();
    simulation.run(&AtomicBool::new(false)).unwrap();
    let places = simulation.flow_places();
    let results = simulation.into_results(true);
    crate::common::assert_laws(&results);
    assert!(results.links["link"].ledger.drops > 1000, "{:?}", results.links["link"].ledger);
    assert!(results.links["back"].ledger.drops > 1000, "{:?}", results.links["back"].ledger);
    let transfers = total(&results).transfers.clone().unwrap();
    assert!(transfers.transfers_begun > 49_000 && transfers.completed > 40_000, "{transfers:?}");
    assert!(places < 10_000, "{places}");
}

#[test]
fn transfers_under_way_are_their_rate_times_their_time() {
    // Little's law, of flows instead of packets: 100 a second, each under way until its sender
    // knows, 25 ms after its completion.
    let size = json!({"distribution": "exponential", "mean": 30_000.0});
    let flows = group(5, web(50.0, size), json!({}));
    let network = scenario(400.0, &[link("link", 4 * RATE, "red", json!({}))], &[flows]);
    let mut simulation = Simulation::new(parse(&network), 1).unwrap();
    let mut sum = 0;
    for step in 1..=40_000 {
        simulation.advance(step * 10 * MILLISECOND, &AtomicBool::new(false)).unwrap();
        sum += simulation.active_flows();
    }
    let results = simulation.into_results(false);
    let transfers = total(&results).transfers.as_ref().unwrap();
    let rate = transfers.transfers_begun as f64 / 400.0;
    let time = transfers.completion_time_s.unwrap().mean + 0.025;
    assert_near(sum as f64 / 40_000.0, rate * time, 0.01);
}

#[test]
fn exponential_transfers_over_a_link_that_never_idles_are_an_m_m_1_queue() {
    // With round trips shorter than a packet's transmission the link works whenever anybody has
    // data, and knows no sizes: then the mean time does not depend on who is served first. 100 kB
    // take 0.1 s, so at loads of 0.5 and 0.8 it is 0.1 / (1 - load).
    for (mean_gap_ms, expected) in [(200.0, 0.2), (125.0, 0.5)] {
        let size = json!({"distribution": "exponential", "mean": 100_000.0});
        let mut flows = group(1, web(mean_gap_ms, size), json!({}));
        flows["rtt_ns"] = json!(200_000);
        let mut short = long_queue(RATE);
        short["delay_ns"] = json!(100_000);
        let results = simulate(&scenario(10_000.0, &[short], &[flows]), 1);
        assert_eq!(results.links["link"].ledger.drops, 0);
        assert_near(completion_ms(&results) / 1e3, expected, 0.06);
    }
}

#[test]
fn nothing_of_an_old_connection_reaches_the_next_in_its_place() {
    // A timer that expires far too early sends most segments several times: duplicates and their
    // acknowledgements are on their way when the connection is over. One that reached the next
    // connection would complete a transfer sooner than an empty network can: 221.04 ms, or lose it.
    let impatient = json!({"minimum_timeout": 0.0, "clock_tick": 1e-6, "initial_timeout": 0.05});
    let mut flows = group(20, web(400.0, constant(10_000)), impatient);
    flows["stop_ns"] = json!([300 * SECOND, 300 * SECOND]);
    for back in [json!([]), json!(["back"])] {
        flows["return_path"] = back;
        let links = [
            link("link", 1_300_000 * 4, "drop-tail", json!({"limit": 60})),
            link("back", 300_000, "drop-tail", json!({"limit": 40})),
        ];
        let results = simulate(&scenario(400.0, &links, &[flows.clone()]), 1);
        let metrics = total(&results);
        assert!(metrics.retransmissions > 15_000, "{}", metrics.retransmissions);
        let transfers = metrics.transfers.as_ref().unwrap();
        assert_eq!(transfers.transfers_begun, transfers.completed);
        let goodput = metrics.goodput_bit_per_s.unwrap().total;
        assert_near(goodput, transfers.completed as f64 * 80_000.0 / 400.0, 1e-12);
        assert!(transfers.completion_time_s.unwrap().min > 0.216);
    }
}

#[test]
fn bursts_follow_each_other_after_a_pause() {
    // 221.04 ms, 25 ms for the last acknowledgement, and a pause that makes it half a second.
    let off = json!({"distribution": "constant", "value": 253_960_000});
    let traffic = json!({"kind": "bursts", "size": constant(10_000), "off_ns": off});
    let flows = group(1, traffic, json!({}));
    let results = simulate(&scenario(10.0, &[long_queue(RATE)], &[flows]), 1);
    let transfers = total(&results).transfers.as_ref().unwrap();
    assert_eq!((transfers.transfers_begun, transfers.completed), (20, 20));
    let times = transfers.completion_time_s.unwrap();
    assert_near(times.min, 0.221_04, 1e-9);
    assert_near(times.max, 0.221_04, 1e-9);
}

#[test]
fn a_trace_begins_its_transfers_when_it_says() {
    let traffic = json!({
        "kind": "trace",
        "starts_ns": [0, SECOND, SECOND, 2 * SECOND, 9 * SECOND],
        "sizes_bytes": [10_000, 1, 500, 20_000, 1_000_000],
    });
    let mut flows = group(1, traffic, json!({"initial_window": 100}));
    flows["start_ns"] = json!([500 * MILLISECOND, 500 * MILLISECOND]);
    let results = simulate(&scenario(9.6, &[long_queue(RATE)], &[flows]), 1);
    let transfers = total(&results).transfers.as_ref().unwrap();
    assert_eq!((transfers.transfers_begun, transfers.completed), (5, 4));
    let times = transfers.completion_time_s.unwrap();
    // SYN, its answer, the way there, and 1 byte: a microsecond.
    assert_near(times.min, 0.06004 + 0.035 + 1e-6, 1e-9);
    assert_near(times.max, 0.06004 + 0.035 + 0.020, 1e-9);
}

#[test]
fn open_loop_on_off_traffic_sends_a_packet_per_millisecond_while_it_is_on() {
    let on_off = |on: Value, off: Value, duration: f64| {
        let flows = json!({
            "name": "flows", "count": 1, "path": ["link"], "rtt_ns": 60 * MILLISECOND,
            "start_ns": [0, 0],
            "traffic": {"kind": "on-off", "rate_bit_per_s": RATE, "on_ns": on, "off_ns": off},
        });
        let results = simulate(&scenario(duration, &[long_queue(2 * RATE)], &[flows]), 1);
        results.links["link"].ledger.arrivals as f64
    };
    let constant = |time_ms: f64| json!({"distribution": "constant", "value": time_ms * 1e6});
    // 100 packets in each of 50 cycles, the last of which ends before the run does.
    assert_eq!(on_off(constant(100.0), constant(100.0), 10.0), 5_000.0);
    // On times of two packets and a half, and of a tenth of one, lose nothing.
    assert_near(on_off(constant(2.5), constant(7.5), 100.0), 25_000.0, 0.001);
    assert_near(on_off(constant(0.1), constant(0.9), 100.0), 10_000.0, 0.001);
    // Exponential and Pareto times: a third of the time on.
    let exponential = |ms: f64| json!({"distribution": "exponential", "mean": ms * 1e6});
    assert_near(on_off(exponential(20.0), exponential(40.0), 1000.0), 1e6 / 3.0, 0.03);
    let pareto = |ms: f64| json!({"distribution": "pareto", "mean": ms * 1e6, "shape": 2.5});
    assert_near(on_off(pareto(20.0), pareto(40.0), 1000.0), 1e6 / 3.0, 0.05);
}

#[test]
fn every_discipline_carries_web_traffic_beside_bulk_flows() {
    for discipline in vermilion_aqm::registry::ALGORITHMS {
        let mut long = bulk("long", 3, &["link"], "newreno", json!({"ecn": true}));
        long["stop_ns"] = json!([15 * SECOND, 18 * SECOND]);
        let size = json!({"distribution": "lognormal", "median": 8_000.0, "sigma": 1.2});
        let short = group(3, web(100.0, size), json!({"delayed_acknowledgements": true}));
        let queue = link("link", RATE, discipline.name, buffer(discipline.name, 60));
        let results = simulate(&scenario(20.0, &[queue], &[long, short]), 1);
        let transfers = total(&results).transfers.as_ref().unwrap();
        assert!(transfers.completed > 400, "{} {transfers:?}", discipline.name);
        assert_eq!(results.flows["long"].total.each.len(), 3);
    }
}

#[test]
fn what_cannot_be_simulated_is_refused_by_the_name_of_the_field() {
    let constant_time = json!({"distribution": "constant", "value": 1e6});
    let bad_size = json!({"distribution": "pareto", "mean": 1e4, "shape": 0.9});
    let trace = |starts: Value, sizes: Value| json!({"kind": "trace", "starts_ns": starts, "sizes_bytes": sizes});
    for (traffic, field) in [
        (json!({"kind": "transfer", "size_bytes": 0}), "traffic.size"),
        (json!({"kind": "transfer", "size_bytes": u64::MAX}), "traffic.size"),
        (web(0.0, constant(1)), "traffic.mean_gap"),
        (web(-1.0, constant(1)), "traffic.mean_gap"),
        (web(1.0, constant(0)), "traffic.size.value"),
        (web(1.0, bad_size.clone()), "traffic.size.shape"),
        (web(1e-5, constant(1)), "traffic"),
        (
            json!({"kind": "bursts", "size": bad_size, "off_ns": constant_time}),
            "traffic.size.shape",
        ),
        (
            json!({"kind": "bursts", "size": constant(1), "off_ns": {"distribution": "constant", "value": -1.0}}),
            "traffic.off.value",
        ),
        (trace(json!([]), json!([])), "traffic.rows"),
        (trace(json!([1, 0]), json!([1, 1])), "traffic.start"),
        (trace(json!([1, 2]), json!([1, 0])), "traffic.size"),
        (trace(json!([1, 2]), json!([1])), "traffic.sizes"),
    ] {
        let network = scenario(10.0, &[long_queue(RATE)], &[group(1, traffic.clone(), json!({}))]);
        let refused = Simulation::new(parse(&network), 1).expect_err("not a scenario");
        assert_eq!(refused.field, format!("flows.flows.{field}"), "{traffic}");
    }
    let twice = group(2, trace(json!([0]), json!([1])), json!({}));
    let refused = Simulation::new(parse(&scenario(10.0, &[long_queue(RATE)], &[twice])), 1);
    assert_eq!(refused.expect_err("not a scenario").field, "flows.flows.count");
}

fn any_variate(low: f64, high: f64) -> impl Strategy<Value = Value> {
    prop_oneof![
        (low..high).prop_map(|value| json!({"distribution": "constant", "value": value})),
        (low..high).prop_map(|mean| json!({"distribution": "exponential", "mean": mean})),
        (low..high, 1.01..10.0).prop_map(
            |(mean, shape)| json!({"distribution": "pareto", "mean": mean, "shape": shape})
        ),
        (low..high, 0.0..10.0).prop_map(
            |(median, sigma)| json!({"distribution": "lognormal", "median": median, "sigma": sigma})
        ),
        (low..high, 0.1..10.0).prop_map(move |(maximum, shape)| {
            json!({"distribution": "bounded-pareto", "minimum": low, "maximum": maximum,
                "shape": shape})
        }),
        (low..high, 0.0..0.9).prop_map(move |(value, share)| {
            json!({"distribution": "empirical", "values": [value, 2.0 * high],
                "probabilities": [share, 1.0], "interpolation": "logarithmic"})
        }),
    ]
}

fn any_traffic() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1_u64..200_000).prop_map(|size| json!({"kind": "transfer", "size_bytes": size})),
        (1e6..1e9, any_variate(1.0, 1e5))
            .prop_map(|(gap, size)| json!({"kind": "web", "mean_gap_ns": gap, "size": size})),
        (any_variate(1.0, 1e5), any_variate(1.0, 1e9))
            .prop_map(|(size, off)| json!({"kind": "bursts", "size": size, "off_ns": off})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_traffic_that_ends_keeps_the_laws_and_its_books(
        traffic in prop::collection::vec(any_traffic(), 1..4),
        rate in 100_000_u64..20_000_000,
        limit in 0_u32..100,
        (delayed, handshake, ecn, queued_back, stops) in any::<(bool, bool, bool, bool, bool)>(),
        seed in any::<u64>(),
    ) {
        let groups: Vec<Value> = traffic
            .into_iter()
            .enumerate()
            .map(|(index, traffic)| {
                let mut flows = group(3, traffic, json!({
                    "delayed_acknowledgements": delayed, "handshake": handshake, "ecn": ecn,
                    "minimum_timeout": 0.01,
                }));
                flows["name"] = json!(index.to_string());
                if queued_back {
                    flows["return_path"] = json!(["back"]);
                }
                if stops {
                    flows["stop_ns"] = json!([0, 2 * SECOND]);
                }
                flows
            })
            .collect();
        let links = [
            link("link", rate, "red", json!({"limit": limit + 1})),
            link("back", rate / 20, "drop-tail", json!({"limit": limit + 1})),
        ];
        let mut network = scenario(4.0, &links, &groups);
        network["changes"] = json!([{"at_ns": SECOND, "link": "link", "rate_bit_per_s": 2 * rate}]);
        let results = simulate(&network, seed);
        for flows in results.flows.values() {
            let transfers = flows.total.transfers.as_ref().unwrap();
            prop_assert!(transfers.completed <= transfers.transfers_begun);
            prop_assert!(flows.total.goodput_bit_per_s.is_none_or(|goodput| goodput.total <= 4e7));
            let sum = |of: &dyn Fn(&GroupMetrics) -> u64| flows.phases.iter().map(of).sum::<u64>();
            let completed = sum(&|phase| phase.transfers.as_ref().unwrap().completed);
            let begun = sum(&|phase| phase.transfers.as_ref().unwrap().transfers_begun);
            prop_assert_eq!((begun, completed), (transfers.transfers_begun, transfers.completed));
            if let Some(times) = transfers.completion_time_s {
                // The way there takes 35 ms, or 30 ms where acknowledgements have a link.
                let least = if handshake { 0.089 } else { 0.029 };
                prop_assert!(times.min > least, "{} s", times.min);
                prop_assert!(times.min <= times.p5 && times.p5 <= times.p50);
                prop_assert!(times.p99 <= times.max && times.max <= 4.0);
            }
        }
    }
}
