//! Disciplines that are written somewhere else than here, in another language for instance.
//!
//! The registry's disciplines are known when this crate is built; those of a user are not. Whoever
//! embeds the core hands over a [`ForeignFactory`] for each queue whose discipline is none of the
//! registry's. What it makes stands in one variant of
//! [`AnyDiscipline`](crate::AnyDiscipline), and only that variant pays for being called through a
//! table of functions.
//!
//! What a discipline may do here that the registry's cannot: fail. It keeps the failure to itself,
//! accepts every packet from then on, and has whoever embeds the core end the run.

use std::fmt::Debug;

use vermilion_parameters::{Algorithm, ParameterError, Settings};

use crate::{Arrival, Coin, Departure, Link, Verdict};

/// Makes the disciplines of one name.
pub trait ForeignFactory: Debug + Send + Sync {
    /// Name, source and parameter table.
    fn algorithm(&self) -> &'static Algorithm;

    /// See [`Discipline::new`](crate::Discipline::new).
    ///
    /// # Errors
    /// Values that the table accepts one by one but that do not go together.
    fn make(
        &self,
        settings: &Settings,
        link: Link,
    ) -> Result<Box<dyn ForeignDiscipline>, ParameterError>;
}

/// What [`Discipline`](crate::Discipline) is, callable without knowing its type. The methods mean
/// what they mean there.
pub trait ForeignDiscipline: Debug + Send + Sync {
    /// The description of its factory.
    fn algorithm(&self) -> &'static Algorithm;

    /// See [`Discipline::watches_departures`](crate::Discipline::watches_departures).
    fn watches_departures(&self) -> bool;

    /// See [`Discipline::reconfigure`](crate::Discipline::reconfigure).
    ///
    /// # Errors
    /// As for [`ForeignFactory::make`]; then nothing has changed.
    fn reconfigure(&mut self, settings: &Settings, link: Link) -> Result<(), ParameterError>;

    /// See [`Discipline::link_changed`](crate::Discipline::link_changed).
    fn link_changed(&mut self, link: Link);

    /// See [`Discipline::on_arrival`](crate::Discipline::on_arrival).
    ///
    /// It may draw coins ahead of their use: no one else draws from a queue's source.
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut dyn Coin) -> Verdict;

    /// See [`Discipline::on_departure`](crate::Discipline::on_departure).
    fn on_departure(&mut self, departure: &Departure, coin: &mut dyn Coin) -> Verdict;

    /// See [`Discipline::average_queue`](crate::Discipline::average_queue).
    fn average_queue(&self) -> Option<f64>;

    /// See [`Discipline::drop_probability`](crate::Discipline::drop_probability).
    fn drop_probability(&self) -> Option<f64>;

    /// An equal one that shares no state with this one.
    fn copy(&self) -> Box<dyn ForeignDiscipline>;
}

impl Clone for Box<dyn ForeignDiscipline> {
    fn clone(&self) -> Self {
        self.copy()
    }
}
