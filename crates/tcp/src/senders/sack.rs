//! Recovery by selective acknowledgements: all losses of a window in one round trip
//!
//! Additive increase; the recovery is in `sender/selective.rs`.

use vermilion_parameters::Algorithm;

use crate::Recovery;
use crate::registry::Named;
use crate::rules::Additive;
use crate::table::{PLAIN, common};

/// See the module's head.
pub static SACK: Named = Named {
    algorithm: Algorithm {
        name: "sack",
        title: "SACK",
        summary: "Recovery by selective acknowledgements: all losses of a window in one round trip",
        source: "RFC 6675, RFC 2018",
        parameters: &common(PLAIN),
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: Some(Recovery::Sack),
    rule: |_| Additive.into(),
    scalable: false,
};
