//! What a packet weighs on the line behind CAKE.

use vermilion_parameters::{Bytes, choices};

choices! {
    /// How a link layer cuts packets into pieces.
    pub CakeFraming {
        /// Not at all:
        Whole = "noatm",
        /// Into cells of 53 bytes with 48 of payload:
        Atm = "atm",
        /// With a byte more for each 64:
        Ptm = "ptm",
    }
}

/// What is added to packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    /// Beyond a packet's size, in bytes.
    added: i64,
    least: i64,
    framing: CakeFraming,
}

impl Weights {
    /// Those of a line that adds `overhead` to all but the `offset` of a packet's size; without it sizes count as they
    /// are.
    pub(crate) fn new(
        overhead: Option<Bytes>,
        offset: Bytes<u32>,
        mpu: Bytes<u32>,
        framing: CakeFraming,
    ) -> Self {
        let added = overhead.map_or(0, |overhead| overhead.0 as i64 - i64::from(offset.0));
        Self { added, least: i64::from(mpu.0), framing }
    }

    /// The bytes that a packet of `size` takes on the line.
    #[inline]
    pub(crate) fn weigh(&self, size: u32) -> u32 {
        let size = (i64::from(size) + self.added).max(self.least).max(0) as u32;
        match self.framing {
            CakeFraming::Whole => size,
            CakeFraming::Atm => size.div_ceil(48) * 53,
            CakeFraming::Ptm => size + size.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weigh(size: u32, overhead: Option<f64>, atm: CakeFraming, mpu: u32) -> u32 {
        Weights::new(overhead.map(Bytes), Bytes(14), Bytes(mpu), atm).weigh(size)
    }

    #[test]
    fn packets_weigh_what_they_take_on_the_line() {
        assert_eq!(weigh(1514, None, CakeFraming::Whole, 0), 1514);
        // 1500 + 44 bytes are 33 cells.
        assert_eq!(weigh(1514, Some(44.0), CakeFraming::Atm, 0), 1749);
        // 1500 + 18 bytes, and 24 times a byte.
        assert_eq!(weigh(1514, Some(18.0), CakeFraming::Ptm, 0), 1542);
        assert_eq!(weigh(54, Some(18.0), CakeFraming::Whole, 64), 64);
        assert_eq!(weigh(60, Some(-20.0), CakeFraming::Whole, 0), 26);
        assert_eq!(weigh(60, Some(-64.0), CakeFraming::Whole, 0), 0);
    }
}
