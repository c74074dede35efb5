//! Sockets for probes: sent as raw ICMP, heard on the interface itself.
//!
//! There a probe is heard when it has left the shaper, and an answer before it goes into one for arrivals, so that no
//! wait of one's own is in the delay.

use std::io::{Error, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt::ReceiveTimestampns,
};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use crate::clock::{SECOND, now, of_day};
use crate::probes::{Heard, parse, request};

const BYTES: usize = 256;
const ALL_PROTOCOLS: u16 = 3;

/// Sockets on one interface.
#[derive(Debug)]
pub struct Sockets {
    sends: Socket,
    hears: Socket,
    identifier: u16,
}

fn explain(interface: &str, error: &Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            "probes need the capability CAP_NET_RAW; run it as root".to_owned()
        }
        _ => format!("{interface}: no probe can be sent: {error}"),
    }
}

impl Sockets {
    /// Sockets on an interface, whose probes have this identifier.
    ///
    /// # Errors
    /// There is no such interface, or this process may not open them.
    pub fn new(interface: &str, identifier: u16) -> Result<Self, String> {
        Self::open(interface, identifier).map_err(|error| explain(interface, &error))
    }

    fn open(interface: &str, identifier: u16) -> Result<Self, Error> {
        let sends = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        let index = if_nametoindex(interface)?;
        sends.attach_filter(&[SockFilter::new(0x06, 0, 0, 0)])?; // answers are heard elsewhere
        sends.bind_device(Some(interface.as_bytes()))?;
        let protocol = Protocol::from(i32::from(ALL_PROTOCOLS.to_be()));
        let hears = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))?;
        hears.attach_filter(&own_probes(index, identifier))?;
        hears.set_nonblocking(true)?;
        setsockopt(&hears, ReceiveTimestampns, &true)?;
        Ok(Self { sends, hears, identifier })
    }

    /// What becomes readable when something is heard.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.hears.as_fd()
    }

    /// Sends a probe; one that cannot be sent is one that is not answered.
    pub fn send(&self, to: Ipv4Addr, sequence: u16) {
        let message = request(self.identifier, sequence);
        let _ = self.sends.send_to(&message, &SocketAddrV4::new(to, 0).into());
    }

    /// What was heard, and when.
    pub fn heard(&self) -> Vec<(Heard, u64)> {
        let mut found = Vec::new();
        let mut bytes = [0; BYTES];
        let mut space = nix::cmsg_space!(TimeSpec);
        loop {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let taken = recvmsg::<()>(
                self.hears.as_raw_fd(),
                &mut parts,
                Some(&mut space),
                MsgFlags::MSG_DONTWAIT,
            );
            let Ok(taken) = taken else { return found };
            let (time, count) = (now(), taken.bytes);
            let stamp = taken.cmsgs().ok().and_then(|mut notes| {
                notes.find_map(|note| match note {
                    ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
                    _ => None,
                })
            });
            let at = stamp.map_or(time, |stamp| {
                let stamp = stamp.tv_sec() as u64 * SECOND + stamp.tv_nsec() as u64;
                let at = stamp.saturating_sub(of_day());
                // A clock that was set in between makes no sense.
                if at <= time && time - at < SECOND { at } else { time }
            });
            found.extend(parse(&bytes[..count], self.identifier).map(|heard| (heard, at)));
        }
    }
}

/// Program of a socket filter that keeps ICMP of one interface with one identifier.
fn own_probes(index: u32, identifier: u16) -> [SockFilter; 13] {
    let it = SockFilter::new;
    [
        it(0x20, 0, 0, 0xffff_f008), // number of the interface
        it(0x15, 0, 10, index),
        it(0x28, 0, 0, 0xffff_f000), // protocol
        it(0x15, 0, 8, 0x0800),      // IPv4
        it(0x30, 0, 0, 0xfff0_0009),
        it(0x15, 0, 6, 1), // ICMP
        it(0x28, 0, 0, 0xfff0_0006),
        it(0x45, 4, 0, 0x1fff),      // no later fragment
        it(0xb1, 0, 0, 0xfff0_0000), // length of the IP header
        it(0x48, 0, 0, 0xfff0_0004), // identifier behind it
        it(0x15, 0, 1, u32::from(identifier)),
        it(0x06, 0, 0, BYTES as u32),
        it(0x06, 0, 0, 0),
    ]
}
