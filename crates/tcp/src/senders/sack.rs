use vermilion_parameters::Algorithm;

use crate::named::Named;
use crate::rules::Additive;
use crate::table::{COMMON_COUNT, PLAIN, RECOVERY, RULED_COUNT, common, join};

/// Recovery by selective acknowledgements: all losses of a window in one round trip
///
/// Additive increase; the recoveries to choose from are in `recovery/selective.rs` (RFC 6675 and, by
/// time, RFC 8985) and `recovery/sack1.rs` (ns-2).
pub static SACK: Named = Named {
    algorithm: Algorithm {
        name: "sack",
        title: "SACK",
        summary: "Recovery by selective acknowledgements: all losses of a window in one round trip",
        source: "RFC 6675, RFC 2018",
        parameters: &join::<COMMON_COUNT, 1, RULED_COUNT>(common(PLAIN), RECOVERY),
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: None,
    rule: |settings| Additive::new(settings).into(),
    scalable: false,
};
