use vermilion_aqm::Discipline;
use vermilion_parameters::{ParameterError, Values};

use crate::arrival_link::ArrivalLink;
use crate::delay_line::DelayLine;
use crate::departure_link::DepartureLink;
use crate::flow_traffic::Sent;
use crate::link_books::Ledger;
use crate::link_window::LinkWindow;
use crate::loss::LossModel;
use crate::packet::Packet;
use crate::random::Stream;
use crate::scenario;
use crate::turn_link::scheduler;

/// A link of either kind: departures are known at arrival, or are events.
///
/// The choice is made once, by the discipline; a packet pays one predictable branch for it.
#[derive(Clone, Debug)]
pub enum AnyLink {
    /// Departures are known at arrival.
    AtArrival(ArrivalLink),
    /// Departures are events.
    AtDeparture(DepartureLink),
}

/// Calls one method on whichever link it is.
macro_rules! either {
    ($link:expr, $it:ident => $call:expr) => {
        match $link {
            Self::AtArrival($it) => $call,
            Self::AtDeparture($it) => $call,
        }
    };
}

impl AnyLink {
    /// An idle link at time 0.
    pub fn new(link: &scenario::Link, coin: Stream, wire: Stream) -> Result<Self, ParameterError> {
        let (queue, values) = scheduler(link)?;
        if queue.watches_departures() || link.air.is_some() {
            return Ok(Self::AtDeparture(DepartureLink::new(link, queue, values, coin, wire)));
        }
        Ok(match queue.into_discipline() {
            Ok(discipline) => {
                Self::AtArrival(ArrivalLink::new(link, discipline, values, coin, wire))
            }
            Err(keeping) => {
                Self::AtDeparture(DepartureLink::new(link, *keeping, values, coin, wire))
            }
        })
    }

    /// Ends the window at `now`, adds it to each of `into`, and begins the next.
    pub fn close_window(&mut self, now: u64, into: &mut [&mut LinkWindow]) {
        either!(self, it => it.close_window(now, into));
    }

    /// From `now` on [`AnyLink::since_mark`] counts.
    pub fn mark(&mut self, now: u64) {
        either!(self, it => it.mark(now));
    }

    /// Measurements since the mark, if there is one.
    pub fn since_mark(&mut self, now: u64) -> Option<LinkWindow> {
        either!(self, it => it.since_mark(now))
    }

    /// Changes how the wire loses packets accepted from now on.
    pub fn set_loss(&mut self, model: LossModel) {
        either!(self, it => it.set_loss(model));
    }

    /// Totals since time 0, up to `now`.
    pub fn ledger(&mut self, now: u64) -> Ledger {
        either!(self, it => it.ledger(now))
    }

    /// Traffic that each flow has sent since the last call; the first call begins to watch.
    pub fn take_traffic(&mut self, now: u64) -> Vec<Sent> {
        match self {
            Self::AtArrival(link) => link.take_traffic(now),
            Self::AtDeparture(link) => link.take_traffic(),
        }
    }

    /// Waiting so far of the packets still in the queue, in nanoseconds.
    pub fn waiting_so_far(&self, now: u64) -> u128 {
        either!(self, it => it.waiting_so_far(now))
    }

    /// Propagation delay in nanoseconds.
    pub fn delay(&self) -> u64 {
        either!(self, it => it.delay())
    }

    /// Bits that could be sent from `begin` on and before `end`.
    pub fn capacity(&self, begin: u64, end: u64) -> f64 {
        either!(self, it => it.capacity(begin, end))
    }

    /// Packets and bytes waiting, as of the last look.
    pub fn queue(&self) -> (u32, u64) {
        either!(self, it => it.queue())
    }

    /// The discipline's own average queue in packets, if it keeps one.
    pub fn average_queue(&self) -> Option<f64> {
        either!(self, it => it.average_queue())
    }

    /// The discipline's drop probability, if it has one.
    pub fn drop_probability(&self) -> Option<f64> {
        either!(self, it => it.drop_probability())
    }

    /// Every parameter in force.
    pub fn values(&self) -> &Values {
        either!(self, it => it.values())
    }

    /// Replaces some parameters of the discipline; on error nothing changes. Whether what waits has
    /// to be dropped ([`AnyLink::flush`]).
    pub fn set_parameters(&mut self, now: u64, changed: &Values) -> Result<bool, ParameterError> {
        match self {
            Self::AtArrival(link) => link.set_parameters(now, changed),
            Self::AtDeparture(link) => link.set_parameters(now, changed).map(|()| false),
        }
    }

    /// Drops all packets that wait and gives them back. Only disciplines that decide at arrival ask
    /// for it.
    pub fn flush(&mut self, now: u64, lines: &mut [DelayLine]) -> Vec<Packet> {
        match self {
            Self::AtArrival(link) => link.flush(now, lines),
            Self::AtDeparture(_) => Vec::new(),
        }
    }

    /// Changes the propagation delay for packets whose transmission begins from `now` on. The caller
    /// re-enters links and delay lines in the calendar.
    pub fn set_delay(&mut self, now: u64, delay: u64, lines: &mut [DelayLine]) {
        match self {
            Self::AtArrival(link) => link.set_delay(now, delay, lines),
            Self::AtDeparture(link) => link.set_delay(delay),
        }
    }

    /// Changes the rate at `now` and re-times what was timed. The caller must have closed the
    /// window, and re-enters links and delay lines in the calendar.
    pub fn set_rate(&mut self, now: u64, rate: u64, lines: &mut [DelayLine]) {
        either!(self, it => it.set_rate(now, rate, lines));
    }
}
