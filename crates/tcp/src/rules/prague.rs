use vermilion_parameters::{Seconds, settings};

use crate::Window;
use crate::rule::{Acknowledged, Congestion, WindowRule};

/// Least window that marks leave, in segments.
const LEAST_WINDOW: f64 = 2.0;
/// Weight of a new round trip in the average.
const ROUND_TRIP_GAIN: f64 = 0.125;
/// How much faster than a window in a round trip segments leave in early slow start.
const SLOW_START_PACE: f64 = 2.0;

settings! {
    /// Settings of the rule.
    pub PragueOptions;
    /// weight of a new fraction of marks in the average
    mark_gain: f64 = 0.0625 in [> 0, 1], "tcp_prague.c: 1/16, as DCTCP";
    /// flows with a short round trip become as fast as one with the reference round trip
    round_trip_independence: bool = true, "the draft; tcp_prague.c: prague_rtt_scaling 1";
    /// round trip as which shorter ones behave
    reference_round_trip: Seconds = 0.025 in [1e-6, 1], "tcp_prague.c: prague_rtt_target";
    /// round trips after slow start before a flow behaves so
    independence_delay: u32 = 500 in [0, 1e9], "tcp_prague.c: prague_rtt_transition";
}

/// Prague: DCTCP for the Internet, with a smoother increase and less dependence on round trips.
///
/// Source: draft-briscoe-iccrg-prague-congestion-control. Constants and the order of steps are those of
/// its reference implementation (L4STeam's Linux, `tcp_prague.c`):
///
/// - The fraction of marked segments is averaged once per round trip (gain 1/16), from 1 at the
///   first mark; marks reduce the window by half the average, once per round trip.
/// - Unlike DCTCP's, the window keeps growing meanwhile, by one segment in each round trip shared out
///   over the acknowledged segments that were not marked.
/// - Once 500 rounds have passed since slow start, flows with a round trip below a reference of 25 ms
///   average and reduce once per reference, and grow by (round trip / reference)^2 of a segment
///   in a round trip: at the same fraction of marks they are as fast as a flow with that round trip.
/// - Segments are spaced at the window per round trip, twice that in early slow start.
/// - A loss halves the window.
///
/// Departures:
/// 1. No fallback to classic ECN (off by default in the implementation too).
/// 2. The window has fractions, but only whole segments leave, rounded down (the implementation
///    rounds up), and marks leave at least two: slower pacing instead of smaller windows is not done.
/// 3. The window is the fractional one at once; the implementation takes one segment of the
///    difference with each acknowledgement.
/// 4. A mark that comes before the reference round trip is over waits for nothing: the next mark
///    after it reduces. The implementation then waits for another round trip to end.
/// 5. Only the rule called "rate" there makes short round trips behave like longer ones.
#[derive(Clone, Copy, Debug)]
pub struct Prague {
    options: PragueOptions,
    /// Averaged fraction of marked segments.
    alpha: f64,
    /// True if any mark has been seen: only then is there something to average.
    seen: bool,
    delivered: u32,
    marked: u32,
    round_end: u32,
    /// Rounds since slow start.
    rounds: u32,
    /// When the fraction was last averaged, in nanoseconds.
    averaged: u64,
    /// Marks are not answered before this segment has been acknowledged.
    recover: u32,
    /// When marks last reduced the window, in nanoseconds.
    reduced: Option<u64>,
    /// A loss has reduced the window since the last acknowledgement.
    halved: bool,
    /// Averaged round trip in seconds; 0 before the first.
    round_trip: f64,
    pace: Option<f64>,
}

impl Prague {
    /// A rule for a connection that begins.
    pub fn new(options: PragueOptions) -> Self {
        Self {
            options,
            alpha: 1.0,
            seen: false,
            delivered: 0,
            marked: 0,
            round_end: 0,
            rounds: 0,
            averaged: 0,
            recover: 0,
            reduced: None,
            halved: false,
            round_trip: 0.0,
            pace: None,
        }
    }

    /// The averaged fraction of marked segments.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The reference round trip in seconds, while it replaces a shorter one.
    fn reference(&self, window: &Window) -> Option<f64> {
        let PragueOptions { reference_round_trip: Seconds(reference), .. } = self.options;
        let active = !window.in_slow_start() && self.rounds >= self.options.independence_delay;
        let active = active && self.options.round_trip_independence;
        (active && self.round_trip < reference).then_some(reference)
    }

    /// Return true if a reference round trip has gone by since `then`, if there is one.
    fn elapsed(reference: Option<f64>, now: u64, then: u64) -> bool {
        reference.is_none_or(|reference| now.saturating_sub(then) as f64 >= reference * 1e9)
    }

    /// Marks reduce the window, once in each round trip.
    fn answer_marks(&mut self, event: &Acknowledged, window: &mut Window) {
        self.seen = true;
        let again =
            self.reduced.is_none_or(|then| Self::elapsed(self.reference(window), event.now, then));
        if event.unacknowledged > self.recover && again {
            let current = window.congestion.min(window.cap);
            window.congestion = (current * (1.0 - self.alpha / 2.0)).max(LEAST_WINDOW);
            window.slow_start_threshold = window.congestion;
            self.recover = event.highest;
            self.reduced = Some(event.now);
        }
    }

    /// Segments that were not marked let the window grow.
    fn increase(&mut self, event: &Acknowledged, window: &mut Window) {
        let unmarked = f64::from(event.delivered.saturating_sub(event.marked));
        if unmarked == 0.0 || window.congestion >= window.cap {
            return;
        }
        let mut left = unmarked;
        if window.in_slow_start() {
            left = window.slow_start(unmarked);
        }
        if left > 0.0 {
            let share = self.reference(window).map_or(1.0, |reference| {
                let ratio = self.round_trip / reference;
                ratio * ratio
            });
            window.congestion += left * share / window.congestion;
        }
    }

