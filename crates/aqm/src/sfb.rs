use vermilion_parameters::{Packets, ParameterError, Probability, Seconds, Settings, settings};

use crate::discipline::keeps;
use crate::flow_queues::{KEYS, scattered};
use crate::{
    Arrival, Coin, Decide, Departure, Discipline, DropKind, DropReason, LinkFacts, Listed, Verdict,
};

/// Levels of bins; a packet belongs to one bin of each.
const LEVELS: usize = 8;
/// Bins of a level, and the bits of a hash that choose one.
const BINS: usize = 16;
const BITS: u32 = 4;
/// The largest probability, in 65536ths.
const CERTAIN: u16 = u16::MAX;

const BIN_IS_FULL: DropReason = DropReason::Own { kind: DropKind::Overflow, cause: 0 };
const PENALTY: DropReason = DropReason::Own { kind: DropKind::Forced, cause: 1 };

settings! {
    /// Settings of [`Sfb`].
    pub SfbSettings "sfb": "SFB",
        "BLUE for each bin of a Bloom filter of flows: those that do not answer are held to a rate",
        "Feng, Kandlur, Saha, Shin, INFOCOM 2001; Linux 6.12, net/sched/sch_sfb.c",
        target < max;
    /// packets the buffer holds
    limit: Packets<u32> = 1000 in [1, 1e9], "Linux: the device's queue length";
    /// packets in a bin above which its probability rises
    target: Packets<u32> = 20 in [1, 65535] log [5, 200], "Linux: bin_size";
    /// packets in the shortest of a flow's bins beyond which it is dropped
    max: Packets<u32> = 25 in [2, 65535], "Linux";
    /// step of a probability up, at an arrival beyond the target
    increment: Probability = 0.0005 in [0, 1] log [1e-4, 0.01], "Linux";
    /// step of a probability down, at an arrival at an empty bin
    decrement: Probability = 0.00005 in [0, 1] log [1e-5, 1e-3], "Linux";
    /// packets a second of all flows that do not answer
    penalty_rate: u32 = 10 in [0, 1e6], "Linux";
    /// packets of these at a time
    penalty_burst: Packets<u32> = 20 in [0, 1e6], "Linux";
    /// after which other bins take over; 0: never
    rehash: Seconds = 600 in [0, 1e6], "Linux";
    /// before that the others learn for so long
    warm_up: Seconds = 60 in [0, 1e6], "Linux: db";
    /// ECN-capable packets are marked, up to a probability of 1/2 always
    ecn: bool = true, "Linux";
    /// which hash function; automatic: drawn by the queue; not to be changed while running
    perturbation: Option<u32> = automatic in [0, 4_294_967_295_u32], "Linux: drawn at each rehash";
}

/// A bin: packets that wait of its flows, and a probability in 65536ths.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    packets: u32,
    probability: u16,
}

/// All levels under one hash function.
#[derive(Clone, Debug, Default)]
struct Filter {
    key: u32,
    bins: [[Bin; BINS]; LEVELS],
    /// Packets still waiting that came before it began.
    unknown: u32,
}

impl Filter {
    fn of(key: u32, unknown: u32) -> Self {
        Self { key, bins: Default::default(), unknown }
    }

    /// The bins of a flow.
    fn bins_of(&mut self, flow: u32) -> impl Iterator<Item = &mut Bin> {
        let hash = scattered(flow, self.key);
        let levels = self.bins.iter_mut().enumerate();
        levels.map(move |(level, bins)| &mut bins[(hash >> (BITS * level as u32)) as usize % BINS])
    }

    /// A packet leaves.
    fn leave(&mut self, flow: u32) {
        match self.unknown {
            0 => self.bins_of(flow).for_each(|bin| bin.packets = bin.packets.saturating_sub(1)),
            _ => self.unknown -= 1,
        }
    }
}

/// SFB: stochastic fair BLUE.
///
/// Source: W. Feng, D. Kandlur, D. Saha, K. Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing
/// Fairness", INFOCOM 2001; as Linux 6.12 has it, `net/sched/sch_sfb.c` (facts, not code).
///
/// State: eight levels of 16 bins, each with the packets that wait of the flows that a hash puts there, and a probability;
/// tokens of a penalty box. At an arrival each of the flow's bins that is empty lowers its probability, and each that has
/// `target` packets raises it. The least of the eight is the flow's. At a probability of 1 the flow does not answer: only
/// as many packets pass as there are tokens. Else the packet is noticed with the probability: marked, or dropped
/// where it cannot be, and above 1/2 also where it could, up to a probability of 1. A flow whose shortest bin has `max`
/// packets is full.
///
/// So that flows do not share bins for ever, a second filter with another hash learns for `warm_up` and takes over after
/// `rehash`.
///
/// Departures from Linux:
/// 1. Tokens come in nanoseconds, and a part of one is kept; Linux counts ticks and forgets it.
/// 2. The packets that wait when a filter begins are unknown to it; Linux has each packet remember its bins.
/// 3. With a given `perturbation` the hash functions follow from it.
#[derive(Clone, Debug)]
pub struct Sfb {
    set: SfbSettings,
    increment: u16,
    decrement: u16,
    /// The filter in force; `None` before the first packet.
    filter: Option<Box<Filter>>,
    /// The one that learns.
    next: Option<Box<Filter>>,
    /// When the filter in force took over.
    began: u64,
    /// Filters so far.
    filters: u32,
    tokens: u64,
    token_time: u64,
}

