//! NewReno: fast recovery that lasts until all that was outstanding has been acknowledged.
//!
//! Source: RFC 6582. An acknowledgement of new data that leaves segments of the same window
//! missing (a partial one) sends the next missing segment again and deflates the window by what it
//! acknowledged, less one; the retransmission timer is restarted by the first partial one only
//! ("impatient"). As in ns-2.35 one duplicate acknowledgement releases at most two new segments.

use vermilion_parameters::Algorithm;

use super::{Progress, Recovery};
use crate::registry::COMMON;

/// See the module's head.
pub static NEWRENO: Recovery = Recovery {
    algorithm: Algorithm {
        name: "newreno",
        title: "NewReno",
        summary: "Recovery that repairs several losses of one window, one per round trip",
        source: "RFC 6582; ns-2.35, tcp-newreno.cc",
        parameters: COMMON,
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    judge,
    burst: 2,
};

/// Complete when everything sent before the loss was noticed has arrived.
fn judge(acknowledged: u32, recover: u32) -> Progress {
    if acknowledged >= recover { Progress::Complete } else { Progress::Partial }
}
