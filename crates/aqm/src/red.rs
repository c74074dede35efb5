use vermilion_parameters::{Bytes, Packets, ParameterError, Probability, Settings, settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

settings! {
    /// Settings of [`Red`].
    pub RedSettings "red": "Random Early Detection (1993)",
        "Drops with a probability that rises with the average queue",
        "Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993",
        min_threshold < max_threshold;
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "a common default; the paper has none";
    /// average queue below which nothing is dropped
    min_threshold: Packets = 5 in [0, 1e9] linear [1, 50], "the paper, section IV";
    /// average queue above which everything is dropped
    max_threshold: Packets = 15 in [0, 1e9] linear [6, 100], "the paper, section IV";
    /// drop probability when the average reaches the maximum threshold
    max_probability: Probability = 0.02 in [> 0, 1] log [1e-3, 1], "the paper: 1/50";
    /// weight of one arrival in the average
    weight: f64 = 0.002 in [> 0, 1] log [1e-4, 1], "the paper, section IV";
    /// probability rises to 1 at twice the maximum threshold
    gentle: bool = false, "Floyd 2000";
    /// probability in proportion to the packet's size
    byte_mode: bool = false, "the paper, section IV";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "RFC 3168";
    /// ECN-capable packets too are dropped above the maximum threshold
    drop_above_maximum: bool = false, "RFC 3168, section 7";
    /// packet size that sets the pace of decay while empty, and byte mode's unit
    mean_packet_size: Bytes = 1000 in [1, 65535], "the paper's s";
}

/// Random Early Detection as published in 1993.
///
/// Source: S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
/// IEEE/ACM Transactions on Networking 1(4), 1993; the gentle option from S. Floyd,
/// "Recommendation on using the gentle_ variant of RED", 2000.
///
/// State: an exponentially weighted average of the queue, and the number of packets let through
/// since the last one that was not. Update, at each arrival: the average takes one step towards
/// the queue the packet meets; if the queue has been empty, it is first decayed as if the packets
/// that could have been sent in that time had each met an empty queue. Control law: no drops below
/// the minimum threshold, a probability rising linearly to `max_probability` at the maximum
/// threshold, and every packet above it (with the gentle option: a probability rising linearly
/// from `max_probability` to 1 at twice the maximum threshold).
///
/// Departures from the source, all deliberate:
/// 1. The paper's text says that the packets between two marks are uniform on 1..1/p; its
///    pseudo-code, by adding 1 to the count before using it, makes that 1..1/p - 1 after a mark.
///    The text is followed: the count is used first and raised afterwards.
/// 2. "Marking" in the paper is dropping or setting a bit. Here a packet of an ECN-capable flow is
///    marked and any other dropped; above the maximum threshold too, unless
///    `drop_above_maximum` asks for RFC 3168's advice (section 7) to drop there.
/// 3. A full buffer drops the arriving packet; the paper leaves buffers out.
/// 4. Time for which the average has been decayed is not counted again. By the letter of the
///    pseudo-code every packet that is dropped at an empty queue repeats the whole decay.
/// 5. Byte mode scales by the mean packet size; the paper by the largest.
#[derive(Clone, Debug)]
pub struct Red {
    set: RedSettings,
    /// Rise of the probability between the thresholds, per packet.
    slope: f64,
    average: DecayingAverage,
    /// Packets let through since the last mark or drop, while the average is in the range.
    count: f64,
}

/// The average of RED as published: at each arrival it takes one step towards the queue that the packet meets; for
/// the time in which the queue has been empty it is decayed as if the packets that could have been sent then had each
/// met an empty queue.
#[derive(Clone, Debug)]
pub(crate) struct DecayingAverage {
    pub(crate) value: f64,
    weight: f64,
    /// Logarithm of what a packet that meets an empty queue leaves of it.
    log_kept: f64,
    /// Up to when it has been decayed for an empty queue, in nanoseconds.
    decayed_until: u64,
    mean_packet_size: f64,
    /// Transmission time of a packet of the mean size, in nanoseconds.
    typical_transmission: f64,
}

impl DecayingAverage {
    pub(crate) fn new(weight: f64, mean_packet_size: Bytes, link: LinkFacts) -> Self {
        let mut it = Self {
            value: 0.0,
            weight,
            log_kept: (-weight).ln_1p(),
            decayed_until: 0,
            mean_packet_size: mean_packet_size.0,
            typical_transmission: 0.0,
        };
        it.link_changed(link);
        it
    }

    /// The same average under the settings of another one.
    pub(crate) fn under(&self, other: Self) -> Self {
        Self { value: self.value, decayed_until: self.decayed_until, ..other }
    }

    pub(crate) fn link_changed(&mut self, link: LinkFacts) {
        self.typical_transmission = 1e9 / link.packets_per_second(self.mean_packet_size);
    }

    /// "if the queue is nonempty: avg <- (1 - w) avg + w q"
    #[inline]
    pub(crate) fn step(&mut self, queue: f64) {
        self.value += self.weight * (queue - self.value);
    }

    /// "else: m <- f(time - q_time), avg <- (1 - w)^m avg"
    #[inline(never)] // few packets find the queue empty, and much would have to be kept meanwhile
    pub(crate) fn decay(&mut self, now: u64, empty_since: u64) {
        let empty_for = now - empty_since.max(self.decayed_until);
        let packets = empty_for as f64 / self.typical_transmission;
        let exponent = packets * self.log_kept;
        // Most often it is small, and the library's power takes three times as long. No number is below the bound.
        self.value *= if exponent > -1.0 / 64.0 {
            exponential(exponent)
        } else {
            (1.0 - self.weight).powf(packets)
        };
        self.decayed_until = now;
    }
}

/// The exponential function of `exponent`, which is at most 1/64 from 0: what the series leaves out is less than the last
/// bit of the result.
fn exponential(exponent: f64) -> f64 {
    let terms = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    terms.iter().fold(1.0 / 5040.0, |sum, term| sum * exponent + term)
}

impl Listed for Red {
    type Settings = RedSettings;

    fn new(set: RedSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        let slope = set.max_probability.0 / (set.max_threshold.0 - set.min_threshold.0);
        let average = DecayingAverage::new(set.weight, set.mean_packet_size, link);
        Ok(Self { set, slope, average, count: 0.0 })
    }
}

impl Discipline for Red {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        self.set_anew(settings.read(), link)
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.average.link_changed(link);
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        Some(self.average.value)
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability().min(1.0))
    }
}

