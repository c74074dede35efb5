use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use vermilion_netsim::random::{Purpose, Stream};
use vermilion_parameters::ParameterError;
use vermilion_port::DeficitTurns;
use vermilion_rdma::{Acknowledgement, Hop, Nic, Paced, RateBased, Receiver};
use vermilion_tcp::Segment;
use vermilion_tcp::registry::Profile;

use crate::classes::{classes, turns};
use crate::connection::{Carried, Connection};
use crate::pair::{Mode, Pair};
use crate::pause::{Asking, Obeying, Signal};
use crate::port::Port;
use crate::queue_window::QueueWindow;
use crate::results::Deadlock;
use crate::scenario::Scenario;
use crate::shared_buffer::{Ingress, SharedBuffer};
use crate::slots::{NEVER, NONE, Slots};
use crate::topology::Topology;
use crate::traffic::{Transfer, transfers};

/// Most links of a way.
const MOST_LINKS: usize = 16;
/// Instants with events between two looks at whether to stop.
const LOOK: u32 = 1 << 16;
/// Nanoseconds between two looks for a deadlock.
const CHECK_INTERVAL: u64 = 1_000_000;
/// Smallest acknowledgement that carries telemetry, without it.
const BARE_ACKNOWLEDGEMENT: u32 = 46;

/// A run that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// What a packet is, or what else is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Data,
    Acknowledgement,
    Notification,
    Pause,
    Resume,
    /// A queue pair may send its next packet.
    Wake,
    /// A queue pair may have to go back.
    Timeout,
    /// Links may wait for each other in a circle.
    Check,
}

/// A packet, or a timer in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Its queue pair.
    pub flow: u32,
    /// Its number; of an acknowledgement that of the packet that is expected.
    pub number: u32,
    /// Port that sent it last.
    pub link: u32,
    pub size: u16,
    pub kind: Kind,
    /// Links behind it, without the one that it is on.
    hop: u8,
    marked: bool,
    /// The last of its transfer; of an acknowledgement: the sender is to go back.
    flag: bool,
    /// It is marked where others are dropped.
    capable: bool,
}

const EMPTY: Packet = Packet {
    flow: 0,
    number: 0,
    link: 0,
    size: 0,
    kind: Kind::Data,
    hop: 0,
    marked: false,
    flag: false,
    capable: true,
};

/// Everything of a fabric but its ends.
pub(crate) struct Build {
    topology: Topology,
    ports: Vec<Port>,
    ingress: Vec<Ingress>,
    buffers: Vec<SharedBuffer>,
    transfers: Vec<Transfer>,
    windows: Vec<QueueWindow>,
    base_round_trip: u64,
    seed: u64,
    /// Links, and the classes that there are, the highest first.
    lines: u32,
    classes: Vec<u8>,
}

impl Build {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Self, ParameterError> {
        let topology = Topology::new(scenario, seed)?;
        if topology.longest > MOST_LINKS {
            let value = format!("a way of {} links", topology.longest);
            return Err(ParameterError::new("cables", value, format!("at most {MOST_LINKS}")));
        }
        let transfers = transfers(scenario, seed)?;
        let classes = classes(scenario)?;
        let mut ports = Vec::with_capacity(topology.to.len());
        let mut ingress = Vec::with_capacity(topology.to.len());
        let mut taken = vec![0_u64; scenario.switches.len()];
        for number in 0..topology.to.len() {
            let cable = &scenario.cables[number / 2];
            let mut port = Port::new(cable.rate_bit_per_s, cable.delay_ns);
            port.to_host = topology.to[number] < topology.hosts;
            let mut own = Ingress::new(0, 0, cable.alpha, 0);
            if let Some(switch) = topology.from[number].checked_sub(topology.hosts) {
                port.switch = switch;
                (port.kmin, port.kmax) = (cable.kmin_bytes, cable.kmax_bytes);
                port.slope = cable.pmax / f64::from((cable.kmax_bytes - cable.kmin_bytes).max(1));
                port.alpha = cable.alpha;
                let memory = &scenario.switches[switch as usize];
                if memory.pauses {
                    own = Ingress::new(
                        memory.reserve_bytes,
                        cable.headroom_bytes,
                        cable.alpha,
                        memory.resume_offset_bytes,
                    );
                    taken[switch as usize] += classes.len() as u64
                        * (u64::from(memory.reserve_bytes) + u64::from(cable.headroom_bytes));
                }
            }
            ports.push(port);
            ingress.push(own);
        }
        let mut buffers = Vec::with_capacity(taken.len());
        for (number, (memory, taken)) in scenario.switches.iter().zip(taken).enumerate() {
            let Some(shared) = memory.buffer_bytes.checked_sub(taken).filter(|&shared| shared > 0)
            else {
                let accepted =
                    format!("more than reserves and headrooms of its ports, {taken} bytes");
                let field = format!("switches[{number}].buffer_bytes");
                return Err(ParameterError::new(field, memory.buffer_bytes, accepted));
            };
            buffers.push(SharedBuffer::new(shared));
        }
        let rates = topology.uplink.iter().map(|&port| ports[port as usize].rate);
        if let Some(other) =
            rates.clone().find(|&rate| rate != ports[topology.uplink[0] as usize].rate)
        {
            let value = format!("a host of {other} bit/s among others");
            return Err(ParameterError::new("cables", value, "one rate for all hosts"));
        }
        let mut windows = Vec::new();
        for (number, watched) in scenario.watched.iter().enumerate() {
            let found = (0..ports.len()).find(|&port| {
                topology.from[port] == watched.from && topology.to[port] == watched.to
            });
            let Some(port) = found else {
                let value = format!("from node {} to node {}", watched.from, watched.to);
                return Err(ParameterError::new(format!("watched[{number}]"), value, "a link"));
            };
            ports[port].watched = windows.len() as u32;
            windows.push(QueueWindow::new(watched.from_ns, watched.until_ns));
        }
        let lines = ports.len() as u32;
        let mut build = Self {
            topology,
            ports,
            ingress,
            buffers,
            transfers,
            windows,
            base_round_trip: 0,
            seed,
            lines,
            classes,
        };
        let hosts = build.topology.representatives();
        for &source in &hosts {
            for &destination in &hosts {
                if source != destination {
                    let (base, _) = build.alone(source, destination, scenario.packets.payload);
                    build.base_round_trip = build.base_round_trip.max(base);
                }
            }
        }
        for _ in 1..build.classes.len() {
            build.ports.extend_from_within(..lines as usize);
            build.ingress.extend_from_within(..lines as usize);
            build.topology.to.extend_from_within(..lines as usize);
            build.topology.from.extend_from_within(..lines as usize);
        }
        Ok(build)
    }

