//! One of CAKE's tins: flows that take turns by DRR++, with hosts that have equal shares.

use vermilion_parameters::choices;

use super::shaper::Pace;
use super::statistics::CakeTinStatistics;
use super::tins::Allotment;
use super::ways::{Found, QUEUES, place_of};
use crate::Coin;
use crate::cobalt::{Control, Law};
use crate::flow_queues::NONE;

choices! {
    /// Whose shares are equal.
    pub CakeIsolation {
        /// Nobody's, all share one queue:
        FlowBlind = "flowblind",
        /// Those of source hosts:
        SrcHost = "srchost",
        /// Those of destination hosts:
        DstHost = "dsthost",
        /// Those of pairs of hosts:
        Hosts = "hosts",
        /// Those of flows:
        Flows = "flows",
        /// Those of source hosts, and of their flows within:
        DualSrcHost = "dual-srchost",
        /// Those of destination hosts, and of their flows within:
        DualDstHost = "dual-dsthost",
        /// Those of hosts on both sides, and of their flows within:
        TripleIsolate = "triple-isolate",
    }
}

impl CakeIsolation {
    /// Whether bulk flows of source hosts count, and those of destination hosts.
    fn counted(self) -> [bool; 2] {
        match self {
            Self::DualSrcHost => [true, false],
            Self::DualDstHost => [false, true],
            Self::TripleIsolate => [true, true],
            _ => [false, false],
        }
    }
}

/// Which turns a flow takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    None,
    /// New: it comes before all others.
    Sparse,
    /// It has had its turn as a sparse one and is empty since: among the old ones, but not one of them.
    SparseWait,
    Bulk,
    /// Empty, but its COBALT has not forgotten.
    Decaying,
}

/// Lists of a tin.
const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;

/// Flow queue of a tin.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// First and last packet that waits.
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) backlog: u64,
    /// True if its backlog is known to have changed since somebody asked which is the longest.
    pub(crate) noted: bool,
    pub(crate) control: Control,
    state: State,
    deficit: i32,
    /// Number of its list, and its neighbours there.
    list: usize,
    before: u32,
    after: u32,
    /// Places of its hosts.
    hosts: [u16; 2],
}

impl Flow {
    const IDLE: fn() -> Self = || Self {
        head: NONE,
        tail: NONE,
        backlog: 0,
        noted: true,
        control: Control::default(),
        state: State::None,
        deficit: 0,
        list: NEW,
        before: NONE,
        after: NONE,
        hosts: [0; 2],
    };
}

/// Hosts of one side.
#[derive(Clone, Debug)]
struct Hosts {
    is_counted: bool,
    tags: Vec<u32>,
    bulk_flows: Vec<u16>,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

/// Packets of some codepoints.
#[derive(Clone, Debug)]
pub(crate) struct Tin {
    pub(crate) flows: Vec<Flow>,
    pub(crate) law: Law,
    pub(crate) statistics: CakeTinStatistics,
    /// Bytes waiting.
    pub(crate) backlog: u64,
    tags: Vec<u32>,
    hosts: [Hosts; 2],
    lists: [List; 3],
    flow_quantum: u32,
    /// Of DRR among tins, where there is no rate.
    pub(crate) quantum: i32,
    pub(crate) deficit: i32,
    /// When what it has sent is paid for at its threshold.
    pub(crate) paid: u64,
    pace: Pace,
}

impl Tin {
    pub(crate) fn new(isolation: CakeIsolation) -> Self {
        let hosts = isolation.counted().map(|is_counted| Hosts {
            is_counted,
            tags: vec![0; QUEUES],
            bulk_flows: vec![0; QUEUES],
        });
        Self {
            flows: (0..QUEUES).map(|_| Flow::IDLE()).collect(),
            law: Law::new(0, 0, 0),
            statistics: CakeTinStatistics::default(),
            backlog: 0,
            tags: vec![0; QUEUES],
            hosts,
            lists: [List { head: NONE, tail: NONE }; 3],
            flow_quantum: 0,
            quantum: 0,
            deficit: 0,
            paid: 0,
            pace: Pace::default(),
        }
    }

