use vermilion_parameters::{
    AlgorithmSettings, Bytes, Packets, ParameterError, Probability, Seconds, Settings, choices,
    settings,
};

use crate::discipline::keeps;
use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

choices! {
    /// Time constant of the average where the weight is automatic.
    pub Ns2AutomaticWeight {
        RoundTrip = "round-trip", Second = "second", TenthSecond = "tenth-second"
    }
}

choices! {
    /// Packet that a full buffer drops: the arriving one, the second, or any.
    pub Ns2Drop { Tail = "tail", Front = "front", Random = "random" }
}

settings! {
    /// Settings that all disciplines have which are RED of ns-2 with a rule of their own.
    pub Ns2RedCommon;
    /// packets (of the mean size, in byte mode) the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "ns-2.35 has 50";
    /// average queue below which nothing is dropped; automatic: the larger of 5 packets and half
    /// the target delay's worth
    min_threshold: Option<Packets> = automatic in [0, 1e9] linear [1, 50], "ns-2.35";
    /// average queue at which the probability reaches max_probability; automatic: three times the
    /// minimum threshold
    max_threshold: Option<Packets> = automatic in [0, 1e9] linear [6, 100], "ns-2.35";
    /// drop probability at the maximum threshold
    max_probability: Probability = 0.1 in [> 0, 1] log [1e-3, 1], "ns-2.35: linterm 10";
    /// weight of one arrival in the average; automatic: see automatic_weight
    weight: Option<f64> = automatic in [> 0, 1] log [1e-4, 1], "ns-2.35";
    /// the average's time constant when the weight is automatic: ten round trips (3 x the link's
    /// delay, at least 100 ms), a second, or a tenth of a second
    automatic_weight: Ns2AutomaticWeight = RoundTrip, "ns-2.35: q_weight -1, 0, -2";
    /// let 1/p packets pass after each drop before the next can come
    wait: bool = true, "ns-2.35";
    /// measure queue, limit and spacing in bytes
    byte_mode: bool = false, "ns-2.35 has true";
    /// packet size behind packet times and byte mode
    mean_packet_size: Bytes = 1000 in [1, 65535], "ns-2.35 has 500";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "ns-2.35 has false";
    /// from this probability on ECN-capable packets are dropped too
    mark_probability: Probability = 0.1 in [0, 1], "ns-2.35: mark_p";
    /// queueing delay behind the automatic minimum threshold
    target_delay: Seconds = 0.005 in [0, 1e3], "ns-2.35";
}

settings! {
    /// Settings of [`Ns2Red`].
    pub Ns2RedSettings "ns2-red": "RED of ns-2",
        "RED with ns-2's spacing, gentle slope, byte mode and automatic settings",
        "ns-2.35, queue/red.cc",
        min_threshold < max_threshold;
    ..common: Ns2RedCommon;
    /// probability rises to 1 at twice the maximum threshold
    gentle: bool = true, "ns-2.35 (since 2001)";
    /// which packet a full buffer drops: the arriving one, the second, or any
    drop: Ns2Drop = Tail, "ns-2.35: drop_tail_, drop_front_, drop_rand_";
}

