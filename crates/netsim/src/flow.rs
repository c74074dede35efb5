//! A flow: its sender, its receiver, and what is counted of it.

use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Receiver, Sender};

use crate::group::Group;
use crate::timers::{ARRIVAL, LATER};
use crate::traffic::{MOST_SEGMENTS, OpenLoop, Transfers};

// Kinds of timers. Pacing has one of its own: it is armed for every segment, and the
// retransmission timer, which is far later, stays where it is meanwhile.

/// The sender's: retransmission, or the next packet or transfer of what has no sender.
pub const SENDER: u32 = LATER;
/// The receiver's: delayed acknowledgements.
pub const RECEIVER: u32 = LATER | 1;
/// The same where it expires when such an acknowledgement reaches the sender.
pub const ANSWER: u32 = ARRIVAL | 1;
/// The sender's pacing.
pub const PACING: u32 = LATER | 2;

/// Driver of a flow.
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
    /// No packets of its own: it begins transfers, each of which is a flow.
    Transfers(Box<Transfers>),
}

/// Both ends of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The end that sends data.
    pub sender: Sender,
    /// The end that acknowledges.
    pub receiver: Receiver,
}

impl Connection {
    /// Both ends of a connection that has not begun, with endless data (as endless as sequence
    /// numbers allow). `clock_phase`: what the clock of the sender's host says at time 0, in nanoseconds.
    #[inline(always)] // so that it is made where it will stand
    pub fn new(profile: &Profile, clock_phase: u64) -> Self {
        let (mut sender, receiver) = profile.ends(clock_phase);
        sender.limit_to(MOST_SEGMENTS);
        Self { sender, receiver }
    }
}

/// Where a flow comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is one of its group's `count`.
    Scenario,
    /// The flow of that number, a source of transfers, has begun it.
    Source(u32),
    /// Nowhere: this is the empty place of a transfer that is over.
    Vacant,
}

// There are many: docs/laboratory/performance.md says how much memory each takes.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Flow>() == 536);

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Driver of it.
    pub source: Source,
    /// Number of what it shares with others: its group, of one base round trip.
    pub group: u32,
    /// When it began, in nanoseconds.
    pub began: Option<u64>,
    /// The first nanosecond at which it was active no more.
    pub ended: Option<u64>,
    /// Where it comes from.
    pub origin: Origin,
    /// Its packets and acknowledgements that the network holds.
    pub in_flight: u32,
    /// Its last data segment.
    pub last_segment: u32,
    /// Size of that segment on the wire, in bytes.
    pub last_size: u32,
    /// The receiver's next expected segment at which the transfer is complete; once it was
    /// reached, and for endless data, the greatest number.
    pub awaited: u32,
    /// When it was complete and how long that took, in nanoseconds.
    pub completed: Option<(u64, u64)>,
}

/// Counts of a flow up to an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    #[inline(always)] // as above
    pub fn new(source: Source, group: u32) -> Self {
        Self {
            source,
            group,
            began: None,
            ended: None,
            origin: Origin::Scenario,
            in_flight: 0,
            last_segment: u32::MAX,
            last_size: 0,
            awaited: u32::MAX,
            completed: None,
        }
    }

    /// The flow ends after so many data segments, the last of `last_size` bytes on the wire.
    pub fn limit_to(&mut self, (segments, last_size): (u32, u32)) {
        if let Source::Window(connection) = &mut self.source {
            connection.sender.limit_to(segments);
        }
        self.last_segment = segments;
        self.last_size = last_size;
        self.awaited = segments + 1;
    }

    /// Return true if it sends, or has something outstanding.
    pub fn active(&self) -> bool {
        let is_source = matches!(self.source, Source::Transfers(_));
        self.began.is_some() && self.ended.is_none() && !is_source
    }

    /// When timer `end` is due, in nanoseconds, in a network of these groups.
    pub fn deadline(&self, end: u32, groups: &[Group]) -> u64 {
        match &self.source {
            Source::OpenLoop(source) => source.next_time(),
            Source::Transfers(source) => source.next_time(),
            Source::Window(connection) => match end {
                SENDER => connection.sender.deadline(),
                RECEIVER | ANSWER => {
                    let after_receipt = groups[self.group as usize].route.after_receipt;
                    connection.receiver.deadline().saturating_add(after_receipt)
                }
                _ => match connection.sender.release() {
                    0 => u64::MAX,
                    release => release,
                },
            },
        }
    }

    /// Counts so far; `packet_size` is that of its group, in bytes, and `unheard` are segments that
    /// its receiver has besides those it knows of (`simulation/unheard.rs`).
    pub fn tally(&self, packet_size: u32, unheard: impl ExactSizeIterator<Item = u32>) -> Tally {
        match &self.source {
            Source::Window(connection) => {
                let expected = connection.receiver.next_expected_after(unheard);
                // Segment 0 opens the connection and carries nothing.
                let delivered = u64::from(expected.saturating_sub(1));
                let counters = connection.sender.counters();
                let whole = delivered == u64::from(self.last_segment);
                let missing = if whole { packet_size - self.last_size } else { 0 };
                Tally {
                    delivered_bytes: delivered * u64::from(packet_size) - u64::from(missing),
                    delivered_segments: delivered,
                    timeouts: counters.timeouts,
                    retransmissions: counters.retransmissions,
                }
            }
            Source::Transfers(_) => Tally::default(),
            Source::OpenLoop(source) => Tally {
                delivered_bytes: source.delivered_bytes,
                delivered_segments: source.delivered_packets,
                ..Tally::default()
            },
        }
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.delivered_bytes += other.delivered_bytes;
        self.delivered_segments += other.delivered_segments;
        self.timeouts += other.timeouts;
        self.retransmissions += other.retransmissions;
    }
}
