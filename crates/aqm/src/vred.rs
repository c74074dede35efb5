//! VRED: RED that also looks at how fast the queue grows.
//!
//! Source: S. Jamali, B. Alipasandi, N. Alipasandi, "VRED: An improvement over RED algorithm by using
//! queue length growth velocity", Journal of Advances in Computer Research 4(1), 2013.
//!
//! What is published: the velocity is the change of the queue between two observations over the
//! time between them; a "threshold of queue length growth" of 5 packets; a growing queue raises the
//! drop probability and a shrinking one lowers it; there are several levels by the size of the
//! velocity, and by how many per cent the probability changes depends on the level; all else is RED, as
//! ns-2 has it. The algorithm itself is in a figure that no public copy shows.
//!
//! What is our reading, with the parameter that chooses another:
//! 1. What changes: `action` multiplies RED's probability for as long as the velocity is in force
//!    ("multiply"), or changes max_probability at each new velocity, within bounds ("integrate").
//! 2. What the threshold does: `threshold_role`. "dead-band": a velocity is taken every
//!    `observation_time`, and a change below `growth_threshold` counts as none. "trigger": a new velocity
//!    is taken as soon as the queue has changed by so much, or after `observation_time` if it has not; the
//!    text argues with the time a given change takes.
//! 3. Levels are shares of the link's rate: `edge_1` to `edge_3` part four of them, `gain_1` to `gain_4`
//!    are what each changes. The numbers are ours.
//! 4. The queue is the one RED's average is made of: packets, or in byte mode packets of the mean size.
//!
//! State: RED's, the queue and the time of the last observation, and the change in force. Update and
//! control law besides: those of [`Ns2Red`]. While the velocity is 0 this is that RED to the last bit.
//! Where RED's drops are the paper's, no reading drops 15.6 and 17.6 % less, as it says of its two
//! scenarios: the default, of the best that have its threshold and several levels, drops 1 % less; a
//! velocity at every change of a packet would drop 6 % less. `docs/disciplines-readings.md` has them all.
//!
//! Departures from the source (what is published of it):
//! 1. The defaults are those of `ns2-red` here; ns-2.35 has byte mode, 500 bytes and 50 packets.
//! 2. The queue is looked at when packets arrive; nothing is timed.
//! 3. A change of the link alone moves no automatic setting, a change of any setting moves all (see
//!    [`Ns2Red`]).

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::ns2_red::{
    AUTOMATIC_WEIGHT, BYTE_MODE, ECN, GENTLE, LIMIT, MARK_PROBABILITY, MAX_PROBABILITY,
    MAX_THRESHOLD, MEAN_PACKET_SIZE, MIN_THRESHOLD, TARGET_DELAY, WAIT, WEIGHT,
};
use crate::{Arrival, Coin, Decide, Discipline, LinkFacts, Listed, Ns2Red, Verdict};

/// Levels of velocity.
const LEVELS: usize = 4;

const OURS: &str = "ours; the paper's levels are not known";

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Vred {
    red: Ns2Red,
    integrates: bool,
    is_trigger: bool,
    /// Packets (byte mode: of the mean size).
    growth_threshold: f64,
    /// Nanoseconds.
    observation_time: u64,
    /// Upper edges of all levels but the last, as shares of the link's rate.
    edges: [f64; LEVELS - 1],
    gains: [f64; LEVELS],
    lowest_probability: f64,
    highest_probability: f64,
    mean_packet_size: f64,
    /// Packets of the mean size that the link sends in a nanosecond.
    packets_per_nanosecond: f64,

    observed_queue: f64,
    /// Nanoseconds.
    observed_at: u64,
    /// Factor that RED's probability is multiplied by; 1 while the queue stands still.
    factor: f64,
}

