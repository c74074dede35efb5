use vermilion_parameters::{Algorithm, Parameter};

use crate::named::Named;
use crate::rules::Bbr;
use crate::table::{COMMON_COUNT, Defaults, PLAIN, common, join};

/// Those that tell of every segment, which the model needs. A lost retransmission, which happens all
/// the time at the loss rates that BBR bears, costs RFC 6675 a timeout.
const RECOVERY: [Parameter; 1] = [Parameter::choice("recovery", "rack", &["rack", "sack"])
    .described("how losses are noticed and repaired", "RFC 8985; sack is RFC 6675")];

const DEFAULTS: Defaults = Defaults { timestamps: true, pacing: true, ..PLAIN };

pub(super) const TABLE: [Parameter; COMMON_COUNT + 1] = join(common(DEFAULTS), RECOVERY);

/// A model of the path instead of losses: bandwidth and shortest round trip, probed in turn
///
/// The rule is in `rules/bbr/`. It needs selective acknowledgements and pacing.
pub static BBR: Named = Named {
    algorithm: Algorithm {
        name: "bbr",
        title: "BBR version 3",
        summary: "A model of the path instead of losses: bandwidth and shortest round trip, probed in turn",
        source: "draft-ietf-ccwg-bbr (August 2026)",
        parameters: &TABLE,
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: None,
    rule: |_| Bbr::default().into(),
    scalable: false,
};
