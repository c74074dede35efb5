//! Decisions about one shaper's rate: when to follow the law, and when not. Pure.

use std::collections::VecDeque;

use crate::clock::{MS, SECOND};

const STEP_UP: f64 = 0.02;
const STEP_DOWN: f64 = 0.01;
const BLIND: u64 = 3 * SECOND;
const FEWEST_ANSWERS: u64 = 20;
const DRAIN_PART: f64 = 0.25;
const DRAIN_LEAST: u64 = 400 * MS;
const DRAIN_STILL: u64 = 300 * MS;
const DRAIN_MOST: u64 = 6 * SECOND;
/// Seconds of which the safe rate is taken.
const SAFE_SPAN: usize = 300;
const SAFE_FEWEST: usize = 30;

/// Facts of one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sight {
    /// Rate that the law wants.
    pub wanted: f64,
    /// Capacity of the line, as far as the law knows it.
    pub capacity: Option<f64>,
    /// Probes answered so far.
    pub answers: u64,
    /// Since the last answer.
    pub unanswered: u64,
    /// True if the line brings packets of others, so that it is not down.
    pub carries: bool,
    /// Bits that have passed in the last second.
    pub passed: f64,
    /// Since a round trip was the shortest so far by far.
    pub still: u64,
    /// The last round trip.
    pub trip: u64,
}

/// Something to be said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The line is being emptied, to see its delay without a queue.
    HeldBack,
    /// No probe is answered: the line is down, or it brings packets all the same.
    Blind(bool),
    /// Probes are answered again.
    Sighted,
    /// Probes see nothing, and the rate is the last safe one.
    FellBack(f64),
    /// Somebody else has set a rate.
    HandsOff(f64),
}

/// Keeper of one shaper's rate.
#[derive(Clone, Debug)]
pub struct Keeper {
    /// Rate before the first change.
    pub found: f64,
    /// Rate in force.
    pub in_force: f64,
    controls: bool,
    least: f64,
    hands_off: bool,
    is_blind: bool,
    fell_back: bool,
    /// Since when, at which rate, and until when at least the line is emptied.
    drain: Option<(u64, f64, u64)>,
    /// True once it has been.
    pub has_drained: bool,
    carried: VecDeque<f64>,
}

impl Keeper {
    /// The keeper of a shaper that was found at a rate.
    pub fn new(found: f64, controls: bool, least: f64) -> Self {
        Self {
            found,
            in_force: found,
            controls,
            least,
            hands_off: false,
            is_blind: false,
            fell_back: false,
            drain: None,
            has_drained: false,
            carried: VecDeque::new(),
        }
    }

    /// True while the rate is kept.
    pub fn acts(&self) -> bool {
        self.controls && !self.hands_off
    }

    /// Rate that the line has carried nine tenths of the time; half of it, where that was short, since the first
    /// seconds look for the rate. The one found before anything is known.
    pub fn safe(&self) -> f64 {
        let mut ranked: Vec<f64> = self.carried.iter().copied().collect();
        ranked.sort_by(f64::total_cmp);
        let part = if ranked.len() < SAFE_FEWEST { 2 } else { 10 };
        ranked.get(ranked.len() / part).copied().unwrap_or(self.found)
    }

    /// Decides what to do now: the rate to be set, if it is another.
    pub fn step(&mut self, now: u64, sight: Sight, say: &mut impl FnMut(Event)) -> Option<f64> {
        if sight.unanswered > BLIND {
            if !self.is_blind {
                self.is_blind = true;
                say(Event::Blind(!sight.carries));
            }
            if sight.carries && !self.fell_back && sight.answers > 0 {
                self.fell_back = true;
                say(Event::FellBack(self.safe()));
                return self.acts().then(|| self.safe());
            }
        } else if self.is_blind {
            (self.is_blind, self.fell_back) = (false, false);
            say(Event::Sighted);
        }
        if self.fell_back || sight.answers < FEWEST_ANSWERS || !self.acts() {
            return None;
        }
        let wanted = self.drained(now, sight, say);
        let change = if self.in_force > 0.0 { wanted / self.in_force - 1.0 } else { 1.0 };
        (!(-STEP_DOWN..=STEP_UP).contains(&change)).then_some(wanted)
    }

