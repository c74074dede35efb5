use vermilion_parameters::{BitPerSecond, Seconds, settings};

use crate::passed::Passed;
use crate::{Answer, RateLaw, State, Waiting};

settings! {
    /// Settings of [`Autorate`].
    pub AutorateSettings "autorate": "cake-autorate",
        "Steps down while delays are long, up while the load is high",
        "lynxthecat/cake-autorate 94238be";
    /// least rate
    minimum: BitPerSecond = 5e6 in [1e3, 1e13] log [1e5, 1e9], "cake-autorate: min_dl_shaper_rate_kbps";
    /// rate without load
    base: BitPerSecond = 20e6 in [1e3, 1e13] log [1e5, 1e9], "cake-autorate: base_dl_shaper_rate_kbps";
    /// largest rate
    maximum: BitPerSecond = 80e6 in [1e3, 1e13] log [1e5, 1e9], "cake-autorate: max_dl_shaper_rate_kbps";
    /// delay above the baseline that counts as bufferbloat
    delay_threshold: Seconds = 0.03 in [0, 10] log [0.005, 0.2], "cake-autorate: owd_delta_delay_thr_ms";
    /// mean delay up to which the rate rises fastest
    up_threshold: Seconds = 0.01 in [0, 10], "cake-autorate: avg_owd_delta_max_adjust_up_thr_ms";
    /// mean delay from which the rate falls fastest
    down_threshold: Seconds = 0.06 in [0, 10], "cake-autorate: avg_owd_delta_max_adjust_down_thr_ms";
    /// delays that are looked at
    window: u32 = 6 in [1, 64], "cake-autorate: bufferbloat_detection_window";
    /// long ones among them that are bufferbloat
    detection: u32 = 3 in [1, 64], "cake-autorate: bufferbloat_detection_thr";
    /// rate after a step down at the threshold, as a part of it
    least_down: f64 = 0.99 in [> 0, 1], "cake-autorate: shaper_rate_min_adjust_down_bufferbloat";
    /// the same at the longest delays
    most_down: f64 = 0.75 in [> 0, 1], "cake-autorate: shaper_rate_max_adjust_down_bufferbloat";
    /// rate after a step up at the threshold
    least_up: f64 = 1 in [1, 2], "cake-autorate: shaper_rate_min_adjust_up_load_high";
    /// the same at short delays
    most_up: f64 = 1.04 in [1, 2], "cake-autorate: shaper_rate_max_adjust_up_load_high";
    /// step down towards the rate without load
    down_low: f64 = 0.99 in [> 0, 1], "cake-autorate: shaper_rate_adjust_down_load_low";
    /// step up towards it
    up_low: f64 = 1.01 in [1, 2], "cake-autorate: shaper_rate_adjust_up_load_low";
    /// load that is high, as a part of the rate
    high_load: f64 = 0.75 in [0, 1], "cake-autorate: high_load_thr";
    /// time between two steps down
    refractory: Seconds = 0.3 in [0, 10], "cake-autorate: bufferbloat_refractory_period_ms";
    /// time between two steps towards the rate without load
    decay: Seconds = 1 in [0, 100], "cake-autorate: decay_refractory_period_ms";
    /// time over which the load is measured
    monitoring: Seconds = 0.2 in [0.01, 10], "cake-autorate: monitor_achieved_rates_interval_ms";
}

/// A full packet, in bits: delays are compensated for while it passes the shaper.
const PACKET_BITS: i64 = 8 * 1514;
/// Answers that are older do not count, in us.
const OLDEST: u64 = 500_000;
/// Baseline at the beginning, in us.
const FIRST_BASELINE: i64 = 100_000;

/// cake-autorate's rules for one direction, in its whole microseconds, kbit/s and thousandths.
///
/// Left out are what reflectors and pingers need (health, stalls, sleep): whoever sends the probes has it.
#[derive(Clone, Debug)]
pub struct Autorate {
    minimum: i64,
    base: i64,
    maximum: i64,
    /// For the fastest rise, for bufferbloat, for the fastest fall; in us.
    thresholds: [i64; 3],
    detection: usize,
    down: [i64; 2],
    up: [i64; 2],
    low: [i64; 2],
    high_percent: i64,
    refractory: u64,
    decay: u64,
    monitoring: u64,
    rate: i64,
    deltas: Vec<i64>,
    delayed: Vec<bool>,
    place: usize,
    last_bufferbloat: u64,
    last_decay: u64,
    percent: i64,
    is_new: bool,
    passed: Passed,
    measured: u64,
    baselines: Vec<(u32, i64)>,
    last_delta: Option<i64>,
}

