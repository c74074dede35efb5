use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use vermilion_aqm::{
    AnyDiscipline, AnyScheduler, Arrival, Coin, Colour, Decide, Departure, Discipline, DropReason,
    Dropped, Ecn, Fifo, LinkFacts, Queue, Scheduler, Sent, Verdict,
};
use vermilion_parameters::{Algorithm, ParameterError, Settings, Value, Values};

use super::parcel::Parcel;
use super::seeded::Seeded;

/// Sizes of packets in bytes, all as likely, and their mean.
const SIZES: [u32; 4] = [40, 552, 1000, 1500];
const MEAN_SIZE: f64 = 773.0;

/// Queues of up to so many packets are compared with what must wait, packet by packet, at every
/// arrival; longer ones at every 64th and at the end.
const MOST_LOOKED_THROUGH: usize = 48;

/// Outcome of one arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub verdict: Verdict,
    /// Numbers of the packets dropped from inside for it.
    pub others_dropped: Vec<u64>,
    pub average: Option<f64>,
    pub probability: Option<f64>,
}

/// A discipline of a first-in, first-out queue, and what it has been told.
#[derive(Debug)]
struct Overheard {
    discipline: Rc<RefCell<AnyDiscipline>>,
    /// First report of the queue since somebody looked.
    told: Rc<Cell<Option<Arrival>>>,
    /// Departure that it was last told of, and the answer.
    turn: Rc<Cell<Option<(Departure, Verdict)>>>,
}

impl Discipline for Overheard {
    fn watches_departures(&self) -> bool {
        self.discipline.borrow().watches_departures()
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        self.discipline.borrow_mut().reconfigure(settings, link)
    }

    fn is_flushed_by_change(&self) -> bool {
        self.discipline.borrow().is_flushed_by_change()
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.discipline.borrow_mut().link_changed(link);
    }

    fn average_queue(&self) -> Option<f64> {
        self.discipline.borrow().average_queue()
    }

    fn drop_probability(&self) -> Option<f64> {
        self.discipline.borrow().drop_probability()
    }
}

impl<C: Coin> Decide<C> for Overheard {
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.told.set(self.told.get().or(Some(*arrival)));
        let verdict = self.discipline.borrow_mut().on_arrival(arrival, coin);
        if let Verdict::MakeRoom { place, .. } = verdict {
            assert!(place < arrival.queue_packets, "a place behind the last packet");
            assert!(self.watches_departures(), "others may not make room");
        }
        verdict
    }

    fn on_departure(&mut self, departure: &Departure, coin: &mut C) -> Verdict {
        let verdict = self.discipline.borrow_mut().on_departure(departure, coin);
        self.turn.set(Some((*departure, verdict)));
        verdict
    }
}

/// The queue: with a discipline that is overheard, or one that keeps the packets.
enum Kept {
    Deciding(Fifo<Parcel, Overheard>),
    Keeping(Box<AnyScheduler<Parcel>>),
}

/// Calls one method on whichever queue it is.
macro_rules! either {
    ($queue:expr, $it:ident => $call:expr) => {
        match $queue {
            Kept::Deciding($it) => $call,
            Kept::Keeping($it) => $call,
        }
    };
}

/// Random arrivals: stretches of different load, with pauses of up to an hour between.
pub struct Traffic {
    random: Seeded,
    now: u64,
    /// Arrivals left in the stretch.
    left: u32,
    load: f64,
}

impl Traffic {
    pub fn new(random: Seeded) -> Self {
        Self { random, now: 0, left: 0, load: 1.0 }
    }

