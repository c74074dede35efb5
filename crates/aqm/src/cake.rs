mod ack_filter;
mod framing;
mod shaper;
mod statistics;
mod tin;
mod tins;
mod ways;

use vermilion_parameters::{BitPerSecond, Bytes, ParameterError, Seconds, Settings, settings};

pub use self::ack_filter::AckFilter;
pub use self::framing::CakeFraming;
pub use self::statistics::CakeTinStatistics;
pub use self::tin::CakeIsolation;
pub use self::tins::CakeTins;

use self::framing::Weights;
use self::shaper::Shaper;
use self::tin::Tin;
use self::ways::QUEUES;
use crate::discipline::keeps;
use crate::fattest::Fattest;
use crate::flow_queues::{KEYS, NONE, Slab, scattered};
use crate::{
    Coin, Departure, Discipline, DropKind, DropReason, Dropped, LinkFacts, Listed, Packet, Queue,
    Scheduler, Sent, Standing, Verdict,
};

/// The least buffer that it has by itself, in bytes.
const LEAST_BUFFER: u64 = 4 << 20;

const FILTERED: DropReason = DropReason::Own { kind: DropKind::Early, cause: 0 };

settings! {
    /// Settings of [`Cake`].
    pub CakeSettings "cake": "CAKE",
        "A shaper before tins by codepoint, in each of which hosts and flows have equal shares under COBALT",
        "Linux 6.12, net/sched/sch_cake.c; T. Hoeiland-Joergensen, D. Taht, J. Morton, LANMAN 2018";
    /// rate of the shaper; automatic: none, the link sets the pace
    bandwidth: Option<BitPerSecond> = automatic in [64, 1e13] log [1e5, 1e9], "tc-cake";
    /// a usual worst round-trip time: COBALT's interval, of which its target is a twentieth
    rtt: Seconds = 0.1 in [> 0, 100] log [0.01, 1], "tc-cake";
    /// which tins there are; not to be changed while running
    tins: CakeTins = Diffserv3, "tc-cake";
    /// whose shares are equal; not to be changed while running
    isolation: CakeIsolation = TripleIsolate, "tc-cake";
    /// bytes that the line adds to a packet beyond `network_offset`; automatic: sizes count as they are (raw)
    overhead: Option<Bytes> = automatic in [-64, 256], "tc-cake";
    /// how the line cuts packets into pieces
    atm: CakeFraming = Whole, "tc-cake";
    /// least bytes that a packet takes on the line
    mpu: Bytes<u32> = 0 in [0, 256], "tc-cake";
    /// what packets' sizes have of a link header, which `overhead` does not count: 14 on Ethernet
    network_offset: Bytes<u32> = 0 in [0, 64], "Linux: the device's";
    /// largest packet, for the least times
    maximum_packet_size: Bytes<u32> = 1514 in [1, 65535], "Linux: the device's MTU and header";
    /// packets that are dropped count as sent, for they have crossed the bottleneck already
    ingress: bool = false, "tc-cake";
    /// which acknowledgements are taken away
    ack_filter: AckFilter = Off, "tc-cake";
    /// packets that offload has joined are parted on arrival; what comes here has been
    split_gso: bool = true, "tc-cake";
    /// bytes the buffer holds; automatic: 4 MiB, or four intervals at the rate if that is more
    memory_limit: Option<Bytes> = automatic in [1, 4_294_967_295_u32], "tc-cake";
    /// which hash function; automatic: drawn by the queue; not to be changed while running
    perturbation: Option<u32> = automatic in [0, 4_294_967_295_u32], "Linux: drawn at boot";
}

impl CakeSettings {
    fn weights(&self) -> Weights {
        Weights::new(self.overhead, self.network_offset, self.mpu, self.atm)
    }
}

