//! The congestion window and its threshold.

use vermilion_parameters::{Packets, settings};

settings! {
    /// Settings of the window that every sender has.
    pub WindowSettings;
    /// largest window the receiver allows
    window_cap: Packets<u32> = 10000 in [1, 1e6], "ns-2.35 has 20";
    /// window after the connection is open
    initial_window: Packets<u32> = 2 in [1, 1e4],
        "ns-2.35 (since 2001); RFC 5681; RFC 6928 has 10";
    /// window at which the first slow start ends; 2: there is none; rules without one ignore it
    initial_slow_start_threshold: Option<Packets> = automatic in [2, 1e6],
        "RFC 5681: arbitrarily high; automatic: the window's cap";
}

/// Windows in segments; fractions accumulate over several acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window.
    pub congestion: f64,
    /// Slow start threshold: below it the window doubles in each round trip.
    pub slow_start_threshold: f64,
    /// Largest window the receiver allows.
    pub cap: f64,
}

impl Window {
    /// That of a connection that is open.
    pub(crate) fn new(set: &WindowSettings) -> Self {
        let cap = f64::from(set.window_cap.0);
        Self {
            congestion: f64::from(set.initial_window.0),
            slow_start_threshold: set.initial_slow_start_threshold.map_or(cap, |it| it.0),
            cap,
        }
    }

    /// Return true if the window is below the slow start threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.congestion < self.slow_start_threshold
    }

    /// Slow start by `segments`, no further than the threshold; what is left of `segments`.
    #[inline]
    pub fn slow_start(&mut self, segments: f64) -> f64 {
        let room = (self.slow_start_threshold - self.congestion).max(0.0);
        let grown = segments.min(room);
        self.congestion += grown;
        segments - grown
    }
}