    /// The next packet for a link that sends a byte in `byte_time` ns, and when it arrives.
    fn next(&mut self, number: u64, byte_time: f64) -> (u64, Parcel) {
        if self.left == 0 {
            self.left = 20 + (self.random.uniform() * 200.0) as u32;
            self.load = 0.2 * 20_f64.powf(self.random.uniform());
            if self.random.uniform() < 0.3 {
                let longest = 3600e9_f64;
                self.now += longest.powf(self.random.uniform()) as u64;
            }
        }
        self.left -= 1;
        // Packets in trains: some arrive at the same instant.
        if self.random.uniform() < 0.8 {
            let gap = -(1.0 - self.random.uniform()).ln() / 0.8;
            self.now += (gap * MEAN_SIZE * byte_time / self.load) as u64;
        }
        let size = *self.one_of(&SIZES);
        let colour = *self.one_of(&[Colour::Green, Colour::Yellow, Colour::Red]);
        // A few flows send nearly everything, many others a packet now and then.
        let flow = (self.random.uniform().powi(4) * 300.0) as u32;
        // All packets of a flow have its sender's codepoint, which may choose their queue.
        let ecn = [Ecn::Ect0, Ecn::NotCapable, Ecn::Ect1, Ecn::NotCapable][flow as usize % 4];
        let dscp = [0, 8, 34, 46][flow as usize / 4 % 4];
        let hosts = [flow % 5, flow % 3];
        (self.now, Parcel { number, size, flow, ecn, colour, dscp, hosts, marked: false })
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[(self.random.uniform() * choices.len() as f64) as usize]
    }
}

/// The settings that say when the buffer is full and what an average may be, read once: to look
/// them up by name at every arrival would take longer than the disciplines.
struct Bounds {
    limit: Option<f64>,
    limit_in_bytes: bool,
    byte_limit: Option<f64>,
    memory_limit: f64,
    byte_mode: bool,
    mean_packet_size: Option<f64>,
    thresholds_in_bytes: bool,
}

impl Bounds {
    fn of(algorithm: &Algorithm, settings: &Settings) -> Self {
        let in_bytes = |name| {
            let mut rows = algorithm.parameters.iter();
            rows.any(|row| row.name == name && row.unit == "bytes")
        };
        // With a limit for each flow, that of all does not say what becomes of a packet: see
        // `flow_limits.rs`.
        let apart = settings.automatic("flow_limit").is_some();
        Self {
            limit: settings.automatic("limit").filter(|_| !apart),
            limit_in_bytes: in_bytes("limit"),
            byte_limit: settings.automatic("limit_bytes"),
            memory_limit: settings.automatic("memory_limit").unwrap_or(f64::INFINITY),
            byte_mode: settings.to_values().get("byte_mode") == Some(&Value::Switch(true)),
            mean_packet_size: settings.automatic("mean_packet_size"),
            thresholds_in_bytes: in_bytes("min_threshold"),
        }
    }
}

/// A router under test: a queue under a discipline before a link that sends one packet at a time. Every rule of a queue is checked at every arrival.
pub struct Router {
    name: &'static str,
    algorithm: &'static Algorithm,
    told: Rc<Cell<Option<Arrival>>>,
    turn: Rc<Cell<Option<(Departure, Verdict)>>>,
    settings: Settings,
    bounds: Bounds,
    link: LinkFacts,
    coin: Seeded,
    queue: Kept,
    /// When the packet in transmission has been sent; `None` while the link is idle.
    busy_until: Option<u64>,
    /// When it fell idle.
    idle_since: u64,
    /// When the last packet that waited began its transmission.
    empty_since: u64,
    offered: u64,
    dropped: u64,
    marked: u64,
    sent: u64,
    /// The packets that must be waiting, by number, and when they arrived.
    waiting: BTreeMap<u64, (Parcel, u64)>,
    bytes: u64,
    /// By flow: number of the packet sent last.
    last_sent: BTreeMap<u32, u64>,
    most_packets: f64,
    most_bytes: f64,
}

