//! What a run yields, under the names users see.
//!
//! Numbers that cannot be computed are absent.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::flow::Tally;
use crate::link_books::Ledger;
use crate::link_window::LinkWindow;
pub use crate::packet_window::{LossRuns, PacketMetrics};
use crate::phases::Span;
pub use crate::quantiles::{Quantiles, Summary};
use crate::transfer_books::TransferMetrics;

/// Everything measured in a run.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// Packets whose transmission began, all links, whole run.
    pub packets_forwarded: u64,
    /// Events processed: how it was simulated, not what happened. Where packets are followed there may be more.
    pub events: u64,
    /// By name of the link.
    pub links: BTreeMap<String, LinkResults>,
    /// By name of the group.
    pub flows: BTreeMap<String, Spans<GroupMetrics>>,
}

/// Metrics over the whole measured time, and over each phase.
#[derive(Clone, Debug, Serialize)]
pub struct Spans<T> {
    /// From the warm-up to the end.
    pub total: T,
    /// Each phase.
    pub phases: Vec<T>,
}

/// Measurements at a link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkResults {
    /// Its metrics.
    #[serde(flatten)]
    pub spans: Spans<LinkMetrics>,
    /// Its books, from time 0.
    pub ledger: LedgerResults,
}

/// The books of a link over the whole run, from time 0.
///
/// `arrivals = forwarded + drops + queued`, and `backlog_packet_s = sojourn_packet_s` (Little's law
/// as an identity: the same area, summed over time and over packets).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LedgerResults {
    /// Packets offered to the queue.
    pub arrivals: u64,
    /// Packets whose transmission began.
    pub forwarded: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Forwarded packets that were lost on the wire.
    pub losses: u64,
    /// Packets still waiting at the end.
    pub queued: u64,
    /// Time integral of the packets waiting, in packet seconds.
    pub backlog_packet_s: f64,
    /// Sum over packets of the time each has waited, in packet seconds.
    pub sojourn_packet_s: f64,
}

impl LedgerResults {
    /// From a link's totals, the packets that wait, and for how many nanoseconds altogether.
    pub fn of(ledger: &Ledger, queued: u32, waiting_so_far: u128) -> Self {
        Self {
            arrivals: ledger.arrivals,
            forwarded: ledger.forwarded,
            drops: ledger.drops,
            marks: ledger.marks,
            losses: ledger.losses,
            queued: u64::from(queued),
            backlog_packet_s: ledger.backlog as f64 / 1e9,
            sojourn_packet_s: (ledger.sojourn + waiting_so_far) as f64 / 1e9,
        }
    }
}

/// Metrics of a link over a span.
#[derive(Clone, Debug, Serialize)]
pub struct LinkMetrics {
    /// Beginning of what was measured, in seconds.
    pub start_s: f64,
    /// End of what was measured, in seconds.
    pub end_s: f64,
    /// Bits sent over bits that could have been sent, 0..1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilization: Option<f64>,
    /// Packets whose transmission began.
    pub packets_forwarded: u64,
    /// Packets offered to the queue.
    pub arrivals: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Of them, those dropped because the buffer was full.
    pub overflow_drops: u64,
    /// Of them, those dropped by rule (average above the maximum threshold).
    pub forced_drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Of the forwarded packets, those lost on the wire.
    pub losses: u64,
    /// Drops over arrivals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_rate: Option<f64>,
    /// Marks over arrivals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_rate: Option<f64>,
    /// Losses over packets forwarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_rate: Option<f64>,
    /// Packets waiting when the span began.
    pub queued_at_start: u64,
    /// Packets waiting when the span ended.
    pub queued_at_end: u64,
    /// Packets waiting, over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_packets: Option<Summary>,
    /// Bytes waiting, over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_bytes: Option<Summary>,
    /// The discipline's own average in packets, over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_queue_packets: Option<Summary>,
    /// Waiting times in milliseconds, over packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sojourn_ms: Option<Summary>,
    /// Their whole distribution, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sojourn_distribution_ms: Option<Quantiles>,
}

