//! Additive increase, multiplicative decrease: the window rule of Tahoe, Reno and their heirs.
//!
//! Source: RFC 5681, section 3.1. In slow start each acknowledgement adds a segment; in congestion
//! avoidance the acknowledgements of one window together do. A sign of congestion halves.

use crate::Window;
use crate::rule::{Acknowledged, Congestion, WindowRule};

/// See the module's head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Additive;

impl WindowRule for Additive {
    #[inline]
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        if window.in_slow_start() {
            if event.counted <= 1.0 {
                window.congestion += 1.0;
                return;
            }
            let left = window.slow_start(event.counted);
            if left <= 0.0 {
                return;
            }
            window.congestion += left / window.congestion;
        } else {
            window.congestion += event.counted / window.congestion;
        }
    }

    fn reduced(&mut self, _now: u64, _sign: Congestion, base: f64, _window: &Window) -> f64 {
        base / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::tests::{acknowledged, window};

    fn grown(from: f64, threshold: f64, acknowledgements: usize) -> f64 {
        let mut window = window(from, threshold);
        for _ in 0..acknowledgements {
            Additive.grow(&acknowledged(1), &mut window);
        }
        window.congestion
    }

    #[test]
    fn slow_start_doubles_the_window_in_one_round_trip() {
        assert_eq!(grown(8.0, 100.0, 8), 16.0);
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_in_one_round_trip() {
        let grown = grown(20.0, 2.0, 20);
        assert!((20.95..=21.0).contains(&grown), "{grown}");
    }

    #[test]
    fn an_acknowledgement_of_several_segments_stops_slow_start_at_the_threshold() {
        let mut window = window(8.0, 10.0);
        Additive.grow(&acknowledged(4), &mut window);
        assert_eq!(window.congestion, 10.2);
    }
}