impl Router {
    pub fn new(algorithm: &Algorithm, values: &Values, link: LinkFacts, coin: Seeded) -> Self {
        let (told, turn) = (Rc::new(Cell::new(None)), Rc::new(Cell::new(None)));
        let (queue, settings) =
            AnyScheduler::from_values(algorithm.name, values, link).expect("settings in the table");
        let algorithm_in_force = queue.algorithm();
        assert_eq!(algorithm_in_force.name, algorithm.name);
        let queue = match queue.into_discipline() {
            Ok(discipline) => Kept::Deciding(Fifo::around(Overheard {
                discipline: Rc::new(RefCell::new(discipline)),
                told: Rc::clone(&told),
                turn: Rc::clone(&turn),
            })),
            Err(keeping) => Kept::Keeping(keeping),
        };
        Self {
            name: algorithm_in_force.name,
            algorithm: algorithm_in_force,
            told,
            turn,
            bounds: Bounds::of(algorithm_in_force, &settings),
            settings,
            link,
            coin,
            queue,
            busy_until: None,
            idle_since: 0,
            empty_since: 0,
            offered: 0,
            dropped: 0,
            marked: 0,
            sent: 0,
            waiting: BTreeMap::new(),
            bytes: 0,
            last_sent: BTreeMap::new(),
            most_packets: 0.0,
            most_bytes: 0.0,
        }
    }

    /// All settings in force.
    pub fn values(&self) -> Values {
        self.settings.to_values()
    }

    /// Takes new settings, which must be acceptable.
    pub fn reconfigure(&mut self, values: &Values, link: LinkFacts) {
        self.try_reconfigure(values, link).expect("settings in the table");
    }

    /// Takes new settings, or is refused.
    pub fn try_reconfigure(
        &mut self,
        values: &Values,
        link: LinkFacts,
    ) -> Result<(), ParameterError> {
        self.settings = match &mut self.queue {
            Kept::Deciding(fifo) => {
                fifo.discipline().discipline.borrow_mut().set_values(values, link)?
            }
            Kept::Keeping(queue) => queue.set_values(values, link)?,
        };
        self.bounds = Bounds::of(self.algorithm, &self.settings);
        self.link = link;
        Ok(())
    }

    /// Lets the next packet of `traffic` arrive.
    pub fn offer(&mut self, traffic: &mut Traffic) -> Outcome {
        let (now, packet) = traffic.next(self.offered, self.byte_time());
        self.send_until(now);
        let expected = self.arrival(now, &packet);
        let (packets, bytes) = (self.waiting.len() as f64, self.bytes as f64);
        self.most_packets = self.most_packets.max(packets);
        self.most_bytes = self.most_bytes.max(bytes);

        let idle_since = expected.idle_since;
        let (mut dropped, coin) = (Vec::new(), &mut self.coin);
        let mut drop = |packet| dropped.push(packet);
        let marked = either!(&mut self.queue, it => {
            it.enqueue(now, idle_since, packet, coin, &mut drop)
        });
        if let Kept::Deciding(_) = self.queue {
            assert_eq!(self.told.take(), Some(expected), "{}: what the queue tells", self.name);
        }
        self.offered += 1;
        self.waiting.insert(packet.number, (packet, now));
        self.bytes += u64::from(packet.size);
        self.marked += u64::from(marked);
        let (mut verdict, mut others_dropped) = (Verdict::Accept, Vec::new());
        if marked {
            verdict = Verdict::Mark;
            self.waiting.get_mut(&packet.number).expect("just put there").0.marked = true;
        }
        let mut overflowed = false;
        for dropped in dropped {
            overflowed |= dropped.reason == DropReason::Overflow;
            self.take_dropped(&dropped);
            if dropped.packet.number == packet.number {
                verdict = Verdict::Drop(dropped.reason);
            } else {
                others_dropped.push(dropped.packet.number);
            }
        }
        if self.waiting.is_empty() && packets > 0.0 {
            self.empty_since = now;
        }
        assert!(packet.ecn.is_capable() || !marked, "{}: a mark without ECN", self.name);
        self.check_limit(packet.size, packets, bytes, overflowed, verdict);
        if self.busy_until.is_none() {
            self.send_next(now);
        }
        self.check_conservation();
        let outcome = self.outcome(verdict, others_dropped);
        self.check_figures(&outcome);
        outcome
    }

    /// Sends what still waits; then nothing may be left.
    pub fn settle(&mut self) {
        self.send_until(u64::MAX);
        self.check_conservation();
        assert!(self.waiting.is_empty(), "{}", self.name);
        assert_eq!(self.sent + self.dropped, self.offered, "{}", self.name);
    }

