use vermilion_parameters::{
    Bytes, Packets, ParameterError, Probability, Seconds, Settings, choices, settings,
};

use crate::{Arrival, Coin, Decide, Departure, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// A unit of time in nanoseconds, as a power of two.
const UNIT_LOG: u32 = 6;
const UNITS_IN_A_SECOND: u64 = 1_000_000_000 >> UNIT_LOG;
/// Probability 1.
const CERTAIN: u64 = u64::MAX >> 8;
/// Two hundredths: the largest step up, and what a very long delay adds.
const LARGEST_STEP: i64 = (CERTAIN / 50) as i64;
/// A delay of 250 ms, from which on the probability grows faster.
const LONG_DELAY: u64 = 250_000_000 >> UNIT_LOG;
/// When the timer of Linux expires first, in nanoseconds.
const LINUX_BEGINS: u64 = 500_000_000;
/// Bytes over which a departure rate is measured, and below which it is not.
const MEASURED_BYTES: u64 = 16_384;
/// Binary places of the departure rate.
const RATE_PLACES: u32 = 8;

choices! {
    /// Arithmetic of PIE.
    pub PieDialect { Rfc8033 = "rfc8033", Linux = "linux" }
}

settings! {
    /// Settings of PIE's controller, of one queue or of each of many.
    pub PieLaw;
    /// queueing delay to hold, of each flow's queue if there are many
    target: Seconds = 0.015 in [0, 10] log [1e-3, 0.1], "RFC 8033, section 4.2";
    /// time between two updates
    interval: Seconds = 0.015 in [1e-4, 10], "RFC 8033, section 4.2: T_UPDATE";
    /// gain, per second, for the distance from the target
    alpha: f64 = 0.125 in [0, 32] log [0.01, 2], "RFC 8033, section 4.2";
    /// gain, per second, for the growth of the delay
    beta: f64 = 1.25 in [0, 32] log [0.1, 20], "RFC 8033, section 4.2";
    /// busy time after quiet in which nothing is dropped early
    burst_allowance: Seconds = 0.15 in [0, 100], "RFC 8033: MAX_BURST";
    /// nothing is dropped early while less than two of these wait; byte mode's unit
    maximum_packet_size: Bytes<u32> = 1514 in [1, 65535], "Linux: the device's MTU";
    /// probability in proportion to the packet's size
    byte_mode: bool = false, "Linux: bytemode";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "Linux has false";
    /// above this probability ECN-capable packets are dropped too
    mark_probability: Probability = 0.1 in [0, 1], "RFC 8033, section 5.1; Linux: ecn_prob";
    /// delay from backlog and measured departure rate, not from the packets' own waiting
    estimate_rate: bool = false, "Linux: dq_rate_estimator";
}

settings! {
    /// Settings of [`Pie`].
    pub PieSettings "pie": "PIE",
        "Drops with a probability that a controller moves to hold the queueing delay",
        "RFC 8033; Linux 6.12, net/sched/sch_pie.c";
    ..law: PieLaw;
    /// packets the buffer holds
    limit: Packets<u32> = 1000 in [1, 1e9], "Linux";
    /// when updates begin, and whether the probability ends at 1
    dialect: PieDialect = Rfc8033, "RFC 8033; Linux: half a second, and it does not";
}

/// Fixed settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    set: PieLaw,
    target: u64,
    /// Nanoseconds.
    interval: u64,
    /// Steps of the probability for each unit of time, at probabilities from 10 % on.
    alpha: u64,
    beta: u64,
    burst_allowance: u64,
    maximum_packet_size: u64,
    mark_probability: u64,
    /// True if the probability may exceed 1.
    unbounded: bool,
}

