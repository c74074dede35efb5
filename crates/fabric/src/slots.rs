//! The events of the near future: one slot for each nanosecond.

/// In place of a number: none.
pub const NONE: u32 = u32::MAX;

/// A ring of slots of one nanosecond each, long enough for whatever is due after one transmission and propagation.
///
/// A slot is a list through `next`, of which the ring has the last entry, whose next is the first. Entries of one
/// nanosecond come out in the order in which they went in. Putting in and taking out cost the same however many there
/// are.
#[derive(Clone, Debug)]
pub struct Slots {
    /// The present.
    pub now: u64,
    mask: u64,
    last: Vec<u32>,
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
            last: vec![NONE; slots as usize],
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
        let slot = (time & self.mask) as usize;
        let last = std::mem::replace(&mut self.last[slot], entry);
        if last == NONE {
            self.occupied[slot / 64] |= 1 << (slot % 64);
            next[entry as usize] = entry;
        } else {
            next[entry as usize] = next[last as usize];
            next[last as usize] = entry;
        }
    }

    /// Takes the first entry out that is due no later than `bound`, and lets it be then.
    #[inline]
    pub fn pop(&mut self, next: &mut [u32], bound: u64) -> Option<u32> {
        let mut slot = (self.now & self.mask) as usize;
        let mut last = self.last[slot];
        if last == NONE {
            let found = self.first_from(slot)?;
            let time = self.now + ((found.wrapping_sub(slot)) as u64 & self.mask);
            if time > bound {
                return None;
            }
            (self.now, slot) = (time, found);
            last = self.last[slot];
        } else if self.now > bound {
            return None;
        }
        let first = next[last as usize];
        if first == last {
            self.last[slot] = NONE;
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        } else {
            next[last as usize] = next[first as usize];
        }
        Some(first)
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
        let mut expected = Vec::new();
        let mut state = 7_u64;
        let mut waiting: Vec<(u64, u32)> = Vec::new();
        for entry in 0..2000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let time = slots.now + (state >> 33) % 5000;
            slots.push(&mut next, time, entry);
            waiting.push((time, entry));
            if state >> 63 == 1 {
                waiting.sort_by_key(|it| it.0);
                let (time, entry) = waiting.remove(0);
                expected.push((time, entry));
                let popped = slots.pop(&mut next, u64::MAX).expect("not empty");
                assert_eq!((slots.now, popped), (time, entry));
            }
        }
        assert_eq!(slots.pop(&mut next, slots.now.saturating_sub(1)), None);
        assert!(expected.len() > 500);
    }
}
