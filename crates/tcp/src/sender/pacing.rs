//! Pacing: segments leave one by one over the round trip instead of in bursts.
//!
//! A rule that knows the rate (BBR, Prague) names it. For the others it is that of Linux
//! (`tcp_update_pacing_rate`): twice the window in a smoothed round trip while the window is below
//! half its threshold, 1.2 times beyond. Of theirs the first ten segments of data are not paced
//! (`tcp_update_skb_after_send`, after sch_fq), nor is anything before a round trip is known.

use super::Sender;
use crate::rule::WindowRule;

/// Sendings that are not spaced, the opening segment's included.
const UNPACED: u64 = 10;

const SLOW_START_GAIN: f64 = 2.0;
const GAIN: f64 = 1.2;

impl Sender {
    /// Whether the next segment has to wait; then the timer will ask again.
    #[inline]
    pub(super) fn held_by_pacing(&mut self, now: u64) -> bool {
        if self.release > now {
            return true;
        }
        self.release = 0;
        false
    }

    /// A segment leaves at `now`: when the next one may.
    #[inline]
    pub(super) fn pace(&mut self, now: u64) {
        let rate = self.rule.pacing_rate().or_else(|| {
            let gain = if self.window.congestion < self.window.slow_start_threshold / 2.0 {
                SLOW_START_GAIN
            } else {
                GAIN
            };
            if u64::from(self.highest) + self.counters.retransmissions <= UNPACED {
                return None;
            }
            let round_trip = self.round_trip.smoothed()? as f64 / 1e9;
            Some(gain * self.window.congestion / round_trip)
        });
        if let Some(rate) = rate.filter(|rate| *rate > 0.0) {
            // At most a second: a rate that has collapsed must not silence a connection.
            self.release = now + ((1e9 / rate) as u64).clamp(1, 1_000_000_000);
        }
    }
}
