//! Arithmetic that takes fewer steps than the standard library's, for numbers of which more is known; and what stands in for
//! chance where there is none.

/// The lesser of two numbers. `f64::min` takes six steps more, to mind what is no number.
#[inline(always)]
pub(crate) fn lesser(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
}

/// The greater of two numbers, likewise.
#[inline(always)]
pub(crate) fn greater(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

/// A count or a time as a real number. Of what is below 2^63, as all of them are, a processor makes one in a single
/// step, of what may be more in five.
#[inline(always)]
pub(crate) fn real(count: u64) -> f64 {
    debug_assert!(i64::try_from(count).is_ok(), "{count}");
    count as i64 as f64
}

/// 64 well-mixed bits of two numbers (the finisher of SplitMix64, Steele, Lea and Flood 2014).
pub(crate) fn mix(first: u64, second: u64) -> u64 {
    let mut bits = first ^ second.rotate_left(32).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_say_what_the_standard_library_does() {
        let numbers = [-2.5, 0.0, 1.0, 4.0, 1e300, f64::INFINITY];
        for one in numbers {
            for other in numbers {
                assert_eq!(lesser(one, other), one.min(other));
                assert_eq!(greater(one, other), one.max(other));
            }
        }
        for count in [0, 1, 1 << 53, (1 << 53) + 1, (1 << 60) + 12_345, i64::MAX as u64] {
            assert_eq!(real(count), count as f64);
        }
    }
}
