use crate::Window;

/// Record of how much of the window was used.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowUse {
    /// True if the window was full at some time since `until` was set.
    pub(super) full: bool,
    /// The most that was outstanding since then.
    pub(super) most_outstanding: u32,
    /// When this segment is acknowledged, all of that is seen anew.
    pub(super) until: u32,
    /// First segment that had not been sent when this was looked at last.
    pub(super) seen: u32,
    /// The most that was outstanding since the window was last used.
    pub(super) used: u32,
    /// When it was, or was reduced because it was not, in nanoseconds.
    pub(super) stamp: u64,
    /// When a segment last left, for the first time or not, in nanoseconds.
    pub(super) last_sent: u64,
}

impl WindowUse {
    /// A segment leaves at `now`. One that is sent again is data, too: RFC 5681, section 4.1, asks when data was sent
    /// last, and Linux notes every sending (`tcp_event_data_sent`).
    pub(super) fn note_sent(&mut self, now: u64) {
        self.last_sent = now;
    }

    /// Return true if an acknowledgement may let the window grow.
    pub(super) fn finds_used(&self, window: &Window) -> bool {
        self.full
            || window.in_slow_start() && window.congestion < 2.0 * f64::from(self.most_outstanding)
    }
}
