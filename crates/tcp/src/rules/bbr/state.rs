//! The states and their gains.

/// Least window, in segments (BBR.MinPipeCwnd).
pub(super) const LEAST_WINDOW: f64 = 4.0;

/// The states of the draft's section "Summary of Control Behavior in the State Machine".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    /// ProbeBW_DOWN.
    Down,
    /// ProbeBW_CRUISE.
    Cruise,
    /// ProbeBW_REFILL.
    Refill,
    /// ProbeBW_UP.
    Up,
    /// ProbeRTT.
    ProbeRoundTrip,
}

impl State {
    /// Factor that the bandwidth is multiplied with to give the pacing rate.
    pub(super) fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => 2.77,
            Self::Drain => 0.5,
            Self::Down => 0.9,
            Self::Cruise | Self::Refill | Self::ProbeRoundTrip => 1.0,
            Self::Up => 1.25,
        }
    }

    /// Factor that bandwidth times round trip is multiplied with to give the window.
    pub(super) fn window_gain(self) -> f64 {
        match self {
            Self::Startup | Self::Drain | Self::Down | Self::Cruise | Self::Refill => 2.0,
            Self::Up => 2.25,
            Self::ProbeRoundTrip => 0.5,
        }
    }

    /// Return true if it is one of the four that probe for bandwidth in turn.
    pub(super) fn is_cycling(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Return true if losses are the price of looking for more bandwidth.
    pub(super) fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}
