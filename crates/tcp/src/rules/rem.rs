use vermilion_parameters::{Packets, choices, settings};

use crate::Window;
use crate::rule::{Acknowledged, Congestion, WindowRule};

choices! {
    /// How the window follows the price.
    pub RemAdjustment { Immediate = "immediate", Smoothed = "smoothed" }
}

settings! {
    /// Settings of the rule.
    pub RemOptions;
    /// base of the marking probability; that of the queues
    phi: f64 = 1.04 in [> 1, 1e3],
        "not in the paper; prices of 10 to 40 ask for 1.03 to 1.05; ns-2's queue has 1.001";
    /// last segments among which marks are counted
    marks_memory: Packets<u32> = 50 in [1, 1e5], "the paper: N";
    /// weight of the utility: packets in a second at a price of 1
    utility_weight: Packets = 4000 in [> 0, 1e9],
        "the paper: the bottleneck's capacity, there 4 packets in a millisecond";
    /// packets in a second while nothing is marked
    max_rate: Option<Packets> = automatic in [> 0, 1e9],
        "not in the paper; automatic: the utility weight";
    /// packets in a second while everything is marked
    min_rate: Option<Packets> = automatic in [0, 1e9],
        "not in the paper; automatic: one packet in a round trip";
    /// weight of a new round trip in the average
    round_trip_gain: f64 = 0.02 in [> 0, 1], "the paper: beta";
    /// the window is what the price asks for, or moves towards it by a packet in a round trip
    adjustment: RemAdjustment = Immediate, "the paper has both";
}

/// The source algorithm of REM: a rate that maximises utility, less the price of the path.
///
/// Source: S. Athuraliya, S. Low, "Simulation Comparison of RED and REM", ICON 2000, with a
/// utility of w log(rate): a queue marks with probability 1 - phi^-price, so that a segment escapes
/// all marks of its path with probability phi^-(sum of prices). The sender takes the fraction f of
/// marked segments among the last N for that probability, recovers the price as
/// -ln(1 - f) / ln(phi), sends at w / price, and keeps the window that makes this rate, the rate
/// times the averaged round trip, rounded up. Without a mark among the last N it sends at the
/// greatest rate, with nothing but marks at the least. The smoothed variant moves the window by one
/// segment in each round trip towards that window.
///
/// Where the paper leaves it open:
/// 1. Greatest and least rate: the utility weight (in the paper the bottleneck's capacity), and
///    one segment in a round trip, unless given.
/// 2. Segments that have not been sent yet count as not marked: a connection begins at the
///    greatest rate with its first timed round trip (in the smoothed variant it begins small).
/// 3. Where one acknowledgement stands for several segments, each of them is one of the N.
/// 4. Losses are repaired in a halved window; they say nothing about the price. With a queue that
///    drops and does not mark, the sender insists on the greatest rate.
#[derive(Clone, Debug)]
pub struct Rem {
    options: RemOptions,
    /// The last N segments, a bit for each that was marked.
    marks: Box<[u64]>,
    /// Where the next one goes.
    place: usize,
    /// How many of them were marked.
    count: u32,
    /// The natural logarithm of phi.
    log_phi: f64,
    /// For how many of them the rate was worked out last, and that rate: most segments leave both as they are, and
    /// logarithms take long.
    rate: (u32, f64),
    /// Averaged round trip in seconds; 0 before the first.
    round_trip: f64,
    round_end: u32,
}

impl Rem {
    /// A rule for a connection that begins.
    pub fn new(options: RemOptions) -> Self {
        Self {
            options,
            marks: vec![0; options.marks_memory.0.div_ceil(64) as usize].into_boxed_slice(),
            place: 0,
            count: 0,
            log_phi: options.phi.ln(),
            rate: (u32::MAX, 0.0),
            round_trip: 0.0,
            round_end: 0,
        }
    }

    fn note(&mut self, marked: bool) {
        let bit = 1 << (self.place % 64);
        let word = &mut self.marks[self.place / 64];
        self.count -= u32::from(*word & bit != 0);
        self.count += u32::from(marked);
        *word = if marked { *word | bit } else { *word & !bit };
        self.place =
            if self.place + 1 < self.options.marks_memory.0 as usize { self.place + 1 } else { 0 };
    }

    /// The path's price; infinite if everything is marked.
    pub fn price(&self) -> f64 {
        let fraction = f64::from(self.count) / f64::from(self.options.marks_memory.0);
        // Not the negative: no mark must mean zero, not minus zero, which is worth the least rate.
        (1.0 - fraction).ln().abs() / self.log_phi
    }

    /// The rate that this price is worth, in segments per second.
    fn rate(&mut self) -> f64 {
        if self.rate.0 != self.count {
            self.find_rate();
        }
        self.rate.1
    }

