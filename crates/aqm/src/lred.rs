//! LRED, RED based on the loss ratio: the probability is the measured loss ratio, corrected by the
//! queue.
//!
//! Source: C. Wang, J. Liu, B. Li, K. Sohraby, Y. T. Hou, "LRED: A Robust and Responsive AQM Algorithm
//! Using Packet Loss Ratio Measurement", IEEE Transactions on Parallel and Distributed Systems 18(1),
//! 2007 (first: C. Wang, B. Li, Y. T. Hou, K. Sohraby, Y. Lin, INFOCOM 2004). Confirmed from the
//! abstracts: it measures the latest packet loss ratio and uses it beside the queue length to adapt
//! the probability. Not confirmed, and taken from accounts of the paper: the formulas and constants
//! below.
//!
//! State: the packets that arrived and were lost in each of the last `periods` periods, and the
//! estimated loss ratio l. Update, every `interval`: l <- memory x l + (1 - memory) x lost / arrived
//! over those periods. Control law, for a packet that meets q waiting packets:
//! p = l + gain x sqrt(l) x (q - target_queue), kept between 0 and 1. At rest the loss ratio is p and
//! so the queue is at its target; sqrt(l) makes the correction stronger where more flows lose more.
//!
//! Departures from the source:
//! 1. The paper's target is not confirmed; the automatic one is half of the limit. It is also what
//!    brings l down again: an empty queue lowers p by gain x sqrt(l) x target, so that a small target
//!    leaves a high loss ratio in force for long after the queue has emptied.
//! 2. Losses are all drops, those of a full buffer too: as long as nothing was ever lost p is 0, and
//!    it is the first overflow that starts the estimate. A marked packet counts as a lost one.
//! 3. Where no packet arrived in all of the last periods, nothing was lost either: l falls. Nothing else would ever open
//!    a link again whose few senders have been silenced: at a loss ratio of 1 only a packet that gets
//!    through could lower it, and none does.
//! 4. Periods are not timed: those that have passed are made up for when a packet arrives.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// The most periods that can be looked back.
const MOST_PERIODS: usize = 8;

/// Arrivals and losses of one period.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    arrived: u32,
    lost: u32,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Lred {
    limit: u32,
    target_queue: f64,
    gain: f64,
    memory: f64,
    /// Nanoseconds.
    interval: u64,
    periods: usize,
    ecn: bool,

    loss_ratio: f64,
    /// Its square root times the gain.
    slope: f64,
    probability: f64,
    /// The last complete periods; the next to be replaced is at `oldest`.
    past: [Period; MOST_PERIODS],
    oldest: usize,
    current: Period,
    /// When the current period began, in nanoseconds.
    began: u64,
}

impl Listed for Lred {
    const ALGORITHM: Algorithm = Algorithm {
        name: "lred",
        title: "LRED",
        summary: "The measured loss ratio is the drop probability, corrected by the queue",
        source: "Wang, Liu, Li, Sohraby and Hou, IEEE TPDS 18(1), 2007",
        parameters: &[
            Parameter::number("limit", "packets", Some(100.0), 1.0, 1e9)
                .whole()
                .described("packets the buffer holds", "a common default"),
            Parameter::number("target_queue", "packets", None, 0.0, 1e9)
                .searched(1.0, 100.0, Scale::Linear)
                .described(
                    "queue at which the probability is the loss ratio; automatic: half of the limit",
                    "ours; the paper's is not confirmed",
                ),
            Parameter::number("gain", "1/packet", Some(0.001), 0.0, 1e3)
                .searched(1e-5, 0.1, Scale::Log)
                .described(
                    "correction for a packet above the target, times the root of the loss ratio",
                    "the paper's beta, after accounts of it",
                ),
            Parameter::number("memory", "1", Some(0.1), 0.0, 0.999).described(
                "weight of the old estimate of the loss ratio",
                "the paper's mw, after accounts of it",
            ),
            Parameter::number("interval", "seconds", Some(0.1), 1e-6, 1e3)
                .searched(0.01, 1.0, Scale::Log)
                .described("length of a period of measurement", "the paper, after accounts of it"),
            Parameter::number("periods", "periods", Some(4.0), 1.0, MOST_PERIODS as f64)
                .whole()
                .described(
                    "periods over which losses and arrivals are added up",
                    "the paper's M, after accounts of it",
                ),
            Parameter::switch("ecn", true)
                .described("ECN-capable packets are marked, not dropped", "RFC 3168"),
        ],
        ordered: &[],
    };

