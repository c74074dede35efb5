//! Whatever the network, its books balance: random networks with everything that a scenario can
//! say, and what must be true of each of them at any time.

mod any_network;
#[path = "../../tests/common/mod.rs"]
#[allow(dead_code, reason = "tools for many tests, of which these need few")]
mod common;

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use serde_json::{Value, json};

use self::any_network::any_network;
use self::common::assert_conservation;
use super::Simulation;
use crate::any_link::AnyLink;
use crate::delay_line::End;
use crate::flow::{Origin, Source};
use crate::packet::Packet;
use crate::results::Results;
use crate::trace::{CaptureWriter, PacketEvent, Place};

/// Looks at the request to stop in a run, so many events apart, before it is left alone.
const MOST_LOOKS: usize = 20;

impl Simulation {
    fn packets(&self) -> impl Iterator<Item = Packet> {
        self.packets_received().map(|(packet, _)| packet)
    }

    /// Each packet, with the time at which a receiver has got it or will that hears of it late.
    fn packets_received(&self) -> impl Iterator<Item = (Packet, Option<u64>)> {
        let waiting = self.links.iter().flat_map(|link| match link {
            AnyLink::AtArrival(_) => None,
            AnyLink::AtDeparture(link) => Some(link.packets()),
        });
        let lines = self.lines.packets().map(|(end, packet)| {
            let group = self.flows[packet.flow() as usize].group as usize;
            let waits = end == End::WaitingReceiverAndBack;
            (*packet, waits.then(|| packet.time - self.groups[group].route.after_receipt))
        });
        let elsewhere = self.access.packets().copied().chain(waiting.flatten());
        lines.chain(elsewhere.map(|packet| (packet, None)))
    }

    /// Every flow knows how many of its packets the network holds, and every acknowledgement that
    /// is kept is on its way.
    fn assert_census(&self) {
        let mut held = vec![0; self.flows.len()];
        for packet in self.packets() {
            held[packet.flow() as usize] += 1;
        }
        for (number, (flow, held)) in self.flows.iter().zip(held).enumerate() {
            assert_eq!(flow.in_flight, held, "flow {number} at {} ns", self.now);
            assert!(flow.origin != Origin::Vacant || held == 0, "flow {number}");
        }
        let acknowledgements = self.packets().filter(|packet| packet.is_acknowledgement());
        assert_eq!(self.answers.on_their_way(), acknowledgements.count());
    }

    /// Of every group's data packets that were sent and neither arrived nor were lost, the network
    /// holds each one.
    fn assert_packets_in_flight(&self) {
        let mut held = vec![0; self.scenario.flows.len()];
        for (packet, received) in self.packets_received() {
            let flow = &self.flows[packet.flow() as usize];
            let opens = matches!(flow.source, Source::Window(_)) && packet.sequence() == 0;
            let group = self.groups[flow.group as usize].number as usize;
            let is_counted = received.is_some_and(|time| time < self.delays.counted_until);
            held[group] += i64::from(!packet.is_acknowledgement() && !opens && !is_counted);
        }
        for (group, held) in held.into_iter().enumerate() {
            assert_eq!(self.delays.held(group), held, "group {group} at {} ns", self.now);
        }
    }

    /// No link has sent more bits than its rate allows; for the end of a run.
    fn assert_capacity(&self) {
        for (index, link) in self.scenario.links.iter().enumerate() {
            let changed = self.scenario.changes.iter().filter_map(|change| change.rate_bit_per_s);
            let steps = link.rate_schedule.iter().flat_map(|schedule| schedule.steps.iter());
            let rates = steps.map(|step| step.1).chain(changed).chain([link.rate_bit_per_s]);
            // Transmissions are whole nanoseconds, and begin anew at each change of rate.
            let roundings = 2.0 * (self.scenario.changes.len() as f64 + 1.0);
            let spare = roundings * 1e-9 * rates.max().expect("there is one") as f64;
            let phases = self.measured.phase_windows.iter().map(|phase| &phase[index]);
            for window in phases.chain([&self.measured.totals[index]]) {
                let most = window.capacity * (1.0 + 1e-12) + spare;
                assert!(window.bits >= -spare, "{} bits at link {index}", window.bits);
                assert!(window.bits <= most, "{} > {most} bits at link {index}", window.bits);
            }
        }
    }

