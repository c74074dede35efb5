//! FQ-PIE: flows take turns, each with a queue of its own that PIE keeps short.
//!
//! Source: M. Tahiliani, S. Patil, V. Saicharan, M. Bhasi, L. Monis, Linux 6.12,
//! `net/sched/sch_fq_pie.c` (facts, not code): the queues and turns of RFC 8290 with the controller of
//! RFC 8033 for each queue.
//!
//! State: the queues and their turns ([`flow_queues`](crate::flow_queues)); for each queue what PIE
//! knows of it ([`pie`](crate::pie)), whose backlog and delay are the queue's own. A packet that
//! meets `limit` packets in all is dropped; else the PIE of its flow's queue decides. Nothing is
//! dropped from inside.
//!
//! Departures from the source:
//! 1. Linux counts how often more memory is in use than its `memory_limit`, and does nothing about
//!    it; here there is no such parameter.
//! 2. The kernel updates at most 2048 queues at once and the others a tick later; here all are
//!    updated at the same instants.
//! 3. Packets beyond a limit that has been lowered stay; Linux drops them at the change.
//! 4. Once the link is idle, a queue that has run empty is not looked at
//!    ([`flow_queues`](crate::flow_queues)).
//! 5. Flows are told apart as in [`fq_codel`](crate::fq_codel).
//! 6. ECN-capable packets are marked by default; Linux: only with `ecn`. The other departures of
//!    [`pie`](crate::pie).

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::flow_queues::{FLOWS, FlowQueues, LIMIT, PERTURBATION, QUANTUM};
use crate::pie::{
    ALPHA, BETA, BURST_ALLOWANCE, BYTE_MODE, Configuration, Controller, ECN, ESTIMATE_RATE,
    INTERVAL, MAXIMUM_PACKET_SIZE,
};
use crate::{
    Arrival, Coin, Departure, Discipline, Dropped, LinkFacts, Listed, Packet, Queue, Scheduler,
    Sent, Verdict,
};

/// See the module's head.
#[derive(Clone, Debug)]
pub struct FqPie<P> {
    limit: usize,
    fixed: Configuration,
    queues: FlowQueues<P, Controller>,
}

impl<P: Packet> Listed for FqPie<P> {
    const ALGORITHM: Algorithm = Algorithm {
        name: "fq-pie",
        title: "FQ-PIE",
        summary: "Serves flows in turns, new ones first, and keeps each one's queue short by PIE",
        source: "Linux 6.12, net/sched/sch_fq_pie.c; RFC 8033 and RFC 8290",
        parameters: &[
            LIMIT,
            FLOWS,
            QUANTUM,
            Parameter::number("target", "seconds", Some(0.015), 0.0, 10.0)
                .searched(1e-3, 0.1, Scale::Log)
                .described("queueing delay to hold in each flow's queue", "RFC 8033, section 4.2"),
            INTERVAL,
            ALPHA,
            BETA,
            BURST_ALLOWANCE,
            MAXIMUM_PACKET_SIZE,
            BYTE_MODE,
            ECN,
            Parameter::number("mark_probability", "probability", Some(0.1), 0.0, 1.0).described(
                "above this probability ECN-capable packets are dropped too",
                "Linux: ecn_prob",
            ),
            ESTIMATE_RATE,
            PERTURBATION,
        ],
        ordered: &[],
    };

    fn new(settings: &Settings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let fixed = Configuration::new(settings);
        Ok(Self {
            limit: settings.number("limit") as usize,
            queues: FlowQueues::new(settings, Controller::new(&fixed)),
            fixed,
        })
    }
}

impl<P: Packet> Discipline for FqPie<P> {
    fn reconfigure(&mut self, settings: &Settings, _link: LinkFacts) -> Result<(), ParameterError> {
        self.queues.reconfigure(settings)?;
        self.fixed = Configuration::new(settings);
        self.limit = settings.number("limit") as usize;
        Ok(())
    }

    fn link_changed(&mut self, _link: LinkFacts) {}

    fn drop_probability(&self) -> Option<f64> {
        Some(self.queues.busy().map(Controller::probability).fold(0.0, f64::max))
    }
}

impl<P: Packet> Queue<P> for FqPie<P> {
    #[inline]
    fn len(&self) -> usize {
        self.queues.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queues.bytes()
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        self.queues.each(look);
    }
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
            now,
            size: packet.size(),
            flow: packet.flow(),
            ecn: packet.ecn(),
            colour: packet.colour(),
            queue_packets: self.queues.len() as u32,
            queue_bytes: self.queues.backlog(queue),
            empty_since: 0, // PIE does not ask
            idle_since,
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
                now,
                arrived,
                size: packet.size(),
                flow: packet.flow(),
                ecn: packet.ecn(),
                colour: packet.colour(),
                queue_packets: queue.waiting().packets,
                queue_bytes: queue.backlog(),
            };
            queue.charge(departure.size);
            queue.control().on_departure(&self.fixed, &departure);
            return Some(Sent { packet, arrived, marked: false });
        }
    }
}
