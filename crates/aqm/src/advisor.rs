//! What a first-in, first-out queue asks the discipline in front of it.
//!
//! Every [`Discipline`] answers, and so does one that was chosen at run time
//! ([`AnyDiscipline`](crate::AnyDiscipline)), which has no parameter table of its own.

use crate::{Arrival, Coin, Departure, Discipline, Verdict};

/// See the module's head. What the methods mean is said at [`Discipline`].
pub trait Advisor {
    /// See [`Discipline::on_arrival`].
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict;

    /// See [`Discipline::on_departure`].
    fn on_departure(&mut self, departure: &Departure, coin: &mut impl Coin) -> Verdict;

    /// See [`Discipline::average_queue`].
    fn average_queue(&self) -> Option<f64>;

    /// See [`Discipline::drop_probability`].
    fn drop_probability(&self) -> Option<f64>;
}

impl<D: Discipline> Advisor for D {
    #[inline(always)]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        Discipline::on_arrival(self, arrival, coin)
    }

    #[inline(always)]
    fn on_departure(&mut self, departure: &Departure, coin: &mut impl Coin) -> Verdict {
        Discipline::on_departure(self, departure, coin)
    }

    #[inline(always)]
    fn average_queue(&self) -> Option<f64> {
        Discipline::average_queue(self)
    }

    fn drop_probability(&self) -> Option<f64> {
        Discipline::drop_probability(self)
    }
}
