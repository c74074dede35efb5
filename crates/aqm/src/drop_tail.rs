//! Drop-tail: accept until the buffer is full.
//!
//! Source: the default queue of every router; head and random drop: B. Braden et al.,
//! "Recommendations on Queue Management and Congestion Avoidance in the Internet", RFC 2309, 1998,
//! section 2. A packet that arrives while `limit` packets wait is dropped; the packet in transmission
//! does not count. With `limit_bytes` one is dropped that would make more bytes wait than that.
//!
//! With `drop` = "head" the packet at the head is dropped for the one that arrives, with "random" any
//! one of those that wait and the one that arrives, all as likely; where packets differ in size, that
//! is repeated until there is room.
//!
//! Departures from ns-2's `DropTail`:
//! 1. ns-2 drops when the packet would be the `limit`-th in the queue, so its queue holds
//!    `limit - 1` packets; here the queue holds `limit`. In bytes it likewise drops where they would
//!    be equal to the limit.
//! 2. In bytes ns-2 drops only one packet from the head, however large the one that arrives.
//! 3. ns-2 has no random drop.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Settings};

use crate::{Arrival, Coin, Decide, Discipline, DropKind, DropReason, LinkFacts, Listed, Verdict};

/// Which packet has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Tail,
    Head,
    Random,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct DropTail {
    /// The greatest number where the limit is in bytes.
    limit: u32,
    limit_bytes: u64,
    victim: Victim,
}

impl Listed for DropTail {
    const ALGORITHM: Algorithm = Algorithm {
        name: "drop-tail",
        title: "Drop-tail",
        summary: "Accepts packets until the buffer is full",
        source: "the default of routers; baseline of RFC 7567; RFC 2309, section 2",
        parameters: &[
            Parameter::number("limit", "packets", Some(100.0), 1.0, 1e9)
                .whole()
                .described("packets the buffer holds", "a common default"),
            Parameter::number("limit_bytes", "bytes", None, 1.0, 1e15).whole().described(
                "bytes the buffer holds; automatic: the limit is in packets",
                "Linux: bfifo in the place of pfifo",
            ),
            Parameter::choice("drop", "tail", &["tail", "head", "random"]).described(
                "which packet a full buffer drops: the arriving one, the first, or any",
                "RFC 2309, section 2",
            ),
        ],
        ordered: &[],
    };

    fn new(settings: &Settings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let limit_bytes = settings.automatic("limit_bytes");
        let victim = if settings.is("drop", "tail") {
            Victim::Tail
        } else if settings.is("drop", "head") {
            Victim::Head
        } else {
            Victim::Random
        };
        Ok(Self {
            limit: limit_bytes.map_or(settings.number("limit") as u32, |_| u32::MAX),
            limit_bytes: limit_bytes.map_or(u64::MAX, |bytes| bytes as u64),
            victim,
        })
    }
}

impl Discipline for DropTail {
    fn watches_departures(&self) -> bool {
        // Which packets wait at which place is not known where departures are no events.
        self.victim != Victim::Tail
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let changed = Self::new(settings, link)?;
        if changed.watches_departures() != self.watches_departures() {
            let (value, accepted) = match changed.victim {
                Victim::Tail => ("\"tail\"", "head or random, as the queue is running"),
                Victim::Head => ("\"head\"", "tail, as the queue is running"),
                Victim::Random => ("\"random\"", "tail, as the queue is running"),
            };
            return Err(ParameterError::new("drop", value, accepted));
        }
        *self = changed;
        Ok(())
    }

    fn link_changed(&mut self, _link: LinkFacts) {}

    fn cause(&self, reason: DropReason) -> &'static str {
        match (reason.kind(), self.victim) {
            (DropKind::Overflow, Victim::Head) => "head",
            (DropKind::Overflow, Victim::Random) => "random place",
            _ => "tail",
        }
    }
}

impl<C: Coin> Decide<C> for DropTail {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        let bytes = arrival.queue_bytes + u64::from(arrival.size);
        if arrival.queue_packets < self.limit && bytes <= self.limit_bytes {
            Verdict::Accept
        } else {
            self.overflow(arrival.queue_packets, arrival.size, coin)
        }
    }
}

impl DropTail {
    /// There is no room for a packet of so many bytes, while so many are `waiting`.
    #[cold]
    fn overflow(&self, waiting: u32, size: u32, coin: &mut impl Coin) -> Verdict {
        let hopeless = u64::from(size) > self.limit_bytes;
        let place = match self.victim {
            _ if hopeless => waiting,
            Victim::Tail => waiting,
            Victim::Head => 0,
            Victim::Random => (coin.uniform() * (f64::from(waiting) + 1.0)) as u32,
        };
        if place < waiting {
            Verdict::MakeRoom { place, reason: DropReason::Overflow }
        } else {
            Verdict::Drop(DropReason::Overflow)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use vermilion_parameters::{Value, Values};

    #[test]
    fn the_packet_after_the_limit_is_dropped() {
        let values = Values::from([("limit".to_owned(), Value::Number(3.0))]);
        let settings = Settings::resolve(&DropTail::ALGORITHM, &values).unwrap();
        let mut queue = DropTail::new(&settings, LinkFacts { rate: 1e6, delay: 0.0 }).unwrap();
        let mut meet = |queue_packets| {
            let arrival =
                Arrival { size: 1000, ecn: Ecn::Ect0, queue_packets, ..Arrival::default() };
            queue.on_arrival(&arrival, &mut || 0.0)
        };
        assert_eq!(meet(2), Verdict::Accept);
        assert_eq!(meet(3), Verdict::Drop(DropReason::Overflow));
    }
}
