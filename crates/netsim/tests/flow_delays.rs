//! Delay, jitter and loss of a group's packets, against calculations by hand.

use crate::common::open_loop::open_loop;
use crate::common::{MILLISECOND, SECOND, bulk, link, scenario, simulate};
use serde_json::{Value, json};
use vermilion_netsim::results::Results;

/// A packet of 1000 bytes takes a millisecond.
const RATE: u64 = 8_000_000;

/// Of flows of 60 ms over one link of 10 ms: the link, and half of the 50 ms of access.
const ONE_WAY: f64 = 35.0;

fn measured(mut network: Value, seed: u64) -> Results {
    network["flow_delays"] = json!(true);
    simulate(&network, seed)
}

fn drop_tail(name: &str, rate: u64, limit: u32) -> Value {
    link(name, rate, "drop-tail", json!({"limit": limit}))
}

#[track_caller]
fn assert_close(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

#[test]
fn a_flow_below_the_rate_of_its_link_has_a_constant_delay_and_no_jitter() {
    // With access links of 10 Mbit/s each packet takes 0.8 ms more at either end.
    for (access, more) in [(None, 0.0), (Some(10_000_000), 1.6)] {
        let mut flow = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 4e6}));
        flow["access_rate_bit_per_s"] = json!(access);
        let results = measured(scenario(10.0, &[drop_tail("link", RATE, 10)], &[flow]), 1);
        let packets = results.flows["open-loop"].total.packets.unwrap();
        let delay = packets.delay_ms.unwrap();
        for value in [delay.mean, delay.p5, delay.p50, delay.p95, delay.p99, delay.max] {
            assert_close(value, ONE_WAY + 1.0 + more, 1e-9);
        }
        assert_eq!((delay.sd, packets.jitter_ms), (0.0, Some(0.0)));
        assert_eq!((packets.packets_lost, packets.packet_loss_rate), (0, Some(0.0)));
        assert_eq!(packets.losses_in_a_row, None);
        // At the first queue one every 2 ms, from 12.5 ms on (13.3 ms with access links), and 23.5 ms
        // (24.3 ms) later at the receiver: at 10 s twelve are on their way, or arrive just then.
        assert_eq!(packets.packets_sent - packets.packets_delivered, 12);
        assert_eq!(packets.jitter_pairs, packets.packets_delivered - 1);
    }
}

#[test]
fn a_standing_queue_is_part_of_the_delay() {
    // A window of 125 packets at 1 packet/ms makes every round trip 125 ms, of which 45 ms are the way
    // back: half of what access has of 100 ms. Over a link on the way back it is that link's 10 ms
    // and 40 ms of access.
    for (return_path, back) in [(json!([]), 45.0), (json!(["back"]), 50.0)] {
        let mut flow = bulk("flow", 1, &["link"], "newreno", json!({"window_cap": 125}));
        flow["rtt_ns"] = json!(100 * MILLISECOND);
        flow["return_path"] = return_path;
        let links = [drop_tail("link", RATE, 1000), drop_tail("back", 8_000_000_000_000, 1000)];
        let mut network = scenario(60.0, &links, &[flow]);
        network["warm_up_ns"] = json!(20 * SECOND);
        let packets = measured(network, 1).flows["flow"].total.packets.unwrap();
        let delay = packets.delay_ms.unwrap();
        assert_close(delay.mean, 125.0 - back, 1e-3);
        assert_close(delay.sd, 0.0, 1e-3);
        assert_close(packets.jitter_ms.unwrap(), 0.0, 1e-3);
        // Every packet of 40 s, and none of those before.
        assert_eq!(packets.packets_delivered, 40_000);
    }
}

#[test]
fn over_two_links_the_delay_is_the_sum_of_both_sojourns_transmissions_and_propagations() {
    let links = [drop_tail("first", RATE, 10_000), drop_tail("second", 6_250_000, 10_000)];
    let mut flow = open_loop("first", json!({"kind": "poisson", "rate_bit_per_s": 5e6}));
    flow["path"] = json!(["first", "second"]);
    // Everything has arrived by the end.
    flow["stop_ns"] = json!([55 * SECOND, 55 * SECOND]);
    let results = measured(scenario(60.0, &links, &[flow]), 1);
    let packets = results.flows["open-loop"].total.packets.unwrap();
    let waiting: f64 = ["first", "second"]
        .map(|name| results.links[name].spans.total.sojourn_ms.unwrap().mean)
        .iter()
        .sum();
    assert!(waiting > 1.0);
    // Of 60 ms the links take 20 and half of the rest is on the way there.
    let constant = 1.0 + 1.28 + 20.0 + 20.0;
    assert_close(packets.delay_ms.unwrap().mean, constant + waiting, 1e-6);
    assert_eq!(packets.packets_delivered, packets.packets_sent);
    assert!(packets.packets_sent > 30_000);
}

