//! Round-trip time, its estimate, and the retransmission timeout that follows from it.
//!
//! Source: V. Jacobson 1988 and RFC 6298 (gains 1/8 and 1/4, timeout = smoothed + 4 x variation,
//! first sample: variation = half of it, doubling at each expiry, Karn's rule), with a clock of
//! finite granularity as in 4.3BSD and ns-2.35: a sample is counted in clock ticks, smoothed value
//! and variation are kept with 3 and 2 fractional bits.
//!
//! Departures from RFC 6298, following ns-2.35 and changing outcomes under heavy loss:
//! 1. The minimum timeout may be below 1 s (default 0.2 s), and is applied before backing off;
//!    optionally to the variation instead of the whole, as Linux does.
//! 2. After four expiries in a row the smoothed value is set aside (folded into the variation) and
//!    the next sample starts the estimate anew.
//! 3. A backed-off timeout stays in force until a newly sent segment's round trip has been timed.
//!
//! Linux (`tcp_rtt_estimator`, `tcp_set_rto`) departs further ([`TimeoutEstimator::Linux`]): the variation in force is
//! the greatest of a round trip, and falls once in one, by a quarter of what it lies above that; a round trip that is
//! shorter than expected moves it by a thirty-second instead of a quarter; and nothing starts anew. So a queue that
//! grows by seconds is not taken for a loss as soon as a few samples have been alike.

use vermilion_parameters::{Seconds, choices, settings};

use crate::host_clock::HostClock;
use crate::tick::Tick;
use crate::timer_wheel;

choices! {
    /// Quantity of which the minimum timeout is a minimum.
    pub TimeoutFloor {
        /// The timeout (RFC 6298, ns-2).
        Timeout = "timeout",
        /// The four variations that are added to the smoothed round trip (Linux).
        Variation = "variation",
    }
}

choices! {
    /// How the timeout follows the round trips.
    pub TimeoutEstimator {
        /// As in RFC 6298, in integers as in ns-2.
        Rfc6298 = "rfc6298",
        /// As in Linux.
        Linux = "linux",
    }
}

settings! {
    /// Settings of the retransmission timer, the host's clock, and how round trips are timed.
    pub TimerSettings;
    /// least retransmission timeout before backing off
    minimum_timeout: Seconds = 0.2 in [0, 60], "ns-2.35; RFC 6298 has 1 s";
    /// what the minimum timeout bounds: the timeout, or what is added to the smoothed round trip
    timeout_floor: TimeoutFloor = Timeout, "RFC 6298 and ns-2.35; Linux has variation";
    /// how the timeout follows round trips: as in RFC 6298 and ns-2, or (linux) with a variation that falls once in a
    /// round trip, and with no new start after four timeouts in a row
    timeout_estimator: TimeoutEstimator = Rfc6298,
        "RFC 6298 and ns-2.35; Linux: tcp_rtt_estimator";
    /// retransmission timeout before any round trip is known
    initial_timeout: Seconds = 3 in [1e-3, 60], "ns-2.35; RFC 2988; RFC 6298 has 1 s";
    /// greatest retransmission timeout
    maximum_timeout: Seconds = 60 in [1e-3, 3600], "RFC 6298";
    /// granularity in which round trips are timed
    clock_tick: Seconds = 0.01 in [1e-9, 1], "ns-2.35 (since 2002)";
    /// ticks at which the host's timers expire, on Linux's timer wheel; 0: exactly when due
    timer_tick: Seconds = 0 in [0, 1], "Linux: 1/HZ, 1 to 10 ms; kernel/time/timer.c";
    /// the clock of the sender's host is that of all others that share one: their timers expire together
    shared_clock: bool = false, "flows of one Linux host";
    /// every acknowledgement of new data times a round trip, not only one in each
    timestamps: bool = false, "RFC 7323";
}

impl TimerSettings {
    /// In how many ways the clock of a host may stand apart from others', in nanoseconds, at least 1: after
    /// that time it ticks as at the beginning, the longest bucket of the timer wheel included.
    pub fn clock_phases(&self) -> u64 {
        if self.shared_clock {
            return 1;
        }
        self.clock_tick.nanoseconds().max(self.timer_tick.nanoseconds() << timer_wheel::COARSEST)
    }
}

