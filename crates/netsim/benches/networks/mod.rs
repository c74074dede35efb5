//! The networks that the benchmarks simulate, as the core reads them.

mod many_links;
mod usual;
mod varying_load;

use serde_json::json;
use vermilion_netsim::Scenario;

use varying_load::varying_load;

const SECOND: u64 = 1_000_000_000;

/// A link of 1 Gbit/s with RED; thresholds grow with the number of flows, so that each has some room.
fn gigabit_link(name: &str, flows: u32) -> String {
    let min_threshold = flows.clamp(500, 20_000);
    format!(
        r#"{{"name": "{name}", "rate_bit_per_s": 1000000000, "delay_ns": 1000000,
            "queue": {{"discipline": "red", "parameters": {{"limit": {},
                "min_threshold": {min_threshold}, "max_threshold": {}, "max_probability": 0.1,
                "weight": 0.00002}}}}}}"#,
        10 * min_threshold,
        3 * min_threshold,
    )
}

/// Flows over `path` that start in the first second, RTT 40 ms.
fn flows_of(name: &str, count: u32, path: &str, sender: &str) -> String {
    format!(
        r#"{{"name": "{name}", "count": {count}, "path": [{path}], "rtt_ns": 40000000,
            "sender": {{"congestion_control": "{sender}"}}, "start_ns": [0, {SECOND}]}}"#
    )
}

fn gigabit_scenario(seconds: u64, links: &[String], flows: &[String]) -> String {
    format!(
        r#"{{"duration_ns": {}, "warm_up_ns": {SECOND}, "settle_ns": {SECOND},
            "links": [{}], "flows": [{}]}}"#,
        seconds * SECOND,
        links.join(", "),
        flows.join(", "),
    )
}

