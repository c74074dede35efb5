//! A scale for instructions: a loop that can do nothing but loss-based flows over one link.
//!
//! `cargo bench --bench fused -- [NETWORK] [SECONDS]` prints the packets sent, the mean queue at arrivals and the share
//! of drops. Networks are those of `benches/instructions.py`: `reno-100`, `reno-16`, `differing-200`, `cubic-200` (CUBIC's
//! window of RFC 9438 where that table has all that Linux does) and `fq-codel-100` (NewReno's recovery in place of
//! SACK's). Under `valgrind --tool=callgrind`, the difference of two durations over that of their packets says what such
//! a network costs where there is no choice of anything: no other sender, queue, path, traffic, option or metric, and
//! nothing is checked, changed or observed. The rest of what the simulator takes is what all of that costs.

use std::collections::VecDeque;
use std::marker::PhantomData;

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = SECOND / 1000;
const TIMEOUT: u64 = 200 * MILLISECOND;
/// RED's greatest probability of an early drop.
const MOST: f64 = 0.1;
/// Segments beyond a gap that a receiver can remember.
const REACH: usize = 16_384;
/// CUBIC's scale, in segments per second cubed, and what a loss leaves of the window.
const SCALE: f64 = 0.4;
const KEPT: f64 = 0.7;
/// CoDel's target and interval; a flow's quantum is a packet, as all have one size.
const TARGET: u64 = 5 * MILLISECOND;
const INTERVAL: u64 = 100 * MILLISECOND;

#[derive(Clone, Copy)]
struct Network {
    flows: u32,
    /// Least and greatest round trip.
    round_trips: (u64, u64),
    /// Time of one packet on the link.
    transmission: u64,
    limit: usize,
    minimum: f64,
    maximum: f64,
    weight: f64,
    cubic: bool,
    fair: bool,
}

const GIGABIT: Network = Network {
    flows: 100,
    round_trips: (40 * MILLISECOND, 40 * MILLISECOND),
    transmission: 8_000,
    limit: 5000,
    minimum: 500.0,
    maximum: 1500.0,
    weight: 0.00002,
    cubic: false,
    fair: false,
};

impl Network {
    const fn round_trip(&self, flow: u32) -> u64 {
        let (least, greatest) = self.round_trips;
        least + (greatest - least) * flow as u64 / self.flows as u64
    }
}

/// A network of which all is known when the loop is compiled.
trait Case {
    const NETWORK: Network;
}

struct Reno100;
impl Case for Reno100 {
    const NETWORK: Network = GIGABIT;
}

struct Reno16;
impl Case for Reno16 {
    const NETWORK: Network = Network {
        flows: 16,
        round_trips: (28 * MILLISECOND, 28 * MILLISECOND),
        transmission: 800_000,
        limit: 100,
        minimum: 15.0,
        maximum: 45.0,
        weight: 0.002,
        ..GIGABIT
    };
}

struct Differing200;
impl Case for Differing200 {
    const NETWORK: Network =
        Network { flows: 200, round_trips: (30 * MILLISECOND, 50 * MILLISECOND), ..GIGABIT };
}

struct Cubic200;
impl Case for Cubic200 {
    const NETWORK: Network = Network { flows: 200, cubic: true, ..GIGABIT };
}

struct FqCodel100;
impl Case for FqCodel100 {
    const NETWORK: Network = Network { fair: true, limit: 10_240, ..GIGABIT };
}

#[derive(Clone, Default)]
struct Flow {
    window: f64,
    threshold: f64,
    unacknowledged: u32,
    next: u32,
    highest: u32,
    recover: u32,
    duplicates: u32,
    recovering: bool,
    deadline: u64,
    /// CUBIC: the window before the last loss, when the present growth began, and when it is back there.
    maximum: f64,
    began: u64,
    back_after: f64,
    expected: u32,
    arrived: Vec<bool>,
}

/// Slots of packets on their way whose round trips differ; each is as long as a transmission.
const SLOTS: usize = 16_384;

