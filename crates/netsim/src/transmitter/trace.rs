//! Delivery at the opportunities of a recorded trace, by the rules of Mahimahi's link emulator
//! (Netravali et al., USENIX ATC 2015; its `link_queue.cc`).
//!
//! Each opportunity delivers so many bytes of the packets that are waiting at its instant: several
//! small ones, or part of a larger one, which then waits for those that follow. What of it nobody
//! can use is lost; a packet that arrives at the very instant of an opportunity is too late for it.
//! The trace repeats, its last timestamp being its length.
//!
//! A packet counts as sent from the first opportunity that it uses until the last.

use std::sync::Arc;

use serde::Deserialize;
use vermilion_parameters::ParameterError;

use crate::limits::{FAR, LONGEST_DURATION, within};

/// Most opportunities of a trace.
pub const MOST_OPPORTUNITIES: usize = 10_000_000;

/// A recorded trace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveryTrace {
    /// When there is an opportunity, in nanoseconds, ascending; several may be at one instant.
    pub opportunities_ns: Arc<[u64]>,
    /// Capacity of each.
    pub bytes: u32,
}

impl DeliveryTrace {
    /// Refuses what is no trace.
    pub fn check(&self) -> Result<(), ParameterError> {
        let times = &self.opportunities_ns;
        within("trace", times.len() as u64, 1, MOST_OPPORTUNITIES as u64, "opportunities")?;
        within("trace", u64::from(self.bytes), 1, 65_535, "bytes")?;
        if let Some(index) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            let accepted = "a time not before that of the opportunity before";
            return Err(ParameterError::new("trace", times[index + 1], accepted));
        }
        within("trace", times[times.len() - 1], 1, LONGEST_DURATION, "ns in all")
    }
}

/// Sends at the opportunities of a trace.
#[derive(Clone, Debug)]
pub struct TracedLink {
    times: Arc<[u64]>,
    bytes: u64,
    /// The first opportunity that is not used up, counted through all repetitions.
    next: u64,
    /// Bytes of it that are used.
    used: u64,
    /// Positions at the last packet that came too late for what was left: before and after what
    /// nobody used.
    skipped: (u64, u64),
    /// When the last packet will have been sent.
    pub free_at: u64,
}

impl TracedLink {
    /// An idle transmitter; the trace has been checked.
    pub fn new(trace: &DeliveryTrace) -> Self {
        let (times, bytes) = (Arc::clone(&trace.opportunities_ns), u64::from(trace.bytes));
        Self { times, bytes, next: 0, used: 0, skipped: (0, 0), free_at: 0 }
    }

    /// The first opportunity after `arrival` that is left.
    pub fn begin(&self, arrival: u64) -> u64 {
        let next = self.time_of(self.next);
        if next > arrival { next } else { self.time_of(self.opportunities_until(arrival)) }
    }

    /// Sends `size` bytes from the opportunity at `begin` on, which [`TracedLink::begin`] told: when they are sent.
    pub fn transmit(&mut self, begin: u64, size: u32) -> u64 {
        if self.time_of(self.next) < begin {
            let before = self.position();
            self.next = self.opportunities_until(begin - 1);
            self.used = 0;
            self.skipped = (before, self.position());
        }
        let total = self.used + u64::from(size);
        self.free_at = self.time_of(self.next + total.saturating_sub(1) / self.bytes);
        self.next += total / self.bytes;
        self.used = total % self.bytes;
        self.free_at
    }

    /// The last packets given, of `bytes`, will not be sent; that before them will have been at `end`.
    pub fn take_back(&mut self, end: u64, bytes: u64) {
        let position = self.position().saturating_sub(bytes);
        self.next = position / self.bytes;
        self.used = position % self.bytes;
        self.free_at = end;
    }

    /// Bytes that could be sent before `time`: not what could be at that very instant.
    pub fn bytes_before(&self, time: u64) -> u64 {
        let before = time.checked_sub(1).map_or(0, |last| self.opportunities_until(last));
        before.saturating_mul(self.bytes)
    }

    /// When a packet will have been sent after which `bytes` have been given, which wait.
    pub fn end_of(&self, bytes: u64) -> u64 {
        self.time_of(self.position().saturating_sub(bytes + 1) / self.bytes)
    }

