//! Buffers of equal size for every discipline.

use vermilion_aqm::registry::ALGORITHMS;

/// A limit of `packets` packets of 1000 bytes, in the unit of the discipline's own table.
pub fn limit(name: &str, packets: u32) -> u32 {
    let algorithm = ALGORITHMS.iter().find(|algorithm| algorithm.name == name);
    let rows = algorithm.expect("a discipline of the registry").parameters;
    let in_bytes = rows.iter().any(|row| row.name == "limit" && row.unit == "bytes");
    if in_bytes { 1000 * packets } else { packets }
}
