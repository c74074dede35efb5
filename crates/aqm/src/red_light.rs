use vermilion_parameters::{
    Bytes, Packets, ParameterError, Probability, Seconds, Settings, choices, settings,
};

use crate::{Arrival, Coin, Decide, Departure, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// Samples that are taken one by one at most.
const MOST_SAMPLES: f64 = 100.0;

const OURS: &str = "ours; see docs/laboratory/disciplines-readings.md";

choices! {
    /// Direction in which the filter follows the queue at once.
    pub RedLightFilter { FollowDown = "follow-down", FollowUp = "follow-up" }
}

choices! {
    /// Distance from one notice to the next.
    pub RedLightSpacing { Uniform = "uniform", Regular = "regular" }
}

settings! {
    /// Settings of [`RedLight`].
    pub RedLightSettings "red-light": "RED Light",
        "Drops exponentially in a filtered queueing delay that follows an emptying queue",
        "after Jacobson, Nichols and Poduri, RED in a Different Light, draft, 1999";
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "a common default; the talk: at least 5";
    /// round trip behind the automatic gain and threshold
    round_trip: Seconds = 0.1 in [1e-6, 1e3], "ours: the talk's 30 ms as 30 % of it";
    /// mean time between two samples of the queue; automatic: 1 ms, or the time of a packet of the
    /// largest size if that is longer
    interval: Option<Seconds> = automatic in [1e-6, 1e3], "the talk";
    /// most by which an interval differs, as a share of the mean one
    jitter: f64 = 0.5 in [0, 1], OURS;
    /// weight of one sample in the average; automatic: the inverse of the samples in a round trip,
    /// these rounded down to a power of 2
    gain: Option<f64> = automatic in [> 0, 1] log [1e-3, 1], "the talk";
    /// which way the filter follows the queue at once; the other way it averages
    filter: RedLightFilter = FollowDown,
        "the talk's criticism of averages; see docs/laboratory/disciplines-readings.md";
    /// filtered delay below which nothing is dropped; automatic: 20 % of the round trip (30 % below
    /// 4 Mbit/s), at least two packets of the largest size
    threshold: Option<Seconds> = automatic in [> 0, 1e3] log [1e-3, 0.3], "the talk: 10 to 30 %";
    /// drop probability at the threshold
    base_probability: Probability = 0.01 in [> 0, 1] log [1e-3, 0.1], OURS;
    /// thresholds at which the probability is 1
    certain_at: f64 = 4 in [> 1, 1e3] log [1.5, 10], OURS;
    /// one notice somewhere in each 1/p packets, or at each 1/p-th
    spacing: RedLightSpacing = Uniform, "the talk: \"count-based\"";
    /// nothing is dropped while the queue is by more than this below the last sample
    emptying: Packets = 1 in [0, 1e9], OURS;
    /// nothing is dropped while fewer packets wait
    least_queue: Packets<u32> = 2 in [0, 1e9], "the talk";
    /// the largest packet, behind the automatic settings
    max_packet_size: Bytes = 1500 in [1, 65535], "Ethernet";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "RFC 3168";
}

/// RED Light: RED on a filtered, regularly sampled queueing delay, after "RED in a Different Light".
///
/// Source: V. Jacobson, K. Nichols, K. Poduri, "RED in a Different Light", draft of 30 September 1999,
/// and K. Nichols' talk on it (NANOG 13, 1998). Of the draft only the first page is public: RED is taken
/// as a servo loop whose parameters follow from the output rate alone. Its control law is not public,
/// so this is no implementation of the draft; it is what the talk says, filled up.
///
/// What is published (the talk):
/// 1. The queue is sampled by time, at random, about every millisecond, or in the time of a packet of
///    the largest size on slow links.
/// 2. The filter follows an emptying queue down at once and is an exponential average upwards. (By its
///    bracket the slide can be read the other way round: `filter`.)
/// 3. The average's gain is the inverse of the samples in a round trip, rounded down to a power of 2.
/// 4. The threshold is 10 to 30 % of a round trip, less on faster links, and no less than two
///    packets; 30 ms in the example of one transfer at 1.5 Mbit/s.
/// 5. The control law is exponential, the dropper counts packets, and packets that arrive at a queue that
///    empties rapidly are not dropped.
///
/// What is our reading, each a parameter:
/// 1. The law: probability 0 below the threshold, there `base_probability`, and from there
///    exponentially up to 1 at `certain_at` thresholds.
/// 2. The dropper: `spacing` "uniform" is RED's, one notice somewhere in each 1/p packets; "regular" is
///    every 1/p-th packet.
/// 3. Rapidly emptying: by more than `emptying` packets since the last sample. Packets let through for
///    this, or because fewer than `least_queue` wait, are not counted.
/// 4. The round trip is 100 ms; the automatic threshold is 30 % of it below 4 Mbit/s and 20 % above.
/// 5. Sampling times: each interval is uniform over the mean one, less or more by `jitter` of itself.
///
/// How it fares in the talk's comparison is in `docs/laboratory/disciplines-readings.md`.
///
/// State: the filter (a time), the queue at the last sample, when the next is due, and the packets let
/// through since the last notice.
///
/// Departures from the source:
/// 1. Samples are not timed: those that are due are made up for at the next arrival or departure, with
///    the queue as it was since the event before, so the result is the same; the coins for their times
///    are drawn then. Of more than a hundred that are due at once, the rest are taken by their mean number.
/// 2. A full buffer drops the arriving packet; ECN-capable packets are marked where others are dropped.
/// 3. The filter is a time and is not published as an average of packets.
/// 4. Automatic settings stay as they are when the link's rate or delay changes; a later change of any
///    setting computes all of them from the link as it is by then. Give the values, or change a setting
///    at the same time.
#[derive(Clone, Debug)]
pub struct RedLight {
    set: RedLightSettings,
    /// Mean time between two samples, in nanoseconds.
    interval: f64,
    gain: f64,
    /// Seconds.
    threshold: f64,
    /// The probability's exponent rises by this for each second above the threshold.
    steepness: f64,
    /// Time in which the link sends a byte.
    seconds_per_byte: f64,

    /// Seconds.
    filter: f64,
    probability: f64,
    /// Packets that waited at the last sample.
    sampled_packets: u32,
    /// When the next sample is due, in nanoseconds.
    next_sample: u64,
    /// Packets let through since the last notice, while the probability is not 0.
    count: f64,
}

impl Listed for RedLight {
    type Settings = RedLightSettings;

    fn new(set: RedLightSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        let round_trip = set.round_trip.0;
        let largest = 1.0 / link.packets_per_second(set.max_packet_size.0);
        let interval = set.interval.map_or(largest.max(1e-3), |it| it.0);
        let share = if link.rate < 4e6 { 0.3 } else { 0.2 };
        let automatic = (share * round_trip).max(2.0 * largest);
        let threshold = set.threshold.map_or(automatic, |it| it.0);
        let above = threshold * (set.certain_at - 1.0);
        Ok(Self {
            set,
            interval: interval * 1e9,
            gain: set.gain.unwrap_or_else(|| {
                // One part in 10^12 more, so that a rounding error does not halve the samples.
                (-(round_trip / interval * (1.0 + 1e-12)).max(1.0).log2().floor()).exp2()
            }),
            threshold,
            steepness: -set.base_probability.0.ln() / above,
            seconds_per_byte: 8.0 / link.rate,
            filter: 0.0,
            probability: 0.0,
            sampled_packets: 0,
            next_sample: 0,
            count: 0.0,
        })
    }
}

impl Discipline for RedLight {
    fn watches_departures(&self) -> bool {
        true
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let Self { filter, sampled_packets, next_sample, count, .. } = *self;
        let fresh = Self::new(settings.read(), link)?;
        *self = Self { filter, sampled_packets, next_sample, count, ..fresh };
        self.set_probability();
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.seconds_per_byte = 8.0 / link.rate;
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }
}

impl<C: Coin> Decide<C> for RedLight {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.catch_up(arrival.now, arrival.queue_packets, arrival.queue_bytes, coin);
        if arrival.queue_packets >= self.set.limit.0 {
            self.count = 0.0;
            return Verdict::Drop(DropReason::Overflow);
        }
        let fallen = f64::from(self.sampled_packets) - f64::from(arrival.queue_packets);
        if self.probability <= 0.0 {
            self.count = 0.0;
            return Verdict::Accept;
        }
        if arrival.queue_packets < self.set.least_queue.0 || fallen > self.set.emptying.0 {
            return Verdict::Accept;
        }
        self.choose(arrival, coin)
    }

    #[inline]
    fn on_departure(&mut self, departure: &Departure, coin: &mut C) -> Verdict {
        let bytes = departure.queue_bytes + u64::from(departure.size);
        self.catch_up(departure.now, departure.queue_packets.saturating_add(1), bytes, coin);
        Verdict::Accept
    }
}