#[test]
fn at_one_bottleneck_it_is_the_waiting_time_of_those_that_were_forwarded() {
    // Whether packets are dropped on arrival or when their turn comes. The flight at the end of the
    // run is all in which the two may differ.
    for discipline in ["drop-tail", "red", "codel", "fq-codel", "choke"] {
        for sender in ["newreno", "sack", "cubic"] {
            let flows = bulk("flow", 8, &["link"], sender, json!({"handshake": false}));
            let bottleneck = link("link", RATE, discipline, json!({}));
            let results = measured(scenario(120.0, &[bottleneck], &[flows]), 1);
            let total = &results.links["link"].spans.total;
            let packets = results.flows["flow"].total.packets.unwrap();
            let waiting = packets.delay_ms.unwrap().mean - ONE_WAY - 1.0;
            let expected = total.sojourn_ms.unwrap().mean;
            assert_close(waiting, expected, 2e-3 * expected.max(5.0));
            assert_eq!(packets.packets_lost, total.drops, "{discipline} {sender}");
            assert!(total.drops > 100, "{discipline} {sender}");
        }
    }
}

#[test]
fn bursts_that_overflow_a_queue_lose_their_ends_in_a_row() {
    // Ten packets in 10 us every 100 ms: one is sent at once, four wait, five are dropped. Their
    // delays are 1 to 5 ms (less the microseconds of the burst) longer than the way, and differ by
    // 1 ms four times and by 4 ms once.
    let constant = |value: f64| json!({"distribution": "constant", "value": value});
    let traffic = json!({"kind": "on-off", "rate_bit_per_s": 8e9, "on_ns": constant(1e4),
        "off_ns": constant(1e8)});
    for path in [json!(["link"]), json!(["fast", "link"])] {
        let mut flow = open_loop("link", traffic.clone());
        flow["path"] = path;
        let links = [drop_tail("link", RATE, 4), drop_tail("fast", 8_000_000_000_000, 100)];
        let mut network = scenario(10.0, &links, &[flow]);
        network["flow_delays"] = json!(true);
        let packets = simulate(&network, 1).flows["open-loop"].total.packets.unwrap();
        let runs = packets.losses_in_a_row.unwrap();
        assert_eq!((runs.mean, runs.max), (5.0, 5));
        // Of the bursts within 10 s; the last has no arrival behind it.
        assert_eq!(runs.count, 99);
        assert_eq!((packets.packets_sent, packets.packets_lost), (1000, 500));
        let on_the_link = packets.delay_ms.unwrap();
        let way = if network["flows"][0]["path"].as_array().unwrap().len() == 2 {
            40.0 // two links of 10 ms and half of 40 ms
        } else {
            ONE_WAY
        };
        assert_close(on_the_link.mean, way + 3.0, 0.01);
        assert_close(on_the_link.max, way + 5.0, 0.01);
        assert_close(packets.jitter_ms.unwrap(), 1.6, 0.01);
    }
}

#[test]
fn losses_of_a_window_are_in_a_row_although_packets_before_them_arrive_later() {
    // Ten packets at once: the first is sent, four wait, five are dropped before any has arrived.
    // What acknowledgements then allow finds room, and so does what is sent again.
    for path in [json!(["link"]), json!(["fast", "link"])] {
        let sender = json!({"window_cap": 10, "initial_window": 10.0, "handshake": false});
        let mut flow = bulk("flow", 1, &["link"], "newreno", sender);
        flow["start_ns"] = json!([0, 0]);
        flow["path"] = path;
        let links = [drop_tail("link", RATE, 4), drop_tail("fast", 8_000_000_000_000, 100)];
        let results = measured(scenario(0.4, &links, &[flow]), 1);
        let packets = results.flows["flow"].total.packets.unwrap();
        let runs = packets.losses_in_a_row.unwrap();
        assert_eq!((runs.count, runs.mean, runs.max), (1, 5.0, 5), "{packets:?}");
        assert_eq!(packets.packets_lost, 5);
    }
}