/// CAKE: common applications kept enhanced.
///
/// Source: Linux 6.12, `net/sched/sch_cake.c` (facts, not code); T. Hoeiland-Joergensen, D. Taht, J. Morton, "Piece
/// of CAKE: A Comprehensive Queue Management Solution for Home Gateways", IEEE LANMAN 2018; tc-cake(8).
///
/// State: a shaper without burst (`cake/shaper.rs`), which weighs packets as the line behind it does
/// (`cake/framing.rs`); tins by codepoint (`cake/tins.rs`), each with a threshold below which it goes before those
/// before it; in each tin 1024 queues by an eight-way set-associative hash (`cake/ways.rs`) that take turns by DRR++ with
/// quanta that shrink with the bulk flows of their hosts (`cake/tin.rs`); in each queue COBALT
/// ([`Cobalt`](crate::Cobalt)).
///
/// An arriving packet joins the queue of its flow in its tin. While more bytes wait than the buffer holds, the head of the
/// longest queue of all tins is dropped, and its COBALT is told. When the shaper allows it, the last tin within
/// its threshold has the turn, or else the one that will be within it first; without a rate tins take turns by DRR. There
/// the flow whose turn it is offers packets until its COBALT lets one go.
///
/// Departures from the source:
/// 1. Memory is counted in bytes of packets on the link; Linux counts what buffers take.
/// 2. Flows are told apart by [`Packet::flow`], hosts by [`Packet::hosts`], hashed with a key that is `perturbation`, or
///    drawn by each queue; Linux hashes addresses and ports with a key drawn at boot.
/// 3. `tins` and `isolation` stay for a queue's life. A change of anything else drops nothing, as in Linux.
/// 4. Packets arrive as they are on the line, so there are none to be split: `split_gso` cannot be switched off.
/// 5. There are no marks of a firewall, no priorities and no filters that choose a tin or a host, no `nat`, no `wash`
///    and no `autorate-ingress`.
/// 6. Packets are weighed when they leave, by the framing in force then; Linux weighs them when they come.
#[derive(Clone, Debug)]
pub struct Cake<P> {
    set: CakeSettings,
    weights: Weights,
    shaper: Shaper,
    tins: Vec<Tin>,
    /// The tin that has had the last turn.
    current: usize,
    slab: Slab<P>,
    waiting: Standing,
    buffer: u64,
    longest: Fattest,
    /// The key in force; `None` until it has been drawn.
    key: Option<u32>,
}

impl<P: Packet> Listed for Cake<P> {
    type Settings = CakeSettings;

    fn new(set: CakeSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let tins = set.tins.allotments(0).iter().map(|_| Tin::new(set.isolation)).collect();
        let mut cake = Self {
            set,
            weights: set.weights(),
            shaper: Shaper::default(),
            tins,
            current: 0,
            slab: Slab::default(),
            waiting: Standing::default(),
            buffer: 0,
            longest: Fattest::default(),
            key: set.perturbation,
        };
        cake.take(set)?;
        Ok(cake)
    }
}

impl<P: Packet> Discipline for Cake<P> {
    fn reconfigure(&mut self, settings: &Settings, _link: LinkFacts) -> Result<(), ParameterError> {
        let set: CakeSettings = settings.read();
        keeps("tins", self.set.tins, set.tins)?;
        keeps("isolation", self.set.isolation, set.isolation)?;
        keeps("perturbation", self.set.perturbation, set.perturbation)?;
        self.take(set)
    }

    /// BLUE's.
    fn drop_probability(&self) -> Option<f64> {
        let flows = self.tins.iter().flat_map(|tin| &tin.flows);
        Some(flows.map(|flow| flow.control.probability()).fold(0.0, f64::max))
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        match reason {
            FILTERED => "ack filter",
            other => other.kind().choose("blue", "control law", "memory limit"),
        }
    }
}

impl<P: Packet> Queue<P> for Cake<P> {
    #[inline]
    fn len(&self) -> usize {
        self.waiting.packets as usize
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.waiting.bytes
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        self.slab.each(look);
    }
}

impl<P: Packet, C: Coin> Scheduler<P, C> for Cake<P> {
    const READS_HOSTS: bool = true;
    const HOLDS_BACK: bool = true;

    #[inline]
    fn ready_at(&self) -> u64 {
        self.shaper.ready_at()
    }