impl<C: Coin> Decide<C> for Red {
    #[inline(always)] // what it is told need not be written to memory then
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.update_average(arrival);
        let verdict = self.choose(arrival, coin);
        if arrival.queue_packets >= self.set.limit.0 {
            self.restart_count();
            return Verdict::Drop(DropReason::Overflow);
        }
        verdict
    }
}

impl Red {
    /// Takes settings that have been checked.
    pub(crate) fn set_anew(
        &mut self,
        set: RedSettings,
        link: LinkFacts,
    ) -> Result<(), ParameterError> {
        let fresh = Self::new(set, link)?;
        *self = Self { average: self.average.under(fresh.average), count: self.count, ..fresh };
        Ok(())
    }

    #[inline(always)] // as above
    pub(crate) fn update_average(&mut self, arrival: &Arrival) {
        if arrival.queue_packets > 0 {
            self.average.step(f64::from(arrival.queue_packets));
        } else {
            self.average.decay(arrival.now, arrival.empty_since);
        }
    }

    /// Return true if the average is so long that it may drop.
    pub(crate) fn is_above_minimum(&self) -> bool {
        self.average.value > self.set.min_threshold.0
    }

    /// A packet that was not let through has been dropped by others.
    pub(crate) fn restart_count(&mut self) {
        self.count = 0.0;
    }

    /// The probability p_b before spacing; 1 or more where every packet goes.
    #[inline]
    fn probability(&self) -> f64 {
        let (set, average) = (&self.set, self.average.value);
        if average < set.min_threshold.0 {
            0.0
        } else if average < set.max_threshold.0 {
            self.slope * (average - set.min_threshold.0)
        } else if set.gentle {
            let above = average - set.max_threshold.0;
            set.max_probability.0 + (1.0 - set.max_probability.0) * above / set.max_threshold.0
        } else {
            1.0
        }
    }

    /// Decides over a packet, the buffer left out of account.
    #[inline(always)] // as above
    pub(crate) fn choose(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        if self.average.value < self.set.min_threshold.0 {
            self.count = 0.0;
            return Verdict::Accept;
        }
        let mut probability = self.probability();
        if probability >= 1.0 {
            self.count = 0.0;
            let marks = self.set.ecn && !self.set.drop_above_maximum;
            return arrival.notify(marks, DropReason::Forced);
        }
        if self.set.byte_mode {
            let size = f64::from(arrival.size);
            probability = (probability * size / self.set.mean_packet_size.0).min(1.0);
        }
        // p_a = p_b / (1 - count p_b): the notice comes after a number of packets that is uniform
        // on 1..1/p_b instead of geometric. Written without the division.
        let certain_at = 1.0 - self.count * probability;
        if coin.uniform() * certain_at < probability {
            self.count = 0.0;
            arrival.notify(self.set.ecn, DropReason::Early)
        } else {
            self.count += 1.0;
            Verdict::Accept
        }
    }
}
