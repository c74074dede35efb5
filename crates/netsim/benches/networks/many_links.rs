//! Networks of many links: links in a row, and a data centre's fabric.

use serde_json::{Value, json};

const MICROSECOND: u64 = 1000;
const MILLISECOND: u64 = 1_000_000;

fn link(name: &str, rate: u64, delay: u64, queue: &Value) -> Value {
    json!({"name": name, "rate_bit_per_s": rate, "delay_ns": delay, "queue": queue})
}

/// 40 SACK flows over so many links of 1 Gbit/s in a row, the round trip 220 ms whatever their number: about ten
/// million packets sent by links.
pub fn row(links: u64) -> String {
    let names: Vec<String> = (0..links).map(|hop| format!("hop{hop}")).collect();
    let queue = json!({"discipline": "drop-tail", "parameters": {"limit": 5000}});
    let hops: Vec<Value> =
        names.iter().map(|name| link(name, 1_000_000_000, MILLISECOND, &queue)).collect();
    let seconds = if links < 10 { 40 } else { 4 };
    json!({
        "duration_ns": seconds * 1000 * MILLISECOND, "warm_up_ns": 1000 * MILLISECOND, "settle_ns": 0,
        "links": hops,
        "flows": [{"name": "all", "count": 40, "path": names, "rtt_ns": 220 * MILLISECOND,
            "sender": {"congestion_control": "sack"}, "start_ns": [0, 0]}],
    })
    .to_string()
}

/// DCTCP over a leaf and spine at 100 Gbit/s: 16 hosts to a leaf, 8 spines, every link a queue that marks above 300
/// packets. Each host sends to four others without end, on paths that a hash chooses; acknowledgements come back the
/// same way.
pub fn leaf_spine(leaves: u64, microseconds: u64) -> String {
    const HOSTS: u64 = 16;
    const SPINES: u64 = 8;
    let queue = json!({"discipline": "step", "parameters": {"limit": 5000, "threshold": 300, "drop_others": false}});
    let hosts = leaves * HOSTS;
    let mut links = Vec::new();
    let mut cable = |one: String, other: String| {
        for name in [format!("{one}-{other}"), format!("{other}-{one}")] {
            links.push(link(&name, 100_000_000_000, MICROSECOND, &queue));
        }
    };
    for host in 0..hosts {
        cable(format!("host{host}"), format!("leaf{}", host / HOSTS));
    }
    for leaf in 0..leaves {
        (0..SPINES).for_each(|spine| cable(format!("leaf{leaf}"), format!("spine{spine}")));
    }
    let path = |from: u64, to: u64, spine: u64| {
        let (here, there) = (from / HOSTS, to / HOSTS);
        let mut stops = vec![format!("host{from}"), format!("leaf{here}")];
        if here != there {
            stops.extend([format!("spine{spine}"), format!("leaf{there}")]);
        }
        stops.push(format!("host{to}"));
        stops.windows(2).map(|ends| format!("{}-{}", ends[0], ends[1])).collect::<Vec<_>>()
    };
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut flows = Vec::new();
    for (number, from) in (0..hosts * 4).map(|number| (number, number / 4)) {
        let (to, spine) = ((from + 1 + draw(hosts - 1)) % hosts, draw(SPINES));
        flows.push(json!({
            "name": format!("flow{number}"), "count": 1, "rtt_ns": 9 * MICROSECOND,
            "path": path(from, to, spine), "return_path": path(to, from, spine),
            "sender": {"congestion_control": "dctcp"}, "start_ns": [0, 0],
        }));
    }
    json!({
        "duration_ns": microseconds * MICROSECOND, "warm_up_ns": microseconds * MICROSECOND / 4,
        "settle_ns": 0, "links": links, "flows": flows,
    })
    .to_string()
}
