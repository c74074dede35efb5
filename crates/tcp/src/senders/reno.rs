use vermilion_parameters::Algorithm;

use crate::Recovery;
use crate::named::Named;
use crate::rules::Additive;
use crate::table::{PLAIN, common};

/// Fast retransmit and recovery that ends with the first new acknowledgement
///
/// Additive increase; the recovery is in `recovery/duplicates.rs`.
pub static RENO: Named = Named {
    algorithm: Algorithm {
        name: "reno",
        title: "Reno",
        summary: "Fast retransmit and recovery that ends with the first new acknowledgement",
        source: "RFC 5681; ns-2.35, tcp-reno.cc",
        parameters: &common(PLAIN),
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: Some(Recovery::Reno),
    rule: |settings| Additive::new(settings).into(),
    scalable: false,
};
