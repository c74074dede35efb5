use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use vermilion_netsim::random::{Purpose, Stream};
use vermilion_port::DeficitTurns;
use vermilion_rdma::Hop;

use crate::build::{Build, MOST_LINKS};
use crate::classes::turns;
use crate::end::End;
use crate::packet::{Kind, Packet};
use crate::pair::Pair;
use crate::pause::{Asking, Obeying};
use crate::port::Port;
use crate::queue_window::QueueWindow;
use crate::results::Deadlock;
use crate::scenario::{Scenario, Sizes};
use crate::shared_buffer::{Ingress, SharedBuffer};
use crate::slots::{NEVER, NONE, Slots};
use crate::topology::Topology;
use crate::traffic::Transfer;

/// Instants with events between two looks at whether to stop.
const LOOK: u32 = 1 << 16;

/// A run that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// A fabric that runs.
///
/// Where there are several classes a port stands for one class of a link, `class x links + link`; what it has of the
/// transmitter (`free_at`, `fraction`, `is_waiting`) is that of the first.
pub(crate) struct Engine<E: End> {
    pub end: E,
    pub sizes: Sizes,
    pub acknowledgements_first: bool,
    pub marks_at_departure: bool,
    pub topology: Topology,
    pub ports: Vec<Port>,
    pub lines: u32,
    /// Classes that there are, the highest first.
    pub classes: Vec<u8>,
    /// Turns of the classes of each link; none where the highest goes first.
    pub turns: Vec<DeficitTurns>,
    pub ingress: Vec<Ingress>,
    pub asking: Vec<Asking>,
    pub obeying: Vec<Obeying>,
    pub buffers: Vec<SharedBuffer>,
    pub pauses: Vec<bool>,
    pub coins: Vec<Stream>,
    pub windows: Vec<QueueWindow>,

    pub slots: Slots,
    /// Lists of events and of packets that wait; a number is that of a port, or of a packet after those.
    pub next: Vec<u32>,
    pub packets: Vec<Packet>,
    free: u32,
    pub telemetry: Vec<[Hop; MOST_LINKS]>,
    /// What packets carry beside that.
    pub loads: Vec<E::Load>,
    /// Events that the slots do not reach.
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    far_count: u64,
    /// The instant up to which events of the slots come first.
    pub bound: u64,
    end_at: u64,

    pub pairs: Vec<Pair<E::Flow>>,
    pub free_pairs: Vec<u32>,
    /// Ways of the transfers, there and back.
    pub ways: Vec<u32>,
    pub half: usize,
    /// Transfers whose turn it is, by the port of their host.
    pub ready: Vec<VecDeque<u32>>,

    pub transfers: Vec<Transfer>,
    pub transports: Vec<u32>,
    pub begun: usize,
    pub left: usize,
    pub finished: Vec<u64>,
    pub ideal: Vec<u64>,
    pub is_victim: Vec<bool>,

    pub control_hops: u64,
    pub pause_count: u64,
    pub is_check_due: bool,
    pub sent_at_check: Vec<u64>,
    pub deadlock: Option<Deadlock>,
    pub seed: u64,
    pub size_classes: Vec<u64>,
}

impl<E: End> Engine<E> {
    pub(crate) fn new(end: E, build: Build, scenario: &Scenario) -> Self {
        let sizes = scenario.packets.on_wire(E::TELEMETRY);
        let largest = u64::from(sizes.payload + sizes.header);
        let reach = build
            .ports
            .iter()
            .map(|port| u64::from(port.propagation) + 2 + 2 * ((largest * port.per_byte) >> 32));
        let reach = reach.max().unwrap_or(0).min(1 << 18);
        let ideal = build.transfers.iter().map(|transfer| {
            let (base, slowest) = build.alone(transfer.source, transfer.destination, sizes.payload);
            let packets = transfer.bytes.div_ceil(u64::from(sizes.payload));
            let bytes = transfer.bytes + packets * u64::from(scenario.packets.header);
            base + (bytes as f64 * 8e9 / slowest) as u64
        });
        let ideal = ideal.collect();
        let mut numbers = HashMap::new();
        let transports = build.transfers.iter().map(|transfer| {
            // Sources have ports of their own, so that transfers keep theirs beside them.
            let open = transfer.is_open_loop();
            let first = if open { 40_000_u32 } else { 10_000 };
            let number =
                numbers.entry((transfer.source, transfer.destination, open)).or_insert(first);
            *number += 1;
            ((*number - 1) & 0xffff) | (100 << 16)
        });
        let transports = transports.collect();
        let (ports, transfers) = (build.ports.len(), build.transfers.len());
        let half = build.topology.longest.next_power_of_two().max(4);
        let mut engine = Self {
            end,
            sizes,
            acknowledgements_first: scenario.feedback.acknowledgements_first,
            marks_at_departure: scenario.marks_at_departure,
            asking: vec![Asking::default(); ports],
            obeying: vec![Obeying::default(); ports],
            pauses: scenario.switches.iter().map(|switch| switch.pauses).collect(),
            coins: (0..ports as u64)
                .map(|port| Stream::new(build.seed, Purpose::QueueCoin, port))
                .collect(),
            slots: Slots::new(reach),
            next: vec![NONE; ports],
            packets: vec![Packet::default(); ports],
            free: NONE,
            telemetry: Vec::new(),
            loads: vec![E::Load::default(); ports],
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
        if E::TELEMETRY {
            engine.telemetry = vec![[Hop::default(); MOST_LINKS]; ports];
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
    pub(crate) fn push(&mut self, time: u64, event: u32) {
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
            Kind::Wake => self.on_timer(event, packet.flow),
            Kind::Pause | Kind::Resume => self.on_signal(event, packet),
            Kind::Timeout => self.on_timeout(event, packet),
            Kind::Check => self.check(event),
        }
    }

    #[inline]
    pub(crate) fn new_packet(&mut self, packet: Packet) -> u32 {
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
        if E::TELEMETRY {
            self.telemetry.push([Hop::default(); MOST_LINKS]);
        }
        self.loads.push(E::Load::default());
        (self.packets.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn free_packet(&mut self, number: u32) {
        self.next[number as usize] = self.free;
        self.free = number;
    }

    /// A port sends a packet from `start` on, at which it is free.
    #[inline]
    pub(crate) fn launch(&mut self, number: u32, packet: u32, size: u32, start: u64) {
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
    pub(crate) fn launch_first(&mut self, number: u32, packet: u32, size: u32) {
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
        } else if !E::PLAIN && self.classes.len() > 1 {
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
}
