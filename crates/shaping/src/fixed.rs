use vermilion_parameters::{BitPerSecond, settings};

use crate::{Answer, RateLaw, State};

settings! {
    /// Settings of [`Fixed`].
    pub FixedSettings "fixed": "Fixed rate", "The rate that somebody has chosen", "what most shapers have";
    /// rate of the shaper
    rate: BitPerSecond = 10e6 in [64, 1e13] log [1e5, 1e9], "ours";
}

/// A rate that does not change.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(f64);

impl Fixed {
    /// The law of these settings.
    #[must_use]
    pub fn new(set: FixedSettings) -> Self {
        Self(set.rate.0)
    }
}

impl RateLaw for Fixed {
    fn probe_sent(&mut self, _: u64, _: u64) {}

    fn answered(&mut self, _: Answer) {}

    fn lost(&mut self, _: u64) {}

    fn rate(&mut self, _: u64, _: u64) -> f64 {
        self.0
    }

    fn state(&self) -> State {
        State { rate: self.0, ..State::default() }
    }
}
