//! What every discipline is.

use vermilion_parameters::{Algorithm, ParameterError, Settings};

use crate::{Arrival, Coin, Link, Verdict};

/// A queue discipline that decides when a packet arrives, and serves first in, first out.
pub trait Discipline: Sized {
    /// Name, source and parameter table.
    const ALGORITHM: Algorithm;

    /// A fresh discipline in front of `link`.
    ///
    /// # Errors
    /// Values that the table accepts one by one but that do not go together.
    fn new(settings: &Settings, link: Link) -> Result<Self, ParameterError>;

    /// Takes new settings while running. What it has measured and learnt (average, counters, a
    /// probability it has adapted and that the settings do not change) is kept.
    ///
    /// # Errors
    /// As for [`Discipline::new`]; then nothing has changed.
    fn reconfigure(&mut self, settings: &Settings, link: Link) -> Result<(), ParameterError>;

    /// The link behind it has changed; the settings stay, the automatic ones as they were.
    fn link_changed(&mut self, link: Link);

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