    /// Packets that came to a queue or left one so far.
    fn deeds(&mut self) -> u64 {
        let now = self.now;
        let ledgers = self.links.iter_mut().map(|link| link.ledger(now));
        ledgers.map(|ledger| ledger.arrivals + ledger.forwarded + ledger.drops).sum()
    }

    /// Runs to `until` or for so many looks: whether the end was reached.
    fn advance_a_while(&mut self, until: u64) -> bool {
        let now = AtomicBool::new(true);
        for _ in 0..MOST_LOOKS {
            let (before, done, held) = (self.now, self.deeds(), self.packets().count());
            match self.advance(until, &now) {
                Ok(()) => return true,
                Err(_) => {
                    // Many packets may pass or arrive at one instant: over a link that has become
                    // very fast, or at an opportunity of a trace that has room for them.
                    let busy = self.deeds() > done || self.packets().count() != held;
                    assert!(self.now > before || busy, "time stands still at {} ns", self.now);
                }
            }
        }
        false
    }
}

/// The network obeys its laws, and the same again however often somebody looks.
fn assert_books(network: &Value, seed: u64) {
    let build = || Simulation::new(common::parse(network), seed);
    let Ok(mut whole) = build() else { return };
    let cancel = AtomicBool::new(false);
    let until = if whole.advance_a_while(u64::MAX) { u64::MAX } else { whole.now };
    whole.advance(until, &cancel).expect("nobody cancels");
    let end = whole.now;
    whole.assert_census();
    let results = whole.conclude(true);
    assert_conservation(&results);
    whole.assert_capacity();

    let mut stepped = build().expect("it was accepted before");
    stepped.watch_round_trips();
    for step in 1..=8 {
        stepped.advance(end / 8 * step, &cancel).expect("nobody cancels");
        stepped.assert_census();
        assert_conservation(&stepped.results(false));
    }
    stepped.advance(until, &cancel).expect("nobody cancels");
    let measured = |results: Results| serde_json::to_string(&results).expect("results are JSON");
    let looked_at = measured(stepped.results(true));
    assert!(looked_at == measured(results.clone()), "results depend on how often somebody looks");
    // Where notes are taken, receivers that may wait have events of their own, and elsewhere none.
    let measured = |results: Results| measured(Results { events: 0, ..results });
    let left_alone = measured(results);

    let mut asked = network.clone();
    asked["flow_delays"] = json!(true);
    // They weigh among what can be kept.
    let Ok(mut asked) = Simulation::new(common::parse(&asked), seed) else { return };
    for step in 1..=4 {
        asked.advance(end / 4 * step, &cancel).expect("nobody cancels");
        asked.assert_packets_in_flight();
    }
    asked.advance(until, &cancel).expect("nobody cancels");
    asked.assert_packets_in_flight();
    let mut results = asked.results(true);
    for group in results.flows.values_mut() {
        for metrics in group.phases.iter_mut().chain([&mut group.total]) {
            metrics.packets.take().expect("they are asked for");
        }
    }
    assert!(left_alone == measured(results), "results depend on what is asked for");

    // Where notes are taken, turns of queues are carried out at their times, and late elsewhere.
    let mut traced = build().expect("it was accepted before");
    let (counted, windows) = trace(&mut traced, until, true);
    let results = traced.results(true);
    assert!(left_alone == measured(results.clone()), "results depend on what is written down");
    let mut read = build().expect("it was accepted before");
    let (_, windows_alone) = trace(&mut read, until, false);
    // Of a run that was stopped, rows are held back until nothing earlier can follow, which takes longer for one of the
    // two: one has the beginning of what the other has.
    let both = windows.len().min(windows_alone.len());
    assert!(until < u64::MAX || windows.len() == windows_alone.len(), "a whole run lacks windows");
    assert!(
        windows[..both] == windows_alone[..both],
        "windows depend on what else is written down"
    );
    if until == u64::MAX {
        for (link, counted) in traced.scenario.links.iter().zip(counted) {
            let books = &results.links[&link.name].ledger;
            let expected =
                [books.arrivals, books.forwarded, books.drops, books.marks, books.losses];
            assert_eq!(counted, expected, "at {}", link.name);
        }
    }
}

