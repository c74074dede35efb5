//! A router under test: a discipline before a link that sends one packet at a time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use vermilion_aqm::{
    AnyDiscipline, Arrival, Coin, Departure, Discipline, DropReason, Fifo, Link, Verdict,
    registry::ALGORITHMS,
};
use vermilion_parameters::{Algorithm, ParameterError, Settings, Values};

use super::seeded::Seeded;

/// Sizes of packets in bytes, all as likely, and their mean.
const SIZES: [u32; 4] = [40, 552, 1000, 1500];
const MEAN_SIZE: f64 = 773.0;

/// What one arrival came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub average: Option<f64>,
    pub probability: Option<f64>,
}

/// A discipline chosen by name in the place of one known to the compiler. It is shared with the
/// router, so that its figures can be read and its settings changed while the queue owns it.
#[derive(Debug)]
struct Chosen {
    discipline: Rc<RefCell<AnyDiscipline>>,
    /// What the queue last told it.
    told: Rc<Cell<Option<Arrival>>>,
    /// What it last told it of a departure, and the answer.
    turn: Rc<Cell<Option<(Departure, Verdict)>>>,
}

impl Discipline for Chosen {
    const ALGORITHM: Algorithm = ALGORITHMS[0];

    fn new(_: &Settings, _: Link) -> Result<Self, ParameterError> {
        unreachable!("made around a discipline that exists")
    }

    fn reconfigure(&mut self, _: &Settings, _: Link) -> Result<(), ParameterError> {
        unreachable!("the router changes the settings")
    }

    fn link_changed(&mut self, _: Link) {
        unreachable!("the router's link stays as it is")
    }

    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        self.told.set(Some(*arrival));
        self.discipline.borrow_mut().on_arrival(arrival, coin)
    }

    fn on_departure(&mut self, departure: &Departure, coin: &mut impl Coin) -> Verdict {
        let verdict = self.discipline.borrow_mut().on_departure(departure, coin);
        self.turn.set(Some((*departure, verdict)));
        verdict
    }
}

#[derive(Debug)]
struct Packet {
    number: u64,
    size: u32,
    ecn_capable: bool,
    arrived: u64,
    marked: bool,
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

    /// The next packet for a link that sends a byte in `byte_time` ns: time, size, ECN-capable.
    fn next(&mut self, byte_time: f64) -> (u64, u32, bool) {
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
        let size = SIZES[(self.random.uniform() * SIZES.len() as f64) as usize];
        (self.now, size, self.random.uniform() < 0.5)
    }
}

/// See the module's head. Every rule of a queue is checked at every arrival.
pub struct Router {
    name: &'static str,
    discipline: Rc<RefCell<AnyDiscipline>>,
    told: Rc<Cell<Option<Arrival>>>,
    turn: Rc<Cell<Option<(Departure, Verdict)>>>,
    settings: Settings,
    link: Link,
    coin: Seeded,
    fifo: Fifo<Packet, Chosen>,
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
    bytes: u64,
    last_left: Option<u64>,
    /// By packet number: whether the verdict was to mark.
    marks: Vec<bool>,
    most_packets: f64,
    most_bytes: f64,
}

impl Router {
    pub fn new(algorithm: &Algorithm, values: &Values, link: Link, coin: Seeded) -> Self {
        let (discipline, settings) = AnyDiscipline::from_values(algorithm.name, values, link)
            .expect("settings in the table");
        let name = discipline.algorithm().name;
        assert_eq!(name, algorithm.name);
        let discipline = Rc::new(RefCell::new(discipline));
        let told = Rc::new(Cell::new(None));
        let turn = Rc::new(Cell::new(None));
        let chosen = Chosen {
            discipline: Rc::clone(&discipline),
            told: Rc::clone(&told),
            turn: Rc::clone(&turn),
        };
        Self {
            name,
            fifo: Fifo::new(chosen),
            discipline,
            told,
            turn,
            settings,
            link,
            coin,
            busy_until: None,
            idle_since: 0,
            empty_since: 0,
            offered: 0,
            dropped: 0,
            marked: 0,
            sent: 0,
            bytes: 0,
            last_left: None,
            marks: Vec::new(),
            most_packets: 0.0,
            most_bytes: 0.0,
        }
    }