    #[inline]
    fn enqueue(
        &mut self,
        now: u64,
        _idle_since: Option<u64>,
        packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        let size = packet.size();
        let number = self.set.tins.tin_of(packet.dscp());
        let queue = self.queue_of(number, &packet, coin);
        let tin = &mut self.tins[number];
        if tin.backlog == 0 {
            tin.paid = tin.paid.max(now);
            if self.waiting.packets == 0 {
                self.shaper.wake(now);
            }
        }
        tin.statistics.sent_packets += 1;
        tin.statistics.sent_bytes += u64::from(size);
        self.push(number, queue, packet, now);
        if self.set.ack_filter != AckFilter::Off
            && let Some((packet, arrived)) = self.filter(number, queue)
        {
            self.tins[number].statistics.ack_drops += 1;
            if self.set.ingress {
                self.charge(number, None, packet.size(), now, false);
            }
            dropped(Dropped { packet, arrived, reason: FILTERED });
        }
        self.tins[number].enter(queue, coin);
        while self.waiting.bytes > self.buffer {
            self.shed(now, dropped);
        }
        false
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: u64,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        let mut is_first = true;
        'tins: loop {
            if self.waiting.packets == 0 || self.shaper.ready_at() > now {
                return None;
            }
            let number = if self.shaper.is_on() { self.due(now) } else { self.next_in_turn() }?;
            'flows: loop {
                let Some(queue) = self.tins[number].turn(&mut is_first, coin) else {
                    continue 'tins;
                };
                loop {
                    let Some((mut packet, arrived)) = self.pop(number, queue) else {
                        self.tins[number].pass(queue, now);
                        continue 'tins;
                    };
                    let size = packet.size();
                    let tin = &mut self.tins[number];
                    let bulk_flows = if self.set.ingress { tin.statistics.bulk_flows } else { 0 };
                    let flow = &mut tin.flows[queue];
                    let departure = Departure {
                        queue_packets: u32::from(flow.head != NONE),
                        ..Departure::of(&packet, arrived, now)
                    };
                    let bulk_flows = u64::from(bulk_flows);
                    let verdict = flow.control.decide(&tin.law, &departure, bulk_flows, coin);
                    if let Verdict::Drop(reason) = verdict {
                        tin.statistics.drops += 1;
                        dropped(Dropped { packet, arrived, reason });
                        if !self.set.ingress {
                            continue;
                        }
                        self.charge(number, Some(queue), size, now, false);
                        continue 'flows;
                    }
                    let marked = verdict == Verdict::Mark;
                    if marked {
                        packet.mark();
                        tin.statistics.ecn_mark += 1;
                    }
                    tin.statistics.note_delay(now - arrived);
                    self.charge(number, Some(queue), size, now, true);
                    return Some(Sent { packet, arrived, marked });
                }
            }
        }
    }
}

