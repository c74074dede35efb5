use vermilion_parameters::Algorithm;

use crate::Recovery;
use crate::named::Named;
use crate::rules::Additive;
use crate::table::{PLAIN, common};

/// Fast retransmit, then slow start from one segment
///
/// Additive increase; the recovery is in `recovery/duplicates.rs`.
pub static TAHOE: Named = Named {
    algorithm: Algorithm {
        name: "tahoe",
        title: "Tahoe",
        summary: "Fast retransmit, then slow start from one segment",
        source: "V. Jacobson, Congestion avoidance and control, 1988; ns-2.35, tcp.cc",
        parameters: &common(PLAIN),
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: Some(Recovery::Tahoe),
    rule: |settings| Additive::new(settings).into(),
    scalable: false,
};