impl Autorate {
    /// The law of these settings.
    #[must_use]
    pub fn new(set: AutorateSettings) -> Self {
        let kbps = |rate: BitPerSecond| (rate.0 / 1000.0).round().max(1.0) as i64;
        let us = |time: Seconds| (time.0 * 1e6).round() as i64;
        let thousandths = |part: f64| (part * 1000.0).round() as i64;
        let window = set.window as usize;
        Self {
            minimum: kbps(set.minimum),
            base: kbps(set.base),
            maximum: kbps(set.maximum).max(kbps(set.minimum)),
            thresholds: [set.up_threshold, set.delay_threshold, set.down_threshold].map(us),
            detection: set.detection as usize,
            down: [set.least_down, set.most_down].map(thousandths),
            up: [set.least_up, set.most_up].map(thousandths),
            low: [set.down_low, set.up_low].map(thousandths),
            high_percent: (set.high_load * 100.0).round() as i64,
            refractory: us(set.refractory) as u64,
            decay: us(set.decay) as u64,
            monitoring: set.monitoring.nanoseconds(),
            rate: kbps(set.base),
            deltas: vec![0; window],
            delayed: vec![false; window],
            place: 0,
            last_bufferbloat: 0,
            last_decay: 0,
            percent: 0,
            is_new: false,
            passed: Passed::default(),
            measured: 0,
            baselines: Vec::new(),
            last_delta: None,
        }
    }

    /// Takes what has passed since the last such call, in kbit/s.
    fn on_achieved(&mut self, kbps: i64) {
        self.percent = 100 * kbps / self.rate;
        self.is_new = true;
    }

    /// Takes the delay of an answer above its baseline, and sets the rate; in us.
    fn on_delta(&mut self, now: u64, delta: i64) {
        let packet = 1000 * PACKET_BITS / self.rate;
        let [up_threshold, threshold, down_threshold] =
            self.thresholds.map(|threshold| threshold + packet);
        self.deltas[self.place] = delta;
        self.delayed[self.place] = delta > threshold;
        self.place = (self.place + 1) % self.deltas.len();
        let average = self.deltas.iter().sum::<i64>() / self.deltas.len() as i64;
        let is_bloated = self.delayed.iter().filter(|&&delayed| delayed).count() >= self.detection;
        let is_ready = now > self.last_bufferbloat + self.refractory;
        let is_high = self.percent > self.high_percent;
        if is_bloated && is_ready {
            let share = share(average - threshold, down_threshold - threshold);
            let [least, most] = self.down;
            self.rate = self.rate * (1000 * least - share * (least - most)) / 1_000_000;
            (self.last_bufferbloat, self.last_decay) = (now, now);
        } else if !is_bloated && is_high && self.is_new && is_ready {
            let share = share(threshold - average, threshold - up_threshold);
            let [least, most] = self.up;
            self.rate = self.rate * (1000 * least - share * (least - most)) / 1_000_000;
            self.last_decay = now;
            self.is_new = false;
        } else if !is_bloated && !is_high && now > self.last_decay + self.decay {
            let [down, up] = self.low;
            self.rate = if self.rate > self.base {
                (self.rate * down / 1000).max(self.base)
            } else {
                (self.rate * up / 1000).min(self.base)
            };
            self.last_decay = now;
        }
        self.rate = self.rate.clamp(self.minimum, self.maximum);
    }

    /// Baseline of a reflector after this delay, in us: slow to rise and quick to fall.
    fn baseline(&mut self, reflector: u32, delay: i64) -> i64 {
        let place = self.baselines.iter().position(|&(number, _)| number == reflector);
        let place = place.unwrap_or_else(|| {
            self.baselines.truncate(63);
            self.baselines.push((reflector, FIRST_BASELINE));
            self.baselines.len() - 1
        });
        let baseline = &mut self.baselines[place].1;
        let weight = if delay >= *baseline { 1_000 } else { 900_000 };
        *baseline = (weight * delay + (1_000_000 - weight) * *baseline) / 1_000_000;
        *baseline
    }
}

