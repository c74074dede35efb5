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

use crate::discipline::answered_by;
use crate::{Arrival, Coin, Decide, Departure, Discipline, Header, LinkFacts, Verdict, Waiting};

/// Properties of a packet that only disciplines which keep it themselves are told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Carried {
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// Its header, which may be changed; `None` if it carries none.
    pub header: Option<Header>,
}

/// Makes the disciplines of one name.
pub trait ForeignFactory: Debug + Send + Sync {
    /// Name, source and parameter table.
    fn algorithm(&self) -> &'static Algorithm;

    /// See [`Listed::new`](crate::Listed::new).
    ///
    /// # Errors
    /// Values that the table accepts one by one but that do not go together.
    fn make(
        &self,
        settings: &Settings,
        link: LinkFacts,
    ) -> Result<Box<dyn ForeignDiscipline>, ParameterError>;
}

/// A [`Discipline`] that can be called without knowing its type: the coins that it is
/// given are of any kind. It may draw them ahead of their use: no one else draws from a queue's source.
pub trait ForeignDiscipline: for<'coin> Decide<dyn Coin + 'coin> + Debug + Send + Sync {
    /// The description of its factory.
    fn algorithm(&self) -> &'static Algorithm;

    /// An equal one that shares no state with this one.
    fn copy(&self) -> Box<dyn ForeignDiscipline>;

    /// Number of queues of its own, which stays: it is asked by [`ForeignDiscipline::admit`],
    /// [`ForeignDiscipline::choose`] and [`ForeignDiscipline::release`] then. 0: it decides over one first-in,
    /// first-out queue that others keep.
    fn queues(&self) -> usize {
        0
    }

    /// Number of the queue that a packet joins, and its fate. The arrival tells of the first queue.
    fn admit(
        &mut self,
        arrival: &Arrival,
        _carried: &mut Carried,
        coin: &mut dyn Coin,
    ) -> (usize, Verdict) {
        (0, self.on_arrival(arrival, coin))
    }

    /// Number of the queue whose first packet's turn it is: of one that is not empty.
    fn choose(&mut self, _now: u64, _coin: &mut dyn Coin) -> usize {
        0
    }

    /// Fate of the packet of queue `number` whose turn it is; the departure tells of that queue.
    fn release(
        &mut self,
        _number: usize,
        departure: &Departure,
        _carried: &mut Carried,
        coin: &mut dyn Coin,
    ) -> Verdict {
        self.on_departure(departure, coin)
    }

    /// Queue `number` has changed.
    fn show(&mut self, _number: usize, _waiting: &Waiting) {}
}

impl Clone for Box<dyn ForeignDiscipline> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

#[deny(clippy::missing_trait_methods)]
impl Discipline for Box<dyn ForeignDiscipline> {
    answered_by!(boxed => **boxed);
}

#[deny(clippy::missing_trait_methods)]
impl<C: Coin> Decide<C> for Box<dyn ForeignDiscipline> {
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        (**self).on_arrival(arrival, coin)
    }

    fn on_departure(&mut self, departure: &Departure, coin: &mut C) -> Verdict {
        (**self).on_departure(departure, coin)
    }
}
