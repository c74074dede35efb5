//! ProbeRTT: every five seconds the queue is drained to see the path's round trip.

use super::cycle::Feedback;
use super::state::State;
use super::{LEAST_WINDOW, Model, Report};
use crate::Window;

const SECOND: u64 = 1_000_000_000;

/// How long the shortest round trip is believed (BBR.MinRTTFilterLen).
const BELIEVED: u64 = 10 * SECOND;

/// How long a probe is put off while round trips as short are seen (BBR.ProbeRTTInterval).
const INTERVAL: u64 = 5 * SECOND;

/// How long a probe keeps the network empty, at least (BBR.ProbeRTTDuration).
const DURATION: u64 = SECOND / 5;

/// The schedule of probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTripProbe {
    /// Shortest round trip of the last interval, and when it was seen.
    shortest: u64,
    shortest_at: u64,
    /// Whether it is older than the interval.
    expired: bool,
    /// When this probe may end; `None` while the network is being emptied.
    done_at: Option<u64>,
    round_done: bool,
    /// Deliveries between which segments were sent that say nothing about the bandwidth.
    limited: (u64, u64),
}

impl Default for RoundTripProbe {
    fn default() -> Self {
        Self {
            shortest: u64::MAX,
            shortest_at: 0,
            expired: false,
            done_at: None,
            round_done: false,
            limited: (u64::MAX, 0),
        }
    }
}

impl RoundTripProbe {
    pub(super) fn begin(&mut self, now: u64) {
        self.shortest_at = now;
    }

    /// Whether it is long ago that a round trip as short as any was seen.
    pub(super) fn is_expired(&self) -> bool {
        self.expired
    }

    /// Whether a segment sent when `delivered` had been delivered was held back by a probe.
    pub(super) fn limits(&self, delivered: u64) -> bool {
        (self.limited.0..=self.limited.1).contains(&delivered)
    }
}

impl Model {
    /// `UpdateMinRTT`.
    #[inline(always)]
    pub(super) fn update_shortest_round_trip(&mut self, report: &Report) {
        let probe = &mut self.probe;
        probe.expired = report.now > probe.shortest_at + INTERVAL;
        if let Some(round_trip) = report.round_trip
            && (round_trip < probe.shortest || probe.expired)
        {
            probe.shortest = round_trip;
            probe.shortest_at = report.now;
        }
        let expired = report.now > self.shortest_round_trip_at + BELIEVED;
        if probe.shortest < self.shortest_round_trip || expired {
            self.shortest_round_trip = probe.shortest;
            self.shortest_round_trip_at = probe.shortest_at;
        }
    }

    /// `CheckProbeRTT`, where a probe is due or under way.
    #[inline(never)] // seldom
    pub(super) fn check_round_trip_probe(&mut self, report: &Report, window: &mut Window) {
        if self.state != State::ProbeRoundTrip && self.probe.expired && !report.after_idle {
            self.state = State::ProbeRoundTrip;
            self.save_window(window.congestion);
            self.probe.done_at = None;
            self.probe.limited.0 = report.delivered;
            self.cycle.feedback = Feedback::Stopping;
            self.start_round(report);
        }
        if self.state == State::ProbeRoundTrip {
            self.probe_round_trip(report, window);
        }
    }

    /// `HandleProbeRTT`.
    fn probe_round_trip(&mut self, report: &Report, window: &mut Window) {
        self.probe.limited.1 = report.delivered + report.in_network as u64;
        match self.probe.done_at {
            None => {
                if report.in_network <= self.round_trip_probe_window() {
                    self.probe.done_at = Some(report.now + DURATION);
                    self.probe.round_done = false;
                    self.start_round(report);
                }
            }
            Some(done_at) => {
                self.probe.round_done |= self.round_start;
                if self.probe.round_done && report.now > done_at {
                    self.probe.shortest_at = report.now;
                    self.restore_window(window);
                    self.end_round_trip_probe(report);
                }
            }
        }
    }

    /// `ExitProbeRTT`.
    fn end_round_trip_probe(&mut self, report: &Report) {
        self.forget_short_term();
        if self.filled {
            self.start_down(report);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// The window while a probe lasts.
    pub(super) fn round_trip_probe_window(&self) -> f64 {
        let gain = State::ProbeRoundTrip.window_gain();
        self.volume(self.usable_bandwidth, gain).max(LEAST_WINDOW)
    }
}
