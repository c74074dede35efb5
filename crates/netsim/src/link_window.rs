//! What is measured at a link over one stretch of time.

use vermilion_aqm::{DropKind, DropReason, Verdict};

use crate::histogram::Distribution;

/// Averages are filed in this fraction of a packet.
const AVERAGE_STEPS: f64 = 256.0;

/// Longest average queue that can be filed, in packets.
pub const LARGEST_AVERAGE: f64 = (u32::MAX / AVERAGE_STEPS as u32) as f64;

/// Everything measured at a link over a window; the distributions are empty where its books are not full.
#[derive(Clone, Debug, Default)]
pub struct LinkWindow {
    /// Packets waiting, weighted by time.
    pub queue_packets: Distribution,
    /// Bytes waiting, weighted by time.
    pub queue_bytes: Distribution,
    /// The discipline's own average in 1/256 packets, weighted by time.
    pub average_queue: Distribution,
    /// Waiting times in nanoseconds of the packets whose transmission began.
    pub sojourn: Distribution,
    /// Time integral of the packets waiting, in packet nanoseconds, that is in no distribution.
    pub backlog: u128,
    /// Waiting times in nanoseconds that are in no distribution, all together.
    pub waited: u128,
    /// Packets offered to the queue.
    pub arrivals: u64,
    /// Packets whose transmission began.
    pub forwarded: u64,
    /// Packets dropped, all reasons together.
    pub drops: u64,
    /// Packets dropped because the buffer was full.
    pub overflow_drops: u64,
    /// Packets dropped by rule rather than by chance.
    pub forced_drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets that were sent and lost on the wire.
    pub losses: u64,
    /// Bits sent, to the part of a packet.
    pub bits: f64,
    /// Bits that the link could have sent.
    pub capacity: f64,
}

impl LinkWindow {
    /// Counts an arrival and what has been decided over it.
    #[inline]
    pub fn count(&mut self, verdict: Verdict) {
        self.arrivals += 1;
        match verdict {
            Verdict::Accept | Verdict::MakeRoom { .. } => {}
            Verdict::Mark => self.marks += 1,
            Verdict::Drop(reason) => self.count_drop(reason),
        }
    }

    /// Counts a packet that is dropped and whose arrival is counted too.
    #[inline]
    pub fn count_drop(&mut self, reason: DropReason) {
        self.drops += 1;
        match reason.kind() {
            DropKind::Early => {}
            DropKind::Forced => self.forced_drops += 1,
            DropKind::Overflow => self.overflow_drops += 1,
        }
    }

    /// An average of so many packets as it is filed.
    #[inline]
    pub fn filed_average(packets: f64) -> u32 {
        // A conversion to 64 bits takes four times as many steps, and no queue is as long.
        (packets * AVERAGE_STEPS) as u32
    }

    /// Converts a filed average back to packets.
    pub fn average_in_packets(filed: f64) -> f64 {
        filed / AVERAGE_STEPS
    }

    /// Adds what another window holds.
    pub fn merge(&mut self, other: &Self) {
        self.queue_packets.merge(&other.queue_packets);
        self.queue_bytes.merge(&other.queue_bytes);
        self.average_queue.merge(&other.average_queue);
        self.sojourn.merge(&other.sojourn);
        self.backlog += other.backlog;
        self.waited += other.waited;
        self.arrivals += other.arrivals;
        self.forwarded += other.forwarded;
        self.drops += other.drops;
        self.overflow_drops += other.overflow_drops;
        self.forced_drops += other.forced_drops;
        self.marks += other.marks;
        self.losses += other.losses;
        self.bits += other.bits;
        self.capacity += other.capacity;
    }

    /// Takes out what an earlier window holds that is a part of this one.
    pub fn subtract(&mut self, earlier: &Self) {
        self.queue_packets.subtract(&earlier.queue_packets);
        self.queue_bytes.subtract(&earlier.queue_bytes);
        self.average_queue.subtract(&earlier.average_queue);
        self.sojourn.subtract(&earlier.sojourn);
        self.backlog -= earlier.backlog;
        self.waited -= earlier.waited;
        self.arrivals -= earlier.arrivals;
        self.forwarded -= earlier.forwarded;
        self.drops -= earlier.drops;
        self.overflow_drops -= earlier.overflow_drops;
        self.forced_drops -= earlier.forced_drops;
        self.marks -= earlier.marks;
        self.losses -= earlier.losses;
        self.bits -= earlier.bits;
        self.capacity -= earlier.capacity;
    }

    /// Begins anew, keeping the memory.
    pub fn clear(&mut self) {
        self.queue_packets.clear();
        self.queue_bytes.clear();
        self.average_queue.clear();
        self.sojourn.clear();
        (self.backlog, self.waited) = (0, 0);
        (self.arrivals, self.forwarded, self.drops) = (0, 0, 0);
        (self.overflow_drops, self.forced_drops, self.marks) = (0, 0, 0);
        self.losses = 0;
        (self.bits, self.capacity) = (0.0, 0.0);
    }
}
