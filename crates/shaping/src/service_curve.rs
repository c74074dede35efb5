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
    /// wait in the line's queue that is accepted while the line's rate varies; steady lines have next to none
    excess: Seconds = 0.03 in [0.001, 1] log [0.005, 0.1], "cake-autorate: owd_delta_delay_thr_ms";
    /// part of the capacity that is let out while the line's rate varies; steady lines have all of it
    share: f64 = 1.0 in [0.1, 1] linear [0.5, 1], "ours";
    /// part of a new slope that the capacity takes over
    gain: f64 = 0.4 in [0.01, 1] log [0.1, 1], "ours";
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
/// Wait that is taken for jitter of the way.
const JITTER: u64 = 3 * MS;
/// The curve's slope is taken over at least so long and so many packets, and at most so long.
const SPAN: u64 = 60 * MS;
const SPAN_PACKETS: f64 = 20.0;
const LONGEST_SPAN: u64 = 600 * MS;
/// Difference of a slope's logarithm that is no surprise, and packets more or less that are none.
const SURPRISE: f64 = 0.1;
const NOISE_PACKETS: f64 = 3.0;
/// Time without a queue after which a steady line is asked for more, and after which one that has often had no more is.
const PATIENCE: u64 = 4 * SECOND;
const MOST_PATIENCE: u64 = 8 * SECOND;
/// Patience of a line that is steady.
const STEADY: u64 = 2 * SECOND;
/// Load from which the shaper holds somebody back; with which a step upwards has been used on a steady line.
pub(crate) const LOADED: f64 = 0.8;
const USED: f64 = 0.92;
/// Time after which a probe shows what a step upwards has done.
const TRIAL: u64 = 40 * MS;
/// Time for which the line's queue is kept empty for a new reflector.
const SETTLING: u64 = SECOND;
/// Time after which a wait that nothing shortens is one of the way.
const STUCK: u64 = 1_500 * MS;

/// Point of the line's service curve: all bytes let out before a probe have been served when it comes through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Point {
    /// When the probe came through, less the way there.
    pub(crate) served: u64,
    pub(crate) bytes: f64,
    /// Its wait in the line's queue.
    pub(crate) wait: u64,
}

/// Search for more capacity than is known.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// Since when no probe has waited while the shaper was loaded.
    quiet_since: Option<u64>,
    /// Steps upwards since then, and when the last one was: the next waits for a probe let out after it.
    steps: u32,
    stepped: u64,
    /// Capacity before the first of them.
    from: f64,
    /// True once probes wait again, until the next slope tells what was found.
    is_over: bool,
}

/// Waits that do not become shorter though less is let out.
#[derive(Clone, Copy, Debug)]
struct Stuck {
    since: u64,
    capacity: f64,
    least: u64,
    most: u64,
}

