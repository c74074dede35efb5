//! What a discipline that watches departures is told of them.

use crate::{Colour, Ecn, Packet};

/// A packet at the head of a queue whose turn it is, and the queue it leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// The instant in nanoseconds: the link is free and would begin to send the packet.
    pub now: u64,
    /// When the packet arrived, in nanoseconds.
    pub arrived: u64,
    /// Size of the packet in bytes.
    pub size: u32,
    /// Its flow: see [`Packet::flow`].
    pub flow: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its drop precedence.
    pub colour: Colour,
    /// Packets that wait behind it.
    pub queue_packets: u32,
    /// Bytes that wait behind it.
    pub queue_bytes: u64,
}

impl Departure {
    /// A packet that arrived at `arrived` and whose turn it is at `now`, behind which nothing waits.
    #[inline(always)] // for every packet
    pub fn of(packet: &impl Packet, arrived: u64, now: u64) -> Self {
        Self {
            now,
            arrived,
            size: packet.size(),
            flow: packet.flow(),
            ecn: packet.ecn(),
            colour: packet.colour(),
            queue_packets: 0,
            queue_bytes: 0,
        }
    }

    /// Return true if the packet may be marked instead of dropped (ECT, RFC 3168).
    #[inline]
    pub fn ecn_capable(&self) -> bool {
        self.ecn.is_capable()
    }

    /// Nanoseconds for which the packet has waited.
    pub fn sojourn(&self) -> u64 {
        self.now - self.arrived
    }
}
