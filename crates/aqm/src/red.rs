//! Random Early Detection as published in 1993.
//!
//! Source: S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM Transactions on Networking 1(4), 1993; the gentle option from S. Floyd,
//! "Recommendation on using the gentle_ variant of RED", 2000.
//!
//! State: an exponentially weighted average of the queue, and the number of packets let through
//! since the last one that was not. Update, at each arrival: the average takes one step towards
//! the queue the packet meets; if the queue has been empty, it is first decayed as if the packets
//! that could have been sent in that time had each met an empty queue. Control law: no drops below
//! the minimum threshold, a probability rising linearly to `max_probability` at the maximum
//! threshold, and every packet above it (with the gentle option: a probability rising linearly
//! from `max_probability` to 1 at twice the maximum threshold).
//!
//! Departures from the source, all deliberate:
//! 1. The paper's text says that the packets between two marks are uniform on 1..1/p; its
//!    pseudo-code, by adding 1 to the count before using it, makes that 1..1/p - 1 after a mark.
//!    The text is followed: the count is used first and raised afterwards.
//! 2. "Marking" in the paper is dropping or setting a bit. Here a packet of an ECN-capable flow is
//!    marked and any other dropped; above the maximum threshold too, unless
//!    `drop_above_maximum` asks for RFC 3168's advice (section 7) to drop there.
//! 3. A full buffer drops the arriving packet; the paper leaves buffers out.
//! 4. Time for which the average has been decayed is not counted again. By the letter of the
//!    pseudo-code every packet that is dropped at an empty queue repeats the whole decay.
//! 5. Byte mode scales by the mean packet size; the paper by the largest.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Red {
    limit: u32,
    min_threshold: f64,
    max_threshold: f64,
    max_probability: f64,
    /// Rise of the probability between the thresholds, per packet.
    slope: f64,
    weight: f64,
    gentle: bool,
    byte_mode: bool,
    ecn: bool,
    drop_above_maximum: bool,
    mean_packet_size: f64,
    /// Transmission time of a packet of the mean size, in nanoseconds.
    typical_transmission: f64,

    average: f64,
    /// Up to when the average has been decayed for an empty queue, in nanoseconds.
    decayed_until: u64,
    /// Packets let through since the last mark or drop, while the average is in the range.
    count: f64,
}

impl Listed for Red {
    const ALGORITHM: Algorithm = Algorithm {
        name: "red",
        title: "Random Early Detection (1993)",
        summary: "Drops with a probability that rises with the average queue",
        source: "Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993",
        parameters: &[
            Parameter::number("limit", "packets", Some(100.0), 1.0, 1e9)
                .whole()
                .described("packets the buffer holds", "a common default; the paper has none"),
            Parameter::number("min_threshold", "packets", Some(5.0), 0.0, 1e9)
                .searched(1.0, 50.0, Scale::Linear)
                .described("average queue below which nothing is dropped", "the paper, section IV"),
            Parameter::number("max_threshold", "packets", Some(15.0), 0.0, 1e9)
                .searched(6.0, 100.0, Scale::Linear)
                .described(
                    "average queue above which everything is dropped",
                    "the paper, section IV",
                ),
            Parameter::number("max_probability", "probability", Some(0.02), 0.0, 1.0)
                .above_minimum()
                .searched(1e-3, 1.0, Scale::Log)
                .described(
                    "drop probability when the average reaches the maximum threshold",
                    "the paper: 1/50",
                ),
            Parameter::number("weight", "1", Some(0.002), 0.0, 1.0)
                .above_minimum()
                .searched(1e-4, 1.0, Scale::Log)
                .described("weight of one arrival in the average", "the paper, section IV"),
            Parameter::switch("gentle", false)
                .described("probability rises to 1 at twice the maximum threshold", "Floyd 2000"),
            Parameter::switch("byte_mode", false).described(
                "probability in proportion to the packet's size",
                "the paper, section IV",
            ),
            Parameter::switch("ecn", true)
                .described("ECN-capable packets are marked, not dropped", "RFC 3168"),
            Parameter::switch("drop_above_maximum", false).described(
                "ECN-capable packets too are dropped above the maximum threshold",
                "RFC 3168, section 7",
            ),
            Parameter::number("mean_packet_size", "bytes", Some(1000.0), 1.0, 65535.0).described(
                "packet size that sets the pace of decay while empty, and byte mode's unit",
                "the paper's s",
            ),
        ],
        ordered: &[("min_threshold", "max_threshold")],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        let mean_packet_size = settings.number("mean_packet_size");
        let min_threshold = settings.number("min_threshold");
        let max_threshold = settings.number("max_threshold");
        let max_probability = settings.number("max_probability");
        Ok(Self {
            limit: settings.number("limit") as u32,
            min_threshold,
            max_threshold,
            max_probability,
            slope: max_probability / (max_threshold - min_threshold),
            weight: settings.number("weight"),
            gentle: settings.switch("gentle"),
            byte_mode: settings.switch("byte_mode"),
            ecn: settings.switch("ecn"),
            drop_above_maximum: settings.switch("drop_above_maximum"),
            mean_packet_size,
            typical_transmission: typical_transmission(mean_packet_size, link),
            average: 0.0,
            decayed_until: 0,
            count: 0.0,
        })
    }
}

