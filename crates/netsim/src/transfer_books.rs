//! What is counted of a group's transfers, which come and go.

use serde::Serialize;

use crate::completions::{CompletionTimes, Completions};
use crate::flow::Tally;
use crate::scenario::Scenario;

/// Counts of a group's transfers from time 0 up to an instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransferCounts {
    /// Transfers that have begun.
    pub begun: u64,
    /// Of them, those whose sender has been told that all has arrived.
    pub over: u64,
    /// Transfers that could not begin because too many were under way.
    pub refused: u64,
    /// Counts of connections that are over; in a snapshot, those under way as well.
    pub tally: Tally,
}

/// The books of one group, over the whole run.
#[derive(Clone, Debug, Default)]
pub struct TransferBooks {
    /// Since time 0.
    pub counts: TransferCounts,
    /// Places of flows that are over and of which the network holds nothing any more.
    pub vacant: Vec<u32>,
    /// Completion times since the last boundary of a span.
    pub window: Completions,
    total: Completions,
    phases: Vec<Completions>,
}

impl TransferBooks {
    /// Empty books for each group, with so many measured phases.
    pub fn of(scenario: &Scenario, phases: usize) -> Vec<Self> {
        let empty = Self { phases: vec![Completions::default(); phases], ..Self::default() };
        vec![empty; scenario.flows.len()]
    }

    /// Adds what was collected since the last boundary to the spans it belongs to.
    pub fn close_window(&mut self, in_total: bool, phase: Option<usize>) {
        if self.window.is_empty() {
            return;
        }
        if in_total {
            self.total.merge(&self.window);
        }
        if let Some(phase) = phase {
            self.phases[phase].merge(&self.window);
        }
        self.window.clear();
    }

    /// Completion times of a phase, or of the whole measured time.
    pub fn completions(&self, phase: Option<usize>) -> &Completions {
        phase.map_or(&self.total, |phase| &self.phases[phase])
    }
}

/// Metrics of a group's transfers over a span.
#[derive(Clone, Debug, Serialize)]
pub struct TransferMetrics {
    /// Transfers that began.
    pub transfers_begun: u64,
    /// Transfers that completed, whenever they had begun.
    pub completed: u64,
    /// Transfers that could not begin because too many were under way; absent where all could.
    #[serde(skip_serializing_if = "is_zero")]
    pub transfers_refused: u64,
    /// How long those that completed took; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time_s: Option<CompletionTimes>,
    /// Transfers under way at some time of the span.
    #[serde(skip)]
    pub flows: u64,
    /// Counts of their connections in the span.
    #[serde(skip)]
    pub tally: Tally,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TransferMetrics {
    /// Metrics of a span with these counts at its two ends.
    pub fn of(counts: (TransferCounts, TransferCounts), completions: &Completions) -> Self {
        let (begin, end) = counts;
        let completion_time_s = completions.summary();
        let (before, after) = (begin.tally, end.tally);
        Self {
            transfers_begun: end.begun - begin.begun,
            completed: completion_time_s.map_or(0, |times| times.count),
            transfers_refused: end.refused - begin.refused,
            completion_time_s,
            flows: end.begun - begin.over,
            tally: Tally {
                delivered_bytes: after.delivered_bytes - before.delivered_bytes,
                delivered_segments: after.delivered_segments - before.delivered_segments,
                timeouts: after.timeouts - before.timeouts,
                retransmissions: after.retransmissions - before.retransmissions,
            },
        }
    }
}
