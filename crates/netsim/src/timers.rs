//! Timers that are re-armed far more often than they expire.
//!
//! Each timer has at most one live entry in a [`Wheel`]. Moving a timer later costs nothing: when the
//! old entry comes up, its owner is asked for the deadline in force and the entry is put back.
//!
//! Each flow has [`KINDS`] timers. What is known of those of one kind lies side by side: that of a
//! sender is looked at for every packet, and the others hardly ever.
//!
//! At equal times timers expire in the order of their numbers: first those [that stand for an arrival](ARRIVAL).

use crate::calendar::NEVER;
use crate::limits::MOST_FLOWS;
use crate::wheel::{Division, Wheel};

/// Kinds of timers that each flow has.
pub const KINDS: usize = 3;

/// To be added to a kind: what expires comes after whatever arrives at the same instant.
pub const LATER: u32 = 1 << 31;
/// To be added to a kind: what expires is an arrival itself.
pub const ARRIVAL: u32 = 0;

/// Numbers of timers for each flow: a power of two, so that both flow and kind are found by shifting.
const NUMBERS: usize = 4;

/// Flows of a scenario, and as many places for transfers, have numbers below [`LATER`].
const _: () = assert!(2 * NUMBERS as u64 * MOST_FLOWS < LATER as u64);

/// The number of flow `flow`'s timer of a kind below [`KINDS`], to which [`LATER`] or [`ARRIVAL`] is added.
#[inline]
pub fn timer_of(flow: u32, kind: u32) -> u32 {
    NUMBERS as u32 * flow + kind
}

/// The flow whose timer this is, and its kind.
#[inline]
pub fn flow_of(timer: u32) -> (u32, u32) {
    let numbers = NUMBERS as u32;
    ((timer & !LATER) / numbers, timer & (LATER | (numbers - 1)))
}

/// The place in the table of timers of one of that number.
#[inline]
fn place_of(timer: u32) -> (usize, usize) {
    let (flow, _) = flow_of(timer);
    (timer as usize % NUMBERS, flow as usize)
}

/// Expiries, with one live entry per timer.
#[derive(Clone, Debug)]
pub struct Timers {
    /// Times, each with the number of its timer.
    entries: Wheel<u64>,
    /// Time of each timer's live entry, [`NEVER`] if it has none: by kind, then by flow.
    armed: [Vec<u64>; NUMBERS],
}

impl Timers {
    /// The timers of so many flows, none armed; `division`: what suits those that are armed most often.
    pub fn new(flows: usize, division: Division) -> Self {
        let mut timers = Self { entries: Wheel::new(division), armed: Default::default() };
        timers.grow(flows);
        timers
    }

    /// Makes room for the timers of so many flows in all.
    pub fn grow(&mut self, flows: usize) {
        for armed in &mut self.armed[..KINDS] {
            armed.resize(flows.max(armed.len()), NEVER);
        }
    }

    #[inline]
    fn armed(&mut self, timer: u32) -> &mut u64 {
        let (kind, flow) = place_of(timer);
        &mut self.armed[kind][flow]
    }

    /// Return true if the first entry comes up at `time` and stands for an arrival.
    #[inline]
    pub fn next_is_arrival_at(&self, time: u64) -> bool {
        self.entries.next_time() == time && self.entries.next_rank() < LATER
    }

    /// Of which timer the first entry is, if there is one.
    pub fn next_timer(&self) -> u32 {
        self.entries.next_rank()
    }

    /// When the first entry comes up.
    #[inline]
    pub fn next_time(&self) -> u64 {
        self.entries.next_time()
    }

    /// Makes sure that `timer` comes up no later than `deadline`. Whether the first entry changed.
    #[inline(always)] // for every acknowledgement
    pub fn arm(&mut self, timer: u32, deadline: u64) -> bool {
        let armed = self.armed(timer);
        if deadline >= *armed {
            return false;
        }
        *armed = deadline;
        self.enter(deadline, timer)
    }

    /// Puts an entry in. Whether it is the first.
    #[inline(never)] // much code, for few of those who ask for it to be armed
    fn enter(&mut self, time: u64, timer: u32) -> bool {
        self.entries.push(time, timer)
    }

    /// Looks at the first entry, due at `now`: the timer that expires, or `None` if the entry was
    /// stale or its timer has meanwhile been moved to the later time that `deadline_of` tells.
    #[inline]
    pub fn expire(&mut self, now: u64, deadline_of: impl FnOnce(u32) -> u64) -> Option<u32> {
        let (time, timer) = self.entries.pop()?;
        let (kind, flow) = place_of(timer);
        let armed = &mut self.armed[kind][flow];
        if *armed != time {
            return None;
        }
        let deadline = deadline_of(timer);
        if now < deadline && deadline < NEVER {
            *armed = deadline;
            self.enter(deadline, timer);
            return None;
        }
        *armed = NEVER;
        (deadline <= now).then_some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_deadline_replaces_a_later_one_and_the_later_entry_is_stale() {
        let mut timers = Timers::new(2, Division::of(10.0, 100));
        assert!(timers.arm(0, 100));
        assert!(!timers.arm(0, 200)); // later: nothing to do yet
        assert!(timers.arm(0, 50));
        assert_eq!(timers.next_time(), 50);
        assert_eq!(timers.expire(50, |_| 50), Some(0));
        assert_eq!(timers.expire(100, |_| NEVER), None);
        assert_eq!(timers.next_time(), NEVER);
    }

    #[test]
    fn a_timer_moved_later_expires_only_then() {
        let mut timers = Timers::new(1, Division::of(10.0, 100));
        timers.arm(0, 100);
        assert_eq!(timers.expire(100, |_| 130), None);
        assert_eq!(timers.next_time(), 130);
        assert_eq!(timers.expire(130, |_| 130), Some(0));
    }
}