/// Packets on their way, by the time at which their acknowledgement arrives: with flow and segment.
struct Flying<N> {
    /// Of one round trip: they arrive as they left.
    ring: VecDeque<(u64, u32, u32)>,
    /// Of several: by time, all but the order within a slot.
    wheel: Vec<Vec<(u64, u32, u32)>>,
    cursor: u64,
    network: PhantomData<N>,
}

impl<N: Case> Flying<N> {
    const SAME: bool = N::NETWORK.round_trips.0 == N::NETWORK.round_trips.1;

    fn push(&mut self, packet: (u64, u32, u32)) {
        if Self::SAME {
            self.ring.push_back(packet);
        } else {
            let slot = packet.0 / N::NETWORK.transmission;
            self.cursor = self.cursor.min(slot);
            self.wheel[slot as usize % SLOTS].push(packet);
        }
    }

    /// Earliest arrival before `end`.
    fn next(&mut self, end: u64) -> u64 {
        if Self::SAME {
            return self.ring.front().map_or(u64::MAX, |it| it.0);
        }
        while self.cursor * N::NETWORK.transmission < end {
            let slot = &mut self.wheel[self.cursor as usize % SLOTS];
            if let Some(first) = (0..slot.len()).min_by_key(|it| slot[*it].0) {
                let last = slot.len() - 1;
                slot.swap(first, last);
                return slot[last].0;
            }
            self.cursor += 1;
        }
        u64::MAX
    }

    /// Takes what `next` has found.
    fn pop(&mut self) -> Option<(u64, u32, u32)> {
        if Self::SAME {
            self.ring.pop_front()
        } else {
            self.wheel[self.cursor as usize % SLOTS].pop()
        }
    }
}

/// A flow's queue of FQ-CoDel.
#[derive(Clone, Default)]
struct Lane {
    packets: VecDeque<(u64, u32)>,
    listed: bool,
    credit: bool,
    above_since: u64,
    dropping: bool,
    drop_next: u64,
    count: u32,
}

/// The link and the queue in front of it.
struct Link<N> {
    average: f64,
    count: f64,
    empty_since: u64,
    free_at: u64,
    /// When transmissions of those that wait begin, behind RED.
    waiting: VecDeque<u64>,
    lanes: Vec<Lane>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    backlog: usize,
    flying: Flying<N>,
    coin: u64,
    sent: u64,
    drops: u64,
    seen: u64,
}

impl<N: Case> Link<N> {
    fn offer(&mut self, now: u64, flow: u32, segment: u32) {
        if N::NETWORK.fair {
            return self.offer_fair(now, flow, segment);
        }
        while let Some(&start) = self.waiting.front()
            && start <= now
        {
            self.empty_since = start;
            self.waiting.pop_front();
        }
        let queue = self.waiting.len();
        self.seen += queue as u64;
        let weight = N::NETWORK.weight;
        if queue > 0 {
            self.average += weight * (queue as f64 - self.average);
        } else {
            let packets = (now - self.empty_since) as f64 / N::NETWORK.transmission as f64;
            self.average *= (1.0 - weight * packets).max(0.0); // as good as the power: little is idle
            self.empty_since = now;
        }
        if queue >= N::NETWORK.limit || self.average >= N::NETWORK.minimum && self.drops_early() {
            self.count = 0.0;
            self.drops += 1;
            return;
        }
        let start = self.free_at.max(now);
        self.free_at = start + N::NETWORK.transmission;
        self.sent += 1;
        if start > now {
            self.waiting.push_back(start);
        }
        self.flying.push((self.free_at + N::NETWORK.round_trip(flow), flow, segment));
    }

    fn drops_early(&mut self) -> bool {
        let Network { minimum, maximum, .. } = N::NETWORK;
        let probability = MOST * (self.average - minimum) / (maximum - minimum);
        self.count += 1.0;
        self.coin = self.coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let drawn = (self.coin >> 11) as f64 / (1_u64 << 53) as f64;
        self.average >= maximum || drawn * (1.0 - self.count * probability) < probability
    }

    fn offer_fair(&mut self, now: u64, flow: u32, segment: u32) {
        self.seen += self.backlog as u64;
        if self.backlog >= N::NETWORK.limit {
            self.drops += 1;
            return;
        }
        let lane = &mut self.lanes[flow as usize];
        lane.packets.push_back((now, segment));
        self.backlog += 1;
        if !lane.listed {
            (lane.listed, lane.credit) = (true, true);
            self.new.push_back(flow);
        }
        if self.free_at <= now {
            self.free_at = now;
            self.transmit();
        }
    }