    fn new(settings: &Settings, _link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self {
            limit: settings.number("limit") as u32,
            target_queue: settings
                .automatic("target_queue")
                .unwrap_or(settings.number("limit") / 2.0),
            gain: settings.number("gain"),
            memory: settings.number("memory"),
            interval: (settings.number("interval") * 1e9).round() as u64,
            periods: settings.number("periods") as usize,
            ecn: settings.switch("ecn"),
            loss_ratio: 0.0,
            slope: 0.0,
            probability: 0.0,
            past: [Period::default(); MOST_PERIODS],
            oldest: 0,
            current: Period::default(),
            began: 0,
        })
    }
}

impl Discipline for Lred {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fresh = Self::new(settings, link)?;
        *self = Self {
            loss_ratio: self.loss_ratio,
            slope: fresh.gain * self.loss_ratio.sqrt(),
            probability: self.probability,
            past: self.past,
            oldest: self.oldest,
            current: self.current,
            began: self.began,
            ..fresh
        };
        Ok(())
    }

    fn link_changed(&mut self, _link: LinkFacts) {}

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }
}

impl<C: Coin> Decide<C> for Lred {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.catch_up(arrival.now);
        let excess = f64::from(arrival.queue_packets) - self.target_queue;
        self.probability = (self.loss_ratio + self.slope * excess).clamp(0.0, 1.0);
        self.current.arrived = self.current.arrived.saturating_add(1);
        let verdict = self.decide(arrival, coin);
        let lost = u32::from(verdict != Verdict::Accept);
        self.current.lost = self.current.lost.saturating_add(lost);
        verdict
    }
}

impl Lred {
    #[inline]
    fn decide(&self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        if arrival.queue_packets >= self.limit {
            return Verdict::Drop(DropReason::Overflow);
        }
        let certain = self.probability >= 1.0;
        if self.probability <= 0.0 || !(certain || coin.uniform() < self.probability) {
            Verdict::Accept
        } else if self.ecn && arrival.ecn_capable() {
            Verdict::Mark
        } else {
            Verdict::Drop(if certain { DropReason::Forced } else { DropReason::Early })
        }
    }

    /// Closes every period that has ended by `now`.
    #[inline]
    fn catch_up(&mut self, now: u64) {
        let ended = (now - self.began) / self.interval;
        if ended > 0 {
            self.began += ended * self.interval;
            let one_by_one = ended.min(MOST_PERIODS as u64 + 1);
            for _ in 0..one_by_one {
                self.close_period();
            }
            // From then on all the periods looked back to are empty.
            if ended > one_by_one {
                let kept = self.memory.powf((ended - one_by_one) as f64);
                self.set_loss_ratio(self.loss_ratio * kept);
            }
        }
    }

    fn close_period(&mut self) {
        self.past[self.oldest] = self.current;
        self.current = Period::default();
        self.oldest = (self.oldest + 1) % MOST_PERIODS;
        let (mut arrived, mut lost) = (0_u64, 0_u64);
        for back in 1..=self.periods {
            let period = self.past[(self.oldest + MOST_PERIODS - back) % MOST_PERIODS];
            arrived += u64::from(period.arrived);
            lost += u64::from(period.lost);
        }
        let measured = if arrived > 0 { lost as f64 / arrived as f64 } else { 0.0 };
        self.set_loss_ratio(self.memory * self.loss_ratio + (1.0 - self.memory) * measured);
    }

    fn set_loss_ratio(&mut self, loss_ratio: f64) {
        self.loss_ratio = loss_ratio;
        self.slope = self.gain * loss_ratio.sqrt();
    }
}