/// Thousandths from 0 to 1000; all where there is no whole.
fn share(part: i64, whole: i64) -> i64 {
    if whole <= 0 { 1000 } else { (1000 * part.max(0) / whole).clamp(0, 1000) }
}

impl RateLaw for Autorate {
    fn probe_sent(&mut self, _: u64, _: u64) {}

    fn answered(&mut self, answer: Answer) {
        let trip = answer.received.saturating_sub(answer.sent) / 1000;
        if trip > OLDEST {
            return;
        }
        // Without clocks it halves the round trip, whichever direction is slow.
        let delay = answer.one_way.map_or(trip as i64 / 2, |delay| delay / 1000);
        let delay = delay.clamp(-1 << 40, 1 << 40);
        let delta = delay - self.baseline(answer.reflector, delay);
        self.last_delta = Some(delta);
        self.on_delta(answer.received / 1000, delta);
    }

    fn lost(&mut self, _: u64) {}

    fn rate(&mut self, now: u64, bytes: u64) -> f64 {
        self.passed.note(now, bytes);
        let span = now.saturating_sub(self.measured);
        if span >= self.monitoring {
            if let Some(rate) = self.passed.rate(span) {
                self.on_achieved((rate / 1000.0).min(1e12) as i64);
            }
            self.measured = now;
        }
        self.rate as f64 * 1000.0
    }

    fn state(&self) -> State {
        let waiting = self.last_delta.map(|delta| {
            if delta > self.thresholds[1] {
                Waiting::Behind
            } else if self.percent > self.high_percent {
                Waiting::Here
            } else {
                Waiting::Nowhere
            }
        });
        State {
            rate: self.rate as f64 * 1000.0,
            wait_behind: self.last_delta.map(|delta| delta.max(0) as f64 / 1e6),
            waiting,
            ..State::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    #[test]
    fn decisions_are_those_of_the_script() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/reference/cake_autorate_decisions.json"
        );
        let given: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for (place, way) in ["dl", "ul"].into_iter().enumerate() {
            let number = |name: &str| given["configuration"][name].as_f64().unwrap();
            let of_way = |name: &str, after: &str| number(&format!("{name}{way}_{after}"));
            let rate = |name: &str| BitPerSecond(of_way(name, "shaper_rate_kbps") * 1e3);
            let delay = |name: &str| Seconds(of_way("", name) / 1e3);
            let step = |name: &str| number(&format!("shaper_rate_{name}"));
            let mut law = Autorate::new(AutorateSettings {
                minimum: rate("min_"),
                base: rate("base_"),
                maximum: rate("max_"),
                delay_threshold: delay("owd_delta_delay_thr_ms"),
                up_threshold: delay("avg_owd_delta_max_adjust_up_thr_ms"),
                down_threshold: delay("avg_owd_delta_max_adjust_down_thr_ms"),
                window: number("bufferbloat_detection_window") as u32,
                detection: number("bufferbloat_detection_thr") as u32,
                least_down: step("min_adjust_down_bufferbloat"),
                most_down: step("max_adjust_down_bufferbloat"),
                least_up: step("min_adjust_up_load_high"),
                most_up: step("max_adjust_up_load_high"),
                down_low: step("adjust_down_load_low"),
                up_low: step("adjust_up_load_low"),
                high_load: number("high_load_thr"),
                refractory: Seconds(number("bufferbloat_refractory_period_ms") / 1e3),
                decay: Seconds(number("decay_refractory_period_ms") / 1e3),
                ..AutorateSettings::default()
            });
            let mut rates = given["rates_kbps"].as_array().unwrap().iter();
            for event in given["events"].as_array().unwrap() {
                if event[0] == "achieved" {
                    law.on_achieved(event[1 + place].as_i64().unwrap());
                } else {
                    law.on_delta(event[1].as_u64().unwrap(), event[2 + place].as_i64().unwrap());
                    assert_eq!(law.rate, rates.next().unwrap()[place].as_i64().unwrap());
                }
            }
            assert!(rates.next().is_none());
        }
    }
}
