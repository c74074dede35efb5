//! What people simulate: round trips that differ, senders as Linux has them, traffic of several kinds, and
//! very many flows.

use serde_json::{Value, json};

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// A base round trip for all.
fn one(milliseconds: u64) -> Value {
    json!(milliseconds * MILLISECOND)
}

/// A base round trip for each, drawn between two.
fn differing(least: u64, greatest: u64) -> Value {
    json!({"distribution": "uniform", "min_ns": least * MILLISECOND, "max_ns": greatest * MILLISECOND})
}

/// Flows with endless data that start in the first second.
fn flows(name: &str, count: u32, rtt: &Value, sender: &str, parameters: &Value) -> Value {
    json!({"name": name, "count": count, "path": ["bottleneck"], "rtt_ns": rtt,
        "sender": {"congestion_control": sender, "parameters": parameters}, "start_ns": [0, SECOND]})
}

/// Short transfers, each source's so far apart on average: sizes as of pages, 20 kB on average.
fn web(count: u32, rtt: &Value, sender: &str, parameters: &Value, gap: u64) -> Value {
    let mut group = flows("web", count, rtt, sender, parameters);
    group["traffic"] = json!({"kind": "web", "mean_gap_ns": gap,
        "size": {"distribution": "bounded-pareto", "shape": 1.2, "minimum": 4000, "maximum": 10_000_000}});
    group
}

/// Packets at a constant rate each.
fn constant(name: &str, count: u32, rtt: &Value, rate: u64, size: u32) -> Value {
    json!({"name": name, "count": count, "path": ["bottleneck"], "rtt_ns": rtt, "start_ns": [0, SECOND],
        "packet_size_bytes": size, "traffic": {"kind": "constant-rate", "rate_bit_per_s": rate}})
}

/// One link, everything about its queue but the parameters given at its default.
fn network(
    megabits: u64,
    seconds: u64,
    queue: &str,
    parameters: &Value,
    flows: &[Value],
) -> String {
    document(megabits, seconds, queue, parameters, flows).to_string()
}

/// The same as what is not text yet.
fn document(
    megabits: u64,
    seconds: u64,
    queue: &str,
    parameters: &Value,
    flows: &[Value],
) -> Value {
    json!({
        "duration_ns": seconds * SECOND, "warm_up_ns": SECOND, "settle_ns": SECOND,
        "links": [{"name": "bottleneck", "rate_bit_per_s": megabits * 1_000_000, "delay_ns": MILLISECOND,
            "queue": {"discipline": queue, "parameters": parameters}}],
        "flows": flows,
    })
}

/// `count` flows of one kind over 600 Mbit/s, a round trip of 40 ms, and a buffer that holds it.
fn alike(count: u32, rtt: &Value, sender: &str, parameters: &Value, queue: &str) -> String {
    let limit = json!({"limit": 3000});
    network(600, 10, queue, &limit, &[flows("all", count, rtt, sender, parameters)])
}

/// `count` NewReno flows of one round trip.
pub fn one_round_trip(count: u32) -> String {
    alike(count, &one(40), "newreno", &json!({}), "drop-tail")
}

/// The same with a round trip for each.
pub fn differing_round_trips(count: u32) -> String {
    alike(count, &differing(30, 50), "newreno", &json!({}), "drop-tail")
}

/// 200 flows of such a sender.
pub fn sender(name: &str, parameters: &Value) -> String {
    alike(200, &one(40), name, parameters, "drop-tail")
}

/// 200 Prague flows, as they are meant to be run.
pub fn prague() -> String {
    let queue = json!({"limit": 3000});
    network(600, 10, "dualpi2", &queue, &[flows("all", 200, &one(40), "prague", &json!({}))])
}

/// 200 flows that REM's prices govern.
pub fn rem() -> String {
    let queue = json!({"limit": 3000});
    network(600, 10, "rem", &queue, &[flows("all", 200, &one(40), "rem", &json!({}))])
}

/// 200 NewReno flows whose acknowledgements cross a link of their own.
pub fn return_path() -> String {
    let traffic = [flows("all", 200, &one(40), "newreno", &json!({}))];
    let mut network = document(600, 10, "drop-tail", &json!({"limit": 3000}), &traffic);
    let mut back = network["links"][0].clone();
    back["name"] = json!("back");
    network["links"].as_array_mut().expect("a list").push(back);
    network["flows"][0]["return_path"] = json!(["back"]);
    network.to_string()
}

/// 200 flows that take turns.
pub fn turns() -> String {
    alike(200, &one(40), "newreno", &json!({}), "fq-codel")
}

/// Nothing but short transfers, as many as fill three quarters of the link.
pub fn transfers_only() -> String {
    // 560 Mbit/s / (8 * 19 kB) are 3700 a second from 200 sources.
    let traffic = web(200, &one(40), "newreno", &json!({}), 68 * MILLISECOND);
    network(600, 10, "drop-tail", &json!({"limit": 3000}), &[traffic])
}

/// Half of the link for packets that come whatever happens, half for 100 NewReno flows.
pub fn half_unresponsive() -> String {
    let traffic = [
        flows("all", 100, &one(40), "newreno", &json!({})),
        constant("constant", 100, &one(40), 3_000_000, 1000),
    ];
    network(600, 10, "drop-tail", &json!({"limit": 3000}), &traffic)
}

/// 100 CUBIC flows of 10 to 200 ms, 300 sources of transfers and 50 calls over PIE, all as in Linux.
pub fn mix() -> String {
    let linux = json!({"option_set": "linux"});
    let traffic = [
        flows("bulk", 100, &differing(10, 200), "cubic", &linux),
        web(300, &differing(10, 200), "cubic", &linux, SECOND),
        constant("calls", 50, &differing(10, 200), 100_000, 200),
    ];
    network(500, 10, "pie", &json!({"limit": 5000}), &traffic)
}

/// 100,000 flows over 10 Gbit/s for 5 s, a buffer of a bandwidth-delay product. `spread`: round trips of
/// 20 to 200 ms instead of 100 ms for all.
pub fn hundred_thousand(name: &str, parameters: &Value, queue: &str, spread: bool) -> String {
    let rtt = if spread { differing(20, 200) } else { one(100) };
    let mut settings = json!({"limit": 125_000});
    if queue == "fq-codel" {
        settings["flows"] = json!(65_536);
        settings["memory_limit"] = json!(1_000_000_000);
    }
    network(10_000, 5, queue, &settings, &[flows("all", 100_000, &rtt, name, parameters)])
}
