//! The networks that the benchmarks simulate.

mod varying_load;

pub use varying_load::varying_load;
use vermilion_netsim::Scenario;

const SECOND: u64 = 1_000_000_000;

fn scenario(text: &str) -> Scenario {
    serde_json::from_str(text).expect("a benchmark's scenario is valid")
}

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

fn gigabit_scenario(seconds: u64, links: &[String], flows: &[String]) -> Scenario {
    scenario(&format!(
        r#"{{"duration_ns": {}, "warm_up_ns": {SECOND}, "settle_ns": {SECOND},
            "links": [{}], "flows": [{}]}}"#,
        seconds * SECOND,
        links.join(", "),
        flows.join(", "),
    ))
}

/// `count` flows over one link of 1 Gbit/s for so many seconds.
pub fn gigabit(count: u32, sender: &str, seconds: u64) -> Scenario {
    let flows = flows_of("all", count, r#""bottleneck""#, sender);
    gigabit_scenario(seconds, &[gigabit_link("bottleneck", count)], &[flows])
}

/// The same under another discipline, at its defaults but for the limit.
pub fn gigabit_under(discipline: &str, count: u32, seconds: u64) -> Scenario {
    let link = format!(
        r#"{{"name": "bottleneck", "rate_bit_per_s": 1000000000, "delay_ns": 1000000,
            "queue": {{"discipline": "{discipline}", "parameters": {{"limit": 5000}}}}}}"#,
    );
    gigabit_scenario(seconds, &[link], &[flows_of("all", count, r#""bottleneck""#, "newreno")])
}

/// `count` SACK flows that share a link of 1 Mbit/s for each of them: the same life for every flow,
/// however many there are. About two million packets.
pub fn equal_shares(count: u32) -> Scenario {
    let pipe = count * 5; // packets that 40 ms hold
    let seconds = (16_000 / u64::from(count)).max(2);
    scenario(&format!(
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
    ))
}

/// Ten links in a row: half of 1000 flows cross all of them, the others one each.
pub fn parking_lot() -> Scenario {
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
pub fn transfers() -> Scenario {
    scenario(&format!(
        r#"{{"duration_ns": {}, "warm_up_ns": {SECOND}, "settle_ns": {SECOND},
            "links": [{{"name": "bottleneck", "rate_bit_per_s": 10000000000, "delay_ns": 1000000,
                "queue": {{"discipline": "drop-tail", "parameters": {{"limit": 50000}}}}}}],
            "flows": [{{"name": "web", "count": 1, "path": ["bottleneck"], "rtt_ns": 20000000,
                "sender": {{"congestion_control": "sack"}}, "start_ns": [0, 0],
                "traffic": {{"kind": "web", "mean_gap_ns": 20000,
                    "size": {{"distribution": "bounded-pareto", "shape": 1.2,
                        "minimum": 4000, "maximum": 10000000}}}}}}]}}"#,
        20 * SECOND,
    ))
}
