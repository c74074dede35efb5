use vermilion_rdma::Receiver;

use crate::connection::Connection;

/// What a queue pair waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Its turn at the NIC.
    Ready,
    /// The time of its next packet.
    Timed,
    /// An acknowledgement, as its window is full.
    Blocked,
    /// An acknowledgement, as all is sent.
    Sent,
}

/// A transfer under way, both ends of it.
#[derive(Clone, Debug)]
pub(crate) struct Pair<S> {
    /// State of its rate.
    pub state: S,
    pub mode: Mode,
    pub is_done: bool,
    /// Next packet to be sent, first not acknowledged, all of them.
    pub next: u32,
    pub unacknowledged: u32,
    pub total: u32,
    /// Payload of the last packet.
    pub last_payload: u32,
    /// Time of the next packet, and the part of a nanosecond after that.
    pub next_at: u64,
    pub fraction: f64,
    /// Size of the packet sent last, and the rate then.
    pub last_size: u32,
    /// Port of its host.
    pub uplink: u32,
    /// Number of the transfer.
    pub transfer: u32,
    /// Its packets and timers that are under way.
    pub under_way: u32,
    /// The timer that is in force.
    pub timer: u32,
    /// Links of its way.
    pub links: u8,
    /// When an acknowledgement last brought something new.
    pub progress_at: u64,
    /// Time that the links of its way had been paused before.
    pub paused_before: u64,
    pub receiver: Receiver,
    /// In place of all that, for a TCP connection.
    pub connection: Option<Box<Connection>>,
}
