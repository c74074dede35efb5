//! A shaper whose rate a law sets while the network runs.

use std::collections::VecDeque;
use std::ops::Range;

use vermilion_parameters::{ParameterError, Value, Values};
use vermilion_shaping::registry::ALGORITHMS;
use vermilion_shaping::{Answer, AnyLaw, Direction, RateLaw};

use crate::limits::{LONGEST_DURATION, within};
use crate::scenario::{RateControl, Scenario};

/// Law that knows the line beforehand.
const ORACLE: &str = "oracle";
/// How far it sees, in nanoseconds, and which part of the capacity it takes.
const HORIZON: u64 = 100_000_000;
const PART: f64 = 0.95;
/// Least rate of a shaper in bit/s.
const LEAST: f64 = 10_000.0;
/// Time after which a probe is given up, in nanoseconds.
const GIVEN_UP: u64 = 10_000_000_000;

/// A probe that has not come back.
#[derive(Clone, Copy, Debug)]
struct Probe {
    flow: u32,
    sent: u64,
    /// When it came to the second of its links.
    passed: Option<u64>,
}

/// A rate of the future, or a law.
#[derive(Clone, Debug)]
enum Law {
    Oracle,
    Known(Box<AnyLaw>),
}

/// A shaper whose rate a law sets, and its probes.
#[derive(Clone, Debug)]
pub struct Shaper {
    /// Number of its link.
    pub link: usize,
    /// Number of the link whose capacity nobody knows.
    pub line: usize,
    /// True if the line is behind the shaper.
    is_up: bool,
    flows: Range<u32>,
    one_way: bool,
    law: Law,
    interval: u64,
    /// When the law is asked next.
    pub next: u64,
    probes: VecDeque<Probe>,
    answers: Vec<Answer>,
    /// Rate that has been set, in bit/s.
    pub rate: f64,
}

impl Shaper {
    /// The shapers of a scenario that has been checked otherwise.
    ///
    /// # Errors
    /// The first field of a rate control that cannot be used.
    pub fn all(scenario: &Scenario) -> Result<Vec<Self>, ParameterError> {
        let links = scenario.links.iter().enumerate();
        let controlled =
            links.filter_map(|(index, link)| Some((index, link, link.rate_control.as_ref()?)));
        controlled
            .map(|(index, link, control)| {
                let refused = |error: ParameterError| {
                    error.under(&format!("links.{}.rate_control", link.name))
                };
                if link.varies() {
                    let accepted = "a link whose rate does not vary by itself";
                    let field = format!("links.{}.rate_control", link.name);
                    return Err(ParameterError::new(&field, "a rate that varies", accepted));
                }
                Self::of(scenario, index, control).map_err(refused)
            })
            .collect()
    }

    fn of(scenario: &Scenario, link: usize, control: &RateControl) -> Result<Self, ParameterError> {
        within("interval", control.interval_ns, 1_000_000, LONGEST_DURATION, "ns")?;
        let place = scenario.flows.iter().position(|group| group.name == control.probes);
        let group = place.map(|place| &scenario.flows[place]);
        let name = &scenario.links[link].name;
        let other = group.filter(|group| {
            let is_plain = group.sender.is_none() && group.access_rate_bit_per_s.is_none();
            is_plain && !group.traffic.is_dynamic() && group.path.len() == 2
        });
        let other = other.and_then(|group| {
            let up = (group.path[0] == *name).then(|| (true, &group.path[1]));
            up.or_else(|| (group.path[1] == *name).then(|| (false, &group.path[0])))
        });
        let (Some(place), Some((is_up, line))) = (place, other) else {
            let accepted = format!(
                "the name of open-loop flows over two links, of which {name} is one and the line the other"
            );
            return Err(ParameterError::new("probes", &control.probes, accepted));
        };
        let first = scenario.flows[..place].iter().map(|group| group.count).sum();
        Ok(Self {
            link,
            line: scenario.link_named("probes", line)?,
            is_up,
            flows: first..first + scenario.flows[place].count,
            one_way: control.one_way,
            law: Law::of(control, is_up)?,
            interval: control.interval_ns,
            next: 0,
            probes: VecDeque::new(),
            answers: Vec::new(),
            rate: f64::NAN,
        })
    }