/// A shaper's rate from the line's service curve.
///
/// A probe that comes through the line's queue shows that all bytes before it have been served: a point of the line's
/// service curve. While probes wait, the slope of that curve is the capacity; otherwise it is a lower bound. What has been
/// let out and not been served waits in the line, and is the less for what the line serves meanwhile.
///
/// State: the curve's points, a capacity, a patience, the delay of each reflector without a queue. Control law: the capacity,
/// more or less by what brings the queue to its target in 0.1 s (a little slower downwards, where only senders can shorten
/// it). While no probe waits and the shaper is loaded, the capacity is tried upwards in growing steps, once the patience has
/// passed. Patience grows to 4 s while slopes are as expected, to 8 s while trials find nothing, and is halved by surprises.
/// From a patience of 2 s on the target is next to nothing, without any it is `excess`.
///
/// An outage needs no threshold: an answer that is late has not been served, so the queue grows and the rate falls. A way
/// that has become longer looks like a queue that nothing shortens, and becomes the new base after 1.5 s.
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
    /// Mean square of the logarithm by which a slope surprises.
    variance: f64,
    patience: u64,
    trial: Trial,
    stuck: Option<Stuck>,
    /// Round trip without waits.
    trip: u64,
    own_wait: u64,
    /// Until when the queue is kept empty, since a reflector may never have met it so.
    settles_until: u64,
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
            trial: Trial::default(),
            stuck: None,
            trip: 50 * MS,
            own_wait: 0,
            settles_until: 0,
            rate: 0.0,
            waiting: None,
        }
    }

    /// Takes other settings, and keeps what is known of the line.
    pub(crate) fn set(&mut self, set: ServiceCurveSettings) {
        self.set = set;
    }

    /// Points of the curve, the oldest first.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter()
    }

    /// Round trip without waits, in nanoseconds.
    pub(crate) fn trip(&self) -> u64 {
        self.trip
    }

    /// A wait that is more than jitter and a packet before it, in nanoseconds.
    pub(crate) fn noticed(&self) -> u64 {
        JITTER + (1.5 * self.packet_time() * 1e9) as u64
    }

    /// Seconds that a full packet takes on the line.
    fn packet_time(&self) -> f64 {
        PACKET / self.capacity
    }

    /// How steady the line is, from 0 to 1.
    fn calm(&self) -> f64 {
        (self.patience as f64 / STEADY as f64).min(1.0)
    }

    fn last_wait(&self) -> u64 {
        self.points.back().map_or(0, |last| last.wait)
    }

    /// True if probes have come through lately.
    fn is_recent(&self, now: u64) -> bool {
        let lately = 2 * (self.trip + 60 * MS);
        self.points.back().is_some_and(|last| now.saturating_sub(last.served) < lately)
    }

    /// True while the shaper holds somebody back: that part of its rate is used.
    pub(crate) fn is_loaded(&self, part: f64) -> bool {
        // Over a few packets at least, or their sizes decide.
        let span = (100 * MS).max((12.0 * PACKET / self.rate * 1e9) as u64).min(SECOND);
        self.passed.rate(span).is_some_and(|rate| rate > part * self.rate)
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
        let (wait, is_new) = self.bases.excess(answer.received, answer.reflector, delay);
        let wait = wait.min(trip);
        if is_new {
            self.settles_until = now.saturating_add(SETTLING);
        }
        // The bytes that count are let out upwards before the probe is, and come in downwards as the answer does.
        let (served, bytes) = match self.set.direction {
            Direction::Up => {
                let left = answer.sent.saturating_add(answer.own_wait);
                (left.saturating_add(wait), self.passed.at(left))
            }
            Direction::Down => {
                let come = answer.received.saturating_sub(answer.own_wait);
                (come, self.passed.at(come))
            }
        };
        (self.trip, self.own_wait) = (trip - wait, answer.own_wait);
        let last = self.points.back().copied().unwrap_or_default();
        if served <= last.served || bytes < last.bytes {
            return;
        }
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back(Point { served, bytes, wait });
        self.measure(served - last.served);
        self.look_for_longer_way(now, wait);
    }

    /// Takes the slope of the curve's last part for the capacity, or for a lower bound of it. The last two points are
    /// `apart` by so much.
    fn measure(&mut self, apart: u64) {
        let Some(&end) = self.points.back() else { return };
        let noticed = self.noticed();
        let (mut begin, mut is_busy, mut count) = (end, end.wait > noticed, 0);
        for &point in self.points.iter().rev().skip(1) {
            if is_busy && point.wait <= noticed && count >= 2 {
                break; // the queue has just begun
            }
            is_busy &= point.wait > noticed;
            begin = point;
            count += 1;
            let span = end.served - begin.served;
            let bits = (end.bytes - begin.bytes) * 8.0;
            if span >= LONGEST_SPAN || span >= SPAN && bits >= SPAN_PACKETS * PACKET {
                break;
            }
        }
        let span = end.served - begin.served;
        if span < SPAN {
            return;
        }
        let slope = ((end.bytes - begin.bytes) * 8e9 / span as f64).max(1.0);
        let is_over = is_busy && std::mem::take(&mut self.trial.is_over);
        let found = slope / self.trial.from;
        if is_over && found <= 1.1 {
            self.capacity = self.trial.from; // there was no more
        }
        let surprise = (slope / self.capacity).ln();
        let packet = 1e9 * PACKET / (slope * span as f64);
        if is_busy {
            self.variance += 0.05 * (surprise * surprise - self.variance);
            if is_over {
                self.patience = if found > 1.1 { self.patience / 4 } else { 2 * self.patience };
            } else if surprise.abs() < SURPRISE.max(NOISE_PACKETS * packet) {
                self.patience =
                    self.patience.max(PATIENCE.min(self.patience.saturating_add(apart)));
            } else if self.trial.steps == 0 || surprise > 0.0 {
                self.patience /= 2;
            }
            self.patience = self.patience.clamp(self.trip.min(PATIENCE), MOST_PATIENCE);
            self.capacity *= (self.set.gain * surprise).exp();
            if !self.is_seen {
                self.settles_until = end.served.saturating_add(SETTLING);
            }
            self.is_seen = true;
        } else if surprise > packet {
            self.capacity += self.set.gain * (slope - self.capacity);
        }
    }

    /// A queue becomes shorter when less is let out, unless it is none.
    fn look_for_longer_way(&mut self, now: u64, wait: u64) {
        if wait <= self.noticed() || self.rate > 0.95 * self.capacity {
            self.stuck = None;
            return;
        }
        let fresh = Stuck { since: now, capacity: self.capacity, least: wait, most: wait };
        let mut stuck = self.stuck.unwrap_or(fresh);
        (stuck.least, stuck.most) = (stuck.least.min(wait), stuck.most.max(wait));
        if stuck.most - stuck.least > (8 * MS).max(stuck.least / 3) {
            stuck = fresh;
        }
        self.stuck = Some(stuck);
        if now.saturating_sub(stuck.since) > STUCK {
            self.bases.raise(stuck.least.min(LONGEST) as i64);
            self.capacity = stuck.capacity;
            self.points.clear();
            self.stuck = None;
        }
    }

    /// Seconds that the line needs for what has been let out and not been served, but for the packet that it is at.
    fn standing(&self, now: u64) -> f64 {
        let Some(&last) = self.points.back() else { return 0.0 };
        // How much longer than usual an answer is out.
        let usual = self.trip + last.wait + 60 * MS;
        let oldest = self.outstanding.front();
        let late = oldest.map_or(0, |&sent| now.saturating_sub(sent).saturating_sub(usual));
        let standing = match self.set.direction {
            Direction::Up => {
                let served = now.saturating_sub(last.served).saturating_sub(late);
                let (_, bytes) = self.passed.last();
                (bytes as f64 - last.bytes) * 8.0 / self.capacity - served as f64 / 1e9
            }
            Direction::Down => last.wait.saturating_add(late) as f64 / 1e9,
        };
        (standing - self.packet_time()).max(0.0)
    }

    /// Tries a larger capacity where a loaded shaper makes nothing wait.
    fn try_more(&mut self, now: u64, standing: f64) {
        let waits = self.last_wait() > self.noticed();
        let settles = now < self.settles_until && self.is_seen;
        if waits
            || settles
            || standing > self.set.excess.0
            || !self.is_recent(now)
            || !self.is_loaded(LOADED)
        {
            let is_over = self.trial.is_over || waits && self.trial.steps > 0;
            self.trial = Trial { quiet_since: None, steps: 0, is_over, ..self.trial };
            return;
        }
        let since = *self.trial.quiet_since.get_or_insert(now);
        let is_answered = self
            .points
            .back()
            .is_some_and(|last| last.served > self.trial.stepped.saturating_add(TRIAL));
        if now.saturating_sub(since) < self.patience || !is_answered {
            return;
        }
        let calm = self.calm();
        if self.trial.steps == 0 {
            self.trial.from = self.capacity;
        } else if !self.is_loaded(LOADED + (USED - LOADED) * calm) {
            return; // senders have yet to use the last step
        }
        let first = 0.03 + 0.15 * (1.0 - calm);
        let step = (first * f64::from(1 << self.trial.steps.min(3))).min(0.5);
        self.capacity *= if self.is_seen { 1.0 + step } else { 2.0 };
        self.trial.steps += 1;
        self.trial.stepped = now;
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
        self.lost(answer.sent);
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
        let least = self.set.minimum.0;
        let most = self.set.maximum.map_or(1e13, |most| most.0).max(least);
        let standing = self.standing(now);
        self.try_more(now, standing);
        self.best = self.capacity.max(self.best * 0.998).min(most);
        self.capacity = self.capacity.clamp(least.max(0.05 * self.best), most);
        let (excess, steady, response) = match self.set.direction {
            Direction::Up => (self.set.excess.0, self.set.excess.0.min(0.001), 0.1),
            Direction::Down => (1.2 * self.set.excess.0, 0.0, 0.12),
        };
        let calm = self.calm();
        let target = excess * (1.0 - calm) + steady * calm;
        let most_part = if self.is_seen && now < self.settles_until { 0.85 } else { 1.6 };
        let part = (1.0 + (target - standing) / response).clamp(0.05, most_part);
        let share = self.set.share + (1.0 - self.set.share) * calm;
        self.rate = (self.capacity * share * part).clamp(least, most);
        let accepted = (self.set.excess.0 * 1e9) as u64;
        self.waiting = Some(if self.last_wait() > self.noticed().max(accepted) {
            Waiting::Behind
        } else if self.is_loaded(LOADED) {
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
            waiting: last.and(self.waiting),
            choice: None,
        }
    }
}
