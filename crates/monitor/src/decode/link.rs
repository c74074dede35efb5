//! What stands before the IP header.
//!
//! Sources: the registry of link-layer header types of the tcpdump group (the numbers of capture
//! files); IEEE 802.3, 802.1Q and 802.1ad; RFC 2516 (PPPoE).

use super::Undecoded;
use super::big_endian::{u16_at, u32_at};

/// First header in the bytes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet, with any number of VLAN tags (802.1Q, QinQ), or PPPoE.
    Ethernet,
    /// IPv4 or IPv6 with nothing before it.
    RawInternet,
    /// Header of Linux for the device "any": 16 bytes.
    LinuxCooked,
    /// The second version of it: 20 bytes.
    LinuxCooked2,
    /// The loopback device of BSD: an address family of 4 bytes, in the capturing machine's order.
    BsdLoopback,
    /// Anything else, by its number. Its packets are counted and not read.
    Unknown(u16),
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const PROVIDER_VLAN: u16 = 0x88a8;
/// Type used for an outer tag before 802.1ad.
const OLD_PROVIDER_VLAN: u16 = 0x9100;
const PPPOE_SESSION: u16 = 0x8864;
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// Tags that are taken off; standards know two.
const MOST_TAGS: usize = 4;

impl LinkType {
    /// The kind of link that a capture file calls by this number.
    pub const fn from_number(number: u16) -> Self {
        match number {
            1 => Self::Ethernet,
            // 101 is the number in files; 12 and 14 are what some systems wrote.
            12 | 14 | 101 | 228 | 229 => Self::RawInternet,
            113 => Self::LinuxCooked,
            276 => Self::LinuxCooked2,
            0 | 108 => Self::BsdLoopback,
            other => Self::Unknown(other),
        }
    }

    /// Where the IP header begins.
    pub(super) fn internet_header(self, bytes: &[u8]) -> Result<usize, Undecoded> {
        match self {
            Self::Ethernet => behind_ether_type(bytes, 12),
            Self::RawInternet => Ok(0),
            // Packet type, device type, address length, address (8 bytes), protocol.
            Self::LinuxCooked => behind_ether_type(bytes, 14),
            // Protocol, reserved, interface, device type, packet type, address length, address.
            Self::LinuxCooked2 => match u16_at(bytes, 0).ok_or(Undecoded::CutLink)? {
                IPV4 | IPV6 if bytes.len() >= 20 => Ok(20),
                IPV4 | IPV6 => Err(Undecoded::CutLink),
                // The tag's own two bytes and the next protocol follow the header.
                VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN => behind_ether_type(bytes, 22),
                _ => Err(Undecoded::NotInternet),
            },
            Self::BsdLoopback => {
                let family = u32_at(bytes, 0).ok_or(Undecoded::CutLink)?;
                // Families are small numbers: a big one was written in the other byte order.
                match family.min(family.swap_bytes()) {
                    2 | 10 | 24 | 28 | 30 => Ok(4),
                    _ => Err(Undecoded::NotInternet),
                }
            }
            Self::Unknown(_) => Err(Undecoded::UnknownLink),
        }
    }
}

/// Goes from the EtherType at `at` over any tags to what they enclose.
#[inline]
fn behind_ether_type(bytes: &[u8], mut at: usize) -> Result<usize, Undecoded> {
    for _ in 0..=MOST_TAGS {
        match u16_at(bytes, at).ok_or(Undecoded::CutLink)? {
            IPV4 | IPV6 => return Ok(at + 2),
            VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN => at += 4,
            // Version and type, code, session and length are six bytes; then PPP's protocol.
            PPPOE_SESSION => {
                return match u16_at(bytes, at + 8).ok_or(Undecoded::CutLink)? {
                    PPP_IPV4 | PPP_IPV6 => Ok(at + 10),
                    _ => Err(Undecoded::NotInternet),
                };
            }
            _ => return Err(Undecoded::NotInternet),
        }
    }
    Err(Undecoded::NotInternet)
}
