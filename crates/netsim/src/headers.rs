//! Headers that packets carry: explicit feedback of disciplines to senders.
//!
//! Packets have no room for them, and most networks no use. So they are kept beside the packets, by what tells one
//! from all others, and only where a sender writes some. A queue asks for that of a packet which it has at
//! hand, and knows nothing of the network: while a network advances, its headers are those of the thread.

use std::cell::RefCell;
use std::collections::HashMap;

use vermilion_aqm::Header;

use crate::packet::Packet;

/// Headers on their way.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// Of data packets.
    carried: HashMap<(u64, u64), Header>,
    /// Of the last packet that a flow's receiver has got and not yet returned.
    received: HashMap<u32, Header>,
    /// Of acknowledgements, by their numbers.
    returned: HashMap<u32, Header>,
}

thread_local! {
    static HEADERS: RefCell<Option<Box<Headers>>> = const { RefCell::new(None) };
}

/// Makes these the headers of the thread, and returns those before.
pub fn exchange(headers: Option<Box<Headers>>) -> Option<Box<Headers>> {
    HEADERS.replace(headers)
}

fn with<T: Default>(act: impl FnOnce(&mut Headers) -> T) -> T {
    HEADERS.with_borrow_mut(|headers| headers.as_deref_mut().map(act).unwrap_or_default())
}

/// Header of a packet.
pub fn of(packet: &Packet) -> Option<Header> {
    with(|headers| headers.carried.get(&packet.identity()).copied())
}

/// A queue writes the header of a packet that carries one.
pub fn rewrite(packet: &Packet, header: Header) {
    with(|headers| _ = headers.carried.entry(packet.identity()).and_modify(|it| *it = header));
}

/// A sender writes the header of a packet.
pub fn write(packet: &Packet, header: Header) {
    with(|headers| _ = headers.carried.insert(packet.identity(), header));
}

/// A packet has been dropped.
pub fn forget(packet: &Packet) {
    with(|headers| _ = headers.carried.remove(&packet.identity()));
}

/// A packet has reached its receiver.
pub fn receive(packet: &Packet) {
    with(|headers| {
        if let Some(header) = headers.carried.remove(&packet.identity()) {
            headers.received.insert(packet.flow(), header);
        }
    });
}

/// Header that the receiver of a flow returns by an acknowledgement which its sender has at once.
pub fn return_at_once(flow: u32) -> Option<Header> {
    with(|headers| headers.received.remove(&flow))
}

/// The receiver of a flow returns its header by acknowledgement number `number`.
pub fn return_by(flow: u32, number: u32) {
    with(|headers| {
        _ = match headers.received.remove(&flow) {
            Some(header) => headers.returned.insert(number, header),
            // The number may have been that of one that was lost.
            None => headers.returned.remove(&number),
        };
    });
}

/// Header that acknowledgement number `number` returns.
pub fn take_returned(number: u32) -> Option<Header> {
    with(|headers| headers.returned.remove(&number))
}

/// A new connection begins at a place in the table of flows.
pub fn begin(flow: u32) {
    with(|headers| _ = headers.received.remove(&flow));
}