impl Discipline for Red {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let Self { average, decayed_until, count, .. } = *self;
        *self = Self { average, decayed_until, count, ..Self::new(settings, link)? };
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.typical_transmission = typical_transmission(self.mean_packet_size, link);
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        Some(self.average)
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability().min(1.0))
    }
}

impl<C: Coin> Decide<C> for Red {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.update_average(arrival);
        let verdict = self.choose(arrival, coin);
        if arrival.queue_packets >= self.limit {
            self.restart_count();
            return Verdict::Drop(DropReason::Overflow);
        }
        verdict
    }
}

/// Nanoseconds in which `link` sends a packet of `size` bytes.
fn typical_transmission(size: f64, link: LinkFacts) -> f64 {
    1e9 / link.packets_per_second(size)
}

impl Red {
    /// "if the queue is nonempty: avg <- (1 - w) avg + w q, else: m <- f(time - q_time),
    /// avg <- (1 - w)^m avg".
    #[inline]
    pub(crate) fn update_average(&mut self, arrival: &Arrival) {
        if arrival.queue_packets > 0 {
            self.average += self.weight * (f64::from(arrival.queue_packets) - self.average);
        } else {
            let empty_for = arrival.now - arrival.empty_since.max(self.decayed_until);
            self.average *= (1.0 - self.weight).powf(empty_for as f64 / self.typical_transmission);
            self.decayed_until = arrival.now;
        }
    }

    /// Return true if the average is so long that it may drop.
    pub(crate) fn is_above_minimum(&self) -> bool {
        self.average > self.min_threshold
    }

    /// A packet that was not let through has been dropped by others.
    pub(crate) fn restart_count(&mut self) {
        self.count = 0.0;
    }

    /// The probability p_b before spacing; 1 or more where every packet goes.
    #[inline]
    fn probability(&self) -> f64 {
        if self.average < self.min_threshold {
            0.0
        } else if self.average < self.max_threshold {
            self.slope * (self.average - self.min_threshold)
        } else if self.gentle {
            self.max_probability
                + (1.0 - self.max_probability) * (self.average - self.max_threshold)
                    / self.max_threshold
        } else {
            1.0
        }
    }

    /// Decides over a packet, the buffer left out of account.
    #[inline]
    pub(crate) fn choose(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        if self.average < self.min_threshold {
            self.count = 0.0;
            return Verdict::Accept;
        }
        let mut probability = self.probability();
        if probability >= 1.0 {
            self.count = 0.0;
            return self.notify(arrival, DropReason::Forced);
        }
        if self.byte_mode {
            probability = (probability * f64::from(arrival.size) / self.mean_packet_size).min(1.0);
        }
        // p_a = p_b / (1 - count p_b): the notice comes after a number of packets that is uniform
        // on 1..1/p_b instead of geometric. Written without the division.
        let certain_at = 1.0 - self.count * probability;
        if coin.uniform() * certain_at < probability {
            self.count = 0.0;
            self.notify(arrival, DropReason::Early)
        } else {
            self.count += 1.0;
            Verdict::Accept
        }
    }

    #[inline]
    fn notify(&self, arrival: &Arrival, reason: DropReason) -> Verdict {
        let too_late = reason == DropReason::Forced && self.drop_above_maximum;
        if self.ecn && arrival.ecn_capable() && !too_late {
            Verdict::Mark
        } else {
            Verdict::Drop(reason)
        }
    }
}
