//! How the congestion window grows: slow start and additive increase (RFC 5681, section 3.1).

/// The congestion window after one more acknowledgement of new data.
///
/// `window` and `slow_start_threshold` in segments. In slow start each acknowledgement adds a
/// segment; in congestion avoidance the acknowledgements of one window together do.
#[inline]
#[must_use]
pub fn additive_increase(window: f64, slow_start_threshold: f64) -> f64 {
    if window < slow_start_threshold { window + 1.0 } else { window + 1.0 / window }
}

#[cfg(test)]
mod tests {
    use super::additive_increase;

    #[test]
    fn slow_start_doubles_the_window_in_one_round_trip() {
        let grown = (0..8).fold(8.0, |window, _| additive_increase(window, 100.0));
        assert_eq!(grown, 16.0);
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_in_one_round_trip() {
        let grown = (0..20).fold(20.0, |window, _| additive_increase(window, 2.0));
        assert!((20.95..=21.0).contains(&grown), "{grown}");
    }
}
