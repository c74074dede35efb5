//! Addresses of both versions of IP, as one type.

use std::net::IpAddr;

/// An address as 16 bytes, with the version beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// IPv4 addresses stand in the first four bytes, the others being 0.
    pub bytes: [u8; 16],
    /// True if it is one of IPv6.
    pub version_6: bool,
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> Self {
        if address.version_6 {
            return Self::from(address.bytes);
        }
        let [a, b, c, d, ..] = address.bytes;
        Self::from([a, b, c, d])
    }
}
