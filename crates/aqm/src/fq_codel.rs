use vermilion_parameters::{Bytes, Packets, ParameterError, Settings, settings};

use crate::codel::{CodelLaw, Configuration, Control};
use crate::flow_queues::{FlowQueues, FlowTurns};
use crate::scheduler::waits_in;
use crate::{
    Coin, Departure, Discipline, DropReason, Dropped, LinkFacts, Listed, Packet, Queue, Scheduler,
    Sent, Verdict,
};

settings! {
    /// Settings of [`FqCodel`].
    pub FqCodelSettings "fq-codel": "FQ-CoDel",
        "Serves flows in turns, new ones first, and keeps each one's queue short by CoDel",
        "RFC 8290; Linux 6.12, net/sched/sch_fq_codel.c";
    ..turns: FlowTurns;
    ..law: CodelLaw;
    /// bytes the buffer holds, of all flows together
    memory_limit: Bytes<u32> = 33_554_432 in [1, 2_147_483_648_u32], "Linux: 32 MiB";
    /// at most so many are dropped of the longest queue when the buffer is full
    drop_batch: Packets<u32> = 64 in [1, 4_294_967_295_u32], "RFC 8290, section 4.1";
}

/// FQ-CoDel: flows take turns, each with a queue of its own that CoDel keeps short.
///
/// Source: T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet, "The Flow Queue CoDel
/// Packet Scheduler and Active Queue Management Algorithm", RFC 8290, 2018; and Linux 6.12,
/// `net/sched/sch_fq_codel.c` (facts, not code).
///
/// State: the queues and their turns (`flow_queues.rs`); for each queue what CoDel
/// knows of it ([`Codel`](crate::Codel)). An arriving packet joins the queue of its flow. When that
/// makes more than `limit` packets or `memory_limit` bytes wait, packets are dropped from the head of
/// the queue that holds most bytes, until half of them are gone or `drop_batch` packets, and its
/// CoDel counts them as drops of its own. At each turn of the link the queue whose turn it is offers
/// packets until its CoDel lets one go.
///
/// As in Linux the bytes that CoDel compares with `maximum_packet_size` are those of all queues, so
/// that a flow alone on a slow link is left alone and one among many is not.
///
/// Departures from the sources:
/// 1. Memory is counted in bytes of packets on the link; Linux counts what buffers take.
/// 2. Packets beyond a limit that has been lowered stay until another arrives; Linux drops them at
///    the change.
/// 3. Flows are told apart by [`Packet::flow`], hashed with a key that is
///    `perturbation`, or drawn by each queue; Linux hashes addresses and ports with a key drawn at
///    boot.
/// 4. The departures of [`Codel`](crate::Codel), of which the dialect `linux` has the kernel's
///    arithmetic.
/// 5. That of `flow_queues.rs`: once the link is idle, a queue that has run empty is
///    not looked at.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    set: FqCodelSettings,
    fixed: Configuration,
    queues: FlowQueues<P, Control>,
}

impl<P: Packet> Listed for FqCodel<P> {
    type Settings = FqCodelSettings;

    fn new(set: FqCodelSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let FlowTurns { hash, quantum, .. } = set.turns;
        let queues = FlowQueues::new(hash, quantum, Control::new());
        Ok(Self { set, fixed: Configuration::new(&set.law), queues })
    }
}

impl<P: Packet> Discipline for FqCodel<P> {
    fn reconfigure(&mut self, settings: &Settings, _link: LinkFacts) -> Result<(), ParameterError> {
        let set: FqCodelSettings = settings.read();
        self.queues.set_anew(set.turns.hash, set.turns.quantum)?;
        let fixed = Configuration::new(&set.law);
        self.queues.controls().for_each(|control| control.convert(&self.fixed, &fixed));
        (self.set, self.fixed) = (set, fixed);
        Ok(())
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("", "control law", "fattest flow")
    }
}

impl<P: Packet> Queue<P> for FqCodel<P> {
    waits_in!(queues);
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
        if self.queues.len() > self.set.turns.limit.0 as usize
            || self.queues.bytes() > u64::from(self.set.memory_limit.0)
        {
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
                    queue_packets: waiting.packets,
                    queue_bytes: waiting.bytes,
                    ..Departure::of(&packet, arrived, now)
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
    /// The buffer is full: the longest queue gives up half of its bytes, or a batch.
    #[cold]
    fn shed(&mut self, dropped: &mut impl FnMut(Dropped<P>)) {
        let mut queue = self.queues.fattest();
        let half = queue.backlog() / 2;
        let (mut packets, mut bytes) = (0, 0);
        while (packets == 0 || bytes < half) && packets < self.set.drop_batch.0 {
            let Some((packet, arrived)) = queue.pop() else { break };
            packets += 1;
            bytes += u64::from(packet.size());
            dropped(Dropped { packet, arrived, reason: DropReason::Overflow });
        }
        queue.control().count_overflow(packets);
    }
}