    /// All settings in force.
    pub fn values(&self) -> Values {
        self.settings.to_values()
    }

    /// Takes new settings, which must be acceptable.
    pub fn reconfigure(&mut self, values: &Values, link: Link) {
        self.try_reconfigure(values, link).expect("settings in the table");
    }

    /// Takes new settings, or is refused.
    pub fn try_reconfigure(&mut self, values: &Values, link: Link) -> Result<(), ParameterError> {
        self.settings = self.discipline.borrow_mut().reconfigure(values, link)?;
        self.link = link;
        Ok(())
    }

    /// Lets the next packet of `traffic` arrive.
    pub fn offer(&mut self, traffic: &mut Traffic) -> Outcome {
        let (now, size, ecn_capable) = traffic.next(self.byte_time());
        self.send_until(now);
        let expected = self.arrival(now, size, ecn_capable);
        let (packets, bytes) = (self.fifo.len() as f64, self.fifo.bytes() as f64);
        self.most_packets = self.most_packets.max(packets);
        self.most_bytes = self.most_bytes.max(bytes);

        let packet =
            Packet { number: self.offered, size, ecn_capable, arrived: now, marked: false };
        let mark = |packet: &mut Packet| packet.marked = true;
        let verdict = self.fifo.enqueue(now, packet, size, ecn_capable, mark, &mut self.coin);
        assert_eq!(self.told.get(), Some(expected), "{}: what the queue tells", self.name);
        self.offered += 1;
        self.marks.push(verdict == Verdict::Mark);
        self.marked += u64::from(verdict == Verdict::Mark);
        if let Verdict::Drop(_) = verdict {
            self.dropped += 1;
        } else {
            self.bytes += u64::from(size);
        }
        self.check_verdict(verdict, size, ecn_capable, packets, bytes);
        if self.busy_until.is_none() {
            self.send_next(now);
        }
        self.check_conservation();
        let outcome = self.outcome(verdict);
        self.check_figures(&outcome);
        outcome
    }

    /// Sends what still waits; then nothing may be left.
    pub fn settle(&mut self) {
        self.send_until(u64::MAX);
        assert!(self.fifo.is_empty() && self.fifo.bytes() == 0, "{}", self.name);
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
        let had_some = !self.fifo.is_empty();
        let mut dropped = Vec::new();
        let packet = self.fifo.dequeue(
            now,
            |packet| packet.marked = true,
            |packet, reason| dropped.push((packet, reason)),
            &mut self.coin,
        );
        for (packet, reason) in dropped {
            assert_ne!(reason, DropReason::Overflow, "{}: it had its place", self.name);
            self.leave(&packet);
            self.dropped += 1;
        }
        if had_some && self.fifo.is_empty() {
            self.empty_since = now;
        }
        let Some(packet) = packet else {
            if self.busy_until.take().is_some() {
                self.idle_since = now;
            }
            return;
        };
        self.leave(&packet);
        self.check_turn(now, &packet);
        self.busy_until = Some(now + (f64::from(packet.size) * self.byte_time()) as u64);
        self.sent += 1;
    }

    /// A packet is out of the queue, sent or dropped.
    fn leave(&mut self, packet: &Packet) {
        assert!(self.last_left < Some(packet.number), "{}: order is lost", self.name);
        self.last_left = Some(packet.number);
        self.bytes -= u64::from(packet.size);
    }

