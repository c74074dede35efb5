//! RED as ns-2.35 runs it, the dialect behind most published RED results.
//!
//! Source: ns-2.35, `queue/red.cc` and `tcl/lib/ns-default.tcl` (facts, not code). State, update
//! and control law are those of [`Red`](crate::Red) with these differences, which change outcomes:
//!
//! 1. `wait`: after a drop the next `1/p` packets are let through and the drop falls uniformly on
//!    the `1/p` after those, so the drop rate is about two thirds of `p` instead of twice `p`.
//! 2. The estimator always takes a full step, also when the queue is empty, and while the link is
//!    idle (nothing in transmission) it takes one more for each whole packet time.
//! 3. Nothing is dropped early while fewer than two packets (in byte mode: two bytes) wait, and
//!    the first packet after the average enters the range is let through without a test.
//! 4. The count of packets runs on below the minimum threshold.
//! 5. Above the maximum threshold the probability is 1 but still spaced.
//! 6. Packets are marked only while the unspaced probability is below `mark_probability`; from there
//!    on, ECN-capable packets are dropped. The comparison is strict: also with 1, a probability of 1
//!    drops.
//! 7. Gentle's line from `max_probability` to 1 is drawn once, from the initial value; an
//!    adaptation that moves `max_probability` later leaves it where it was.
//! 8. Thresholds, weight, and the lower bound of adaptation can be automatic: they follow from the
//!    link's rate and delay.
//!
//! Departures from ns-2.35:
//! 1. Defaults: packet mode and a mean packet size of 1000 bytes (ns-2.35: byte mode, 500 bytes),
//!    a limit of 100 packets (50), and ECN-capable packets are marked (not). Set `byte_mode`,
//!    `mean_packet_size`, `limit` and `ecn` to have ns-2.35's own.
//! 2. `byte_mode` is both `bytes_` and `queue_in_bytes_` of ns-2, which can be set apart there.
//! 3. Automatic settings that contradict given ones are refused.
//! 4. The experimental `cautious_` and `ns1_compat_` options are left out.
//! 5. `mark_probability` always bounds marking. Without its bound (`use_mark_p_` off) ns-2 drops all
//!    packets above the maximum threshold unspaced.
//! 6. Automatic settings stay as they are when the link's rate or delay changes, as in ns-2, but a later
//!    change of any setting computes all of them from the link as it is by then. Give the values, or
//!    change a setting at the same time.
//!
//! With `drop` = "front" or "random" (ns-2's `drop_front_`, `drop_rand_`) a full buffer drops another
//! packet in the place of the one that arrives: the second, as ns-2 spares the first, or any of
//! those that wait and the one that arrives. It is one packet for one, whatever their sizes. Packets
//! dropped early are always those that arrive.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// See the module's head. [`SelfConfiguringRed`](crate::SelfConfiguringRed) and
/// [`AdaptiveRed`](crate::AdaptiveRed) are this machine with a rule that moves `max_probability`.
#[derive(Clone, Debug)]
pub struct Ns2Red {
    limit: f64,
    min_threshold: f64,
    max_threshold: f64,
    max_probability: f64,
    /// The maximum probability as it was set: an adaptation may have moved the one in force.
    given_probability: f64,
    weight: f64,
    gentle: bool,
    wait: bool,
    byte_mode: bool,
    ecn: bool,
    /// Packets are marked below it.
    mark_probability: f64,
    mean_packet_size: f64,
    /// Packets of the mean size that the link sends in a nanosecond.
    packets_per_nanosecond: f64,
    gentle_slope: f64,
    gentle_offset: f64,

    average: f64,
    probability: f64,
    count: u32,
    count_bytes: u64,
    in_range: bool,
    victim: Victim,
    /// Another packet has just been dropped for the one that arrives, of which this had been said.
    made_room: Option<Verdict>,
}

/// Which packet a full buffer drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Tail,
    Front,
    Random,
}

/// Rows that every discipline built on this machine shares: what guards the buffer and measures.
pub(crate) const LIMIT: Parameter = Parameter::number("limit", "packets", Some(100.0), 1.0, 1e9)
    .whole()
    .described("packets (of the mean size, in byte mode) the buffer holds", "ns-2.35 has 50");
pub(crate) const MIN_THRESHOLD: Parameter =
    Parameter::number("min_threshold", "packets", None, 0.0, 1e9)
        .searched(1.0, 50.0, Scale::Linear)
        .described(
            "average queue below which nothing is dropped; automatic: the larger of 5 packets and \
             half the target delay's worth",
            "ns-2.35",
        );
