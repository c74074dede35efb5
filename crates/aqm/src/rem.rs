use vermilion_parameters::{Bytes, Packets, ParameterError, Seconds, Settings, choices, settings};

use crate::{Arrival, Coin, Decide, Departure, Discipline, DropReason, LinkFacts, Listed, Verdict};

choices! {
    /// Publication whose constants are in force where none are given.
    pub RemForm { IeeeNetwork = "ieee-network", SourcePaper = "source-paper" }
}

settings! {
    /// Settings of [`Rem`].
    pub RemSettings "rem": "Random Exponential Marking",
        "A price for excess arrivals and queue; the probability is exponential in it",
        "Athuraliya, Li, Low and Yin, IEEE Network 15(3), 2001; ns-2.35, queue/rem.cc";
    /// whose constants are in force where none are given
    form: RemForm = IeeeNetwork, "ns-2.35";
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "ns-2.35 has 50";
    /// queue at which the price rests; automatic: 20, in the source paper's form 0
    target_queue: Option<Packets> = automatic in [0, 1e9] linear [1, 100], "ns-2.35: pbo";
    /// step of the price for each packet in excess
    gain: f64 = 0.001 in [0, 1e3] log [1e-5, 1], "the paper's gamma";
    /// the probability is 1 - base^-price; automatic: 1.001, in the source paper's form 1.04
    base: Option<f64> = automatic in [> 1, 1e3] log [1.0001, 1.1], "the paper's phi; ns-2.35";
    /// weight of the last interval in the average of arrivals; automatic: 1, in the source paper's
    /// form 0.02
    rate_weight: Option<f64> = automatic in [> 0, 1], "ns-2.35: inw";
    /// weight of the queue against the arrivals
    queue_weight: f64 = 0.1 in [0, 1e3] log [0.01, 1], "the paper's alpha";
    /// time between two updates of the price; automatic: 2 ms, in the source paper's form 1 ms
    interval: Option<Seconds> = automatic in [1e-6, 1e3], "ns-2.35: pupdtime";
    /// packet size behind the capacity and byte mode
    mean_packet_size: Bytes = 1000 in [1, 65535], "ns-2.35";
    /// measure arrivals and queue in bytes
    byte_mode: bool = false, "ns-2.35: qib";
    /// ECN-capable packets are marked when they leave, not dropped
    ecn: bool = true, "ns-2.35: markpkts, false";
}

/// Random Exponential Marking: a price that adds up excess arrivals and excess queue.
///
/// Source: S. Athuraliya, V. Li, S. Low, Q. Yin, "REM: Active Queue Management", IEEE Network 15(3),
/// 2001, as ns-2.35 runs it (`queue/rem.cc`, facts, not code); and, for the form `source-paper`, the paper
/// that compares the two, S. Athuraliya, S. Low, "Simulation Comparison of RED and REM", ICON 2000.
///
/// State: the price, and an average of the packets that arrive in an interval. Update, every
/// `interval`: the average takes a step towards the packets that arrived in the interval, and the
/// price moves by gain x (average + queue_weight x (queue - target_queue) - capacity), capacity being
/// the packets that the link can send in the interval; it is never below 0. Control law: the
/// probability is 1 - base^-price.
///
/// The two published forms are one rule with different constants. `source-paper` has no target (price
/// <- price + gamma (alpha backlog + in - capacity)), averages arrivals (in <- (1 - delta) in + delta
/// new, delta 0.02) and marks packets when they leave; `ieee-network` holds a target queue of 20 and
/// takes the arrivals of the last interval as they are. `form` chooses what is in force where nothing is
/// given. The first paper states neither base nor interval: 1.04 and 1 ms are our reading. The price at
/// rest there is the number of sources, and only bases around 1.04 give ten to forty of them
/// probabilities that they can measure; its rates are in packets per millisecond.
///
/// Departures from ns-2.35:
/// 1. With `ecn`, ECN-capable packets are marked when they leave, as there with `markpkts_`; all
///    others are dropped on arrival with the same probability. There, `markpkts_` drops nothing.
/// 2. The buffer holds `limit` packets; there it holds one less, because the packet is put in
///    before it is counted. The default is 100 (50).
/// 3. The weight of the queue, 0.1 there, is a parameter, and the capacity follows the link's rate.
/// 4. Byte mode measures arrivals and queue in bytes and scales the probability, but the limit
///    stays in packets.
/// 5. Intervals are not timed: those that have passed are made up for at the next arrival or
///    departure. Between two of these the queue does not change, so the price is the same.
/// 6. At probability 0 no coin is drawn, and a packet falls if the coin is below the probability
///    (there: not above).
#[derive(Clone, Debug)]
pub struct Rem {
    set: RemSettings,
    target_queue: f64,
    /// Natural logarithm of the base.
    log_base: f64,
    rate_weight: f64,
    /// Nanoseconds.
    interval: u64,
    /// Packets of the mean size that the link sends in an interval.
    capacity: f64,

    price: f64,
    probability: f64,
    /// Packets (byte mode: of the mean size) in an interval.
    average_arrivals: f64,
    /// Arrivals since the last update, in packets or (byte mode) bytes.
    arrivals: u64,
    /// When the price was last updated, in nanoseconds.
    updated: u64,
}