impl LinkMetrics {
    /// Metrics of `window`, which covers `span`.
    pub fn of(window: &LinkWindow, span: Span, queued: (u64, u64)) -> Self {
        let rate =
            |count: u64| (window.arrivals > 0).then(|| count as f64 / window.arrivals as f64);
        Self {
            start_s: span.begin as f64 / 1e9,
            end_s: span.end as f64 / 1e9,
            utilization: (window.capacity > 0.0).then(|| window.bits / window.capacity),
            packets_forwarded: window.forwarded,
            arrivals: window.arrivals,
            drops: window.drops,
            overflow_drops: window.overflow_drops,
            forced_drops: window.forced_drops,
            marks: window.marks,
            losses: window.losses,
            drop_rate: rate(window.drops),
            mark_rate: rate(window.marks),
            loss_rate: (window.forwarded > 0)
                .then(|| window.losses as f64 / window.forwarded as f64),
            queued_at_start: queued.0,
            queued_at_end: queued.1,
            queue_packets: Summary::of(&window.queue_packets, 1.0),
            queue_bytes: Summary::of(&window.queue_bytes, 1.0),
            average_queue_packets: Summary::of(
                &window.average_queue,
                LinkWindow::average_in_packets(1.0),
            ),
            sojourn_ms: Summary::of(&window.sojourn, 1e-6),
            sojourn_distribution_ms: None,
        }
    }
}

/// Metrics of a group of flows over a span.
#[derive(Clone, Debug, Serialize)]
pub struct GroupMetrics {
    /// Beginning of what was measured, in seconds.
    pub start_s: f64,
    /// End of what was measured, in seconds.
    pub end_s: f64,
    /// Flows that were active at some time of the span.
    pub flows: u64,
    /// Goodput of those flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bit_per_s: Option<Goodput>,
    /// Jain's fairness index of their goodputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain_index: Option<f64>,
    /// Coefficient of variation of their goodputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_cov: Option<f64>,
    /// Flows that got less than [`STARVED_SHARE`] of what endless flows got on average, in all groups
    /// together; only of endless flows with a sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starved: Option<u64>,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Results of transfers; only where flows have an end of their own.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<TransferMetrics>,
    /// How its data packets fared; only where that was asked for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketMetrics>,
    /// Each of those flows; left out of batches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<FlowMetrics>,
    /// Goodput of each of those flows in bits per second, to be compared with other groups' flows.
    #[serde(skip)]
    pub(crate) goodputs: Vec<f64>,
}

/// The share of the mean goodput below which a flow counts as starved.
pub const STARVED_SHARE: f64 = 0.05;

/// Goodput of a group's flows in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Goodput {
    /// All together.
    pub total: f64,
    /// Goodput of single flows; not where flows come and go.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub of_flows: Option<GoodputOfFlows>,
}

/// Goodput over a group's flows in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GoodputOfFlows {
    /// Mean over flows.
    pub mean: f64,
    /// Standard deviation over flows.
    pub sd: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// Metrics of one flow over a span.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlowMetrics {
    /// Goodput in bits per second.
    pub goodput_bit_per_s: f64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// How long it took in seconds, if it completed in the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time_s: Option<f64>,
}