    pub(crate) fn has_classes(&self) -> bool {
        self.classes.len() > 1
    }

    /// The round trip of the empty network in nanoseconds, and the slowest rate on the way.
    fn alone(&self, source: u32, destination: u32, payload: u32) -> (u64, f64) {
        let (mut time, mut slowest) = (0, f64::INFINITY);
        self.topology.way(source, destination, 0, |port| {
            let port = &self.ports[port as usize];
            time += 2 * u64::from(port.propagation) + (f64::from(payload) * 8e9 / port.rate) as u64;
            slowest = slowest.min(port.rate);
        });
        (time, slowest)
    }

    pub(crate) fn nic(&self) -> Nic {
        let line_rate =
            self.topology.uplink.first().map_or(1.0, |&port| self.ports[port as usize].rate);
        Nic { line_rate, base_round_trip: self.base_round_trip }
    }
}

/// What is the same for all transfers.
#[derive(Clone, Copy, Debug)]
struct Rules {
    payload: u32,
    header: u32,
    acknowledgement: u16,
    notification: u16,
    pause: u16,
    acknowledgements_first: bool,
    acknowledge_every: u32,
    notification_interval: Option<u64>,
    marks_at_departure: bool,
    timeout: u64,
}

/// A fabric that runs.
///
/// Where there are several classes a port stands for one class of a link, `class x links + link`; what it has of the
/// transmitter (`free_at`, `fraction`, `is_waiting`) is that of the first. `MIXED`: there are such classes, or senders of TCP.
pub(crate) struct Engine<R: RateBased, const MIXED: bool> {
    end: R,
    rules: Rules,
    pub(crate) topology: Topology,
    pub(crate) ports: Vec<Port>,
    pub(crate) lines: u32,
    /// Classes that there are, the highest first.
    pub(crate) classes: Vec<u8>,
    /// Turns of the classes of each link; none where the highest goes first.
    pub(crate) turns: Vec<DeficitTurns>,
    /// Links of each switch.
    ports_of: Vec<Vec<u32>>,
    ingress: Vec<Ingress>,
    asking: Vec<Asking>,
    pub(crate) obeying: Vec<Obeying>,
    pub(crate) buffers: Vec<SharedBuffer>,
    pauses: Vec<bool>,
    coins: Vec<Stream>,
    pub(crate) windows: Vec<QueueWindow>,

    pub(crate) slots: Slots,
    /// Lists of events and of packets that wait; a number is that of a port, or of a packet after those.
    pub(crate) next: Vec<u32>,
    pub(crate) packets: Vec<Packet>,
    free: u32,
    telemetry: Vec<[Hop; MOST_LINKS]>,
    /// What packets of TCP carry.
    carried: Vec<Carried>,
    profiles: Vec<Option<Profile>>,
    /// Events that the slots do not reach.
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    far_count: u64,
    /// The instant up to which events of the slots come first.
    bound: u64,
    end_at: u64,

    pairs: Vec<Pair<R::State>>,
    free_pairs: Vec<u32>,
    /// Ways of the queue pairs, there and back.
    ways: Vec<u32>,
    half: usize,
    /// Queue pairs whose turn it is, by the port of their host.
    pub(crate) ready: Vec<VecDeque<u32>>,

    pub(crate) transfers: Vec<Transfer>,
    transports: Vec<u32>,
    pub(crate) begun: usize,
    left: usize,
    pub(crate) finished: Vec<u64>,
    pub(crate) ideal: Vec<u64>,
    pub(crate) is_victim: Vec<bool>,

    pub(crate) control_hops: u64,
    pub(crate) retransmissions: u64,
    pub(crate) pause_count: u64,
    is_check_due: bool,
    pub(crate) sent_at_check: Vec<u64>,
    pub(crate) deadlock: Option<Deadlock>,
    pub(crate) seed: u64,
    pub(crate) size_classes: Vec<u64>,
}

