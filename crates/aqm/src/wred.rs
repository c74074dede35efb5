use vermilion_parameters::{Bytes, Packets, ParameterError, Probability, Settings, settings};

use crate::red::DecayingAverage;
use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

const CONFIGURATIONS: &str = "Cisco IOS, AF11 to AF13 in configurations, not confirmed";
const DENOMINATOR: &str = "Cisco IOS: mark probability denominator 10";

settings! {
    /// Settings of [`Wred`].
    pub WredSettings "wred": "Weighted RED",
        "RED with thresholds for each colour of packets, on the average queue or as it is",
        "Cisco IOS, Congestion Avoidance Overview; Zhu et al., SIGCOMM 2015 (DCQCN)",
        green_min_threshold < green_max_threshold,
        yellow_min_threshold < yellow_max_threshold, red_min_threshold < red_max_threshold;
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "a common default";
    /// weight of one arrival in the average; 1: the queue as it is
    weight: f64 = (1.0 / 512.0) in [> 0, 1] log [1e-4, 1],
        "Cisco IOS: exponential weighting constant 9, so 2^-9";
    /// average queue below which no green packet is dropped
    green_min_threshold: Packets = 32 in [0, 1e9] linear [1, 50], CONFIGURATIONS;
    /// average queue above which all green packets are dropped
    green_max_threshold: Packets = 40 in [0, 1e9] linear [6, 100], CONFIGURATIONS;
    /// drop probability of green packets when the average reaches their maximum threshold
    green_max_probability: Probability = 0.1 in [> 0, 1] log [1e-3, 1], DENOMINATOR;
    /// the same of yellow packets
    yellow_min_threshold: Packets = 28 in [0, 1e9] linear [1, 50], CONFIGURATIONS;
    /// the same of yellow packets
    yellow_max_threshold: Packets = 40 in [0, 1e9] linear [6, 100], CONFIGURATIONS;
    /// the same of yellow packets
    yellow_max_probability: Probability = 0.1 in [> 0, 1] log [1e-3, 1], DENOMINATOR;
    /// the same of red packets
    red_min_threshold: Packets = 24 in [0, 1e9] linear [1, 50], CONFIGURATIONS;
    /// the same of red packets
    red_max_threshold: Packets = 40 in [0, 1e9] linear [6, 100], CONFIGURATIONS;
    /// the same of red packets
    red_max_probability: Probability = 0.1 in [> 0, 1] log [1e-3, 1], DENOMINATOR;
    /// the queue is measured in bytes, in packets of the mean size
    byte_mode: bool = false, "Cisco IOS and DCQCN have thresholds in bytes, too";
    /// packet size that sets the pace of decay while empty, and byte mode's unit
    mean_packet_size: Bytes = 1000 in [1, 65535], "as for red";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "Cisco IOS has false";
    /// ECN-capable packets too are dropped above their maximum threshold
    drop_above_maximum: bool = true, "Cisco IOS; RFC 3168, section 7; DCQCN has false";
}

