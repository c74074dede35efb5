//! CAKE's shaper: when the next packet may be sent.

/// Binary places of the time that a byte takes, at most.
const PLACES: u32 = 34;
/// The least rate, in bytes per second.
const LEAST: u64 = 64;

/// Time that a byte takes at a rate, in nanoseconds and as a fraction of up to 34 binary places; 0 without a rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    fraction: u64,
    places: u32,
}

impl Pace {
    /// That of a rate in bytes per second; 0 for none.
    pub(crate) fn of(rate: u64) -> Self {
        if rate == 0 {
            return Self::default();
        }
        let fraction = (1_000_000_000 << PLACES) / rate.max(LEAST);
        let beyond = (u64::BITS - fraction.leading_zeros()).saturating_sub(PLACES);
        Self { fraction: fraction >> beyond, places: PLACES - beyond }
    }

    /// Time that so many bytes take, in nanoseconds.
    #[inline]
    pub(crate) fn time(self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.fraction) >> self.places
    }
}

/// Times until which packets sent have been paid for. It has no burst: what is late is made up for, and an idle
/// time is not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shaper {
    pace: Pace,
    is_on: bool,
    /// Everything that is charged, dropped packets too.
    paid: u64,
    /// Only packets that are sent, half as fast again: what is charged for dropped ones cannot hold the link for longer.
    failsafe: u64,
}

impl Shaper {
    /// Takes another rate in bytes per second, 0 for none; what has been charged stays.
    pub(crate) fn set_rate(&mut self, rate: u64) {
        (self.pace, self.is_on) = (Pace::of(rate), rate > 0);
    }

    /// Return true if it has a rate.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// When the next packet may be sent.
    #[inline]
    pub(crate) fn ready_at(&self) -> u64 {
        if self.is_on { self.paid.min(self.failsafe) } else { 0 }
    }

    /// A packet arrives at an empty queue.
    #[inline]
    pub(crate) fn wake(&mut self, now: u64) {
        if self.paid < now {
            (self.paid, self.failsafe) = (now, now);
        }
    }

    /// A packet of so many bytes is sent, or counts as if.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: u32, is_sent: bool) {
        let time = self.pace.time(bytes);
        self.paid += time;
        if is_sent {
            self.failsafe += time + time / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_takes_what_the_kernel_computes() {
        // 2.5 MB/s: 400 ns << 34 has 43 bits, so 9 places go.
        assert_eq!((Pace::of(2_500_000).fraction, Pace::of(2_500_000).places), (400 << 25, 25));
        assert_eq!(Pace::of(2_500_000).time(1514), 605_600);
        // 125 MB/s: 8 ns. At 10 Gbit/s 0.8 ns keep 34 places.
        assert_eq!(Pace::of(125_000_000).time(1514), 12_112);
        assert_eq!(
            (Pace::of(1_250_000_000).places, Pace::of(1_250_000_000).time(1514)),
            (34, 1211)
        );
        // No slower than 64 bytes a second.
        assert_eq!(Pace::of(1).time(64), 1_000_000_000);
    }

    #[test]
    fn dropped_packets_are_paid_for_by_one_time_only() {
        let mut shaper = Shaper::default();
        shaper.set_rate(1_000_000);
        shaper.wake(10_000);
        shaper.charge(1000, true);
        assert_eq!(shaper.ready_at(), 1_010_000);
        shaper.charge(1000, false);
        // 2 ms are charged, and 1.5 of the packet that was sent.
        assert_eq!(shaper.ready_at(), 1_510_000);
        shaper.set_rate(2_000_000);
        assert_eq!(shaper.ready_at(), 1_510_000);
    }
}