impl RedLight {
    /// Takes every sample that is due by `now`, the queue having been as given.
    #[inline]
    fn catch_up(&mut self, now: u64, packets: u32, bytes: u64, coin: &mut impl Coin) {
        if self.next_sample > now {
            return;
        }
        let delay = bytes as f64 * self.seconds_per_byte;
        self.sampled_packets = packets;
        while self.next_sample <= now {
            let due = (now - self.next_sample) as f64 / self.interval;
            if due > MOST_SAMPLES {
                self.sample(delay, due.floor());
                self.next_sample = now;
            } else {
                self.sample(delay, 1.0);
            }
            self.next_sample = self.next_sample.saturating_add(self.draw_interval(coin));
        }
        self.set_probability();
    }

    /// So many samples of one delay.
    #[inline]
    fn sample(&mut self, delay: f64, samples: f64) {
        if (delay < self.filter) == (self.set.filter == RedLightFilter::FollowDown) {
            self.filter = delay;
        } else {
            let weight =
                if samples > 1.0 { 1.0 - (1.0 - self.gain).powf(samples) } else { self.gain };
            self.filter += weight * (delay - self.filter);
        }
    }

    /// Nanoseconds to the sample after the next.
    #[inline]
    fn draw_interval(&self, coin: &mut impl Coin) -> u64 {
        let turn = if self.set.jitter > 0.0 { 2.0 * coin.uniform() - 1.0 } else { 0.0 };
        ((self.interval * (1.0 + self.set.jitter * turn)).round() as u64).max(1)
    }

    fn set_probability(&mut self) {
        let above = self.filter - self.threshold;
        self.probability = if above < 0.0 {
            0.0
        } else {
            (self.set.base_probability.0 * (self.steepness * above).exp()).min(1.0)
        };
    }

    #[inline]
    fn choose(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        if self.probability >= 1.0 {
            return self.notify(arrival, DropReason::Forced);
        }
        let left = 1.0 - self.count * self.probability;
        let falls = if self.set.spacing == RedLightSpacing::Regular {
            left <= self.probability
        } else {
            coin.uniform() * left < self.probability
        };
        if falls {
            return self.notify(arrival, DropReason::Early);
        }
        self.count += 1.0;
        Verdict::Accept
    }

    #[inline]
    fn notify(&mut self, arrival: &Arrival, reason: DropReason) -> Verdict {
        self.count = 0.0;
        arrival.notify(self.set.ecn, reason)
    }
}
