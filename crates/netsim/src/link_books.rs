//! What is written down at a link, whichever way its packets wait.

use crate::link_window::LinkWindow;
use crate::queue_record::QueueRecord;
use crate::transmitter::Transmitter;

/// Totals since time 0, for the laws of conservation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    /// Packets offered.
    pub arrivals: u64,
    /// Packets whose transmission began.
    pub forwarded: u64,
    /// Bytes whose transmission began.
    pub forwarded_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets lost on the wire.
    pub losses: u64,
    /// Time integral of the packets waiting, in packet nanoseconds.
    pub backlog: u128,
    /// Sum of the waiting times of packets that left the queue, in nanoseconds.
    pub sojourn: u128,
}

/// See the module's head.
#[derive(Clone, Debug, Default)]
pub struct LinkBooks {
    /// Measurements since the last window was closed; the queue's lengths are still in `queue`.
    pub window: LinkWindow,
    queue: QueueRecord,
    /// Waiting in nanoseconds of the packets dropped from the queue in this window: the ledger has
    /// it, the metrics of sojourn, which are those of forwarded packets, do not.
    pub dropped_waiting: u128,
    /// Up to when the queue's statistics are complete.
    accounted: u64,
    /// The discipline's own average, if it keeps one.
    average: Option<f64>,
    average_since: u64,
    window_begin: u64,
    bits_ahead: f64,
    /// Bytes whose transmission began in this window: whole numbers add up faster than the bits will.
    bytes: u64,
    ledger: Ledger,
}

impl LinkBooks {
    /// Empty books at time 0; `average` is the discipline's own, if it keeps one.
    pub fn new(average: Option<f64>) -> Self {
        Self { average, ..Self::default() }
    }

    /// So many packets and bytes have been waiting until `now`.
    #[inline(always)] // twice for every packet: the calls were 4 % of a run
    pub fn hold_queue(&mut self, now: u64, packets: u32, bytes: u64) {
        let time = now - self.accounted;
        if time > 0 {
            self.queue.hold(packets, bytes, time, &mut self.window);
            self.accounted = now;
        }
    }

    /// Packets whose transmission has begun since time 0.
    pub fn forwarded(&self) -> u64 {
        self.ledger.forwarded + self.window.forwarded
    }

    /// Return true if the discipline keeps an average.
    #[inline]
    pub fn has_average(&self) -> bool {
        self.average.is_some()
    }

    /// The average, if the discipline keeps one, has been as it was until `now`, and is `next` from
    /// now on.
    #[inline(always)]
    pub fn hold_average(&mut self, now: u64, next: Option<f64>) {
        if let Some(average) = self.average {
            self.window.hold_average(average, now - self.average_since);
            self.average_since = now;
            self.average = next;
        }
    }

    /// A packet of `size` bytes that has waited for `waited` nanoseconds begins its transmission.
    #[inline]
    pub fn count_forwarded(&mut self, size: u32, waited: u64) {
        self.window.forwarded += 1;
        self.window.sojourn.count(waited);
        self.bytes += u64::from(size);
    }

    /// So many packets that have waited for `waited` nanoseconds altogether are dropped by no decision
    /// over them.
    pub fn count_flushed(&mut self, packets: u64, waited: u128) {
        self.window.drops += packets;
        self.dropped_waiting += waited;
    }

    /// Ends the window at `now`, adds it to each of `into`, and begins the next. The packet in
    /// transmission will have been sent at `end`, and the transmitter has been given so many bytes
    /// after it; the queue has been accounted for.
    pub fn close_window(
        &mut self,
        now: u64,
        transmitter: &Transmitter,
        (end, given_after): (u64, u64),
        into: &mut [&mut LinkWindow],
    ) {
        self.hold_average(now, self.average);
        // Bits were counted when transmissions began: what lies ahead belongs to the next window.
        let bits_ahead = transmitter.bits_ahead(now, end, given_after);
        self.window.bits = self.bytes as f64 * 8.0 + (self.bits_ahead - bits_ahead);
        self.window.capacity = transmitter.capacity(self.window_begin, now);
        self.ledger = self.ledger();
        for window in into {
            window.merge(&self.window);
        }
        self.window.clear();
        (self.dropped_waiting, self.bytes) = (0, 0);
        self.window_begin = now;
        self.bits_ahead = bits_ahead;
    }

    /// Totals since time 0, up to where the queue has been accounted for.
    pub fn ledger(&mut self) -> Ledger {
        self.queue.file(&mut self.window);
        let (mut ledger, window) = (self.ledger, &self.window);
        ledger.arrivals += window.arrivals;
        ledger.forwarded += window.forwarded;
        ledger.forwarded_bytes += self.bytes;
        ledger.drops += window.drops;
        ledger.marks += window.marks;
        ledger.losses += window.losses;
        ledger.backlog += window.queue_packets.sum();
        ledger.sojourn += window.sojourn.sum() + self.dropped_waiting;
        ledger
    }
}
