//! Decisions about one shaper's rate: when to follow a law, and when not.
//!
//! The law knows the line. The keeper knows the operator: it proposes or acts, leaves a shaper alone that somebody else
//! sets, goes back to a safe rate when probes see nothing, and tells an outage from that. Times are nanoseconds.

use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter};

use vermilion_parameters::choices;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Changes that are worth it, as parts of the rate.
const STEP_UP: f64 = 0.02;
const STEP_DOWN: f64 = 0.01;
/// Part by which kernels round rates at most.
const ROUNDING: f64 = 2e-3;
/// Time without an answer after which probes see nothing; and for which the line has to bring packets all the same, since
/// at the end of an outage these come before the answers.
const BLIND: u64 = 3 * SECOND;
const CARRIES: u64 = 2 * SECOND;
const FEWEST_ANSWERS: u64 = 20;
const LOOKS_FOR: u64 = SECOND;
const DRAIN_PART: f64 = 0.25;
const DRAIN_LEAST: u64 = 400 * MS;
const DRAIN_STILL: u64 = 300 * MS;
const DRAIN_MOST: u64 = 6 * SECOND;
/// Seconds of which the safe rate is taken.
const SAFE_SPAN: usize = 300;
const SAFE_FEWEST: usize = 30;
/// Rates are told that differ by so much from the one told last, and not more often than this.
const TOLD_FACTOR: f64 = 1.5;
const TOLD_AGAIN: u64 = 10 * SECOND;

choices! {
    /// Freedom of a keeper.
    pub Mode {
        /// Nothing is changed.
        Observe = "observe",
        /// A person is asked first.
        Propose = "propose",
        /// The rate follows the line.
        Control = "control",
    }
}

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

/// Something to be told; in words by [`Display`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A person may let a rate be kept, beginning with this one.
    Proposed(f64),
    /// The line is being emptied, to see its delay without a queue.
    HeldBack,
    /// No probe is answered: the line is down, or it brings packets all the same.
    Blind(bool),
    /// Probes are answered again, after so long.
    Sighted(u64),
    /// Probes see nothing, and the rate is the last safe one.
    FellBack(f64),
    /// A rate that was set differs by far from those before; and the line's capacity.
    Applied(f64, Option<f64>),
    /// Somebody else has set a rate.
    HandsOff(f64),
}

impl Event {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Proposed(_) => "proposed",
            Self::HeldBack => "held-back",
            Self::Blind(_) => "blind",
            Self::Sighted(_) => "sighted",
            Self::FellBack(_) => "fell-back",
            Self::Applied(..) => "applied",
            Self::HandsOff(_) => "hands-off",
        }
    }

    /// The rate that it is about.
    #[must_use]
    pub fn rate(self) -> Option<f64> {
        match self {
            Self::Proposed(rate)
            | Self::FellBack(rate)
            | Self::Applied(rate, _)
            | Self::HandsOff(rate) => Some(rate),
            Self::HeldBack | Self::Blind(_) | Self::Sighted(_) => None,
        }
    }
}

impl Display for Event {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Proposed(rate) => {
                write!(out, "keep the rate from now on, beginning with {}", shown(rate))
            }
            Self::HeldBack => {
                out.write_str("little is let out for a moment, to see the line empty")
            }
            Self::Blind(true) => {
                out.write_str("no probe is answered and nothing arrives: the line is down")
            }
            Self::Blind(false) => {
                out.write_str("no probe is answered, although the line brings packets")
            }
            Self::Sighted(after) => {
                write!(out, "probes are answered again, after {:.0} s", after as f64 / 1e9)
            }
            Self::FellBack(rate) => {
                write!(out, "probes see nothing, so the rate is the last safe one: {}", shown(rate))
            }
            Self::Applied(rate, None) => out.write_str(&shown(rate)),
            Self::Applied(rate, Some(capacity)) => {
                write!(out, "{}; the line carries about {}", shown(rate), shown(capacity))
            }
            Self::HandsOff(rate) => {
                write!(out, "somebody else has set {}, so nothing is changed any more", shown(rate))
            }
        }
    }
}

