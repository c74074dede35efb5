use vermilion_parameters::{Packets, Seconds, settings};

use crate::Window;
use crate::rule::{Acknowledged, Congestion, WindowRule};

/// Length of the stretches of which the least delay is kept, in nanoseconds.
const MINUTE: u64 = 60_000_000_000;

settings! {
    /// Settings of the rule.
    pub LedbatOptions;
    /// queueing delay that is aimed at
    target_delay: Seconds = 0.1 in [> 0, 10], "RFC 6817: TARGET, at most 0.1 s";
    /// segments by which the window grows in a round trip without queueing delay
    delay_gain: f64 = 1 in [> 0, 1], "RFC 6817: GAIN, at most 1";
    /// minutes of which the least delay counts
    base_history: u32 = 10 in [1, 1e4], "RFC 6817: BASE_HISTORY";
    /// last delays of which the least is the current one
    current_filter: Packets<u32> = 4 in [1, 1e4],
        "RFC 6817 leaves CURRENT_FILTER open; ns-3 has 4";
    /// by how much the window may exceed what was outstanding
    allowed_increase: Packets = 1 in [> 0, 1e4], "RFC 6817: ALLOWED_INCREASE";
    /// least window, but for one of 1 after a timeout
    minimum_window: Packets = 2 in [1, 1e4], "RFC 6817: MIN_CWND";
}

/// The last of a series of delays, in nanoseconds.
#[derive(Clone, Debug)]
struct Recent {
    delays: Box<[u64]>,
    last: usize,
}

impl Recent {
    fn new(count: usize) -> Self {
        Self { delays: vec![u64::MAX; count].into_boxed_slice(), last: 0 }
    }

    fn push(&mut self, delay: u64) {
        self.last = (self.last + 1) % self.delays.len();
        self.delays[self.last] = delay;
    }

    fn lower_last(&mut self, delay: u64) {
        let last = &mut self.delays[self.last];
        *last = delay.min(*last);
    }

    fn least(&self) -> u64 {
        self.delays.iter().copied().min().unwrap_or(u64::MAX)
    }
}

/// LEDBAT: gives way to everybody else by the delay that it sees itself add to the queue.
///
/// Source: RFC 6817, section 2.4.2. The queueing delay is what the least of the last one-way delays
/// exceeds the least of the last ten minutes by. Each acknowledgement moves the window by the distance
/// from the target, as a part of it, times the segments acknowledged over the window: up by a segment
/// in a round trip in which nothing queues, not at all at the target, down beyond it. The window is
/// at most what was outstanding and one segment more, and at least two. A loss halves it.
///
/// State: the least delay of each of the last minutes (as many as `base_history`), the last delays (as
/// many as `current_filter`). One-way delays come from two clocks which nobody has set alike;
/// only their differences are used.
///
/// Readings and departures:
/// 1. The filter, which the RFC leaves open, is the least of the last samples. Their number is a
///    parameter. Where the history is so short that it forgets a delay before the filter does, the
///    queueing delay is 0, not negative.
/// 2. An acknowledgement tells one delay, that of the segment that made the receiver send it, whatever
///    number of segments it acknowledges (the RFC lets it tell of each).
/// 3. While losses are being repaired neither the window moves nor are delays noted.
/// 4. There is no slow start: the RFC's algorithm has none.
/// 5. The RFC's timeout (one segment, then twice as long) is the sender's retransmission timer.
#[derive(Clone, Debug)]
pub struct Ledbat {
    options: LedbatOptions,
    base: Recent,
    current: Recent,
    /// The minute that the last of the base delays is of.
    minute: Option<u64>,
}

impl Ledbat {
    /// A rule for a connection that begins.
    pub fn new(options: LedbatOptions) -> Self {
        let recent = |count: u32| Recent::new(count as usize);
        let (base, current) = (recent(options.base_history), recent(options.current_filter.0));
        Self { options, base, current, minute: None }
    }