/// PIE: a proportional integral controller of the queueing delay.
///
/// Source: R. Pan, P. Natarajan, F. Baker, G. White, "Proportional Integral Controller Enhanced
/// (PIE)", RFC 8033, 2017, as Linux 6.12 runs it (`net/sched/sch_pie.c`, `include/net/pie.h`;
/// facts, not code), in the kernel's whole numbers: time in units of 64 ns, probability as a 56-bit
/// fraction.
///
/// State: the delay (by default of the packet that left last, else estimated from backlog and
/// departure rate), the delay at the last update, the probability, what is left of the burst
/// allowance, and the probabilities added up since the last drop. Update, every `interval`: the
/// probability moves by alpha x (delay - target) + beta x (delay - last delay), scaled down while the
/// probability is small. Control law: an arriving packet is dropped with the probability, but not
/// within the burst allowance, while delay and probability are low, while fewer than two packets'
/// worth wait, or before the probabilities add up to 0.85; surely once they add up to 8.5.
///
/// Departures from the source:
/// 1. ECN-capable packets are marked (below a probability of 10 %) by default; Linux: only with
///    `ecn`.
/// 2. The first update comes after one `interval`, as in the RFC. In the dialect `linux` it comes after half a
///    second. The timer's period is not rounded: Linux rounds it up to ticks, and its timer
///    wheel adds one (15 ms become 30 with 100 ticks a second, 20 with 250, 16 with 1000).
/// 3. Updates are not timed: those that have passed are made up for at the next arrival or
///    departure. Between two of these neither delay nor backlog changes.
/// 4. `mark_probability`, the 10 % of the source, can be set.
/// 5. The probability is at most 1, as in the RFC. In the dialect `linux` it is not: the kernel guards the end of
///    64 bits, so that in a lasting overload its probability runs on beyond 1 and takes long to come
///    back. 64 flows that begin together drop everything for a second
///    (docs/laboratory/validation-kernel.md).
/// 6. Packets beyond a limit that has been lowered stay.
/// 7. Sizes are those of the packets on the link; Linux's byte mode and rate estimate leave out the
///    link-layer header on some devices.
#[derive(Clone, Debug)]
pub struct Pie {
    limit: u32,
    fixed: Configuration,
    controller: Controller,
}

/// State that PIE keeps of one queue. Disciplines with many queues have one for each.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    probability: u64,
    accumulated: u64,
    burst_left: u64,
    delay: u64,
    last_delay: u64,
    /// When the last packet left, or when the measurement of the departure rate began.
    departed: Option<u64>,
    /// Bytes that have left in this measurement.
    measured: Option<u64>,
    /// Bytes in a unit of time.
    departure_rate: u64,
    /// When the next update is due, in nanoseconds.
    due: u64,
}

impl Listed for Pie {
    type Settings = PieSettings;

    fn new(set: PieSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let mut fixed = Configuration::new(set.law);
        fixed.unbounded = set.dialect == PieDialect::Linux;
        let mut controller = Controller::new(&fixed);
        if fixed.unbounded {
            controller.due = LINUX_BEGINS;
        }
        Ok(Self { limit: set.limit.0, fixed, controller })
    }
}

impl Discipline for Pie {
    fn watches_departures(&self) -> bool {
        true
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fresh = Self::new(settings.read(), link)?;
        (self.limit, self.fixed) = (fresh.limit, fresh.fixed);
        Ok(())
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.controller.probability())
    }
}

impl<C: Coin> Decide<C> for Pie {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        let full = arrival.queue_packets >= self.limit;
        self.controller.on_arrival(&self.fixed, arrival, full, coin)
    }

    #[inline]
    fn on_departure(&mut self, departure: &Departure, _coin: &mut C) -> Verdict {
        self.controller.on_departure(&self.fixed, departure);
        Verdict::Accept
    }
}

impl Configuration {
    pub(crate) fn new(set: PieLaw) -> Self {
        let units = |time: Seconds| time.nanoseconds() >> UNIT_LOG;
        let gain = |per_second: f64| {
            let in_a_unit = CERTAIN / UNITS_IN_A_SECOND;
            // Linux knows sixteenths.
            let sixteenths = per_second * 16.0;
            if sixteenths.fract() == 0.0 {
                (sixteenths as u64 * in_a_unit) >> 4
            } else {
                (per_second * in_a_unit as f64) as u64
            }
        };
        Self {
            set,
            target: units(set.target),
            interval: set.interval.nanoseconds(),
            alpha: gain(set.alpha),
            beta: gain(set.beta),
            burst_allowance: units(set.burst_allowance),
            maximum_packet_size: u64::from(set.maximum_packet_size.0),
            mark_probability: fraction(set.mark_probability.0),
            unbounded: false,
        }
    }
}

