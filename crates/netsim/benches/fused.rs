//! A scale for instructions: a loop that can do nothing but NewReno flows of one round trip over one RED link.
//!
//! `cargo bench --bench fused -- [SECONDS]` prints the packets sent, the mean queue at arrivals and the share of drops.
//! Under `valgrind --tool=callgrind`, the difference of two durations over that of their packets says what such a
//! network costs where there is no choice of anything: no other sender, queue, path, traffic, option or metric, and
//! nothing is checked, changed or observed. The rest of what the simulator takes is what all of that costs.

use std::collections::VecDeque;

const FLOWS: usize = 100;
const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = SECOND / 1000;
const ROUND_TRIP: u64 = 40 * MILLISECOND;
const TRANSMISSION: u64 = 8_000;
const TIMEOUT: u64 = 200 * MILLISECOND;
/// RED's settings, in packets.
const LIMIT: usize = 5000;
const MINIMUM: f64 = 500.0;
const MAXIMUM: f64 = 1500.0;
const WEIGHT: f64 = 0.00002;
const MOST: f64 = 0.1;
/// Segments beyond a gap that a receiver can remember.
const REACH: usize = 16_384;

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
    expected: u32,
    arrived: Vec<bool>,
}

/// The link, RED in front of it, and all that is on its way.
#[derive(Default)]
struct Link {
    average: f64,
    count: f64,
    empty_since: u64,
    free_at: u64,
    /// When transmissions of those that wait begin.
    waiting: VecDeque<u64>,
    /// When an acknowledgement arrives, of which flow and segment.
    flying: VecDeque<(u64, u32, u32)>,
    coin: u64,
    sent: u64,
    drops: u64,
    backlog: u64,
}

impl Link {
    fn offer(&mut self, now: u64, flow: u32, segment: u32) {
        while let Some(&start) = self.waiting.front()
            && start <= now
        {
            self.empty_since = start;
            self.waiting.pop_front();
        }
        let queue = self.waiting.len();
        self.backlog += queue as u64;
        if queue > 0 {
            self.average += WEIGHT * (queue as f64 - self.average);
        } else {
            let packets = (now - self.empty_since) as f64 / TRANSMISSION as f64;
            self.average *= 1.0 - WEIGHT * packets; // as good as the power: little is idle
            self.empty_since = now;
        }
        if queue >= LIMIT || self.average >= MINIMUM && self.drops_early() {
            self.count = 0.0;
            self.drops += 1;
            return;
        }
        let start = self.free_at.max(now);
        self.free_at = start + TRANSMISSION;
        self.sent += 1;
        if start > now {
            self.waiting.push_back(start);
        }
        self.flying.push_back((self.free_at + ROUND_TRIP, flow, segment));
    }

    fn drops_early(&mut self) -> bool {
        let probability = MOST * (self.average - MINIMUM) / (MAXIMUM - MINIMUM);
        self.count += 1.0;
        self.coin = self.coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let drawn = (self.coin >> 11) as f64 / (1_u64 << 53) as f64;
        self.average >= MAXIMUM || drawn * (1.0 - self.count * probability) < probability
    }
}

impl Flow {
    /// Sends what the window allows.
    fn send(&mut self, now: u64, number: u32, link: &mut Link) {
        let inflation = if self.recovering { f64::from(self.duplicates) } else { 0.0 };
        while f64::from(self.next - self.unacknowledged + 1) <= self.window + inflation {
            link.offer(now, number, self.next);
            self.next += 1;
            self.highest = self.highest.max(self.next);
        }
    }

    fn on_arrival(&mut self, now: u64, number: u32, segment: u32, link: &mut Link) {
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
                self.window += if slow_start { 1.0 } else { 1.0 / self.window };
            }
        } else {
            self.duplicates += 1;
            if self.duplicates == 3 && self.unacknowledged > self.recover {
                self.threshold = (self.window / 2.0).floor().max(2.0);
                self.window = self.threshold;
                (self.recovering, self.recover) = (true, self.highest);
                link.offer(now, number, self.unacknowledged);
            }
        }
        self.send(now, number, link);
    }

    fn on_timeout(&mut self, now: u64, number: u32, link: &mut Link) {
        self.threshold = (self.window / 2.0).floor().max(2.0);
        (self.window, self.recovering, self.duplicates) = (1.0, false, 0);
        (self.recover, self.next) = (self.highest, self.unacknowledged);
        self.deadline = now + TIMEOUT;
        self.send(now, number, link);
    }
}

fn main() {
    let seconds = std::env::args().find_map(|it| it.parse().ok()).unwrap_or(10);
    let mut link = Link { coin: 1, ..Link::default() };
    let flow = Flow {
        window: 1.0,
        threshold: f64::INFINITY,
        deadline: u64::MAX,
        arrived: vec![false; REACH],
        ..Flow::default()
    };
    let mut flows = vec![flow; FLOWS];
    // Timers are looked at once in a millisecond, when flows begin as well.
    for now in (0..seconds * SECOND).step_by(MILLISECOND as usize) {
        for (number, flow) in (0..).zip(&mut flows) {
            if u64::from(number) * SECOND / FLOWS as u64 == now {
                flow.send(now, number, &mut link);
            } else if flow.deadline <= now {
                flow.on_timeout(now, number, &mut link);
            }
        }
        while let Some(&(time, number, segment)) = link.flying.front()
            && time < now + MILLISECOND
        {
            link.flying.pop_front();
            flows[number as usize].on_arrival(time, number, segment, &mut link);
        }
    }
    let offered = (link.sent + link.drops) as f64;
    let (queue, drops) = (link.backlog as f64 / offered, link.drops as f64 / offered);
    println!("{} {queue:.1} {drops:.5}", link.sent);
}
