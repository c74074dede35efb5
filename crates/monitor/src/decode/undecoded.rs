//! Why the headers of a packet cannot be read.

use crate::tally::reasons;

reasons! {
    /// Why a packet is not read any further than it was.
    pub enum Undecoded {
        /// The capture has another kind of link than those of [`LinkType`](super::LinkType).
        UnknownLink = "unknown-link",
        /// The captured bytes end within the link's header.
        CutLink = "cut-link-header",
        /// Not IP (ARP, for example), or IP within something that is not unpacked (MPLS).
        NotInternet = "not-ip",
        /// The captured bytes end within the IP header, or within an extension header of IPv6.
        CutInternet = "cut-ip-header",
        /// The IP header contradicts itself: its version or one of its lengths cannot be.
        BadInternet = "bad-ip-header",
        /// The captured bytes end within the 20 bytes of a TCP header or the 8 of a UDP header.
        CutTransport = "cut-transport-header",
        /// The TCP or UDP header contradicts itself or the IP header.
        BadTransport = "bad-transport-header",
    }
}
