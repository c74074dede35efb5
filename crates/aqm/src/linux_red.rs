use vermilion_parameters::{
    Bytes, Packets, ParameterError, Probability, Settings, choices, settings,
};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// Nanoseconds from one adaptation to the next.
const ADAPTATION_INTERVAL: u64 = 500_000_000;
/// One hundredth as a 32-bit fraction, rounded; and fifty times that.
const ONE_PERCENT: u32 = 42_949_673;
const FIFTY_PERCENT: u32 = 50 * ONE_PERCENT;
/// Kernel microseconds in one of `tc`'s ticks are 64 ns: its table is this much too long.
const TICKS_IN_A_MICROSECOND: f64 = 15.625;
const TABLE_SIZE: usize = 256;
/// The largest shift in the table.
const LARGEST_SHIFT: f64 = 31.0;

/// Fixed settings.
#[derive(Clone, Debug, PartialEq)]
struct Configuration {
    set: LinuxRedSettings,
    limit: u64,
    /// Bytes.
    min_threshold: u64,
    max_threshold: u64,
    weight_log: u32,
    /// 32-bit fraction.
    max_probability: u32,
}

/// By how many powers of two the average falls in an idle time.
#[derive(Clone, Debug)]
struct IdleTable {
    /// Microseconds in a cell, as a power of two.
    cell_log: u32,
    /// Boxed, because few look at it and a queue should be small.
    shifts: Box<[u8; TABLE_SIZE]>,
}

choices! {
    /// Table of the decay while idle: that of `tc`, or the intended one.
    pub IdleDecay { Tc = "tc", Microseconds = "microseconds" }
}

settings! {
    /// Settings of [`LinuxRed`].
    pub LinuxRedSettings "linux-red": "RED of Linux",
        "RED in the kernel's whole numbers: bytes, power-of-two weight, no gentle slope",
        "Linux 6.12, net/sched/sch_red.c; iproute2 6.1, tc/tc_red.c",
        min_threshold < max_threshold;
    /// bytes the buffer holds
    limit: Bytes<u32> = 150_000 in [1, 4e9], "tc has no default";
    /// average queue below which nothing is dropped; automatic: a third of the maximum threshold
    min_threshold: Option<Bytes<u32>> = automatic in [0, 1e9] linear [1_500, 75_000], "tc";
    /// average queue from which everything is dropped; automatic: three times the minimum threshold
    /// if that is given, else a quarter of the limit
    max_threshold: Option<Bytes<u32>> = automatic in [0, 1e9] linear [9_000, 150_000], "tc";
    /// drop probability at the maximum threshold
    max_probability: Probability = 0.02 in [> 0, 1] log [1e-3, 1], "tc: probability";
    /// the weight of one arrival in the average is 2 to the minus this; automatic: from burst
    weight_log: Option<u32> = automatic in [1, 31] linear [1, 12], "the kernel's Wlog";
    /// packets of the mean size that may come at once into an empty queue without a drop, for the
    /// automatic weight; automatic: (2 min + max) / 3 of the mean size
    burst: Option<Packets<u32>> = automatic in [1, 1e6], "tc";
    /// packet size behind burst and idle table
    mean_packet_size: Bytes = 1000 in [1, 65535], "tc: avpkt, no default";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "tc has false";
    /// ECN-capable packets too are dropped from the maximum threshold on
    drop_above_maximum: bool = false, "tc: harddrop";
    /// packets that cannot be marked are let through (only with ecn)
    no_drop: bool = false, "tc: nodrop";
    /// max_probability moves every 0.5 s to keep the average mid-range
    adaptive: bool = false, "tc: adaptive";
    /// the queue stands behind a shaper (htb, tbf): its average does not decay while idle
    shaped: bool = true, "as seen on Linux 6.12";
    /// a change of settings keeps the packets that wait instead of dropping them all
    keep_packets: bool = false, "the kernel, on a netlink message whose limit is 0; tc drops them";
    /// decay while idle if not shaped: tc's table, 15.6 times too slow, or the intended
    idle_table: IdleDecay = Tc, "iproute2 6.1";
}

