use crate::tick::Tick;
use crate::timer_wheel;

/// The tick of a host whose timers expire exactly (`timer_tick` of 0), in nanoseconds.
const FINE: u64 = 1_000_000;

/// A host's clock: it counts ticks, and Linux's timers expire with them.
///
/// Both ends of a connection read the same.
#[derive(Clone, Copy, Debug)]
pub struct HostClock {
    tick: Tick,
    /// Reading of it at time 0, in nanoseconds.
    phase: u64,
}

impl HostClock {
    /// A clock whose ticks are `timer_tick` long (0: 1 ms) and that said `phase` at time 0, in
    /// nanoseconds.
    pub(crate) fn new(timer_tick: u64, phase: u64) -> Self {
        Self { tick: Tick::new(if timer_tick == 0 { FINE } else { timer_tick }), phase }
    }

    /// Reading of it at time 0, in nanoseconds.
    pub(crate) fn phase(&self) -> u64 {
        self.phase
    }

    /// Ticks that it has counted at `now` (nanoseconds).
    pub(crate) fn ticks(&self, now: u64) -> u64 {
        self.tick.whole(now + self.phase)
    }

    /// Ticks that `time` (nanoseconds) takes, one that it takes a part of included.
    pub(crate) fn begun(&self, time: u64) -> u64 {
        self.tick.begun(time)
    }

    /// When a timer expires (nanoseconds) that is set in tick `now` for so many ticks: they are counted from
    /// that tick, and the timer comes to the wheel.
    pub(crate) fn expiry(&self, now: u64, ticks: u64) -> u64 {
        timer_wheel::expiry(now, ticks) * self.tick.length() - self.phase
    }
}
