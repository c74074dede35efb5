//! Lines whose rate varies as that of a kind of access does, drawn from the seed.
//!
//! `lte` is fitted to statistics of published recordings; the ranges of the others are ours. The mean is exact over the
//! schedule, which repeats after 20 minutes.
//!
//! - `lte`: a logarithm that wanders over seconds (of the cell) and tenths of seconds (of fading), fades to about a
//!   fifth for two seconds, outages of some 0.4 s. Over windows of a second it has, as parts of the mean, the percentiles
//!   that seven LTE traces of Mahimahi's have on average (Winstein et al., NSDI 2013): p5 0.18, p25 0.51, p50 0.87, p95 2.1.
//! - `starlink`: another path every 15 s, between half and one and a half of the mean, a silence of some 80 ms at each change,
//!   and a fifth more or less every 100 ms.
//! - `docsis`: nearly constant; neighbours take some of it for seconds to minutes.
//! - `wifi`: steps of the modulation (802.11n, one stream), and the airtime that zero to three others take, each for about a second.

use serde::Deserialize;
use vermilion_parameters::ParameterError;

use crate::limits::{HIGHEST_RATE, within};
use crate::random::Stream;
use crate::transmitter::RateSchedule;

/// A step of the schedule, in nanoseconds.
const STEP: u64 = 20_000_000;
/// Steps after which it repeats, at most.
const MOST_STEPS: u64 = 60_000;
const STEP_S: f64 = STEP as f64 / 1e9;

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// A cellular link.
    Lte,
    /// A satellite link with a new path every 15 s.
    Starlink,
    /// A cable.
    Docsis,
    /// A wireless network with others on it.
    Wifi,
}

/// A line whose rate is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratedLine {
    /// The kind of access.
    pub kind: LineKind,
    /// Mean rate in bits per second.
    pub mean_bit_per_s: u64,
}

impl GeneratedLine {
    /// Refuses what is no line.
    pub fn check(&self) -> Result<(), ParameterError> {
        within("line.mean", self.mean_bit_per_s, 1_000, HIGHEST_RATE / 100, "bit/s")
    }

    /// Its rates over `duration` nanoseconds.
    pub fn draw(&self, duration: u64, mut stream: Stream) -> RateSchedule {
        let count = duration.div_ceil(STEP).clamp(1, MOST_STEPS);
        let mut line = Line::new(self.kind, &mut stream);
        let parts: Vec<f64> = (0..count).map(|step| line.next(step, &mut stream)).collect();
        let mean = parts.iter().sum::<f64>() / count as f64;
        let scale = if mean > 0.0 { self.mean_bit_per_s as f64 / mean } else { 0.0 };
        let rates = parts.iter().map(|part| (part * scale).round().min(HIGHEST_RATE as f64) as u64);
        let steps = rates.enumerate().map(|(step, rate)| (step as u64 * STEP, rate)).collect();
        RateSchedule { steps, repeat_ns: Some(count * STEP) }
    }
}

/// A logarithm that wanders about 0.
#[derive(Clone, Copy, Debug)]
struct Wander {
    keeps: f64,
    spread: f64,
    value: f64,
}

impl Wander {
    fn new(spread: f64, seconds: f64, stream: &mut Stream) -> Self {
        Self { keeps: (-STEP_S / seconds).exp(), spread, value: spread * normal(stream) }
    }

    fn next(&mut self, stream: &mut Stream) -> f64 {
        let fresh = self.spread * (1.0 - self.keeps * self.keeps).sqrt();
        self.value = self.keeps * self.value + fresh * normal(stream);
        self.value
    }
}

/// Stretches of time that come at random.
#[derive(Clone, Copy, Debug)]
struct Spells {
    every: f64,
    lasting: f64,
    left: f64,
    until: f64,
}

impl Spells {
    fn new(every: f64, lasting: f64, stream: &mut Stream) -> Self {
        Self { every, lasting, left: 0.0, until: stream.exponential(every) }
    }

    /// Part of the next step that is one.
    fn next(&mut self, stream: &mut Stream) -> f64 {
        if self.left <= 0.0 {
            self.until -= STEP_S;
            if self.until <= 0.0 {
                self.left = stream.exponential(self.lasting);
                self.until = stream.exponential(self.every);
            }
        }
        let part = (self.left / STEP_S).clamp(0.0, 1.0);
        self.left -= STEP_S;
        part
    }
}

fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * (1.0 - stream.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * stream.uniform()).cos()
}

fn between(low: f64, high: f64, stream: &mut Stream) -> f64 {
    low + (high - low) * stream.uniform()
}

#[derive(Clone, Debug)]
enum Line {
    Lte { cell: Wander, fading: Wander, fade: Spells, outage: Spells },
    Starlink { phase: u64, level: f64, silence: u64, part: f64 },
    Docsis { wander: Wander, neighbours: Spells, taken: f64 },
    Wifi { modulation: usize, next: f64, others: [Spells; 3] },
}

/// Rates of 802.11n's eight modulations, as parts of the fastest.
const MODULATIONS: [f64; 8] = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9, 1.0];

