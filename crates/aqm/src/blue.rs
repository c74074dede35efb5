//! BLUE: a probability that losses raise and an idle link lowers.
//!
//! Source: W. Feng, K. Shin, D. Kandlur, D. Saha, "The BLUE Active Queue Management Algorithms",
//! IEEE/ACM Transactions on Networking 10(4), 2002 (first as CSE-TR-387-99, University of Michigan).
//!
//! State: the probability, and when it last moved. Update: when a packet is lost because the buffer is
//! full (or, if `high_queue` is given, when a packet meets more than that), and the probability has
//! not moved for `freeze_time`, it rises by `increment`; while the link is idle, and it has not moved
//! for `freeze_time`, it falls by `decrement`. Control law: an arriving packet is dropped or marked
//! with the probability. No length of the queue enters into it.
//!
//! Increments are ten times as large as decrements, because an overloaded buffer has to be cured faster
//! than an idle link, and `freeze_time` is long enough for a change to take effect. Confirmed: the rule, and
//! 0.0025, 0.00025 and 0.1 s, from ports of the authors' ns-1.1 code to ns-3. Not confirmed: the steps of
//! 0.02 and 0.002 and the 10 ms that the paper is said to use, too.
//!
//! Departures from the source:
//! 1. The paper speaks of the event of an idle link. Here a link that stays idle lowers the probability
//!    once in each `freeze_time`. So the ports to ns-3 mean it, which count the freeze times of an idle
//!    spell; by their own test of the last change they then take a single step.
//! 2. The probability moves from the instant on at which `freeze_time` is over (the paper: after it).
//! 3. ECN-capable packets are marked by default; overflow drops them all the same.
//! 4. At probability 0 no coin is drawn.
//! 5. Only losses of a full buffer raise the probability; in the ports a packet that is dropped early
//!    does, too.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Blue {
    limit: u32,
    increment: f64,
    decrement: f64,
    /// Nanoseconds.
    freeze_time: u64,
    high_queue: Option<f64>,
    ecn: bool,

    probability: f64,
    /// When the probability last moved, in nanoseconds; `None` if it never did.
    moved: Option<u64>,
}

impl Listed for Blue {
    const ALGORITHM: Algorithm = Algorithm {
        name: "blue",
        title: "BLUE",
        summary: "Raises its probability when packets are lost and lowers it while the link is idle",
        source: "Feng, Shin, Kandlur and Saha, IEEE/ACM Transactions on Networking 10(4), 2002",
        parameters: &[
            Parameter::number("limit", "packets", Some(100.0), 1.0, 1e9)
                .whole()
                .described("packets the buffer holds", "a common default"),
            Parameter::number("increment", "probability", Some(0.0025), 0.0, 1.0)
                .searched(1e-4, 0.1, Scale::Log)
                .described(
                    "step up when the buffer overflows",
                    "d1, as ports of the authors' code have it (the paper: 0.02, not confirmed)",
                ),
            Parameter::number("decrement", "probability", Some(0.00025), 0.0, 1.0)
                .searched(1e-5, 0.01, Scale::Log)
                .described(
                    "step down while the link is idle",
                    "d2, as ports of the authors' code have it (the paper: 0.002, not confirmed)",
                ),
            Parameter::number("freeze_time", "seconds", Some(0.1), 1e-6, 1e3)
                .searched(1e-3, 1.0, Scale::Log)
                .described(
                    "least time between two steps",
                    "as ports of the authors' code have it (the paper: 10 ms, too, not confirmed)",
                ),
            Parameter::number("high_queue", "packets", None, 0.0, 1e9).described(
                "packets waiting above which the probability rises too; automatic: only losses \
                 raise it",
                "the paper's L",
            ),
            Parameter::switch("ecn", true)
                .described("ECN-capable packets are marked, not dropped", "the paper has both"),
        ],
        ordered: &[],
    };

    fn new(settings: &Settings, _link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self {
            limit: settings.number("limit") as u32,
            increment: settings.number("increment"),
            decrement: settings.number("decrement"),
            freeze_time: (settings.number("freeze_time") * 1e9).round() as u64,
            high_queue: settings.automatic("high_queue"),
            ecn: settings.switch("ecn"),
            probability: 0.0,
            moved: None,
        })
    }
}

impl Discipline for Blue {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let (probability, moved) = (self.probability, self.moved);
        *self = Self { probability, moved, ..Self::new(settings, link)? };
        Ok(())
    }

    fn link_changed(&mut self, _link: LinkFacts) {}

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }
}

impl<C: Coin> Decide<C> for Blue {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        if let Some(since) = arrival.idle_since {
            self.fall(since, arrival.now);
        }
        let full = arrival.queue_packets >= self.limit;
        let high = self.high_queue.is_some_and(|high| f64::from(arrival.queue_packets) > high);
        if full || high {
            self.rise(arrival.now);
        }
        if full {
            return Verdict::Drop(DropReason::Overflow);
        }
        if self.probability <= 0.0 || coin.uniform() >= self.probability {
            Verdict::Accept
        } else if self.ecn && arrival.ecn_capable() {
            Verdict::Mark
        } else {
            Verdict::Drop(DropReason::Early)
        }
    }
}

impl Blue {
    fn rise(&mut self, now: u64) {
        if self.moved.is_none_or(|moved| now - moved >= self.freeze_time) {
            self.probability = (self.probability + self.increment).min(1.0);
            self.moved = Some(now);
        }
    }

    /// Makes up for the steps down that were due while the link was idle.
    fn fall(&mut self, since: u64, now: u64) {
        let first = self.moved.map_or(since, |moved| since.max(moved + self.freeze_time));
        if self.probability <= 0.0 || first > now {
            return;
        }
        let others = (now - first) / self.freeze_time;
        let lower = self.probability - self.decrement * (others + 1) as f64;
        self.probability = lower.max(0.0);
        self.moved = Some(first + others * self.freeze_time);
    }
}