/// RED as ns-2.35 runs it, the dialect behind most published RED results.
///
/// Source: ns-2.35, `queue/red.cc` and `tcl/lib/ns-default.tcl` (facts, not code). State, update
/// and control law are those of [`Red`](crate::Red) with these differences, which change outcomes:
///
/// 1. `wait`: after a drop the next `1/p` packets are let through and the drop falls uniformly on
///    the `1/p` after those, so the drop rate is about two thirds of `p` instead of twice `p`.
/// 2. The estimator always takes a full step, also when the queue is empty, and while the link is
///    idle (nothing in transmission) it takes one more for each whole packet time.
/// 3. Nothing is dropped early while fewer than two packets (in byte mode: two bytes) wait, and
///    the first packet after the average enters the range is let through without a test.
/// 4. The count of packets runs on below the minimum threshold.
/// 5. Above the maximum threshold the probability is 1 but still spaced.
/// 6. Packets are marked only while the unspaced probability is below `mark_probability`; from there
///    on, ECN-capable packets are dropped. The comparison is strict: also with 1, a probability of 1
///    drops.
/// 7. Gentle's line from `max_probability` to 1 is drawn once, from the initial value; an
///    adaptation that moves `max_probability` later leaves it where it was.
/// 8. Thresholds, weight, and the lower bound of adaptation can be automatic: they follow from the
///    link's rate and delay.
///
/// Departures from ns-2.35:
/// 1. Defaults: packet mode and a mean packet size of 1000 bytes (ns-2.35: byte mode, 500 bytes),
///    a limit of 100 packets (50), and ECN-capable packets are marked (not). Set `byte_mode`,
///    `mean_packet_size`, `limit` and `ecn` to have ns-2.35's own.
/// 2. `byte_mode` is both `bytes_` and `queue_in_bytes_` of ns-2, which can be set apart there.
/// 3. Automatic settings that contradict given ones are refused.
/// 4. The experimental `cautious_` and `ns1_compat_` options are left out.
/// 5. `mark_probability` always bounds marking. Without its bound (`use_mark_p_` off) ns-2 drops all
///    packets above the maximum threshold unspaced.
/// 6. Automatic settings stay as they are when the link's rate or delay changes, as in ns-2, but a later
///    change of any setting computes all of them from the link as it is by then. Give the values, or
///    change a setting at the same time.
///
/// With `drop` = "front" or "random" (ns-2's `drop_front_`, `drop_rand_`) a full buffer drops another
/// packet in the place of the one that arrives: the second, as ns-2 spares the first, or any of
/// those that wait and the one that arrives. It is one packet for one, whatever their sizes. Packets
/// dropped early are always those that arrive.
///
/// [`SelfConfiguringRed`](crate::SelfConfiguringRed) and
/// [`AdaptiveRed`](crate::AdaptiveRed) are this machine with a rule that moves `max_probability`.
#[derive(Clone, Debug)]
pub struct Ns2Red {
    set: Ns2RedCommon,
    gentle: bool,
    drop: Ns2Drop,
    // In packets or (byte mode) bytes.
    limit: f64,
    min_threshold: f64,
    max_threshold: f64,
    /// It may have been moved since it was set.
    max_probability: f64,
    weight: f64,
    /// Packets of the mean size that the link sends in a nanosecond.
    packets_per_nanosecond: f64,
    gentle_slope: f64,
    gentle_offset: f64,

    average: f64,
    probability: f64,
    count: u32,
    count_bytes: u64,
    in_range: bool,
    /// Another packet has just been dropped for the one that arrives, of which this had been said.
    made_room: Option<Verdict>,
}

/// A rule that moves the maximum probability of [`Ns2Red`], or has another law between the thresholds.
pub trait Rule: Clone + std::fmt::Debug + Sized {
    /// Settings of the discipline that has it.
    type Settings: AlgorithmSettings;

    /// RED's part of the settings, and whether it is gentle.
    fn red(settings: &Self::Settings) -> (Ns2RedCommon, bool);

    /// A fresh rule for `red`.
    ///
    /// # Errors
    /// As for [`Listed::new`].
    fn new(settings: Self::Settings, red: &Ns2Red, link: LinkFacts)
    -> Result<Self, ParameterError>;

    /// Takes over what the rule before had learnt; `scale` is what its unit of queue was in new ones.
    fn keep(&mut self, _before: &Self, _scale: f64) {}

    /// The link behind the queue has changed.
    fn link_changed(&mut self, _link: LinkFacts) {}

    /// A packet arrives: has RED take a step of its average, and does its own part before or after it.
    #[inline]
    fn meet(&mut self, red: &mut Ns2Red, arrival: &Arrival) {
        red.update_average(arrival);
    }

    /// The probability before spacing, at most 1, with the average in the range.
    #[inline]
    fn probability(&self, red: &Ns2Red) -> f64 {
        red.unspaced_probability()
    }
}

/// [`Ns2Red`] under a rule.
#[derive(Clone, Debug)]
pub struct RuledRed<R> {
    red: Ns2Red,
    rule: R,
}

impl<R: Rule> Listed for RuledRed<R> {
    type Settings = R::Settings;

    fn new(settings: R::Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        let (common, gentle) = R::red(&settings);
        let red = Ns2Red::of(common, gentle, Ns2Drop::Tail, link)?;
        Ok(Self { rule: R::new(settings, &red, link)?, red })
    }
}

impl<R: Rule> Discipline for RuledRed<R> {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let mut fresh = Self::new(settings.read(), link)?;
        fresh.rule.keep(&self.rule, self.red.unit() / fresh.red.unit());
        fresh.red.keep(&self.red);
        *self = fresh;
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.red.link_changed(link);
        self.rule.link_changed(link);
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        self.red.average_queue()
    }

    fn drop_probability(&self) -> Option<f64> {
        self.red.drop_probability()
    }
}

impl<R: Rule, C: Coin> Decide<C> for RuledRed<R> {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.rule.meet(&mut self.red, arrival);
        self.red.decide_by(arrival, coin, |red| self.rule.probability(red))
    }
}