/// RED as the Linux kernel runs it, set as `tc` sets it.
///
/// Source: Linux 6.12, `include/net/red.h` and `net/sched/sch_red.c`; iproute2 6.1, `tc/tc_red.c`
/// and `tc/q_red.c` (facts, not code). The arithmetic is the kernel's, in whole numbers. What makes
/// outcomes differ from [`Red`](crate::Red):
///
/// 1. Thresholds, limit and average are in bytes, and there is no other measure: a packet of 40
///    bytes meets the same probability as one of 1500.
/// 2. The weight is a power of two, 2^-`weight_log`. Unless it is given, it follows from `burst`.
/// 3. The packets from one drop to the next are uniform on 1..1/p: after each drop a number is
///    drawn, and the drop falls when count x (average - minimum) reaches it. The first packet that
///    finds the average in the range only draws.
/// 4. From the maximum threshold on everything goes (no gentle slope), and the count starts anew.
/// 5. While the queue is idle the average decays by a table that `tc` computes, and the packet that
///    ends the idleness makes no step of its own. `tc` computes it in units of 64 ns, the kernel
///    reads it in microseconds, so that the decay is 15.6 times too slow; `idle_table` chooses
///    that or the intended one. Powers of e are tabulated and powers of two applied.
/// 6. Behind a shaper (`htb`, `tbf`) the kernel never asks an empty queue for a packet, the idle
///    clock does not start, and the average does not decay at all: `shaped`. Then a burst can
///    lift the average above the maximum and lock the queue shut until enough packets have come.
/// 7. A change of any setting sets the average to 0 and drops all packets that wait, unless
///    `keep_packets` asks the kernel to keep them (a netlink message whose limit is 0; `tc` has no word
///    for it).
/// 8. `adaptive` moves the maximum probability every half second, by the rule of Adaptive RED.
///
/// Departures from the source:
/// 1. Settings that are those in force already change nothing, but that the idle table is computed anew, for
///    the rate that the link has by then.
/// 2. ECN-capable packets are marked by default (`tc`: only with `ecn`), and the idle table is
///    computed for the link's rate (`tc`: for `bandwidth`, 10 Mbit/s unless given).
/// 3. A packet that meets a full buffer counts as overflow, whatever RED had decided over it.
/// 4. Adaptation goes on in its half seconds when settings change; the kernel starts them anew.
/// 5. `max_probability` is held between 2^-32 and 1 - 2^-32; from `tc`, 1 becomes 0 and the
///    kernel then takes another probability, the power of two that older kernels used.
/// 6. Where `tc` finds no weight for its own `burst` (a minimum threshold below a packet, or close to
///    the maximum) and gives up, the weight is 1/2.
/// 7. Equal thresholds, which the kernel accepts, are refused. `adaptive` works as through netlink; `tc`
///    (iproute2 6.1) sets it where the kernel does not look.
/// 8. The idle clock starts when the link falls silent; a device that takes packets ahead of time
///    (a driver's ring) empties the queue and starts it earlier.
#[derive(Clone, Debug)]
pub struct LinuxRed {
    fixed: Configuration,
    /// It depends on the link's rate, too: it may be another one though no setting has changed.
    table: IdleTable,
    /// The maximum probability in force, a 32-bit fraction, and its part for each byte of the range.
    max_probability: u32,
    probability_per_byte: u32,
    /// Bytes, with `weight_log` binary places.
    average: u64,
    /// Packets since a number was drawn; `None` outside the range.
    count: Option<u64>,
    drawn: u64,
    last_arrival: u64,
    next_adaptation: u64,
}

impl Listed for LinuxRed {
    type Settings = LinuxRedSettings;

    fn new(set: LinuxRedSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        let fixed = Configuration::new(set)?;
        let mut red = Self {
            table: fixed.table(link),
            fixed,
            max_probability: 0,
            probability_per_byte: 0,
            average: 0,
            count: None,
            drawn: 0,
            last_arrival: 0,
            next_adaptation: ADAPTATION_INTERVAL,
        };
        red.restart();
        Ok(red)
    }
}

impl Discipline for LinuxRed {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fixed = Configuration::new(settings.read())?;
        self.table = fixed.table(link);
        if fixed != self.fixed {
            self.fixed = fixed;
            self.restart();
        }
        Ok(())
    }

    fn is_flushed_by_change(&self) -> bool {
        !self.fixed.set.keep_packets
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        let bytes = self.average as f64 / (1_u64 << self.fixed.weight_log) as f64;
        Some(bytes / self.fixed.set.mean_packet_size.0)
    }

    fn drop_probability(&self) -> Option<f64> {
        let (least, most) = self.fixed.scaled_thresholds();
        Some(if self.average < least {
            0.0
        } else if self.average >= most {
            1.0
        } else {
            let above = (self.average - least) >> self.fixed.weight_log;
            (above as f64 * f64::from(self.probability_per_byte) / 4_294_967_296.0).min(1.0)
        })
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("probability", "maximum threshold", "limit")
    }
}

impl<C: Coin> Decide<C> for LinuxRed {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        let idle_from = self.idle_from(arrival);
        if self.fixed.set.adaptive {
            self.adapt(arrival.now, idle_from);
        }
        self.average = match idle_from {
            Some(since) => self.decayed(arrival.now - since),
            None => self.average + arrival.queue_bytes - (self.average >> self.fixed.weight_log),
        };
        self.last_arrival = arrival.now;
        let verdict = self.decide(arrival, coin);
        if arrival.queue_bytes + u64::from(arrival.size) > self.fixed.limit {
            return Verdict::Drop(DropReason::Overflow);
        }
        verdict
    }
}

