//! The golden table: what the senders and disciplines do, in whole numbers.
//!
//! Each line of `golden.txt` is one run: a sender with its parameters, a queue, a seed, and what came
//! of it. Every sender meets every discipline with its defaults, as it is and as Linux has it with ECN; and each
//! option of the senders meets losses in bursts, early ones, marks, and losses by time. A change of the code that was meant to change nothing leaves the table as it is; one that
//! was meant to change something changes the lines it was meant to, and CHANGELOG says why. To write
//! the table anew:
//!
//!     VERMILION_REWRITE=1 cargo test -p vermilion-netsim --test simulations golden
//!
//! Its first line names every edition that there has been, each by a checksum of its runs; writing it anew adds one.
//! CHANGELOG has a line for each, in that order, which says what changed: a test compares the two.
//!
//! The numbers are those of x86-64 Linux with glibc. Cube roots, powers and logarithms come from the
//! platform's mathematical library, and another one may round the last bit of them otherwise.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::common::{bulk, link, scenario, simulate};
use serde_json::{Value, json};
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_netsim::Results;
use vermilion_parameters::Values;
use vermilion_tcp::Recovery;
use vermilion_tcp::registry::{Profile, SENDERS};

const SEEDS: [u64; 2] = [1, 2];
const RATE: u64 = 10_000_000;

/// The table as it is committed.
fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden.txt")
}

/// Beginning of the first line, before the editions.
const EDITIONS: &str = "# editions: ";

/// The committed table: its editions, oldest first, and its lines but the first.
fn committed() -> (Vec<String>, String) {
    let text = std::fs::read_to_string(path()).expect("the table is in the repository");
    let (first, rest) = text.split_once('\n').expect("the table has lines");
    let editions = first.strip_prefix(EDITIONS).expect("the first line names the editions");
    (editions.split(' ').map(str::to_owned).collect(), rest.to_owned())
}

