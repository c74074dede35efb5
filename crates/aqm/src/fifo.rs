//! A discipline in front of a first-in, first-out queue of packets of any type: what a user-space
//! router would use, and the simulator where departures are events.

use std::collections::VecDeque;

use crate::discipline::answered_by;
use crate::{
    Arrival, Coin, Decide, Departure, Discipline, DropReason, Dropped, Packet, Queue, Scheduler,
    Sent, Verdict,
};

/// First-in, first-out queue of packets of type `P`, guarded by a discipline.
#[derive(Clone, Debug)]
pub struct Fifo<P, D> {
    discipline: D,
    packets: VecDeque<Kept<P>>,
    bytes: u64,
    empty_since: u64,
}

#[derive(Clone, Copy, Debug)]
struct Kept<P> {
    packet: P,
    arrived: u64,
    /// True if it was marked as it arrived: it is counted once.
    marked: bool,
}

impl<P: Packet, D> Fifo<P, D> {
    /// An empty queue at time 0.
    pub fn around(discipline: D) -> Self {
        Self { discipline, packets: VecDeque::new(), bytes: 0, empty_since: 0 }
    }

    /// The discipline.
    pub fn discipline(&self) -> &D {
        &self.discipline
    }

    /// Gives the discipline back; packets that wait are lost.
    pub fn into_discipline(self) -> D {
        self.discipline
    }

    /// Takes the packet at `place` out of the queue, which may be anywhere.
    fn remove(&mut self, now: u64, place: usize, reason: DropReason) -> Option<Dropped<P>> {
        let Kept { packet, arrived, .. } = self.packets.remove(place)?;
        self.bytes -= u64::from(packet.size());
        if self.packets.is_empty() {
            self.empty_since = now;
        }
        Some(Dropped { packet, arrived, reason })
    }

    /// Asks the discipline once more over a packet for which another one has been dropped. A call, so that
    /// those that never drop one for another have a short way.
    #[cold]
    #[inline(never)]
    fn ask_again<C: Coin>(&mut self, arrival: &mut Arrival, coin: &mut C) -> Verdict
    where
        D: Decide<C>,
    {
        arrival.queue_packets = self.packets.len() as u32;
        arrival.queue_bytes = self.bytes;
        arrival.empty_since = self.empty_since;
        self.discipline.on_arrival(arrival, coin)
    }

    /// Drops all packets that wait, at `now`: what some disciplines ask for after new settings
    /// ([`Discipline::is_flushed_by_change`]).
    pub fn flush(&mut self, now: u64, dropped: &mut impl FnMut(P)) {
        if !self.packets.is_empty() {
            self.empty_since = now;
        }
        self.bytes = 0;
        self.packets.drain(..).for_each(|kept| dropped(kept.packet));
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P, D: Discipline> Discipline for Fifo<P, D> {
    answered_by!(#[inline] fifo => fifo.discipline);
}

impl<P: Packet, D: Discipline> Queue<P> for Fifo<P, D> {
    #[inline]
    fn len(&self) -> usize {
        self.packets.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        self.packets.iter().for_each(|kept| look(&kept.packet));
    }
}

impl<P: Packet, C: Coin, D: Decide<C>> Scheduler<P, C> for Fifo<P, D> {
    #[inline(always)] // packets are large: a call would copy them once more
    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        let size = packet.size();
        let mut arrival = Arrival {
            now,
            size,
            flow: packet.flow(),
            ecn: packet.ecn(),
            colour: packet.colour(),
            queue_packets: self.packets.len() as u32,
            queue_bytes: self.bytes,
            empty_since: self.empty_since,
            idle_since,
        };
        let mut verdict = self.discipline.on_arrival(&arrival, coin);
        while let Verdict::MakeRoom { place, reason } = verdict {
            let Some(removed) = self.remove(now, place as usize, reason) else {
                debug_assert!(false, "no packet waits at place {place}");
                break;
            };
            dropped(removed);
            verdict = self.ask_again(&mut arrival, coin);
        }
        if let Verdict::Drop(reason) = verdict {
            dropped(Dropped { packet, arrived: now, reason });
            return false;
        }
        self.bytes += u64::from(size);
        let marked = verdict == Verdict::Mark;
        self.packets.push_back(Kept { packet, arrived: now, marked });
        if marked && let Some(kept) = self.packets.back_mut() {
            kept.packet.mark();
        }
        marked
    }

    #[inline(always)] // likewise
    fn dequeue(
        &mut self,
        now: u64,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        loop {
            let Kept { mut packet, arrived, marked: before } = self.packets.pop_front()?;
            let (size, behind) = (packet.size(), self.packets.len() as u32);
            self.bytes -= u64::from(size);
            if behind == 0 {
                self.empty_since = now;
            }
            let departure = Departure {
                now,
                arrived,
                size,
                flow: packet.flow(),
                ecn: packet.ecn(),
                colour: packet.colour(),
                queue_packets: behind,
                queue_bytes: self.bytes,
            };
            let verdict = self.discipline.on_departure(&departure, coin);
            if let Verdict::Drop(reason) = verdict {
                dropped(Dropped { packet, arrived, reason });
                continue;
            }
            let marked = verdict == Verdict::Mark && !before;
            if marked {
                packet.mark();
            }
            return Some(Sent { packet, arrived, marked });
        }
    }
}