impl<P: Packet> Cake<P> {
    /// Figures of each tin, in the order of their numbers.
    pub fn statistics(&self) -> impl Iterator<Item = CakeTinStatistics> + '_ {
        self.tins.iter().map(|tin| tin.statistics)
    }

    /// Takes settings; what has been charged stays.
    fn take(&mut self, set: CakeSettings) -> Result<(), ParameterError> {
        if !set.split_gso {
            return Err(ParameterError::new("split_gso", false, "true, as no packet comes joined"));
        }
        let rate = set.bandwidth.map_or(0, |rate| (rate.0 / 8.0) as u64);
        let interval = set.rtt.nanoseconds();
        let largest = set.maximum_packet_size.0;
        for (tin, allotment) in self.tins.iter_mut().zip(set.tins.allotments(rate)) {
            tin.allot(allotment, interval, largest);
        }
        self.shaper.set_rate(rate);
        self.weights = set.weights();
        let in_intervals = u128::from(4 * rate) * u128::from(interval) / 1_000_000_000;
        self.buffer = match set.memory_limit {
            Some(limit) => limit.0 as u64,
            None => LEAST_BUFFER.max(in_intervals as u64),
        };
        self.set = set;
        Ok(())
    }

    /// The queue of a packet in its tin. The first call draws the key from `coin` unless it was given.
    #[inline]
    fn queue_of(&mut self, tin: usize, packet: &P, coin: &mut impl Coin) -> usize {
        let isolation = self.set.isolation;
        if isolation == CakeIsolation::FlowBlind {
            return 0;
        }
        let key = *self.key.get_or_insert_with(|| (coin.uniform() * KEYS) as u32);
        let [source, destination] = packet.hosts();
        // A host may be on both sides.
        let hosts = [scattered(source, key), scattered(destination, !key)];
        let flow = match isolation {
            CakeIsolation::SrcHost => hosts[0],
            CakeIsolation::DstHost => hosts[1],
            CakeIsolation::Hosts => hosts[0] ^ hosts[1],
            _ => scattered(packet.flow(), key),
        };
        self.tins[tin].queue_of(flow, hosts)
    }

    /// The tin whose turn it is by what they have sent.
    #[inline]
    fn due(&self, now: u64) -> Option<usize> {
        let mut best = None;
        for (number, tin) in self.tins.iter().enumerate() {
            let wait = tin.paid as i64 - now as i64;
            if tin.is_busy() && (wait <= 0 || best.is_none_or(|(least, _)| wait <= least)) {
                best = Some((wait, number));
            }
        }
        best.map(|(_, number)| number)
    }

    /// The tin whose turn it is by DRR.
    #[inline]
    fn next_in_turn(&mut self) -> Option<usize> {
        let (mut rounds, mut is_busy) = (0, false);
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_busy() {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            is_busy |= tin.is_busy();
            self.current += 1;
            if self.current == self.tins.len() {
                (self.current, rounds) = (0, rounds + 1);
                if rounds > 1 && !is_busy {
                    return None;
                }
            }
        }
    }

    /// Packets of so many bytes count as sent.
    #[inline]
    fn charge(&mut self, tin: usize, queue: Option<usize>, size: u32, now: u64, is_sent: bool) {
        let weight = self.weights.weigh(size);
        self.shaper.charge(weight, is_sent);
        self.tins[tin].charge(queue, weight, now);
    }

    /// Puts a packet at the end of a queue.
    #[inline]
    fn push(&mut self, tin: usize, queue: usize, packet: P, now: u64) {
        let size = u64::from(packet.size());
        let place = self.slab.put(packet, now);
        self.note_change(tin, queue);
        let it = &mut self.tins[tin];
        let flow = &mut it.flows[queue];
        self.slab.link(place, &mut flow.head, &mut flow.tail);
        flow.backlog += size;
        it.backlog += size;
        self.waiting.bytes += size;
        self.waiting.packets += 1;
    }

    /// Takes the first packet of a queue out, and when it arrived.
    #[inline]
    fn pop(&mut self, tin: usize, queue: usize) -> Option<(P, u64)> {
        let flow = &mut self.tins[tin].flows[queue];
        let (packet, arrived, next) = self.slab.take(flow.head)?;
        flow.head = next;
        self.note_taken(tin, queue, packet.size());
        Some((packet, arrived))
    }

    /// A packet of so many bytes has been taken out.
    #[inline]
    fn note_taken(&mut self, tin: usize, queue: usize, size: u32) {
        let size = u64::from(size);
        self.note_change(tin, queue);
        let it = &mut self.tins[tin];
        it.flows[queue].backlog -= size;
        it.backlog -= size;
        self.waiting.bytes -= size;
        self.waiting.packets -= 1;
    }

    /// The bytes in a queue change.
    #[inline]
    fn note_change(&mut self, tin: usize, queue: usize) {
        let flow = &mut self.tins[tin].flows[queue];
        if !flow.noted {
            flow.noted = true;
            self.longest.note_change(tin * QUEUES + queue);
        }
    }

    /// Takes an acknowledgement out of a queue that the last one in it makes needless.
    #[cold]
    #[inline(never)]
    fn filter(&mut self, tin: usize, queue: usize) -> Option<(P, u64)> {
        let flow = &mut self.tins[tin].flows[queue];
        let is_aggressive = self.set.ack_filter == AckFilter::Aggressive;
        let before = ack_filter::needless(&self.slab, flow.head, flow.tail, is_aggressive)?;
        let (packet, arrived) = self.slab.unlink(before, &mut flow.head)?;
        self.note_taken(tin, queue, packet.size());
        Some((packet, arrived))
    }

    /// The buffer is full: the longest queue of all tins gives up its head.
    #[cold]
    #[inline(never)]
    fn shed(&mut self, now: u64, dropped: &mut impl FnMut(Dropped<P>)) {
        let tins = &mut self.tins;
        let longest = self.longest.find(tins.len() * QUEUES, |number| {
            let flow = &mut tins[number / QUEUES].flows[number % QUEUES];
            flow.noted = false;
            flow.backlog
        });
        let (number, queue) = (longest / QUEUES, longest % QUEUES);
        let Some((packet, arrived)) = self.pop(number, queue) else { return };
        let tin = &mut self.tins[number];
        let becomes_active = tin.flows[queue].control.overflow(&tin.law, now);
        tin.statistics.unresponsive_flows += u32::from(becomes_active);
        tin.statistics.drops += 1;
        if self.set.ingress {
            self.charge(number, None, packet.size(), now, false);
        }
        dropped(Dropped { packet, arrived, reason: DropReason::Overflow });
    }
}