impl Listed for Ns2Red {
    type Settings = Ns2RedSettings;

    fn new(set: Ns2RedSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        Self::of(set.common, set.gentle, set.drop, link)
    }
}

impl Discipline for Ns2Red {
    fn watches_departures(&self) -> bool {
        // Which packets wait at which place is not known where departures are no events.
        self.drop != Ns2Drop::Tail
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let mut fresh = Self::new(settings.read(), link)?;
        if fresh.watches_departures() != self.watches_departures() {
            keeps("drop", self.drop, fresh.drop)?;
        }
        fresh.keep(self);
        *self = fresh;
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        let size = self.set.mean_packet_size.0;
        self.packets_per_nanosecond = link.packets_per_second(size) / 1e9;
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        Some(self.average / self.unit())
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        let overflow = match self.drop {
            Ns2Drop::Tail => "limit",
            Ns2Drop::Front => "limit: front",
            Ns2Drop::Random => "limit: random place",
        };
        reason.kind().choose("probability", "probability of 1", overflow)
    }
}

impl<C: Coin> Decide<C> for Ns2Red {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        if let Some(verdict) = self.made_room.take() {
            return verdict;
        }
        self.update_average(arrival);
        self.decide_by(arrival, coin, Self::unspaced_probability)
    }
}

/// The weight that gives the average the asked-for time constant at full load.
fn automatic_weight(form: Ns2AutomaticWeight, link: LinkFacts, packets_per_second: f64) -> f64 {
    let packets = match form {
        Ns2AutomaticWeight::Second => packets_per_second,
        Ns2AutomaticWeight::TenthSecond => packets_per_second / 10.0,
        Ns2AutomaticWeight::RoundTrip => {
            let round_trip = (3.0 * (link.delay + 1.0 / packets_per_second)).max(0.1);
            10.0 * round_trip * packets_per_second
        }
    };
    -(-1.0 / packets).exp_m1()
}

impl Ns2Red {
    fn of(
        set: Ns2RedCommon,
        gentle: bool,
        drop: Ns2Drop,
        link: LinkFacts,
    ) -> Result<Self, ParameterError> {
        let packets_per_second = link.packets_per_second(set.mean_packet_size.0);
        let unit = if set.byte_mode { set.mean_packet_size.0 } else { 1.0 };
        let automatic = || Packets((set.target_delay.0 * packets_per_second / 2.0).max(5.0));
        let min_threshold = set.min_threshold.unwrap_or_else(automatic).0;
        let max_threshold = set.max_threshold.unwrap_or(Packets(3.0 * min_threshold)).0;
        ParameterError::unless_below(
            ("min_threshold", min_threshold),
            ("max_threshold", max_threshold),
        )?;
        let max_probability = set.max_probability.0;
        Ok(Self {
            set,
            gentle,
            drop,
            limit: f64::from(set.limit.0) * unit,
            min_threshold: min_threshold * unit,
            max_threshold: max_threshold * unit,
            max_probability,
            weight: set.weight.unwrap_or_else(|| {
                automatic_weight(set.automatic_weight, link, packets_per_second)
            }),
            packets_per_nanosecond: packets_per_second / 1e9,
            gentle_slope: (1.0 - max_probability) / (max_threshold * unit),
            gentle_offset: 2.0 * max_probability - 1.0,
            average: 0.0,
            probability: 0.0,
            count: 0,
            count_bytes: 0,
            in_range: false,
            made_room: None,
        })
    }

    /// Takes over what the one before had measured, and where an adaptation had moved the maximum probability unless
    /// that is set anew.
    fn keep(&mut self, before: &Self) {
        // Scaled only if need be: settings given again change nothing, to the last bit.
        let same_mode = self.set.byte_mode == before.set.byte_mode;
        let scale = if same_mode { 1.0 } else { self.unit() / before.unit() };
        self.average = before.average * scale;
        if self.set.max_probability == before.set.max_probability {
            self.max_probability = before.max_probability;
        }
        self.probability = before.probability;
        self.count = before.count;
        self.count_bytes = before.count_bytes;
        self.in_range = before.in_range;
    }

    /// Length of a packet in the queue: 1, or in byte mode its mean size.
    pub(crate) fn unit(&self) -> f64 {
        if self.set.byte_mode { self.set.mean_packet_size.0 } else { 1.0 }
    }

    /// The average, in packets or (byte mode) bytes.
    pub(crate) fn average(&self) -> f64 {
        self.average
    }

    /// Both thresholds, in packets or (byte mode) bytes.
    pub(crate) fn thresholds(&self) -> (f64, f64) {
        (self.min_threshold, self.max_threshold)
    }