/// `count` flows over one link of 1 Gbit/s for so many seconds.
fn gigabit(count: u32, sender: &str, seconds: u64) -> String {
    let flows = flows_of("all", count, r#""bottleneck""#, sender);
    gigabit_scenario(seconds, &[gigabit_link("bottleneck", count)], &[flows])
}

/// The same under another discipline, at its defaults but for the limit.
fn gigabit_under(discipline: &str, count: u32, seconds: u64) -> String {
    let link = format!(
        r#"{{"name": "bottleneck", "rate_bit_per_s": 1000000000, "delay_ns": 1000000,
            "queue": {{"discipline": "{discipline}", "parameters": {{"limit": 5000}}}}}}"#,
    );
    gigabit_scenario(seconds, &[link], &[flows_of("all", count, r#""bottleneck""#, "newreno")])
}

/// `count` SACK flows that share a link of 1 Mbit/s for each of them: the same life for every flow,
/// however many there are. About two million packets.
fn equal_shares(count: u32) -> String {
    let pipe = count * 5; // packets that 40 ms hold
    let seconds = (16_000 / u64::from(count)).max(2);
    format!(
        r#"{{"duration_ns": {}, "warm_up_ns": {SECOND}, "settle_ns": {SECOND},
            "links": [{{"name": "bottleneck", "rate_bit_per_s": {}, "delay_ns": 1000000,
                "queue": {{"discipline": "red", "parameters": {{"limit": {},
                    "min_threshold": {}, "max_threshold": {}, "max_probability": 0.1,
                    "weight": 0.002}}}}}}],
            "flows": [{}]}}"#,
        seconds * SECOND,
        u64::from(count) * 1_000_000,
        5 * pipe,
        pipe / 2,
        3 * pipe / 2,
        flows_of("all", count, r#""bottleneck""#, "sack"),
    )
}

/// Ten links in a row: half of 1000 flows cross all of them, the others one each.
fn parking_lot() -> String {
    let links: Vec<String> = (0..10).map(|hop| gigabit_link(&format!("hop{hop}"), 100)).collect();
    let whole: Vec<String> = (0..10).map(|hop| format!(r#""hop{hop}""#)).collect();
    let mut flows = vec![flows_of("through", 500, &whole.join(", "), "sack")];
    flows.extend(
        (0..10).map(|hop| flows_of(&format!("cross{hop}"), 50, &format!(r#""hop{hop}""#), "sack")),
    );
    gigabit_scenario(5, &links, &flows)
}

/// A million short transfers, one after another 50,000 times a second, over 10 Gbit/s that have room for
/// them: of 4 kB mostly, few of them as large as 10 MB (bounded Pareto, 19 kB on average).
fn transfers() -> String {
    format!(
        r#"{{"duration_ns": {}, "warm_up_ns": {SECOND}, "settle_ns": {SECOND},
            "links": [{{"name": "bottleneck", "rate_bit_per_s": 10000000000, "delay_ns": 1000000,
                "queue": {{"discipline": "drop-tail", "parameters": {{"limit": 50000}}}}}}],
            "flows": [{{"name": "web", "count": 1, "path": ["bottleneck"], "rtt_ns": 20000000,
                "sender": {{"congestion_control": "sack"}}, "start_ns": [0, 0],
                "traffic": {{"kind": "web", "mean_gap_ns": 20000,
                    "size": {{"distribution": "bounded-pareto", "shape": 1.2,
                        "minimum": 4000, "maximum": 10000000}}}}}}]}}"#,
        20 * SECOND,
    )
}

/// A network of the benchmarks.
pub struct Row {
    /// Name on a command line and in tables.
    pub name: &'static str,
    /// Kind.
    pub title: &'static str,
    /// Writes it as JSON.
    pub text: fn() -> String,
}

impl Row {
    /// Simulated network.
    pub fn scenario(&self) -> Scenario {
        scenario(&(self.text)())
    }
}

/// The scenario that a text describes.
pub fn scenario(text: &str) -> Scenario {
    serde_json::from_str(text).expect("a benchmark's scenario is valid")
}

const fn row(name: &'static str, title: &'static str, text: fn() -> String) -> Row {
    Row { name, title, text }
}

/// Every network of the benchmarks.
pub const ROWS: &[Row] = &[
    row("a", "10 Mbit/s, 16 to 64 NewReno flows, 80 s", varying_load),
    row("b", "1 Gbit/s, 1000 NewReno flows", || gigabit(1000, "newreno", 10)),
    row("c", "1 Gbit/s, 100 NewReno flows", || gigabit(100, "newreno", 10)),
    row("d", "1 Gbit/s, 1000 SACK flows", || gigabit(1000, "sack", 10)),
    row("e", "1 Gbit/s, 100 SACK flows", || gigabit(100, "sack", 10)),
    row("f", "10 links in a row, 1000 SACK flows", parking_lot),
    row("g", "10 SACK flows, 1 Mbit/s each", || equal_shares(10)),
    row("h", "1000 SACK flows, 1 Mbit/s each", || equal_shares(1000)),
    row("i", "10000 SACK flows, 1 Mbit/s each", || equal_shares(10_000)),
    row("j", "1 Gbit/s, 100 CUBIC flows", || gigabit(100, "cubic", 10)),
    row("k", "1 Gbit/s, 100 BBR flows", || gigabit(100, "bbr", 5)),
    row("l", "1 Gbit/s, 1000 NewReno flows, drop-tail", || gigabit_under("drop-tail", 1000, 10)),
    row("m", "1 Gbit/s, 1000 NewReno flows, codel", || gigabit_under("codel", 1000, 10)),
    row("n", "1 Gbit/s, 1000 NewReno flows, fq-codel", || gigabit_under("fq-codel", 1000, 10)),
    row("o", "1 Gbit/s, 1000 NewReno flows, fq-pie", || gigabit_under("fq-pie", 1000, 10)),
    row("p", "10 Gbit/s, a million transfers", transfers),
    row("one-10", "10 NewReno flows, one round trip", || usual::one_round_trip(10)),
    row("differing-10", "the same, round trips differ", || usual::differing_round_trips(10)),
    row("one-200", "200 NewReno flows, one round trip", || usual::one_round_trip(200)),
    row("differing-200", "the same, round trips differ", || usual::differing_round_trips(200)),
    row("one-2000", "2000 NewReno flows, one round trip", || usual::one_round_trip(2000)),
    row("differing-2000", "the same, round trips differ", || usual::differing_round_trips(2000)),
    row("linux-sack", "200 SACK flows, option set linux", || {
        usual::sender("sack", &json!({"option_set": "linux"}))
    }),
    row("linux-cubic", "200 CUBIC flows, option set linux", || {
        usual::sender("cubic", &json!({"option_set": "linux"}))
    }),
    row("linux-newreno", "200 NewReno flows, option set linux", || {
        usual::sender("newreno", &json!({"option_set": "linux"}))
    }),
    row("delayed", "200 NewReno flows, delayed acknowledgements", || {
        usual::sender("newreno", &json!({"delayed_acknowledgements": true}))
    }),
    row("paced", "200 NewReno flows, paced", || usual::sender("newreno", &json!({"pacing": true}))),
    row("return-path", "200 NewReno flows, acknowledgements over a link", usual::return_path),
    row("prague", "200 Prague flows, dualpi2", usual::prague),
    row("rem", "200 REM flows, rem", usual::rem),
    row("web", "nothing but transfers", usual::transfers_only),
    row("half-udp", "100 NewReno flows, half of the load unresponsive", usual::half_unresponsive),
    row("fq-codel", "200 NewReno flows, fq-codel", usual::turns),
    row("bbr", "200 BBR flows", || usual::sender("bbr", &json!({}))),
    row("mix", "100 CUBIC flows, 300 web sources, 50 calls, pie, linux", usual::mix),
    row("scale-newreno", "100,000 NewReno flows, one round trip", || {
        usual::hundred_thousand("newreno", &json!({}), "drop-tail", false)
    }),
    row("scale-newreno-differing", "the same, round trips differ", || {
        usual::hundred_thousand("newreno", &json!({}), "drop-tail", true)
    }),
    row("scale-cubic", "100,000 CUBIC flows, option set linux, one round trip", || {
        usual::hundred_thousand("cubic", &json!({"option_set": "linux"}), "drop-tail", false)
    }),
    row("scale-cubic-differing", "the same, round trips differ", || {
        usual::hundred_thousand("cubic", &json!({"option_set": "linux"}), "drop-tail", true)
    }),
    row("scale-fq-codel", "100,000 NewReno flows, fq-codel, one round trip", || {
        usual::hundred_thousand("newreno", &json!({}), "fq-codel", false)
    }),
    row("scale-fq-codel-differing", "the same, round trips differ", || {
        usual::hundred_thousand("newreno", &json!({}), "fq-codel", true)
    }),
    row("row-1", "40 SACK flows over one link", || many_links::row(1)),
    row("row-10", "the same over 10 links in a row", || many_links::row(10)),
    row("row-100", "the same over 100 links in a row", || many_links::row(100)),
    row("leaf-spine-32", "DCTCP, 32 hosts, 96 links of 100 Gbit/s", || {
        many_links::leaf_spine(2, 4000)
    }),
    row("leaf-spine-320", "DCTCP, 320 hosts, 960 links of 100 Gbit/s", || {
        many_links::leaf_spine(20, 400)
    }),
];
