use std::collections::VecDeque;

use vermilion_parameters::{Bytes, Packets, ParameterError, Seconds, Settings, settings};

use crate::flow_queues::{FlowHash, FlowQueues};
use crate::{
    Coin, Discipline, DropKind, DropReason, Dropped, LinkFacts, Listed, Packet, Queue, Scheduler,
    Sent,
};

/// Packets that the first queue holds.
const FIRST: usize = 8;

const FLOW_IS_FULL: DropReason = DropReason::Own { kind: DropKind::Overflow, cause: 0 };

settings! {
    /// Settings of [`Fq`].
    pub FqSettings "fq": "FQ",
        "Serves flows in turns, new ones first; each one's queue drops at its tail",
        "Linux 6.12, net/sched/sch_fq.c";
    ..hash: FlowHash;
    /// packets that the queues of all flows hold together
    limit: Packets<u32> = 10_000 in [1, 1e9], "Linux";
    /// packets that the queue of one flow holds
    flow_limit: Packets<u32> = 100 in [1, 1e9] log [4, 1000], "Linux";
    /// bytes that a flow may send in a turn
    quantum: Bytes<u32> = 3028 in [1, 1_048_576], "Linux: twice the device's MTU";
    /// bytes that a flow may send at first
    initial_quantum: Bytes<u32> = 15_140 in [0, 2_147_483_647], "Linux: ten times the device's MTU";
    /// after so long without a packet a flow has a whole quantum again
    refill_delay: Seconds = 0.04 in [0, 4294], "Linux";
    /// sojourn time above which every ECN-capable packet is marked; automatic: none
    ce_threshold: Option<Seconds> = automatic in [0, 4294], "Linux";
}

/// fq: flows take turns, each with a queue of its own that drops at its tail.
///
/// Source: E. Dumazet, Linux 6.12, `net/sched/sch_fq.c` (facts, not code).
///
/// State: a first-in, first-out queue that goes before all others; the queues of flows and their
/// turns (`flow_queues.rs`), each with a credit in bytes that it keeps while it
/// is in no list. A packet that finds no flow's queue waiting and fewer than eight packets in the
/// first one joins that. Any other joins the queue of its flow, unless `limit` packets wait in all of
/// these or `flow_limit` in its own: then it is dropped. A flow that is seen for the first time has
/// `initial_quantum`; one that comes back after more than `refill_delay` has at least `quantum`. A
/// new queue that is found empty always becomes the last old one, where in RFC 8290 it leaves the
/// lists if it is the only one. A packet that has waited longer than `ce_threshold` in the queue of
/// its flow is marked if it can be.
///
/// Departures from the source:
/// 1. fq also holds packets back: those of the machine's own sockets to their pacing rate, and all to
///    `maxrate`. What a router forwards has no pacing rate, so without `maxrate` nothing is held
///    back. Here nothing ever is; a sender that paces does so itself.
/// 2. There is one band; fq has three, into which packets with no priority of their own do not
///    part.
/// 3. Linux forgets a flow that has sent nothing for three seconds, but only when another flow comes
///    to the same of its 1024 trees. Here none is forgotten.
/// 4. `refill_delay` is counted in nanoseconds; Linux counts it in ticks.
/// 5. Packets beyond a limit that has been lowered stay; Linux drops them at the change.
/// 6. Flows are told apart as in [`FqCodel`](crate::FqCodel): `flows` is Linux' `orphan_mask` and
///    one.
#[derive(Clone, Debug)]
pub struct Fq<P> {
    set: FqSettings,
    refill_delay: u64,
    ce_threshold: u64,
    first: VecDeque<(P, u64)>,
    first_bytes: u64,
    queues: FlowQueues<P, Flow>,
}

/// Knowledge of a flow besides its credit.
#[derive(Clone, Copy, Debug)]
struct Flow {
    packets: u32,
    /// When it left the lists, in nanoseconds; `None` before it has been in one.
    left: Option<u64>,
}

impl<P: Packet> Listed for Fq<P> {
    type Settings = FqSettings;

    fn new(set: FqSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self {
            set,
            refill_delay: set.refill_delay.nanoseconds(),
            ce_threshold: set.ce_threshold.map_or(u64::MAX, Seconds::nanoseconds),
            first: VecDeque::with_capacity(FIRST),
            first_bytes: 0,
            queues: FlowQueues::new(set.hash, set.quantum, Flow { packets: 0, left: None }),
        })
    }
}

impl<P: Packet> Discipline for Fq<P> {
    fn reconfigure(&mut self, settings: &Settings, _link: LinkFacts) -> Result<(), ParameterError> {
        let set: FqSettings = settings.read();
        self.queues.set_anew(set.hash, set.quantum)?;
        self.set = set;
        self.refill_delay = set.refill_delay.nanoseconds();
        self.ce_threshold = set.ce_threshold.map_or(u64::MAX, Seconds::nanoseconds);
        Ok(())
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        match reason {
            DropReason::Own { .. } => "flow's limit",
            other => other.kind().choose("", "", "limit"),
        }
    }
}

impl<P: Packet> Queue<P> for Fq<P> {
    #[inline]
    fn len(&self) -> usize {
        self.first.len() + self.queues.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.first_bytes + self.queues.bytes()
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        self.first.iter().for_each(|(packet, _)| look(packet));
        self.queues.each(look);
    }
}

impl<P: Packet, C: Coin> Scheduler<P, C> for Fq<P> {
    #[inline]
    fn enqueue(
        &mut self,
        now: u64,
        _idle_since: Option<u64>,
        packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        if self.queues.len() == 0 && self.first.len() < FIRST {
            self.first_bytes += u64::from(packet.size());
            self.first.push_back((packet, now));
            return false;
        }
        if self.queues.len() >= self.set.limit.0 as usize {
            dropped(Dropped { packet, arrived: now, reason: DropReason::Overflow });
            return false;
        }
        let queue = self.queues.queue_of(packet.flow(), coin);
        let flow = self.queues.control(queue);
        if flow.packets >= self.set.flow_limit.0 {
            dropped(Dropped { packet, arrived: now, reason: FLOW_IS_FULL });
            return false;
        }
        flow.packets += 1;
        let left = flow.left;
        let initial = i64::from(self.set.initial_quantum.0);
        let (quantum, refill_delay) = (i64::from(self.set.quantum.0), self.refill_delay);
        self.queues.push_with(queue, packet, now, |credit| match left {
            None => initial,
            Some(left) if now - left > refill_delay => credit.max(quantum),
            Some(_) => credit,
        });
        false
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: u64,
        _coin: &mut C,
        _dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        if let Some((packet, arrived)) = self.first.pop_front() {
            self.first_bytes -= u64::from(packet.size());
            return Some(Sent { packet, arrived, marked: false });
        }
        if self.queues.len() == 0 {
            return None; // and those in the lists stay there
        }
        loop {
            let mut queue = self.queues.turn()?;
            let Some((mut packet, arrived)) = queue.pop() else {
                let number = queue.number();
                if self.queues.pass_to_old(number) {
                    self.queues.control(number).left = Some(now);
                }
                continue;
            };
            queue.charge(packet.size());
            queue.control().packets -= 1;
            let marked = now - arrived > self.ce_threshold && packet.ecn().is_capable();
            if marked {
                packet.mark();
            }
            return Some(Sent { packet, arrived, marked });
        }
    }
}
