//! FQ-CoDel: flows take turns, each with a queue of its own that CoDel keeps short.
//!
//! Source: T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet, "The Flow Queue CoDel
//! Packet Scheduler and Active Queue Management Algorithm", RFC 8290, 2018; and Linux 6.12,
//! `net/sched/sch_fq_codel.c` (facts, not code).
//!
//! State: the queues and their turns ([`flow_queues`](crate::flow_queues)); for each queue what CoDel
//! knows of it ([`codel`](crate::codel)). An arriving packet joins the queue of its flow. When that
//! makes more than `limit` packets or `memory_limit` bytes wait, packets are dropped from the head of
//! the queue that holds most bytes, until half of them are gone or `drop_batch` packets, and its
//! CoDel counts them as drops of its own. At each turn of the link the queue whose turn it is offers
//! packets until its CoDel lets one go.
//!
//! As in Linux the bytes that CoDel compares with `maximum_packet_size` are those of all queues, so
//! that a flow alone on a slow link is left alone and one among many is not.
//!
//! Departures from the sources:
//! 1. Memory is counted in bytes of packets on the link; Linux counts what buffers take.
//! 2. Packets beyond a limit that has been lowered stay until another arrives; Linux drops them at
//!    the change.
//! 3. Flows are told apart by [`Packet::flow`], hashed with a key that is
//!    `perturbation`, or drawn by each queue; Linux hashes addresses and ports with a key drawn at
//!    boot.
//! 4. The departures of [`codel`](crate::codel), of which the dialect `linux` has the kernel's
//!    arithmetic.
//! 5. That of [`flow_queues`](crate::flow_queues): once the link is idle, a queue that has run empty is
//!    not looked at.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::codel::{Configuration, Control};
use crate::flow_queues::{FLOWS, FlowQueues, LIMIT, PERTURBATION, QUANTUM};
use crate::{
    Coin, Departure, Discipline, DropReason, Dropped, LinkFacts, Listed, Packet, Queue, Scheduler,
    Sent, Verdict,
};

/// See the module's head.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    limit: usize,
    memory_limit: u64,
    drop_batch: u32,
    fixed: Configuration,
    queues: FlowQueues<P, Control>,
}

impl<P: Packet> Listed for FqCodel<P> {
    const ALGORITHM: Algorithm = Algorithm {
        name: "fq-codel",
        title: "FQ-CoDel",
        summary: "Serves flows in turns, new ones first, and keeps each one's queue short by CoDel",
        source: "RFC 8290; Linux 6.12, net/sched/sch_fq_codel.c",
        parameters: &[
            LIMIT,
            FLOWS,
            QUANTUM,
            Parameter::number("memory_limit", "bytes", Some(33_554_432.0), 1.0, 2_147_483_648.0)
                .whole()
                .described("bytes the buffer holds, of all flows together", "Linux: 32 MiB"),
            Parameter::number("drop_batch", "packets", Some(64.0), 1.0, 4_294_967_295.0)
                .whole()
                .described(
                    "at most so many are dropped of the longest queue when the buffer is full",
                    "RFC 8290, section 4.1",
                ),
            Parameter::number("target", "seconds", Some(0.005), 0.0, 10.0)
                .searched(1e-3, 0.05, Scale::Log)
                .described(
                    "sojourn time that a flow's queue may keep up",
                    "RFC 8290, section 5.2.2",
                ),
            Parameter::number("interval", "seconds", Some(0.1), 0.0, 100.0)
                .above_minimum()
                .searched(0.01, 1.0, Scale::Log)
                .described(
                    "how long the sojourn must exceed the target; a usual worst round-trip time",
                    "RFC 8290, section 5.2.1",
                ),
            Parameter::number("maximum_packet_size", "bytes", Some(1514.0), 0.0, 65535.0)
                .whole()
                .described(
                    "nothing is dropped while no more bytes than this wait behind, of all flows",
                    "Linux: the device's MTU",
                ),
            Parameter::switch("ecn", true).described(
                "ECN-capable packets are marked, not dropped",
                "RFC 8290, section 5.2.6",
            ),
            Parameter::number("ce_threshold", "seconds", None, 0.0, 10.0).described(
                "sojourn time above which every ECN-capable packet is marked; automatic: none",
                "RFC 8290, section 5.2.7",
            ),
            Parameter::choice("dialect", "rfc8289", &["rfc8289", "linux"])
                .described("whose arithmetic CoDel has", "RFC 8289"),
            PERTURBATION,
        ],
        ordered: &[],
    };

