use vermilion_parameters::{
    Packets, ParameterError, PerPacket, Periods, Seconds, Settings, settings,
};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// The most periods that can be looked back.
const MOST_PERIODS: usize = 8;

/// Arrivals and losses of one period.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    arrived: u32,
    lost: u32,
}

settings! {
    /// Settings of [`Lred`].
    pub LredSettings "lred": "LRED",
        "The measured loss ratio is the drop probability, corrected by the queue",
        "Wang, Liu, Li, Sohraby and Hou, IEEE TPDS 18(1), 2007";
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "a common default";
    /// queue at which the probability is the loss ratio; automatic: half of the limit
    target_queue: Option<Packets> = automatic in [0, 1e9] linear [1, 100],
        "ours; the paper's is not confirmed";
    /// correction for a packet above the target, times the root of the loss ratio
    gain: PerPacket = 0.001 in [0, 1e3] log [1e-5, 0.1], "the paper's beta, after accounts of it";
    /// weight of the old estimate of the loss ratio
    memory: f64 = 0.1 in [0, 0.999], "the paper's mw, after accounts of it";
    /// length of a period of measurement
    interval: Seconds = 0.1 in [1e-6, 1e3] log [0.01, 1], "the paper, after accounts of it";
    /// periods over which losses and arrivals are added up
    periods: Periods<u32> = 4 in [1, MOST_PERIODS as f64], "the paper's M, after accounts of it";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "RFC 3168";
}

/// LRED, RED based on the loss ratio: the probability is the measured loss ratio, corrected by the
/// queue.
///
/// Source: C. Wang, J. Liu, B. Li, K. Sohraby, Y. T. Hou, "LRED: A Robust and Responsive AQM Algorithm
/// Using Packet Loss Ratio Measurement", IEEE Transactions on Parallel and Distributed Systems 18(1),
/// 2007 (first: C. Wang, B. Li, Y. T. Hou, K. Sohraby, Y. Lin, INFOCOM 2004). Confirmed from the
/// abstracts: it measures the latest packet loss ratio and uses it beside the queue length to adapt
/// the probability. Not confirmed, and taken from accounts of the paper: the formulas and constants
/// below.
///
/// State: the packets that arrived and were lost in each of the last `periods` periods, and the
/// estimated loss ratio l. Update, every `interval`: l <- memory x l + (1 - memory) x lost / arrived
/// over those periods. Control law, for a packet that meets q waiting packets:
/// p = l + gain x sqrt(l) x (q - target_queue), kept between 0 and 1. At rest the loss ratio is p and
/// so the queue is at its target; sqrt(l) makes the correction stronger where more flows lose more.
///
/// Departures from the source:
/// 1. The paper's target is not confirmed; the automatic one is half of the limit. It is also what
///    brings l down again: an empty queue lowers p by gain x sqrt(l) x target, so that a small target
///    leaves a high loss ratio in force for long after the queue has emptied.
/// 2. Losses are all drops, those of a full buffer too: as long as nothing was ever lost p is 0, and
///    it is the first overflow that starts the estimate. A marked packet counts as a lost one.
/// 3. Where no packet arrived in all of the last periods, nothing was lost either: l falls. Nothing else would ever open
///    a link again whose few senders have been silenced: at a loss ratio of 1 only a packet that gets
///    through could lower it, and none does.
/// 4. Periods are not timed: those that have passed are made up for when a packet arrives.
#[derive(Clone, Debug)]
pub struct Lred {
    set: LredSettings,
    target_queue: f64,
    /// Nanoseconds.
    interval: u64,

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
    type Settings = LredSettings;

    fn new(set: LredSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self {
            set,
            target_queue: set.target_queue.map_or(f64::from(set.limit.0) / 2.0, |it| it.0),
            interval: set.interval.nanoseconds(),
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
        let fresh = Self::new(settings.read(), link)?;
        *self = Self {
            loss_ratio: self.loss_ratio,
            slope: fresh.set.gain.0 * self.loss_ratio.sqrt(),
            probability: self.probability,
            past: self.past,
            oldest: self.oldest,
            current: self.current,
            began: self.began,
            ..fresh
        };
        Ok(())
    }

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
        if arrival.queue_packets >= self.set.limit.0 {
            return Verdict::Drop(DropReason::Overflow);
        }
        let certain = self.probability >= 1.0;
        if self.probability <= 0.0 || !(certain || coin.uniform() < self.probability) {
            return Verdict::Accept;
        }
        let reason = if certain { DropReason::Forced } else { DropReason::Early };
        arrival.notify(self.set.ecn, reason)
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
                let kept = self.set.memory.powf((ended - one_by_one) as f64);
                self.set_loss_ratio(self.loss_ratio * kept);
            }
        }
    }

    fn close_period(&mut self) {
        self.past[self.oldest] = self.current;
        self.current = Period::default();
        self.oldest = (self.oldest + 1) % MOST_PERIODS;
        let (mut arrived, mut lost) = (0_u64, 0_u64);
        for back in 1..=self.set.periods.0 as usize {
            let period = self.past[(self.oldest + MOST_PERIODS - back) % MOST_PERIODS];
            arrived += u64::from(period.arrived);
            lost += u64::from(period.lost);
        }
        let measured = if arrived > 0 { lost as f64 / arrived as f64 } else { 0.0 };
        self.set_loss_ratio(self.set.memory * self.loss_ratio + (1.0 - self.set.memory) * measured);
    }

    fn set_loss_ratio(&mut self, loss_ratio: f64) {
        self.loss_ratio = loss_ratio;
        self.slope = self.set.gain.0 * loss_ratio.sqrt();
    }
}
