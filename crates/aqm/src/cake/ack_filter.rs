//! Which acknowledgements that wait say nothing that later ones do not say.

use vermilion_parameters::choices;

use crate::Packet;
use crate::flow_queues::{NONE, Slab};

choices! {
    /// Which acknowledgements are taken away.
    pub AckFilter {
        /// None:
        Off = "no-ack-filter",
        /// The first needless one, once there are two:
        Conservative = "ack-filter",
        /// As well the last one before the one that arrives:
        Aggressive = "ack-filter-aggressive",
    }
}

/// The place before the acknowledgement, between `head` and `tail` (the one that arrives), that is to be taken away:
/// [`NONE`] before the head.
pub(crate) fn needless<P: Packet>(
    slab: &Slab<P>,
    head: u32,
    tail: u32,
    is_aggressive: bool,
) -> Option<u32> {
    let last = slab.at(tail)?;
    let (mut before, mut place) = (NONE, head);
    let mut first = None;
    while place != tail {
        if slab.at(place)?.is_superseded_by(last) {
            match first {
                None => first = Some((before, place)),
                Some((before, _)) => return Some(before),
            }
        }
        (before, place) = (place, slab.next(place)?);
    }
    let (before, place) = first?;
    (is_aggressive && slab.next(place) == Some(tail)).then_some(before)
}