pub(crate) const MAX_THRESHOLD: Parameter =
    Parameter::number("max_threshold", "packets", None, 0.0, 1e9)
        .searched(6.0, 100.0, Scale::Linear)
        .described(
            "average queue at which the probability reaches max_probability; automatic: three \
             times the minimum threshold",
            "ns-2.35",
        );
pub(crate) const MAX_PROBABILITY: Parameter =
    Parameter::number("max_probability", "probability", Some(0.1), 0.0, 1.0)
        .above_minimum()
        .searched(1e-3, 1.0, Scale::Log)
        .described("drop probability at the maximum threshold", "ns-2.35: linterm 10");
pub(crate) const WEIGHT: Parameter = Parameter::number("weight", "1", None, 0.0, 1.0)
    .above_minimum()
    .searched(1e-4, 1.0, Scale::Log)
    .described("weight of one arrival in the average; automatic: see automatic_weight", "ns-2.35");
pub(crate) const AUTOMATIC_WEIGHT: Parameter =
    Parameter::choice("automatic_weight", "round-trip", &["round-trip", "second", "tenth-second"])
        .described(
            "the average's time constant when the weight is automatic: ten round trips (3 x the \
             link's delay, at least 100 ms), a second, or a tenth of a second",
            "ns-2.35: q_weight -1, 0, -2",
        );
pub(crate) const GENTLE: Parameter = Parameter::switch("gentle", true)
    .described("probability rises to 1 at twice the maximum threshold", "ns-2.35 (since 2001)");
pub(crate) const WAIT: Parameter = Parameter::switch("wait", true)
    .described("let 1/p packets pass after each drop before the next can come", "ns-2.35");
pub(crate) const BYTE_MODE: Parameter = Parameter::switch("byte_mode", false)
    .described("measure queue, limit and spacing in bytes", "ns-2.35 has true");
pub(crate) const MEAN_PACKET_SIZE: Parameter =
    Parameter::number("mean_packet_size", "bytes", Some(1000.0), 1.0, 65535.0)
        .described("packet size behind packet times and byte mode", "ns-2.35 has 500");
pub(crate) const ECN: Parameter = Parameter::switch("ecn", true)
    .described("ECN-capable packets are marked, not dropped", "ns-2.35 has false");
pub(crate) const MARK_PROBABILITY: Parameter =
    Parameter::number("mark_probability", "probability", Some(0.1), 0.0, 1.0).described(
        "from this probability on ECN-capable packets are dropped too",
        "ns-2.35: mark_p",
    );
pub(crate) const TARGET_DELAY: Parameter =
    Parameter::number("target_delay", "seconds", Some(0.005), 0.0, 1e3)
        .described("queueing delay behind the automatic minimum threshold", "ns-2.35");

impl Listed for Ns2Red {
    const ALGORITHM: Algorithm = Algorithm {
        name: "ns2-red",
        title: "RED of ns-2",
        summary: "RED with ns-2's spacing, gentle slope, byte mode and automatic settings",
        source: "ns-2.35, queue/red.cc",
        parameters: &[
            LIMIT,
            MIN_THRESHOLD,
            MAX_THRESHOLD,
            MAX_PROBABILITY,
            WEIGHT,
            AUTOMATIC_WEIGHT,
            GENTLE,
            WAIT,
            BYTE_MODE,
            MEAN_PACKET_SIZE,
            ECN,
            MARK_PROBABILITY,
            TARGET_DELAY,
            Parameter::choice("drop", "tail", &["tail", "front", "random"]).described(
                "which packet a full buffer drops: the arriving one, the second, or any",
                "ns-2.35: drop_tail_, drop_front_, drop_rand_",
            ),
        ],
        ordered: &[("min_threshold", "max_threshold")],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        let mean_packet_size = settings.number("mean_packet_size");
        let packets_per_second = link.packets_per_second(mean_packet_size);
        let unit = if settings.switch("byte_mode") { mean_packet_size } else { 1.0 };
        let min_threshold = settings.automatic("min_threshold").unwrap_or_else(|| {
            (settings.number("target_delay") * packets_per_second / 2.0).max(5.0)
        });
        let max_threshold = settings.automatic("max_threshold").unwrap_or(3.0 * min_threshold);
        if min_threshold >= max_threshold {
            let accepted = format!("a value above min_threshold, which is {min_threshold}");
            return Err(ParameterError::new("max_threshold", max_threshold, accepted));
        }
        let max_probability = settings.number("max_probability");
        Ok(Self {
            limit: settings.number("limit") * unit,
            min_threshold: min_threshold * unit,
            max_threshold: max_threshold * unit,
            max_probability,
            given_probability: max_probability,
            weight: settings
                .automatic("weight")
                .unwrap_or_else(|| automatic_weight(settings, link, packets_per_second)),
            gentle: settings.switch("gentle"),
            wait: settings.switch("wait"),
            byte_mode: settings.switch("byte_mode"),
            ecn: settings.switch("ecn"),
            mark_probability: settings.number("mark_probability"),
            mean_packet_size,
            packets_per_nanosecond: packets_per_second / 1e9,
            gentle_slope: (1.0 - max_probability) / (max_threshold * unit),
            gentle_offset: 2.0 * max_probability - 1.0,
            average: 0.0,
            probability: 0.0,
            count: 0,
            count_bytes: 0,
            in_range: false,
            // Disciplines built on this machine have no such parameter, and drop what arrives.
            victim: if settings.is("drop", "front") {
                Victim::Front
            } else if settings.is("drop", "random") {
                Victim::Random
            } else {
                Victim::Tail
            },
            made_room: None,
        })
    }
}