    fn new(settings: &Settings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let mut it = Self {
            limit: 0,
            memory_limit: 0,
            drop_batch: 0,
            fixed: Configuration::new(settings),
            queues: FlowQueues::new(settings, Control::new()),
        };
        it.set_limits(settings);
        Ok(it)
    }
}

impl<P: Packet> Discipline for FqCodel<P> {
    fn reconfigure(&mut self, settings: &Settings, _link: LinkFacts) -> Result<(), ParameterError> {
        self.queues.reconfigure(settings)?;
        let fixed = Configuration::new(settings);
        self.queues.controls().for_each(|control| control.convert(&self.fixed, &fixed));
        self.fixed = fixed;
        self.set_limits(settings);
        Ok(())
    }

    fn link_changed(&mut self, _link: LinkFacts) {}

    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("", "control law", "fattest flow")
    }
}

impl<P: Packet> Queue<P> for FqCodel<P> {
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

impl<P: Packet, C: Coin> Scheduler<P, C> for FqCodel<P> {
    #[inline(always)] // a call would have the packet written to memory
    fn enqueue(
        &mut self,
        now: u64,
        _idle_since: Option<u64>,
        packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        let queue = self.queues.queue_of(packet.flow(), coin);
        self.queues.push(queue, packet, now);
        if self.queues.len() > self.limit || self.queues.bytes() > self.memory_limit {
            self.shed(dropped);
        }
        false
    }

    #[inline(always)] // likewise
    fn dequeue(
        &mut self,
        now: u64,
        _coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        loop {
            let mut queue = self.queues.turn()?;
            while let Some((mut packet, arrived)) = queue.pop() {
                let size = packet.size();
                let waiting = queue.waiting();
                let departure = Departure {
                    now,
                    arrived,
                    size,
                    flow: packet.flow(),
                    ecn: packet.ecn(),
                    colour: packet.colour(),
                    queue_packets: waiting.packets,
                    queue_bytes: waiting.bytes,
                };
                let verdict = queue.control().decide(&self.fixed, &departure);
                if let Verdict::Drop(reason) = verdict {
                    dropped(Dropped { packet, arrived, reason });
                    continue;
                }
                let marked = verdict == Verdict::Mark;
                if marked {
                    packet.mark();
                }
                queue.charge(size);
                return Some(Sent { packet, arrived, marked });
            }
            queue.control().ran_dry(&self.fixed);
            let number = queue.number();
            self.queues.pass(number);
        }
    }
}

impl<P: Packet> FqCodel<P> {
    fn set_limits(&mut self, settings: &Settings) {
        self.limit = settings.number("limit") as usize;
        self.memory_limit = settings.number("memory_limit") as u64;
        self.drop_batch = settings.number("drop_batch") as u32;
    }

    /// The buffer is full: the longest queue gives up half of its bytes, or a batch.
    #[cold]
    fn shed(&mut self, dropped: &mut impl FnMut(Dropped<P>)) {
        let mut queue = self.queues.fattest();
        let half = queue.backlog() / 2;
        let (mut packets, mut bytes) = (0, 0);
        while (packets == 0 || bytes < half) && packets < self.drop_batch {
            let Some((packet, arrived)) = queue.pop() else { break };
            packets += 1;
            bytes += u64::from(packet.size());
            dropped(Dropped { packet, arrived, reason: DropReason::Overflow });
        }
        queue.control().count_overflow(packets);
    }
}
