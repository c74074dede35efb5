//! Priority flow control (IEEE 802.1Qbb), as two automata: who asks for a pause, and who pauses.

/// What a port tells its partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Send no more of this class.
    Pause,
    /// Go on.
    Resume,
}

/// The side whose memory fills: which signal is due.
///
/// Departure from 802.1Qbb: a pause holds until it is ended, it has no quanta that run out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asking {
    /// A pause has been asked for and not ended.
    pub is_pausing: bool,
}

impl Asking {
    /// A packet has come in; `is_over` says that its port has too much.
    #[inline]
    pub fn on_arrival(&mut self, is_over: impl FnOnce() -> bool) -> Option<Signal> {
        (!self.is_pausing && is_over()).then(|| {
            self.is_pausing = true;
            Signal::Pause
        })
    }

    /// A packet has left; `is_under` says that the port it came in by has little enough.
    #[inline]
    pub fn on_departure(&mut self, is_under: impl FnOnce() -> bool) -> Option<Signal> {
        (self.is_pausing && is_under()).then(|| {
            self.is_pausing = false;
            Signal::Resume
        })
    }
}

/// The side that is told: it stands still between a pause and its end. A frame in transmission is not cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Obeying {
    since: Option<u64>,
    total: u64,
    /// Pauses so far.
    pub pauses: u32,
}

impl Obeying {
    /// A signal has arrived. Whether it changes anything.
    pub fn on_signal(&mut self, now: u64, signal: Signal) -> bool {
        match (signal, self.since) {
            (Signal::Pause, None) => {
                self.since = Some(now);
                self.pauses += 1;
                true
            }
            (Signal::Resume, Some(since)) => {
                self.since = None;
                self.total += now - since;
                true
            }
            _ => false,
        }
    }

    /// True between a pause and its end.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.since.is_some()
    }

    /// Nanoseconds that it has been paused so far.
    #[must_use]
    pub fn paused(&self, now: u64) -> u64 {
        self.total + self.since.map_or(0, |since| now - since)
    }
}