/// Has windows written down until then, and everything else if packets are `followed`: how many packets arrived at
/// each link, left it, were dropped, marked and lost there; and the windows.
fn trace(simulation: &mut Simulation, until: u64, followed: bool) -> (Vec<[u64; 5]>, Vec<String>) {
    let links: Vec<_> = simulation.scenario.links.iter().map(|link| &link.name).collect();
    let groups: Vec<_> = simulation.scenario.flows.iter().map(|group| &group.name).collect();
    let interval = (simulation.scenario.duration_ns / 50).max(1000);
    let interval = (interval <= simulation.scenario.duration_ns).then_some(interval);
    let mut observation = json!({
        "packets": {"most": 10_000_000_000_u64},
        "windows": {"interval_ns": interval, "most": 1_000_000},
        "distributions": {"links": links, "groups": groups, "width_ns": 1_000_000},
    });
    if !followed {
        observation = json!({"windows": observation["windows"]});
    }
    let observation = serde_json::from_value(observation).expect("it can be read");
    simulation.observe(&observation).expect("it can be written down");
    let mut counted = vec![[0; 5]; simulation.scenario.links.len()];
    let mut windows = Vec::new();
    let mut writer = CaptureWriter::new(false);
    let mut last = 0;
    loop {
        simulation.advance(until, &AtomicBool::new(false)).expect("nobody cancels");
        let paused = simulation.is_paused();
        let records = simulation.take_packets();
        // As text, since what a flow does not have is no number.
        windows.extend(simulation.take_windows().iter().map(|row| format!("{row:?}")));
        for record in &records {
            assert!(record.time >= last && record.since <= record.time, "{record:?} after {last}");
            last = record.time;
            let Place::Link(link) = record.place else { continue };
            let place = match record.event {
                PacketEvent::Arrive => 0,
                PacketEvent::Depart => 1,
                PacketEvent::Drop => 2,
                PacketEvent::Mark => 3,
                PacketEvent::Lose => 4,
                _ => unreachable!("nothing is sent at a link"),
            };
            counted[link as usize][place] += 1;
        }
        let legend = simulation.legend().expect("there is one");
        let bytes = writer.encode(&records, &legend);
        assert_eq!(bytes.len() % 4, 0);
        if !paused {
            return (counted, windows);
        }
    }
}

/// The network in which the mistakes below once showed.
fn small_network(flows: &Value, changes: &Value) -> Value {
    json!({
        "duration_ns": 100_000_000, "warm_up_ns": 0, "settle_ns": 0,
        "links": [{"name": "link", "rate_bit_per_s": 50_000, "delay_ns": 1_000_000,
            "queue": {"discipline": "ns2-red", "parameters": {"max_threshold": 5.9}}}],
        "flows": [flows],
        "changes": changes,
    })
}

fn three_flows(round_trip: &Value, start: u64, traffic: &Value) -> Value {
    json!({"name": "flows", "count": 3, "path": ["link"], "rtt_ns": round_trip,
        "sender": {"congestion_control": "tahoe"}, "start_ns": [start, start], "traffic": traffic})
}

