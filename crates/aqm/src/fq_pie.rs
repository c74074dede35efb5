use vermilion_parameters::{ParameterError, Settings, settings};

use crate::flow_queues::{FlowQueues, FlowTurns};
use crate::pie::{Configuration, Controller, PieLaw};
use crate::scheduler::waits_in;
use crate::{
    Arrival, Coin, Departure, Discipline, Dropped, LinkFacts, Listed, Packet, Queue, Scheduler,
    Sent, Verdict,
};

settings! {
    /// Settings of [`FqPie`].
    pub FqPieSettings "fq-pie": "FQ-PIE",
        "Serves flows in turns, new ones first, and keeps each one's queue short by PIE",
        "Linux 6.12, net/sched/sch_fq_pie.c; RFC 8033 and RFC 8290";
    ..turns: FlowTurns;
    ..law: PieLaw;
}

/// FQ-PIE: flows take turns, each with a queue of its own that PIE keeps short.
///
/// Source: M. Tahiliani, S. Patil, V. Saicharan, M. Bhasi, L. Monis, Linux 6.12,
/// `net/sched/sch_fq_pie.c` (facts, not code): the queues and turns of RFC 8290 with the controller of
/// RFC 8033 for each queue.
///
/// State: the queues and their turns (`flow_queues.rs`); for each queue what PIE
/// knows of it ([`Pie`](crate::Pie)), whose backlog and delay are the queue's own. A packet that
/// meets `limit` packets in all is dropped; else the PIE of its flow's queue decides. Nothing is
/// dropped from inside.
///
/// Departures from the source:
/// 1. Linux counts how often more memory is in use than its `memory_limit`, and does nothing about
///    it; here there is no such parameter.
/// 2. The kernel updates at most 2048 queues at once and the others a tick later; here all are
///    updated at the same instants.
/// 3. Packets beyond a limit that has been lowered stay; Linux drops them at the change.
/// 4. Once the link is idle, a queue that has run empty is not looked at
///    (`flow_queues.rs`).
/// 5. Flows are told apart as in [`FqCodel`](crate::FqCodel).
/// 6. ECN-capable packets are marked by default; Linux: only with `ecn`. The other departures of
///    [`Pie`](crate::Pie).
#[derive(Clone, Debug)]
pub struct FqPie<P> {
    limit: usize,
    fixed: Configuration,
    queues: FlowQueues<P, Controller>,
}

impl<P: Packet> Listed for FqPie<P> {
    type Settings = FqPieSettings;

    fn new(set: FqPieSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let FlowTurns { hash, quantum, limit } = set.turns;
        let fixed = Configuration::new(set.law);
        let queues = FlowQueues::new(hash, quantum, Controller::new(&fixed));
        Ok(Self { limit: limit.0 as usize, fixed, queues })
    }
}

impl<P: Packet> Discipline for FqPie<P> {
    fn reconfigure(&mut self, settings: &Settings, _link: LinkFacts) -> Result<(), ParameterError> {
        let set: FqPieSettings = settings.read();
        self.queues.set_anew(set.turns.hash, set.turns.quantum)?;
        self.fixed = Configuration::new(set.law);
        self.limit = set.turns.limit.0 as usize;
        Ok(())
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.queues.busy().map(Controller::probability).fold(0.0, f64::max))
    }
}

impl<P: Packet> Queue<P> for FqPie<P> {
    waits_in!(queues);
}

impl<P: Packet, C: Coin> Scheduler<P, C> for FqPie<P> {
    #[inline(always)] // a call would have the packet written to memory
    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        mut packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        let queue = self.queues.queue_of(packet.flow(), coin);
        let arrival = Arrival {
            queue_packets: self.queues.len() as u32,
            queue_bytes: self.queues.backlog(queue),
            idle_since,
            ..Arrival::of(&packet, now) // since when it is empty PIE does not ask
        };
        let full = self.queues.len() >= self.limit;
        let verdict = self.queues.control(queue).on_arrival(&self.fixed, &arrival, full, coin);
        if let Verdict::Drop(reason) = verdict {
            dropped(Dropped { packet, arrived: now, reason });
            return false;
        }
        let marked = verdict == Verdict::Mark;
        if marked {
            packet.mark();
        }
        self.queues.push(queue, packet, now);
        marked
    }

    #[inline(always)] // likewise
    fn dequeue(
        &mut self,
        now: u64,
        _coin: &mut C,
        _dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        loop {
            let mut queue = self.queues.turn()?;
            let Some((packet, arrived)) = queue.pop() else {
                let number = queue.number();
                self.queues.pass(number);
                continue;
            };
            let departure = Departure {
                queue_packets: queue.waiting().packets,
                queue_bytes: queue.backlog(),
                ..Departure::of(&packet, arrived, now)
            };
            queue.charge(departure.size);
            queue.control().on_departure(&self.fixed, &departure);
            return Some(Sent { packet, arrived, marked: false });
        }
    }
}