impl GroupMetrics {
    /// Metrics over `span` of flows whose tallies at its two ends are given, and their completion
    /// times in nanoseconds if they completed in it; `header_size` bytes of each packet are no
    /// goodput.
    pub fn of(
        span: Span,
        tallies: &[(Tally, Tally, Option<u64>)],
        header_size: u32,
        each: bool,
    ) -> Self {
        let seconds = (span.end - span.begin) as f64 / 1e9;
        let active = tallies.len() as u64;
        // In no time nobody gets anything that could be told.
        let tallies = if span.is_empty() { &[] } else { tallies };
        let flows: Vec<FlowMetrics> = tallies
            .iter()
            .map(|(begin, end, completion)| {
                let headers =
                    (end.delivered_segments - begin.delivered_segments) * u64::from(header_size);
                let bytes = (end.delivered_bytes - begin.delivered_bytes).saturating_sub(headers);
                FlowMetrics {
                    goodput_bit_per_s: bytes as f64 * 8.0 / seconds,
                    timeouts: end.timeouts - begin.timeouts,
                    retransmissions: end.retransmissions - begin.retransmissions,
                    completion_time_s: completion.map(|time| time as f64 * 1e-9),
                }
            })
            .collect();
        let goodputs = || flows.iter().map(|flow| flow.goodput_bit_per_s);
        let count = flows.len() as f64;
        let (total, squares) = goodputs().fold((0.0, 0.0), |(sum, squares), goodput| {
            (sum + goodput, squares + goodput * goodput)
        });
        let mean = total / count;
        let sd = (squares / count - mean * mean).max(0.0).sqrt();
        Self {
            start_s: span.begin as f64 / 1e9,
            end_s: span.end as f64 / 1e9,
            flows: active,
            goodput_bit_per_s: (!flows.is_empty()).then(|| Goodput {
                total,
                of_flows: Some(GoodputOfFlows {
                    mean,
                    sd,
                    min: goodputs().fold(f64::INFINITY, f64::min),
                    max: goodputs().fold(0.0, f64::max),
                }),
            }),
            jain_index: (squares > 0.0).then(|| total * total / (count * squares)),
            goodput_cov: (total > 0.0).then(|| sd / mean),
            starved: None,
            timeouts: flows.iter().map(|flow| flow.timeouts).sum(),
            retransmissions: flows.iter().map(|flow| flow.retransmissions).sum(),
            transfers: None,
            packets: None,
            goodputs: goodputs().collect(),
            each: if each { flows } else { Vec::new() },
        }
    }

    /// Counts the starved flows of several groups over the same span, of which none is a better
    /// measure of what a flow should get than all together.
    pub(crate) fn count_starved(groups: &mut [&mut Self]) {
        let flows: usize = groups.iter().map(|group| group.goodputs.len()).sum();
        let total: f64 = groups.iter().flat_map(|group| &group.goodputs).sum();
        let least = STARVED_SHARE * total / flows as f64;
        for group in groups.iter_mut().filter(|group| !group.goodputs.is_empty()) {
            let starved = group.goodputs.iter().filter(|goodput| **goodput < least).count();
            group.starved = Some(starved as u64);
        }
    }

    /// Metrics over `span` of flows that come and go, of which none is known by itself. If a `source_runs` that
    /// may begin some, none at all is a goodput of 0.
    pub fn of_transfers(
        span: Span,
        transfers: Option<TransferMetrics>,
        source_runs: bool,
        header_size: u32,
    ) -> Self {
        let seconds = (span.end - span.begin) as f64 / 1e9;
        let tally = transfers.as_ref().map_or_else(Tally::default, |transfers| transfers.tally);
        let headers = tally.delivered_segments * u64::from(header_size);
        let bits = tally.delivered_bytes.saturating_sub(headers) as f64 * 8.0;
        let flows = transfers.as_ref().map_or(0, |transfers| transfers.flows);
        Self {
            start_s: span.begin as f64 / 1e9,
            end_s: span.end as f64 / 1e9,
            flows,
            goodput_bit_per_s: ((flows > 0 || source_runs) && !span.is_empty())
                .then_some(Goodput { total: bits / seconds, of_flows: None }),
            jain_index: None,
            goodput_cov: None,
            starved: None,
            timeouts: tally.timeouts,
            retransmissions: tally.retransmissions,
            transfers,
            packets: None,
            each: Vec::new(),
            goodputs: Vec::new(),
        }
    }
}
