//! The greatest of what was measured in the last rounds, from three measurements.

/// A measurement and the round it was made in.
#[derive(Clone, Copy, Debug, Default)]
struct Measurement {
    round: u32,
    value: f64,
}

/// K. Nichols' estimator of a windowed maximum (Linux 6.12, `lib/win_minmax.c`): the best, the second best and the third
/// best of a window, each of them measured later than the one before. What it says is never less than the greatest of the
/// window's last quarter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMaximum {
    best: [Measurement; 3],
}

impl WindowedMaximum {
    /// The greatest of the window.
    pub(super) fn get(&self) -> f64 {
        self.best[0].value
    }

    /// `value` was measured in round `round`; of the last `window` rounds the greatest counts.
    pub(super) fn add(&mut self, window: u32, round: u32, value: f64) {
        let new = Measurement { round, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || round - third.round > window {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        let age = round - first.round;
        if age > window {
            // The best is too old: the others move up. The second may be too old as well.
            (*first, *second, *third) = (*second, *third, new);
            if round - first.round > window {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.round == first.round && age > window / 4 {
            // A quarter of the window without a second best: one of this quarter takes its place.
            (*second, *third) = (new, new);
        } else if third.round == second.round && age > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after<const N: usize>(values: [(u32, f64); N]) -> f64 {
        let mut maximum = WindowedMaximum::default();
        for (round, value) in values {
            maximum.add(10, round, value);
        }
        maximum.get()
    }

    #[test]
    fn the_greatest_counts_until_its_window_has_passed() {
        assert_eq!(after([(1, 5.0), (2, 3.0)]), 5.0);
        assert_eq!(after([(1, 5.0), (2, 3.0), (11, 1.0)]), 5.0);
        // Ten rounds after round 1 it counts, eleven after it does not: then the second best does, of round 4.
        assert_eq!(after([(1, 5.0), (2, 3.0), (4, 2.0), (12, 1.0)]), 2.0);
        assert_eq!(after([(1, 5.0), (2, 7.0)]), 7.0);
    }

    #[test]
    fn nothing_of_a_window_that_is_long_past_counts() {
        assert_eq!(after([(1, 9.0), (2, 8.0), (40, 1.0)]), 1.0);
    }

    #[test]
    fn it_lies_between_the_greatest_of_the_last_rounds_and_that_of_the_window() {
        let mut state = 7_u64;
        let mut maximum = WindowedMaximum::default();
        let mut measured: Vec<(u32, f64)> = Vec::new();
        for round in 0..5000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = (state >> 40) as f64;
            maximum.add(10, round, value);
            measured.push((round, value));
            let of = |rounds: u32| {
                let recent = measured.iter().rev().take_while(|one| round - one.0 <= rounds);
                recent.map(|one| one.1).fold(0.0, f64::max)
            };
            assert!(maximum.get() <= of(10), "{round}");
            assert!(maximum.get() >= of(2), "{round}");
        }
    }
}
