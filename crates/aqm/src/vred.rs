use vermilion_parameters::{Packets, ParameterError, Probability, Seconds, choices, settings};

use crate::ns2_red::{Ns2Red, Ns2RedCommon, Rule, RuledRed};
use crate::{Arrival, LinkFacts};

const OURS: &str = "ours; the paper's levels are not known";

choices! {
    /// Effect of a velocity: on the probability while it lasts, or on the maximum probability for good.
    pub VredAction { Multiply = "multiply", Integrate = "integrate" }
}

choices! {
    /// Meaning of a change of the queue that is as large as the threshold of growth.
    pub VredThresholdRole { DeadBand = "dead-band", Trigger = "trigger" }
}

settings! {
    /// Settings of [`Vred`].
    pub VredSettings "vred": "VRED",
        "RED whose drop probability also follows how fast the queue grows",
        "Jamali, Alipasandi and Alipasandi, J. Advances in Computer Research 4(1), 2013",
        min_threshold < max_threshold, edge_1 < edge_2, edge_2 < edge_3,
        gain_1 < gain_2, gain_2 < gain_3, gain_3 < gain_4, lowest_probability < highest_probability;
    ..common: Ns2RedCommon;
    /// probability rises to 1 at twice the maximum threshold
    gentle: bool = true, "ns-2.35 (since 2001)";
    /// the velocity multiplies RED's probability, or moves max_probability each time it is taken
    action: VredAction = Multiply, "our readings; see docs/laboratory/disciplines-readings.md";
    /// growth_threshold is the change below which a velocity counts as 0, or at which a new one is
    /// taken
    threshold_role: VredThresholdRole = DeadBand, "our readings; see docs/laboratory/disciplines-readings.md";
    /// threshold of queue length growth
    growth_threshold: Packets = 5 in [> 0, 1e9] linear [1, 20], "the paper's q_th";
    /// time between two velocities; as a trigger: at most, if the queue changes less
    observation_time: Seconds = 0.1 in [1e-6, 1e3] log [0.01, 1],
        "ours; the paper has \"consecutive observations\"";
    /// growth, as a share of the link's rate, up to which the first level reaches
    edge_1: f64 = 0.1 in [0, 1e6], OURS;
    /// growth up to which the second level reaches
    edge_2: f64 = 0.3 in [0, 1e6], OURS;
    /// growth up to which the third level reaches
    edge_3: f64 = 0.6 in [0, 1e6], OURS;
    /// change of the probability on the first level, as a share of it
    gain_1: f64 = 0.05 in [0, 1], OURS;
    /// change of the probability on the second level
    gain_2: f64 = 0.1 in [0, 1], OURS;
    /// change of the probability on the third level
    gain_3: f64 = 0.2 in [0, 1], OURS;
    /// change of the probability on the fourth level
    gain_4: f64 = 0.4 in [0, 1], OURS;
    /// integrating: max_probability is never below this
    lowest_probability: Probability = 0.01 in [> 0, 1],
        "adaptive RED's bound; the paper's is not known";
    /// integrating: max_probability is never above this
    highest_probability: Probability = 0.5 in [0, 1],
        "adaptive RED's bound; the paper's is not known";
}

/// VRED: RED that also looks at how fast the queue grows.
///
/// Source: S. Jamali, B. Alipasandi, N. Alipasandi, "VRED: An improvement over RED algorithm by using
/// queue length growth velocity", Journal of Advances in Computer Research 4(1), 2013.
///
/// What is published: the velocity is the change of the queue between two observations over the
/// time between them; a "threshold of queue length growth" of 5 packets; a growing queue raises the
/// drop probability and a shrinking one lowers it; there are several levels by the size of the
/// velocity, and by how many per cent the probability changes depends on the level; all else is RED, as
/// ns-2 has it. The algorithm itself is in a figure that no public copy shows.
///
/// What is our reading, with the parameter that chooses another:
/// 1. What changes: `action` multiplies RED's probability for as long as the velocity is in force
///    ("multiply"), or changes max_probability at each new velocity, within bounds ("integrate").
/// 2. What the threshold does: `threshold_role`. "dead-band": a velocity is taken every
///    `observation_time`, and a change below `growth_threshold` counts as none. "trigger": a new velocity
///    is taken as soon as the queue has changed by so much, or after `observation_time` if it has not; the
///    text argues with the time a given change takes.
/// 3. Levels are shares of the link's rate: `edge_1` to `edge_3` part four of them, `gain_1` to `gain_4`
///    are what each changes. The numbers are ours.
/// 4. The queue is the one RED's average is made of: packets, or in byte mode packets of the mean size.
///
/// State: RED's, the queue and the time of the last observation, and the change in force. Update and
/// control law besides: those of [`Ns2Red`]. While the velocity is 0 this is that RED to the last bit.
/// Where RED's drops are the paper's, no reading drops 15.6 and 17.6 % less, as it says of its two
/// scenarios: the default, of the best that have its threshold and several levels, drops 1 % less; a
/// velocity at every change of a packet would drop 6 % less. `docs/laboratory/disciplines-readings.md` has them all.
///
/// Departures from the source (what is published of it):
/// 1. The defaults are those of `ns2-red` here; ns-2.35 has byte mode, 500 bytes and 50 packets.
/// 2. The queue is looked at when packets arrive; nothing is timed.
/// 3. A change of the link alone moves no automatic setting, a change of any setting moves all (see
///    [`Ns2Red`]).
pub type Vred = RuledRed<Velocity>;