/// Weighted RED: one average, and for each colour of packets thresholds of its own.
///
/// Source: Cisco IOS, "Congestion Avoidance Overview" and the command reference of `random-detect`; with an
/// instantaneous queue, the marking of DCQCN: Y. Zhu et al., "Congestion Control for Large-Scale RDMA
/// Deployments", SIGCOMM 2015. Confirmed from the manuals: the law (one packet in the denominator at the
/// maximum, all when the average exceeds it), the weighting constant 9 and the denominator 10. The thresholds
/// 32, 28 and 24 to 40 of the drop precedences AF11, AF12 and AF13 are in published configurations; the
/// manual's own table of defaults was not to be had.
///
/// State: an average of the queue. Update, at each arrival: the average takes a step of `weight` towards
/// the queue that the packet meets. Control law: a packet is dropped or marked with a probability that
/// rises from 0 at its colour's minimum threshold to its `max_probability` at its maximum threshold; above
/// that all of its colour are dropped. Packets of one colour do not see those of another apart: all
/// count in the queue.
///
/// DCQCN's switches mark by the queue as it is: `weight` 1, `drop_above_maximum` off, `byte_mode` with
/// packets of 1000 bytes, `green_min_threshold` 5, `green_max_threshold` 200 and `green_max_probability`
/// 0.01 are Kmin 5 KB, Kmax 200 KB and Pmax 1 % for 40 Gbit/s, in front of a buffer that is large enough.
/// These three numbers pass for the paper's and are not confirmed: others quote 4 and 200 KB from it, and the
/// authors' simulator comes with 40 and 1000 KB and a probability of 1.
///
/// Departures from the source:
/// 1. The manuals do not say how drops are spaced. Here, as in DCQCN, every packet has a coin of its own,
///    without the count of [`Red`](crate::Red).
/// 2. The manuals do not speak of idleness. As in RED (1993) the average first decays as if the packets
///    that could have been sent since the queue ran empty had each met an empty queue.
/// 3. ECN-capable packets are marked between the thresholds by default (there: with `random-detect ecn`);
///    above the maximum they are dropped as there, unless `drop_above_maximum` is off.
/// 4. The weight need not be a power of two, and the probability need not be one in a whole number.
/// 5. A scenario gives the colours; nothing meters traffic here.
#[derive(Clone, Debug)]
pub struct Wred {
    set: WredSettings,
    /// Green, yellow, red.
    profiles: [Profile; 3],
    average: DecayingAverage,
    /// Of the last packet.
    probability: f64,
}

/// Settings of the packets of one colour. Thresholds are in packets.
#[derive(Clone, Copy, Debug)]
struct Profile {
    min_threshold: f64,
    max_threshold: f64,
    /// Rise of the probability between the thresholds, per packet.
    slope: f64,
}

impl Profile {
    fn new(min_threshold: Packets, max_threshold: Packets, probability: Probability) -> Self {
        let (min_threshold, max_threshold) = (min_threshold.0, max_threshold.0);
        let slope = probability.0 / (max_threshold - min_threshold);
        Self { min_threshold, max_threshold, slope }
    }
}

impl Listed for Wred {
    type Settings = WredSettings;

    fn new(set: WredSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        let WredSettings { green_min_threshold, green_max_threshold, .. } = set;
        let WredSettings { yellow_min_threshold, yellow_max_threshold, .. } = set;
        let WredSettings { red_min_threshold, red_max_threshold, .. } = set;
        Ok(Self {
            profiles: [
                Profile::new(green_min_threshold, green_max_threshold, set.green_max_probability),
                Profile::new(
                    yellow_min_threshold,
                    yellow_max_threshold,
                    set.yellow_max_probability,
                ),
                Profile::new(red_min_threshold, red_max_threshold, set.red_max_probability),
            ],
            average: DecayingAverage::new(set.weight, set.mean_packet_size, link),
            probability: 0.0,
            set,
        })
    }
}

impl Discipline for Wred {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fresh = Self::new(settings.read(), link)?;
        let average = self.average.under(fresh.average);
        *self = Self { average, probability: self.probability, ..fresh };
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.average.link_changed(link);
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        Some(self.average.value)
    }

    /// That of the last packet's colour.
    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("probability", "maximum threshold", "limit")
    }
}

impl<C: Coin> Decide<C> for Wred {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        let average = self.update_average(arrival);
        let profile = self.profiles[arrival.colour as usize];
        let forced = average > profile.max_threshold;
        self.probability =
            if forced { 1.0 } else { profile.slope * (average - profile.min_threshold).max(0.0) };
        if arrival.queue_packets >= self.set.limit.0 {
            return Verdict::Drop(DropReason::Overflow);
        }
        if forced {
            let marks = self.set.ecn && !self.set.drop_above_maximum;
            arrival.notify(marks, DropReason::Forced)
        } else if self.probability > 0.0 && coin.uniform() < self.probability {
            arrival.notify(self.set.ecn, DropReason::Early)
        } else {
            Verdict::Accept
        }
    }
}

impl Wred {
    #[inline]
    fn update_average(&mut self, arrival: &Arrival) -> f64 {
        if arrival.queue_packets == 0 {
            self.average.decay(arrival.now, arrival.empty_since);
        }
        self.average.step(if self.set.byte_mode {
            arrival.queue_bytes as f64 / self.set.mean_packet_size.0
        } else {
            arrival.queue_packets.into()
        });
        self.average.value
    }
}