impl<R: RateBased, const MIXED: bool> Engine<R, MIXED> {
    pub(crate) fn new(
        end: R,
        build: Build,
        scenario: &Scenario,
        profiles: Vec<Option<Profile>>,
    ) -> Self {
        let sizes = scenario.packets;
        let telemetry = if R::TELEMETRY { sizes.telemetry } else { 0 };
        let acknowledgement = if R::TELEMETRY {
            sizes.acknowledgement.max(BARE_ACKNOWLEDGEMENT + telemetry)
        } else {
            sizes.acknowledgement
        };
        let rules = Rules {
            payload: sizes.payload,
            header: sizes.header + telemetry,
            acknowledgement: acknowledgement as u16,
            notification: sizes.notification as u16,
            pause: sizes.pause as u16,
            acknowledgements_first: scenario.feedback.acknowledgements_first,
            acknowledge_every: scenario.feedback.acknowledge_every,
            notification_interval: scenario.feedback.notification_interval_ns,
            marks_at_departure: scenario.marks_at_departure,
            timeout: scenario.retransmission_timeout_ns,
        };
        let largest = u64::from(rules.payload + rules.header);
        let reach = build
            .ports
            .iter()
            .map(|port| u64::from(port.propagation) + 2 + 2 * ((largest * port.per_byte) >> 32));
        let reach = reach.max().unwrap_or(0).min(1 << 18);
        let ideal = build.transfers.iter().map(|transfer| {
            let (base, slowest) = build.alone(transfer.source, transfer.destination, rules.payload);
            let packets = transfer.bytes.div_ceil(u64::from(rules.payload));
            let bytes = transfer.bytes + packets * u64::from(sizes.header);
            base + (bytes as f64 * 8e9 / slowest) as u64
        });
        let ideal = ideal.collect();
        let mut numbers = HashMap::new();
        let transports = build.transfers.iter().map(|transfer| {
            let number =
                numbers.entry((transfer.source, transfer.destination)).or_insert(10_000_u32);
            *number += 1;
            ((*number - 1) & 0xffff) | (100 << 16)
        });
        let transports = transports.collect();
        let (ports, transfers) = (build.ports.len(), build.transfers.len());
        let mut ports_of = vec![Vec::new(); scenario.switches.len()];
        for (number, port) in build.ports[..build.lines as usize].iter().enumerate() {
            if port.switch != NONE {
                ports_of[port.switch as usize].push(number as u32);
            }
        }
        let half = build.topology.longest.next_power_of_two().max(4);
        let mut engine = Self {
            end,
            rules,
            ports_of,
            asking: vec![Asking::default(); ports],
            obeying: vec![Obeying::default(); ports],
            pauses: scenario.switches.iter().map(|switch| switch.pauses).collect(),
            coins: (0..ports as u64)
                .map(|port| Stream::new(build.seed, Purpose::QueueCoin, port))
                .collect(),
            slots: Slots::new(reach),
            next: vec![NONE; ports],
            packets: vec![EMPTY; ports],
            free: NONE,
            telemetry: Vec::new(),
            carried: Vec::new(),
            profiles,
            far: BinaryHeap::new(),
            far_count: 0,
            bound: 0,
            end_at: scenario.duration_ns,
            pairs: Vec::new(),
            free_pairs: Vec::new(),
            ways: Vec::new(),
            half,
            ready: vec![VecDeque::new(); ports],
            turns: turns(scenario, &build.classes, build.lines),
            lines: build.lines,
            classes: build.classes,
            transports,
            begun: 0,
            left: transfers,
            finished: vec![NEVER; transfers],
            ideal,
            is_victim: vec![false; transfers],
            control_hops: 0,
            retransmissions: 0,
            pause_count: 0,
            is_check_due: false,
            sent_at_check: vec![NEVER; ports],
            deadlock: None,
            seed: build.seed,
            size_classes: scenario.size_classes.clone(),
            topology: build.topology,
            ports: build.ports,
            ingress: build.ingress,
            buffers: build.buffers,
            windows: build.windows,
            transfers: build.transfers,
        };
        if R::TELEMETRY {
            engine.telemetry = vec![[Hop::default(); MOST_LINKS]; ports];
        }
        if MIXED {
            engine.carried = vec![Carried::Data(Segment::default()); ports];
        }
        engine.set_bound();
        engine
    }

    /// The present.
    pub(crate) fn now(&self) -> u64 {
        self.slots.now
    }

    /// Lets everything happen until all transfers are done, or the time is up.
    pub(crate) fn advance(&mut self, stop: &AtomicBool) -> Result<(), Interrupted> {
        loop {
            let mut instants = 0;
            while let Some(slot) = self.slots.pop(self.bound) {
                let mut event = slot.first;
                loop {
                    let following = self.next[event as usize];
                    self.happen(event);
                    if event == slot.last {
                        break;
                    }
                    event = following;
                }
                instants += 1;
                if instants == LOOK {
                    break;
                }
            }
            if instants == LOOK {
                if stop.load(Ordering::Relaxed) {
                    return Err(Interrupted);
                }
                continue;
            }
            if self.left == 0 {
                return Ok(());
            }
            self.slots.now = self.bound;
            if self.bound >= self.end_at {
                return Ok(());
            }
            match self.far.peek() {
                Some(&Reverse((time, _, event))) if time == self.bound => {
                    self.far.pop();
                    self.happen(event);
                }
                _ => self.begin(),
            }
            self.set_bound();
        }
    }

    fn set_bound(&mut self) {
        let start = self.transfers.get(self.begun).map_or(NEVER, |transfer| transfer.start);
        let far = self.far.peek().map_or(NEVER, |Reverse((time, ..))| *time);
        self.bound = start.min(far).min(self.end_at);
        if self.left == 0 {
            self.bound = 0;
        }
    }