/// A probability as a 56-bit fraction; those of up to six digits as a division would have them.
fn fraction(probability: f64) -> u64 {
    let millionths = probability * 1e6;
    if millionths.fract() == 0.0 {
        (u128::from(CERTAIN) * millionths as u128 / 1_000_000) as u64
    } else {
        ((probability * CERTAIN as f64) as u64).min(CERTAIN)
    }
}

impl Controller {
    /// Of a queue that has been empty so far.
    pub(crate) fn new(fixed: &Configuration) -> Self {
        let mut it = Self {
            probability: 0,
            accumulated: 0,
            burst_left: 0,
            delay: 0,
            last_delay: 0,
            departed: None,
            measured: None,
            departure_rate: 0,
            due: fixed.interval,
        };
        it.start_afresh(fixed);
        it
    }

    /// The probability in force after the last packet.
    pub(crate) fn probability(&self) -> f64 {
        self.probability.min(CERTAIN) as f64 / CERTAIN as f64
    }

    /// Decides over a packet that arrives at the queue, `full` or not; the queue that the arrival
    /// tells of is this one.
    #[inline(always)]
    pub(crate) fn on_arrival(
        &mut self,
        fixed: &Configuration,
        arrival: &Arrival,
        full: bool,
        coin: &mut impl Coin,
    ) -> Verdict {
        self.catch_up(fixed, arrival.now, arrival.queue_bytes);
        if full {
            self.accumulated = 0;
            return Verdict::Drop(DropReason::Overflow);
        }
        if !self.drops_early(fixed, arrival, coin) {
            return Verdict::Accept;
        }
        let rarely = self.probability <= fixed.mark_probability;
        if fixed.set.ecn && arrival.ecn_capable() && rarely {
            return Verdict::Mark;
        }
        self.accumulated = 0;
        Verdict::Drop(DropReason::Early)
    }

    /// A packet of the queue is sent.
    #[inline(always)]
    pub(crate) fn on_departure(&mut self, fixed: &Configuration, departure: &Departure) {
        self.catch_up(fixed, departure.now, departure.queue_bytes + u64::from(departure.size));
        let elapsed = if fixed.set.estimate_rate {
            self.measure_rate(departure)
        } else {
            self.measure_delay(departure)
        };
        self.burst_left = self.burst_left.saturating_sub(elapsed);
    }

    /// Behaviour of the kernel at the start and after a quiet time.
    fn start_afresh(&mut self, fixed: &Configuration) {
        self.burst_left = fixed.burst_allowance;
        self.accumulated = 0;
        self.departed = None;
        self.measured = None;
        self.departure_rate = 0;
    }

    fn drops_early(
        &mut self,
        fixed: &Configuration,
        arrival: &Arrival,
        coin: &mut impl Coin,
    ) -> bool {
        let relaxed = self.delay < fixed.target / 2 && self.probability < CERTAIN / 5;
        let few = arrival.queue_bytes < 2 * fixed.maximum_packet_size;
        if self.burst_left > 0 || relaxed || few {
            return false;
        }
        let size = u64::from(arrival.size);
        let largest = fixed.maximum_packet_size;
        let probability = if fixed.set.byte_mode && size <= largest {
            size * (self.probability / largest)
        } else {
            self.probability
        };
        if probability == 0 {
            self.accumulated = 0;
        } else {
            self.accumulated = self.accumulated.saturating_add(probability);
        }
        if self.accumulated < CERTAIN / 100 * 85 {
            return false;
        }
        if self.accumulated >= CERTAIN / 2 * 17 {
            return true;
        }
        let random = (coin.uniform() * (1_u64 << 56) as f64) as u64;
        if random < probability {
            self.accumulated = 0;
            return true;
        }
        false
    }

    /// The delay is what the packet has waited. Since the last departure, in units.
    fn measure_delay(&mut self, departure: &Departure) -> u64 {
        let now = departure.now >> UNIT_LOG;
        let waited = now - (departure.arrived >> UNIT_LOG);
        self.delay = if departure.queue_bytes == 0 { 0 } else { waited };
        let last = self.departed.replace(now);
        last.map_or(0, |last| now - last)
    }

