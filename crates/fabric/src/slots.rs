//! The events of the near future: one slot for each nanosecond.

/// In place of a number: none.
pub const NONE: u32 = u32::MAX;
/// No instant.
pub(crate) const NEVER: u64 = u64::MAX;

/// The entries of one nanosecond: the first and the last of a list through `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The entry that was put in first.
    pub first: u32,
    /// The one that was put in last, whose `next` is not set.
    pub last: u32,
}

const EMPTY: Slot = Slot { first: NONE, last: NONE };

/// A ring of slots of one nanosecond each, long enough for whatever is due after one transmission and propagation.
///
/// Entries of one nanosecond come out in the order in which they went in. Putting in and taking out cost the same
/// however many there are.
#[derive(Clone, Debug)]
pub struct Slots {
    /// The present.
    pub now: u64,
    mask: u64,
    slots: Vec<Slot>,
    occupied: Vec<u64>,
}

impl Slots {
    /// A ring that reaches so many nanoseconds into the future.
    #[must_use]
    pub fn new(reach: u64) -> Self {
        let slots = (reach + 1).next_power_of_two().max(1024);
        Self {
            now: 0,
            mask: slots - 1,
            slots: vec![EMPTY; slots as usize],
            occupied: vec![0; slots as usize / 64],
        }
    }

    /// True if the ring reaches so far.
    #[inline]
    #[must_use]
    pub fn reaches(&self, time: u64) -> bool {
        time - self.now <= self.mask
    }

    /// Puts an entry in, to be due at a time that the ring reaches.
    #[inline]
    pub fn push(&mut self, next: &mut [u32], time: u64, entry: u32) {
        let place = (time & self.mask) as usize;
        let slot = &mut self.slots[place];
        if slot.first == NONE {
            slot.first = entry;
            self.occupied[place / 64] |= 1 << (place % 64);
        } else {
            next[slot.last as usize] = entry;
        }
        slot.last = entry;
    }

    /// Takes all entries out that are due first, if that is no later than `bound`, and lets it be then.
    #[inline]
    pub fn pop(&mut self, bound: u64) -> Option<Slot> {
        let here = (self.now & self.mask) as usize;
        let place = self.first_from(here)?;
        let time = self.now + (place.wrapping_sub(here) as u64 & self.mask);
        if time > bound {
            return None;
        }
        self.now = time;
        self.occupied[place / 64] &= !(1 << (place % 64));
        Some(std::mem::replace(&mut self.slots[place], EMPTY))
    }

    /// The first slot that is occupied, from one on around the ring.
    #[inline]
    fn first_from(&self, slot: usize) -> Option<usize> {
        let words = self.occupied.len();
        let mut word = slot / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (slot % 64));
        for _ in 0..=words {
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            word = (word + 1) & (words - 1);
            bits = self.occupied[word];
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_by_time_and_then_as_they_went_in() {
        let mut next = vec![NONE; 2000];
        let mut slots = Slots::new(5000);
        let mut state = 7_u64;
        let mut waiting: Vec<(u64, u32)> = Vec::new();
        let mut taken = 0;
        for entry in 0..2000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let time = slots.now + (state >> 33) % 500;
            slots.push(&mut next, time, entry);
            waiting.push((time, entry));
            if state >> 62 == 3 {
                waiting.sort_by_key(|it| it.0);
                let slot = slots.pop(u64::MAX).expect("not empty");
                let mut entry = slot.first;
                loop {
                    assert_eq!((slots.now, entry), waiting.remove(0));
                    taken += 1;
                    if entry == slot.last {
                        break;
                    }
                    entry = next[entry as usize];
                }
            }
        }
        assert!(waiting.first().is_none_or(|first| first.0 > slots.now));
        assert_eq!(slots.pop(slots.now.saturating_sub(1)), None);
        assert!(taken > 300);
    }
}