    /// Has an event happen later.
    #[inline]
    fn push(&mut self, time: u64, event: u32) {
        if self.slots.reaches(time) {
            self.slots.push(&mut self.next, time, event);
        } else {
            self.push_far(time, event);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_far(&mut self, time: u64, event: u32) {
        self.far.push(Reverse((time, self.far_count, event)));
        self.far_count += 1;
        if self.left > 0 {
            self.bound = self.bound.min(time);
        }
    }

    #[inline]
    fn happen(&mut self, event: u32) {
        if (event as usize) < self.ports.len() {
            return self.on_port(event);
        }
        let packet = self.packets[event as usize];
        match packet.kind {
            Kind::Data | Kind::Acknowledgement | Kind::Notification => {
                if self.ports[packet.link as usize].to_host {
                    self.deliver(event, packet);
                } else {
                    self.forward(event, packet);
                }
            }
            Kind::Wake => {
                self.free_packet(event);
                let pair = &mut self.pairs[packet.flow as usize];
                pair.under_way -= 1;
                if pair.timer == event {
                    pair.timer = NONE;
                    if MIXED && pair.connection.is_some() {
                        return self.on_timer(packet.flow);
                    }
                    self.place(packet.flow);
                } else {
                    self.release(packet.flow);
                }
            }
            Kind::Pause | Kind::Resume => self.on_signal(event, packet),
            Kind::Timeout => self.on_timeout(event, packet),
            Kind::Check => self.check(event),
        }
    }

    #[inline]
    fn new_packet(&mut self, packet: Packet) -> u32 {
        let number = self.free;
        if number == NONE {
            return self.grow(packet);
        }
        self.free = self.next[number as usize];
        self.packets[number as usize] = packet;
        number
    }

    #[cold]
    fn grow(&mut self, packet: Packet) -> u32 {
        self.packets.push(packet);
        self.next.push(NONE);
        if R::TELEMETRY {
            self.telemetry.push([Hop::default(); MOST_LINKS]);
        }
        if MIXED {
            self.carried.push(Carried::Data(Segment::default()));
        }
        (self.packets.len() - 1) as u32
    }

    #[inline]
    fn free_packet(&mut self, number: u32) {
        self.next[number as usize] = self.free;
        self.free = number;
    }

    /// A port sends a packet from `start` on, at which it is free.
    #[inline]
    fn launch(&mut self, number: u32, packet: u32, size: u32, start: u64) {
        let line = self.line(number);
        let port = &mut self.ports[line as usize];
        let owed = if start == port.free_at { port.fraction } else { 0 };
        let time = u64::from(size) * port.per_byte + u64::from(owed);
        port.free_at = start + (time >> 32);
        port.fraction = time as u32;
        let arrival = port.free_at + u64::from(port.propagation);
        self.packets[packet as usize].link = number;
        self.push(arrival, packet);
    }

    /// A port sends what goes before data, after the frame in transmission.
    #[inline]
    fn launch_first(&mut self, number: u32, packet: u32, size: u32) {
        let start = self.ports[self.line(number) as usize].free_at.max(self.slots.now);
        self.control_hops += 1;
        self.launch(number, packet, size, start);
    }

    /// A port has an event when it is free.
    #[inline]
    pub(crate) fn await_free(&mut self, number: u32) {
        let now = self.slots.now;
        let line = self.line(number);
        let port = &mut self.ports[line as usize];
        port.is_waiting = true;
        let time = port.free_at.max(now);
        self.push(time, line);
    }

    fn on_port(&mut self, number: u32) {
        let now = self.slots.now;
        let port = &mut self.ports[number as usize];
        port.is_waiting = false;
        if port.free_at > now {
            // Something that goes before data has come between.
            self.await_free(number);
        } else if MIXED && self.classes.len() > 1 {
            self.serve_classes(number);
        } else if port.switch == NONE {
            self.serve_host(number);
        } else if !port.is_paused && port.head != NONE {
            self.depart(number);
            if self.ports[number as usize].head != NONE {
                self.await_free(number);
            }
        }
    }

    /// A packet comes to a switch.
    fn forward(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        let hop = packet.hop + 1;
        let is_data = packet.kind == Kind::Data;
        let way = packet.flow as usize * 2 * self.half + if is_data { 0 } else { self.half };
        let out = self.ways[way + hop as usize];
        self.packets[number as usize].hop = hop;
        let size = u32::from(packet.size);
        if packet.kind == Kind::Notification || !is_data && self.rules.acknowledgements_first {
            return self.launch_first(out, number, size);
        }
        let ingress = packet.link ^ 1;
        let line = self.line(out);
        // With several classes another one may be about to send.
        let is_free = self.ports[line as usize].free_at <= now
            && !(MIXED && self.ports[line as usize].is_waiting);
        let port = &mut self.ports[out as usize];
        let pauses = self.pauses[port.switch as usize];
        if port.head == NONE && is_free && !port.is_paused {
            port.was_paused = false;
            if is_data {
                self.note(out, number, packet);
            } else {
                self.control_hops += 1;
            }
            self.launch(out, number, size, now);
            if self.asking[ingress as usize].is_pausing {
                self.may_resume(ingress);
            }
            return;
        }
        let before = port.queue;
        if MIXED && !self.rules.marks_at_departure && self.is_unmarkable(out, before, packet) {
            return self.lose(out, number, packet.flow);
        }
        let port = &mut self.ports[out as usize];
        let buffer = &mut self.buffers[port.switch as usize];
        let has_room = if pauses {
            buffer.take(&mut self.ingress[ingress as usize], size)
        } else {
            buffer.take_lossy(port.alpha, port.queue, size)
        };
        if !has_room {
            return self.lose(out, number, packet.flow);
        }
        port.append(&mut self.next, number, size);
        let is_paused = port.is_paused;
        if port.watched != NONE {
            self.watch(out);
        }
        self.join(out);
        let is_waiting = self.ports[line as usize].is_waiting;
        let marks_here = !self.rules.marks_at_departure && is_data && (!MIXED || packet.capable);
        if marks_here && self.is_marked(out, before) {
            self.packets[number as usize].marked = true;
        }
        if !is_waiting && !is_paused {
            self.await_free(out);
        }
        if pauses {
            let buffer = &self.buffers[self.ports[out as usize].switch as usize];
            let own = &self.ingress[ingress as usize];
            let signal = self.asking[ingress as usize].on_arrival(|| buffer.is_over(own));
            if signal.is_some() {
                self.blame(ingress);
                self.signal(ingress, Kind::Pause);
            }
        }
    }

    /// The first packet that waits at a switch's port leaves.
    pub(crate) fn depart(&mut self, out: u32) -> u32 {
        let now = self.slots.now;
        let port = &mut self.ports[out as usize];
        let number = port.take(&self.next);
        let packet = self.packets[number as usize];
        let size = u32::from(packet.size);
        port.queue -= size;
        let queue = port.queue;
        let switch = port.switch as usize;
        if port.watched != NONE {
            self.watch(out);
        }
        let ingress = packet.link ^ 1;
        if self.pauses[switch] {
            self.buffers[switch].release(&mut self.ingress[ingress as usize], size);
            if self.asking[ingress as usize].is_pausing {
                self.may_resume(ingress);
            }
        } else {
            self.buffers[switch].release_lossy(size);
        }
        if MIXED && self.rules.marks_at_departure && self.is_unmarkable(out, queue, packet) {
            self.lose(out, number, packet.flow);
            return 0;
        }
        if packet.kind == Kind::Data {
            let marks_here = self.rules.marks_at_departure && (!MIXED || packet.capable);
            if marks_here && self.is_marked(out, queue) {
                self.packets[number as usize].marked = true;
            }
            self.note(out, number, packet);
        } else {
            self.control_hops += 1;
        }
        self.launch(out, number, size, now);
        size
    }

    /// A packet is lost at a port, for want of room, or because it cannot be marked.
    #[cold]
    fn lose(&mut self, out: u32, number: u32, flow: u32) {
        self.ports[out as usize].drops += 1;
        self.free_packet(number);
        self.pairs[flow as usize].under_way -= 1;
        self.release(flow);
    }

    /// A data packet begins to leave a switch: books, and telemetry.
    #[inline]
    fn note(&mut self, out: u32, number: u32, packet: Packet) {
        if R::TELEMETRY {
            let (sent_bytes, queue_bytes) = self.books_of(out);
            let port = &self.ports[out as usize];
            let hop = &mut self.telemetry[number as usize]
                [usize::from(self.packets[number as usize].hop) - 1];
            *hop = Hop { rate: port.rate, time: self.slots.now, sent_bytes, queue_bytes };
        }
        let port = &mut self.ports[out as usize];
        port.packets += 1;
        port.bytes += u64::from(packet.size);
    }

    /// Whether a packet is marked that meets or leaves so many bytes.
    #[inline]
    fn is_marked(&mut self, out: u32, queue: u32) -> bool {
        let port = &mut self.ports[out as usize];
        if queue <= port.kmin {
            return false;
        }
        let is_marked = queue > port.kmax
            || self.coins[out as usize].uniform() < port.slope * f64::from(queue - port.kmin);
        port.marks += u64::from(is_marked);
        is_marked
    }

    /// Whether a packet would be marked and cannot be, so that it is dropped.
    fn is_unmarkable(&mut self, out: u32, queue: u32, packet: Packet) -> bool {
        let is_dropped = !packet.capable && self.is_marked(out, queue);
        self.ports[out as usize].marks -= u64::from(is_dropped);
        is_dropped
    }

    /// A switch asks for a pause: its port with the longest queue is congested, unless a pause made that wait.
    #[cold]
    fn blame(&mut self, ingress: u32) {
        let switch = self.ports[ingress as usize].switch;
        let ports = &self.ports_of[switch as usize];
        let class = ingress - self.line(ingress);
        let ports = ports.iter().map(|&line| line + class);
        let longest = ports.max_by_key(|&port| self.ports[port as usize].queue);
        if let Some(port) = longest
            && !self.ports[port as usize].was_paused
        {
            self.ports[port as usize].congested_at = Some(self.slots.now);
        }
    }

    #[cold]
    fn may_resume(&mut self, ingress: u32) {
        let switch = self.ports[ingress as usize].switch as usize;
        let (buffer, own) = (&self.buffers[switch], &self.ingress[ingress as usize]);
        let signal = self.asking[ingress as usize].on_departure(|| buffer.is_under(own));
        if signal.is_some() {
            self.signal(ingress, Kind::Resume);
        }
    }

    /// A switch's port tells its partner something.
    #[cold]
    fn signal(&mut self, port: u32, kind: Kind) {
        let size = self.rules.pause;
        let number = self.new_packet(Packet { size, kind, ..EMPTY });
        self.launch_first(port, number, u32::from(size));
    }

    #[cold]
    fn on_signal(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        self.free_packet(number);
        let told = packet.link ^ 1;
        let signal = if packet.kind == Kind::Pause { Signal::Pause } else { Signal::Resume };
        if !self.obeying[told as usize].on_signal(now, signal) {
            return;
        }
        let port = &mut self.ports[told as usize];
        port.is_paused = signal == Signal::Pause;
        if port.is_paused {
            port.was_paused = true;
            self.pause_count += 1;
            if !self.is_check_due && self.deadlock.is_none() {
                self.is_check_due = true;
                let check = self.new_packet(Packet { kind: Kind::Check, ..EMPTY });
                self.push(now + CHECK_INTERVAL, check);
            }
        } else if port.switch == NONE {
            self.wake_host(told);
        } else if port.head != NONE && !self.ports[self.line(told) as usize].is_waiting {
            self.await_free(told);
        }
    }

    #[cold]
    fn check(&mut self, number: u32) {
        self.free_packet(number);
        self.is_check_due = false;
        self.find_deadlock();
        if self.deadlock.is_none() && self.ports.iter().any(|port| port.is_paused) {
            self.is_check_due = true;
            let check = self.new_packet(Packet { kind: Kind::Check, ..EMPTY });
            self.push(self.slots.now + CHECK_INTERVAL, check);
        }
    }

    /// A packet comes to a host.
    fn deliver(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        let pair = &mut self.pairs[packet.flow as usize];
        match packet.kind {
            Kind::Data if MIXED && pair.connection.is_some() => self.on_segment(number, packet),
            Kind::Acknowledgement if MIXED && pair.connection.is_some() => {
                self.on_answer(number, packet);
            }
            Kind::Data => {
                let rules = self.rules;
                let answer = pair.receiver.on_packet(
                    now,
                    (packet.number, packet.flag),
                    packet.marked,
                    rules.notification_interval,
                    rules.acknowledge_every,
                );
                let expected = pair.receiver.expected;
                let back = self.ways[packet.flow as usize * 2 * self.half + self.half];
                if answer.notifies {
                    pair.under_way += 1;
                    let size = rules.notification;
                    let told =
                        Packet { flow: packet.flow, size, kind: Kind::Notification, ..EMPTY };
                    let told = self.new_packet(told);
                    self.launch_first(back, told, u32::from(size));
                }
                if !answer.acknowledges {
                    self.free_packet(number);
                    self.pairs[packet.flow as usize].under_way -= 1;
                    return self.release(packet.flow);
                }
                let size = rules.acknowledgement;
                self.packets[number as usize] = Packet {
                    number: expected,
                    size,
                    kind: Kind::Acknowledgement,
                    hop: 0,
                    marked: answer.echoes,
                    flag: answer.goes_back,
                    ..packet
                };
                let port = &mut self.ports[back as usize];
                if !rules.acknowledgements_first && (port.is_paused || port.head != NONE) {
                    port.append(&mut self.next, number, u32::from(size));
                    return self.join(back);
                }
                self.launch_first(back, number, u32::from(size));
            }
            Kind::Notification => {
                pair.under_way -= 1;
                if !pair.is_done {
                    self.end.on_notification(&mut pair.state, now);
                }
                self.free_packet(number);
                self.release(packet.flow);
            }
            _ => self.on_acknowledgement(number, packet),
        }
    }

    fn on_acknowledgement(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        let flow = packet.flow;
        self.free_packet(number);
        let pair = &mut self.pairs[flow as usize];
        pair.under_way -= 1;
        if pair.is_done {
            return self.release(flow);
        }
        if packet.number > pair.unacknowledged {
            pair.unacknowledged = packet.number;
            pair.progress_at = now;
            if pair.unacknowledged == pair.total {
                return self.complete(flow);
            }
        }
        if packet.flag {
            let resent = pair.next - pair.unacknowledged;
            pair.next = pair.unacknowledged;
            self.retransmissions += u64::from(resent);
        }
        let ack = Acknowledgement {
            now,
            upto: packet.number,
            sent: pair.next.max(pair.unacknowledged),
            marked: packet.marked,
        };
        let hops: &[Hop] = if R::TELEMETRY {
            &self.telemetry[number as usize][..usize::from(pair.links) - 1]
        } else {
            &[]
        };
        if R::RETIMES && pair.mode == Mode::Timed {
            let old = Paced::gap(pair.last_size, self.end.rate(&mut pair.state, now));
            self.end.on_acknowledgement(&mut pair.state, &ack, hops);
            let new = Paced::gap(pair.last_size, self.end.rate(&mut pair.state, now));
            if old != new {
                pair.next_at = pair.next_at.saturating_add_signed((new - old).round() as i64);
                return self.place(flow);
            }
        } else {
            self.end.on_acknowledgement(&mut pair.state, &ack, hops);
        }
        if matches!(pair.mode, Mode::Blocked | Mode::Sent) {
            self.place(flow);
        }
    }

    /// A queue pair that is not in the NIC's turns waits for what it has to.
    fn place(&mut self, flow: u32) {
        let now = self.slots.now;
        let pair = &mut self.pairs[flow as usize];
        if pair.is_done {
            return self.release(flow);
        }
        if pair.mode == Mode::Ready {
            return;
        }
        let mode = self.mode_of(flow);
        self.pairs[flow as usize].mode = mode;
        match mode {
            Mode::Ready => self.wake_host(self.pairs[flow as usize].uplink),
            Mode::Timed => {
                let time = self.pairs[flow as usize].next_at.max(now);
                let timer = self.new_packet(Packet { flow, kind: Kind::Wake, ..EMPTY });
                let pair = &mut self.pairs[flow as usize];
                pair.timer = timer;
                pair.under_way += 1;
                self.push(time, timer);
            }
            Mode::Blocked | Mode::Sent => {}
        }
    }

    /// What a queue pair has to wait for; for its turn it stands at the end.
    #[inline]
    fn mode_of(&mut self, flow: u32) -> Mode {
        let now = self.slots.now;
        let pair = &mut self.pairs[flow as usize];
        if pair.next == pair.total {
            return Mode::Sent;
        }
        let in_flight = u64::from(pair.next - pair.unacknowledged) * u64::from(self.rules.payload);
        if in_flight >= self.end.window(&mut pair.state, now) {
            return Mode::Blocked;
        }
        let (next_at, uplink) = (pair.next_at, pair.uplink);
        // The NIC would not look before it is free.
        if next_at > now.max(self.ports[self.line(uplink) as usize].free_at) + 1 {
            return Mode::Timed;
        }
        self.ready[uplink as usize].push_back(flow);
        self.join(uplink);
        Mode::Ready
    }

    /// A NIC may have something to send.
    #[inline]
    fn wake_host(&mut self, uplink: u32) {
        let line = self.line(uplink);
        let port = &self.ports[line as usize];
        if port.is_waiting || self.ports[uplink as usize].is_paused {
            return;
        }
        if port.free_at > self.slots.now {
            self.await_free(uplink);
        } else if MIXED && self.classes.len() > 1 {
            self.serve_classes(line);
        } else {
            self.serve_host(uplink);
        }
    }

    /// A NIC that is free sends the next packet, of the only class.
    fn serve_host(&mut self, uplink: u32) {
        if self.ports[uplink as usize].is_paused {
            return;
        }
        self.serve(uplink);
        if self.ports[uplink as usize].head != NONE || !self.ready[uplink as usize].is_empty() {
            self.await_free(uplink);
        }
    }

    /// A NIC that is free sends the next packet: of an acknowledgement that waits, or of the queue pair whose turn it is.
    /// Returns its size; 0 if none can be sent.
    #[inline]
    pub(crate) fn serve(&mut self, uplink: u32) -> u32 {
        let now = self.slots.now;
        let port = &mut self.ports[uplink as usize];
        if port.head != NONE {
            let number = port.take(&self.next);
            let size = u32::from(self.packets[number as usize].size);
            port.queue -= size;
            self.control_hops += 1;
            self.launch(uplink, number, size, now);
            return size;
        }
        while let Some(flow) = self.ready[uplink as usize].pop_front() {
            let pair = &mut self.pairs[flow as usize];
            if MIXED && pair.connection.is_some() {
                let size = self.send_segment(flow);
                if size > 0 {
                    return size;
                }
                continue;
            }
            let in_flight =
                u64::from(pair.next - pair.unacknowledged) * u64::from(self.rules.payload);
            if pair.is_done || pair.next == pair.total {
                pair.mode = Mode::Sent;
                self.release(flow);
            } else if in_flight >= self.end.window(&mut pair.state, now) {
                pair.mode = Mode::Blocked;
            } else {
                return self.send(flow);
            }
        }
        0
    }

    /// A queue pair sends its next packet, at a NIC that is free.
    fn send(&mut self, flow: u32) -> u32 {
        let now = self.slots.now;
        let pair = &mut self.pairs[flow as usize];
        let is_last = pair.next + 1 == pair.total;
        let payload = if is_last { pair.last_payload } else { self.rules.payload };
        let size = payload + self.rules.header;
        let packet = Packet { flow, number: pair.next, size: size as u16, flag: is_last, ..EMPTY };
        pair.next += 1;
        pair.under_way += 1;
        let gap = self.end.next_gap(&mut pair.state, now, size);
        let exact = gap + if pair.next_at + 1 >= now { pair.fraction } else { 0.0 };
        pair.next_at = now + exact as u64;
        pair.fraction = exact.fract();
        pair.last_size = size;
        let uplink = pair.uplink;
        let number = self.new_packet(packet);
        let port = &mut self.ports[uplink as usize];
        port.packets += 1;
        port.bytes += u64::from(size);
        self.launch(uplink, number, size, now);
        self.pairs[flow as usize].mode = Mode::Sent;
        let mode = self.mode_of(flow);
        self.pairs[flow as usize].mode = mode;
        if mode == Mode::Timed {
            self.pairs[flow as usize].mode = Mode::Sent;
            self.place(flow);
        }
        size
    }

    /// The next transfer begins.
    fn begin(&mut self) {
        let now = self.slots.now;
        let number = self.begun;
        let transfer = self.transfers[number];
        self.begun += 1;
        let Transfer { source, destination, bytes, .. } = transfer;
        let payload = u64::from(self.rules.payload);
        let total = bytes.div_ceil(payload) as u32;
        let class = self.class_of(transfer.class) * self.lines;
        let uplink = self.topology.uplink[source as usize] + class;
        let flow = self.free_pairs.pop().unwrap_or(self.pairs.len() as u32);
        let way = flow as usize * 2 * self.half;
        if self.ways.len() <= way {
            self.ways.resize(way + 2 * self.half, NONE);
        }
        let transport = self.transports[number];
        let (ways, mut at) = (&mut self.ways, way);
        self.topology.way(source, destination, transport, |port| {
            ways[at] = port + class;
            at += 1;
        });
        let links = (at - way) as u8;
        at = way + self.half;
        self.topology.way(destination, source, transport.rotate_left(16), |port| {
            ways[at] = port + class;
            at += 1;
        });
        let pair = Pair {
            state: self.end.start(),
            mode: Mode::Sent,
            is_done: false,
            next: 0,
            unacknowledged: 0,
            total,
            last_payload: (bytes - u64::from(total - 1) * payload) as u32,
            next_at: now,
            fraction: 0.0,
            last_size: 0,
            uplink,
            transfer: number as u32,
            under_way: 0,
            timer: NONE,
            links,
            progress_at: now,
            paused_before: 0,
            receiver: Receiver::default(),
            connection: self.profiles[usize::from(transfer.sender)]
                .as_ref()
                .map(|profile| Connection::new(profile, total)),
        };
        if flow as usize == self.pairs.len() {
            self.pairs.push(pair);
        } else {
            self.pairs[flow as usize] = pair;
        }
        if self.pause_count > 0 {
            self.pairs[flow as usize].paused_before = self.paused_on_way(flow);
        }
        if MIXED && self.pairs[flow as usize].connection.is_some() {
            return self.go_on(flow);
        }
        let timer = Packet { flow, number: number as u32, kind: Kind::Timeout, ..EMPTY };
        let timer = self.new_packet(timer);
        self.push(now + self.rules.timeout, timer);
        self.place(flow);
    }

    /// A segment of a TCP connection comes to its receiver.
    fn on_segment(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        let Some(connection) = &mut self.pairs[packet.flow as usize].connection else { return };
        let Carried::Data(mut segment) = self.carried[number as usize] else { return };
        segment.congestion_experienced = packet.marked;
        let Connection { sender, receiver, .. } = &mut **connection;
        let answer = receiver.on_segment(now, &segment, sender.clock());
        self.carried[number as usize] = match answer {
            Some(answer) => Carried::Answer(answer.into()),
            None => {
                self.free_packet(number);
                self.pairs[packet.flow as usize].under_way -= 1;
                self.arm(packet.flow);
                return self.release(packet.flow);
            }
        };
        self.answer(packet.flow, number);
    }

    /// A receiver of a TCP connection sends an acknowledgement.
    fn answer(&mut self, flow: u32, number: u32) {
        let size = self.rules.acknowledgement;
        let kind = Kind::Acknowledgement;
        self.packets[number as usize] = Packet { flow, size, kind, capable: false, ..EMPTY };
        let back = self.ways[flow as usize * 2 * self.half + self.half];
        let port = &mut self.ports[back as usize];
        if !self.rules.acknowledgements_first && (port.is_paused || port.head != NONE) {
            port.append(&mut self.next, number, u32::from(size));
            return self.join(back);
        }
        self.launch_first(back, number, u32::from(size));
    }

    /// An acknowledgement of a TCP connection has come back.
    fn on_answer(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        let flow = packet.flow;
        self.free_packet(number);
        let pair = &mut self.pairs[flow as usize];
        pair.under_way -= 1;
        let Some(connection) = &mut pair.connection else { return };
        let Carried::Answer(answer) = &self.carried[number as usize] else { return };
        if pair.is_done {
            return self.release(flow);
        }
        connection.sender.on_acknowledgement(now, &answer.get());
        if connection.sender.finished() {
            return self.complete(flow);
        }
        self.go_on(flow);
    }

    /// One of a TCP connection's timers may be due.
    fn on_timer(&mut self, flow: u32) {
        let now = self.slots.now;
        let pair = &mut self.pairs[flow as usize];
        let Some(connection) = &mut pair.connection else { return };
        if pair.is_done {
            return self.release(flow);
        }
        if let Some(answer) = connection.on_timer(now) {
            pair.under_way += 1;
            let number = self.new_packet(EMPTY);
            self.carried[number as usize] = Carried::Answer(answer);
            self.answer(flow, number);
        }
        self.go_on(flow);
    }

    /// A TCP connection may have something to send: it waits for its turn at the NIC, where that turns out.
    fn go_on(&mut self, flow: u32) {
        let pair = &mut self.pairs[flow as usize];
        if pair.mode != Mode::Ready {
            pair.mode = Mode::Ready;
            let uplink = pair.uplink;
            self.ready[uplink as usize].push_back(flow);
            self.join(uplink);
            self.wake_host(uplink);
        }
        self.arm(flow);
    }

    /// A TCP connection's timer is set, unless one is under way that is due no later.
    fn arm(&mut self, flow: u32) {
        let now = self.slots.now;
        let Some(connection) = &mut self.pairs[flow as usize].connection else { return };
        let deadline = connection.deadline(now);
        if deadline < connection.timer_at {
            let time = deadline.max(now);
            connection.timer_at = time;
            let timer = self.new_packet(Packet { flow, kind: Kind::Wake, ..EMPTY });
            let pair = &mut self.pairs[flow as usize];
            (pair.timer, pair.under_way) = (timer, pair.under_way + 1);
            self.push(time, timer);
        }
    }

    /// It is a TCP connection's turn at a NIC that is free. Returns the size; 0 if it has nothing to
    /// send now.
    fn send_segment(&mut self, flow: u32) -> u32 {
        let now = self.slots.now;
        let pair = &mut self.pairs[flow as usize];
        let Some(connection) = &mut pair.connection else { return 0 };
        let next = if pair.is_done { None } else { connection.sender.next_sequence(now) };
        let Some(sequence) = next else {
            pair.mode = Mode::Sent;
            if pair.is_done {
                self.release(flow);
            } else {
                self.arm(flow);
            }
            return 0;
        };
        let before = connection.sender.counters().retransmissions;
        let segment = connection.sender.send(sequence, now);
        let payload = match sequence {
            0 => 0,
            last if last == connection.last => pair.last_payload,
            _ => self.rules.payload,
        };
        let again = connection.sender.counters().retransmissions - before;
        self.retransmissions += again;
        pair.under_way += 1;
        let (uplink, size) = (pair.uplink, payload + self.rules.header);
        let capable = segment.ecn_capable;
        let packet = Packet { flow, number: sequence, size: size as u16, capable, ..EMPTY };
        let number = self.new_packet(packet);
        self.carried[number as usize] = Carried::Data(segment);
        let port = &mut self.ports[uplink as usize];
        port.packets += 1;
        port.bytes += u64::from(size);
        self.launch(uplink, number, size, now);
        self.ready[uplink as usize].push_back(flow);
        self.join(uplink);
        size
    }

    /// Time that the links of a queue pair's way have been paused so far.
    fn paused_on_way(&self, flow: u32) -> u64 {
        let now = self.slots.now;
        self.way_of(flow).iter().map(|&port| self.obeying[port as usize].paused(now)).sum()
    }

    fn way_of(&self, flow: u32) -> &[u32] {
        let way = flow as usize * 2 * self.half;
        &self.ways[way..way + usize::from(self.pairs[flow as usize].links)]
    }

    /// A queue pair that has got nowhere for long goes back to what is not acknowledged.
    #[cold]
    fn on_timeout(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        let pair = &mut self.pairs[packet.flow as usize];
        if pair.transfer != packet.number || pair.is_done {
            return self.free_packet(number);
        }
        let is_out =
            pair.next > pair.unacknowledged && pair.progress_at + self.rules.timeout <= now;
        if is_out {
            self.retransmissions += u64::from(pair.next - pair.unacknowledged);
            pair.next = pair.unacknowledged;
            pair.progress_at = now;
        }
        let since =
            if pair.progress_at + self.rules.timeout > now { pair.progress_at } else { now };
        if is_out && matches!(pair.mode, Mode::Blocked | Mode::Sent) {
            self.place(packet.flow);
        }
        self.push(since + self.rules.timeout, number);
    }

    /// A transfer is done: its last acknowledgement has arrived.
    fn complete(&mut self, flow: u32) {
        let now = self.slots.now;
        let pair = &mut self.pairs[flow as usize];
        pair.is_done = true;
        let (transfer, before) = (pair.transfer as usize, pair.paused_before);
        self.finished[transfer] = now;
        if self.pause_count > 0 && self.paused_on_way(flow) > before {
            let start = self.transfers[transfer].start;
            let mut way = self.way_of(flow).iter();
            self.is_victim[transfer] = !way
                .any(|&port| self.ports[port as usize].congested_at.is_some_and(|at| at >= start));
        }
        self.left -= 1;
        if self.left == 0 {
            self.bound = 0;
        }
        self.release(flow);
    }

    /// Forgets a queue pair of which nothing is under way any more.
    fn release(&mut self, flow: u32) {
        let pair = &mut self.pairs[flow as usize];
        if pair.is_done && pair.under_way == 0 && pair.mode != Mode::Ready {
            pair.under_way = NONE;
            pair.transfer = NONE;
            self.free_pairs.push(flow);
        }
    }
}