    /// Takes another allotment, for packets of at most `largest` bytes and round trips of `interval` nanoseconds.
    pub(crate) fn allot(&mut self, it: Allotment, interval: u64, largest: u32) {
        self.pace = Pace::of(it.threshold);
        self.law = Law::new(interval / 20, interval, self.pace.time(largest));
        self.quantum = i32::from(it.quantum);
        self.flow_quantum =
            if it.threshold == 0 { 1514 } else { (it.threshold >> 12).clamp(300, 1514) as u32 };
        let statistics = &mut self.statistics;
        statistics.threshold_rate = it.threshold;
        statistics.target_ns = self.law.target;
        statistics.interval_ns = self.law.interval;
        statistics.flow_quantum = self.flow_quantum;
    }

    /// Return true if flows wait for turns, decaying ones apart.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.statistics.sparse_flows + self.statistics.bulk_flows > 0
    }

    /// The queue of a flow, whose key is the hash of what tells it from others, and that of its hosts.
    #[inline]
    pub(crate) fn queue_of(&mut self, key: u32, hosts: [u32; 2]) -> usize {
        let direct = key as usize % QUEUES;
        if self.tags[direct] == key && self.flows[direct].state != State::None {
            return direct;
        }
        self.allocate(key, hosts)
    }

    #[cold]
    fn allocate(&mut self, key: u32, hosts: [u32; 2]) -> usize {
        let is_free = |queue: usize| self.flows[queue].state == State::None;
        let (queue, found) = place_of(key, &self.tags, is_free);
        let statistics = &mut self.statistics;
        match found {
            Found::Own(true) => {}
            Found::Own(false) => statistics.way_indirect_hits += 1,
            Found::Free => statistics.way_misses += 1,
            Found::Taken => statistics.way_collisions += 1,
        }
        self.tags[queue] = key;
        if !matches!(found, Found::Own(_)) || self.flows[queue].state == State::None {
            let is_bulk = self.flows[queue].state == State::Bulk;
            if is_bulk {
                self.count_bulk(queue, -1);
            }
            for (side, key) in hosts.into_iter().enumerate() {
                let it = &mut self.hosts[side];
                if it.is_counted {
                    let (host, _) = place_of(key, &it.tags, |host| it.bulk_flows[host] == 0);
                    it.tags[host] = key;
                    self.flows[queue].hosts[side] = host as u16;
                }
            }
            if is_bulk {
                self.count_bulk(queue, 1);
            }
        }
        queue
    }

    /// A packet has joined the queue of a flow.
    #[inline]
    pub(crate) fn enter(&mut self, queue: usize, coin: &mut impl Coin) {
        match self.flows[queue].state {
            State::Sparse | State::Bulk => return,
            State::SparseWait => {
                self.statistics.sparse_flows -= 1;
                return self.become_bulk(queue);
            }
            State::None => {}
            State::Decaying => {
                self.statistics.decaying_flows -= 1;
                self.unlink(queue);
            }
        }
        self.append(NEW, queue);
        self.statistics.sparse_flows += 1;
        self.flows[queue].state = State::Sparse;
        self.flows[queue].deficit = self.quantum_of(queue, coin);
    }

    /// The flow whose turn it is; `None` if none is in a list. Decaying ones come first for the first turn that is asked for.
    #[inline]
    pub(crate) fn turn(&mut self, is_first: &mut bool, coin: &mut impl Coin) -> Option<usize> {
        loop {
            let decays = *is_first && self.lists[DECAYING].head != NONE;
            let order = if decays { [DECAYING; 3] } else { [NEW, OLD, DECAYING] };
            let list = order.into_iter().find(|&list| self.lists[list].head != NONE)?;
            *is_first = false;
            let queue = self.lists[list].head as usize;
            let flow = &mut self.flows[queue];
            if flow.deficit > 0 {
                return Some(queue);
            }
            if flow.state == State::Sparse {
                if flow.head == NONE {
                    flow.state = State::SparseWait;
                } else {
                    self.statistics.sparse_flows -= 1;
                    self.become_bulk(queue);
                }
            }
            self.flows[queue].deficit += self.quantum_of(queue, coin);
            self.unlink(queue);
            self.append(OLD, queue);
        }
    }

