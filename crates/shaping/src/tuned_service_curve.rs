use vermilion_parameters::{BitPerSecond, Seconds, settings};

use crate::law::Direction;
use crate::line_model::{LineModel, Outcome};
use crate::service_curve::{LOADED, ServiceCurve, ServiceCurveSettings};
use crate::{Answer, Choice, RateLaw, State};

settings! {
    /// Settings of [`TunedServiceCurve`].
    pub TunedServiceCurveSettings "tuned-service-curve": "Service curve with constants from a model of the line",
        "Follows the capacity, with constants that did best on the line of the last minute",
        "ours";
    /// direction of the traffic that is held back
    direction: Direction = Up, "ours";
    /// 95th percentile of the wait in the line's queue that is accepted
    excess: Seconds = 0.03 in [0.001, 1] log [0.005, 0.1], "cake-autorate: owd_delta_delay_thr_ms";
    /// part of the goodput that may be given for shorter waits
    price: f64 = 0.1 in [0, 1] linear [0, 0.2], "ours";
    /// least rate
    minimum: BitPerSecond = 3e5 in [1e3, 1e13] log [1e4, 1e9], "ours";
    /// largest rate; automatic: none
    maximum: Option<BitPerSecond> = automatic in [1e3, 1e13] log [1e5, 1e10], "ours";
    /// capacity that is supposed at first, and doubled while nothing waits
    start: BitPerSecond = 4e6 in [1e3, 1e13] log [1e5, 1e10], "ours";
}

const SECOND: u64 = 1_000_000_000;
/// Time between two replays, so that none is noticed, and between two searches.
const BETWEEN: u64 = SECOND / 2;
const REST: u64 = 15 * SECOND;
/// Time for which the capacity has to be seen.
const LEAST_SEEN: f64 = 10.0;
/// What earlier minutes count beside the last one, and how many there must be: one shows little of a line that varies.
const MEMORY: f64 = 0.7;
const LEAST_SEARCHES: f64 = 1.5;
/// Part of the excess, or of the goodput, that must be gained; more where `excess` cannot be had.
const GAINED: f64 = 0.1;
const GAINED_IN_VAIN: f64 = 0.3;
const GAINED_GOODPUT: f64 = 0.02;
/// How many times more goodput is given or gained than the model says: it has no senders that must find what is free.
const COST: f64 = 2.5;
/// Targets as parts of the excess, parts of the capacity, and gains that are tried.
const TARGETS: [f64; 3] = [1.0, 2.0, 0.3];
const SHARES: [f64; 2] = [1.0, 0.9];
const GAINS: [f64; 2] = [0.4, 1.0];
/// Sets of them upwards, and downwards, where a shorter target costs much more than a model of senders says.
const UP: usize = TARGETS.len() * SHARES.len() * GAINS.len();
const DOWN: usize = 2 * SHARES.len() * GAINS.len();
/// The first: what the law has by itself.
const DEFAULT: usize = 0;
/// Least wait that counts, in seconds.
const LEAST: f64 = 0.001;
/// Largest logarithm of how much longer waits have turned out to be.
const MOST_FACTOR: f64 = 1.1;

/// The law of [`ServiceCurve`], with constants that a model of the line has chosen.
///
/// State: that law's, the line of the last minute as its service curve has shown it, and what constants (target, part of the
/// capacity, gain) have done on it, minute by minute. Control law: once the capacity has been seen for 10 s of the minute,
/// the constants are tried on that line, one set each half second. Their waits are taken as many times longer as the present
/// ones have turned out to be. Next are those with the most goodput of all that keep 95 % of the waits below `excess`; where
/// none does, those with the shortest waits. Neither may cost more goodput than `price`.
#[derive(Clone, Debug)]
pub struct TunedServiceCurve {
    set: TunedServiceCurveSettings,
    law: Box<ServiceCurve>,
    line: LineModel,
    noted: u64,
    bytes: f64,
    present: usize,
    choice: Option<Choice>,
    found: Vec<Outcome>,
    /// Searches that count in `found`, the older ones less.
    searches: f64,
    measured: f64,
    tried: Vec<Outcome>,
    next: u64,
}

impl TunedServiceCurve {
    /// The law of these settings.
    #[must_use]
    pub fn new(set: TunedServiceCurveSettings) -> Self {
        let candidates = match set.direction {
            Direction::Up => UP,
            Direction::Down => DOWN,
        };
        Self {
            law: Box::new(ServiceCurve::new(settings_of(&set, DEFAULT))),
            set,
            line: LineModel::default(),
            noted: 0,
            bytes: 0.0,
            present: DEFAULT,
            choice: None,
            found: vec![Outcome { carried: 0.0, excess: 0.0 }; candidates],
            searches: 0.0,
            measured: 0.0,
            tried: Vec::new(),
            next: 0,
        }
    }

