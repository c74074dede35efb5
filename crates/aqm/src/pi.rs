use vermilion_parameters::{Bytes, Packets, ParameterError, Settings, settings};

use crate::{Arrival, Coin, Decide, Departure, Discipline, DropReason, LinkFacts, Listed, Verdict};

settings! {
    /// Settings of [`Pi`].
    pub PiSettings "pi": "Proportional integral controller",
        "Moves the probability by the queue's distance from a target and by its growth",
        "Hollot, Misra, Towsley and Gong, INFOCOM 2001; ns-2.35, queue/pi.cc",
        b < a;
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "ns-2.35 has 50";
    /// queue at which the probability rests
    target_queue: Packets = 50 in [0, 1e9] linear [1, 100], "ns-2.35: qref";
    /// what a packet above the target adds to the probability at each sample
    a: f64 = 1.822e-5 in [0, 1] log [1e-6, 1e-2], "the paper, section IV; ns-2.35";
    /// what a packet above the target at the sample before takes from it; below a
    b: f64 = 1.816e-5 in [0, 1] log [1e-6, 1e-2], "the paper, section IV; ns-2.35";
    /// samples of the queue in a second
    updates_per_second: f64 = 170 in [1e-3, 1e6] log [10, 1000], "ns-2.35: w; the paper has 160";
    /// packet size behind byte mode
    mean_packet_size: Bytes = 500 in [1, 65535], "ns-2.35";
    /// measure the queue in bytes, and drop in proportion to the packet's size
    byte_mode: bool = false, "ns-2.35: queue_in_bytes and bytes";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "ns-2.35: setbit, false";
}

/// PI: a proportional integral controller of the queue's length.
///
/// Source: C. Hollot, V. Misra, D. Towsley, W. Gong, "On Designing Improved Controllers for AQM Routers
/// Supporting TCP Flows", INFOCOM 2001, as ns-2.35 runs it (`queue/pi.cc`, facts, not code).
///
/// State: the probability, and the queue at the last sample. Update, `updates_per_second` times a
/// second: the probability moves by a x (queue - target) - b x (last queue - target) and is held
/// between 0 and 1. Control law: an arriving packet is dropped or marked with the probability.
///
/// The paper designs for 3750 packets/s, at least 60 flows and round trips of at most 246 ms: the
/// controller 9.64e-6 (s / 0.53 + 1) / s, sampled 160 times a second, which gives the coefficients
/// that are the defaults here. ns-2 keeps them and samples 170 times. Where flows or round trips are
/// far from the design the controller is slow, or it oscillates.
///
/// Departures from ns-2.35:
/// 1. The buffer holds `limit` packets; byte mode measures the queue in bytes and scales the
///    probability, but the limit stays in packets. There the two halves of byte mode are apart.
/// 2. ECN-capable packets are marked by default (there: with `setbit_`).
/// 3. Samples are not timed: those that have passed are made up for at the next arrival or
///    departure. Between two of these the queue does not change. Their period is a whole number of
///    nanoseconds.
/// 4. At probability 0 no coin is drawn, and a packet falls if the coin is below the probability
///    (there: not above).
#[derive(Clone, Debug)]
pub struct Pi {
    set: PiSettings,
    /// Nanoseconds.
    interval: u64,

    probability: f64,
    /// The queue at the last sample, in both measures, so that settings may choose another.
    last_packets: u32,
    last_bytes: u64,
    /// When the last sample was due, in nanoseconds.
    sampled: u64,
}

impl Listed for Pi {
    type Settings = PiSettings;

    fn new(set: PiSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self {
            set,
            interval: (1e9 / set.updates_per_second).round() as u64,
            probability: 0.0,
            last_packets: 0,
            last_bytes: 0,
            sampled: 0,
        })
    }
}

impl Discipline for Pi {
    fn watches_departures(&self) -> bool {
        true
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        *self = Self {
            probability: self.probability,
            last_packets: self.last_packets,
            last_bytes: self.last_bytes,
            sampled: self.sampled,
            ..Self::new(settings.read(), link)?
        };
        Ok(())
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }
}

impl<C: Coin> Decide<C> for Pi {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.catch_up(arrival.now, arrival.queue_packets, arrival.queue_bytes);
        if arrival.queue_packets >= self.set.limit.0 {
            return Verdict::Drop(DropReason::Overflow);
        }
        if self.probability <= 0.0 {
            return Verdict::Accept;
        }
        let scale = if self.set.byte_mode {
            f64::from(arrival.size) / self.set.mean_packet_size.0
        } else {
            1.0
        };
        if coin.uniform() >= self.probability * scale {
            Verdict::Accept
        } else {
            arrival.notify(self.set.ecn, DropReason::Early)
        }
    }

    #[inline]
    fn on_departure(&mut self, departure: &Departure, _coin: &mut C) -> Verdict {
        let bytes = departure.queue_bytes + u64::from(departure.size);
        self.catch_up(departure.now, departure.queue_packets.saturating_add(1), bytes);
        Verdict::Accept
    }
}

impl Pi {
    /// Takes every sample that was due by `now`, the queue having been as given.
    #[inline]
    fn catch_up(&mut self, now: u64, packets: u32, bytes: u64) {
        if now - self.sampled >= self.interval {
            self.make_up(now, packets, bytes);
        }
    }

    /// The same where there are some.
    #[cold]
    #[inline(never)]
    fn make_up(&mut self, now: u64, packets: u32, bytes: u64) {
        let samples = (now - self.sampled) / self.interval;
        self.sampled += samples * self.interval;
        self.sample(packets, bytes);
        if samples > 1 {
            // All the others find the queue as the first did and step the same way.
            let excess = self.measured(packets, bytes) - self.set.target_queue.0;
            self.move_by((samples - 1) as f64 * (self.set.a - self.set.b) * excess);
        }
    }

    fn sample(&mut self, packets: u32, bytes: u64) {
        let excess = self.measured(packets, bytes) - self.set.target_queue.0;
        let before = self.measured(self.last_packets, self.last_bytes) - self.set.target_queue.0;
        self.move_by(self.set.a * excess - self.set.b * before);
        (self.last_packets, self.last_bytes) = (packets, bytes);
    }

    fn move_by(&mut self, step: f64) {
        self.probability = (self.probability + step).clamp(0.0, 1.0);
    }

    fn measured(&self, packets: u32, bytes: u64) -> f64 {
        if self.set.byte_mode { bytes as f64 / self.set.mean_packet_size.0 } else { packets.into() }
    }
}
