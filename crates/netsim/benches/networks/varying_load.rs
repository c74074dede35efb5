//! The network of the examples: what most tunings simulate.

const SECOND: u64 = 1_000_000_000;

/// 80 s at 10 Mbit/s, 16 flows that become 64, RED.
pub fn varying_load() -> String {
    let flows = |name: &str, count: u32, start: u64| {
        format!(
            r#"{{"name": "{name}", "count": {count}, "path": ["bottleneck"], "rtt_ns": 28000000,
                "sender": {{"congestion_control": "newreno"}},
                "start_ns": [{start}, {}]}}"#,
            start + SECOND
        )
    };
    format!(
        r#"{{"duration_ns": {}, "warm_up_ns": {}, "settle_ns": {},
            "links": [{{"name": "bottleneck", "rate_bit_per_s": 10000000, "delay_ns": 10000000,
                "queue": {{"discipline": "red", "parameters": {{"limit": 100,
                    "min_threshold": 15, "max_threshold": 45, "max_probability": 0.1}}}}}}],
            "flows": [{}, {}]}}"#,
        80 * SECOND,
        5 * SECOND,
        5 * SECOND,
        flows("early", 16, 0),
        flows("late", 48, 20 * SECOND),
    )
}
