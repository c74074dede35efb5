//! Weighted RED: one average, and for each colour of packets thresholds of its own.
//!
//! Source: Cisco IOS, "Congestion Avoidance Overview" and the command reference of `random-detect`; with an
//! instantaneous queue, the marking of DCQCN: Y. Zhu et al., "Congestion Control for Large-Scale RDMA
//! Deployments", SIGCOMM 2015. Confirmed from the manuals: the law (one packet in the denominator at the
//! maximum, all when the average exceeds it), the weighting constant 9 and the denominator 10. The thresholds
//! 32, 28 and 24 to 40 of the drop precedences AF11, AF12 and AF13 are in published configurations; the
//! manual's own table of defaults was not to be had.
//!
//! State: an average of the queue. Update, at each arrival: the average takes a step of `weight` towards
//! the queue that the packet meets. Control law: a packet is dropped or marked with a probability that
//! rises from 0 at its colour's minimum threshold to its `max_probability` at its maximum threshold; above
//! that all of its colour are dropped. Packets of one colour do not see those of another apart: all
//! count in the queue.
//!
//! DCQCN's switches mark by the queue as it is: `weight` 1, `drop_above_maximum` off, `byte_mode` with
//! packets of 1000 bytes, `green_min_threshold` 5, `green_max_threshold` 200 and `green_max_probability`
//! 0.01 are Kmin 5 KB, Kmax 200 KB and Pmax 1 % for 40 Gbit/s, in front of a buffer that is large enough.
//! These three numbers pass for the paper's and are not confirmed: others quote 4 and 200 KB from it, and the
//! authors' simulator comes with 40 and 1000 KB and a probability of 1.
//!
//! Departures from the source:
//! 1. The manuals do not say how drops are spaced. Here, as in DCQCN, every packet has a coin of its own,
//!    without the count of [`Red`](crate::Red).
//! 2. The manuals do not speak of idleness. As in RED (1993) the average first decays as if the packets
//!    that could have been sent since the queue ran empty had each met an empty queue.
//! 3. ECN-capable packets are marked between the thresholds by default (there: with `random-detect ecn`);
//!    above the maximum they are dropped as there, unless `drop_above_maximum` is off.
//! 4. The weight need not be a power of two, and the probability need not be one in a whole number.
//! 5. A scenario gives the colours; nothing meters traffic here.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// Settings of the packets of one colour. Thresholds are in packets.
#[derive(Clone, Copy, Debug)]
struct Profile {
    min_threshold: f64,
    max_threshold: f64,
    /// Rise of the probability between the thresholds, per packet.
    slope: f64,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Wred {
    limit: u32,
    weight: f64,
    /// Green, yellow, red.
    profiles: [Profile; 3],
    byte_mode: bool,
    mean_packet_size: f64,
    /// Transmission time of a packet of the mean size, in nanoseconds.
    typical_transmission: f64,
    ecn: bool,
    drop_above_maximum: bool,

    average: f64,
    /// Up to when the average has been decayed for an empty queue, in nanoseconds.
    decayed_until: u64,
    /// Of the last packet.
    probability: f64,
}

const fn min_threshold(name: &'static str, default: f64, meaning: &'static str) -> Parameter {
    Parameter::number(name, "packets", Some(default), 0.0, 1e9)
        .searched(1.0, 50.0, Scale::Linear)
        .described(meaning, "Cisco IOS, AF11 to AF13 in configurations, not confirmed")
}

const fn max_threshold(name: &'static str, meaning: &'static str) -> Parameter {
    Parameter::number(name, "packets", Some(40.0), 0.0, 1e9)
        .searched(6.0, 100.0, Scale::Linear)
        .described(meaning, "Cisco IOS, AF11 to AF13 in configurations, not confirmed")
}

const fn max_probability(name: &'static str, meaning: &'static str) -> Parameter {
    Parameter::number(name, "probability", Some(0.1), 0.0, 1.0)
        .above_minimum()
        .searched(1e-3, 1.0, Scale::Log)
        .described(meaning, "Cisco IOS: mark probability denominator 10")
}

impl Listed for Wred {
    const ALGORITHM: Algorithm = Algorithm {
        name: "wred",
        title: "Weighted RED",
        summary: "RED with thresholds for each colour of packets, on the average queue or as it is",
        source: "Cisco IOS, Congestion Avoidance Overview; Zhu et al., SIGCOMM 2015 (DCQCN)",
        parameters: &[
            Parameter::number("limit", "packets", Some(100.0), 1.0, 1e9)
                .whole()
                .described("packets the buffer holds", "a common default"),
            Parameter::number("weight", "1", Some(1.0 / 512.0), 0.0, 1.0)
                .above_minimum()
                .searched(1e-4, 1.0, Scale::Log)
                .described(
                    "weight of one arrival in the average; 1: the queue as it is",
                    "Cisco IOS: exponential weighting constant 9, so 2^-9",
                ),
            min_threshold(
                "green_min_threshold",
                32.0,
                "average queue below which no green packet is dropped",
            ),
            max_threshold(
                "green_max_threshold",
                "average queue above which all green packets are dropped",
            ),
            max_probability(
                "green_max_probability",
                "drop probability of green packets when the average reaches their maximum threshold",
            ),
            min_threshold("yellow_min_threshold", 28.0, "the same of yellow packets"),
            max_threshold("yellow_max_threshold", "the same of yellow packets"),
            max_probability("yellow_max_probability", "the same of yellow packets"),
            min_threshold("red_min_threshold", 24.0, "the same of red packets"),
            max_threshold("red_max_threshold", "the same of red packets"),
            max_probability("red_max_probability", "the same of red packets"),
            Parameter::switch("byte_mode", false).described(
                "the queue is measured in bytes, in packets of the mean size",
                "Cisco IOS and DCQCN have thresholds in bytes, too",
            ),
            Parameter::number("mean_packet_size", "bytes", Some(1000.0), 1.0, 65535.0).described(
                "packet size that sets the pace of decay while empty, and byte mode's unit",
                "as for red",
            ),
            Parameter::switch("ecn", true)
                .described("ECN-capable packets are marked, not dropped", "Cisco IOS has false"),
            Parameter::switch("drop_above_maximum", true).described(
                "ECN-capable packets too are dropped above their maximum threshold",
                "Cisco IOS; RFC 3168, section 7; DCQCN has false",
            ),
        ],
        ordered: &[
            ("green_min_threshold", "green_max_threshold"),
            ("yellow_min_threshold", "yellow_max_threshold"),
            ("red_min_threshold", "red_max_threshold"),
        ],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        let profile = |[min, max, probability]: [&str; 3]| {
            let (min_threshold, max_threshold) = (settings.number(min), settings.number(max));
            let slope = settings.number(probability) / (max_threshold - min_threshold);
            Profile { min_threshold, max_threshold, slope }
        };
        let mut wred = Self {
            limit: settings.number("limit") as u32,
            weight: settings.number("weight"),
            profiles: [
                profile(["green_min_threshold", "green_max_threshold", "green_max_probability"]),
                profile(["yellow_min_threshold", "yellow_max_threshold", "yellow_max_probability"]),
                profile(["red_min_threshold", "red_max_threshold", "red_max_probability"]),
            ],
            byte_mode: settings.switch("byte_mode"),
            mean_packet_size: settings.number("mean_packet_size"),
            typical_transmission: 0.0,
            ecn: settings.switch("ecn"),
            drop_above_maximum: settings.switch("drop_above_maximum"),
            average: 0.0,
            decayed_until: 0,
            probability: 0.0,
        };
        wred.link_changed(link);
        Ok(wred)
    }
}

impl Discipline for Wred {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let Self { average, decayed_until, probability, .. } = *self;
        *self = Self { average, decayed_until, probability, ..Self::new(settings, link)? };
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.typical_transmission = 1e9 / link.packets_per_second(self.mean_packet_size);
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        Some(self.average)
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
        self.update_average(arrival);
        let profile = self.profiles[arrival.colour as usize];
        let forced = self.average > profile.max_threshold;
        self.probability = if forced {
            1.0
        } else {
            profile.slope * (self.average - profile.min_threshold).max(0.0)
        };
        if arrival.queue_packets >= self.limit {
            return Verdict::Drop(DropReason::Overflow);
        }
        let falls = forced || (self.probability > 0.0 && coin.uniform() < self.probability);
        let markable = self.ecn && arrival.ecn_capable();
        if !falls {
            Verdict::Accept
        } else if markable && !(forced && self.drop_above_maximum) {
            Verdict::Mark
        } else {
            Verdict::Drop(if forced { DropReason::Forced } else { DropReason::Early })
        }
    }
}

impl Wred {
    #[inline]
    fn update_average(&mut self, arrival: &Arrival) {
        if arrival.queue_packets == 0 {
            let empty_for = arrival.now - arrival.empty_since.max(self.decayed_until);
            self.average *= (1.0 - self.weight).powf(empty_for as f64 / self.typical_transmission);
            self.decayed_until = arrival.now;
        }
        let queue = if self.byte_mode {
            arrival.queue_bytes as f64 / self.mean_packet_size
        } else {
            arrival.queue_packets.into()
        };
        self.average += self.weight * (queue - self.average);
    }
}
