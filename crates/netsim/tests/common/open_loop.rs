//! Traffic that is sent whatever happens to it.

use serde_json::{Value, json};

use super::MILLISECOND;

/// Open-loop traffic over the link called `link`.
pub fn open_loop(link: &str, traffic: Value) -> Value {
    json!({
        "name": "open-loop",
        "count": 1,
        "path": [link],
        "rtt_ns": 60 * MILLISECOND,
        "traffic": traffic,
        "start_ns": [0, 0],
    })
}
