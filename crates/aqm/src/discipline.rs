//! What every discipline is.

use vermilion_parameters::{Algorithm, Settings};

use crate::{Arrival, Coin, Link, Verdict};

/// A queue discipline that decides when a packet arrives, and serves first in, first out.
pub trait Discipline: Sized {
    /// Name, source and parameter table.
    const ALGORITHM: Algorithm;

    /// A fresh discipline in front of `link`.
    fn new(settings: &Settings, link: Link) -> Self;

    /// Takes new settings while running; the state (average, counters) is kept.
    fn reconfigure(&mut self, settings: &Settings, link: Link);

    /// Decides over one arriving packet.
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict;

    /// Its average queue in packets after the last arrival, if it keeps one. This is what it
    /// believes, not a measurement.
    fn average_queue(&self) -> Option<f64> {
        None
    }

    /// The probability, before any spacing, with which it drops or marks, if it has one.
    fn drop_probability(&self) -> Option<f64> {
        None
    }
}