impl Listed for Rem {
    type Settings = RemSettings;

    fn new(set: RemSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        let source_paper = set.form == RemForm::SourcePaper;
        let of_form = |ieee_network, in_source_paper| {
            if source_paper { in_source_paper } else { ieee_network }
        };
        let mut rem = Self {
            set,
            target_queue: set.target_queue.map_or(of_form(20.0, 0.0), |it| it.0),
            log_base: set.base.unwrap_or(of_form(1.001, 1.04)).ln(),
            rate_weight: set.rate_weight.unwrap_or(of_form(1.0, 0.02)),
            interval: set.interval.unwrap_or(Seconds(of_form(0.002, 0.001))).nanoseconds(),
            capacity: 0.0,
            price: 0.0,
            probability: 0.0,
            average_arrivals: 0.0,
            arrivals: 0,
            updated: 0,
        };
        rem.link_changed(link);
        Ok(rem)
    }
}

impl Discipline for Rem {
    fn watches_departures(&self) -> bool {
        true
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fresh = Self::new(settings.read(), link)?;
        let same_unit = fresh.set.byte_mode == self.set.byte_mode;
        if fresh.interval != self.interval {
            self.average_arrivals *= fresh.interval as f64 / self.interval as f64;
        }
        *self = Self {
            price: self.price,
            average_arrivals: self.average_arrivals,
            arrivals: if same_unit { self.arrivals } else { 0 },
            updated: self.updated,
            ..fresh
        };
        self.set_probability();
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        let per_second = link.packets_per_second(self.set.mean_packet_size.0);
        self.capacity = per_second * self.interval as f64 / 1e9;
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("price", "", "limit")
    }
}

impl<C: Coin> Decide<C> for Rem {
    #[inline(always)] // where it decides, what it is told of need not be written to memory
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        self.catch_up(arrival.now, arrival.queue_packets, arrival.queue_bytes);
        self.arrivals += if self.set.byte_mode { u64::from(arrival.size) } else { 1 };
        if arrival.queue_packets >= self.set.limit.0 {
            return Verdict::Drop(DropReason::Overflow);
        }
        let marked_later = self.set.ecn && arrival.ecn_capable();
        if !marked_later && self.falls_on(arrival.size, coin) {
            return Verdict::Drop(DropReason::Early);
        }
        Verdict::Accept
    }

    #[inline(always)] // likewise
    fn on_departure(&mut self, departure: &Departure, coin: &mut C) -> Verdict {
        let bytes = departure.queue_bytes + u64::from(departure.size);
        self.catch_up(departure.now, departure.queue_packets.saturating_add(1), bytes);
        if self.set.ecn && departure.ecn_capable() && self.falls_on(departure.size, coin) {
            return Verdict::Mark;
        }
        Verdict::Accept
    }
}

impl Rem {
    /// Return true if the coin falls on a packet of `size` bytes; none is drawn at probability 0.
    #[inline]
    fn falls_on(&self, size: u32, coin: &mut impl Coin) -> bool {
        if self.probability <= 0.0 {
            return false;
        }
        let scale =
            if self.set.byte_mode { f64::from(size) / self.set.mean_packet_size.0 } else { 1.0 };
        coin.uniform() < self.probability * scale
    }

    /// Makes up for every interval that has ended by `now`, the queue having been as given.
    #[inline]
    fn catch_up(&mut self, now: u64, packets: u32, bytes: u64) {
        if now - self.updated >= self.interval {
            self.make_up(now, packets, bytes);
        }
    }

    /// The same where there are some.
    #[cold]
    #[inline(never)]
    fn make_up(&mut self, now: u64, packets: u32, bytes: u64) {
        let intervals = (now - self.updated) / self.interval;
        self.updated += intervals * self.interval;
        let queue = if self.set.byte_mode {
            bytes as f64 / self.set.mean_packet_size.0
        } else {
            packets.into()
        };
        self.update(intervals, queue);
    }

    /// The first of the intervals had the arrivals that were counted, the others had none.
    fn update(&mut self, intervals: u64, queue: f64) {
        let unit = if self.set.byte_mode { self.set.mean_packet_size.0 } else { 1.0 };
        let arrivals = self.arrivals as f64 / unit;
        self.arrivals = 0;
        self.average_arrivals += self.rate_weight * (arrivals - self.average_arrivals);
        let standing = self.set.queue_weight * (queue - self.target_queue) - self.capacity;
        self.price = (self.price + self.set.gain * (self.average_arrivals + standing)).max(0.0);
        let others = (intervals - 1) as f64;
        if others > 0.0 {
            // Steps that only shrink: once the price has fallen to 0 it stays there, so that all of
            // them can be taken at once.
            let kept = 1.0 - self.rate_weight;
            let left = kept.powf(others);
            let sum = self.average_arrivals * kept * (1.0 - left) / self.rate_weight;
            self.average_arrivals *= left;
            self.price = (self.price + self.set.gain * (sum + others * standing)).max(0.0);
        }
        self.set_probability();
    }

    fn set_probability(&mut self) {
        self.probability = -(-self.price * self.log_base).exp_m1();
    }
}
