use vermilion_parameters::Algorithm;

use crate::Recovery;
use crate::named::Named;
use crate::rules::Additive;
use crate::table::{PLAIN, common};

/// Recovery that repairs several losses of one window, one per round trip
///
/// Additive increase; the recovery is in `recovery/duplicates.rs`, that of the option set `linux` in
/// `recovery/counted.rs`.
pub static NEWRENO: Named = Named {
    algorithm: Algorithm {
        name: "newreno",
        title: "NewReno",
        summary: "Recovery that repairs several losses of one window, one per round trip",
        source: "RFC 6582; ns-2.35, tcp-newreno.cc",
        parameters: &common(PLAIN),
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: Some(Recovery::NewReno),
    rule: |settings| Additive::new(settings).into(),
    scalable: false,
};