/// Estimates the round-trip time and derives the timeout.
#[derive(Clone, Debug)]
pub struct RoundTripEstimator {
    minimum_timeout: u64,
    maximum_timeout: u64,
    floor: TimeoutFloor,
    rules: TimeoutEstimator,
    /// In which round trips are counted.
    tick: Tick,
    /// With whose ticks timers expire.
    clock: HostClock,
    /// True if they expire exactly all the same.
    exact: bool,
    /// Smoothed round trip in eighths of a tick; 0 while there is none.
    smoothed: i64,
    /// Smoothed variation in quarters of a tick.
    variation: i64,
    /// Linux: the greatest variation since the last round trip was over, in quarters of a tick.
    greatest: i64,
    /// Linux: the variation in force, in quarters of a tick.
    in_force: i64,
    /// Linux: the round trip is over when more than the segments before this one are acknowledged.
    end: u32,
    /// The timeout before bounds and backing off, in nanoseconds.
    current: u64,
    /// The timeout in force. Every acknowledgement sets the timer anew, and few of them change it.
    timeout: u64,
    /// How often it has been doubled.
    doublings: u8,
}

impl RoundTripEstimator {
    /// No sample yet. `clock_phase`: what the host's clock says at time 0, in nanoseconds.
    pub fn new(set: &TimerSettings, clock_phase: u64) -> Self {
        let timer_tick = set.timer_tick.nanoseconds();
        let mut estimator = Self {
            minimum_timeout: set.minimum_timeout.nanoseconds(),
            maximum_timeout: set.maximum_timeout.nanoseconds(),
            floor: set.timeout_floor,
            rules: set.timeout_estimator,
            tick: Tick::new(set.clock_tick.nanoseconds()),
            clock: HostClock::new(timer_tick, clock_phase),
            exact: timer_tick == 0,
            smoothed: 0,
            variation: 0,
            greatest: 0,
            in_force: 0,
            end: 0,
            current: set.initial_timeout.nanoseconds(),
            timeout: 0,
            doublings: 0,
        };
        estimator.set_timeout();
        estimator
    }

    /// Takes the sample of a segment sent at `sent` and acknowledged at `now` (nanoseconds), when all segments before
    /// `acknowledged` are acknowledged and `next` is the first that has not been sent.
    pub fn sample(&mut self, sent: u64, now: u64, acknowledged: u32, next: u32) {
        let (_, offset) = self.tick.split(sent + self.clock.phase());
        let measured = self.tick.whole(now - sent + offset).max(1) as i64;
        let variation = match self.rules {
            TimeoutEstimator::Rfc6298 => self.follow_rfc6298(measured),
            TimeoutEstimator::Linux => self.follow_linux(measured, acknowledged, next),
        };
        let ticks = ((variation << 3) + self.smoothed) >> 3;
        let current = ticks as u64 * self.tick.length();
        if current != self.current {
            self.current = current;
            self.set_timeout();
        }
    }

    /// RFC 6298: a round trip of so many ticks; returns the variation in force.
    #[inline]
    fn follow_rfc6298(&mut self, measured: i64) -> i64 {
        if self.smoothed == 0 {
            self.smoothed = measured << 3;
            self.variation = measured << 1;
        } else {
            let error = measured - (self.smoothed >> 3);
            self.smoothed = (self.smoothed + error).max(1);
            self.variation = (self.variation + error.abs() - (self.variation >> 2)).max(1);
        }
        self.variation.max(self.least_variation())
    }