impl Listed for Sfb {
    type Settings = SfbSettings;

    fn new(set: SfbSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let mut sfb = Self {
            set,
            increment: 0,
            decrement: 0,
            filter: None,
            next: None,
            began: 0,
            filters: 0,
            tokens: u64::from(set.penalty_burst.0),
            token_time: 0,
        };
        sfb.take(set);
        Ok(sfb)
    }
}

impl Discipline for Sfb {
    fn watches_departures(&self) -> bool {
        true
    }

    fn reconfigure(&mut self, settings: &Settings, _link: LinkFacts) -> Result<(), ParameterError> {
        let set: SfbSettings = settings.read();
        keeps("perturbation", self.set.perturbation, set.perturbation)?;
        self.take(set);
        Ok(())
    }

    /// The largest of all bins.
    fn drop_probability(&self) -> Option<f64> {
        let bins = self.filter.iter().flat_map(|filter| filter.bins.iter().flatten());
        let largest = bins.map(|bin| bin.probability).max().unwrap_or(0);
        Some(f64::from(largest) / f64::from(CERTAIN))
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        match reason {
            BIN_IS_FULL => "bin's limit",
            PENALTY => "penalty box",
            other => other.kind().choose("probability", "", "limit"),
        }
    }
}

impl<C: Coin> Decide<C> for Sfb {
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        if arrival.queue_packets >= self.set.limit.0 {
            return Verdict::Drop(DropReason::Overflow);
        }
        self.turn_over(arrival, coin);
        let verdict = self.judge(arrival, coin);
        if !matches!(verdict, Verdict::Drop(_)) {
            for filter in self.filter.iter_mut().chain(&mut self.next) {
                filter.bins_of(arrival.flow).for_each(|bin| bin.packets += 1);
            }
        }
        verdict
    }

    fn on_departure(&mut self, departure: &Departure, _coin: &mut C) -> Verdict {
        for filter in self.filter.iter_mut().chain(&mut self.next) {
            filter.leave(departure.flow);
        }
        Verdict::Accept
    }
}

impl Sfb {
    fn take(&mut self, set: SfbSettings) {
        let in_steps = |part: Probability| (part.0 * f64::from(CERTAIN)).round() as u16;
        (self.increment, self.decrement) = (in_steps(set.increment), in_steps(set.decrement));
        self.set = set;
    }

    /// Has filters begin and take over when it is time.
    fn turn_over(&mut self, arrival: &Arrival, coin: &mut impl Coin) {
        if self.filter.is_none() {
            self.filter = Some(self.fresh(0, coin));
        }
        let (rehash, warm_up) = (self.set.rehash.nanoseconds(), self.set.warm_up.nanoseconds());
        if rehash == 0 {
            return;
        }
        let age = arrival.now - self.began;
        if age > rehash {
            let next = self.next.take();
            self.filter = Some(next.unwrap_or_else(|| self.fresh(arrival.queue_packets, coin)));
            self.began = arrival.now;
        } else if self.next.is_none() && warm_up > 0 && age > rehash.saturating_sub(warm_up) {
            self.next = Some(self.fresh(arrival.queue_packets, coin));
        }
    }

    fn fresh(&mut self, unknown: u32, coin: &mut impl Coin) -> Box<Filter> {
        let key = match self.set.perturbation {
            Some(key) => key.wrapping_add(self.filters),
            None => (coin.uniform() * KEYS) as u32,
        };
        self.filters += 1;
        Box::new(Filter::of(key, unknown))
    }

    /// The verdict over a packet, after its bins have moved.
    fn judge(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        let (mut shortest, mut probability) = (u32::MAX, CERTAIN);
        for (number, filter) in self.filter.iter_mut().chain(&mut self.next).enumerate() {
            for bin in filter.bins_of(arrival.flow) {
                if bin.packets == 0 {
                    bin.probability = bin.probability.saturating_sub(self.decrement);
                } else if bin.packets >= self.set.target.0 {
                    bin.probability = bin.probability.saturating_add(self.increment);
                }
                // The filter that learns has no say.
                if number == 0 {
                    shortest = shortest.min(bin.packets);
                    probability = probability.min(bin.probability);
                }
            }
        }
        if shortest >= self.set.max.0 {
            return Verdict::Drop(BIN_IS_FULL);
        }
        if probability == CERTAIN {
            return if self.has_token(arrival.now) {
                Verdict::Accept
            } else {
                Verdict::Drop(PENALTY)
            };
        }
        let drawn = (coin.uniform() * 65_536.0) as u16;
        if drawn >= probability {
            return Verdict::Accept;
        }
        let is_high = u32::from(drawn) < 2 * u32::from(probability.saturating_sub(CERTAIN / 2));
        arrival.notify(self.set.ecn && !is_high, DropReason::Early)
    }

    /// Takes a token of the penalty box, if there is one.
    fn has_token(&mut self, now: u64) -> bool {
        let (rate, burst) = (u64::from(self.set.penalty_rate), self.set.penalty_burst.0);
        if rate == 0 || burst == 0 {
            return false;
        }
        if self.tokens == 0 {
            let age = (now - self.token_time).min(10_000_000_000);
            self.tokens = (age * rate / 1_000_000_000).min(burst.into());
            if self.tokens == 0 {
                return false;
            }
            self.token_time = now;
        }
        self.tokens -= 1;
        true
    }
}
