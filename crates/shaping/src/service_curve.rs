use std::collections::VecDeque;

use vermilion_parameters::{BitPerSecond, Seconds, settings};

use crate::base_delay::BaseDelay;
use crate::law::Direction;
use crate::passed::Passed;
use crate::{Answer, RateLaw, State, Waiting};

settings! {
    /// Settings of [`ServiceCurve`].
    pub ServiceCurveSettings "service-curve": "Service curve",
        "Follows the capacity that probes and the bytes between them show",
        "ours";
    /// direction of the traffic that is held back
    direction: Direction = Up, "ours";
    /// wait in the line's queue that is accepted
    excess: Seconds = 0.01 in [0.001, 1] log [0.002, 0.1], "ours";
    /// least rate
    minimum: BitPerSecond = 3e5 in [1e3, 1e13] log [1e4, 1e9], "ours";
    /// largest rate; automatic: none
    maximum: Option<BitPerSecond> = automatic in [1e3, 1e13] log [1e5, 1e10], "ours";
    /// capacity that is supposed at first, and doubled while nothing waits
    start: BitPerSecond = 4e6 in [1e3, 1e13] log [1e5, 1e10], "ours";
}

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// A full packet, in bits.
const PACKET: f64 = 8.0 * 1514.0;
/// Points of the curve that are kept.
const POINTS: usize = 128;
/// Probes of which answers are awaited.
const OUTSTANDING: usize = 256;
/// Time after which no answer is awaited any more.
const GIVEN_UP: u64 = 10 * SECOND;
/// Longest delay that is believed.
const LONGEST: u64 = 100 * SECOND;
/// Span over which the curve's slope is taken.
const SPAN: u64 = 150 * MS;
/// Time in which a wrong queue is brought back.
const RESPONSE: f64 = 0.1;
/// Time without a queue after which a steady line is asked for more.
const PATIENCE: u64 = 4 * SECOND;
/// Load from which the shaper holds somebody back.
const LOADED: f64 = 0.8;

/// Point of the line's service curve: all bytes let out before a probe have been served when it comes through.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    /// When the probe came through, less the way there.
    served: u64,
    bytes: f64,
    /// Its wait in the line's queue.
    wait: u64,
}

/// A shaper's rate from the line's service curve.
///
/// A probe that comes through the line's queue shows that all bytes before it have been served: a point of the line's
/// service curve. While probes wait, the slope of that curve is the capacity; otherwise it is a lower bound. What has been
/// let out and not been served waits in the line, and is the less for what the line serves meanwhile.
///
/// State: the curve's points, a capacity, the delay of each reflector without a queue. Control law: capacity, less what
/// brings the queue to its target in 0.1 s. While no probe waits and the shaper is loaded, the capacity is tried upwards:
/// seldom on a line where that has found nothing, at once where it has.
#[derive(Clone, Debug)]
pub struct ServiceCurve {
    set: ServiceCurveSettings,
    bases: BaseDelay,
    passed: Passed,
    outstanding: VecDeque<u64>,
    answers: VecDeque<Answer>,
    points: VecDeque<Point>,
    capacity: f64,
    /// True once probes have waited.
    is_seen: bool,
    /// Largest capacity lately.
    best: f64,
    /// Variance of the capacity that a slope shows, as a part of the one expected.
    variance: f64,
    patience: u64,
    /// Since when no probe has waited while the shaper was loaded.
    quiet_since: Option<u64>,
    /// Steps upwards since a probe waited, and when the next may come.
    steps: u32,
    next_step: u64,
    tried_from: f64,
    trip: u64,
    own_wait: u64,
    rate: f64,
    waiting: Option<Waiting>,
}