impl Listed for Vred {
    const ALGORITHM: Algorithm = Algorithm {
        name: "vred",
        title: "VRED",
        summary: "RED whose drop probability also follows how fast the queue grows",
        source: "Jamali, Alipasandi and Alipasandi, J. Advances in Computer Research 4(1), 2013",
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
            Parameter::choice("action", "multiply", &["multiply", "integrate"]).described(
                "the velocity multiplies RED's probability, or moves max_probability each time it \
                 is taken",
                "our readings; see docs/disciplines-readings.md",
            ),
            Parameter::choice("threshold_role", "dead-band", &["dead-band", "trigger"]).described(
                "growth_threshold is the change below which a velocity counts as 0, or at which a \
                 new one is taken",
                "our readings; see docs/disciplines-readings.md",
            ),
            Parameter::number("growth_threshold", "packets", Some(5.0), 0.0, 1e9)
                .above_minimum()
                .searched(1.0, 20.0, Scale::Linear)
                .described("threshold of queue length growth", "the paper's q_th"),
            Parameter::number("observation_time", "seconds", Some(0.1), 1e-6, 1e3)
                .searched(0.01, 1.0, Scale::Log)
                .described(
                    "time between two velocities; as a trigger: at most, if the queue changes less",
                    "ours; the paper has \"consecutive observations\"",
                ),
            Parameter::number("edge_1", "1", Some(0.1), 0.0, 1e6).described(
                "growth, as a share of the link's rate, up to which the first level reaches",
                OURS,
            ),
            Parameter::number("edge_2", "1", Some(0.3), 0.0, 1e6)
                .described("growth up to which the second level reaches", OURS),
            Parameter::number("edge_3", "1", Some(0.6), 0.0, 1e6)
                .described("growth up to which the third level reaches", OURS),
            Parameter::number("gain_1", "1", Some(0.05), 0.0, 1.0)
                .described("change of the probability on the first level, as a share of it", OURS),
            Parameter::number("gain_2", "1", Some(0.1), 0.0, 1.0)
                .described("change of the probability on the second level", OURS),
            Parameter::number("gain_3", "1", Some(0.2), 0.0, 1.0)
                .described("change of the probability on the third level", OURS),
            Parameter::number("gain_4", "1", Some(0.4), 0.0, 1.0)
                .described("change of the probability on the fourth level", OURS),
            Parameter::number("lowest_probability", "probability", Some(0.01), 0.0, 1.0)
                .above_minimum()
                .described(
                    "integrating: max_probability is never below this",
                    "adaptive RED's bound; the paper's is not known",
                ),
            Parameter::number("highest_probability", "probability", Some(0.5), 0.0, 1.0).described(
                "integrating: max_probability is never above this",
                "adaptive RED's bound; the paper's is not known",
            ),
        ],
        ordered: &[
            ("min_threshold", "max_threshold"),
            ("edge_1", "edge_2"),
            ("edge_2", "edge_3"),
            ("gain_1", "gain_2"),
            ("gain_2", "gain_3"),
            ("gain_3", "gain_4"),
            ("lowest_probability", "highest_probability"),
        ],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        let mut vred = Self {
            red: Ns2Red::new(settings, link)?,
            integrates: settings.is("action", "integrate"),
            is_trigger: settings.is("threshold_role", "trigger"),
            growth_threshold: settings.number("growth_threshold"),
            observation_time: (settings.number("observation_time") * 1e9).round() as u64,
            edges: ["edge_1", "edge_2", "edge_3"].map(|name| settings.number(name)),
            gains: ["gain_1", "gain_2", "gain_3", "gain_4"].map(|name| settings.number(name)),
            lowest_probability: settings.number("lowest_probability"),
            highest_probability: settings.number("highest_probability"),
            mean_packet_size: settings.number("mean_packet_size"),
            packets_per_nanosecond: 0.0,
            observed_queue: 0.0,
            observed_at: 0,
            factor: 1.0,
        };
        vred.measure_link(link);
        Ok(vred)
    }
}

impl Discipline for Vred {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fresh = Self::new(settings, link)?;
        // The same queue in the new unit: settings given again change nothing, to the last bit.
        let same = fresh.red.unit() == self.red.unit();
        let scale = if same { 1.0 } else { self.red.unit() / fresh.red.unit() };
        self.red.reconfigure(settings, link)?;
        *self = Self {
            red: self.red.clone(),
            observed_queue: self.observed_queue * scale,
            observed_at: self.observed_at,
            factor: if fresh.integrates { 1.0 } else { self.factor },
            ..fresh
        };
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.red.link_changed(link);
        self.measure_link(link);
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        self.red.average_queue()
    }

    fn drop_probability(&self) -> Option<f64> {
        self.red.drop_probability()
    }
}

impl<C: Coin> Decide<C> for Vred {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.red.update_average(arrival);
        self.observe(arrival);
        let factor = self.factor;
        self.red.decide_by(arrival, coin, |red| (red.unspaced_probability() * factor).min(1.0))
    }
}

impl Vred {
    fn measure_link(&mut self, link: LinkFacts) {
        self.packets_per_nanosecond = link.packets_per_second(self.mean_packet_size) / 1e9;
    }

    /// Takes a new velocity if it is time.
    #[inline]
    fn observe(&mut self, arrival: &Arrival) {
        let queue = self.red.queue(arrival) / self.red.unit();
        let change = queue - self.observed_queue;
        let elapsed = arrival.now - self.observed_at;
        let is_large = change.abs() >= self.growth_threshold;
        let is_late = elapsed >= self.observation_time;
        if is_late || (self.is_trigger && is_large) {
            self.observed_queue = queue;
            self.observed_at = arrival.now;
            let counts = is_large || self.is_trigger;
            self.act(if counts { change } else { 0.0 }, elapsed);
        }
    }

    /// The queue has changed by so many packets in so many nanoseconds.
    fn act(&mut self, change: f64, elapsed: u64) {
        let factor = 1.0 + self.gain(change.abs(), elapsed).copysign(change);
        if self.integrates {
            let moved = self.red.max_probability() * factor;
            if factor != 1.0 {
                let bounded = moved.clamp(self.lowest_probability, self.highest_probability);
                self.red.set_max_probability(bounded);
            }
        } else {
            self.factor = factor;
        }
    }