    /// The rate wanted, which is little at the very beginning: the modem may be full by then, and what is taken for the
    /// way itself would be its queue.
    fn drained(&mut self, now: u64, sight: Sight, say: &mut impl FnMut(Event)) -> f64 {
        if self.has_drained {
            return sight.wanted;
        }
        let (since, rate, until) = *self.drain.get_or_insert_with(|| {
            let is_busy = sight.passed > self.least;
            if is_busy {
                say(Event::HeldBack);
            }
            let rate = if is_busy { self.least.max(DRAIN_PART * sight.passed) } else { 0.0 };
            (now, rate, now + sight.trip + DRAIN_LEAST)
        });
        let is_empty = now > until && sight.still > DRAIN_STILL;
        if rate == 0.0 || is_empty || now - since > DRAIN_MOST {
            self.has_drained = true;
            return sight.wanted;
        }
        rate.min(sight.wanted)
    }

    /// Takes in the rate that was read back, once a second.
    pub fn each_second(&mut self, sight: Sight, read: f64, say: &mut impl FnMut(Event)) {
        if let Some(capacity) = sight.capacity.filter(|_| sight.unanswered < SECOND) {
            if self.carried.len() == SAFE_SPAN {
                self.carried.pop_front();
            }
            self.carried.push_back(capacity.min(sight.wanted));
        }
        // Kernels round rates.
        if (read - self.in_force).abs() > 2e-3 * self.in_force {
            if self.acts() {
                self.hands_off = true;
                say(Event::HandsOff(read));
            }
            self.in_force = read;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight() -> Sight {
        let (wanted, trip, still) = (10e6, 20 * MS, SECOND);
        let capacity = Some(10e6);
        Sight { wanted, capacity, answers: 100, carries: true, trip, still, ..Sight::default() }
    }

    fn kept() -> Keeper {
        let mut keeper = Keeper::new(5e6, true, 3e5);
        assert_eq!(keeper.step(SECOND, Sight { answers: 3, ..sight() }, &mut |_| {}), None);
        assert_eq!(keeper.step(SECOND, sight(), &mut |_| {}), Some(10e6));
        keeper.in_force = 10e6;
        for _ in 0..20 {
            keeper.each_second(sight(), 10e6, &mut |it| panic!("{it:?}"));
        }
        keeper
    }

    #[test]
    fn small_changes_are_not_worth_it_and_observing_changes_nothing() {
        let mut keeper = kept();
        for (wanted, set) in [(10.1e6, None), (9.95e6, None), (9.8e6, Some(9.8e6))] {
            let sight = Sight { wanted, ..sight() };
            assert_eq!(keeper.step(2 * SECOND, sight, &mut |_| {}), set);
        }
        let mut observer = Keeper::new(5e6, false, 3e5);
        assert_eq!(observer.step(SECOND, sight(), &mut |_| {}), None);
    }

    #[test]
    fn a_full_modem_is_emptied_before_the_law_is_followed() {
        let mut keeper = Keeper::new(20e6, true, 3e5);
        let full = Sight { passed: 8e6, still: 0, ..sight() };
        let mut said = Vec::new();
        assert_eq!(keeper.step(SECOND, full, &mut |it| said.push(it)), Some(2e6));
        assert_eq!(said, [Event::HeldBack]);
        keeper.in_force = 2e6;
        let falls = Sight { passed: 2e6, still: 100 * MS, ..full };
        assert_eq!(keeper.step(2 * SECOND, falls, &mut |_| {}), None);
        let empty = Sight { still: SECOND, ..falls };
        assert_eq!(keeper.step(3 * SECOND, empty, &mut |_| {}), Some(10e6));
        assert!(keeper.has_drained);
    }

    #[test]
    fn blind_probes_lead_to_a_safe_rate_and_an_outage_does_not() {
        for (carries, rate) in [(true, Some(9e6)), (false, None)] {
            let mut keeper = kept();
            keeper.carried = (1..=50).map(|n| if n <= 10 { 9e6 } else { 11e6 }).collect();
            let blind = Sight { unanswered: 4 * SECOND, carries, wanted: 9.95e6, ..sight() };
            let mut said = Vec::new();
            assert_eq!(keeper.step(30 * SECOND, blind, &mut |it| said.push(it)), rate);
            assert_eq!(said[0], Event::Blind(!carries));
            keeper.step(31 * SECOND, sight(), &mut |it| said.push(it));
            assert_eq!(said.last(), Some(&Event::Sighted));
        }
    }

    #[test]
    fn a_rate_that_somebody_else_has_set_is_left_alone() {
        let mut keeper = kept();
        let mut said = Vec::new();
        keeper.each_second(sight(), 7e6, &mut |it| said.push(it));
        assert_eq!(said, [Event::HandsOff(7e6)]);
        assert_eq!(keeper.step(60 * SECOND, sight(), &mut |_| {}), None);
    }
}