    fn byte_time(&self) -> f64 {
        8e9 / self.link.rate
    }

    fn send_until(&mut self, now: u64) {
        while let Some(end) = self.busy_until
            && end <= now
        {
            self.send_next(end);
        }
    }

    fn send_next(&mut self, now: u64) {
        let had_some = !self.waiting.is_empty();
        let (mut dropped, coin) = (Vec::new(), &mut self.coin);
        let mut drop = |packet| dropped.push(packet);
        let sent = either!(&mut self.queue, it => it.dequeue(now, coin, &mut drop));
        for dropped in dropped {
            assert_ne!(dropped.reason, DropReason::Overflow, "{}: it had its place", self.name);
            self.take_dropped(&dropped);
        }
        let Some(Sent { packet, arrived, marked }) = sent else {
            if had_some {
                self.empty_since = now;
            }
            if !self.waiting.is_empty() {
                let ready = match &self.queue {
                    Kept::Deciding(_) => 0,
                    Kept::Keeping(queue) => Scheduler::<_, Seeded>::ready_at(&**queue),
                };
                assert!(ready > now, "{}: something waits and is not sent", self.name);
                self.busy_until = Some(ready);
                return;
            }
            if self.busy_until.take().is_some() {
                self.idle_since = now;
            }
            return;
        };
        assert!(had_some, "{}: a packet from nowhere", self.name);
        let was = self.leave(packet.number, arrived);
        assert_eq!(packet.marked, was.marked || marked, "{}: a mark", self.name);
        self.marked += u64::from(marked && !was.marked);
        let last = self.last_sent.insert(packet.flow, packet.number);
        assert!(last < Some(packet.number), "{}: order within a flow is lost", self.name);
        if self.waiting.is_empty() {
            self.empty_since = now;
        }
        if let Kept::Deciding(_) = self.queue {
            assert!(self.waiting.range(..packet.number).next().is_none(), "{}", self.name);
            self.check_turn(now, arrived, &packet, marked);
        }
        self.busy_until = Some(now + (f64::from(packet.size) * self.byte_time()) as u64);
        self.sent += 1;
    }

    fn take_dropped(&mut self, dropped: &Dropped<Parcel>) {
        self.leave(dropped.packet.number, dropped.arrived);
        self.dropped += 1;
    }

    /// A packet is out of the queue, sent or dropped; as it was put in.
    fn leave(&mut self, number: u64, arrived: u64) -> Parcel {
        let (packet, at) = self.waiting.remove(&number).expect("what leaves has waited");
        assert_eq!(at, arrived, "{}: when it arrived", self.name);
        self.bytes -= u64::from(packet.size);
        packet
    }

    /// Check that the discipline was told of the packet that is sent now, and that its mark is as it said.
    fn check_turn(&mut self, now: u64, arrived: u64, packet: &Parcel, marked: bool) {
        let told = Departure {
            now,
            arrived,
            size: packet.size,
            flow: packet.flow,
            ecn: packet.ecn,
            colour: packet.colour,
            queue_packets: self.waiting.len() as u32,
            queue_bytes: self.bytes,
        };
        let (departure, verdict) = self.turn.take().expect("every departure is told");
        assert_eq!(departure, told, "{}: what the queue tells of a departure", self.name);
        assert_eq!(marked, verdict == Verdict::Mark, "{}: a mark", self.name);
    }

    /// Packets marked so far, on arrival or on leaving.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Facts that the discipline must be told of a packet that arrives now.
    fn arrival(&self, now: u64, packet: &Parcel) -> Arrival {
        Arrival {
            now,
            size: packet.size,
            flow: packet.flow,
            ecn: packet.ecn,
            colour: packet.colour,
            queue_packets: (self.offered - self.dropped - self.sent) as u32,
            queue_bytes: self.bytes,
            empty_since: self.empty_since,
            idle_since: self.busy_until.is_none().then_some(self.idle_since),
        }
    }

