use crate::rule::Acknowledged;

/// Least increase of the round trip that counts, in nanoseconds.
const LEAST_THRESHOLD: u64 = 4_000_000;
/// Increase that always counts, in nanoseconds.
const GREATEST_THRESHOLD: u64 = 16_000_000;
/// The threshold is this part of the round trip, between the two.
const THRESHOLD_DIVISOR: u64 = 8;
/// Round trips that must have been timed in a round.
const SAMPLES: u32 = 8;
/// By what growth is divided in conservative slow start.
const CONSERVATIVE_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start.
const CONSERVATIVE_ROUNDS: u32 = 5;
/// Most segments by which one acknowledgement counts for a sender that does not pace.
const LIMIT: f64 = 8.0;
/// A shortest round trip that is not known.
const UNKNOWN: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Conservative slow start: the round trip that began it, and rounds so far.
    Conservative {
        baseline: u64,
        rounds: u32,
    },
    Over,
}

/// HyStart++: leaves the first slow start when round trips lengthen, before packets are lost.
///
/// Source: RFC 9406. It is a part for window rules, not a rule: it says by how many segments slow
/// start grows the window, and when it is over. Rounds are counted by sequence numbers. When the
/// shortest round trip of a round exceeds that of the round before by a threshold, growth slows down
/// to a quarter (conservative slow start); after five such rounds slow start is over, unless a
/// round trip shorter than the one that raised the suspicion shows that it was mistaken.
///
/// It needs eight timed round trips in a round: without timestamps there is one, and it never acts.
#[derive(Clone, Copy, Debug)]
pub struct HyStart {
    phase: Phase,
    limit: f64,
    /// The round ends when all segments before this one have been acknowledged; 0 at first.
    window_end: u32,
    last_round: u64,
    this_round: u64,
    samples: u32,
}

impl HyStart {
    /// For a connection that begins; `paced`: its segments are spaced.
    pub fn new(paced: bool) -> Self {
        Self {
            phase: Phase::SlowStart,
            limit: if paced { f64::INFINITY } else { LIMIT },
            window_end: 0,
            last_round: UNKNOWN,
            this_round: UNKNOWN,
            samples: 0,
        }
    }

    /// Return true if slow start goes on without it: it serves the first one only.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Congestion was noticed: the first slow start is over.
    pub fn end(&mut self) {
        self.phase = Phase::Over;
    }

    /// Takes an acknowledgement in slow start: by how many segments the window grows. Slow start is
    /// over, with this growth, if [`HyStart::is_over`] afterwards.
    pub fn grow(&mut self, event: &Acknowledged) -> f64 {
        let counted = event.counted.min(self.limit);
        let growth = match self.phase {
            Phase::Conservative { .. } => counted / CONSERVATIVE_DIVISOR,
            _ => counted,
        };
        if let Some(round_trip) = event.round_trip {
            self.this_round = self.this_round.min(round_trip);
            self.samples += 1;
        }
        if self.samples >= SAMPLES {
            self.judge();
        }
        if self.window_end == 0 {
            self.window_end = event.highest;
        } else if event.unacknowledged >= self.window_end {
            self.end_round(event.highest);
        }
        growth
    }

    /// Return true if the round trips of this round say something.
    fn judge(&mut self) {
        match self.phase {
            Phase::SlowStart if self.last_round != UNKNOWN && self.this_round != UNKNOWN => {
                let threshold = (self.last_round / THRESHOLD_DIVISOR)
                    .clamp(LEAST_THRESHOLD, GREATEST_THRESHOLD);
                if self.this_round >= self.last_round + threshold {
                    self.phase = Phase::Conservative { baseline: self.this_round, rounds: 0 };
                }
            }
            Phase::Conservative { baseline, .. } if self.this_round < baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }

    fn end_round(&mut self, highest: u32) {
        self.window_end = highest;
        self.last_round = self.this_round;
        self.this_round = UNKNOWN;
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= CONSERVATIVE_ROUNDS {
                self.phase = Phase::Over;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::tests::acknowledged;

    const MS: u64 = 1_000_000;

    /// A round of `count` acknowledgements of one segment each: growth of the round.
    fn round(hystart: &mut HyStart, first: u32, count: u32, round_trip: u64) -> f64 {
        (1..=count)
            .map(|k| {
                let mut event = acknowledged(1);
                event.round_trip = Some(round_trip);
                event.unacknowledged = first + k;
                event.highest = first + count * (1 + k / count);
                hystart.grow(&event)
            })
            .sum()
    }

    /// Rounds of ten segments with these round trips in milliseconds: the growth of each.
    fn growth(round_trips: &[u64]) -> (Vec<f64>, HyStart) {
        let mut hystart = HyStart::new(false);
        let mut first = 1;
        let mut growth = Vec::new();
        for &milliseconds in round_trips {
            growth.push(round(&mut hystart, first, 10, milliseconds * MS) / 10.0);
            first += 10;
        }
        (growth, hystart)
    }

    #[test]
    fn constant_round_trips_never_end_slow_start() {
        let (growth, hystart) = growth(&[40, 40, 40, 40]);
        assert_eq!(growth, [1.0; 4]);
        assert!(!hystart.is_over());
    }

    #[test]
    fn an_eighth_longer_round_trips_slow_growth_to_a_quarter_and_five_rounds_end_it() {
        // 40 ms / 8 = 5 ms: 44 is not enough, 49 against 44 (5.5 ms) neither, 55 is.
        let (early, hystart) = growth(&[40, 44, 49]);
        assert_eq!(early, [1.0; 3]);
        assert!(!hystart.is_over());
        let (slowed, hystart) = growth(&[40, 40, 45, 46, 47, 47]);
        assert_eq!(slowed[2], 0.85, "eight whole segments, then two quarters: the eighth tells");
        assert_eq!(slowed[3..], [0.25; 3]);
        assert!(!hystart.is_over(), "the round it began in and three more");
        let (_, hystart) = growth(&[40, 40, 45, 46, 47, 47, 47]);
        assert!(hystart.is_over());
    }

    #[test]
    fn a_round_trip_below_the_one_that_raised_suspicion_clears_it() {
        let (growth, hystart) = growth(&[40, 40, 48, 47, 47]);
        assert_eq!(growth[4], 1.0, "{growth:?}");
        assert!(!hystart.is_over());
    }

    #[test]
    fn the_threshold_lies_between_4_and_16_milliseconds() {
        assert_eq!(growth(&[8, 8, 11, 11]).0[3], 1.0); // an eighth is 1 ms, but 3 ms do not count
        assert_eq!(growth(&[8, 8, 12, 12]).0[3], 0.25);
        assert_eq!(growth(&[400, 400, 415, 415]).0[3], 1.0);
        assert_eq!(growth(&[400, 400, 416, 416]).0[3], 0.25); // an eighth would be 50 ms
    }

    #[test]
    fn without_eight_samples_in_a_round_nothing_is_noticed() {
        let mut hystart = HyStart::new(false);
        for (first, round_trip) in [(1, 40), (8, 40), (15, 400), (22, 800)] {
            assert_eq!(round(&mut hystart, first, 7, round_trip * MS), 7.0);
        }
    }

    #[test]
    fn an_acknowledgement_counts_for_at_most_eight_segments_unless_they_are_paced() {
        assert_eq!(HyStart::new(false).grow(&acknowledged(20)), 8.0);
        assert_eq!(HyStart::new(true).grow(&acknowledged(20)), 20.0);
    }
}
