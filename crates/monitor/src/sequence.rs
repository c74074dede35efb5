//! Numbers of 32 bits that start anew after the highest: sequence numbers (RFC 9293, section 3.4)
//! and timestamps (RFC 7323, section 5.2).

/// How far `a` is ahead of `b`; negative if it is behind. Right as long as the two are less than
/// 2^31 apart.
pub const fn ahead(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::ahead;

    #[test]
    fn the_number_after_the_highest_is_ahead_of_it() {
        assert_eq!(ahead(0, u32::MAX), 1);
        assert_eq!(ahead(u32::MAX, 0), -1);
        assert_eq!(ahead(5, 5), 0);
        assert_eq!(ahead(0x8000_0000, 1), i32::MAX);
    }
}
