//! Time series read at a chosen interval.

use crate::any_link::AnyLink;

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
    last_bytes: u64,
}

impl Series {
    /// Reads `link` at `now`; `interval` is the time since the last reading, in nanoseconds.
    pub fn read(&mut self, now: u64, interval: u64, link: &mut AnyLink) {
        let ledger = link.ledger(now);
        let discipline = link.discipline();
        let average = discipline.average_queue().unwrap_or(f64::NAN);
        let probability = discipline.drop_probability().unwrap_or(f64::NAN);
        let (packets, bytes) = link.queue();
        let sent = ledger.forwarded_bytes - self.last_bytes;
        self.last_bytes = ledger.forwarded_bytes;
        self.time_s.push(now as f64 / 1e9);
        self.queue_packets.push(f64::from(packets));
        self.queue_bytes.push(bytes as f64);
        self.average_queue_packets.push(average);
        self.drop_probability.push(probability);
        self.throughput_bit_per_s.push(sent as f64 * 8e9 / interval as f64);
    }
}