    /// What the discipline was told of the packet that is sent now, and that its mark is as it said.
    fn check_turn(&mut self, now: u64, packet: &Packet) {
        let told = Departure {
            now,
            arrived: packet.arrived,
            size: packet.size,
            ecn_capable: packet.ecn_capable,
            queue_packets: self.fifo.len() as u32,
            queue_bytes: self.bytes,
        };
        let (departure, verdict) = self.turn.take().expect("every departure is told");
        assert_eq!(departure, told, "{}: what the queue tells of a departure", self.name);
        let mark = verdict == Verdict::Mark;
        assert!(packet.ecn_capable || !mark, "{}: a mark without ECN", self.name);
        let marked_before = self.marks[packet.number as usize];
        assert_eq!(packet.marked, marked_before || mark, "{}: a mark", self.name);
        self.marked += u64::from(mark && !marked_before);
    }

    /// Packets marked so far, on arrival or on leaving.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// What the discipline must be told of a packet that arrives now.
    fn arrival(&self, now: u64, size: u32, ecn_capable: bool) -> Arrival {
        Arrival {
            now,
            size,
            ecn_capable,
            queue_packets: (self.offered - self.dropped - self.sent) as u32,
            queue_bytes: self.bytes,
            empty_since: self.empty_since,
            idle_since: self.busy_until.is_none().then_some(self.idle_since),
        }
    }

    fn outcome(&self, verdict: Verdict) -> Outcome {
        let discipline = self.discipline.borrow();
        Outcome {
            verdict,
            average: discipline.average_queue(),
            probability: discipline.drop_probability(),
        }
    }

    /// Marks need an ECN-capable packet, joining needs room, and only a full buffer overflows.
    fn check_verdict(
        &self,
        verdict: Verdict,
        size: u32,
        ecn_capable: bool,
        packets: f64,
        bytes: f64,
    ) {
        assert!(ecn_capable || verdict != Verdict::Mark, "{}: a mark without ECN", self.name);
        let Some(full) = self.is_full(size, packets, bytes) else { return };
        match verdict {
            Verdict::Accept | Verdict::Mark => {
                assert!(!full, "{}: joins {packets} packets, {bytes} bytes", self.name);
            }
            Verdict::Drop(reason) => {
                assert_eq!(full, reason == DropReason::Overflow, "{}: {reason:?}", self.name);
            }
        }
    }

    fn check_conservation(&self) {
        let waiting = self.fifo.len() as u64;
        assert_eq!(self.offered, self.sent + self.dropped + waiting, "{}", self.name);
        assert_eq!(self.bytes, self.fifo.bytes(), "{}", self.name);
        assert!(self.marked <= self.offered, "{}", self.name);
    }

    /// The average lies between 0 and the longest queue met, a probability between 0 and 1.
    fn check_figures(&self, outcome: &Outcome) {
        if let Some(average) = outcome.average {
            let in_bytes = self.unit_of("min_threshold") == Some("bytes");
            let longest = if in_bytes || self.settings.switch("byte_mode") {
                self.most_packets.max(self.most_bytes / self.settings.number("mean_packet_size"))
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

    fn unit_of(&self, parameter: &str) -> Option<&'static str> {
        let algorithm = self.discipline.borrow().algorithm();
        let row = algorithm.parameters.iter().find(|row| row.name == parameter)?;
        Some(row.unit)
    }

    /// Whether the buffer has no room for a packet of `size` bytes. Its limit is in packets or in
    /// bytes, and one in bytes counts the packet; in byte mode a limit in packets may also count packets of the mean size. `None` if there is no limit, or if the two
    /// ways of counting differ.
    fn is_full(&self, size: u32, packets: f64, bytes: f64) -> Option<bool> {
        let limit = self.settings.automatic("limit")?;
        if self.unit_of("limit") == Some("bytes") {
            return Some(bytes + f64::from(size) > limit);
        }
        let full = packets >= limit;
        let by_size = self.settings.switch("byte_mode")
            && self
                .settings
                .automatic("mean_packet_size")
                .is_some_and(|size| full != (bytes >= limit * size));
        (!by_size).then_some(full)
    }
}