    #[inline(never)]
    fn find_rate(&mut self) {
        let RemOptions { utility_weight: Packets(weight), max_rate, min_rate, .. } = self.options;
        let rate = (weight / self.price()).min(max_rate.map_or(weight, |most| most.0));
        let rate = rate.max(min_rate.map_or(0.0, |least| least.0));
        self.rate = (self.count, rate);
    }
}

impl WindowRule for Rem {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        let marked = event.marked.min(event.delivered.max(1));
        for _ in 0..marked {
            self.note(true);
        }
        for _ in marked..event.delivered {
            self.note(false);
        }
        if let Some(round_trip) = event.round_trip {
            let seconds = round_trip as f64 / 1e9;
            if self.round_trip == 0.0 {
                self.round_trip = seconds;
            } else {
                self.round_trip += self.options.round_trip_gain * (seconds - self.round_trip);
            }
        }
        let round_over = event.unacknowledged >= self.round_end;
        if round_over {
            self.round_end = event.highest;
        }
        if self.round_trip == 0.0 || event.in_recovery {
            return;
        }
        let wanted = (self.rate() * self.round_trip).ceil().clamp(1.0, window.cap);
        // There is no slow start: after a timeout, too, the price alone decides.
        window.slow_start_threshold = 2.0;
        if self.options.adjustment == RemAdjustment::Immediate {
            window.congestion = wanted;
        } else if round_over {
            let step = (wanted - window.congestion).clamp(-1.0, 1.0);
            window.congestion = (window.congestion + step).max(1.0);
        }
    }

    fn reduced(&mut self, _now: u64, _sign: Congestion, base: f64, _window: &Window) -> f64 {
        base / 2.0
    }

    fn answers_marks(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::tests::{acknowledged, window};

    /// Fifty segments of which `marked` were marked, over a round trip of 20 ms.
    fn after(options: RemOptions, marked: u32, window: &mut Window) -> Rem {
        let mut rule = Rem::new(options);
        for index in 0..50 {
            let mut event = acknowledged(1);
            event.round_trip = Some(20_000_000);
            event.marked = u32::from(index < marked);
            event.unacknowledged = index + 1;
            event.highest = index + 2;
            rule.grow(&event, window);
        }
        rule
    }

    #[test]
    fn the_price_is_recovered_from_the_fraction_of_marks() {
        // Half of them: ln 2 / ln 1.04 = 17.67; 4000 / 17.67 = 226.3 per second, 4.53 in 20 ms.
        let mut window = window(1.0, 1e6);
        let rule = after(RemOptions::default(), 25, &mut window);
        assert!((rule.price() - 17.673).abs() < 1e-3, "{}", rule.price());
        assert_eq!(window.congestion, 5.0);
    }

    #[test]
    fn no_mark_means_the_greatest_rate_and_nothing_else_the_least() {
        let mut window = window(1.0, 1e6);
        after(RemOptions::default(), 0, &mut window);
        assert_eq!(window.congestion, 80.0); // 4000 in a second, 80 in 20 ms
        let all = after(RemOptions::default(), 50, &mut window);
        assert!(all.price().is_infinite());
        assert_eq!(window.congestion, 1.0);
        after(
            RemOptions { min_rate: Some(Packets(130.0)), ..RemOptions::default() },
            50,
            &mut window,
        );
        assert_eq!(window.congestion, 3.0); // 2.6, rounded up
    }

    #[test]
    fn only_the_last_fifty_segments_count() {
        let mut window = window(1.0, 1e6);
        let mut rule = after(RemOptions::default(), 25, &mut window);
        assert_eq!(rule.count, 25);
        for left in (0..25).rev() {
            rule.grow(&acknowledged(1), &mut window);
            assert_eq!(rule.count, left, "the marked ones were the oldest");
        }
        assert_eq!(window.congestion, 80.0);
    }

    #[test]
    fn the_smoothed_variant_moves_by_one_segment_in_a_round_trip() {
        let mut window = window(10.0, 1e6);
        let smoothed = RemOptions { adjustment: RemAdjustment::Smoothed, ..RemOptions::default() };
        after(smoothed, 0, &mut window);
        // Each acknowledgement of the helper ends a round of one or two segments.
        assert!(window.congestion > 30.0 && window.congestion <= 60.0, "{}", window.congestion);
        let before = window.congestion;
        let mut rule = after(smoothed, 0, &mut window);
        rule.round_end = 100;
        let reached = window.congestion;
        assert!(reached > before);
        rule.grow(&acknowledged(1), &mut window);
        assert_eq!(window.congestion, reached, "the round is not over");
    }

    #[test]
    fn round_trips_are_averaged_slowly() {
        let mut window = window(1.0, 1e6);
        let mut rule = after(RemOptions::default(), 0, &mut window);
        let mut event = acknowledged(1);
        event.round_trip = Some(70_000_000);
        rule.grow(&event, &mut window);
        assert!((rule.round_trip - 0.021).abs() < 1e-12); // 0.98 * 20 + 0.02 * 70
    }
}