#[test]
fn a_wire_that_loses_everything_for_a_second_loses_all_of_it_in_a_row() {
    // A hundred packets per second for each of three flows, whose losses do not mix.
    for discipline in ["drop-tail", "codel"] {
        let mut flow = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 8e5}));
        flow["count"] = json!(3);
        let mut network = scenario(4.0, &[link("link", RATE, discipline, json!({}))], &[flow]);
        let loss = |probability: f64| json!({"model": "bernoulli", "probability": probability});
        network["changes"] = json!([
            {"at_ns": 1005 * MILLISECOND, "link": "link", "loss": loss(1.0)},
            {"at_ns": 2005 * MILLISECOND, "link": "link", "loss": loss(0.0)},
        ]);
        let results = measured(network, 1);
        let group = &results.flows["open-loop"];
        let of = |packets: vermilion_netsim::results::PacketMetrics| {
            (packets.packets_lost, packets.losses_in_a_row.map(|runs| (runs.count, runs.max)))
        };
        assert_eq!(of(group.total.packets.unwrap()), (300, Some((3, 100))), "{discipline}");
        // The runs end in the third phase, with the first packets that arrive.
        let phases: Vec<_> = group.phases.iter().map(|it| of(it.packets.unwrap())).collect();
        assert_eq!(phases, [(0, None), (300, None), (0, Some((3, 100)))], "{discipline}");
        let lost = group.phases[1].packets.unwrap();
        let settled = lost.packets_delivered + lost.packets_lost;
        assert_eq!(lost.packet_loss_rate.unwrap(), 300.0 / settled as f64);
    }
}

#[test]
fn a_shorter_way_from_some_moment_on_is_a_shorter_delay() {
    let flow = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": 4e6}));
    let mut network = scenario(20.0, &[drop_tail("link", RATE, 10)], &[flow]);
    network["settle_ns"] = json!(SECOND);
    network["changes"] = json!([{"at_ns": 10 * SECOND, "link": "link", "delay_ns": 4_000_000}]);
    let results = measured(network, 1);
    let delays: Vec<_> = results.flows["open-loop"]
        .phases
        .iter()
        .map(|phase| phase.packets.unwrap().delay_ms.unwrap())
        .collect();
    for (delay, expected) in delays.iter().zip([36.0, 30.0]) {
        assert_close(delay.mean, expected, 1e-9);
        assert_close(delay.p95, expected, 6.0 / 256.0);
    }
}

#[test]
fn transfers_that_come_and_go_are_one_group_of_packets() {
    let mut web = bulk("web", 3, &["link"], "sack", json!({}));
    web["traffic"] = json!({"kind": "web", "mean_gap_ns": 1e8,
        "size": {"distribution": "exponential", "mean": 2e4}});
    web["stop_ns"] = json!([50 * SECOND, 50 * SECOND]);
    // Room for everything: whatever is no packet of data opens a connection.
    let results = measured(scenario(100.0, &[drop_tail("link", RATE, 100_000)], &[web.clone()]), 1);
    let total = &results.flows["web"].total;
    let (packets, begun) =
        (total.packets.unwrap(), total.transfers.as_ref().unwrap().transfers_begun);
    assert!(begun > 1000);
    assert_eq!(packets.packets_sent, packets.packets_delivered);
    assert_eq!(packets.packets_sent + begun, results.links["link"].spans.total.arrivals);
    // The first packet of a transfer has none before it.
    assert_eq!(packets.jitter_pairs, packets.packets_delivered - begun);

    // And in a queue that overflows, what is lost is what is not delivered.
    let results = measured(scenario(100.0, &[drop_tail("link", RATE, 10)], &[web]), 1);
    let packets = results.flows["web"].total.packets.unwrap();
    assert!(packets.packets_lost > 100);
    assert_eq!(packets.packets_sent, packets.packets_delivered + packets.packets_lost);
    let runs = packets.losses_in_a_row.unwrap();
    // A transfer is over when all has arrived, and so is a run of losses; what was sent again for
    // nothing may be lost behind that.
    let left_over = packets.packets_lost as f64 - runs.mean * runs.count as f64;
    assert!((-1e-6..0.002 * packets.packets_lost as f64).contains(&left_over), "{left_over}");
}

#[test]
fn who_has_sent_nothing_has_no_delay() {
    let mut flow = bulk("flow", 1, &["link"], "newreno", json!({}));
    flow["start_ns"] = json!([SECOND, SECOND]);
    let network = scenario(1.0, &[drop_tail("link", RATE, 10)], &[flow]);
    let results = measured(network.clone(), 1);
    let text = serde_json::to_value(&results.flows["flow"].total).unwrap();
    for (key, value) in [("packets_sent", 0), ("packets_delivered", 0), ("jitter_pairs", 0)] {
        assert_eq!(text[key], json!(value));
    }
    for key in ["delay_ms", "jitter_ms", "packet_loss_rate", "losses_in_a_row"] {
        assert!(text.get(key).is_none(), "{key}");
    }
    // And nobody who has not asked sees any of it.
    let plain = serde_json::to_value(&simulate(&network, 1).flows["flow"].total).unwrap();
    assert!(plain.get("packets_sent").is_none());
}
