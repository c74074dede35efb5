//! A few figures of what was measured since an instant, for whoever asks often.

use crate::flow::Tally;
use crate::histogram::Distribution;
use crate::link_window::LinkWindow;

/// The flows' counts at an instant.
#[derive(Clone, Debug)]
pub struct Mark {
    /// That instant, in nanoseconds.
    pub time: u64,
    /// Of the flows that the scenario names.
    pub tallies: Vec<Tally>,
    /// Of each group's transfers.
    pub transfers: Vec<Tally>,
}

/// A few figures of what was measured since a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Beginning of what was measured, in seconds.
    pub start_s: f64,
    /// End of what was measured, in seconds.
    pub end_s: f64,
    /// Of each link by its number; `None` where books are not kept.
    pub links: Vec<Option<LinkRecord>>,
    /// Of each group by its number.
    pub flows: Vec<GroupRecord>,
}

/// A link's part of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRecord {
    /// Bits sent over bits that could have been sent, 0..1.
    pub utilization: Option<f64>,
    /// Packets offered to the queue.
    pub arrivals: u64,
    /// Packets whose transmission began.
    pub packets_forwarded: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets waiting, over time; only with full books.
    pub queue_packets: Option<ShortSummary>,
    /// Waiting times in milliseconds, over packets; only with full books.
    pub sojourn_ms: Option<ShortSummary>,
}

/// A distribution's part of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShortSummary {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl ShortSummary {
    fn of(distribution: &Distribution, unit: f64) -> Option<Self> {
        let ([p50, p95, p99], weight) = distribution.quantiles([0.5, 0.95, 0.99])?;
        let mean = distribution.sum() as f64 / weight as f64 * unit;
        Some(Self { mean, p50: p50 * unit, p95: p95 * unit, p99: p99 * unit })
    }
}

/// A group's part of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupRecord {
    /// Goodput of all its flows together, in bits per second.
    pub goodput_bit_per_s: Option<f64>,
    /// Jain's fairness index of its flows' goodputs; not where flows come and go.
    pub jain_index: Option<f64>,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Segments sent again.
    pub retransmissions: u64,
}

impl LinkRecord {
    /// Of what was measured over a window.
    pub fn of(window: &LinkWindow) -> Self {
        Self {
            utilization: (window.capacity > 0.0).then(|| window.bits / window.capacity),
            arrivals: window.arrivals,
            packets_forwarded: window.forwarded,
            drops: window.drops,
            marks: window.marks,
            queue_packets: ShortSummary::of(&window.queue_packets, 1.0),
            sojourn_ms: ShortSummary::of(&window.sojourn, 1e-6),
        }
    }
}

impl GroupRecord {
    /// Of flows with these counts at two instants so many seconds apart, of which each packet has a header of `header` bytes.
    pub fn of(flows: &[(Tally, Tally)], seconds: f64, header: u64) -> Self {
        let (mut total, mut squares) = (0.0, 0.0);
        for (begin, end) in flows {
            let headers = (end.delivered_segments - begin.delivered_segments) * header;
            let bytes = (end.delivered_bytes - begin.delivered_bytes).saturating_sub(headers);
            let goodput = bytes as f64 * 8.0 / seconds;
            total += goodput;
            squares += goodput * goodput;
        }
        let sum =
            |of: fn(&Tally) -> u64| flows.iter().map(|(begin, end)| of(end) - of(begin)).sum();
        Self {
            goodput_bit_per_s: (seconds > 0.0).then_some(total),
            jain_index: (squares > 0.0 && seconds > 0.0)
                .then(|| total * total / (flows.len() as f64 * squares)),
            timeouts: sum(|tally| tally.timeouts),
            retransmissions: sum(|tally| tally.retransmissions),
        }
    }
}