#[test]
fn transfers_of_one_group_with_several_round_trips_are_counted_in_its_own_books() {
    // They were counted by the number of what flows of one round trip share: out of bounds.
    let transfer = json!({"kind": "transfer", "size_bytes": 1000});
    let round_trips = json!([2_000_000, 3_000_000, 4_000_000]);
    let network = small_network(&three_flows(&round_trips, 0, &transfer), &json!([]));
    assert_books(&network, 1);
    let mut simulation = Simulation::new(common::parse(&network), 1).unwrap();
    simulation.run(&AtomicBool::new(false)).unwrap();
    let results = simulation.conclude(false);
    assert_eq!(results.flows["flows"].total.transfers.as_ref().unwrap().transfers_begun, 3);
}

#[test]
fn what_happens_at_the_last_instant_is_in_no_span() {
    // Flows that start at the end offer packets after the last span was closed.
    let flows = three_flows(&json!(1_000_000), 100_000_000, &json!({"kind": "bulk"}));
    assert_books(&small_network(&flows, &json!([])), 1);
}

#[test]
fn a_change_of_a_queue_is_checked_against_the_rate_that_will_then_be_in_force() {
    // The automatic min_threshold grows with the rate, beyond the max_threshold that was given.
    let flows = three_flows(&json!(1_000_000), 0, &json!({"kind": "bulk"}));
    let change = json!({"at_ns": 50_000_000, "link": "link", "rate_bit_per_s": 254_000_000,
        "queue": {"limit": 7}});
    let network = small_network(&flows, &json!([change]));
    let refused = Simulation::new(common::parse(&network), 1).expect_err("thresholds do not fit");
    assert_eq!(refused.field, "changes.0.queue.max_threshold");
}

#[test]
fn an_opportunity_that_delivers_thousands_of_packets_at_once_is_no_standstill() {
    let mut network = small_network(
        &three_flows(
            &json!(2_000_000),
            0,
            &json!({"kind": "web", "mean_gap_ns": 100_000.0,
            "size": {"distribution": "constant", "value": 60_000.0}}),
        ),
        &json!([]),
    );
    network["duration_ns"] = json!(1_000_000_000);
    network["flows"][0]["packet_size_bytes"] = json!(1);
    network["links"][0]["queue"] = json!({"discipline": "drop-tail",
        "parameters": {"limit": 100_000}});
    network["links"][0]["trace"] = json!({"bytes": 40_000, "opportunities_ns": [1, 350_000_000]});
    assert_books(&network, 1);
}

#[test]
fn opportunities_that_a_shaper_leaves_are_not_ahead_of_the_packet_before() {
    // A packet goes out every 240 ms and takes three opportunities, at each of which something changes.
    let changes: Vec<_> = (1..1000)
        .map(|time| json!({"at_ns": time * 1_000_000, "link": "link", "delay_ns": 1_000_000}))
        .collect();
    let flows = three_flows(&json!(2_000_000), 0, &json!({"kind": "bulk"}));
    let mut network = small_network(&flows, &json!(changes));
    network["duration_ns"] = json!(1_000_000_000);
    network["links"][0]["queue"] =
        json!({"discipline": "cake", "parameters": {"bandwidth": 50_000}});
    network["links"][0]["trace"] = json!({"bytes": 500, "opportunities_ns": [1_000_000]});
    assert_books(&network, 1);
}

