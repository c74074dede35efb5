//! What the simulator decides over its packets, the data path decides over real ones that arrive at
//! the same times, with the same seed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use crate::common::{self, number_of, packet, take_due, way};
use serde_json::{Value, json};
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_aqm::{
    AnyDiscipline, Arrival, Coin, Decide, Departure, Discipline, ForeignDiscipline, ForeignFactory,
    LinkFacts, Verdict,
};
use vermilion_link::Change;
use vermilion_netsim::{Scenario, Simulation, Span};
use vermilion_parameters::{Algorithm, ParameterError, Settings};

const SEED: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Sent,
    Marked,
    Dropped,
}

/// Questions to a discipline and its answers: of each packet its arrival and what became of it.
#[derive(Debug, Default)]
struct Log {
    packets: Vec<(Arrival, Option<Outcome>)>,
    waiting: VecDeque<usize>,
    /// A packet over which the discipline is asked again.
    again: bool,
}

impl Log {
    fn arrived(&mut self, arrival: &Arrival, verdict: Verdict) {
        if !self.again {
            self.packets.push((*arrival, None));
        }
        self.again = false;
        let number = self.packets.len() - 1;
        match verdict {
            Verdict::Accept => self.waiting.push_back(number),
            Verdict::Mark => {
                self.waiting.push_back(number);
                self.packets[number].1 = Some(Outcome::Marked);
            }
            Verdict::Drop(_) => self.packets[number].1 = Some(Outcome::Dropped),
            Verdict::MakeRoom { place, .. } => {
                let gone = self.waiting.remove(place as usize).expect("one waits there");
                self.packets[gone].1 = Some(Outcome::Dropped);
                self.again = true;
            }
        }
    }

    fn left(&mut self, verdict: Verdict) {
        let number = self.waiting.pop_front().expect("one waits");
        let outcome = &mut self.packets[number].1;
        *outcome = Some(match (verdict, *outcome) {
            (Verdict::Drop(_), _) => Outcome::Dropped,
            (Verdict::Mark, _) | (_, Some(Outcome::Marked)) => Outcome::Marked,
            _ => Outcome::Sent,
        });
    }
}

/// A discipline of the registry that writes down what happens to it.
#[derive(Clone, Debug)]
struct Recorded {
    inner: AnyDiscipline,
    log: Arc<Mutex<Log>>,
}

#[derive(Debug)]
struct Recorder {
    algorithm: &'static Algorithm,
    log: Arc<Mutex<Log>>,
}

impl ForeignFactory for Recorder {
    fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    fn make(
        &self,
        settings: &Settings,
        link: LinkFacts,
    ) -> Result<Box<dyn ForeignDiscipline>, ParameterError> {
        let values = settings.to_values();
        let inner = AnyDiscipline::from_values(self.algorithm.name, &values, link)?.0;
        Ok(Box::new(Recorded { inner, log: Arc::clone(&self.log) }))
    }
}

impl Discipline for Recorded {
    fn watches_departures(&self) -> bool {
        true // so that it is told of departures, whether it asks for them or not
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        self.inner.reconfigure(settings, link)
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.inner.link_changed(link);
    }
}

impl<'coin> Decide<dyn Coin + 'coin> for Recorded {
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut (dyn Coin + 'coin)) -> Verdict {
        let verdict = self.inner.on_arrival(arrival, &mut || coin.uniform());
        self.log.lock().unwrap().arrived(arrival, verdict);
        verdict
    }

    fn on_departure(&mut self, departure: &Departure, coin: &mut (dyn Coin + 'coin)) -> Verdict {
        let verdict = match self.inner.watches_departures() {
            true => self.inner.on_departure(departure, &mut || coin.uniform()),
            false => Verdict::Accept,
        };
        self.log.lock().unwrap().left(verdict);
        verdict
    }
}

impl ForeignDiscipline for Recorded {
    fn algorithm(&self) -> &'static Algorithm {
        self.inner.algorithm()
    }