    /// Takes in the points of the curve that are new.
    fn note(&mut self) {
        let (noticed, is_loaded) = (self.law.noticed(), self.law.is_loaded(LOADED));
        let noted = self.noted;
        for point in self.law.points().filter(|point| point.served > noted) {
            let bytes = point.bytes - self.bytes;
            self.line.note(point.served, bytes, point.wait, point.wait > noticed, is_loaded);
            (self.noted, self.bytes) = (point.served, point.bytes);
        }
        self.line.set_trip(self.law.trip());
    }

    /// Tries the next constants, or decides.
    fn search(&mut self, now: u64) {
        if now < self.next {
            return;
        }
        self.next = now + BETWEEN;
        if self.tried.is_empty() && self.line.seen() < LEAST_SEEN {
            return;
        }
        let mut law = ServiceCurve::new(settings_of(&self.set, self.tried.len()));
        self.tried.push(self.line.replay(&mut law, self.set.direction));
        if self.tried.len() == self.found.len() {
            self.remember();
            self.decide();
            self.next = now + REST;
        }
    }

    /// Takes in what the last minute has shown. Waits are means of logarithms.
    fn remember(&mut self) {
        let before = MEMORY * self.searches;
        self.searches = before + 1.0;
        let part = before / self.searches;
        let mean = |old: f64, new: f64| part * old + (1.0 - part) * new;
        for (found, new) in self.found.iter_mut().zip(self.tried.drain(..)) {
            found.carried = mean(found.carried, new.carried);
            found.excess = mean(found.excess, new.excess.max(LEAST).ln());
        }
        self.measured = mean(self.measured, self.line.waited().max(LEAST).ln());
    }

    fn decide(&mut self) {
        if self.searches < LEAST_SEARCHES {
            return;
        }
        let present = self.found[self.present];
        let factor = (self.measured - present.excess).clamp(-MOST_FACTOR, MOST_FACTOR);
        let bound = self.set.excess.0.ln() - factor;
        let most = self.found.iter().map(|it| it.carried).fold(0.0, f64::max);
        let is_cheap = |it: &Outcome| it.carried >= (1.0 - self.set.price / COST) * most;
        let cheap = || (0..self.found.len()).filter(|&at| is_cheap(&self.found[at]));
        let within = cheap()
            .filter(|&at| self.found[at].excess <= bound)
            .max_by(|&a, &b| self.found[a].carried.total_cmp(&self.found[b].carried));
        let shortest =
            cheap().min_by(|&a, &b| self.found[a].excess.total_cmp(&self.found[b].excess));
        let Some(at) = within.or(shortest) else { return };
        let best = self.found[at];
        let is_more = best.carried > (1.0 + GAINED_GOODPUT / COST) * present.carried;
        let gained = if within.is_some() { GAINED } else { GAINED_IN_VAIN };
        let is_shorter = best.excess < present.excess - gained;
        let is_enough = within.is_some() && present.excess <= bound && is_cheap(&present);
        if is_more || is_shorter && !is_enough {
            let set = settings_of(&self.set, at);
            self.choice = Some(Choice {
                target: set.excess.0,
                share: set.share,
                gain: set.gain,
                excess_before: (present.excess + factor).exp(),
                excess: (best.excess + factor).exp(),
                goodput: (best.carried / present.carried).powf(COST),
            });
            self.law.set(set);
            self.present = at;
        }
    }
}

/// Settings with the constants of a number.
fn settings_of(set: &TunedServiceCurveSettings, number: usize) -> ServiceCurveSettings {
    let (rest, gain) = (number / GAINS.len(), GAINS[number % GAINS.len()]);
    let (target, share) = (TARGETS[rest / SHARES.len()], SHARES[rest % SHARES.len()]);
    ServiceCurveSettings {
        direction: set.direction,
        excess: Seconds((set.excess.0 * target).max(LEAST)),
        share,
        gain,
        minimum: set.minimum,
        maximum: set.maximum,
        start: set.start,
    }
}

impl RateLaw for TunedServiceCurve {
    fn probe_sent(&mut self, sent: u64, bytes: u64) {
        self.law.probe_sent(sent, bytes);
    }

    fn answered(&mut self, answer: Answer) {
        self.law.answered(answer);
    }

    fn lost(&mut self, sent: u64) {
        self.law.lost(sent);
    }

    fn rate(&mut self, now: u64, bytes: u64) -> f64 {
        let rate = self.law.rate(now, bytes);
        self.note();
        self.search(now);
        rate
    }

    fn state(&self) -> State {
        State { choice: self.choice, ..self.law.state() }
    }
}