    /// The flow that has the turn has no packet.
    pub(crate) fn pass(&mut self, queue: usize, now: u64) {
        let flow = &mut self.flows[queue];
        let quiet = flow.control.found_empty(&self.law, now);
        let (rests, state) = (flow.control.is_at_rest(now), flow.state);
        flow.state = if rests { State::None } else { State::Decaying };
        let statistics = &mut self.statistics;
        statistics.unresponsive_flows -= u32::from(quiet);
        match state {
            State::Bulk => {
                statistics.bulk_flows -= 1;
                self.count_bulk(queue, -1);
            }
            State::Sparse | State::SparseWait => statistics.sparse_flows -= 1,
            State::Decaying => statistics.decaying_flows -= 1,
            State::None => {}
        }
        self.unlink(queue);
        if !rests {
            self.statistics.decaying_flows += 1;
            self.append(DECAYING, queue);
        }
    }

    /// A packet that weighs so many bytes is sent at `now`, or counts as if, in the turn of its flow if there is one.
    #[inline]
    pub(crate) fn charge(&mut self, queue: Option<usize>, weight: u32, now: u64) {
        let time = self.pace.time(weight);
        if self.paid < now {
            self.paid += time;
        } else if self.paid < now + time {
            self.paid = now + time;
        }
        if let Some(queue) = queue {
            self.flows[queue].deficit -= weight as i32;
            self.deficit -= weight as i32;
        }
    }

    fn become_bulk(&mut self, queue: usize) {
        self.statistics.bulk_flows += 1;
        self.flows[queue].state = State::Bulk;
        self.count_bulk(queue, 1);
    }

    /// The flow is one more or one less of its hosts' bulk flows.
    fn count_bulk(&mut self, queue: usize, change: i16) {
        for (it, place) in self.hosts.iter_mut().zip(self.flows[queue].hosts) {
            if it.is_counted {
                let flows = &mut it.bulk_flows[usize::from(place)];
                *flows = flows.saturating_add_signed(change);
            }
        }
    }

    /// Bytes that a flow gets for a turn: the more its hosts have under way, the less.
    #[inline]
    fn quantum_of(&self, queue: usize, coin: &mut impl Coin) -> i32 {
        let mut load = 1;
        for (it, place) in self.hosts.iter().zip(self.flows[queue].hosts) {
            if it.is_counted {
                load = load.max(it.bulk_flows[usize::from(place)]);
            }
        }
        let share = self.flow_quantum * (65_535 / u32::from(load));
        // Fractions are thrown for, or else they would be lost.
        ((share + (coin.uniform() * 65_536.0) as u32) >> 16) as i32
    }

    fn append(&mut self, list: usize, queue: usize) {
        let List { head, tail } = &mut self.lists[list];
        let last = std::mem::replace(tail, queue as u32);
        match self.flows.get_mut(last as usize) {
            Some(flow) => flow.after = queue as u32,
            None => *head = queue as u32,
        }
        let flow = &mut self.flows[queue];
        (flow.list, flow.before, flow.after) = (list, last, NONE);
    }

    fn unlink(&mut self, queue: usize) {
        let Flow { list, before, after, .. } = self.flows[queue];
        match self.flows.get_mut(before as usize) {
            Some(flow) => flow.after = after,
            None => self.lists[list].head = after,
        }
        match self.flows.get_mut(after as usize) {
            Some(flow) => flow.before = before,
            None => self.lists[list].tail = before,
        }
    }
}
