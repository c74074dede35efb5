//! What every discipline is, whoever made it and whatever it decides over.
//!
//! The interface is said in three parts. [`Discipline`] is the one that runs: what it can be told
//! and what it says of itself. [`Decide`] is what it does: a discipline in front of a first-in,
//! first-out queue answers over single packets; one that keeps the packets itself is a
//! [`Scheduler`](crate::Scheduler) instead. [`Listed`] is how one comes to be: its description, and a
//! fresh one from settings. Disciplines chosen at run time
//! ([`AnyDiscipline`](crate::AnyDiscipline)) and those from elsewhere
//! ([`ForeignDiscipline`](crate::ForeignDiscipline)) have the first two; only they have no description
//! of their own type.

use vermilion_parameters::{Algorithm, AlgorithmSettings, ParameterError, Setting, Settings};

use crate::{Arrival, Coin, Departure, DropReason, LinkFacts, Verdict};

/// A discipline while it runs.
pub trait Discipline {
    /// Return true if [`Decide::on_departure`] has to be asked. Where it is not, a simulator can work out a
    /// packet's departure when it arrives. It stays as it is for a discipline's life: settings that
    /// would change it are refused while running. Of those that keep the packets nobody asks.
    fn watches_departures(&self) -> bool {
        false
    }

    /// Takes new settings while running. What it has measured and learnt (average, counters, a
    /// probability it has adapted and that the settings do not change) is kept, and so are packets.
    ///
    /// # Errors
    /// As for [`Listed::new`], and what cannot change while running; then nothing has changed.
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError>;

    /// Return true if a change of settings drops all packets that wait: asked after one that has been taken,
    /// of disciplines that do not watch departures. Who keeps the queue then empties it.
    fn is_flushed_by_change(&self) -> bool {
        false
    }

    /// The link behind it has changed; the settings stay, the automatic ones as they were.
    fn link_changed(&mut self, _link: LinkFacts) {}

    /// Its average queue in packets after the last arrival (or departure, if it watches them), if it
    /// keeps one. This is what it believes, not a measurement.
    fn average_queue(&self) -> Option<f64> {
        None
    }

    /// The probability, before any spacing, with which it drops or marks, if it has one; where each
    /// flow has its own, the largest.
    fn drop_probability(&self) -> Option<f64> {
        None
    }

    /// Part of the discipline that has dropped a packet which it dropped for `reason`, in a word or two of its
    /// own; empty if it has none. Asked only where somebody writes drops down.
    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("probability", "probability of 1", "limit")
    }
}

/// Generates every method of [`Discipline`] by having another discipline answer. They are listed here alone, and
/// clippy refuses the implementations that are made of them if one that has a default is not among them: it
/// would compile, and answer the default.
///
/// The other one is a place that is reached from `it`: from the one that is asked, or from what a macro that is
/// called `through` makes of that. How the average is inlined is said in front, for it is asked for with every
/// packet.
macro_rules! answered_by {
    ($(#[$of_average:meta])? $it:ident => $other:expr) => {
        $crate::discipline::answered_by!(
            $(#[$of_average])? through $crate::discipline::itself, $it => $other
        );
    };
    ($(#[$of_average:meta])? through $through:path, $it:ident => $other:expr) => {
        fn watches_departures(&self) -> bool {
            $through!(self, $it => ($other).watches_departures())
        }

        fn reconfigure(
            &mut self,
            settings: &vermilion_parameters::Settings,
            link: $crate::LinkFacts,
        ) -> Result<(), vermilion_parameters::ParameterError> {
            $through!(self, $it => ($other).reconfigure(settings, link))
        }

        fn is_flushed_by_change(&self) -> bool {
            $through!(self, $it => ($other).is_flushed_by_change())
        }

        fn link_changed(&mut self, link: $crate::LinkFacts) {
            $through!(self, $it => ($other).link_changed(link));
        }

        $(#[$of_average])?
        fn average_queue(&self) -> Option<f64> {
            $through!(self, $it => ($other).average_queue())
        }

        fn drop_probability(&self) -> Option<f64> {
            $through!(self, $it => ($other).drop_probability())
        }

        fn cause(&self, reason: $crate::DropReason) -> &'static str {
            $through!(self, $it => ($other).cause(reason))
        }
    };
}
pub(crate) use answered_by;

/// Does something with the one that is asked.
macro_rules! itself {
    ($asked:expr, $it:ident => $call:expr) => {{
        let $it = $asked;
        $call
    }};
}
pub(crate) use itself;

/// A discipline that decides over a first-in, first-out queue which others keep
/// ([`Fifo`](crate::Fifo), or a link of the simulator), given coins of the kind `C`.
///
/// Most decide when a packet arrives. One that also decides when a packet leaves, or has to know
/// what the queue did between two arrivals, watches departures.
pub trait Decide<C: Coin + ?Sized>: Discipline {
    /// Decides over one arriving packet.
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict;

    /// Decides over the packet at the head whose turn it is: [`Verdict::Accept`] sends it. After a
    /// drop the next packet's turn comes at the same instant. A packet that finds the link idle has
    /// its turn as soon as it has been accepted.
    fn on_departure(&mut self, _departure: &Departure, _coin: &mut C) -> Verdict {
        Verdict::Accept
    }
}

/// A discipline that has a name and is made from settings: what stands in the
/// [registry](crate::registry).
pub trait Listed: Discipline + Sized {
    /// Its settings, from whose declaration the parameter table is.
    type Settings: AlgorithmSettings;

    /// Name, source and parameter table.
    const ALGORITHM: Algorithm = Self::Settings::ALGORITHM;

    /// A fresh one in front of `link` from settings that have been checked; one that keeps packets is empty.
    ///
    /// # Errors
    /// Values that the table accepts one by one but that do not go together.
    fn new(settings: Self::Settings, link: LinkFacts) -> Result<Self, ParameterError>;

    /// A fresh one in front of `link`.
    ///
    /// # Errors
    /// A value that the table refuses, and as for [`Listed::new`].
    fn with(settings: Self::Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        Self::new(settings.checked()?, link)
    }
}

/// Refuses to change while running what is in force for a queue's life.
pub(crate) fn keeps<T: Setting>(name: &str, in_force: T, wanted: T) -> Result<(), ParameterError> {
    if in_force == wanted {
        return Ok(());
    }
    let accepted = format!("{}, as the queue is running", in_force.write());
    Err(ParameterError::new(name, wanted.write(), accepted))
}
