//! Buffers of equal size for every discipline.

use serde_json::{Value, json};
use vermilion_aqm::registry::ALGORITHMS;

/// The parameter that limits a discipline to `packets` packets of 1000 bytes, by the name and in the unit of its own
/// table.
pub fn buffer(name: &str, packets: u32) -> Value {
    let algorithm = ALGORITHMS.iter().find(|algorithm| algorithm.name == name);
    let rows = algorithm.expect("a discipline of the registry").parameters;
    let row = rows.iter().find(|row| row.name == "limit" || row.name == "memory_limit");
    let row = row.expect("every discipline has a buffer");
    let size = if row.unit == "bytes" { 1000 * packets } else { packets };
    json!({ row.name: size })
}