    /// When the next packet of FQ-CoDel's begins.
    fn next(&self) -> u64 {
        if self.backlog > 0 { self.free_at } else { u64::MAX }
    }

    fn transmit(&mut self) {
        let now = self.free_at;
        while let Some((fresh, flow)) =
            self.new.front().map(|it| (true, *it)).or(self.old.front().map(|it| (false, *it)))
        {
            let list = if fresh { &mut self.new } else { &mut self.old };
            let lane = &mut self.lanes[flow as usize];
            if !std::mem::take(&mut lane.credit) {
                lane.credit = true;
                list.pop_front();
                self.old.push_back(flow);
                continue;
            }
            let before = lane.packets.len();
            let head = lane.dequeue(now);
            let dropped = before - lane.packets.len() - usize::from(head.is_some());
            self.backlog -= before - lane.packets.len();
            self.drops += dropped as u64;
            if let Some(segment) = head {
                self.free_at = now + N::NETWORK.transmission;
                self.sent += 1;
                self.flying.push((self.free_at + N::NETWORK.round_trip(flow), flow, segment));
                return;
            }
            list.pop_front();
            if fresh {
                self.old.push_back(flow);
                lane.credit = true;
            } else {
                lane.listed = false;
            }
        }
    }
}

impl Lane {
    fn over_target(&mut self, now: u64) -> bool {
        let waits =
            self.packets.front().is_some_and(|it| now - it.0 >= TARGET) && self.packets.len() > 1;
        if !waits {
            self.above_since = u64::MAX;
        } else if self.above_since == u64::MAX {
            self.above_since = now;
        }
        waits && now - self.above_since >= INTERVAL
    }

    /// CoDel's choice of a head (RFC 8289).
    fn dequeue(&mut self, now: u64) -> Option<u32> {
        let mut over = self.over_target(now);
        if !self.dropping && over {
            self.packets.pop_front();
            self.dropping = true;
            let recent = self.count > 2 && now.saturating_sub(self.drop_next) < 16 * INTERVAL;
            self.count = if recent { self.count - 2 } else { 1 };
            self.drop_next = now + (INTERVAL as f64 / f64::from(self.count).sqrt()) as u64;
            self.over_target(now);
        } else if self.dropping {
            while over && now >= self.drop_next {
                self.packets.pop_front();
                self.count += 1;
                self.drop_next += (INTERVAL as f64 / f64::from(self.count).sqrt()) as u64;
                over = self.over_target(now);
            }
            self.dropping = over;
        }
        self.packets.pop_front().map(|it| it.1)
    }
}

impl Flow {
    /// Sends what the window allows.
    fn send<N: Case>(&mut self, now: u64, number: u32, link: &mut Link<N>) {
        let inflation = if self.recovering { f64::from(self.duplicates) } else { 0.0 };
        while f64::from(self.next - self.unacknowledged + 1) <= self.window + inflation {
            link.offer(now, number, self.next);
            self.next += 1;
            self.highest = self.highest.max(self.next);
        }
    }

    fn on_arrival<N: Case>(&mut self, now: u64, number: u32, segment: u32, link: &mut Link<N>) {
        self.arrived[segment as usize % REACH] |= segment >= self.expected;
        while std::mem::take(&mut self.arrived[self.expected as usize % REACH]) {
            self.expected += 1;
        }
        if self.expected > self.unacknowledged {
            let partial = self.recovering && self.expected < self.recover;
            let newly = self.expected - self.unacknowledged;
            self.unacknowledged = self.expected;
            self.next = self.next.max(self.expected);
            self.deadline = now + TIMEOUT;
            if partial {
                self.duplicates = self.duplicates.saturating_sub(newly) + 1;
                link.offer(now, number, self.unacknowledged);
            } else {
                self.recovering = false;
                self.duplicates = 0;
                let slow_start = self.window < self.threshold;
                let more = if slow_start { 1.0 } else { self.growth(now, link) };
                self.window += more;
            }
        } else {
            self.duplicates += 1;
            if self.duplicates == 3 && self.unacknowledged > self.recover {
                self.reduce(link);
                self.window = self.threshold;
                (self.recovering, self.recover) = (true, self.highest);
                link.offer(now, number, self.unacknowledged);
            }
        }
        self.send(now, number, link);
    }

