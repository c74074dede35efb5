//! Messages of rtnetlink, of which a shaper needs three.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
    sockopt,
};
use nix::sys::time::TimeVal;

const HEAD: usize = 16;
const BODY: usize = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_ACKNOWLEDGED: u16 = 5;
const REQUEST_DUMP: u16 = 0x301;
/// Kinds of messages.
pub const NEW_QUEUE: u16 = 36;
pub const GET_QUEUE: u16 = 38;
pub const NEW_CLASS: u16 = 40;
pub const GET_CLASS: u16 = 42;
/// Attributes of a queue or a class.
pub const KIND: u16 = 1;
pub const OPTIONS: u16 = 2;
pub const STATISTICS: u16 = 7;

/// A queue or a class as the kernel tells it (`struct tcmsg`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Number of its interface.
    pub index: u32,
    /// Its handle.
    pub handle: u32,
    /// What it is below.
    pub parent: u32,
    /// Its attributes as they came.
    pub attributes: Vec<u8>,
}

impl Told {
    /// The value of an attribute.
    pub fn attribute(&self, number: u16) -> Option<&[u8]> {
        attribute(&self.attributes, number)
    }

    /// Its kind, such as "cake".
    pub fn kind(&self) -> &str {
        let kind = self.attribute(KIND).unwrap_or_default();
        std::str::from_utf8(kind).unwrap_or_default().trim_end_matches('\0')
    }
}

/// A number of 32 bits at a place.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number of 64 bits at a place.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The value of the first attribute of this number.
pub fn attribute(mut bytes: &[u8], number: u16) -> Option<&[u8]> {
    loop {
        let size = usize::from(u16_at(bytes, 0)?);
        let value = bytes.get(4..size)?;
        if u16_at(bytes, 2)? & 0x3fff == number {
            return Some(value);
        }
        bytes = bytes.get(size.next_multiple_of(4)..)?;
    }
}

/// An attribute of this number and value.
pub fn attribute_of(number: u16, value: &[u8]) -> Vec<u8> {
    let size = 4 + value.len();
    let mut bytes = [(size as u16).to_ne_bytes(), number.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(size.next_multiple_of(4), 0);
    bytes
}

/// A socket to the kernel.
#[derive(Debug)]
pub struct Netlink(OwnedFd);

impl Netlink {
    /// A new one.
    ///
    /// # Errors
    /// The kernel has none.
    pub fn new() -> Result<Self, Errno> {
        let it = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        setsockopt(&it, sockopt::ReceiveTimeout, &TimeVal::new(1, 0))?;
        Ok(Self(it))
    }

    fn ask(&self, kind: u16, flags: u16, told: &Told) -> Result<Vec<Told>, Errno> {
        let size = (HEAD + BODY + told.attributes.len()) as u32;
        let mut bytes = size.to_ne_bytes().to_vec();
        bytes.extend([kind.to_ne_bytes(), flags.to_ne_bytes()].concat());
        for each in [1, 0, 0, told.index, told.handle, told.parent, 0] {
            bytes.extend(each.to_ne_bytes());
        }
        bytes.extend(&told.attributes);
        send(self.0.as_raw_fd(), &bytes, MsgFlags::empty())?;
        let (mut found, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let count = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            if parse(&buffer[..count], &mut found)? {
                return Ok(found);
            }
        }
    }

    /// All queues, or all classes of an interface.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn list(&self, kind: u16, index: u32) -> Result<Vec<Told>, Errno> {
        self.ask(kind, REQUEST_DUMP, &Told { index, ..Told::default() })
    }

    /// Changes a queue or a class that is there.
    ///
    /// # Errors
    /// The kernel refuses; nothing is changed.
    pub fn change(&self, kind: u16, told: &Told) -> Result<(), Errno> {
        self.ask(kind, REQUEST_ACKNOWLEDGED, told).map(|_| ())
    }
}

/// Takes the messages of an answer; true if it was the last.
fn parse(mut bytes: &[u8], found: &mut Vec<Told>) -> Result<bool, Errno> {
    while let (Some(size), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let Some(body) = bytes.get(HEAD..size as usize) else { break };
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let number = u32_at(body, 0).map_or(0, |it| it as i32);
                return if number == 0 { Ok(true) } else { Err(Errno::from_raw(-number)) };
            }
            _ => {
                if let (Some(index), Some(handle), Some(parent), Some(attributes)) =
                    (u32_at(body, 4), u32_at(body, 8), u32_at(body, 12), body.get(BODY..))
                {
                    let attributes = attributes.to_vec();
                    found.push(Told { index, handle, parent, attributes });
                }
            }
        }
        let Some(rest) = bytes.get((size as usize).next_multiple_of(4)..) else { break };
        bytes = rest;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_no_message() {
        let mut found = Vec::new();
        let mut bytes = vec![0; 64];
        for size in [0u32, 1, 15, 16, 17, 64, 65, u32::MAX] {
            bytes[..4].copy_from_slice(&size.to_ne_bytes());
            // A size of 0 would be met for ever, so that the body has to be there.
            let _ = parse(&bytes, &mut found);
            let _ = attribute(&bytes, 1);
        }
        assert!(found.iter().all(|it| it.attributes.len() <= 28));
    }
}
