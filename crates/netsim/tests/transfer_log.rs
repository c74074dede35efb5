//! The log of transfers: one that is alone takes what an empty network takes, and none takes less.

use std::sync::atomic::AtomicBool;

use crate::common::{MILLISECOND, SECOND, link, parse, scenario};
use serde_json::{Value, json};
use vermilion_netsim::trace::Observation;
use vermilion_netsim::{Simulation, TransferRow};

fn logged(network: &Value) -> Vec<TransferRow> {
    let mut simulation = Simulation::new(parse(network), 1).expect("valid");
    let choice: Observation =
        serde_json::from_value(json!({"transfers": {"most": 10_000}})).unwrap();
    simulation.observe(&choice).expect("accepted");
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    assert!(!simulation.transfers().1);
    simulation.transfers().0
}

fn links() -> Vec<Value> {
    let queue = json!({"limit": 10_000});
    [("fast", 100_000_000), ("slow", 10_000_000), ("back", 1_000_000)]
        .map(|(name, rate)| link(name, rate, "drop-tail", queue.clone()))
        .to_vec()
}

/// A transfer of so many bytes whose window is as large as it wants from the beginning.
fn transfer(bytes: u64, more: &Value) -> Value {
    let mut group = json!({"name": "one", "count": 1, "path": ["fast", "slow"],
        "rtt_ns": 100 * MILLISECOND, "start_ns": [SECOND, SECOND], "header_size_bytes": 40,
        "sender": {"congestion_control": "newreno",
            "parameters": {"initial_window": 10_000, "window_cap": 10_000}},
        "traffic": {"kind": "transfer", "size_bytes": bytes}});
    group.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    group
}

#[test]
fn one_that_is_alone_takes_what_an_empty_network_takes() {
    for bytes in [1, 960, 961, 9600, 100_000] {
        for more in [
            json!({}),
            json!({"return_path": ["back"]}),
            json!({"access_rate_bit_per_s": 5_000_000}),
            json!({"access_rate_bit_per_s": 50_000_000, "return_path": ["back"]}),
        ] {
            let rows = logged(&scenario(20.0, &links(), &[transfer(bytes, &more)]));
            let [row] = rows[..] else { panic!("{rows:?}") };
            assert_eq!((row.group, row.began, row.bytes), (0, SECOND, bytes));
            let took = row.took.expect("it is over") as f64;
            assert!((took - row.ideal).abs() <= 0.001 * row.ideal, "{bytes} {more}: {row:?}");
        }
    }
}

#[test]
fn none_is_faster_and_those_under_way_have_no_time() {
    let web = json!({"name": "web", "count": 20, "path": ["fast", "slow"], "return_path": ["back"],
        "rtt_ns": 100 * MILLISECOND, "start_ns": [0, SECOND],
        "sender": {"congestion_control": "cubic", "parameters": {"option_set": "linux"}},
        "traffic": {"kind": "web", "mean_gap_ns": 3e8,
            "size": {"distribution": "bounded-pareto", "shape": 1.2, "minimum": 1000, "maximum": 1e7}}});
    let endless = transfer(1_000_000_000, &json!({"name": "two"}));
    let network = scenario(20.0, &links(), &[web, endless]);
    let rows = logged(&network);
    assert!(rows.len() > 200, "{}", rows.len());
    assert!(rows.iter().all(|row| row.took.is_none_or(|took| took as f64 >= row.ideal)));
    let [unfinished] = rows.iter().filter(|row| row.group == 1).collect::<Vec<_>>()[..] else {
        panic!("one transfer")
    };
    assert_eq!((unfinished.bytes, unfinished.took), (1_000_000_000, None));
    let mut simulation = Simulation::new(parse(&network), 1).expect("valid");
    simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
    let results = serde_json::to_value(simulation.into_results(false)).unwrap();
    let total = &results["flows"]["web"]["total"];
    let web: Vec<_> = rows.iter().filter(|row| row.group == 0).collect();
    assert_eq!(total["transfers_begun"], web.len());
    assert_eq!(total["completed"], web.iter().filter(|row| row.took.is_some()).count());
}

#[test]
fn an_on_time_is_a_transfer_and_one_that_loses_packets_has_no_time() {
    let on_off = |rate: f64, limit: u64| {
        let traffic = json!({"kind": "on-off", "rate_bit_per_s": rate,
            "on_ns": {"distribution": "exponential", "mean": 2e8},
            "off_ns": {"distribution": "exponential", "mean": 5e8}});
        let group = json!({"name": "talk", "count": 3, "path": ["only"], "traffic": traffic,
            "rtt_ns": 60 * MILLISECOND, "start_ns": [0, SECOND]});
        let link = link("only", 4_000_000, "drop-tail", json!({"limit": limit}));
        let network = scenario(60.0, &[link], &[group]);
        let mut simulation = Simulation::new(parse(&network), 1).expect("valid");
        simulation.run(&AtomicBool::new(false)).expect("nobody cancels");
        let forwarded = simulation.into_results(false).links["only"].ledger.arrivals;
        (logged(&network), forwarded * 1000)
    };
    let (rows, bytes) = on_off(1_000_000.0, 1000);
    assert!(rows.len() > 150, "{}", rows.len());
    assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), bytes);
    assert!(rows.is_sorted_by_key(|row| row.began));
    let unfinished = rows.iter().filter(|row| row.took.is_none()).count();
    assert!(unfinished <= 3, "those under way at the end: {unfinished}");
    for row in rows.iter().filter(|row| row.took.is_some()) {
        // Three talk over a link for four.
        let slowdown = row.took.unwrap() as f64 / row.ideal;
        assert!((1.0..1.5).contains(&slowdown), "{row:?}");
    }
    let (lossy, _) = on_off(3_000_000.0, 5);
    assert!(lossy.iter().filter(|row| row.took.is_none()).count() > 10);
    assert!(lossy.iter().all(|row| row.took.is_none_or(|took| took as f64 >= row.ideal - 2.0)));
}