    /// At the end of a round, averages the fraction of marked segments.
    fn observe(&mut self, event: &Acknowledged, window: &Window) {
        self.delivered += event.delivered;
        self.marked = self.marked.saturating_add(event.marked);
        if event.unacknowledged < self.round_end
            || !Self::elapsed(self.reference(window), event.now, self.averaged)
        {
            return;
        }
        if self.seen && self.delivered > 0 {
            let fraction = (f64::from(self.marked) / f64::from(self.delivered)).min(1.0);
            self.alpha += self.options.mark_gain * (fraction - self.alpha);
        }
        self.averaged = event.now;
        self.round_end = event.highest;
        (self.delivered, self.marked) = (0, 0);
        if !window.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }
}

impl WindowRule for Prague {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        if let Some(round_trip) = event.round_trip {
            let seconds = round_trip as f64 / 1e9;
            if self.round_trip == 0.0 {
                self.round_trip = seconds;
            } else {
                self.round_trip += ROUND_TRIP_GAIN * (seconds - self.round_trip);
            }
        }
        if std::mem::take(&mut self.halved) {
            self.recover = event.highest;
        }
        if !event.in_recovery {
            if event.marked > 0 {
                self.answer_marks(event, window);
            }
            self.increase(event, window);
        }
        self.observe(event, window);
        if self.round_trip > 0.0 {
            let early = window.congestion < window.slow_start_threshold / 2.0;
            let gain = if early { SLOW_START_PACE } else { 1.0 };
            self.pace = Some(gain * window.congestion / self.round_trip);
        }
    }

    fn reduced(&mut self, _now: u64, _sign: Congestion, base: f64, _window: &Window) -> f64 {
        self.halved = true;
        base / 2.0
    }

    fn answers_marks(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::tests::{acknowledged, window};

    const MS: u64 = 1_000_000;
    /// One acknowledgement of `delivered` segments, `marked` of them marked, that ends a round.
    fn answer(rule: &mut Prague, window: &mut Window, now: u64, delivered: u32, marked: u32) {
        let mut event = acknowledged(delivered);
        event.now = now;
        event.marked = marked;
        event.round_trip = Some(5 * MS);
        event.unacknowledged = rule.round_end.max(rule.recover) + 1;
        event.highest = event.unacknowledged;
        rule.grow(&event, window);
    }

    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let (mut rule, mut window) = (Prague::new(PragueOptions::default()), window(100.0, 1000.0));
        for round in 0..20 {
            answer(&mut rule, &mut window, round, 1, 0);
        }
        assert_eq!((rule.alpha(), window.congestion), (1.0, 120.0)); // nothing to average so far
        answer(&mut rule, &mut window, 20, 1, 1);
        assert_eq!(window.congestion, 60.0);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn segments_that_are_not_marked_let_the_window_grow_even_beside_marks() {
        let (mut rule, mut window) = (Prague::new(PragueOptions::default()), window(100.0, 2.0));
        rule.alpha = 0.5;
        let mut event = acknowledged(4);
        (event.marked, event.unacknowledged, event.highest) = (1, 5, 105);
        rule.grow(&event, &mut window);
        // 100 (1 - 0.25) = 75, then three of four segments: 3 / 75.
        assert!((window.congestion - 75.04).abs() < 1e-12, "{}", window.congestion);
        (event.unacknowledged, event.highest) = (9, 109);
        rule.grow(&event, &mut window);
        let expected = 75.04 + 3.0 / 75.04; // no second reduction in this round trip
        assert!((window.congestion - expected).abs() < 1e-12, "{}", window.congestion);
    }

    #[test]
    fn after_five_hundred_rounds_a_short_round_trip_behaves_as_the_reference() {
        let (mut rule, mut window) = (Prague::new(PragueOptions::default()), window(100.0, 2.0));
        answer(&mut rule, &mut window, 0, 1, 0);
        assert!((window.congestion - 100.01).abs() < 1e-12);
        rule.rounds = 500;
        window.congestion = 100.0;
        answer(&mut rule, &mut window, 0, 1, 0);
        // (5 ms / 25 ms)^2 of a hundredth.
        assert!((window.congestion - 100.0004).abs() < 1e-12, "{}", window.congestion);
        // Marks reduce once in 25 ms, not once in 5 ms.
        rule.alpha = 0.1;
        for (now, reduces) in [(100, true), (105, false), (120, false), (125, true)] {
            let before = window.congestion;
            answer(&mut rule, &mut window, now * MS, 1, 1);
            assert_eq!(window.congestion < before, reduces, "at {now} ms");
        }
    }

    #[test]
    fn segments_are_spaced_over_the_round_trip_and_twice_as_fast_early_in_slow_start() {
        let (mut rule, mut window) = (Prague::new(PragueOptions::default()), window(20.0, 2.0));
        assert_eq!(rule.pacing_rate(), None);
        answer(&mut rule, &mut window, 0, 0, 0);
        assert_eq!(rule.pacing_rate(), Some(4000.0)); // 20 in 5 ms
        window.slow_start_threshold = 1000.0;
        answer(&mut rule, &mut window, 0, 0, 0);
        assert_eq!(rule.pacing_rate(), Some(8000.0));
    }

    #[test]
    fn marks_leave_two_segments_and_losses_halve() {
        let (mut rule, mut window) = (Prague::new(PragueOptions::default()), window(9.0, 2.0));
        assert_eq!(rule.reduced(0, Congestion::Loss, 9.0, &window), 4.5);
        rule.halved = false;
        for round in 0..20 {
            answer(&mut rule, &mut window, round * 100 * MS, 1, 1);
        }
        assert_eq!(window.congestion, 2.0);
    }
}
