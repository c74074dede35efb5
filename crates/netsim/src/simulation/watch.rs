//! What somebody outside sees and may change while the network runs.

use vermilion_parameters::{ParameterError, Values};
use vermilion_tcp::Sender;

use super::Simulation;
use crate::flow::Source;
use crate::probe::Series;

impl Simulation {
    /// Counters that a router in front of link `link` exports, cumulative since time 0.
    pub fn counters(&mut self, link: usize) -> RouterCounters {
        let ledger = self.links[link].ledger(self.now);
        let (backlog_packets, backlog_bytes) = self.links[link].queue();
        RouterCounters {
            backlog_packets,
            backlog_bytes,
            forwarded_packets: ledger.forwarded,
            forwarded_bytes: ledger.forwarded_bytes,
            drops: ledger.drops,
            marks: ledger.marks,
        }
    }

    /// Flows that have begun and not ended.
    pub fn active_flows(&self) -> usize {
        self.flows.iter().filter(|flow| flow.active()).count()
    }

    /// Keeps round-trip samples from now on, for [`Simulation::take_round_trips`].
    pub fn watch_round_trips(&mut self) {
        self.monitor.get_or_insert_default();
        self.sends_by_call = true;
    }

    /// Round trips timed since the last call: flow and nanoseconds, queueing included.
    pub fn take_round_trips(&mut self) -> Vec<(u32, u64)> {
        self.monitor.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Traffic that each flow has sent through the queue of link `link` since the last call, data and
    /// acknowledgements apart; the first call begins to watch.
    pub fn take_flow_traffic(&mut self, link: usize) -> Vec<SentByFlow> {
        let flows = &self.flows;
        self.links[link]
            .take_traffic(self.now)
            .into_iter()
            .map(|sent| {
                let (flow, back) = (sent.direction >> 1, sent.direction & 1 == 1);
                let sender = match &flows[flow as usize].source {
                    Source::Window(connection) if !back => Some(&connection.sender),
                    _ => None,
                };
                SentByFlow {
                    flow,
                    back,
                    packets: sent.packets,
                    bytes: sent.bytes,
                    responsive: sender.is_some(),
                    ecn_capable: sender.is_some_and(Sender::is_ecn_capable),
                }
            })
            .collect()
    }

    /// Replaces parameters of a queue now; on error nothing changes.
    ///
    /// # Errors
    /// A value the discipline's table refuses, its field named from `links.` on.
    pub fn set_queue(&mut self, link: usize, values: &Values) -> Result<(), ParameterError> {
        self.take_parameters(link, values).map_err(|error| {
            let name = &self.scenario.links[link].name;
            error.under(&format!("links.{name}.queue"))
        })
    }

    /// Every parameter of a queue in force.
    pub fn queue_values(&self, link: usize) -> &Values {
        self.links[link].values()
    }

    /// The time series of each link; empty without a probe interval.
    pub fn series(&self) -> &[Series] {
        &self.measured.series
    }
}

/// Traffic that one flow has sent through a queue in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentByFlow {
    /// Number of the flow.
    pub flow: u32,
    /// True if these are its acknowledgements.
    pub back: bool,
    /// Packets whose transmission began.
    pub packets: u64,
    /// Bytes whose transmission began.
    pub bytes: u64,
    /// True if losing some of them would make the sender slow down.
    pub responsive: bool,
    /// True if some of them may be marked instead of dropped.
    pub ecn_capable: bool,
}

/// Counters that a router exports about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterCounters {
    /// Packets waiting.
    pub backlog_packets: u32,
    /// Bytes waiting.
    pub backlog_bytes: u64,
    /// Packets whose transmission began, since time 0.
    pub forwarded_packets: u64,
    /// Bytes whose transmission began, since time 0.
    pub forwarded_bytes: u64,
    /// Packets dropped, since time 0.
    pub drops: u64,
    /// Packets marked, since time 0.
    pub marks: u64,
}
