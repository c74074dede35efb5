use vermilion_parameters::settings;

use super::Additive;
use crate::Window;
use crate::rule::{Acknowledged, Congestion, WindowRule};

/// Least window that marks leave, in segments.
const LEAST_WINDOW: f64 = 2.0;

settings! {
    /// Settings of the rule.
    pub DctcpOptions;
    /// weight of a new fraction of marks in the average
    mark_gain: f64 = 0.0625 in [> 0, 1], "RFC 8257: g = 1/16";
}

/// DCTCP: the window falls in proportion to the fraction of marked segments.
///
/// Source: RFC 8257. The fraction is averaged once per window of data (gain 1/16, from 1 at the
/// beginning); at the first mark, and not again before a window of data has been acknowledged, the
/// window loses half that average. Growth and the answer to losses are those of RFC 5681.
///
/// The fraction is counted from the receiver's count of marked segments (RFC 9768), which tells the
/// same as the one-bit echo of RFC 8257, section 3.2, as long as no acknowledgement is lost, and more
/// if one is.
///
/// Where the RFC leaves it open: an acknowledgement that reports a mark does not let the window grow
/// (RFC 3168, section 6.1.2); the window never falls below two segments (Linux); a window halved for
/// a loss is not reduced for its marks as well.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    /// How the window grows between marks.
    increase: Additive,
    gain: f64,
    /// Averaged fraction of marked segments.
    alpha: f64,
    delivered: u32,
    marked: u32,
    /// The window over which the fraction is counted ends with this segment's acknowledgement.
    window_end: u32,
    /// Marks are not answered before this segment has been acknowledged.
    recover: u32,
    /// A loss has reduced the window since the last acknowledgement.
    halved: bool,
    /// First segment not acknowledged at the last acknowledgement.
    unacknowledged: u32,
}

impl Dctcp {
    /// A rule for a connection that begins.
    pub fn new(set: DctcpOptions, increase: Additive) -> Self {
        Self {
            gain: set.mark_gain,
            increase,
            alpha: 1.0,
            delivered: 0,
            marked: 0,
            window_end: 0,
            recover: 0,
            halved: false,
            unacknowledged: 0,
        }
    }

    /// The averaged fraction of marked segments.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts, and averages at the end of a window.
    fn observe(&mut self, event: &Acknowledged) {
        self.delivered += event.delivered;
        self.marked = self.marked.saturating_add(event.marked);
        if event.unacknowledged <= self.window_end {
            return;
        }
        if self.delivered > 0 {
            let fraction = (f64::from(self.marked) / f64::from(self.delivered)).min(1.0);
            self.alpha += self.gain * (fraction - self.alpha);
        }
        self.window_end = event.highest;
        (self.delivered, self.marked) = (0, 0);
    }
}

impl WindowRule for Dctcp {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        self.observe(event);
        if std::mem::take(&mut self.halved) {
            self.recover = event.highest;
        }
        let advanced = event.unacknowledged > self.unacknowledged;
        self.unacknowledged = event.unacknowledged;
        if event.in_recovery {
            return;
        }
        if event.marked > 0 {
            if event.unacknowledged > self.recover {
                let current = window.congestion.min(window.cap);
                window.congestion = (current * (1.0 - self.alpha / 2.0)).max(LEAST_WINDOW);
                window.slow_start_threshold = window.congestion;
                self.recover = event.highest;
            }
        } else if advanced && window.congestion < window.cap {
            self.increase.grow(event, window);
        }
    }

    fn reduced(&mut self, _now: u64, _sign: Congestion, base: f64, _window: &Window) -> f64 {
        self.halved = true;
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

    /// One acknowledgement of a segment that is the whole window of data.
    fn answer(rule: &mut Dctcp, window: &mut Window, marked: u32) {
        let mut event = acknowledged(1);
        event.marked = marked;
        event.unacknowledged = rule.window_end + 1;
        event.highest = event.unacknowledged;
        rule.grow(&event, window);
    }

    #[test]
    fn windows_without_marks_let_the_average_decay_by_a_sixteenth() {
        let (mut rule, mut window) =
            (Dctcp::new(DctcpOptions::default(), Additive::default()), window(10.0, 2.0));
        for _ in 0..3 {
            answer(&mut rule, &mut window, 0);
        }
        assert_eq!(rule.alpha(), 3375.0 / 4096.0); // (15/16)^3
    }

    #[test]
    fn a_mark_takes_half_the_average_and_ends_slow_start() {
        let (mut rule, mut window) =
            (Dctcp::new(DctcpOptions::default(), Additive::default()), window(100.0, 1000.0));
        rule.alpha = 0.2;
        answer(&mut rule, &mut window, 1);
        // The window of data is all marked: 0.2 + (1 - 0.2) / 16 = 0.25, and 100 (1 - 0.125).
        assert!((window.congestion - 87.5).abs() < 1e-9);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn one_window_of_data_is_reduced_once() {
        let (mut rule, mut window) =
            (Dctcp::new(DctcpOptions::default(), Additive::default()), window(100.0, 2.0));
        let mut event = acknowledged(1);
        (event.marked, event.highest) = (1, 200);
        for first in 101..=200 {
            event.unacknowledged = first;
            rule.grow(&event, &mut window);
        }
        assert_eq!(window.congestion, 50.0); // alpha is 1 until the window of data is over
        (event.unacknowledged, event.highest) = (201, 251);
        rule.grow(&event, &mut window);
        assert_eq!(window.congestion, 25.0);
    }

    #[test]
    fn a_loss_halves_and_its_window_is_not_reduced_for_marks_as_well() {
        let (mut rule, mut window) =
            (Dctcp::new(DctcpOptions::default(), Additive::default()), window(100.0, 2.0));
        assert_eq!(rule.reduced(0, Congestion::Loss, 100.0, &window), 50.0);
        window.congestion = 50.0;
        let mut event = acknowledged(1);
        (event.marked, event.unacknowledged, event.highest) = (1, 101, 200);
        rule.grow(&event, &mut window);
        assert_eq!(window.congestion, 50.0);
    }

    #[test]
    fn nothing_but_marks_leaves_two_segments() {
        let (mut rule, mut window) =
            (Dctcp::new(DctcpOptions::default(), Additive::default()), window(100.0, 2.0));
        for _ in 0..20 {
            answer(&mut rule, &mut window, 1);
        }
        assert_eq!(window.congestion, 2.0);
    }
}
