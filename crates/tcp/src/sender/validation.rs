//! Windows that are not used: they do not grow, and shrink after a while.
//!
//! Source: RFC 7661 and RFC 2861 as in Linux 6.12 (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`,
//! `tcp_cwnd_application_limited`, `tcp_slow_start_after_idle_check`, `tcp_cwnd_restart`).
//!
//! A window is used if, at some time in a window of data, as much was in the network as it says; in slow
//! start it also counts as used while it is less than twice the most that was outstanding. Otherwise
//! acknowledgements do not let it grow: neither where the receiver allows less nor where there is not
//! enough to send. A sender that has less to send than the window for longer than a timeout gives back half of what it
//! did not use; one that was silent for longer halves the window for each timeout. Neither goes below the
//! initial window, and the threshold remembers three quarters of what was given back.
//!
//! Departures: CUBIC's time goes on meanwhile, where Linux lets it stand still while nothing is sent.

use super::flight::Flight;
use crate::rule::WindowRule;

impl Flight {
    /// No more may leave at `now` because as much is in the network as the window says.
    pub(super) fn note_full_window(&mut self, now: u64) {
        let (next, highest, outstanding) = (self.next, self.highest, self.outstanding());
        if let Some(window_use) = &mut self.window_use {
            window_use.full = true;
            window_use.most_outstanding = outstanding;
            window_use.until = next;
            window_use.seen = highest;
            (window_use.used, window_use.stamp) = (0, now);
        }
    }

    /// No more may leave at `now` while so many are in the network; `repairing`: losses are being
    /// repaired.
    pub(super) fn note_use_of_window(&mut self, now: u64, in_network: u32, repairing: bool) {
        let outstanding = self.outstanding();
        let Some(window_use) = &mut self.window_use else { return };
        let full = f64::from(in_network) >= self.window.congestion.floor();
        let sent = std::mem::replace(&mut window_use.seen, self.highest) != self.highest;
        if !sent && !full {
            return;
        }
        if full
            || self.unacknowledged >= window_use.until
            || !window_use.full && outstanding > window_use.most_outstanding
        {
            window_use.full = full;
            window_use.most_outstanding = outstanding;
            window_use.until = self.next;
        }
        if window_use.finds_used(&self.window) {
            (window_use.used, window_use.stamp) = (0, now);
            return;
        }
        window_use.used = window_use.used.max(outstanding);
        let waited = now - window_use.stamp >= self.timer.estimator.timeout();
        // What the receiver does not allow is no reason: there is more to send.
        if waited && self.next >= self.available {
            let used = f64::from(std::mem::take(&mut window_use.used)).max(self.initial_window);
            window_use.stamp = now;
            let open = !repairing && self.unacknowledged >= self.recover;
            if open && used < self.window.congestion {
                self.remember_window();
                self.window.congestion = ((self.window.congestion + used) / 2.0).floor();
            }
        }
    }

    /// Return true if an acknowledgement may let the window grow.
    pub(super) fn window_is_used(&self) -> bool {
        self.window_use.as_ref().is_none_or(|window_use| window_use.finds_used(&self.window))
    }

    /// A rule that answers every mark hears of them although the window may not grow.
    #[cold]
    pub(super) fn tell_rule_of_marks(&mut self, now: u64, delivered: u32, marked: u32) {
        if !self.rule.answers_marks() {
            return;
        }
        let window = self.window.congestion;
        let event = self.acknowledged(now, delivered, marked);
        self.rule.grow(&event, &mut self.window);
        self.window.congestion = self.window.congestion.min(window);
    }

    /// There is something to send again after a pause in which nothing was outstanding.
    pub(super) fn restart_after_idle(&mut self, now: u64) {
        let timeout = self.timer.estimator.timeout();
        let Some(window_use) = &mut self.window_use else { return };
        let mut left = now.saturating_sub(window_use.last_sent);
        if left <= timeout || !self.open {
            return;
        }
        (window_use.used, window_use.stamp) = (0, now);
        self.remember_window();
        let least = self.initial_window.min(self.window.congestion);
        left -= timeout;
        while left > 0 && self.window.congestion > least {
            self.window.congestion = (self.window.congestion / 2.0).floor();
            left = left.saturating_sub(timeout);
        }
        self.window.congestion = self.window.congestion.max(least);
    }

    /// Slow start will lead back to three quarters of the window that is given up (RFC 2861).
    fn remember_window(&mut self) {
        let remembered = (0.75 * self.window.congestion).floor();
        self.window.slow_start_threshold = self.window.slow_start_threshold.max(remembered);
    }
}
