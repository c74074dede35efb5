//! The congestion window and its threshold.

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
    /// Return true if the window is below the slow start threshold.
    #[inline]
    #[must_use]
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
