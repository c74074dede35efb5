//! A flow: its sender, its receiver, and what is counted of it.

use vermilion_tcp::{Receiver, Sender};

use crate::traffic::OpenLoop;

/// What drives a flow.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all flows are connections, and a pointer more per packet is measurable"
)]
pub enum Source {
    /// A window-based sender and its receiver.
    Window(Connection),
    /// Packets sent whatever happens to them.
    OpenLoop(Box<OpenLoop>),
}

/// Both ends of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The end that sends data.
    pub sender: Sender,
    /// The end that acknowledges.
    pub receiver: Receiver,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// What drives it.
    pub source: Source,
    /// Number of what it shares with others: its group, of one base round trip.
    pub group: u32,
    /// When it began, in nanoseconds.
    pub began: Option<u64>,
    /// When it ended, in nanoseconds.
    pub ended: Option<u64>,
}

/// What has been counted of a flow up to an instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Data bytes delivered in order, headers included.
    pub delivered_bytes: u64,
    /// Data segments delivered in order.
    pub delivered_segments: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Segments sent again.
    pub retransmissions: u64,
}

impl Flow {
    /// A flow of group `group` that has not begun.
    pub fn new(source: Source, group: u32) -> Self {
        Self { source, group, began: None, ended: None }
    }

    /// Whether it sends, or has something outstanding.
    pub fn active(&self) -> bool {
        self.began.is_some() && self.ended.is_none()
    }

    /// When the timer of its sender (`end` 0) or receiver (1) is due, in nanoseconds.
    #[inline]
    pub fn deadline(&self, end: u32) -> u64 {
        match &self.source {
            Source::OpenLoop(source) => source.next_time(),
            Source::Window(connection) if end == 0 => connection.sender.deadline(),
            Source::Window(connection) => connection.receiver.deadline(),
        }
    }

    /// What has been counted so far; `packet_size` is that of its group, in bytes.
    pub fn tally(&self, packet_size: u32) -> Tally {
        match &self.source {
            Source::Window(connection) => {
                // Segment 0 opens the connection and carries nothing.
                let delivered = u64::from(connection.receiver.next_expected().saturating_sub(1));
                let counters = connection.sender.counters();
                Tally {
                    delivered_bytes: delivered * u64::from(packet_size),
                    delivered_segments: delivered,
                    timeouts: counters.timeouts,
                    retransmissions: counters.retransmissions,
                }
            }
            Source::OpenLoop(source) => Tally {
                delivered_bytes: source.delivered_bytes,
                delivered_segments: source.delivered_packets,
                ..Tally::default()
            },
        }
    }
}