impl Discipline for Ns2Red {
    fn watches_departures(&self) -> bool {
        // Which packets wait at which place is not known where departures are no events.
        self.victim != Victim::Tail
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fresh = Self::new(settings, link)?;
        if fresh.watches_departures() != self.watches_departures() {
            let (value, accepted) = match fresh.victim {
                Victim::Tail => ("\"tail\"", "front or random, as the queue is running"),
                Victim::Front => ("\"front\"", "tail, as the queue is running"),
                Victim::Random => ("\"random\"", "tail, as the queue is running"),
            };
            return Err(ParameterError::new("drop", value, accepted));
        }
        // Scaled only if need be: settings given again change nothing, to the last bit.
        let scale =
            if fresh.byte_mode == self.byte_mode { 1.0 } else { fresh.unit() / self.unit() };
        let set_anew = fresh.given_probability != self.given_probability;
        *self = Self {
            average: self.average * scale,
            max_probability: if set_anew { fresh.max_probability } else { self.max_probability },
            probability: self.probability,
            count: self.count,
            count_bytes: self.count_bytes,
            in_range: self.in_range,
            ..fresh
        };
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.packets_per_nanosecond = link.packets_per_second(self.mean_packet_size) / 1e9;
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        Some(self.average / self.unit())
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        let overflow = match self.victim {
            Victim::Tail => "limit",
            Victim::Front => "limit: front",
            Victim::Random => "limit: random place",
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
        self.decide(arrival, coin)
    }
}

/// The weight that gives the average the asked-for time constant at full load.
fn automatic_weight(settings: &Settings, link: LinkFacts, packets_per_second: f64) -> f64 {
    let packets = if settings.is("automatic_weight", "second") {
        packets_per_second
    } else if settings.is("automatic_weight", "tenth-second") {
        packets_per_second / 10.0
    } else {
        let round_trip = (3.0 * (link.delay + 1.0 / packets_per_second)).max(0.1);
        10.0 * round_trip * packets_per_second
    };
    -(-1.0 / packets).exp_m1()
}

impl Ns2Red {
    /// Length of a packet in the queue: 1, or in byte mode its mean size.
    pub(crate) fn unit(&self) -> f64 {
        if self.byte_mode { self.mean_packet_size } else { 1.0 }
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

    /// Accepts, marks or drops, given the average.
    #[inline]
    pub(crate) fn decide(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        self.decide_by(arrival, coin, Self::unspaced_probability)
    }

    /// As [`Ns2Red::decide`] with another control law: the unspaced probability, at most 1, with the
    /// average in the range.
    #[inline]
    pub(crate) fn decide_by(
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
        let place = match self.victim {
            Victim::Tail => waiting,
            Victim::Front => waiting.min(1),
            Victim::Random => (coin.uniform() * (f64::from(waiting) + 1.0)) as u32,
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
        if self.byte_mode { arrival.queue_bytes as f64 } else { f64::from(arrival.queue_packets) }
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
        if self.ecn && arrival.ecn_capable() && self.probability < self.mark_probability {
            Verdict::Mark
        } else if self.probability >= 1.0 {
            Verdict::Drop(DropReason::Forced)
        } else {
            Verdict::Drop(DropReason::Early)
        }
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
        let count = if self.byte_mode {
            (self.count_bytes / self.mean_packet_size as u64) as f64
        } else {
            f64::from(self.count)
        };
        let passed = count * probability;
        let mut spaced = if self.wait {
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
        if self.byte_mode && spaced < 1.0 {
            spaced *= f64::from(size) / self.mean_packet_size;
        }
        spaced.min(1.0)
    }
}
