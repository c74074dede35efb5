use super::flight::Flight;
use crate::numbers::real;
use crate::rule::WindowRule;

/// Sendings that are not spaced, the opening segment's included.
const UNPACED: u64 = 10;

const SLOW_START_GAIN: f64 = 2.0;
const GAIN: f64 = 1.2;

/// Pacing: segments leave one by one over the round trip instead of in bursts.
///
/// A rule that governs its window (BBR) names the rate. For the others it is that of Linux
/// (`tcp_update_pacing_rate`): in a smoothed round trip twice the window while it is below half its threshold, 1.2
/// times the window beyond; or as many times what is outstanding, if that is more, as it is where losses are being
/// repaired. Of theirs the first ten segments of data are not paced (`tcp_update_skb_after_send`, after sch_fq), nor is
/// anything before a round trip is known.
///
/// Who hands its interface several segments at once spaces what it hands over (`segmentation.rs`, `departures.rs`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacing {
    on: bool,
    /// Segments that may leave at once, after one that has just left.
    at_once: u32,
    /// When the next segment may leave, in nanoseconds, if it is only pacing that holds it.
    pub(crate) release: u64,
}

impl Pacing {
    pub(crate) fn new(on: bool) -> Self {
        Self { on, at_once: 0, release: 0 }
    }

    /// Return true if segments are spaced at all.
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Return true if the next segment has to wait; then the timer will ask again.
    pub(crate) fn holds(&mut self, now: u64) -> bool {
        if !self.on {
            return false;
        }
        if self.release > now {
            return self.at_once == 0;
        }
        self.release = 0;
        false
    }

    /// Nothing more leaves now.
    pub(crate) fn end_burst(&mut self) {
        self.at_once = 0;
    }

    /// Segments per second at which they are spaced, if they are.
    pub(crate) fn rate(&self, flight: &Flight) -> Option<f64> {
        self.on.then(|| rate(flight)).flatten()
    }

    /// A segment has left. The next one may at `release`, but for so many `further` ones, which may leave at once.
    pub(crate) fn hold(&mut self, release: u64, further: u32) {
        self.release = release;
        self.at_once = if self.at_once == 0 { further } else { self.at_once - 1 };
    }
}

/// How long the rate has a segment wait after one that has just left, in nanoseconds, if they are spaced.
pub(crate) fn wait(flight: &Flight) -> Option<u64> {
    let rate = rate(flight).filter(|rate| *rate > 0.0)?;
    // At most a second: a rate that has collapsed must not silence a connection.
    Some(u64::from(((1e9 / rate) as u32).clamp(1, 1_000_000_000)))
}

/// Segments per second.
fn rate(flight: &Flight) -> Option<f64> {
    flight.rule.pacing_rate().or_else(|| {
        if u64::from(flight.highest) + flight.counters.retransmissions <= UNPACED {
            return None;
        }
        let round_trip = real(flight.timer.estimator.smoothed()?) / 1e9;
        Some(per_round_trip(flight) / round_trip)
    })
}

/// Segments that Linux would let leave in a smoothed round trip.
pub(super) fn per_round_trip(flight: &Flight) -> f64 {
    let window = &flight.window;
    let slow_start = window.congestion < window.slow_start_threshold / 2.0;
    let gain = if slow_start { SLOW_START_GAIN } else { GAIN };
    gain * window.congestion.max(f64::from(flight.outstanding()))
}
