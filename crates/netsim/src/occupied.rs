//! Which slots of a ring hold anything: a map of bits, and a map of its words.

/// Which slots of a ring hold anything.
#[derive(Clone, Debug)]
pub struct Occupied {
    /// A bit for each slot.
    slots: Vec<u64>,
    /// A bit for each word of those.
    words: Vec<u64>,
}

impl Occupied {
    /// Of so many slots, none.
    pub fn new(slots: usize) -> Self {
        let words = slots.div_ceil(64);
        Self { slots: vec![0; words], words: vec![0; words.div_ceil(64)] }
    }

    /// A slot holds something.
    pub fn add(&mut self, slot: usize) {
        let word = &mut self.slots[slot / 64];
        let before = *word;
        *word = before | 1 << (slot % 64);
        if before == 0 {
            self.words[slot / 4096] |= 1 << (slot / 64 % 64);
        }
    }

    /// A slot holds nothing any more.
    pub fn remove(&mut self, slot: usize) {
        let word = &mut self.slots[slot / 64];
        *word &= !(1 << (slot % 64));
        if *word == 0 {
            self.words[slot / 4096] &= !(1 << (slot / 64 % 64));
        }
    }

    /// The first slot from `slot` on that holds anything, not going round.
    pub fn first_from(&self, slot: usize) -> Option<usize> {
        let word = slot / 64;
        let bits = self.slots[word] & (!0 << (slot % 64));
        if bits != 0 {
            return Some(word * 64 + bits.trailing_zeros() as usize);
        }
        self.first_in_words_from(word + 1)
    }

    fn first_in_words_from(&self, word: usize) -> Option<usize> {
        let mut rest = !0 << (word % 64);
        for index in word / 64..self.words.len() {
            let bits = self.words[index] & rest;
            if bits != 0 {
                let word = index * 64 + bits.trailing_zeros() as usize;
                return Some(word * 64 + self.slots[word].trailing_zeros() as usize);
            }
            rest = !0;
        }
        None
    }
}