    fn note(&mut self, now: u64, delay: u64) {
        let minute = now / MINUTE;
        if self.minute == Some(minute) {
            self.base.lower_last(delay);
        } else {
            self.minute = Some(minute);
            self.base.push(delay);
        }
        self.current.push(delay);
    }
}

impl WindowRule for Ledbat {
    fn reads_forward_delay(&self) -> bool {
        true
    }

    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        let Some(delay) = event.forward_delay else { return };
        self.note(event.now, delay);
        let queueing = self.current.least().saturating_sub(self.base.least()) as f64;
        let options = &self.options;
        let off_target = 1.0 - queueing / (options.target_delay.0 * 1e9);
        let newly = f64::from(event.delivered);
        let outstanding = f64::from(event.highest - event.unacknowledged) + newly;
        let moved = window.congestion + options.delay_gain * off_target * newly / window.congestion;
        window.congestion = moved
            .min(outstanding + options.allowed_increase.0)
            .max(options.minimum_window.0)
            .min(window.cap);
        // Nothing here looks at it; pacing must not take this for a slow start.
        window.slow_start_threshold = 2.0;
    }

    fn reduced(&mut self, _now: u64, _sign: Congestion, base: f64, window: &Window) -> f64 {
        (base / 2.0).max(self.options.minimum_window.0).min(window.congestion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::tests::{acknowledged, window};

    fn rfc() -> LedbatOptions {
        LedbatOptions { current_filter: Packets(1), ..LedbatOptions::default() }
    }
    const MS: u64 = 1_000_000;

    /// The windows after acknowledgements of one segment at these times, with these delays (ms).
    fn windows(options: LedbatOptions, given: &[(u64, u64)]) -> Vec<f64> {
        let (mut rule, mut window) = (Ledbat::new(options), window(10.0, 1e6));
        let answers = given.iter().map(|&(now, delay)| {
            let mut event = acknowledged(1);
            (event.now, event.forward_delay) = (now * MS, Some(delay * MS));
            event.highest = 1000;
            rule.grow(&event, &mut window);
            window.congestion
        });
        answers.collect()
    }

    #[test]
    fn the_window_grows_below_the_target_stands_at_it_and_shrinks_beyond() {
        let all = windows(rfc(), &[(0, 500), (1, 550), (2, 600), (3, 700)]);
        assert_eq!(all[0], 10.1);
        assert!((all[1] - (10.1 + 0.5 / 10.1)).abs() < 1e-12);
        assert_eq!(all[2], all[1]);
        assert!((all[3] - (all[2] - 1.0 / all[2])).abs() < 1e-12);
    }

    #[test]
    fn a_delay_is_forgotten_after_as_many_minutes_as_the_history_has() {
        let options = LedbatOptions { base_history: 2, ..rfc() };
        // The first minute's 400 ms are the base in the second, not in the third.
        let all = windows(options, &[(0, 400), (60_000, 500), (120_000, 500)]);
        assert_eq!(all[1], all[0]);
        assert!((all[2] - (all[1] + 1.0 / all[1])).abs() < 1e-12);
    }

    #[test]
    fn one_late_segment_among_those_filtered_changes_nothing() {
        let options = LedbatOptions { current_filter: Packets(3), ..rfc() };
        let calm = windows(options, &[(0, 100), (1, 100), (2, 100)]);
        assert_eq!(windows(options, &[(0, 100), (1, 100), (2, 900)]), calm);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let (mut rule, mut window) = (Ledbat::new(rfc()), window(10.0, 1e6));
        let mut event = acknowledged(1);
        (event.forward_delay, event.highest) = (Some(0), 3);
        rule.grow(&event, &mut window);
        assert_eq!(window.congestion, 5.0); // four were outstanding
        event.highest = 0;
        rule.grow(&event, &mut window);
        assert_eq!(window.congestion, 2.0);
    }
}