    fn copy(&self) -> Box<dyn ForeignDiscipline> {
        Box::new(self.clone())
    }
}

/// TCP with and without ECN, and datagrams, through a link of 8 Mbit/s; rates and losses as told.
fn network(discipline: &str, link_members: &Value) -> Scenario {
    let mut link = json!({
        "name": "uplink",
        "rate_bit_per_s": 8_000_001,
        "delay_ns": 10_000_000,
        "queue": {"discipline": discipline},
    });
    link.as_object_mut().unwrap().extend(link_members.as_object().unwrap().clone());
    let group = |name: &str, sender: Value| {
        json!({
            "name": name, "count": 4, "path": ["uplink"], "rtt_ns": 40_000_000, "sender": sender,
            "start_ns": [0, 1_000_000_000],
        })
    };
    serde_json::from_value(json!({
        "duration_ns": 12_000_000_000_u64, "warm_up_ns": 0, "settle_ns": 0,
        "links": [link],
        "flows": [
            group("deaf", json!({"congestion_control": "newreno"})),
            group("listening", json!({"congestion_control": "sack", "parameters": {"ecn": true}})),
        ],
    }))
    .expect("a test's scenario can be read")
}

/// Runs the simulator with a recorder, and then real packets at the same times: what became of each.
fn replayed(discipline: &'static Algorithm, members: &Value) -> (usize, usize) {
    let mut scenario = network(discipline.name, members);
    let log = Arc::new(Mutex::new(Log::default()));
    let factory = Recorder { algorithm: discipline, log: Arc::clone(&log) };
    // The description of the link as it is, without the recorder.
    let link = network(discipline.name, members).links.remove(0);
    scenario.links[0].queue.foreign = Some(Arc::new(factory));
    let mut simulation = Simulation::new(scenario, SEED).expect("a test's scenario is valid");
    log.lock().unwrap().packets.clear();
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    let log = log.lock().unwrap();

    let mut way = way(&link, SEED);
    let mut found: BTreeMap<u64, Outcome> = BTreeMap::new();
    let mut note = |(_, bytes): (u64, Vec<u8>)| {
        let marked = bytes[1] & 3 == 3;
        found.insert(number_of(&bytes), if marked { Outcome::Marked } else { Outcome::Sent });
    };
    for (number, (arrival, _)) in log.packets.iter().enumerate() {
        let ecn = arrival.ecn as u8;
        let bytes = packet(number as u64, arrival.size as usize, ecn, arrival.flow as u16);
        take_due(&mut way, arrival.now).into_iter().for_each(&mut note);
        way.arrive(arrival.now, &common::WHOLE, &bytes);
    }
    let end = log.packets.last().expect("something was sent").0.now;
    take_due(&mut way, end + 60_000_000_000).into_iter().for_each(&mut note);
    let (mut drops, mut marks) = (0, 0);
    let lossy = members.get("loss").is_some();
    for (number, (arrival, outcome)) in log.packets.iter().enumerate() {
        // What still waited at the end of the run is not known of the simulator.
        let Some(expected) = outcome else { continue };
        let found = found.get(&(number as u64)).copied().unwrap_or(Outcome::Dropped);
        let lost = lossy && found == Outcome::Dropped;
        assert!(
            found == *expected || lost,
            "{}: packet {number} at {arrival:?}: {found:?} {expected:?}",
            discipline.name
        );
        drops += usize::from(found == Outcome::Dropped);
        marks += usize::from(found == Outcome::Marked);
    }
    (drops, marks)
}

