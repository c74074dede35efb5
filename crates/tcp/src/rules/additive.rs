use crate::Window;
use crate::rule::{Acknowledged, Congestion, GrowthSettings, WindowRule};

/// Additive increase, multiplicative decrease: the window rule of Tahoe, Reno and their heirs.
///
/// Source: RFC 5681, section 3.1. In slow start each acknowledgement adds a segment; in congestion
/// avoidance the acknowledgements of one window together do. A sign of congestion halves.
///
/// Two ways of counting are in use, and differ where windows are small: by acknowledgements, each of
/// which adds its share of a segment (ns-2), and by segments acknowledged, a window of which adds a
/// whole one (RFC 3465, Linux). ns-3's TcpLinuxReno counts segments, but keeps the count when the window is
/// halved, and what slow start leaves of an acknowledgement is lost (`cumulative_counting`).
///
/// An acknowledgement adds one segment at most in congestion avoidance, however many windows it covers, as RFC 5681 and
/// RFC 3465 say. Linux adds as many as it covers (`tcp_cong_avoid_ai`), which shows where windows are of two or three.
///
/// As an option a window adds another number of segments than one (`linear_increase`): AIMD(a, b) of
/// Floyd, Handley and Padhye ("A comparison of equation-based and AIMD congestion control", 2000).
#[derive(Clone, Copy, Debug)]
pub struct Additive {
    /// True if the window grows by whole segments.
    by_segments: bool,
    /// True if the count survives a reduction, as in ns-3.
    keeps_count: bool,
    /// Segments by which a window of acknowledgements makes the window grow.
    increase: f64,
    /// Segments acknowledged, times the increase, that have not made the window grow yet.
    credit: f64,
}

impl Default for Additive {
    fn default() -> Self {
        Self { by_segments: false, keeps_count: false, increase: 1.0, credit: 0.0 }
    }
}

impl Additive {
    /// A rule that counts as they say.
    pub fn new(set: &GrowthSettings) -> Self {
        Self {
            by_segments: set.byte_counting,
            keeps_count: set.cumulative_counting,
            increase: set.linear_increase.0,
            credit: 0.0,
        }
    }

    /// The window grows for `counted` segments, or for one acknowledgement.
    #[inline]
    pub fn grow_by(&mut self, counted: f64, window: &mut Window) {
        if self.by_segments {
            self.grow_by_segments(counted, window);
        } else if window.in_slow_start() {
            window.congestion += 1.0;
        } else {
            window.congestion += self.increase / window.congestion;
        }
    }

    fn grow_by_segments(&mut self, counted: f64, window: &mut Window) {
        if self.keeps_count {
            self.grow_as_in_ns3(counted, window);
            return;
        }
        self.credit += self.increase * window.slow_start(counted);
        if self.credit >= window.congestion && !window.in_slow_start() {
            self.credit -= window.congestion;
            window.congestion += 1.0;
        }
    }
}

impl Additive {
    /// `TcpLinuxReno::IncreaseWindow`: a count larger than the window is worth one segment, what comes to
    /// it as many as it makes.
    fn grow_as_in_ns3(&mut self, counted: f64, window: &mut Window) {
        if window.in_slow_start() {
            window.slow_start(counted);
            return;
        }
        let whole = window.congestion.floor();
        if self.credit >= whole {
            self.credit = 0.0;
            window.congestion += 1.0;
        }
        self.credit += self.increase * counted;
        let grown = (self.credit / whole).floor();
        self.credit -= grown * whole;
        window.congestion += grown;
    }
}

impl WindowRule for Additive {
    #[inline]
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        self.grow_by(event.counted, window);
    }

    fn reduced(&mut self, _now: u64, _sign: Congestion, base: f64, _window: &Window) -> f64 {
        if !self.keeps_count {
            self.credit = 0.0;
        }
        base / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::tests::{acknowledged, window};

    const BY_ACKNOWLEDGEMENTS: Additive =
        Additive { by_segments: false, keeps_count: false, increase: 1.0, credit: 0.0 };
    const BY_SEGMENTS: Additive = Additive { by_segments: true, ..BY_ACKNOWLEDGEMENTS };
    const NS3: Additive = Additive { keeps_count: true, ..BY_SEGMENTS };

    fn grown(mut rule: Additive, from: f64, threshold: f64, acknowledgements: &[u32]) -> f64 {
        let mut window = window(from, threshold);
        for &segments in acknowledgements {
            rule.grow(&acknowledged(segments), &mut window);
        }
        window.congestion
    }

    #[test]
    fn slow_start_doubles_the_window_in_one_round_trip() {
        assert_eq!(grown(BY_ACKNOWLEDGEMENTS, 8.0, 100.0, &[1; 8]), 16.0);
        assert_eq!(grown(BY_SEGMENTS, 8.0, 100.0, &[2; 4]), 16.0);
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_in_one_round_trip() {
        let grown_by_shares = grown(BY_ACKNOWLEDGEMENTS, 20.0, 2.0, &[1; 20]);
        assert!((20.95..=21.0).contains(&grown_by_shares), "{grown_by_shares}");
        assert_eq!(grown(BY_SEGMENTS, 20.0, 2.0, &[2; 9]), 20.0);
        assert_eq!(grown(BY_SEGMENTS, 20.0, 2.0, &[2; 10]), 21.0);
    }

    #[test]
    fn another_increase_is_that_many_segments_in_one_round_trip() {
        for rule in [BY_ACKNOWLEDGEMENTS, BY_SEGMENTS, NS3] {
            let rule = Additive { increase: 0.25, ..rule };
            let four_round_trips = grown(rule, 20.0, 2.0, &[1; 81]);
            assert!((20.95..=21.05).contains(&four_round_trips), "{four_round_trips}");
            assert_eq!(grown(rule, 8.0, 100.0, &[1; 8]), 16.0, "slow start is what it is");
        }
    }

    #[test]
    fn in_ns3_what_was_counted_before_a_reduction_counts_after_it() {
        // Seven of eight counted, halved to 4: one segment for the seven, and the acknowledgement that ends
        // the recovery covers nine: two more, and one is left.
        for (rule, expected) in [(NS3, 7.0), (BY_SEGMENTS, 5.0)] {
            let (mut rule, mut window) = (rule, window(8.0, 2.0));
            rule.grow(&acknowledged(7), &mut window);
            window.congestion = rule.reduced(0, Congestion::Loss, 8.0, &window);
            rule.grow(&acknowledged(9), &mut window);
            assert_eq!(window.congestion, expected);
        }
    }

    #[test]
    fn an_acknowledgement_of_several_segments_stops_slow_start_at_the_threshold() {
        // 2 of 4 reach the threshold; the other 2 and 8 more are a window of 10.
        assert_eq!(grown(BY_SEGMENTS, 8.0, 10.0, &[4]), 10.0);
        assert_eq!(grown(BY_SEGMENTS, 8.0, 10.0, &[4, 4, 4]), 11.0);
    }
}
