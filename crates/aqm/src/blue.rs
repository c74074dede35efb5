use vermilion_parameters::{Packets, ParameterError, Probability, Seconds, Settings, settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

settings! {
    /// Settings of [`Blue`].
    pub BlueSettings "blue": "BLUE",
        "Raises its probability when packets are lost and lowers it while the link is idle",
        "Feng, Shin, Kandlur and Saha, IEEE/ACM Transactions on Networking 10(4), 2002";
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "a common default";
    /// step up when the buffer overflows
    increment: Probability = 0.0025 in [0, 1] log [1e-4, 0.1],
        "d1, as ports of the authors' code have it (the paper: 0.02, not confirmed)";
    /// step down while the link is idle
    decrement: Probability = 0.00025 in [0, 1] log [1e-5, 0.01],
        "d2, as ports of the authors' code have it (the paper: 0.002, not confirmed)";
    /// least time between two steps
    freeze_time: Seconds = 0.1 in [1e-6, 1e3] log [1e-3, 1],
        "as ports of the authors' code have it (the paper: 10 ms, too, not confirmed)";
    /// packets waiting above which the probability rises too; automatic: only losses raise it
    high_queue: Option<Packets> = automatic in [0, 1e9], "the paper's L";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "the paper has both";
}

/// BLUE: a probability that losses raise and an idle link lowers.
///
/// Source: W. Feng, K. Shin, D. Kandlur, D. Saha, "The BLUE Active Queue Management Algorithms",
/// IEEE/ACM Transactions on Networking 10(4), 2002 (first as CSE-TR-387-99, University of Michigan).
///
/// State: the probability, and when it last moved. Update: when a packet is lost because the buffer is
/// full (or, if `high_queue` is given, when a packet meets more than that), and the probability has
/// not moved for `freeze_time`, it rises by `increment`; while the link is idle, and it has not moved
/// for `freeze_time`, it falls by `decrement`. Control law: an arriving packet is dropped or marked
/// with the probability. No length of the queue enters into it.
///
/// Increments are ten times as large as decrements, because an overloaded buffer has to be cured faster
/// than an idle link, and `freeze_time` is long enough for a change to take effect. Confirmed: the rule, and
/// 0.0025, 0.00025 and 0.1 s, from ports of the authors' ns-1.1 code to ns-3. Not confirmed: the steps of
/// 0.02 and 0.002 and the 10 ms that the paper is said to use, too.
///
/// Departures from the source:
/// 1. The paper speaks of the event of an idle link. Here a link that stays idle lowers the probability
///    once in each `freeze_time`. So the ports to ns-3 mean it, which count the freeze times of an idle
///    spell; by their own test of the last change they then take a single step.
/// 2. The probability moves from the instant on at which `freeze_time` is over (the paper: after it).
/// 3. ECN-capable packets are marked by default; overflow drops them all the same.
/// 4. At probability 0 no coin is drawn.
/// 5. Only losses of a full buffer raise the probability; in the ports a packet that is dropped early
///    does, too.
#[derive(Clone, Debug)]
pub struct Blue {
    set: BlueSettings,
    /// Nanoseconds.
    freeze_time: u64,

    probability: f64,
    /// When the probability last moved, in nanoseconds; `None` if it never did.
    moved: Option<u64>,
}

impl Listed for Blue {
    type Settings = BlueSettings;

    fn new(set: BlueSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self { set, freeze_time: set.freeze_time.nanoseconds(), probability: 0.0, moved: None })
    }
}

impl Discipline for Blue {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let (probability, moved) = (self.probability, self.moved);
        *self = Self { probability, moved, ..Self::new(settings.read(), link)? };
        Ok(())
    }

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
        let full = arrival.queue_packets >= self.set.limit.0;
        let high =
            self.set.high_queue.is_some_and(|high| f64::from(arrival.queue_packets) > high.0);
        if full || high {
            self.rise(arrival.now);
        }
        if full {
            return Verdict::Drop(DropReason::Overflow);
        }
        if self.probability <= 0.0 || coin.uniform() >= self.probability {
            Verdict::Accept
        } else {
            arrival.notify(self.set.ecn, DropReason::Early)
        }
    }
}

impl Blue {
    fn rise(&mut self, now: u64) {
        if self.moved.is_none_or(|moved| now - moved >= self.freeze_time) {
            self.probability = (self.probability + self.set.increment.0).min(1.0);
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
        let lower = self.probability - self.set.decrement.0 * (others + 1) as f64;
        self.probability = lower.max(0.0);
        self.moved = Some(first + others * self.freeze_time);
    }
}