#[test]
fn drops_and_marks_are_the_simulators_packet_by_packet() {
    let mut compared = 0;
    for algorithm in ALGORITHMS {
        let link = LinkFacts { rate: 8e6, delay: 0.01 };
        if AnyDiscipline::from_values(algorithm.name, &Default::default(), link).is_err() {
            continue; // it keeps the packets itself: see below
        }
        let (drops, marks) = replayed(algorithm, &json!({}));
        assert!(drops + marks > 10, "{}: {drops} drops, {marks} marks", algorithm.name);
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
}

#[test]
fn they_are_on_links_that_vary_too() {
    let red = ALGORITHMS.iter().find(|each| each.name == "red").unwrap();
    let codel = ALGORITHMS.iter().find(|each| each.name == "codel").unwrap();
    let schedule = json!({"rate_schedule": {
        "steps": [[0, 12_000_000], [700_000_000, 2_000_000]], "repeat_ns": 1_500_000_000_u64,
    }});
    let opportunities: Vec<u64> = (0..400).map(|n: u64| n * n * 6_000 + 1_000_000).collect();
    let trace = json!({"trace": {"opportunities_ns": opportunities, "bytes": 1500}});
    for members in [schedule, trace] {
        for algorithm in [red, codel] {
            let (drops, _) = replayed(algorithm, &members);
            assert!(drops > 10, "{}: {drops} drops", algorithm.name);
        }
    }
}

/// Of disciplines that keep the packets the simulator tells sums, which have to be the same.
#[test]
fn books_are_the_simulators() {
    let loss = json!({"loss": {
        "model": "gilbert-elliott", "good_to_bad": 0.01, "bad_to_good": 0.3, "loss_in_good": 0.001,
        "loss_in_bad": 0.4,
    }});
    for algorithm in ALGORITHMS {
        // Arrivals that do not depend on what the queue does.
        let scenario = || -> Scenario {
            let mut scenario = network(algorithm.name, &loss);
            scenario.flows = serde_json::from_value(json!([{
                "name": "datagrams", "count": 3, "path": ["uplink"], "rtt_ns": 20_000_000,
                "traffic": {"kind": "poisson", "rate_bit_per_s": 3_000_000},
                "start_ns": [0, 1_000_000],
            }]))
            .expect("a test's flows can be read");
            scenario
        };
        let tail = ALGORITHMS.iter().find(|each| each.name == "drop-tail").unwrap();
        let log = Arc::new(Mutex::new(Log::default()));
        let mut recorded = scenario();
        recorded.links[0].queue.discipline = tail.name.to_owned();
        let factory = Recorder { algorithm: tail, log: Arc::clone(&log) };
        recorded.links[0].queue.foreign = Some(Arc::new(factory));
        Simulation::new(recorded, SEED).unwrap().run(&AtomicBool::new(false)).unwrap();

        let mut simulation = Simulation::new(scenario(), SEED).unwrap();
        simulation.run(&AtomicBool::new(false)).unwrap();
        let expected = simulation.into_results(false).links["uplink"].ledger;
        let mut way = way(&scenario().links[0], SEED);
        let log = log.lock().unwrap();
        for (number, (arrival, _)) in log.packets.iter().enumerate() {
            let bytes = packet(number as u64, arrival.size as usize, 0, arrival.flow as u16);
            take_due(&mut way, arrival.now);
            way.arrive(arrival.now, &common::WHOLE, &bytes);
        }
        let report = way.report(12_000_000_000);
        assert_eq!(report.ledger, expected, "{}", algorithm.name);
        assert!(expected.drops > 100 && expected.losses > 100, "{}: {expected:?}", algorithm.name);
    }
}

/// A link that changes: what is measured of it, phase by phase and over time, is what the simulator tells.
#[test]
fn changes_phases_and_series_are_the_simulators() {
    let of = |name| ALGORITHMS.iter().find(|each| each.name == name).expect("it is there");
    for algorithm in [of("red"), of("codel"), of("drop-tail"), of("pie")] {
        let scenario = || -> Scenario {
            let mut scenario = network(algorithm.name, &json!({}));
            scenario.flows = serde_json::from_value(json!([{
                "name": "datagrams", "count": 3, "path": ["uplink"], "rtt_ns": 20_000_000,
                "traffic": {"kind": "poisson", "rate_bit_per_s": 2_600_000},
                "start_ns": [0, 0],
            }]))
            .expect("a test's flows can be read");
            // Where a discipline decides at arrival, the simulator draws what the wire loses then too,
            // so that a change of losses reaches the packets that wait at another time than here.
            let loss = match algorithm.name {
                "codel" => json!({"model": "bernoulli", "probability": 0.1}),
                _ => json!(null),
            };
            scenario.changes = serde_json::from_value(json!([
                {"at_ns": 3_000_000_000_u64, "link": "uplink", "rate_bit_per_s": 6_000_000},
                {"at_ns": 5_000_000_000_u64, "link": "uplink", "delay_ns": 25_000_000,
                 "queue": {"limit": 30.0}},
                {"at_ns": 8_000_000_000_u64, "link": "uplink", "rate_bit_per_s": 9_000_000,
                 "loss": loss},
            ]))
            .expect("a test's changes can be read");
            (scenario.warm_up_ns, scenario.settle_ns) = (1_000_000_000, 500_000_000);
            scenario.probe_interval_ns = Some(100_000_000);
            scenario
        };
        let tail = of("drop-tail");
        let log = Arc::new(Mutex::new(Log::default()));
        let mut recorded = scenario();
        recorded.links[0].queue.discipline = tail.name.to_owned();
        recorded.changes.clear();
        let factory = Recorder { algorithm: tail, log: Arc::clone(&log) };
        recorded.links[0].queue.foreign = Some(Arc::new(factory));
        Simulation::new(recorded, SEED).unwrap().run(&AtomicBool::new(false)).unwrap();

        let mut simulation = Simulation::new(scenario(), SEED).unwrap();
        simulation.run(&AtomicBool::new(false)).unwrap();
        let series = simulation.series()[0].clone();
        let expected =
            serde_json::to_value(&simulation.into_results(false).links["uplink"]).unwrap();

        let mut way = way(&scenario().links[0], SEED);
        for change in scenario().changes {
            way.change_at(change.at_ns, Change::of(&change)).unwrap();
        }
        let second = 1_000_000_000;
        let phase = |begin: f64, end| Span { begin: (begin * 1e9) as u64, end: end * second };
        let phases = [phase(1.0, 3), phase(3.5, 5), phase(5.5, 8), phase(8.5, 12)];
        way.measure(phase(1.0, 12), &phases);
        way.read_every(second / 10);
        let log = log.lock().unwrap();
        for (number, (arrival, _)) in log.packets.iter().enumerate() {
            let bytes = packet(number as u64, arrival.size as usize, 0, arrival.flow as u16);
            take_due(&mut way, arrival.now);
            way.arrive(arrival.now, &common::WHOLE, &bytes);
        }
        let report = serde_json::to_value(way.report(12 * second)).unwrap();
        for key in ["total", "phases", "ledger"] {
            assert_eq!(report[key], expected[key], "{}", algorithm.name);
        }
        assert_eq!(report["emulator"]["changes_refused"], 0);
        let readings = way.take_readings();
        assert_eq!(readings.time_s.len(), 121);
        assert_eq!(readings.queue_packets, series.queue_packets, "{}", algorithm.name);
        assert_eq!(readings.throughput_bit_per_s, series.throughput_bit_per_s);
        assert_eq!((&readings.drops, &readings.arrivals), (&series.drops, &series.arrivals));
        assert!(way.take_readings().is_empty());
        let drops = |phase: usize| expected["phases"][phase]["drops"].as_u64().unwrap();
        assert!(drops(2) > 100, "{}: {expected}", algorithm.name);
        let lost = expected["phases"][3]["losses"].as_u64().unwrap();
        assert_eq!(lost > 100, algorithm.name == "codel", "{lost}");
    }
}