#[test]
fn what_was_marked_and_is_then_flushed_is_counted_as_both() {
    // Three hundred packets at once and few after them: the queue of linux-red still holds what it has marked
    // when the change of its limit flushes it.
    let flows = json!({"name": "flows", "count": 3, "path": ["link"], "rtt_ns": 1_000_000,
        "sender": {"congestion_control": "dctcp", "parameters": {"initial_window": 100.0,
            "initial_slow_start_threshold": 2.0, "handshake": false}},
        "start_ns": [0, 0], "traffic": {"kind": "bulk"}});
    let change = json!({"at_ns": 90_000_000, "link": "link", "queue": {"limit": 400_000}});
    let mut network = small_network(&flows, &json!([change]));
    network["links"][0]["queue"] = json!({"discipline": "linux-red", "parameters": {
        "limit": 500_000, "min_threshold": 2000, "max_threshold": 8000, "weight_log": 1}});
    assert_books(&network, 1);
    let mut simulation = Simulation::new(common::parse(&network), 1).unwrap();
    simulation.run(&AtomicBool::new(false)).unwrap();
    let total = &simulation.conclude(false).links["link"].spans.total;
    assert!(total.marks + total.drops > total.arrivals, "{} {}", total.marks, total.drops);
}

/// A few seconds' worth, unless the environment asks for more.
fn cases() -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    wanted.and_then(|number| number.parse().ok()).unwrap_or(60)
}

/// The same network with each queue as the only class of a scheduler.
fn in_trees(network: &Value, scheduler: &str) -> Value {
    let within = |values: &Value| {
        let values = values.as_object().into_iter().flatten();
        let renamed =
            values.map(|(name, value)| (format!("classes.0.queue.{name}"), value.clone()));
        renamed.collect::<serde_json::Map<_, _>>()
    };
    let mut network = network.clone();
    for link in network["links"].as_array_mut().expect("a list") {
        let mut queue = link["queue"].take();
        let parameters = within(&queue["parameters"]);
        queue.as_object_mut().expect("a table").remove("parameters");
        let classes = json!([{ "queue": queue }]);
        link["queue"] =
            json!({"discipline": scheduler, "parameters": parameters, "classes": classes});
    }
    for change in network["changes"].as_array_mut().expect("a list") {
        if !change["queue"].is_null() {
            change["queue"] = json!(within(&change["queue"]));
        }
    }
    network
}

/// A tree of one class does with every packet what its queue does.
fn assert_tree_is_its_queue(network: &Value, scheduler: &str, seed: u64) {
    let run = |network: &Value| {
        let mut simulation = Simulation::new(common::parse(network), seed).ok()?;
        let ends = simulation.advance_a_while(u64::MAX);
        ends.then(|| simulation.conclude(false))
    };
    // A tree keeps its packets, and draws losses on the wire as they are sent, also of those that waited at a change.
    let mut links = network["links"].as_array().expect("a list").iter();
    let mut changes = network["changes"].as_array().expect("a list").iter();
    let is_flushed = links.any(|link| link["queue"]["discipline"] == "linux-red");
    if is_flushed && changes.len() > 0 || changes.any(|change| !change["loss"].is_null()) {
        return;
    }
    let Some(plain) = run(network) else { return };
    let Some(tree) = run(&in_trees(network, scheduler)) else { return };
    for (name, link) in &plain.links {
        let books = [&link.ledger, &tree.links[name].ledger];
        let [one, other] =
            books.map(|it| [it.arrivals, it.forwarded, it.drops, it.marks, it.losses, it.queued]);
        assert_eq!(one, other, "{name} under {scheduler}");
    }
    let measured = |results: &Results| serde_json::to_string(&results.flows).expect("JSON");
    assert!(measured(&plain) == measured(&tree), "flows under {scheduler}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: 600,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_network_keeps_the_laws_and_its_books(
            network in any_network().prop_map(|network| network.to_string()),
            seed in any::<u64>(),
        ) {
        assert_books(&serde_json::from_str(&network).expect("it is JSON"), seed);
    }

    #[test]
    fn a_tree_of_one_class_is_its_queue(
            network in any_network().prop_map(|network| network.to_string()),
            scheduler in prop::sample::select(vec!["strict", "drr", "drr++"]),
            seed in any::<u64>(),
        ) {
        let network = serde_json::from_str(&network).expect("it is JSON");
        assert_tree_is_its_queue(&network, scheduler, seed);
    }
}
