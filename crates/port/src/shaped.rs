//! A shaper: a bucket of tokens that may be overdrawn by one packet.

use vermilion_parameters::{BitPerSecond, Bytes, settings};

settings! {
    /// Settings of a shaper.
    pub ShapedSettings "shaped": "Shaper",
        "Holds the packets of its one class to a rate",
        "Linux 6.12, net/sched/sch_tbf.c, with tokens that may be owed as in CAKE's shaper";
    /// rate at which packets are sent
    rate: BitPerSecond = 10e6 in [64, 1e13] log [1e5, 1e9], "ours";
    /// bytes that may be sent at once after an idle time; 0: none beyond a packet
    burst: Bytes = 0 in [0, 4_294_967_295_u32], "Linux: tbf's burst";
}

/// Shaper in force.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shaper {
    /// Nanoseconds for a byte.
    pace: f64,
    /// Time that the burst takes, in nanoseconds.
    burst: u64,
    /// Until when what has been sent is paid for.
    paid: u64,
}

impl Shaper {
    pub(crate) fn new(set: ShapedSettings) -> Self {
        let mut shaper = Self { pace: 0.0, burst: 0, paid: 0 };
        shaper.set(set);
        shaper
    }

    /// Takes other settings; what has been charged stays.
    pub(crate) fn set(&mut self, set: ShapedSettings) {
        self.pace = 8e9 / set.rate.0;
        self.burst = (set.burst.0 * self.pace) as u64;
    }

    /// When the next packet may be sent.
    #[inline]
    pub(crate) fn ready_at(&self) -> u64 {
        self.paid
    }

    /// A packet of so many bytes is sent at `now`.
    #[inline]
    pub(crate) fn charge(&mut self, now: u64, bytes: u32) {
        // Who is late by less than the burst makes up for it.
        let from = self.paid.max(now.saturating_sub(self.burst));
        self.paid = from + (f64::from(bytes) * self.pace).round() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_time_saves_a_burst_up_and_no_more() {
        // 1000 bytes take a millisecond; the burst is two of them.
        let set = ShapedSettings { rate: BitPerSecond(8e6), burst: Bytes(2000.0) };
        let mut shaper = Shaper::new(set);
        let sent = |shaper: &mut Shaper, now| {
            shaper.charge(now, 1000);
            shaper.ready_at()
        };
        let times: Vec<_> = (0..3).map(|_| sent(&mut shaper, 10_000_000)).collect();
        assert_eq!(times, [9_000_000, 10_000_000, 11_000_000]);
        shaper.set(ShapedSettings { burst: Bytes(0.0), ..set });
        assert_eq!(sent(&mut shaper, 20_000_000), 21_000_000);
    }
}