    /// Change of level by a velocity; 0 if nothing moved.
    fn gain(&self, change: f64, elapsed: u64) -> f64 {
        if change == 0.0 {
            return 0.0;
        }
        // The edges are multiplied by the time, so that a leap in no time is faster than all.
        let sent = elapsed as f64 * self.packets_per_nanosecond;
        let level = self.edges.iter().filter(|&&edge| change > edge * sent).count();
        self.gains[level]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vermilion_parameters::{Value, Values};

    const LINK: LinkFacts = LinkFacts { rate: 8e6, delay: 0.01 };

    fn with<D: Listed>(numbers: &[(&str, f64)], choices: &[(&str, &str)]) -> D {
        let mut values: Values =
            numbers.iter().map(|&(name, it)| (name.to_owned(), Value::Number(it))).collect();
        values.extend(
            choices.iter().map(|&(name, it)| (name.to_owned(), Value::Choice(it.to_owned()))),
        );
        let settings = Settings::resolve(&D::ALGORITHM, &values).unwrap();
        D::new(&settings, LINK).unwrap()
    }

    fn arrival(now: u64, queue: u32) -> Arrival {
        Arrival {
            now,
            size: 1000,
            queue_packets: queue,
            queue_bytes: 1000 * u64::from(queue),
            empty_since: now,
            ..Arrival::default()
        }
    }

    /// Plays a queue that `motion` gives for each of many packets to both, with the same coins.
    fn assert_same(mut vred: Vred, motion: impl Fn(u64) -> u32) {
        let mut red: Ns2Red = with(&[], &[]);
        let mut coins = [1_u64, 1];
        for number in 0..20_000 {
            let arrival = arrival(number * 1_000_000, motion(number));
            let [mut first, mut second] = coins.each_mut().map(|state| {
                || {
                    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (*state >> 11) as f64 / (1_u64 << 53) as f64
                }
            });
            assert_eq!(
                red.on_arrival(&arrival, &mut first),
                vred.on_arrival(&arrival, &mut second),
                "packet {number}"
            );
            let bits = |figure: Option<f64>| figure.map(f64::to_bits);
            assert_eq!(bits(red.drop_probability()), bits(vred.drop_probability()), "{number}");
            assert_eq!(bits(red.average_queue()), bits(vred.average_queue()), "{number}");
            assert_eq!(coins[0], coins[1], "as many coins, packet {number}");
        }
    }

    #[test]
    fn while_the_queue_stands_still_it_is_its_red_to_the_last_bit() {
        for action in ["multiply", "integrate"] {
            for role in ["trigger", "dead-band"] {
                let choices = [("action", action), ("threshold_role", role)];
                // A dead band wider than every change: no velocity but 0, however the queue moves.
                let moving = |number: u64| (number * number % 37 + number / 200 % 20) as u32;
                if role == "dead-band" {
                    assert_same(with(&[("growth_threshold", 1e6)], &choices), moving);
                }
                // One leap after the only observation, and then nothing: the velocity is 0 again.
                let standing = |number: u64| if number < 101 { 0 } else { 12 };
                let leap = [("growth_threshold", 12.5), ("observation_time", 0.1)];
                let late = [("growth_threshold", 1e6), ("observation_time", 1e3)];
                assert_same(
                    with(if role == "trigger" { &late } else { &leap }, &choices),
                    standing,
                );
            }
        }
    }

    #[test]
    fn the_faster_the_queue_grows_the_more_is_dropped() {
        let probability_after = |change: i64, milliseconds: u64| {
            let fixed = [
                ("weight", 1.0),
                ("min_threshold", 5.0),
                ("max_threshold", 45.0),
                ("max_probability", 0.2),
                ("observation_time", 1e3),
            ];
            let mut vred: Vred = with(&fixed, &[("threshold_role", "trigger")]);
            let mut high_coin = || 0.999_999;
            let before = (25 - change) as u32;
            vred.on_arrival(&arrival(1_000_000, before), &mut high_coin);
            vred.on_arrival(&arrival(1_000_000 * (1 + milliseconds), 25), &mut high_coin);
            vred.drop_probability().unwrap()
        };
        // 5 packets in 100, 20, 10 and 5 ms, a packet being sent in 1 ms: a velocity on each level.
        let times = [100, 20, 10, 5];
        let still = 0.1;
        let rising = times.map(|time| probability_after(5, time));
        let falling = times.map(|time| probability_after(-5, time));
        assert!(rising.iter().all(|&probability| probability > still), "{rising:?}");
        assert!(falling.iter().all(|&probability| probability < still), "{falling:?}");
        assert!(rising.is_sorted_by(|a, b| a < b), "{rising:?}");
        assert!(falling.is_sorted_by(|a, b| a > b), "{falling:?}");
    }
}