impl Line {
    fn new(kind: LineKind, stream: &mut Stream) -> Self {
        match kind {
            LineKind::Lte => Self::Lte {
                cell: Wander::new(0.4, 8.0, stream),
                fading: Wander::new(0.4, 0.4, stream),
                fade: Spells::new(8.0, 2.0, stream),
                outage: Spells::new(25.0, 0.4, stream),
            },
            LineKind::Starlink => {
                let phase = (750.0 * stream.uniform()) as u64;
                Self::Starlink { phase, level: between(0.5, 1.5, stream), silence: 0, part: 1.0 }
            }
            LineKind::Docsis => Self::Docsis {
                wander: Wander::new(0.06, 20.0, stream),
                neighbours: Spells::new(30.0, 10.0, stream),
                taken: 0.0,
            },
            LineKind::Wifi => Self::Wifi {
                modulation: 5,
                next: 0.0,
                others: [0.0; 3].map(|_| Spells::new(4.0, 1.0, stream)),
            },
        }
    }

    /// Rate of a step, the mean being about 1.
    fn next(&mut self, step: u64, stream: &mut Stream) -> f64 {
        match self {
            Self::Lte { cell, fading, fade, outage } => {
                let log = cell.next(stream) + fading.next(stream) + 0.25 * normal(stream);
                let fade = 1.0 - 0.8 * fade.next(stream);
                log.exp() * fade * (1.0 - outage.next(stream))
            }
            Self::Starlink { phase, level, silence, part } => {
                if (step + *phase).is_multiple_of(750) {
                    *level = between(0.5, 1.5, stream);
                    *silence = between(2.0, 7.0, stream) as u64;
                }
                if step.is_multiple_of(5) {
                    *part = between(0.8, 1.2, stream);
                }
                if *silence > 0 {
                    *silence -= 1;
                    return 0.0;
                }
                *level * *part
            }
            Self::Docsis { wander, neighbours, taken } => {
                let busy = neighbours.next(stream);
                if busy == 0.0 {
                    *taken = between(0.1, 0.4, stream);
                }
                (wander.next(stream) + 0.03 * normal(stream)).exp() * (1.0 - *taken * busy)
            }
            Self::Wifi { modulation, next, others } => {
                *next -= STEP_S;
                if *next <= 0.0 {
                    let up = stream.uniform() < 0.55;
                    *modulation = if up { *modulation + 1 } else { modulation.saturating_sub(1) };
                    *modulation = (*modulation).clamp(1, MODULATIONS.len() - 1);
                    *next = stream.exponential(0.7);
                }
                let others: f64 = others.iter_mut().map(|other| other.next(stream)).sum();
                MODULATIONS[*modulation] / (1.0 + others) * (0.15 * normal(stream)).exp()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    /// Percentiles of the rate over windows of a second, as parts of the mean.
    fn percentiles(kind: LineKind) -> [f64; 4] {
        let line = GeneratedLine { kind, mean_bit_per_s: 10_000_000 };
        let mut seconds = Vec::new();
        for seed in 0..8 {
            let schedule = line.draw(1_200_000_000_000, Stream::new(seed, Purpose::LineRate, 0));
            schedule.check().unwrap();
            let of_second = |steps: &[(u64, u64)]| steps.iter().map(|step| step.1 as f64).sum();
            seconds
                .extend(schedule.steps.chunks_exact(50).map(of_second).map(|sum: f64| sum / 5e8));
        }
        seconds.sort_by(f64::total_cmp);
        [0.05, 0.25, 0.5, 0.95].map(|part| seconds[(part * seconds.len() as f64) as usize])
    }

    #[test]
    fn a_cellular_line_has_the_percentiles_of_recorded_ones() {
        let [p5, p25, p50, p95] = percentiles(LineKind::Lte);
        for (found, published) in [(p5, 0.18), (p25, 0.51), (p50, 0.87), (p95, 2.1)] {
            assert!((found / published - 1.0).abs() < 0.25, "{p5} {p25} {p50} {p95}");
        }
    }

    #[test]
    fn other_lines_have_their_ranges() {
        let [p5, .., p95] = percentiles(LineKind::Starlink);
        assert!((0.5..0.65).contains(&p5) && (1.35..1.5).contains(&p95), "{p5} {p95}");
        let [p5, .., p95] = percentiles(LineKind::Docsis);
        assert!((0.6..0.9).contains(&p5) && (1.0..1.25).contains(&p95), "{p5} {p95}");
        let [p5, .., p95] = percentiles(LineKind::Wifi);
        assert!((0.2..0.6).contains(&p5) && (1.3..2.2).contains(&p95), "{p5} {p95}");
    }

    #[test]
    fn a_satellite_line_is_silent_at_each_change() {
        let line = GeneratedLine { kind: LineKind::Starlink, mean_bit_per_s: 20_000_000 };
        let schedule = line.draw(150_000_000_000, Stream::new(3, Purpose::LineRate, 0));
        let silent: Vec<_> = schedule.steps.iter().filter(|step| step.1 == 0).collect();
        assert!((20..=60).contains(&silent.len()), "{}", silent.len());
        let phase = silent[0].0 % 15_000_000_000;
        assert!(silent.iter().all(|step| step.0 % 15_000_000_000 - phase < 140_000_000));
    }
}