    /// The maximum probability in force.
    pub(crate) fn max_probability(&self) -> f64 {
        self.max_probability
    }

    /// Moves the maximum probability, as an adaptation does.
    pub(crate) fn set_max_probability(&mut self, max_probability: f64) {
        self.max_probability = max_probability;
    }

    /// One step of the estimator, preceded by one for each packet time the link was idle.
    #[inline]
    pub(crate) fn update_average(&mut self, arrival: &Arrival) {
        if let Some(idle_since) = arrival.idle_since {
            let idle = (arrival.now - idle_since) as f64;
            let packets = (idle * self.packets_per_nanosecond).floor();
            self.average *= (1.0 - self.weight).powf(packets);
        }
        self.average += self.weight * (self.queue(arrival) - self.average);
    }

    /// Accepts, marks or drops, given the average, by a law: the unspaced probability, at most 1, with the average in
    /// the range.
    #[inline]
    fn decide_by(
        &mut self,
        arrival: &Arrival,
        coin: &mut impl Coin,
        law: impl FnOnce(&Self) -> f64,
    ) -> Verdict {
        self.count = self.count.saturating_add(1);
        self.count_bytes += u64::from(arrival.size);
        let queue = self.queue(arrival);
        let mut verdict = Verdict::Accept;
        if self.average >= self.min_threshold && queue > 1.0 {
            if self.in_range {
                self.probability = law(self);
                verdict = self.test(arrival, coin);
            } else {
                self.in_range = true;
                self.restart_count(1, u64::from(arrival.size));
            }
        } else {
            self.in_range = false;
            self.probability = 0.0;
        }
        if queue >= self.limit {
            self.restart_count(0, 0);
            return self.overflow(verdict, arrival, coin);
        }
        verdict
    }

    /// The buffer is full; apart from that `verdict` is what becomes of the packet.
    #[cold]
    fn overflow(&mut self, verdict: Verdict, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        let waiting = arrival.queue_packets;
        let place = match self.drop {
            Ns2Drop::Tail => waiting,
            Ns2Drop::Front => waiting.min(1),
            Ns2Drop::Random => (coin.uniform() * (f64::from(waiting) + 1.0)) as u32,
        };
        if place >= waiting {
            return Verdict::Drop(DropReason::Overflow);
        }
        // A mark stays; one drop is enough.
        let marked = verdict == Verdict::Mark;
        self.made_room = Some(if marked { Verdict::Mark } else { Verdict::Accept });
        Verdict::MakeRoom { place, reason: DropReason::Overflow }
    }

    /// The queue an arrival meets, in packets or (byte mode) bytes.
    #[inline]
    pub(crate) fn queue(&self, arrival: &Arrival) -> f64 {
        if self.set.byte_mode {
            arrival.queue_bytes as f64
        } else {
            f64::from(arrival.queue_packets)
        }
    }

    fn restart_count(&mut self, packets: u32, bytes: u64) {
        self.count = packets;
        self.count_bytes = bytes;
    }

    #[inline]
    fn test(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        if coin.uniform() > self.spaced(self.probability, arrival.size) {
            return Verdict::Accept;
        }
        self.restart_count(0, 0);
        let marks = self.set.ecn && self.probability < self.set.mark_probability.0;
        let certain = self.probability >= 1.0;
        arrival.notify(marks, if certain { DropReason::Forced } else { DropReason::Early })
    }

    /// The probability before spacing, with the average in the range.
    #[inline]
    pub(crate) fn unspaced_probability(&self) -> f64 {
        let probability = if self.average < self.max_threshold {
            self.max_probability * (self.average - self.min_threshold)
                / (self.max_threshold - self.min_threshold)
        } else if self.gentle {
            self.gentle_slope * self.average + self.gentle_offset
        } else {
            1.0
        };
        probability.min(1.0)
    }

    /// The probability for this packet such that the packets between drops are uniform.
    #[inline]
    fn spaced(&self, probability: f64, size: u32) -> f64 {
        let count = if self.set.byte_mode {
            (self.count_bytes / self.set.mean_packet_size.0 as u64) as f64
        } else {
            f64::from(self.count)
        };
        let passed = count * probability;
        let mut spaced = if self.set.wait {
            if passed < 1.0 {
                0.0
            } else if passed < 2.0 {
                probability / (2.0 - passed)
            } else {
                1.0
            }
        } else if passed < 1.0 {
            probability / (1.0 - passed)
        } else {
            1.0
        };
        if self.set.byte_mode && spaced < 1.0 {
            spaced *= f64::from(size) / self.set.mean_packet_size.0;
        }
        spaced.min(1.0)
    }
}
