//! What came of a run.

use serde::Serialize;

use crate::queue_window::QueueBytes;

/// Everything that is told of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// Seed of the run.
    pub seed: u64,
    /// Instant of its end, in seconds.
    pub ended_at_s: f64,
    /// Transfers that began.
    pub transfers: usize,
    /// Those of them that were not done at the end.
    pub not_done: usize,
    /// Mean completion time of those that were, in seconds.
    pub mean_completion_s: Option<f64>,
    /// Completion time over that in the empty network, of all sizes.
    pub slowdown: SizeClass,
    /// The same by classes of sizes.
    pub slowdown_by_size: Vec<SizeClass>,
    /// Data packets that were carried over a link, once for each link.
    pub packet_hops: u64,
    /// Acknowledgements, notifications and pauses likewise.
    pub control_hops: u64,
    /// Packets that were marked.
    pub marks: u64,
    /// Packets that found no room.
    pub drops: u64,
    /// Packets that were sent again.
    pub retransmissions: u64,
    /// Pauses that took effect.
    pub pauses: u64,
    /// Time that links were paused, added up, in seconds.
    pub paused_s: f64,
    /// Links that were ever paused.
    pub paused_links: usize,
    /// Transfers that were held up by pauses and crossed no congested port.
    pub victims: Victims,
    /// The first circle of paused links that wait for each other.
    pub deadlock: Option<Deadlock>,
    /// Each switch's memory.
    pub switches: Vec<SwitchResult>,
    /// Links that lost, marked or were paused, or that were watched.
    pub links: Vec<LinkResult>,
    /// Each open-loop part of the traffic.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_loop: Vec<OpenLoopResult>,
}

/// What came of an open-loop part of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OpenLoopResult {
    /// Number of the part, from 0.
    pub traffic: usize,
    /// Sources that began.
    pub sources: u64,
    /// Packets that left their hosts; what was neither received nor lost was under way at the end.
    pub packets_sent: u64,
    /// Packets that arrived.
    pub packets_received: u64,
    /// Packets that found no room, or could not be marked.
    pub packets_lost: u64,
    /// From when a source had a packet to its arrival; `None` if none arrived.
    pub delay_s: Option<Delays>,
    /// Payload that arrived, in bit/s, from the first instant to the last instant or arrival.
    pub goodput_bit_per_s: f64,
}

/// Delays in seconds; percentiles within 0.4 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Delays {
    /// Mean.
    pub mean: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Slowdowns of transfers of some sizes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SizeClass {
    /// Least size in bytes; the next class begins where this one ends.
    pub from_bytes: u64,
    /// Transfers that are done.
    pub done: usize,
    /// Transfers that are not.
    pub not_done: usize,
    /// Mean slowdown.
    pub mean: Option<f64>,
    /// Its median.
    pub p50: Option<f64>,
    /// Its 95th percentile.
    pub p95: Option<f64>,
    /// Its 99th percentile.
    pub p99: Option<f64>,
}

/// Transfers that pauses held up though they crossed no congested port.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Victims {
    /// How many.
    pub transfers: usize,
    /// Their mean slowdown.
    pub mean_slowdown: Option<f64>,
}

/// Paused links that wait for each other.
#[derive(Clone, Debug, Serialize)]
pub struct Deadlock {
    /// When it was seen, in seconds.
    pub at_s: f64,
    /// The links, each by its two nodes, each waiting for the next.
    pub links: Vec<(u32, u32)>,
}

/// The memory of a switch.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SwitchResult {
    /// Its node.
    pub node: u32,
    /// Shared bytes.
    pub shared_bytes: u64,
    /// Most of them that were ever used.
    pub deepest_bytes: u64,
}

/// One link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkResult {
    /// Node that it comes from.
    pub from: u32,
    /// Node that it leads to.
    pub to: u32,
    /// Data packets that it carried.
    pub packets: u64,
    /// Part of the time that it was busy with data.
    pub utilisation: f64,
    /// Packets marked.
    pub marks: u64,
    /// Packets that found no room.
    pub drops: u64,
    /// Pauses.
    pub pauses: u32,
    /// Time that it was paused, in seconds.
    pub paused_s: f64,
    /// Longest queue in bytes.
    pub deepest_bytes: u32,
    /// Its queue, if it was watched.
    pub queue_bytes: Option<QueueBytes>,
}

/// Every transfer, as columns in the order of their starts.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Host that sends.
    pub source: Vec<i64>,
    /// Host that receives.
    pub destination: Vec<i64>,
    /// Bytes.
    pub bytes: Vec<i64>,
    /// Start in seconds.
    pub start_s: Vec<f64>,
    /// Completion time in seconds, NaN if it was not done.
    pub completion_time_s: Vec<f64>,
    /// Completion time in the empty network, in seconds; NaN if it did not begin.
    pub ideal_time_s: Vec<f64>,
}

impl SizeClass {
    /// Of slowdowns in any order.
    #[must_use]
    pub fn of(from_bytes: u64, mut slowdowns: Vec<f64>, not_done: usize) -> Self {
        slowdowns.sort_unstable_by(f64::total_cmp);
        let done = slowdowns.len();
        let percentile = |part: f64| {
            // Between the two nearest, as numpy does it.
            let place = part * (done.checked_sub(1)? as f64);
            let (low, high) = (slowdowns[place as usize], slowdowns[place.ceil() as usize]);
            Some(low + (high - low) * place.fract())
        };
        let mean = (done > 0).then(|| slowdowns.iter().sum::<f64>() / done as f64);
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(percentile);
        Self { from_bytes, done, not_done, mean, p50, p95, p99 }
    }
}