impl Configuration {
    fn new(set: LinuxRedSettings) -> Result<Self, ParameterError> {
        let limit = u64::from(set.limit.0);
        let given_minimum = set.min_threshold.map(|it| u64::from(it.0));
        let max_threshold = match (set.max_threshold, given_minimum) {
            (Some(bytes), _) => u64::from(bytes.0),
            (None, Some(minimum)) if minimum > 0 => 3 * minimum,
            (None, _) => limit / 4,
        };
        let min_threshold = given_minimum.unwrap_or(max_threshold / 3);
        let (low, high) = (min_threshold as f64, max_threshold as f64);
        ParameterError::unless_below(("min_threshold", low), ("max_threshold", high))?;
        let weight_log = match set.weight_log {
            Some(weight_log) => weight_log,
            None => weight_for_burst(&set, low, high)?,
        };
        // The kernel keeps the scaled thresholds in 32 bits and refuses what might not fit.
        let bits = 64 - max_threshold.leading_zeros();
        if bits + weight_log >= 32 {
            let accepted = format!(
                "at most {}: the kernel's limit for a max_threshold of {max_threshold} bytes",
                31_u32.saturating_sub(bits)
            );
            return Err(ParameterError::new("weight_log", weight_log, accepted));
        }
        Ok(Self {
            // What follows from others is compared as such.
            set: LinuxRedSettings {
                min_threshold: None,
                max_threshold: None,
                weight_log: None,
                burst: None,
                ..set
            },
            limit,
            min_threshold,
            max_threshold,
            weight_log,
            max_probability: ((set.max_probability.0 * 4_294_967_296.0) as u32).max(1),
        })
    }

    /// The idle table in front of such a link.
    fn table(&self, link: LinkFacts) -> IdleTable {
        let in_a_microsecond = match self.set.idle_table {
            IdleDecay::Tc => TICKS_IN_A_MICROSECOND,
            IdleDecay::Microseconds => 1.0,
        };
        let size = self.set.mean_packet_size.0;
        let packet_time = 1e6 / link.packets_per_second(size) * in_a_microsecond;
        IdleTable::new(self.weight_log, packet_time)
    }

    /// Both thresholds with the binary places of the average.
    #[inline]
    fn scaled_thresholds(&self) -> (u64, u64) {
        (self.min_threshold << self.weight_log, self.max_threshold << self.weight_log)
    }

    fn range(&self) -> u64 {
        self.max_threshold - self.min_threshold
    }
}

/// The smallest logarithm under which a burst into an empty queue keeps the average below the
/// minimum threshold: burst + 1 - min / size <= (1 - (1 - w)^burst) / w.
fn weight_for_burst(
    set: &LinuxRedSettings,
    min_threshold: f64,
    max_threshold: f64,
) -> Result<u32, ParameterError> {
    let size = set.mean_packet_size.0;
    let automatic = ((2.0 * min_threshold + max_threshold) / (3.0 * size)).floor();
    let burst = set.burst.map_or(automatic, |it| f64::from(it.0));
    let least = min_threshold / size;
    let needed = burst + 1.0 - least;
    let fits = |&log: &u32| {
        let weight = 0.5_f64.powi(log as i32);
        needed <= (1.0 - (1.0 - weight).powf(burst)) / weight
    };
    if needed >= 1.0
        && let Some(log) = (1..32).find(fits)
    {
        return Ok(log);
    }
    if set.burst.is_none() {
        return Ok(1);
    }
    let accepted =
        format!("packets from {least} on (min_threshold / mean_packet_size), or a weight_log");
    Err(ParameterError::new("burst", burst, accepted))
}

impl IdleTable {
    /// For packets that take `packet_time` units. Cells are the smallest power of two of units such
    /// that the time in which the average falls by e^-31 has less than 512 of them.
    fn new(weight_log: u32, packet_time: f64) -> Self {
        let decay = -(1.0 - 0.5_f64.powi(weight_log as i32)).ln() / packet_time;
        let cells = |log: u32| LARGEST_SHIFT / decay / (1_u64 << log) as f64;
        // The kernel refuses cells of 2^32 and more; no link of the scenario language needs them.
        let cell_log = (0..31).find(|&log| cells(log) < 512.0).unwrap_or(31);
        let mut shifts = Box::new([LARGEST_SHIFT as u8; TABLE_SIZE]);
        for (cell, shift) in shifts.iter_mut().enumerate().take(TABLE_SIZE - 1) {
            *shift = (((cell as u64) << cell_log) as f64 * decay).min(LARGEST_SHIFT) as u8;
        }
        Self { cell_log, shifts }
    }