    fn outcome(&self, verdict: Verdict, others_dropped: Vec<u64>) -> Outcome {
        let (average, probability) = match &self.queue {
            Kept::Deciding(it) => {
                (it.discipline().average_queue(), it.discipline().drop_probability())
            }
            Kept::Keeping(it) => (it.average_queue(), it.drop_probability()),
        };
        Outcome { verdict, others_dropped, average, probability }
    }

    /// Joining needs room, if need be that of another, and only a full buffer overflows. It held
    /// `packets` and `bytes` before a packet of `size` bytes arrived.
    fn check_limit(&self, size: u32, packets: f64, bytes: f64, overflowed: bool, verdict: Verdict) {
        let Some(full) = self.is_full(size, packets, bytes) else { return };
        assert!(full || !overflowed, "{}: {packets} packets, {bytes} bytes", self.name);
        assert!(overflowed || !full || !joins(verdict), "{}: joins {packets} packets", self.name);
        if let (Verdict::Drop(_), Kept::Deciding(_)) = (verdict, &self.queue) {
            assert_eq!(full, overflowed, "{}: {verdict:?}", self.name);
        }
        // What had its place when the limit was lowered may keep it.
        let [before, now] = [(packets, bytes), (self.waiting.len() as f64, self.bytes as f64)];
        let over = |(packets, bytes)| self.is_full(0, packets - 1.0, bytes) == Some(true);
        assert!(!over(now) || over(before), "{}: {now:?} wait", self.name);
    }

    fn check_conservation(&self) {
        let (packets, bytes) = either!(&self.queue, it => (it.len(), it.bytes()));
        assert_eq!((packets, bytes), (self.waiting.len(), self.bytes), "{}", self.name);
        assert_eq!(self.offered, self.sent + self.dropped + packets as u64, "{}", self.name);
        assert!(self.marked <= self.offered, "{}", self.name);
        // Going through thousands of packets at each arrival would be most of the test.
        if packets > MOST_LOOKED_THROUGH && !self.offered.is_multiple_of(64) {
            return;
        }
        let mut numbers = Vec::new();
        either!(&self.queue, it => it.each(&mut |packet| numbers.push(packet.number)));
        numbers.sort_unstable();
        assert!(numbers.iter().eq(self.waiting.keys()), "{}: what waits", self.name);
    }

    /// The average lies between 0 and the longest queue met, a probability between 0 and 1.
    fn check_figures(&self, outcome: &Outcome) {
        if let Some(average) = outcome.average {
            let bounds = &self.bounds;
            let longest = if bounds.thresholds_in_bytes || bounds.byte_mode {
                let size = bounds.mean_packet_size.expect("what an average of bytes is told in");
                self.most_packets.max(self.most_bytes / size)
            } else {
                self.most_packets
            };
            assert!(
                (0.0..=longest * (1.0 + 1e-12)).contains(&average),
                "{}: average {average}, longest queue {longest}",
                self.name
            );
        }
        if let Some(probability) = outcome.probability {
            assert!((0.0..=1.0).contains(&probability), "{}: {probability}", self.name);
        }
    }

    /// Return true if the buffer has no room for a packet of `size` bytes. Its limit is in packets or in
    /// bytes, and one in bytes counts the packet; in byte mode a limit in packets may also count
    /// packets of the mean size. `None` if there is no limit, or if the two ways of counting differ.
    fn is_full(&self, size: u32, packets: f64, bytes: f64) -> Option<bool> {
        let bounds = &self.bounds;
        let limit = bounds.limit?;
        if bounds.limit_in_bytes {
            return Some(bytes + f64::from(size) > limit);
        }
        if let Some(limit) = bounds.byte_limit {
            return Some(bytes + f64::from(size) > limit);
        }
        let full = packets >= limit || bytes + f64::from(size) > bounds.memory_limit;
        let by_size = bounds.byte_mode
            && bounds.mean_packet_size.is_some_and(|size| full != (bytes >= limit * size));
        (!by_size).then_some(full)
    }
}

fn joins(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::Drop(_))
}