/// A rate in bit/s as people read it.
#[must_use]
pub fn shown(bit_per_s: f64) -> String {
    let (unit, factor) = match bit_per_s {
        ..1e6 => ("kbit/s", 1e3),
        ..1e9 => ("Mbit/s", 1e6),
        _ => ("Gbit/s", 1e9),
    };
    let value = bit_per_s / factor;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// True where one rate is the other, as kernels round them.
#[must_use]
pub fn is_same(read: f64, set: f64) -> bool {
    (read - set).abs() <= ROUNDING * set
}

/// Keeper of one shaper's rate.
#[derive(Clone, Debug)]
pub struct Keeper {
    /// Rate before the first change.
    pub found: f64,
    /// Rate in force.
    pub in_force: f64,
    mode: Mode,
    least: f64,
    began: Option<u64>,
    /// True once a person has agreed, or where nobody is asked.
    may_act: bool,
    is_asked: bool,
    is_paused: bool,
    hands_off: bool,
    blind_since: Option<u64>,
    /// Since when the line has brought packets of others without a pause.
    carries_since: Option<u64>,
    fell_back: bool,
    /// Since when, at which rate, and until when at least the line is emptied.
    drain: Option<(u64, f64, u64)>,
    has_drained: bool,
    carried: VecDeque<f64>,
    /// Sum and number of the rates wanted in this second: single ones dip while probes are lost.
    wanted: (f64, u32),
    /// As of the last step.
    sight: Sight,
    /// Rate that was told last, and when.
    told: Option<(f64, u64)>,
}

impl Keeper {
    /// The keeper of a shaper that was found at a rate; it never wants less than the least while it empties the line.
    #[must_use]
    pub fn new(found: f64, mode: Mode, least: f64) -> Self {
        Self {
            found,
            in_force: found,
            mode,
            least,
            began: None,
            may_act: mode == Mode::Control,
            is_asked: false,
            is_paused: false,
            hands_off: false,
            blind_since: None,
            carries_since: None,
            fell_back: false,
            drain: None,
            has_drained: false,
            carried: VecDeque::new(),
            wanted: (0.0, 0),
            sight: Sight::default(),
            told: None,
        }
    }

    /// Its freedom.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// True while the rate is kept.
    #[must_use]
    pub fn acts(&self) -> bool {
        self.may_act && !self.is_paused && !self.hands_off
    }

    /// True once the line has been emptied.
    #[must_use]
    pub fn has_drained(&self) -> bool {
        self.has_drained
    }

    /// Rate that the line has carried nine tenths of the time; half of it, where that was short, since the first
    /// seconds look for the rate. The one found before anything is known.
    #[must_use]
    pub fn safe(&self) -> f64 {
        let mut ranked: Vec<f64> = self.carried.iter().copied().collect();
        ranked.sort_by(f64::total_cmp);
        let part = if ranked.len() < SAFE_FEWEST { 2 } else { 10 };
        ranked.get(ranked.len() / part).copied().unwrap_or(self.found)
    }

    /// A person agrees to what was proposed.
    pub fn accept(&mut self) {
        self.may_act = self.mode != Mode::Observe;
    }

    /// A person wants no changes: true if that is new.
    pub fn pause(&mut self) -> bool {
        !std::mem::replace(&mut self.is_paused, true)
    }

    /// A person lets it go on: true if that is new.
    pub fn resume(&mut self) -> bool {
        std::mem::take(&mut self.is_paused) | std::mem::take(&mut self.hands_off)
    }

    /// Decides what to do now, every 20 to 50 ms: the rate to be set, if it is another.
    pub fn step(&mut self, now: u64, sight: Sight, say: &mut impl FnMut(Event)) -> Option<f64> {
        self.sight = sight;
        self.wanted = (self.wanted.0 + sight.wanted, self.wanted.1 + 1);
        let carries_since = sight.carries.then(|| self.carries_since.unwrap_or(now));
        self.carries_since = carries_since;
        let began = *self.began.get_or_insert(now);
        if sight.unanswered > BLIND {
            if self.blind_since.is_none() {
                self.blind_since = Some(now);
                say(Event::Blind(!sight.carries));
            }
            let carries = carries_since.is_some_and(|since| now.saturating_sub(since) >= CARRIES);
            if carries && !self.fell_back && sight.answers > 0 {
                self.fell_back = true;
                if self.acts() {
                    say(Event::FellBack(self.safe()));
                    return Some(self.safe());
                }
            }
        } else if let Some(since) = self.blind_since.take() {
            self.fell_back = false;
            say(Event::Sighted(now.saturating_sub(since)));
        }
        let is_ready = sight.answers >= FEWEST_ANSWERS && now.saturating_sub(began) >= LOOKS_FOR;
        if self.fell_back || !is_ready {
            return None;
        }
        if self.mode == Mode::Propose && !self.may_act && !self.is_asked {
            self.is_asked = true;
            say(Event::Proposed(sight.wanted));
        }
        if !self.acts() {
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
        if rate == 0.0 || is_empty || now.saturating_sub(since) > DRAIN_MOST {
            self.has_drained = true;
            return sight.wanted;
        }
        rate.min(sight.wanted)
    }

    /// Takes in that a rate was set.
    pub fn was_set(&mut self, now: u64, rate: f64, say: &mut impl FnMut(Event)) {
        self.in_force = rate;
        let is_news = self.told.is_none_or(|(told, at)| {
            let near = told / TOLD_FACTOR..=told * TOLD_FACTOR;
            !near.contains(&rate) && now.saturating_sub(at) >= TOLD_AGAIN
        });
        if is_news {
            self.told = Some((rate, now));
            say(Event::Applied(rate, self.sight.capacity));
        }
    }

    /// Takes in the rate that was read back, before each change and once a second: whether it may be set.
    pub fn was_read(&mut self, read: f64, say: &mut impl FnMut(Event)) -> bool {
        if !is_same(read, self.in_force) {
            if self.acts() {
                self.hands_off = true;
                say(Event::HandsOff(read));
            }
            self.in_force = read;
        }
        self.acts()
    }

    /// Takes in what the line carries, once a second.
    pub fn each_second(&mut self) {
        let Sight { capacity, unanswered, .. } = self.sight;
        let (sum, count) = std::mem::take(&mut self.wanted);
        let wanted = sum / f64::from(count.max(1));
        if let Some(capacity) = capacity.filter(|_| unanswered < SECOND) {
            if self.carried.len() == SAFE_SPAN {
                self.carried.pop_front();
            }
            self.carried.push_back(capacity.min(wanted));
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

    /// A step, and what it says.
    fn step(keeper: &mut Keeper, seconds: u64, sight: Sight) -> (Option<f64>, Vec<Event>) {
        let mut said = Vec::new();
        let rate = keeper.step(seconds * SECOND, sight, &mut |it| said.push(it));
        (rate, said)
    }

    fn kept() -> Keeper {
        let mut keeper = Keeper::new(5e6, Mode::Control, 3e5);
        assert_eq!(step(&mut keeper, 0, sight()), (None, vec![]));
        assert_eq!(step(&mut keeper, 1, Sight { answers: 3, ..sight() }), (None, vec![]));
        assert_eq!(step(&mut keeper, 1, sight()), (Some(10e6), vec![]));
        let mut said = Vec::new();
        keeper.was_set(SECOND, 10e6, &mut |it| said.push(it));
        assert_eq!(said, [Event::Applied(10e6, Some(10e6))]);
        for second in 2..22 {
            assert!(keeper.was_read(10e6, &mut |it| panic!("{it:?}")));
            step(&mut keeper, second, sight());
            keeper.each_second();
        }
        keeper
    }

    #[test]
    fn small_changes_are_not_worth_it_and_observing_changes_nothing() {
        let mut keeper = kept();
        for (wanted, set) in [(10.1e6, None), (9.95e6, None), (9.8e6, Some(9.8e6))] {
            assert_eq!(step(&mut keeper, 2, Sight { wanted, ..sight() }).0, set);
        }
        let mut observer = Keeper::new(5e6, Mode::Observe, 3e5);
        observer.accept();
        for seconds in 0..20 {
            assert_eq!(step(&mut observer, seconds, sight()), (None, vec![]));
        }
    }

    #[test]
    fn a_person_is_asked_once_and_may_pause() {
        let mut keeper = Keeper::new(5e6, Mode::Propose, 3e5);
        let said: Vec<_> = (0..20).flat_map(|at| step(&mut keeper, at, sight()).1).collect();
        assert_eq!(said, [Event::Proposed(10e6)]);
        keeper.accept();
        assert_eq!(step(&mut keeper, 20, sight()).0, Some(10e6));
        assert!(keeper.pause() && !keeper.pause());
        assert_eq!(step(&mut keeper, 21, sight()).0, None);
        assert!(keeper.resume() && !keeper.resume());
        assert_eq!(step(&mut keeper, 22, sight()).0, Some(10e6));
    }

    #[test]
    fn rates_are_told_that_differ_by_far_and_not_too_often() {
        let mut keeper = kept();
        let mut said = Vec::new();
        for (seconds, rate) in [(2, 5e6), (11, 7e6), (12, 5e6), (13, 2e6)] {
            keeper.was_set(seconds * SECOND, rate, &mut |it| said.push(it));
        }
        assert_eq!(said, [Event::Applied(5e6, Some(10e6))]);
        assert_eq!(said[0].to_string(), "5.00 Mbit/s; the line carries about 10.0 Mbit/s");
    }

    #[test]
    fn a_full_modem_is_emptied_before_the_law_is_followed() {
        let mut keeper = Keeper::new(20e6, Mode::Control, 3e5);
        step(&mut keeper, 0, sight());
        let full = Sight { passed: 8e6, still: 0, ..sight() };
        assert_eq!(step(&mut keeper, 1, full), (Some(2e6), vec![Event::HeldBack]));
        keeper.in_force = 2e6;
        let falls = Sight { passed: 2e6, still: 100 * MS, ..full };
        assert_eq!(step(&mut keeper, 2, falls).0, None);
        assert_eq!(step(&mut keeper, 3, Sight { still: SECOND, ..falls }).0, Some(10e6));
        assert!(keeper.has_drained());
    }

    #[test]
    fn blind_probes_lead_to_a_safe_rate_and_an_outage_does_not() {
        for (carries, rate) in [(true, Some(9e6)), (false, None)] {
            let mut keeper = kept();
            step(&mut keeper, 28, Sight { carries, ..sight() });
            keeper.carried = (1..=50).map(|n| if n <= 10 { 9e6 } else { 11e6 }).collect();
            let blind = Sight { unanswered: 4 * SECOND, carries, wanted: 9.95e6, ..sight() };
            let (set, said) = step(&mut keeper, 30, blind);
            assert_eq!((set, said[0]), (rate, Event::Blind(!carries)));
            let fell: Vec<_> = rate.map(Event::FellBack).into_iter().collect();
            assert_eq!(said[1..], fell);
            assert_eq!(step(&mut keeper, 32, sight()).1, [Event::Sighted(2 * SECOND)]);
        }
    }

    #[test]
    fn packets_that_come_before_answers_at_the_end_of_an_outage_are_no_reason_to_fall_back() {
        let mut keeper = kept();
        let down = Sight { unanswered: 9 * SECOND, carries: false, wanted: 3e5, ..sight() };
        assert_eq!(step(&mut keeper, 30, down), (Some(3e5), vec![Event::Blind(true)]));
        assert_eq!(step(&mut keeper, 31, Sight { carries: true, ..down }), (Some(3e5), vec![]));
        let (set, said) = step(&mut keeper, 33, Sight { carries: true, ..down });
        assert_eq!((set, said), (Some(10e6), vec![Event::FellBack(10e6)]));
    }

    #[test]
    fn a_safe_rate_is_of_whole_seconds() {
        let mut keeper = kept();
        for second in 30..70 {
            for wanted in [300e3, 10e6, 10e6, 10e6, 300e3] {
                step(&mut keeper, second, Sight { wanted, ..sight() });
            }
            keeper.each_second();
        }
        assert_eq!(keeper.safe(), 6.12e6);
    }

    #[test]
    fn a_rate_that_somebody_else_has_set_is_left_alone_until_resume() {
        let mut keeper = kept();
        let mut said = Vec::new();
        assert!(!keeper.was_read(7e6, &mut |it| said.push(it)));
        assert!(!keeper.was_read(7e6, &mut |it| said.push(it)));
        assert_eq!((said, keeper.in_force), (vec![Event::HandsOff(7e6)], 7e6));
        assert_eq!(step(&mut keeper, 60, sight()), (None, vec![]));
        assert!(keeper.resume());
        assert_eq!(step(&mut keeper, 61, sight()).0, Some(10e6));
    }

    #[test]
    fn rates_are_shown_with_three_digits() {
        assert_eq!(
            [999.0, 9.9e6, 12.34e6, 123.4e6, 2e9].map(shown).join(", "),
            "1.00 kbit/s, 9.90 Mbit/s, 12.3 Mbit/s, 123 Mbit/s, 2.00 Gbit/s"
        );
    }
}