    /// True if these flows are its probes.
    #[inline]
    pub fn has_probe(&self, flow: u32) -> bool {
        self.flows.contains(&flow)
    }

    /// The link that is next to the line on the shaper's side: its bytes are what the law is told.
    pub fn counted(&self) -> usize {
        if self.is_up { self.link } else { self.line }
    }

    /// A probe is sent, after `bytes`; `back`: how long its way back is, in nanoseconds.
    pub fn on_probe(&mut self, now: u64, flow: u32, back: u64, bytes: u64) {
        self.probes.push_back(Probe { flow, sent: now, passed: None });
        let sent = self.sent(now, back);
        if let Law::Known(law) = &mut self.law {
            law.probe_sent(sent, bytes);
        }
    }

    /// A probe comes to the second of its links.
    pub fn on_passage(&mut self, now: u64, flow: u32, sent: u64) {
        let same = |probe: &&mut Probe| probe.flow == flow && probe.sent == sent;
        if let Some(probe) = self.probes.iter_mut().find(same) {
            probe.passed = Some(now);
        }
    }

    /// A probe comes to its end; `delay`: of the shaper's link.
    pub fn on_end(&mut self, now: u64, flow: u32, sent: u64, back: u64, delay: u64) {
        let same = |probe: &Probe| probe.flow == flow && probe.sent == sent;
        let Some(place) = self.probes.iter().position(same) else { return };
        let passed = self.probes.remove(place).and_then(|probe| probe.passed).unwrap_or(now);
        let here = if self.is_up { passed - sent } else { now - passed };
        self.answers.push(Answer {
            reflector: flow - self.flows.start,
            sent: self.sent(sent, back),
            received: if self.is_up { now + back } else { now },
            one_way: self.one_way.then_some((now - sent) as i64),
            own_wait: here.saturating_sub(delay),
        });
    }

    /// Instant at which the prober sends what comes to the first link then: before the way there, if that is the far end.
    fn sent(&self, time: u64, back: u64) -> u64 {
        if self.is_up { time } else { time.saturating_sub(back) }
    }

    /// Asks the law at `now`, when `bytes` have passed and the line can send `ahead` bits in the time that an oracle
    /// sees: the rate, if it is another than that in force.
    pub fn ask(&mut self, now: u64, bytes: u64, ahead: impl FnOnce(u64) -> f64) -> Option<f64> {
        self.next = now + self.interval;
        let rate = match &mut self.law {
            Law::Oracle => PART * ahead(HORIZON) * 1e9 / HORIZON as f64,
            Law::Known(law) => {
                while let Some(&Probe { sent, .. }) = self.probes.front()
                    && now.saturating_sub(sent) > GIVEN_UP
                {
                    self.probes.pop_front();
                    law.lost(sent);
                }
                self.answers.sort_by_key(|answer| answer.received);
                let come = self.answers.partition_point(|answer| answer.received <= now);
                self.answers.drain(..come).for_each(|answer| law.answered(answer));
                law.rate(now, bytes)
            }
        };
        let rate = rate.max(LEAST);
        let is_same = (rate / self.rate - 1.0).abs() < 1e-3;
        (!is_same).then(|| {
            self.rate = rate;
            rate
        })
    }
}

impl Law {
    fn of(control: &RateControl, is_up: bool) -> Result<Self, ParameterError> {
        if control.law == ORACLE {
            return match control.parameters.iter().next() {
                None => Ok(Self::Oracle),
                Some((name, value)) => {
                    Err(ParameterError::new(name, value, "no parameters of an oracle"))
                }
            };
        }
        let mut values: Values = control.parameters.clone();
        let table = ALGORITHMS.iter().find(|algorithm| algorithm.name == control.law);
        let has_direction =
            table.is_some_and(|it| it.parameters.iter().any(|row| row.name == "direction"));
        if has_direction {
            // The path of the probes says it.
            let direction = if is_up { Direction::Up } else { Direction::Down };
            values.insert("direction".to_owned(), Value::Choice(direction.name().to_owned()));
        }
        Ok(Self::Known(Box::new(AnyLaw::from_values(&control.law, &values)?)))
    }
}
