//! Drop-tail: accept until the buffer is full.
//!
//! Source: the default queue of every router. A packet that arrives while `limit` packets wait is
//! dropped; the packet in transmission does not count.
//!
//! Departures from ns-2's `DropTail`:
//! 1. ns-2 drops when the packet would be the `limit`-th in the queue, so its queue holds
//!    `limit - 1` packets; here the queue holds `limit`.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Settings};

use crate::{Arrival, Coin, Discipline, DropReason, Link, Verdict};

/// See the module's head.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit: u32,
}

impl Discipline for DropTail {
    const ALGORITHM: Algorithm = Algorithm {
        name: "drop-tail",
        title: "Drop-tail",
        summary: "Accepts packets until the buffer is full",
        source: "the default of routers; baseline of RFC 7567",
        parameters: &[Parameter::number("limit", "packets", Some(100.0), 1.0, 1e9)
            .whole()
            .described("packets the buffer holds", "a common default")],
        ordered: &[],
    };

    fn new(settings: &Settings, _link: Link) -> Result<Self, ParameterError> {
        Ok(Self { limit: settings.number("limit") as u32 })
    }

    fn reconfigure(&mut self, settings: &Settings, link: Link) -> Result<(), ParameterError> {
        *self = Self::new(settings, link)?;
        Ok(())
    }

    fn link_changed(&mut self, _link: Link) {}

    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, _coin: &mut impl Coin) -> Verdict {
        if arrival.queue_packets >= self.limit {
            Verdict::Drop(DropReason::Overflow)
        } else {
            Verdict::Accept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vermilion_parameters::{Value, Values};

    #[test]
    fn the_packet_after_the_limit_is_dropped() {
        let values = Values::from([("limit".to_owned(), Value::Number(3.0))]);
        let settings = Settings::resolve(&DropTail::ALGORITHM, &values).unwrap();
        let mut queue = DropTail::new(&settings, Link { rate: 1e6, delay: 0.0 }).unwrap();
        let mut meet = |queue_packets| {
            let arrival = Arrival {
                now: 0,
                size: 1000,
                ecn_capable: true,
                queue_packets,
                queue_bytes: 0,
                empty_since: 0,
                idle_since: None,
            };
            queue.on_arrival(&arrival, &mut || 0.0)
        };
        assert_eq!(meet(2), Verdict::Accept);
        assert_eq!(meet(3), Verdict::Drop(DropReason::Overflow));
    }
}
