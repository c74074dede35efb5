//! Queues of a discipline that is written somewhere else and keeps the packets: several of its own, or one whose packets
//! carry headers.

use crate::discipline::answered_by;
use crate::line::Line;
use crate::{
    Carried, Coin, Discipline, Dropped, ForeignDiscipline, Packet, Queue, Scheduler, Sent,
    Standing, Verdict,
};

impl Carried {
    fn by(packet: &impl Packet) -> Self {
        Self { dscp: packet.dscp(), header: packet.header() }
    }

    /// Writes a header that has changed since `before`.
    fn write(self, before: Self, packet: &mut impl Packet) {
        if let Some(header) = self.header
            && self != before
        {
            packet.set_header(header);
        }
    }
}

/// First-in, first-out queues of packets of type `P`, among which a foreign discipline chooses.
#[derive(Clone, Debug)]
pub struct ForeignQueues<P> {
    discipline: Box<dyn ForeignDiscipline>,
    lines: Vec<Line<P>>,
    standing: Standing,
}

impl<P: Packet> ForeignQueues<P> {
    /// As many empty ones as the discipline says.
    pub(crate) fn around(discipline: Box<dyn ForeignDiscipline>) -> Self {
        let count = discipline.queues().max(1);
        Self {
            discipline,
            lines: (0..count).map(|_| Line::new()).collect(),
            standing: Standing::default(),
        }
    }

    pub(crate) fn discipline(&self) -> &dyn ForeignDiscipline {
        &*self.discipline
    }

    /// Tells the discipline of a queue that has changed.
    fn show(&mut self, number: usize) {
        self.discipline.show(number, &self.lines[number].waiting());
    }
}

impl<P: Packet> Discipline for ForeignQueues<P> {
    answered_by!(queues => queues.discipline);
}

impl<P: Packet> Queue<P> for ForeignQueues<P> {
    fn len(&self) -> usize {
        self.standing.packets as usize
    }

    fn bytes(&self) -> u64 {
        self.standing.bytes
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        self.lines.iter().for_each(|line| line.each(look));
    }
}

impl<P: Packet, C: Coin> Scheduler<P, C> for ForeignQueues<P> {
    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        mut packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        // Of several queues the discipline is shown each; that of one is met here.
        let arrival = self.lines[0].met_by(&packet, now, idle_since);
        let before = Carried::by(&packet);
        let mut carried = before;
        let (number, verdict) = self.discipline.admit(&arrival, &mut carried, coin);
        carried.write(before, &mut packet);
        if let Verdict::Drop(reason) = verdict {
            dropped(Dropped { packet, arrived: now, reason });
            return false;
        }
        let marked = verdict == Verdict::Mark;
        let number = number.min(self.lines.len() - 1);
        self.lines[number].push(packet, now, arrival.size, marked);
        self.standing.packets += 1;
        self.standing.bytes += u64::from(arrival.size);
        self.show(number);
        marked
    }

    fn dequeue(
        &mut self,
        now: u64,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        while self.standing.packets > 0 {
            let chosen = self.discipline.choose(now, coin);
            let waits = |&number: &usize| self.lines.get(number).is_some_and(|it| it.len() > 0);
            // One that has failed may have chosen none.
            let number =
                Some(chosen).filter(waits).or_else(|| (0..self.lines.len()).find(waits))?;
            let mut kept = self.lines[number].pop(now)?;
            self.standing.packets -= 1;
            self.standing.bytes -= u64::from(kept.packet.size());
            self.show(number);
            let departure = self.lines[number].left_by(&kept, now);
            let before = Carried::by(&kept.packet);
            let mut carried = before;
            let verdict = self.discipline.release(number, &departure, &mut carried, coin);
            carried.write(before, &mut kept.packet);
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
        None
    }
}
