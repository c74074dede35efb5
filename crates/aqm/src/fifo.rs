//! A discipline in front of a first-in, first-out queue of packets of any type: what a user-space
//! router would use, and the simulator where departures are events.

use crate::discipline::answered_by;
use crate::line::Line;
use crate::scheduler::waits_in;
use crate::{Arrival, Coin, Decide, Discipline, Dropped, Packet, Queue, Scheduler, Sent, Verdict};

/// First-in, first-out queue of packets of type `P`, guarded by a discipline.
#[derive(Clone, Debug)]
pub struct Fifo<P, D> {
    discipline: D,
    line: Line<P>,
}

impl<P: Packet, D> Fifo<P, D> {
    /// An empty queue at time 0.
    pub fn around(discipline: D) -> Self {
        Self { discipline, line: Line::new() }
    }

    /// The discipline.
    pub fn discipline(&self) -> &D {
        &self.discipline
    }

    /// Gives the discipline back; packets that wait are lost.
    pub fn into_discipline(self) -> D {
        self.discipline
    }

    /// Asks the discipline once more over a packet for which another one has been dropped. A call, so that
    /// those that never drop one for another have a short way.
    #[cold]
    #[inline(never)]
    fn ask_again<C: Coin>(&mut self, arrival: Arrival, packet: &P, coin: &mut C) -> Verdict
    where
        D: Decide<C>,
    {
        let arrival = self.line.met_by(packet, arrival.now, arrival.idle_since);
        self.discipline.on_arrival(&arrival, coin)
    }

    /// Drops all packets that wait, at `now`: what some disciplines ask for after new settings
    /// ([`Discipline::is_flushed_by_change`]).
    pub fn flush(&mut self, now: u64, dropped: &mut impl FnMut(P)) {
        self.line.flush(now, dropped);
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P, D: Discipline> Discipline for Fifo<P, D> {
    answered_by!(#[inline] fifo => fifo.discipline);
}

impl<P: Packet, D: Discipline> Queue<P> for Fifo<P, D> {
    waits_in!(line);
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
        let arrival = self.line.met_by(&packet, now, idle_since);
        let mut verdict = self.discipline.on_arrival(&arrival, coin);
        while let Verdict::MakeRoom { place, reason } = verdict {
            let Some(removed) = self.line.remove(now, place as usize, reason) else {
                debug_assert!(false, "no packet waits at place {place}");
                break;
            };
            dropped(removed);
            verdict = self.ask_again(arrival, &packet, coin);
        }
        if let Verdict::Drop(reason) = verdict {
            dropped(Dropped { packet, arrived: now, reason });
            return false;
        }
        let marked = verdict == Verdict::Mark;
        self.line.push(packet, now, arrival.size, marked);
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
            let mut kept = self.line.pop(now)?;
            let departure = self.line.left_by(&kept, now);
            let verdict = self.discipline.on_departure(&departure, coin);
            let arrived = kept.arrived;
            if let Verdict::Drop(reason) = verdict {
                dropped(Dropped { packet: kept.packet, arrived, reason });
                continue;
            }
            let marked = verdict == Verdict::Mark && !kept.marked;
            if marked {
                kept.packet.mark();
            }
            return Some(Sent { packet: kept.packet, arrived, marked });
        }
    }
}
