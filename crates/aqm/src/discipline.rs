//! What every discipline is.

use vermilion_parameters::{Algorithm, ParameterError, Settings};

use crate::{Arrival, Coin, Departure, Link, Verdict};

/// A queue discipline that serves first in, first out.
///
/// It advises a queue that others keep ([`Fifo`](crate::Fifo), or a link of the simulator); what keeps
/// the packets itself is a [`Scheduler`](crate::Scheduler).
///
/// Most decide when a packet arrives. One that also decides when a packet leaves, or has to know
/// what the queue did between two arrivals, watches departures.
pub trait Discipline: Sized {
    /// Name, source and parameter table.
    const ALGORITHM: Algorithm;

    /// Whether [`Discipline::on_departure`] has to be asked. Where it is not, a simulator can work
    /// out a packet's departure when it arrives.
    const WATCHES_DEPARTURES: bool = false;

    /// The same of these settings, where it depends on them. It stays as it is for a discipline's
    /// life: settings that would change it are refused while running.
    fn watches_departures(&self) -> bool {
        Self::WATCHES_DEPARTURES
    }

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

    /// Whether a change of settings drops all packets that wait: asked after one that has been taken,
    /// of disciplines that do not watch departures. Who keeps the queue then empties it.
    fn is_flushed_by_change(&self) -> bool {
        false
    }

    /// The link behind it has changed; the settings stay, the automatic ones as they were.
    fn link_changed(&mut self, link: Link);

    /// Decides over one arriving packet.
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict;

    /// Decides over the packet at the head whose turn it is: [`Verdict::Accept`] sends it. After a
    /// drop the next packet's turn comes at the same instant. A packet that finds the link idle has
    /// its turn as soon as it has been accepted.
    fn on_departure(&mut self, _departure: &Departure, _coin: &mut impl Coin) -> Verdict {
        Verdict::Accept
    }

    /// Its average queue in packets after the last arrival (or departure, if it watches them), if it keeps one. This is what it
    /// believes, not a measurement.
    fn average_queue(&self) -> Option<f64> {
        None
    }

    /// The probability, before any spacing, with which it drops or marks, if it has one.
    fn drop_probability(&self) -> Option<f64> {
        None
    }
}
