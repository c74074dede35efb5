//! The Internet checksum (RFC 1071), and how it follows a change (RFC 1624).
//!
//! Sums are taken over words in the machine's order: the sum of ones' complement does not mind, as
//! long as what comes out is written in the machine's order too.

/// Adds the 16-bit words of `bytes` to a sum; an odd last byte counts as the first of a word.
#[inline]
pub fn add(mut sum: u64, bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        sum += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    }
    let rest = words.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_ne_bytes(last))
}

/// The sum in 16 bits, carries added in.
#[inline]
pub fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum of a sum, as its two bytes in a header.
#[inline]
pub fn of(sum: u64) -> [u8; 2] {
    (!fold(sum)).to_ne_bytes()
}

/// The same for UDP, where 0 stands for none.
#[inline]
pub fn of_datagram(sum: u64) -> [u8; 2] {
    match !fold(sum) {
        0 => [0xff, 0xff],
        checksum => checksum.to_ne_bytes(),
    }
}

/// Value of `checksum` when a word that it covers changes.
#[inline]
pub fn updated(checksum: [u8; 2], before: [u8; 2], after: [u8; 2]) -> [u8; 2] {
    let word = |bytes| u64::from(u16::from_ne_bytes(bytes));
    // Equation 3 of RFC 1624: HC' = ~(~HC + ~m + m').
    let complement = |bytes| u64::from(!u16::from_ne_bytes(bytes));
    of(complement(checksum) + complement(before) + word(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(add(0, &bytes)).to_ne_bytes(), [0xdd, 0xf2]);
        assert_eq!(of(add(0, &bytes)), [0x22, 0x0d]);
    }

    #[test]
    fn odd_lengths_count_their_last_byte_as_the_first_of_a_word() {
        for length in 0..9 {
            let mut bytes: Vec<u8> = (1..=length).collect();
            let sum = fold(add(0, &bytes));
            bytes.extend([0; 8]);
            assert_eq!(fold(add(0, &bytes)), sum, "{length}");
        }
    }

    #[test]
    fn the_example_of_rfc_1624() {
        // Section 4: a word 0x5555 becomes 0x3285 in a header whose checksum is 0xdd2f.
        assert_eq!(updated([0xdd, 0x2f], [0x55, 0x55], [0x32, 0x85]), [0x00, 0x00]);
    }
}
