//! A group of flows with one base round trip.

use crate::access::AccessRate;
use crate::packet::Class;
use crate::route::Route;

/// Facts that flows share that are of one group and have one base round trip.
///
/// Where round trips differ, each flow has its own. What every packet asks for stands in one line of the
/// cache, up to the route's first hop.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub struct Group {
    /// Size of a full data packet, in bytes.
    pub packet_size: u32,
    /// Size of an acknowledgement, in bytes.
    pub acknowledgement_size: u32,
    /// Treatment that all packets ask for.
    pub class: Class,
    /// Number of the scenario's group.
    pub number: u32,
    /// The rate of each host's own link, if it has one.
    pub access: Option<AccessRate>,
    /// The way of the packets.
    pub route: Route,
}

const _: () = assert!(size_of::<Group>() <= 128);

impl Group {
    /// The bytes of a data packet with that segment; `last`: the flow's last one, and its size.
    #[inline(always)] // for every packet
    pub fn size_of(&self, sequence: u32, last: (u32, u32)) -> u32 {
        if sequence == 0 {
            self.acknowledgement_size
        } else if sequence == last.0 {
            last.1
        } else {
            self.packet_size
        }
    }
}