    /// The departure rate is measured over stretches of 16384 bytes in a queue at least as long.
    /// The length of a stretch that ends now, in units, or 0.
    fn measure_rate(&mut self, departure: &Departure) -> u64 {
        let now = departure.now >> UNIT_LOG;
        let long = departure.queue_bytes >= MEASURED_BYTES;
        if long && self.measured.is_none() {
            self.departed = Some(now);
            self.measured = Some(0);
        }
        let (Some(measured), Some(begun)) = (self.measured, self.departed) else { return 0 };
        let measured = measured + u64::from(departure.size);
        self.measured = Some(measured);
        let elapsed = now - begun;
        if measured < MEASURED_BYTES || elapsed == 0 {
            return 0;
        }
        let rate = (measured << RATE_PLACES) / elapsed;
        self.departure_rate = if self.departure_rate == 0 {
            rate
        } else {
            self.departure_rate - (self.departure_rate >> 3) + (rate >> 3)
        };
        self.measured = long.then_some(0);
        if long {
            self.departed = Some(now);
        }
        elapsed
    }

    /// Makes up for every update that was due by `now`, with `backlog` bytes waiting meanwhile.
    #[inline(always)] // twice for every packet, and few come after the end of an interval
    fn catch_up(&mut self, fixed: &Configuration, now: u64, backlog: u64) {
        if now >= self.due {
            self.make_up(fixed, now, backlog);
        }
    }

    /// The same where there are some.
    #[inline(never)]
    fn make_up(&mut self, fixed: &Configuration, now: u64, backlog: u64) {
        while now >= self.due {
            self.due += fixed.interval;
            let before = self.moving();
            self.update(fixed, backlog);
            if before == self.moving() && now >= self.due {
                // So it would be at all the others.
                self.due += ((now - self.due) / fixed.interval + 1) * fixed.interval;
            }
        }
    }

    /// All that an update may move.
    fn moving(&self) -> [u64; 5] {
        [self.probability, self.delay, self.last_delay, self.burst_left, self.departure_rate]
    }

    fn update(&mut self, fixed: &Configuration, backlog: u64) {
        let (delay, last_delay) = if fixed.set.estimate_rate {
            self.last_delay = self.delay;
            let estimate = (backlog << RATE_PLACES).checked_div(self.departure_rate);
            (estimate.unwrap_or(0), self.last_delay)
        } else {
            (self.delay, self.last_delay)
        };
        let tiny_backlog = delay == 0 && backlog != 0;
        let shift = self.gain_shift();
        let (alpha, beta) = (fixed.alpha >> shift, fixed.beta >> shift);
        let apart = |left: u64, right: u64| i128::from(left) - i128::from(right);
        let step = i128::from(alpha) * apart(delay, fixed.target)
            + i128::from(beta) * apart(delay, last_delay);
        // Far beyond certainty in either direction steps are all alike.
        let limit = 4 * i128::from(CERTAIN);
        let mut step = step.clamp(-limit, limit) as i64;
        if step > LARGEST_STEP && self.probability >= CERTAIN / 10 {
            step = CERTAIN as i64 / 100 * 2;
        }
        if delay > LONG_DELAY {
            step += LARGEST_STEP;
        }
        let moved = self.probability.saturating_add_signed(step);
        let overflows = step > 0 && moved == u64::MAX;
        self.probability = if fixed.unbounded && !overflows { moved } else { moved.min(CERTAIN) };
        if delay == 0 && last_delay == 0 && !tiny_backlog {
            self.probability -= self.probability / 64;
        }
        self.delay = delay;
        let low = |delay: u64| delay < fixed.target / 2;
        let measured = !fixed.set.estimate_rate || self.departure_rate > 0;
        if low(self.delay) && low(self.last_delay) && self.probability == 0 && measured {
            self.start_afresh(fixed);
        }
        if !fixed.set.estimate_rate {
            self.last_delay = delay;
        }
    }

    /// By how many powers of two the gains are reduced: 1 below a probability of 1/10, and 2 more
    /// for each power of ten below 1/100 down to 1/1000000.
    fn gain_shift(&self) -> u32 {
        if self.probability >= CERTAIN / 10 {
            return 0;
        }
        let mut shift = 1;
        let mut power = 100;
        while power <= 1_000_000 && self.probability < CERTAIN / power {
            shift += 2;
            power *= 10;
        }
        shift
    }
}
