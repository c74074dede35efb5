//! Which packets belong together: the two addresses, the two ports and the protocol, whichever way
//! a packet goes.

use crate::decode::{Address, Headers, Transport};

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct End {
    /// Its address.
    pub address: Address,
    /// Its port.
    pub port: u16,
}

/// A transport whose packets are put together to flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// The two ends of a flow in a fixed order, and its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The end whose address and port come first.
    pub lower: End,
    /// The other.
    pub upper: End,
    /// The protocol.
    pub protocol: Protocol,
}

impl Key {
    /// The flow of a packet, and whether the lower end sent it; `None` if it has no ports.
    #[inline]
    pub fn of(headers: &Headers) -> Option<(Self, bool)> {
        let (protocol, source_port, destination_port) = match &headers.transport {
            Ok(Transport::Tcp(tcp)) => (Protocol::Tcp, tcp.source_port, tcp.destination_port),
            Ok(Transport::Udp(udp)) => (Protocol::Udp, udp.source_port, udp.destination_port),
            _ => return None,
        };
        let source = End { address: headers.internet.source, port: source_port };
        let destination = End { address: headers.internet.destination, port: destination_port };
        Some(if source <= destination {
            (Self { lower: source, upper: destination, protocol }, true)
        } else {
            (Self { lower: destination, upper: source, protocol }, false)
        })
    }

    /// A hash that nobody can foresee who does not know the seed, so that nobody can choose
    /// addresses that collide. Results do not depend on it.
    #[inline]
    pub fn hash(&self, seed: u64) -> u64 {
        let ports = u64::from(self.lower.port) << 16
            | u64::from(self.upper.port)
            | u64::from(self.protocol == Protocol::Udp) << 32
            | u64::from(self.lower.address.version_6) << 33;
        flow_hash(seed, ports, [&self.lower.address, &self.upper.address])
    }
}

/// The hash of what packets of one flow have in common: the two addresses, and ports and protocol in 40 bits or less.
/// Nobody can choose addresses that collide who does not know the seed.
#[inline]
pub fn flow_hash(seed: u64, ports: u64, addresses: [&Address; 2]) -> u64 {
    let mut state = fold(seed ^ ports, 0x9e37_79b9_7f4a_7c15);
    for address in addresses {
        let (low, high) = address.bytes.split_at(8);
        let word = |half: &[u8]| half.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        state = fold(state ^ word(low), seed ^ 0xd1b5_4a32_d192_ed03);
        if address.version_6 {
            state = fold(state ^ word(high), seed ^ 0x94d0_49bb_1331_11eb);
        }
    }
    state
}

/// Multiplies and adds the two halves of the product.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}
