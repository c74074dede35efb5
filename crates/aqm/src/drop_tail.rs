use vermilion_parameters::{Bytes, Packets, ParameterError, Settings, choices, settings};

use crate::discipline::keeps;
use crate::{Arrival, Coin, Decide, Discipline, DropKind, DropReason, LinkFacts, Listed, Verdict};

choices! {
    /// Packet that a full buffer drops: the arriving one, the first, or any.
    pub Victim { Tail = "tail", Head = "head", Random = "random" }
}

settings! {
    /// Settings of [`DropTail`].
    pub DropTailSettings "drop-tail": "Drop-tail",
        "Accepts packets until the buffer is full",
        "the default of routers; baseline of RFC 7567; RFC 2309, section 2";
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "a common default";
    /// bytes the buffer holds; automatic: the limit is in packets
    limit_bytes: Option<Bytes<u64>> = automatic in [1, 1e15], "Linux: bfifo in the place of pfifo";
    /// which packet a full buffer drops: the arriving one, the first, or any
    drop: Victim = Tail, "RFC 2309, section 2";
}

/// Drop-tail: accept until the buffer is full.
///
/// Source: the default queue of every router; head and random drop: B. Braden et al.,
/// "Recommendations on Queue Management and Congestion Avoidance in the Internet", RFC 2309, 1998,
/// section 2. A packet that arrives while `limit` packets wait is dropped; the packet in transmission
/// does not count. With `limit_bytes` one is dropped that would make more bytes wait than that.
///
/// With `drop` = "head" the packet at the head is dropped for the one that arrives, with "random" any
/// one of those that wait and the one that arrives, all as likely; where packets differ in size, that
/// is repeated until there is room.
///
/// Departures from ns-2's `DropTail`:
/// 1. ns-2 drops when the packet would be the `limit`-th in the queue, so its queue holds
///    `limit - 1` packets; here the queue holds `limit`. In bytes it likewise drops where they would
///    be equal to the limit.
/// 2. In bytes ns-2 drops only one packet from the head, however large the one that arrives.
/// 3. ns-2 has no random drop.
#[derive(Clone, Debug)]
pub struct DropTail {
    /// The greatest number where the limit is in bytes.
    limit: u32,
    limit_bytes: u64,
    victim: Victim,
}

impl Listed for DropTail {
    type Settings = DropTailSettings;

    fn new(set: DropTailSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let limit_bytes = set.limit_bytes.map(|it| it.0);
        Ok(Self {
            limit: limit_bytes.map_or(set.limit.0, |_| u32::MAX),
            limit_bytes: limit_bytes.unwrap_or(u64::MAX),
            victim: set.drop,
        })
    }
}

impl Discipline for DropTail {
    fn watches_departures(&self) -> bool {
        // Which packets wait at which place is not known where departures are no events.
        self.victim != Victim::Tail
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let changed = Self::new(settings.read(), link)?;
        if changed.watches_departures() != self.watches_departures() {
            keeps("drop", self.victim, changed.victim)?;
        }
        *self = changed;
        Ok(())
    }

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