    /// Microseconds of idleness beyond which nothing changes.
    fn end(&self) -> u64 {
        (TABLE_SIZE as u64 - 1) << self.cell_log
    }
}

impl LinuxRed {
    /// Effect of a change of settings.
    fn restart(&mut self) {
        self.max_probability = self.fixed.max_probability;
        let per_byte = u64::from(self.max_probability) / self.fixed.range();
        self.probability_per_byte = (per_byte as u32).max(1);
        self.average = 0;
        self.count = None;
    }

    /// Since when the kernel's idle clock has been running, in nanoseconds. Every arrival, even of a
    /// packet that is dropped, stops it; a link with nothing to send starts it again at once.
    #[inline]
    fn idle_from(&self, arrival: &Arrival) -> Option<u64> {
        if self.fixed.set.shaped {
            return None;
        }
        arrival.idle_since.map(|since| since.max(self.last_arrival))
    }

    /// The average after an idle time in nanoseconds.
    fn decayed(&self, idle: u64) -> u64 {
        let table = &self.table;
        let microseconds = (idle / 1000).min(table.end());
        let shift = table.shifts[(microseconds >> table.cell_log) as usize];
        if shift > 0 {
            return self.average >> shift;
        }
        let fall = (u128::from(self.average) * u128::from(microseconds)) >> table.cell_log;
        let half = self.average >> 1;
        if fall < u128::from(half) { self.average - fall as u64 } else { half }
    }

    #[inline]
    fn decide(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        let (least, most) = self.fixed.scaled_thresholds();
        if self.average < least {
            self.count = None;
            return Verdict::Accept;
        }
        if self.average >= most {
            self.count = None;
            return self.notify(arrival, DropReason::Forced);
        }
        let Some(count) = self.count else {
            self.count = Some(0);
            self.draw(coin);
            return Verdict::Accept;
        };
        let count = count + 1;
        let above = (self.average - least) >> self.fixed.weight_log;
        if above.saturating_mul(count) < self.drawn {
            self.count = Some(count);
            return Verdict::Accept;
        }
        self.count = Some(0);
        self.draw(coin);
        self.notify(arrival, DropReason::Early)
    }

    fn draw(&mut self, coin: &mut impl Coin) {
        let random = (coin.uniform() * 4_294_967_296.0) as u64;
        self.drawn = random / u64::from(self.probability_per_byte);
    }

    #[inline]
    fn notify(&self, arrival: &Arrival, reason: DropReason) -> Verdict {
        let set = &self.fixed.set;
        let marks = set.ecn && !(reason == DropReason::Forced && set.drop_above_maximum);
        match arrival.notify(marks, reason) {
            Verdict::Drop(_) if marks && set.no_drop => Verdict::Accept,
            verdict => verdict,
        }
    }

    /// Makes up for every half second that has ended by `now`. Between two arrivals the average
    /// stands still, or decays from `idle_from` on, so nothing is lost by being late.
    fn adapt(&mut self, now: u64, idle_from: Option<u64>) {
        while self.next_adaptation <= now {
            let idle = idle_from.and_then(|since| self.next_adaptation.checked_sub(since));
            let average = idle.map_or(self.average, |idle| self.decayed(idle));
            let before = (self.max_probability, self.probability_per_byte);
            self.adapt_once(average >> self.fixed.weight_log);
            self.next_adaptation += ADAPTATION_INTERVAL;
            let settled = idle.map_or(idle_from.is_none_or(|since| since > now), |idle| {
                idle / 1000 >= self.table.end()
            });
            if settled && before == (self.max_probability, self.probability_per_byte) {
                let missed =
                    (now + ADAPTATION_INTERVAL - self.next_adaptation) / ADAPTATION_INTERVAL;
                self.next_adaptation += missed * ADAPTATION_INTERVAL;
            }
        }
    }

    /// The rule of Adaptive RED for an average in bytes.
    fn adapt_once(&mut self, average: u64) {
        let fifth = self.fixed.range() / 5;
        let lowest = self.fixed.min_threshold + 2 * fifth;
        let highest = self.fixed.min_threshold + 3 * fifth;
        let maximum = self.max_probability;
        if average > highest && maximum <= FIFTY_PERCENT {
            self.max_probability += ONE_PERCENT.min(maximum / 4);
        } else if average < lowest && maximum >= ONE_PERCENT {
            self.max_probability = maximum / 10 * 9;
        }
        let range = self.fixed.range();
        let per_byte = (u64::from(self.max_probability) + range / 2) / range;
        self.probability_per_byte = (per_byte as u32).max(1);
    }
}