    /// The same number when a packet will have been sent after which `bytes` have been given, which
    /// wait: what it leaves of its last opportunities not counted.
    pub fn position_before(&self, bytes: u64) -> u64 {
        let (used, after) = self.skipped;
        let position = self.position().saturating_sub(bytes);
        // Those that wait came at the instant of its last opportunity.
        if position == after { used } else { position }
    }

    fn position(&self) -> u64 {
        self.next.saturating_mul(self.bytes).saturating_add(self.used)
    }

    fn period(&self) -> u64 {
        self.times[self.times.len() - 1]
    }

    fn time_of(&self, opportunity: u64) -> u64 {
        let count = self.times.len() as u64;
        let before = (opportunity / count).saturating_mul(self.period());
        before.saturating_add(self.times[(opportunity % count) as usize]).min(FAR)
    }

    fn opportunities_until(&self, time: u64) -> u64 {
        let within = time % self.period();
        let count = self.times.partition_point(|&opportunity| opportunity <= within);
        time / self.period() * self.times.len() as u64 + count as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn link(milliseconds: &[u64]) -> TracedLink {
        let trace = DeliveryTrace {
            opportunities_ns: milliseconds.iter().map(|time| time * MS).collect(),
            bytes: 1500,
        };
        trace.check().unwrap();
        TracedLink::new(&trace)
    }

    /// When a packet that arrives at `arrival` begins and ends, in milliseconds.
    fn send(link: &mut TracedLink, arrival: u64, size: u32) -> (u64, u64) {
        let begin = link.begin(arrival * MS);
        (begin / MS, link.transmit(begin, size) / MS)
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_wait_for_the_rest() {
        let mut link = link(&[1, 5, 5, 20]);
        assert_eq!(send(&mut link, 0, 1000), (1, 1));
        assert_eq!(send(&mut link, 0, 400), (1, 1));
        assert_eq!(send(&mut link, 0, 400), (1, 5)); // 100 bytes at 1 ms, 300 at 5 ms
        assert_eq!(send(&mut link, 0, 1200), (5, 5)); // fills the first at 5 ms
        assert_eq!(send(&mut link, 0, 1500), (5, 5)); // fills the second
        assert_eq!(send(&mut link, 0, 3001), (20, 25)); // 20 ms, 21 ms, one byte at 25 ms
    }

    #[test]
    fn what_is_not_used_is_lost() {
        let mut link = link(&[1, 5, 20]);
        assert_eq!(send(&mut link, 0, 100), (1, 1));
        // At 1 ms it is too late for what was left, and at 5 ms for the next.
        assert_eq!(send(&mut link, 1, 100), (5, 5));
        assert_eq!(send(&mut link, 5, 100), (20, 20));
        assert_eq!(send(&mut link, 205, 1500), (220, 220));
    }

    #[test]
    fn what_is_left_of_an_opportunity_is_not_ahead_of_who_used_the_first_part() {
        let mut link = link(&[1, 5, 5, 5, 20]);
        assert_eq!(send(&mut link, 1, 100), (5, 5));
        // It comes at the very instant, too late for the other 4400 bytes, and waits.
        assert_eq!(send(&mut link, 5, 200), (20, 20));
        assert_eq!(link.position_before(200) - link.bytes_before(5 * MS), 100);
        assert_eq!(link.position_before(0) - link.bytes_before(20 * MS), 200);
        link.take_back(5 * MS, 200);
        assert_eq!(link.position_before(0) - link.bytes_before(5 * MS), 100);
    }

    #[test]
    fn the_trace_repeats_after_its_last_timestamp() {
        // An opportunity at 0 falls together with the last one from the second repetition on.
        let mut link = link(&[0, 10]);
        let ends: Vec<u64> = (0..5).map(|_| send(&mut link, 0, 1500).1).collect();
        assert_eq!(ends, [10, 10, 20, 20, 30]);
        assert_eq!((link.bytes_before(0), link.bytes_before(1)), (0, 1500));
        assert_eq!(link.bytes_before(10 * MS), 1500);
        assert_eq!(link.bytes_before(10 * MS + 1), 4500);
        assert_eq!(link.position(), 6 * 1500);
    }
}
