//! ProbeRTT: every five seconds the queue is drained to see the path's round trip.

use super::model::{Feedback, Model};
use super::report::Report;
use super::state::{LEAST_WINDOW, State};
use crate::Window;

const SECOND: u64 = 1_000_000_000;

/// How long the shortest round trip is believed (BBR.MinRTTFilterLen).
const BELIEVED: u64 = 10 * SECOND;

/// How long a probe is put off while round trips as short are seen (BBR.ProbeRTTInterval).
const INTERVAL: u64 = 5 * SECOND;

/// How long a probe keeps the network empty, at least (BBR.ProbeRTTDuration).
const DURATION: u64 = SECOND / 5;

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
    #[cold] // seldom
    #[inline(never)]
    pub(super) fn check_round_trip_probe(&mut self, report: &Report, window: &mut Window) {
        if self.state != State::ProbeRoundTrip && self.probe.expired && !report.after_idle {
            self.state = State::ProbeRoundTrip;
            self.save_window(window.congestion);
            self.probe.done_at = u64::MAX;
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
        if self.probe.done_at == u64::MAX {
            if report.in_network <= self.round_trip_probe_window() {
                self.probe.done_at = report.now + DURATION;
                self.probe.round_done = false;
                self.start_round(report);
            }
            return;
        }
        self.probe.round_done |= self.round_start;
        if self.probe.round_done && report.now > self.probe.done_at {
            self.probe.shortest_at = report.now;
            self.restore_window(window);
            self.end_round_trip_probe(report);
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