impl ServiceCurve {
    /// The law of these settings.
    #[must_use]
    pub fn new(set: ServiceCurveSettings) -> Self {
        Self {
            set,
            bases: BaseDelay::default(),
            passed: Passed::default(),
            outstanding: VecDeque::new(),
            answers: VecDeque::new(),
            points: VecDeque::new(),
            capacity: set.start.0,
            is_seen: false,
            best: 0.0,
            variance: 0.04,
            patience: 0,
            quiet_since: None,
            steps: 0,
            next_step: 0,
            tried_from: 0.0,
            trip: 50 * MS,
            own_wait: 0,
            rate: 0.0,
            waiting: None,
        }
    }

    /// A wait that is more than noise, in nanoseconds.
    fn noticed(&self) -> u64 {
        3 * MS + (1.5 * PACKET / self.capacity * 1e9) as u64
    }

    fn learn(&mut self, now: u64, answer: Answer) {
        let trip = answer.received.saturating_sub(answer.sent).saturating_sub(answer.own_wait);
        let is_sane = answer.received <= now && answer.sent <= answer.received;
        if !is_sane || trip > LONGEST || answer.own_wait > LONGEST {
            return;
        }
        let delay = answer
            .one_way
            .map_or(trip as i64, |delay| delay.saturating_sub_unsigned(answer.own_wait));
        let wait = self.bases.excess(answer.received, answer.reflector, delay);
        let wait = wait.min(trip);
        let served = match self.set.direction {
            Direction::Up => answer.sent.saturating_add(answer.own_wait).saturating_add(wait),
            Direction::Down => answer.received.saturating_sub(answer.own_wait),
        };
        let at = match self.set.direction {
            Direction::Up => served - wait,
            Direction::Down => served,
        };
        (self.trip, self.own_wait) = (trip - wait, answer.own_wait);
        let bytes = self.passed.at(at);
        let last = self.points.back().copied().unwrap_or_default();
        if served <= last.served || bytes < last.bytes {
            return;
        }
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back(Point { served, bytes, wait });
        self.measure();
    }

    /// Takes the slope of the curve's last part for the capacity, or for a lower bound of it.
    fn measure(&mut self) {
        let Some(&end) = self.points.back() else { return };
        let noticed = self.noticed();
        let (mut begin, mut is_busy, mut count) = (end, end.wait > noticed, 0);
        for &point in self.points.iter().rev().skip(1) {
            if is_busy && point.wait <= noticed && count >= 2 {
                break; // the slope of a queue that has just begun
            }
            is_busy &= point.wait > noticed;
            begin = point;
            count += 1;
            let bits = (end.bytes - begin.bytes) * 8.0;
            if end.served - begin.served >= SPAN && bits >= 12.0 * PACKET
                || end.served - begin.served >= 4 * SPAN
            {
                break;
            }
        }
        let span = end.served - begin.served;
        if span < SPAN / 3 {
            return;
        }
        let slope = ((end.bytes - begin.bytes) * 8e9 / span as f64).max(1.0);
        let capacity = self.capacity;
        if is_busy {
            let surprise = (slope / capacity).ln();
            self.variance += 0.05 * (surprise * surprise - self.variance);
            if surprise < -0.15 && self.steps == 0 {
                self.patience = (self.patience / 2).max(self.trip);
            }
            self.capacity *= (0.4 * surprise).exp();
            self.is_seen = true;
        } else if slope > capacity {
            self.capacity += 0.4 * (slope - capacity);
        }
    }

    /// Seconds that the line needs for what has been let out and not been served.
    fn standing(&self, now: u64) -> f64 {
        let Some(&last) = self.points.back() else { return 0.0 };
        // How much longer than usual an answer is out.
        let usual = self.trip + last.wait + 60 * MS;
        let late = self
            .outstanding
            .front()
            .map_or(0, |&sent| now.saturating_sub(sent).saturating_sub(usual));
        match self.set.direction {
            Direction::Up => {
                let served = now.saturating_sub(last.served).saturating_sub(late);
                let (_, bytes) = self.passed.last();
                let let_out = (bytes as f64 - last.bytes) * 8.0;
                (let_out / self.capacity - served as f64 / 1e9).max(0.0)
            }
            Direction::Down => (last.wait + late) as f64 / 1e9,
        }
    }

