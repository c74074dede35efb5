//! What BBR knows: its model of the path, where it is among its states, and how its probes stand.
//!
//! What it does with that is in the files named after the states (`startup.rs`, `cycle.rs`, `probe_rtt.rs`) and in
//! `bounds.rs`.

use super::filters::{AggregationFilter, BandwidthFilter};
use super::signals::DeliverySignals;
use super::state::State;

/// All of it, in the order in which it stands in memory: of many flows each acknowledgement asks for another one's
/// model. What every one asks for comes first, in four lines of the cache, and what few ask for after that.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Model {
    pub(super) begun: bool,
    pub(super) state: State,
    pub(super) round_start: bool,
    /// True if the pipe has ever been full (`BBR.full_bw_reached`).
    pub(super) filled: bool,
    pub(super) recovering: bool,
    /// A mark has been answered and not yet taken into the model.
    pub(super) marked: bool,
    /// Segments per second.
    pub(super) pacing_rate: f64,
    /// The least of the model's bandwidths (`BBR.bw`), in segments per second.
    pub(super) usable_bandwidth: f64,
    pub(super) bandwidth: BandwidthFilter,
    /// `BBR.bw_shortterm`.
    pub(super) short_term_bandwidth: f64,
    /// `BBR.inflight_shortterm`.
    pub(super) short_term_volume: f64,
    /// `BBR.inflight_longterm`.
    pub(super) long_term_volume: f64,

    pub(super) signals: DeliverySignals,
    /// `BBR.min_rtt` in nanoseconds; `u64::MAX` while unknown.
    pub(super) shortest_round_trip: u64,
    pub(super) shortest_round_trip_at: u64,
    pub(super) round_count: u64,
    pub(super) next_round_delivered: u64,
    /// One more than the deliveries by the time the window was last full; 0 if it never was.
    pub(super) window_full_before: u64,
    pub(super) cycle: Cycle,
    pub(super) probe: RoundTripProbe,
    pub(super) aggregation: AggregationFilter,

    // What few ask for.
    pub(super) pipe: FullPipe,
    pub(super) raise: Raise,
    pub(super) initial_window: f64,
    /// The window before recovery or probing the round trip.
    pub(super) prior_window: f64,
    pub(super) drain_start_round: u64,
    /// Acknowledgements that revealed losses in this round.
    pub(super) loss_events: u32,
}

const _: () = assert!(
    std::mem::offset_of!(Model, aggregation) + AggregationFilter::OFTEN_ASKED_FOR <= 4 * 64
);

impl Default for Model {
    fn default() -> Self {
        Self {
            begun: false,
            state: State::Startup,
            round_start: false,
            filled: false,
            recovering: false,
            marked: false,
            pacing_rate: 0.0,
            usable_bandwidth: 0.0,
            bandwidth: BandwidthFilter::default(),
            short_term_bandwidth: f64::INFINITY,
            short_term_volume: f64::INFINITY,
            long_term_volume: f64::INFINITY,
            signals: DeliverySignals::default(),
            shortest_round_trip: u64::MAX,
            shortest_round_trip_at: 0,
            round_count: 0,
            next_round_delivered: 0,
            window_full_before: 0,
            cycle: Cycle::default(),
            probe: RoundTripProbe::default(),
            aggregation: AggregationFilter::default(),
            pipe: FullPipe::default(),
            raise: Raise::default(),
            initial_window: 0.0,
            prior_window: 0.0,
            drain_start_round: 0,
            loss_events: 0,
        }
    }
}

/// Phase that the acknowledgements now arriving tell of a probe (`BBR.ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Feedback {
    #[default]
    None,
    Refilling,
    Starting,
    Probing,
    Stopping,
}

/// The probing cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    pub(super) feedback: Feedback,
    /// True if what was sent while probing is being acknowledged, and no loss has been answered
    /// (`BBR.is_bw_probe_sample`).
    pub(super) sampling: bool,
    /// True if the last probe lost too much.
    pub(super) too_high: bool,
    /// True if the last probe stopped at the long-term bound to be on the safe side.
    pub(super) precautionary: bool,
    /// When the cycle began, and how long to wait for the next probe, in nanoseconds.
    pub(super) start: u64,
    pub(super) wait: u64,
    pub(super) rounds_since_probe: u64,
}

/// How a probe raises the long-term bound.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Raise {
    /// Rounds over which it has done so.
    pub(super) rounds: u32,
    /// Segments acknowledged towards the next raise, and how many it takes.
    pub(super) acknowledged: f64,
    pub(super) each: f64,
}

/// The schedule of probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTripProbe {
    /// Shortest round trip of the last interval, and when it was seen.
    pub(super) shortest: u64,
    pub(super) shortest_at: u64,
    /// True if it is older than the interval.
    pub(super) expired: bool,
    /// When this probe may end; `u64::MAX` while the network is being emptied.
    pub(super) done_at: u64,
    pub(super) round_done: bool,
    /// Deliveries between which segments were sent that say nothing about the bandwidth.
    pub(super) limited: (u64, u64),
}

impl Default for RoundTripProbe {
    fn default() -> Self {
        Self {
            shortest: u64::MAX,
            shortest_at: 0,
            expired: false,
            done_at: u64::MAX,
            round_done: false,
            limited: (u64::MAX, 0),
        }
    }
}

impl RoundTripProbe {
    pub(super) fn begin(&mut self, now: u64) {
        self.shortest_at = now;
    }

    /// Return true if it is long ago that a round trip as short as any was seen.
    pub(super) fn is_expired(&self) -> bool {
        self.expired
    }

    /// Return true if a segment sent when `delivered` had been delivered was held back by a probe.
    pub(super) fn limits(&self, delivered: u64) -> bool {
        (self.limited.0..=self.limited.1).contains(&delivered)
    }
}

/// Looks for a plateau of the delivery rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    pub(super) baseline: f64,
    pub(super) rounds: u32,
    /// True if the plateau has been seen since it was last looked for (`BBR.full_bw_now`).
    pub(super) now: bool,
}

impl FullPipe {
    /// Looks anew, for growth over `baseline`.
    pub(super) fn reset(&mut self, baseline: f64) {
        *self = Self { baseline, rounds: 0, now: false };
    }
}
