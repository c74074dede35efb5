//! A rule and a discipline of the core's own through the C interface: the same to the bit; panics and other versions.

use std::sync::{Arc, Mutex};

use vermilion_plugin::aqm::{
    Arrival, Coin, Decide, Discipline, DropReason, DropTail, LinkFacts, Listed, Red, Verdict,
};
use vermilion_plugin::host::Library;
use vermilion_plugin::parameters::{ParameterError, Settings, Value, Values, settings};
use vermilion_plugin::tcp::rule::{Acknowledged, Congestion, WindowRule};
use vermilion_plugin::tcp::rules::{Vegas, VegasOptions};
use vermilion_plugin::tcp::{CommonSettings, ForeignSenders, Recovery, Window};
use vermilion_plugin::{ABI, CongestionControl, Plugin, conformance, guest};

settings! {
    /// Settings of the rule.
    pub TrialSettings "trial": "Trial", "Vegas, or what panics", "none";
    ..common: CommonSettings;
    ..recovery: Recovery;
    ..rule: VegasOptions;
    /// it panics at its second acknowledgement
    panics: bool = false, "none";
}

#[derive(Clone, Debug)]
struct Trial {
    vegas: Vegas,
    panics: bool,
    told: u32,
}

impl CongestionControl for Trial {
    type Settings = TrialSettings;

    fn new(set: TrialSettings) -> Result<Self, ParameterError> {
        ParameterError::unless_below(("alpha", set.rule.alpha.0), ("beta", set.rule.beta.0))?;
        Ok(Self { vegas: Vegas::new(set.rule), panics: set.panics, told: 0 })
    }
}

impl WindowRule for Trial {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        self.told += 1;
        assert!(!self.panics || self.told < 2, "told twice");
        self.vegas.grow(event, window);
    }

    fn reduced(&mut self, now: u64, sign: Congestion, base: f64, window: &Window) -> f64 {
        self.vegas.reduced(now, sign, base, window)
    }

    fn timed_out(&mut self, now: u64) {
        self.vegas.timed_out(now);
    }
}

#[test]
fn a_rule_of_the_core_is_the_same_through_the_interface() {
    conformance::congestion_control::<Trial>();
}

#[test]
fn disciplines_of_the_core_are_the_same_through_the_interface() {
    conformance::discipline::<Red>();
    conformance::discipline::<DropTail>();
}

fn library(plugin: &Plugin) -> Result<Library, ParameterError> {
    Library::at(std::ptr::from_ref(plugin) as usize)
}

#[test]
fn another_version_is_refused_and_so_is_what_the_library_refuses() {
    let mut plugin = guest::congestion_control::<Trial>();
    plugin.abi += 1;
    let refused = library(&plugin).unwrap_err().to_string();
    assert!(
        refused.starts_with(&format!("plugin: a library of interface {}", ABI + 1)),
        "{refused}"
    );
    plugin.abi = ABI;
    let library = library(&plugin).unwrap();
    let factory = library.factory(Arc::new(|_, _, _| ()));
    let mut values = Values::new();
    values.insert("alpha".to_owned(), Value::Number(5.0));
    let settings = Settings::resolve(library.algorithm(), &values).unwrap();
    assert_eq!(factory.rule(&settings).unwrap_err().field, "beta");
}

#[test]
fn a_panic_is_told_and_the_window_stays() {
    let plugin = guest::congestion_control::<Trial>();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let report = move |doing: &str, now: Option<u64>, _: &str| {
        hears.lock().unwrap().push((doing.to_owned(), now));
    };
    let library = library(&plugin).unwrap();
    let values = Values::from([("panics".to_owned(), Value::Switch(true))]);
    let settings = Settings::resolve(library.algorithm(), &values).unwrap();
    let mut rule = library.factory(Arc::new(report)).rule(&settings).unwrap();
    let mut window = Window { congestion: 10.0, slow_start_threshold: 100.0, cap: 1000.0 };
    for now in 1..5 {
        let event = Acknowledged {
            now,
            delivered: 1,
            counted: 1.0,
            marked: 0,
            round_trip: None,
            forward_delay: None,
            smoothed_round_trip: None,
            unacknowledged: 1,
            highest: 9,
            in_network: 8,
            in_recovery: false,
            lost: 0,
            rate: None,
        };
        rule.grow(&event, &mut window);
    }
    assert_eq!(*told.lock().unwrap(), [("grow".to_owned(), Some(2))]);
    assert_eq!(window.congestion, 11.0);
}

/// Every reason to drop, one after the other.
#[derive(Clone, Debug)]
struct Reasons(u32);

impl Discipline for Reasons {
    fn reconfigure(&mut self, _: &Settings, _: LinkFacts) -> Result<(), ParameterError> {
        Ok(())
    }
}

impl Listed for Reasons {
    type Settings = vermilion_plugin::aqm::DropTailSettings;

    fn new(_: Self::Settings, _: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self(0))
    }
}

impl<C: Coin> Decide<C> for Reasons {
    fn on_arrival(&mut self, _: &Arrival, _: &mut C) -> Verdict {
        use vermilion_plugin::aqm::DropKind;
        self.0 += 1;
        match self.0 % 6 {
            0 => Verdict::Drop(DropReason::Early),
            1 => Verdict::Drop(DropReason::Forced),
            2 => Verdict::Drop(DropReason::Overflow),
            3 => Verdict::Drop(DropReason::Own { kind: DropKind::Early, cause: 65535 }),
            4 => Verdict::MakeRoom { place: self.0, reason: DropReason::Forced },
            _ => Verdict::Drop(DropReason::Own { kind: DropKind::Overflow, cause: 1 }),
        }
    }
}

#[test]
fn every_verdict_crosses() {
    conformance::discipline::<Reasons>();
}
