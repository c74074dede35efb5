//! Flows that a text names.

use serde::Deserialize;

/// Some flows of one group: `first`, and every `step`-th from there to `last`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowChoice {
    /// Name of the group.
    pub group: String,
    /// Number of the first, from 0 on: among the group's flows, or in the order in which its transfers begin.
    #[serde(default)]
    pub first: u32,
    /// Number of the last; the group's last one if it is not given.
    #[serde(default)]
    pub last: Option<u32>,
    /// From each to the next.
    #[serde(default = "one")]
    pub step: u32,
}

const fn one() -> u32 {
    1
}