    /// Linux: the same.
    #[inline]
    fn follow_linux(&mut self, measured: i64, acknowledged: u32, next: u32) -> i64 {
        if self.smoothed == 0 {
            self.smoothed = measured << 3;
            self.variation = measured << 1;
            self.in_force = self.variation.max(self.least_variation());
            self.greatest = self.in_force;
            self.end = next;
            return self.in_force;
        }
        let error = measured - (self.smoothed >> 3);
        self.smoothed = (self.smoothed + error).max(1);
        let mut change = error.abs() - (self.variation >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.variation += change;
        self.greatest = self.greatest.max(self.variation);
        self.in_force = self.in_force.max(self.greatest);
        if acknowledged > self.end {
            self.in_force -= (self.in_force - self.greatest) >> 2;
            self.end = next;
            self.greatest = self.least_variation();
        }
        self.in_force
    }

    /// The least variation in quarters of a tick.
    #[inline]
    fn least_variation(&self) -> i64 {
        match self.floor {
            TimeoutFloor::Timeout => 0,
            TimeoutFloor::Variation => self.tick.whole(self.minimum_timeout) as i64,
        }
    }

    /// The smoothed round trip in nanoseconds; `None` before the first sample.
    #[inline]
    pub fn smoothed(&self) -> Option<u64> {
        (self.smoothed > 0).then(|| self.smoothed as u64 * self.tick.length() / 8)
    }

    /// The timeout in force, in nanoseconds.
    #[inline]
    pub fn timeout(&self) -> u64 {
        self.timeout
    }

    /// Lower bound, in nanoseconds.
    #[inline]
    pub(crate) fn minimum_timeout(&self) -> u64 {
        self.minimum_timeout
    }

    /// Update what follows from a change.
    #[inline]
    fn set_timeout(&mut self) {
        let least = self.current.max(self.minimum_timeout);
        self.timeout = least
            .saturating_mul(1 << self.doublings.min(63))
            .min(self.maximum_timeout)
            .max(2 * self.tick.length());
    }

    /// When the retransmission timer expires if it is set at `now`.
    #[inline]
    pub fn expiry(&self, now: u64) -> u64 {
        self.after(now, self.timeout())
    }

    /// When a timer set at `now` for `time` nanoseconds expires. Where timers move in ticks, the
    /// time is rounded up to ticks and counted from the tick before now, and the timer comes to the wheel.
    #[inline]
    pub fn after(&self, now: u64, time: u64) -> u64 {
        if self.exact {
            return now.saturating_add(time);
        }
        self.clock.expiry(self.clock.ticks(now), self.clock.begun(time))
    }

    /// With whose ticks the host's timers expire.
    #[inline]
    pub fn clock(&self) -> &HostClock {
        &self.clock
    }

    /// The timer has expired: the next timeout is twice as long.
    pub fn back_off(&mut self) {
        if self.doublings < 6 || self.timeout() < self.maximum_timeout {
            self.doublings = self.doublings.saturating_add(1);
            self.set_timeout();
        }
        if self.doublings > 3 && self.rules == TimeoutEstimator::Rfc6298 {
            self.variation += self.smoothed >> 3;
            self.smoothed = 0;
        }
    }

    /// A newly sent segment has been acknowledged: the network is heard again.
    #[inline]
    pub fn end_back_off(&mut self) {
        if self.doublings != 0 {
            self.doublings = 0;
            self.set_timeout();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// Ticks of a millisecond.
    fn fine() -> TimerSettings {
        TimerSettings { clock_tick: Seconds(0.001), ..TimerSettings::default() }
    }

    #[test]
    fn the_first_sample_gives_three_times_itself() {
        // RFC 6298 (2.2): RTO = R + 4 * R/2 = 3 R.
        let mut estimator = RoundTripEstimator::new(&fine(), 0);
        assert_eq!(estimator.timeout(), 3000 * MS);
        estimator.sample(0, 100 * MS, 1, 1);
        assert_eq!(estimator.timeout(), 300 * MS);
    }

    #[test]
    fn constant_samples_bring_the_timeout_to_the_sample_or_the_minimum() {
        let mut estimator = RoundTripEstimator::new(&fine(), 0);
        for _ in 0..100 {
            estimator.sample(0, 400 * MS, 1, 1);
        }
        let timeout = estimator.timeout();
        assert!((400 * MS..=406 * MS).contains(&timeout), "{timeout}");
        for _ in 0..100 {
            estimator.sample(0, 20 * MS, 1, 1);
        }
        assert_eq!(estimator.timeout(), 200 * MS);
    }

    #[test]
    fn each_expiry_doubles_up_to_the_maximum() {
        let mut estimator = RoundTripEstimator::new(&fine(), 0);
        estimator.sample(0, 100 * MS, 1, 1);
        for expected in [600, 1200, 2400, 4800, 9600, 19200, 38400, 60000, 60000] {
            estimator.back_off();
            assert_eq!(estimator.timeout(), expected * MS);
        }
        estimator.end_back_off();
        assert_eq!(estimator.timeout(), 300 * MS);
    }

    #[test]
    fn in_linux_the_variation_falls_once_in_a_round_trip() {
        // `tcp_rtt_estimator`, by hand: ticks of a millisecond, at least 10 ms of variation.
        let mut estimator = RoundTripEstimator::new(
            &TimerSettings {
                minimum_timeout: Seconds(0.01),
                timeout_floor: TimeoutFloor::Variation,
                timeout_estimator: TimeoutEstimator::Linux,
                ..fine()
            },
            0,
        );
        // The round trip in milliseconds, what is acknowledged, what is sent next, the timeout.
        let steps = [
            (100, 1, 11, 300),  // 4 * 50
            (100, 2, 12, 300), // the variation of now is 150, that in force is the greatest of the round trip
            (100, 12, 22, 300), // 113; the round trip ends, and its greatest was 200
            (100, 23, 33, 272), // 85: a quarter less of 200 - 85, rounded down
            (60, 24, 34, 267), // 40 less: 95 on average; of 40 - 21 an eighth, rounded down: 87
            (300, 25, 35, 391), // 205 more: 120.6 on average, and 87 + 205 - 21
        ];
        for (round_trip, acknowledged, next, timeout) in steps {
            estimator.sample(0, round_trip * MS, acknowledged, next);
            assert_eq!(estimator.timeout(), timeout * MS, "acknowledged {acknowledged}");
        }
        // Four timeouts, and what was known is still known.
        for _ in 0..4 {
            estimator.back_off();
        }
        estimator.end_back_off();
        assert_eq!(estimator.timeout(), 391 * MS);
        assert_eq!(estimator.smoothed(), Some(120_625_000));
    }

    #[test]
    fn elsewhere_four_timeouts_make_the_estimate_start_anew() {
        let mut estimator = RoundTripEstimator::new(&fine(), 0);
        estimator.sample(0, 100 * MS, 1, 1);
        for expected in [true, true, true, false] {
            estimator.back_off();
            assert_eq!(estimator.smoothed().is_some(), expected);
        }
    }

    #[test]
    fn timers_that_move_in_ticks_expire_at_one() {
        let rules = TimerSettings { timer_tick: Seconds(0.01), ..fine() };
        let estimator = RoundTripEstimator::new(&rules, 3 * MS);
        // The host's ticks are at 7, 17, 27 ms. 15 ms are two ticks, counted from the one at 17, and
        // the timer is never early.
        assert_eq!(estimator.after(20 * MS, 15 * MS), 47 * MS);
        assert_eq!(RoundTripEstimator::new(&fine(), 0).after(20 * MS, 15 * MS), 35 * MS);
    }

    #[test]
    fn hosts_stand_apart_by_all_that_their_timers_can_tell() {
        assert_eq!(fine().clock_phases(), MS);
        let ticking = TimerSettings { timer_tick: Seconds(0.01), ..fine() };
        assert_eq!(ticking.clock_phases(), 40_960 * MS);
        assert_eq!(TimerSettings { shared_clock: true, ..ticking }.clock_phases(), 1);
        // Two hosts, whose timers of 1 s have buckets of 80 ms.
        let expiries =
            [0, 30 * MS].map(|phase| RoundTripEstimator::new(&ticking, phase).after(0, 1000 * MS));
        assert_eq!(expiries, [1040 * MS, 1010 * MS]);
    }
}
