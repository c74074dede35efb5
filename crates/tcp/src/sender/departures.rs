/// Departures of segments that a host of Linux spaces.
///
/// The rate says how long after one the next may leave. Whoever could only send later than that, since the window was full,
/// makes up for it: what comes next may leave as much earlier, but by no more than half of the spacing.
///
/// Source: Linux 6.12, `__tcp_transmit_skb`, `tcp_update_skb_after_send` (`tcp_wstamp_ns`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departures {
    /// When the next segment may leave as the rate has it; without a rate, when the last one did. In nanoseconds.
    next: u64,
    /// How much time may still be made up for, in nanoseconds.
    credit: u64,
}

impl Departures {
    /// See the field.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// A segment leaves at `now`.
    pub(crate) fn note(&mut self, now: u64) {
        if now >= self.next {
            self.credit = now - self.next;
            self.next = now;
        }
    }

    /// A segment has left at `now`, and the rate has the next one `wait` nanoseconds later. After how long it may leave.
    pub(crate) fn space(&mut self, now: u64, wait: u64) -> u64 {
        let made_up = self.credit.min(wait / 2);
        self.credit -= made_up;
        self.next += wait - made_up;
        self.next - now
    }
}
