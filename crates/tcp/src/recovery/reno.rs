//! Reno: fast recovery that ends with the first acknowledgement of new data.
//!
//! Source: RFC 5681, section 3.2, without the changes of RFC 6582; ns-2.35 `tcp-reno.cc`. With
//! several losses in one window the first retransmission's acknowledgement ends the episode, and
//! the others usually cost a timeout: within one window there is no second fast retransmit.

use vermilion_parameters::Algorithm;

use super::{Progress, Recovery};
use crate::registry::COMMON;

/// See the module's head.
pub static RENO: Recovery = Recovery {
    algorithm: Algorithm {
        name: "reno",
        title: "Reno",
        summary: "Fast retransmit and recovery that ends with the first new acknowledgement",
        source: "RFC 5681; ns-2.35, tcp-reno.cc",
        parameters: COMMON,
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    judge: |_, _| Progress::Complete,
    burst: u32::MAX,
};
