//! Time series read at a chosen interval.

use crate::any_link::AnyLink;
use crate::link_books::Ledger;

/// Reading of a link.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Totals since time 0.
    pub ledger: Ledger,
    /// The discipline's own average in packets, if it has one.
    pub average_queue: Option<f64>,
    /// The discipline's drop or mark probability, if it has one.
    pub drop_probability: Option<f64>,
    /// Packets and bytes that wait.
    pub queue: (u32, u64),
    /// Rate in bit/s.
    pub rate: f64,
}

/// The readings of one link. All columns have one length; what a discipline does not have is NaN.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Time in seconds.
    pub time_s: Vec<f64>,
    /// Packets waiting.
    pub queue_packets: Vec<f64>,
    /// Bytes waiting.
    pub queue_bytes: Vec<f64>,
    /// The discipline's own average in packets.
    pub average_queue_packets: Vec<f64>,
    /// The discipline's drop or mark probability.
    pub drop_probability: Vec<f64>,
    /// Rate forwarded since the last reading, in bits per second.
    pub throughput_bit_per_s: Vec<f64>,
    /// Rate of the link, or of its shaper where a law sets it, in bits per second; NaN at first where it varies.
    pub rate_bit_per_s: Vec<f64>,
    /// Packets that arrived since the last reading.
    pub arrivals: Vec<f64>,
    /// Of these and of those that waited, packets dropped since the last reading.
    pub drops: Vec<f64>,
    /// Packets marked since the last reading.
    pub marks: Vec<f64>,
    last: Ledger,
}

impl Series {
    /// No readings yet: the first will tell what has happened since the totals were these.
    pub fn since(last: Ledger) -> Self {
        Self { last, ..Self::default() }
    }

    /// Reads `link` at `now`; `interval` is the time since the last reading, in nanoseconds.
    pub(crate) fn read(&mut self, now: u64, interval: u64, link: &mut AnyLink, rate: f64) {
        let state = State {
            ledger: link.ledger(now),
            average_queue: link.average_queue(),
            drop_probability: link.drop_probability(),
            queue: link.queue(),
            rate,
        };
        self.note(now, interval, state);
    }

    /// Takes a reading at `now`; `interval` is the time since the last one, in nanoseconds.
    pub fn note(&mut self, now: u64, interval: u64, state: State) {
        let ledger = state.ledger;
        let average = state.average_queue.unwrap_or(f64::NAN);
        let probability = state.drop_probability.unwrap_or(f64::NAN);
        let (packets, bytes) = state.queue;
        let last = std::mem::replace(&mut self.last, ledger);
        let sent = ledger.forwarded_bytes - last.forwarded_bytes;
        self.time_s.push(now as f64 / 1e9);
        self.queue_packets.push(f64::from(packets));
        self.queue_bytes.push(bytes as f64);
        self.average_queue_packets.push(average);
        self.drop_probability.push(probability);
        self.throughput_bit_per_s.push(sent as f64 * 8e9 / interval as f64);
        self.rate_bit_per_s.push(state.rate);
        self.arrivals.push((ledger.arrivals - last.arrivals) as f64);
        self.drops.push((ledger.drops - last.drops) as f64);
        self.marks.push((ledger.marks - last.marks) as f64);
    }

    /// Readings that are kept.
    pub fn len(&self) -> usize {
        self.time_s.len()
    }

    /// Return true if none is kept.
    pub fn is_empty(&self) -> bool {
        self.time_s.is_empty()
    }

    /// The readings so far, which are forgotten here; the next one goes on from the last.
    pub fn take(&mut self) -> Self {
        let rest = Self::since(self.last);
        std::mem::replace(self, rest)
    }
}
