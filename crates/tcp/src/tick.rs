//! Ticks: how many a time has, without a division.
//!
//! Several times are counted in ticks for each acknowledgement, and a division by a number that the compiler does
//! not know takes a processor as long as a dozen other instructions. The length of a tick never changes. So its
//! reciprocal is taken once, and then it is a multiplication.

/// The length of a tick in nanoseconds; 0 if there are none.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    length: u64,
    /// The greatest 64-bit number over the length, rounded down.
    reciprocal: u64,
}

impl Tick {
    /// A tick of so many nanoseconds, or none at all.
    pub fn new(length: u64) -> Self {
        Self { length, reciprocal: u64::MAX.checked_div(length).unwrap_or(0) }
    }

    /// Its length in nanoseconds.
    pub fn length(self) -> u64 {
        self.length
    }

    /// Whole ticks in `time`, and what is left of it. There have to be ticks.
    ///
    /// `time` times the reciprocal falls short of `time` times 2^64 over the length by less than 2^64, as the
    /// reciprocal does by at most 1 and `time` is below 2^64. So the upper half of the product is the quotient, or
    /// one less.
    pub fn split(self, time: u64) -> (u64, u64) {
        debug_assert!(self.length > 0, "no ticks");
        let product = u128::from(time) * u128::from(self.reciprocal);
        let count = (product >> 64) as u64;
        let left = time - count * self.length;
        if left >= self.length { (count + 1, left - self.length) } else { (count, left) }
    }

    /// Whole ticks in `time`.
    pub fn whole(self, time: u64) -> u64 {
        self.split(time).0
    }

    /// Ticks that `time` takes, one that it takes a part of included.
    pub fn begun(self, time: u64) -> u64 {
        let (count, left) = self.split(time);
        count + u64::from(left > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiplication_counts_as_a_division_does() {
        let near = |number: u64| [number.wrapping_sub(1), number, number.wrapping_add(1)];
        let lengths = [1, 2, 3, 7, 10, 1000, 999_983, 1_000_000, 4_000_000, 1 << 32, u64::MAX];
        for length in lengths {
            let tick = Tick::new(length);
            let mut state = 1_u64;
            for step in 0..64 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let multiple = length.wrapping_mul(state >> step);
                for time in [near(0), near(1 << step), near(state >> step), near(multiple)].concat()
                {
                    let expected = (time / length, time % length);
                    assert_eq!(tick.split(time), expected, "{time} in ticks of {length}");
                    assert_eq!(tick.begun(time), time.div_ceil(length));
                }
            }
        }
    }
}
