//! One line of a packet trace.

use vermilion_aqm::{DropKind, DropReason};
use vermilion_tcp::SackBlocks;

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PacketEvent {
    /// An end sends it.
    Send,
    /// A sender sends a segment again that it has sent before.
    Retransmit,
    /// It reaches the queue of a link.
    Arrive,
    /// A queue marks it (CE).
    Mark,
    /// A queue drops it, or a scripted loss does.
    Drop,
    /// Its transmission begins.
    Depart,
    /// The wire behind the link loses it.
    Lose,
    /// It reaches an end.
    Deliver,
}

impl PacketEvent {
    /// Their names in tables, in the order of their numbers.
    pub const NAMES: [&str; 8] =
        ["send", "retransmit", "arrive", "mark", "drop", "depart", "lose", "deliver"];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// It is not.
    None,
    /// By chance, early, to give notice of congestion.
    Early,
    /// By the discipline's rule, without chance.
    Forced,
    /// Because the buffer was full.
    Overflow,
    /// Because new parameters emptied the queue.
    Flush,
    /// Because the scenario says so.
    Scripted,
}

impl Reason {
    /// Their names in tables, in the order of their numbers.
    pub const NAMES: [&str; 6] = ["", "early", "forced", "overflow", "flush", "scripted"];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl From<DropReason> for Reason {
    fn from(reason: DropReason) -> Self {
        match reason.kind() {
            DropKind::Early => Self::Early,
            DropKind::Forced => Self::Forced,
            DropKind::Overflow => Self::Overflow,
        }
    }
}

/// Where something happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// At the end that sends data.
    Sender,
    /// At the end that data goes to.
    Receiver,
    /// At the link of that number.
    Link(u32),
}

/// Something that happens to a packet. Times are those of the place where it happens.
#[derive(Clone, Copy, Debug)]
pub struct PacketRecord {
    /// When, in nanoseconds.
    pub time: u64,
    /// Which came first at one instant.
    pub order: u64,
    /// Its kind.
    pub event: PacketEvent,
    /// Where.
    pub place: Place,
    /// Number of its connection among [`Connections`](super::Connections).
    pub connection: u32,
    /// True if it is an acknowledgement.
    pub acknowledgement: bool,
    /// Number of the segment (0 opens a connection), or of the packet where there is no sender; of an
    /// acknowledgement the segment that the receiver waits for.
    pub sequence: u32,
    /// Size in bytes.
    pub size: u32,
    /// When its end sent it by the end's clock, in nanoseconds.
    pub sent: u64,
    /// The sending time that it echoes, in nanoseconds; 0 if there is none.
    pub echo: u64,
    /// Since when it has been on the way that ends here, in nanoseconds: in the queue for what leaves it,
    /// on its way from its end for what is delivered; otherwise the time itself.
    pub since: u64,
    /// ECN codepoint as in the IP header.
    pub ecn: u8,
    /// True if the segment was sent before.
    pub again: bool,
    /// True if it opens the connection, or answers what does.
    pub opens: bool,
    /// True if the sender says that it has reduced its window (CWR).
    pub window_reduced: bool,
    /// True if the receiver echoes a mark (ECE).
    pub congestion_echo: bool,
    /// Of an acknowledgement: marked segments that have arrived so far.
    pub marked: u32,
    /// Why it is dropped; of a mark, whether it was scripted.
    pub reason: Reason,
    /// Part of the discipline that has dropped it: its number among the [`Causes`](super::Causes).
    pub cause: u16,
    /// Of an acknowledgement: what has arrived beyond a gap.
    pub blocks: SackBlocks,
}

impl PacketRecord {
    /// The same packet, to which something else happens.
    #[must_use]
    pub fn then(mut self, time: u64, event: PacketEvent, place: Place) -> Self {
        (self.time, self.since, self.event, self.place) = (time, time, event, place);
        self
    }

    /// The same with another beginning of what ends here.
    #[must_use]
    pub fn since(mut self, since: u64) -> Self {
        self.since = since;
        self
    }
}