    /// Growth of the window by one acknowledgement in congestion avoidance.
    fn growth<N: Case>(&mut self, now: u64, _: &Link<N>) -> f64 {
        if !N::NETWORK.cubic {
            return 1.0 / self.window;
        }
        if self.began == 0 {
            self.began = now;
            self.back_after = ((self.maximum - self.window).max(0.0) / SCALE).cbrt();
        }
        let since = (now - self.began) as f64 / SECOND as f64;
        let later = since + N::NETWORK.round_trips.0 as f64 / SECOND as f64 - self.back_after;
        let target = SCALE * later * later * later + self.maximum;
        ((target - self.window) / self.window).clamp(0.01, 0.5)
    }

    fn reduce<N: Case>(&mut self, _: &Link<N>) {
        let kept = if N::NETWORK.cubic { KEPT } else { 0.5 };
        self.maximum = self.window;
        self.began = 0;
        self.threshold = (self.window * kept).floor().max(2.0);
    }

    fn on_timeout<N: Case>(&mut self, now: u64, number: u32, link: &mut Link<N>) {
        self.reduce(link);
        (self.window, self.recovering, self.duplicates) = (1.0, false, 0);
        (self.recover, self.next) = (self.highest, self.unacknowledged);
        self.deadline = now + TIMEOUT;
        self.send(now, number, link);
    }
}

fn run<N: Case>(seconds: u64) {
    let network = N::NETWORK;
    let lane = Lane { above_since: u64::MAX, ..Lane::default() };
    let mut link = Link::<N> {
        average: 0.0,
        count: 0.0,
        empty_since: 0,
        free_at: 0,
        waiting: VecDeque::new(),
        lanes: vec![lane; network.flows as usize],
        new: VecDeque::new(),
        old: VecDeque::new(),
        backlog: 0,
        flying: Flying {
            ring: VecDeque::new(),
            wheel: vec![Vec::new(); SLOTS],
            cursor: 0,
            network: PhantomData,
        },
        coin: 1,
        sent: 0,
        drops: 0,
        seen: 0,
    };
    let flow = Flow {
        window: 1.0,
        threshold: f64::INFINITY,
        deadline: u64::MAX,
        arrived: vec![false; REACH],
        ..Flow::default()
    };
    let mut flows = vec![flow; network.flows as usize];
    // Timers are looked at once in so long, when flows begin as well.
    let step = MILLISECOND.max(20 * network.transmission);
    for now in (0..seconds * SECOND).step_by(step as usize) {
        for (number, flow) in (0..).zip(&mut flows) {
            if u64::from(number) * SECOND / u64::from(network.flows) / step * step == now {
                flow.send(now, number, &mut link);
            } else if flow.deadline <= now {
                flow.on_timeout(now, number, &mut link);
            }
        }
        let end = now + step;
        loop {
            let (arrival, departure) = (link.flying.next(end), link.next());
            if arrival.min(departure) >= end {
                break;
            }
            if departure < arrival {
                link.transmit();
            } else if let Some((time, number, segment)) = link.flying.pop() {
                flows[number as usize].on_arrival(time, number, segment, &mut link);
            }
        }
    }
    let offered = (link.sent + link.drops) as f64;
    let (queue, drops) = (link.seen as f64 / offered, link.drops as f64 / offered);
    println!("{} {queue:.1} {drops:.5}", link.sent);
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let seconds = words.iter().find_map(|it| it.parse().ok()).unwrap_or(10);
    match words.get(1).map_or("", String::as_str) {
        "reno-16" => run::<Reno16>(seconds),
        "differing-200" => run::<Differing200>(seconds),
        "cubic-200" => run::<Cubic200>(seconds),
        "fq-codel-100" => run::<FqCodel100>(seconds),
        _ => run::<Reno100>(seconds),
    }
}
