use vermilion_parameters::Algorithm;

use super::bbr::TABLE;
use crate::named::Named;
use crate::rules::Bbr1;

/// BBR version 1, which is what Linux has: the greatest bandwidth and the shortest round trip of late, whatever is lost
///
/// The rule is in `rules/bbr1/`. Its parameters are those of `bbr`.
pub static BBR1: Named = Named {
    algorithm: Algorithm {
        name: "bbr1",
        title: "BBR version 1",
        summary: "As BBR, but with the first version's model, which hardly minds losses; what Linux has",
        source: "Cardwell et al. 2016; Linux 6.12: tcp_bbr.c",
        parameters: &TABLE,
        ordered: &[("minimum_timeout", "maximum_timeout")],
    },
    recovery: None,
    rule: |_| Bbr1::default().into(),
    scalable: false,
};
