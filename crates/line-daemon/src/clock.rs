//! Clocks, in nanoseconds.

use nix::time::{ClockId, clock_gettime};

/// A millisecond.
pub const MS: u64 = 1_000_000;
/// A second.
pub const SECOND: u64 = 1_000 * MS;

fn read(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * SECOND + time.tv_nsec() as u64)
}

/// Time that never goes back.
pub fn now() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Time of day less [`now`], to compare a packet's stamp with it.
pub fn of_day() -> u64 {
    read(ClockId::CLOCK_REALTIME).saturating_sub(now())
}