/// Key that tells one edition from others: FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo) of its runs.
fn edition(table: &str) -> String {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", table.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// A sender, its parameters, and how the table calls them.
struct Case {
    label: String,
    sender: &'static str,
    parameters: Value,
}

impl Case {
    fn new(label: impl Into<String>, sender: &'static str, parameters: Value) -> Self {
        Self { label: label.into(), sender, parameters }
    }

    fn is_accepted(&self) -> bool {
        let values: Values = serde_json::from_value(self.parameters.clone()).expect("values");
        Profile::from_values(self.sender, &values).is_ok()
    }
}

/// Every sender as it is and as other systems have it, every recovery, and every option that changes
/// what is sent when.
fn senders() -> Vec<Case> {
    let mut cases = Vec::new();
    for sender in SENDERS {
        let name = sender.algorithm.name;
        cases.push(Case::new(name, name, json!({})));
        for set in ["ns2", "ns2-2001", "linux"] {
            cases.push(Case::new(format!("{name} {set}"), name, json!({"option_set": set})));
        }
        let takes_ecn = json!({"option_set": "linux", "ecn": true});
        cases.push(Case::new(format!("{name} linux ecn"), name, takes_ecn));
    }
    for recovery in Recovery::NAMES {
        for (label, more) in [
            ("", json!({})),
            (" reducing", json!({"proportional_rate_reduction": true})),
            (" ecn", json!({"ecn": true})),
            (" counting", json!({"byte_counting": true, "loss_window": "flight-size"})),
            (" paced", json!({"pacing": true, "timestamps": true})),
            (" delayed", json!({"delayed_acknowledgements": true, "limited_transmit": false})),
            (" capped", json!({"window_cap": 12, "proportional_rate_reduction": true})),
        ] {
            let mut parameters = more;
            parameters["recovery"] = json!(recovery);
            cases.push(Case::new(format!("sack {recovery}{label}"), "sack", parameters));
        }
        let cubic = json!({"recovery": recovery, "proportional_rate_reduction": true});
        cases.push(Case::new(format!("cubic {recovery}"), "cubic", cubic));
        let bbr = json!({"recovery": recovery});
        cases.push(Case::new(format!("bbr {recovery}"), "bbr", bbr));
    }
    let ns3 = json!({
        "recovery_dialect": "ns3", "reduction_bound": "ns3", "cumulative_counting": true,
        "proportional_rate_reduction": true, "byte_counting": true, "timestamps": true,
        "loss_window": "pipe", "initial_window": 10,
    });
    cases.push(Case::new("sack ns3", "sack", ns3));
    for name in ["sack", "cubic", "dctcp"] {
        let paced = json!({"option_set": "linux", "pacing": true});
        cases.push(Case::new(format!("{name} linux paced"), name, paced));
    }
    let unprobed = json!({"recovery": "rack", "tail_loss_probe": false});
    cases.push(Case::new("sack rack unprobed", "sack", unprobed));
    // Some senders have fewer recoveries to choose from.
    cases.retain(Case::is_accepted);
    cases
}

/// Queues under which each sender runs: losses in bursts, early ones, marks or losses by time.
fn queues() -> Vec<(&'static str, &'static str, Value)> {
    let red = json!({"limit": 60, "min_threshold": 5, "max_threshold": 30, "max_probability": 0.1});
    vec![
        ("drop-tail", "drop-tail", json!({"limit": 20})),
        ("red", "red", red),
        ("codel", "codel", json!({"limit": 100})),
    ]
}

fn write_line(table: &mut String, name: &str, seed: u64, results: &Results) {
    let total = &results.links["link"].spans.total;
    let (mut timeouts, mut retransmissions, mut completed) = (0, 0, 0);
    for group in results.flows.values() {
        timeouts += group.total.timeouts;
        retransmissions += group.total.retransmissions;
        completed += group.total.transfers.as_ref().map_or(0, |transfers| transfers.completed);
    }
    writeln!(
        table,
        "{name} | {seed} | {} {} {} {timeouts} {retransmissions} {completed} {}",
        results.packets_forwarded, total.drops, total.marks, results.events
    )
    .expect("a string has room");
}

/// Four endless flows and short transfers beside them.
fn flows(case: &Case) -> [Value; 2] {
    let endless = bulk("endless", 4, &["link"], case.sender, case.parameters.clone());
    let mut short = bulk("short", 2, &["link"], case.sender, case.parameters.clone());
    short["start_ns"] = json!([0, 0]);
    short["traffic"] = json!({
        "kind": "web", "mean_gap_ns": 500_000_000,
        "size": {"distribution": "exponential", "mean": 20_000},
    });
    [endless, short]
}

fn table() -> String {
    let mut table = String::from(
        "# sender | queue | seed | packets drops marks timeouts retransmissions transfers events\n",
    );
    let mut run = |case: &Case, label: &str, discipline: &str, parameters: &Value, loss: f64| {
        for seed in SEEDS {
            let mut queue = link("link", RATE, discipline, parameters.clone());
            if loss > 0.0 {
                queue["loss"] = json!({"model": "bernoulli", "probability": loss});
            }
            let results = simulate(&scenario(10.0, &[queue], &flows(case)), seed);
            write_line(&mut table, &format!("{} | {label}", case.label), seed, &results);
        }
    };
    for case in senders() {
        for (label, discipline, parameters) in queues() {
            run(&case, label, discipline, &parameters, 0.0);
        }
        run(&case, "lossy wire", "drop-tail", &json!({"limit": 1000}), 0.03);
    }
    for algorithm in ALGORITHMS {
        let label = format!("default {}", algorithm.name);
        for sender in SENDERS {
            let name = sender.algorithm.name;
            let linux = json!({"option_set": "linux", "ecn": true});
            for case in [
                Case::new(name, name, json!({})),
                Case::new(format!("{name} linux ecn"), name, linux),
            ] {
                if case.is_accepted() {
                    run(&case, &label, algorithm.name, &json!({}), 0.0);
                }
            }
        }
    }
    table
}

#[test]
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")),
    ignore = "the numbers are those of x86-64 Linux with glibc"
)]
fn every_run_ends_as_the_table_says() {
    let table = table();
    let (mut editions, committed) = committed();
    if std::env::var_os("VERMILION_REWRITE").is_some() {
        if table != committed {
            editions.push(edition(&table));
            let text = format!("{EDITIONS}{}\n{table}", editions.join(" "));
            std::fs::write(path(), text).expect("the table can be written");
        }
        return;
    }
    let (new, old): (Vec<_>, Vec<_>) = (table.lines().collect(), committed.lines().collect());
    assert_eq!(new.len(), old.len(), "other runs than those of the table");
    let changed: Vec<_> = old.iter().zip(&new).filter(|(old, new)| old != new).collect();
    for (old, new) in changed.iter().take(20) {
        println!("was {old}\nis  {new}");
    }
    assert!(changed.is_empty(), "{} of {} runs ended otherwise", changed.len(), old.len());
}

#[test]
fn no_two_lines_of_the_table_are_called_alike() {
    let (_, table) = committed();
    let mut names = std::collections::HashSet::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (name, _) = line.rsplit_once(" | ").expect("a name and what came of the run");
        assert!(names.insert(name), "{name} stands there twice");
    }
    assert!(names.len() > 1000, "{} runs", names.len());
}

/// The lines of CHANGELOG that say why the table has changed: each edition, and what is said of it.
fn explained(changelog: &str) -> Vec<(&str, String)> {
    let entries = changelog.split("\n- Golden table `").skip(1);
    let entries = entries.map(|it| it.split_once("`: ").expect("an edition, a colon, a reason"));
    let of_one = |text: &str| text.split("\n- ").next().unwrap_or(text).replace("\n ", "");
    entries.map(|(edition, rest)| (edition, of_one(rest))).collect()
}

#[test]
fn the_changelog_explains_every_edition_of_the_table() {
    let (editions, table) = committed();
    assert_eq!(
        editions.last(),
        Some(&edition(&table)),
        "the table was changed but not by this test"
    );
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../CHANGELOG.md");
    let changelog = std::fs::read_to_string(path).expect("CHANGELOG is in the repository");
    let explained = explained(&changelog);
    let named: Vec<_> = explained.iter().map(|entry| entry.0).collect();
    assert_eq!(
        named, editions,
        "CHANGELOG needs a line \"- Golden table `EDITION`: what changed and why\" for each edition"
    );
    for (index, (edition, reason)) in explained.iter().enumerate() {
        assert!(reason.split_whitespace().count() >= 5, "why is there edition {edition}?");
        let alike = explained[..index].iter().find(|earlier| earlier.1 == *reason);
        assert!(alike.is_none(), "{edition} has the reason of an earlier edition");
    }
}