    /// Tries a larger capacity where a loaded shaper makes nothing wait.
    fn try_more(&mut self, now: u64, standing: f64) {
        let loaded = self.passed.rate(100 * MS).is_some_and(|rate| rate > LOADED * self.rate);
        let waits = self.points.back().is_some_and(|last| last.wait > self.noticed());
        if waits {
            if self.steps > 0 {
                let gain = self.capacity / self.tried_from;
                self.patience = if gain > 1.1 { self.patience / 4 } else { self.patience * 2 };
            }
            self.patience = self.patience.clamp(self.trip, PATIENCE);
            self.quiet_since = None;
            self.steps = 0;
            return;
        }
        let is_recent = self
            .points
            .back()
            .is_some_and(|last| now.saturating_sub(last.served) < 2 * (self.trip + 60 * MS));
        if !loaded || !is_recent || standing > self.set.excess.0 {
            self.quiet_since = None;
            self.steps = 0;
            return;
        }
        let since = *self.quiet_since.get_or_insert(now);
        if now.saturating_sub(since) < self.patience || now < self.next_step {
            return;
        }
        if self.steps == 0 {
            self.tried_from = self.capacity;
        }
        let more =
            if self.is_seen { (0.05 * f64::from(1 << self.steps.min(3))).min(0.35) } else { 1.0 };
        self.capacity *= 1.0 + more;
        self.steps += 1;
        self.next_step = now + self.trip + 40 * MS;
    }
}

impl RateLaw for ServiceCurve {
    fn probe_sent(&mut self, sent: u64, bytes: u64) {
        self.passed.note(sent, bytes);
        if self.outstanding.len() == OUTSTANDING {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back(sent);
    }

    fn answered(&mut self, answer: Answer) {
        self.outstanding.retain(|&sent| sent != answer.sent);
        if self.answers.len() == OUTSTANDING {
            self.answers.pop_front();
        }
        self.answers.push_back(answer);
    }

    fn lost(&mut self, sent: u64) {
        self.outstanding.retain(|&other| other != sent);
    }

    fn rate(&mut self, now: u64, bytes: u64) -> f64 {
        self.passed.note(now, bytes);
        while self.outstanding.front().is_some_and(|&sent| now.saturating_sub(sent) > GIVEN_UP) {
            self.outstanding.pop_front();
        }
        while let Some(answer) = self.answers.pop_front() {
            self.learn(now, answer);
        }
        let (least, most) = (self.set.minimum.0, self.set.maximum.map_or(1e13, |most| most.0));
        let standing = self.standing(now);
        self.try_more(now, standing);
        let most = most.max(least);
        self.best = self.capacity.max(self.best * (1.0 - 0.002)).min(most);
        self.capacity = self.capacity.clamp(least.max(0.05 * self.best), most);
        let capacity = self.capacity;
        let calm = (self.patience as f64 / PATIENCE as f64).min(1.0);
        let target = 0.5 * self.set.excess.0 * (1.0 - calm);
        let part = 1.0 - 0.03 * calm + (target - standing) / RESPONSE;
        self.rate = (capacity * part.clamp(0.05, 1.25)).clamp(least, most);
        let last = self.points.back().copied().unwrap_or_default();
        self.waiting = Some(if last.wait > self.noticed().max((1e9 * self.set.excess.0) as u64) {
            Waiting::Behind
        } else if self.passed.rate(100 * MS).is_some_and(|rate| rate > LOADED * self.rate) {
            Waiting::Here
        } else {
            Waiting::Nowhere
        });
        self.rate
    }

    fn state(&self) -> State {
        let last = self.points.back();
        State {
            rate: self.rate,
            capacity: self.is_seen.then_some(self.capacity),
            doubt: self.is_seen.then(|| self.variance.sqrt()),
            wait_here: last.map(|_| self.own_wait as f64 / 1e9),
            wait_behind: last.map(|last| last.wait as f64 / 1e9),
            waiting: self.waiting,
        }
    }
}
