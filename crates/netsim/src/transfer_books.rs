//! What is counted of a group's transfers, which come and go.

use serde::Serialize;

use crate::completions::{CompletionTimes, Completions};
use crate::flow::Tally;
use crate::scenario::Scenario;
use crate::traffic::Played;

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
    /// Of videos.
    pub playback: Playback,
}

/// Segments of videos that have arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Playback {
    segments: u64,
    /// Sum of their rates, in bits a second.
    rates: f64,
    stalls: u64,
    /// How long playing has stalled, in nanoseconds.
    stalled: u64,
}

impl Playback {
    /// Counts a segment.
    pub fn add(&mut self, played: Played) {
        self.segments += 1;
        self.rates += played.rate;
        self.stalls += u64::from(played.stalled > 0);
        self.stalled += played.stalled;
    }
}

/// Metrics of videos over a span.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct VideoMetrics {
    /// Segments that arrived.
    pub segments: u64,
    /// Mean of their rates; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_rate_bit_per_s: Option<f64>,
    /// How often playing stalled before them.
    pub stalls: u64,
    /// How long, all flows together.
    pub stalled_s: f64,
}

impl VideoMetrics {
    fn between(begin: Playback, end: Playback) -> Self {
        let segments = end.segments - begin.segments;
        Self {
            segments,
            mean_rate_bit_per_s: (segments > 0)
                .then(|| (end.rates - begin.rates) / segments as f64),
            stalls: end.stalls - begin.stalls,
            stalled_s: (end.stalled - begin.stalled) as f64 * 1e-9,
        }
    }
}

/// Transfers of which each waits for all others.
#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    /// When the first of them began, in nanoseconds.
    began: Option<u64>,
    /// Those of which all has arrived.
    arrived: u32,
    /// Those whose sender knows.
    over: u32,
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
    barrier: Barrier,
    total: Completions,
    phases: Vec<Completions>,
}

impl TransferBooks {
    /// Empty books for each group, with so many measured phases.
    pub fn of(scenario: &Scenario, phases: usize) -> Vec<Self> {
        let empty = Self { phases: vec![Completions::default(); phases], ..Self::default() };
        vec![empty; scenario.flows.len()]
    }

    /// A transfer begins at `now`.
    pub fn begin(&mut self, now: u64) {
        self.counts.begun += 1;
        self.barrier.began.get_or_insert(now);
    }

    /// All of one of `count` transfers that wait for each other has arrived by `received`, which is as much later
    /// than its host's time as their beginning is by `late`.
    pub fn complete_part(&mut self, received: u64, late: u64, count: u32) {
        self.barrier.arrived += 1;
        if self.barrier.arrived == count
            && let Some(began) = self.barrier.began
        {
            self.window.add(received - (began - late));
        }
    }

    /// The sender of one of them knows. Return true if it is the last.
    pub fn pass(&mut self, count: u32) -> bool {
        self.barrier.over += 1;
        let is_last = self.barrier.over == count;
        if is_last {
            self.barrier = Barrier::default();
        }
        is_last
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
    /// Of videos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoMetrics>,
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
    pub fn of(
        counts: (TransferCounts, TransferCounts),
        completions: &Completions,
        is_video: bool,
    ) -> Self {
        let (begin, end) = counts;
        let completion_time_s = completions.summary();
        let (before, after) = (begin.tally, end.tally);
        Self {
            transfers_begun: end.begun - begin.begun,
            completed: completion_time_s.map_or(0, |times| times.count),
            transfers_refused: end.refused - begin.refused,
            completion_time_s,
            video: is_video.then(|| VideoMetrics::between(begin.playback, end.playback)),
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
