//! A discipline that the registry does not know, handed over by whoever embeds the core.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::common::{MILLISECOND, bulk, link, parse, scenario};
use serde_json::json;
use vermilion_aqm::{
    Arrival, Coin, Decide, Discipline, ForeignDiscipline, ForeignFactory, LinkFacts, Listed, Red,
    Verdict,
};
use vermilion_netsim::{Scenario, Simulation};
use vermilion_parameters::{Algorithm, ParameterError, Settings};

/// RED under another name, as something from elsewhere.
#[derive(Debug)]
struct ImportedRed {
    watches_departures: bool,
}

#[derive(Debug)]
struct Imported {
    red: Red,
    watches_departures: bool,
}

static ALGORITHM: Algorithm = Algorithm { name: "imported", ..Red::ALGORITHM };

impl ForeignFactory for ImportedRed {
    fn algorithm(&self) -> &'static Algorithm {
        &ALGORITHM
    }

    fn make(
        &self,
        settings: &Settings,
        link: LinkFacts,
    ) -> Result<Box<dyn ForeignDiscipline>, ParameterError> {
        if settings.typed::<f64>("limit") == 13.0 {
            return Err(ParameterError::new("limit", 13, "another number"));
        }
        let watches_departures = self.watches_departures;
        Ok(Box::new(Imported { red: Red::new(settings.read(), link)?, watches_departures }))
    }
}

impl Discipline for Imported {
    fn watches_departures(&self) -> bool {
        self.watches_departures
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        self.red.reconfigure(settings, link)
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.red.link_changed(link);
    }

    fn average_queue(&self) -> Option<f64> {
        self.red.average_queue()
    }

    fn drop_probability(&self) -> Option<f64> {
        self.red.drop_probability()
    }
}

impl<'coin> Decide<dyn Coin + 'coin> for Imported {
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut (dyn Coin + 'coin)) -> Verdict {
        self.red.on_arrival(arrival, &mut || coin.uniform())
    }
}

impl ForeignDiscipline for Imported {
    fn algorithm(&self) -> &'static Algorithm {
        &ALGORITHM
    }

    fn copy(&self) -> Box<dyn ForeignDiscipline> {
        let watches_departures = self.watches_departures;
        Box::new(Self { red: self.red.clone(), watches_departures })
    }
}

/// Two links in a row, whose rate and setting change.
fn network(discipline: &str, limit: u32) -> Scenario {
    let queue = json!({"limit": limit, "weight": 0.01});
    let links = ["first", "second"].map(|name| link(name, 5_000_001, discipline, queue.clone()));
    let flows = [bulk("all", 10, &["first", "second"], "newreno", json!({}))];
    let mut network = scenario(6.0, &links, &flows);
    network["changes"] = json!([
        {"at_ns": 2_000_000_000_u64, "link": "first", "rate_bit_per_s": 3_000_001},
        {"at_ns": 4_000_000_000_u64, "link": "second", "queue": {"max_probability": 0.3}},
    ]);
    parse(&network)
}

fn imported(limit: u32, watches_departures: bool) -> Scenario {
    let mut scenario = network("imported", limit);
    for link in &mut scenario.links {
        link.queue.foreign = Some(Arc::new(ImportedRed { watches_departures }));
    }
    scenario
}

fn outcome(scenario: Scenario) -> serde_json::Value {
    let mut simulation = Simulation::new(scenario, 7).expect("a test's scenario is valid");
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    serde_json::to_value(simulation.into_results(true)).expect("results are JSON")
}

#[test]
fn it_decides_as_it_would_within() {
    assert_eq!(outcome(imported(40, false)), outcome(network("red", 40)));
}

#[test]
fn its_turns_are_events_if_it_watches_departures() {
    let (watching, not) = (outcome(imported(40, true)), outcome(imported(40, false)));
    assert!(watching["events"].as_u64() > not["events"].as_u64());
}

#[test]
fn what_it_refuses_is_refused_at_its_place() {
    let refusal = Simulation::new(imported(13, false), 0).expect_err("must be refused");
    assert_eq!(refusal.field, "links.first.queue.limit");
    let unknown = Simulation::new(network("imported", 40), 0).expect_err("nobody handed it over");
    assert_eq!(unknown.field, "links.first.queue.discipline");
}

#[test]
fn a_copy_shares_no_state_with_the_run_that_goes_on() {
    let mut simulation = Simulation::new(imported(40, false), 7).unwrap();
    for step in 1..=60 {
        simulation.advance(step * 100 * MILLISECOND, &AtomicBool::new(false)).unwrap();
        let mut copy = simulation.clone();
        copy.advance((step + 3) * 100 * MILLISECOND, &AtomicBool::new(false)).unwrap();
    }
    let results = serde_json::to_value(simulation.into_results(true)).unwrap();
    assert_eq!(results, outcome(imported(40, false)));
}