/// The rule of [`Vred`].
#[derive(Clone, Debug)]
pub struct Velocity {
    set: VredSettings,
    /// Nanoseconds.
    observation_time: u64,
    packets_per_nanosecond: f64,
    /// Packets (byte mode: of the mean size).
    observed_queue: f64,
    observed_at: u64,
    /// Factor of RED's probability.
    factor: f64,
}

impl Rule for Velocity {
    type Settings = VredSettings;

    fn red(set: &VredSettings) -> (Ns2RedCommon, bool) {
        (set.common, set.gentle)
    }

    fn new(set: VredSettings, _red: &Ns2Red, link: LinkFacts) -> Result<Self, ParameterError> {
        let mut it = Self {
            set,
            observation_time: set.observation_time.nanoseconds(),
            packets_per_nanosecond: 0.0,
            observed_queue: 0.0,
            observed_at: 0,
            factor: 1.0,
        };
        it.link_changed(link);
        Ok(it)
    }

    fn keep(&mut self, before: &Self, scale: f64) {
        self.observed_queue = before.observed_queue * scale;
        self.observed_at = before.observed_at;
        self.factor = if self.integrates() { 1.0 } else { before.factor };
    }

    fn link_changed(&mut self, link: LinkFacts) {
        let size = self.set.common.mean_packet_size.0;
        self.packets_per_nanosecond = link.packets_per_second(size) / 1e9;
    }

    /// Takes a new velocity if it is time.
    #[inline]
    fn meet(&mut self, red: &mut Ns2Red, arrival: &Arrival) {
        red.update_average(arrival);
        let queue = red.queue(arrival) / red.unit();
        let change = queue - self.observed_queue;
        let elapsed = arrival.now - self.observed_at;
        let is_large = change.abs() >= self.set.growth_threshold.0;
        let is_late = elapsed >= self.observation_time;
        let is_trigger = self.set.threshold_role == VredThresholdRole::Trigger;
        if is_late || (is_trigger && is_large) {
            self.observed_queue = queue;
            self.observed_at = arrival.now;
            let counts = is_large || is_trigger;
            self.act(red, if counts { change } else { 0.0 }, elapsed);
        }
    }

    #[inline]
    fn probability(&self, red: &Ns2Red) -> f64 {
        (red.unspaced_probability() * self.factor).min(1.0)
    }
}

impl Velocity {
    fn integrates(&self) -> bool {
        self.set.action == VredAction::Integrate
    }

    /// The queue has changed by so many packets in so many nanoseconds.
    fn act(&mut self, red: &mut Ns2Red, change: f64, elapsed: u64) {
        let factor = 1.0 + self.gain(change.abs(), elapsed).copysign(change);
        if !self.integrates() {
            self.factor = factor;
        } else if factor != 1.0 {
            let bounds = (self.set.lowest_probability.0, self.set.highest_probability.0);
            red.set_max_probability((red.max_probability() * factor).clamp(bounds.0, bounds.1));
        }
    }

    /// Change of level by a velocity; 0 if nothing moved.
    fn gain(&self, change: f64, elapsed: u64) -> f64 {
        if change == 0.0 {
            return 0.0;
        }
        let set = &self.set;
        // The edges are multiplied by the time, so that a leap in no time is faster than all.
        let sent = elapsed as f64 * self.packets_per_nanosecond;
        let edges = [set.edge_1, set.edge_2, set.edge_3];
        let level = edges.iter().filter(|&&edge| change > edge * sent).count();
        [set.gain_1, set.gain_2, set.gain_3, set.gain_4][level]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decide, Discipline, Listed};

    const LINK: LinkFacts = LinkFacts { rate: 8e6, delay: 0.01 };

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
    fn assert_same(set: VredSettings, motion: impl Fn(u64) -> u32) {
        let mut red = Ns2Red::with(Default::default(), LINK).unwrap();
        let mut vred = Vred::with(set, LINK).unwrap();
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
        for action in [VredAction::Multiply, VredAction::Integrate] {
            let growing = |packets, seconds, threshold_role| VredSettings {
                action,
                threshold_role,
                growth_threshold: Packets(packets),
                observation_time: Seconds(seconds),
                ..Default::default()
            };
            // A dead band wider than every change: no velocity but 0, however the queue moves.
            let moving = |number: u64| (number * number % 37 + number / 200 % 20) as u32;
            assert_same(growing(1e6, 0.1, VredThresholdRole::DeadBand), moving);
            // One leap after the only observation, and then nothing: the velocity is 0 again.
            let standing = |number: u64| if number < 101 { 0 } else { 12 };
            assert_same(growing(1e6, 1e3, VredThresholdRole::Trigger), standing);
            assert_same(growing(12.5, 0.1, VredThresholdRole::DeadBand), standing);
        }
    }

    #[test]
    fn the_faster_the_queue_grows_the_more_is_dropped() {
        let probability_after = |change: i64, milliseconds: u64| {
            let common = Ns2RedCommon {
                weight: Some(1.0),
                min_threshold: Some(Packets(5.0)),
                max_threshold: Some(Packets(45.0)),
                max_probability: Probability(0.2),
                ..Default::default()
            };
            let set = VredSettings {
                common,
                observation_time: Seconds(1e3),
                threshold_role: VredThresholdRole::Trigger,
                ..Default::default()
            };
            let mut vred = Vred::with(set, LINK).unwrap();
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
