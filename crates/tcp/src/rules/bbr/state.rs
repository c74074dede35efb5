//! The states, their gains, and the mixing that stands in for chance.

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
    /// What the bandwidth is multiplied with to give the pacing rate.
    pub(super) fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => 2.77,
            Self::Drain => 0.5,
            Self::Down => 0.9,
            Self::Cruise | Self::Refill | Self::ProbeRoundTrip => 1.0,
            Self::Up => 1.25,
        }
    }

    /// What bandwidth times round trip is multiplied with to give the window.
    pub(super) fn window_gain(self) -> f64 {
        match self {
            Self::Startup | Self::Drain | Self::Down | Self::Cruise | Self::Refill => 2.0,
            Self::Up => 2.25,
            Self::ProbeRoundTrip => 0.5,
        }
    }

    /// Whether it is one of the four that probe for bandwidth in turn.
    pub(super) fn is_cycling(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether losses are the price of looking for more bandwidth.
    pub(super) fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// 64 well-mixed bits of two numbers (the finisher of SplitMix64, Steele, Lea and Flood 2014).
pub(super) fn mix(first: u64, second: u64) -> u64 {
    let mut bits = first ^ second.rotate_left(32).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
