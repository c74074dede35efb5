//! Whose turn it is, by whichever scheduler.

use vermilion_parameters::Settings;

use crate::deficit_turns::{DeficitTurns, DrrPlusPlusSettings, DrrSettings};
use crate::shaped::{ShapedSettings, Shaper};

/// Order in which classes send.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// The first that can.
    Strict,
    Deficit(DeficitTurns),
    Shaped(Shaper),
}

impl Order {
    pub(crate) fn new(name: &str, settings: &Settings, weights: &[f64]) -> Self {
        match name {
            "strict" => Self::Strict,
            "drr" => {
                let set: DrrSettings = settings.read();
                Self::Deficit(DeficitTurns::new(false, set.quantum.0, weights))
            }
            "drr++" => {
                let set: DrrPlusPlusSettings = settings.read();
                Self::Deficit(DeficitTurns::new(true, set.quantum.0, weights))
            }
            _ => Self::Shaped(Shaper::new(settings.read())),
        }
    }

    /// Takes other settings; turns stay.
    pub(crate) fn set(&mut self, settings: &Settings, weights: &[f64]) {
        match self {
            Self::Strict => {}
            Self::Deficit(turns) => {
                // Both kinds have this row.
                let set: DrrSettings = settings.read();
                turns.set(set.quantum.0, weights);
            }
            Self::Shaped(shaper) => shaper.set(settings.read::<ShapedSettings>()),
        }
    }

    /// The class whose turn it is at `now`. `state` says of a class whether it has a packet and, if so, whether that may
    /// be sent.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now: u64,
        classes: usize,
        state: impl Fn(usize) -> Option<bool>,
    ) -> Option<usize> {
        match self {
            Self::Strict => (0..classes).find(|&class| state(class) == Some(true)),
            Self::Deficit(turns) => turns.next(state),
            Self::Shaped(shaper) => {
                (shaper.ready_at() <= now && state(0) == Some(true)).then_some(0)
            }
        }
    }

    /// A packet has joined a class and waits.
    #[inline]
    pub(crate) fn join(&mut self, class: usize) {
        if let Self::Deficit(turns) = self {
            turns.join(class);
        }
    }

    /// A class has sent so many bytes in its turn, at `now`.
    #[inline]
    pub(crate) fn charge(&mut self, now: u64, class: usize, bytes: u32) {
        match self {
            Self::Strict => {}
            Self::Deficit(turns) => turns.charge(class, bytes),
            Self::Shaped(shaper) => shaper.charge(now, bytes),
        }
    }

    /// Earliest time at which it lets anything be sent.
    #[inline]
    pub(crate) fn ready_at(&self) -> u64 {
        match self {
            Self::Shaped(shaper) => shaper.ready_at(),
            _ => 0,
        }
    }
}
