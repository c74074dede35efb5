//! A timing wheel: which of very many entries is due first, at a cost that does not grow with them.
//!
//! Source: R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation event
//! set problem", CACM 31(10), 1988; G. Varghese, T. Lauck, "Hashed and hierarchical timing wheels",
//! SOSP 1987.
//!
//! Time is cut into slots, and the slots lie in a ring. An entry stands in the list of its slot; the
//! first occupied slot from the present on, which a map of bits finds, has the entry that is due
//! first. What is due later than the ring reaches stands in a second ring, whose slots are as wide as
//! the first ring is long, and goes into the first when its slot comes; what is later than that, in a
//! list of its own.
//!
//! The order is that of the times, at equal times that of a rank that comes with each entry, and of
//! those alike the one put in first comes first. It does not depend on the width of the slots, only
//! the speed does: it is best when there is about one entry for every few slots. Where very many meet in
//! one slot they are put into a heap, so that they cost no more than there.
//!
//! Time does not go back: what is put in after something was taken out is due no earlier.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::calendar::NEVER;

/// In place of the number of an entry: none.
const NONE: u32 = u32::MAX;
/// Slots of the second ring.
const COARSE: usize = 256;
/// More entries than this in one slot go into the heap.
const CROWD: u32 = 8;

/// What can stand in a wheel.
pub trait Due: Copy {
    /// When it is due, in nanoseconds.
    fn due(&self) -> u64;
}

impl Due for u64 {
    #[inline]
    fn due(&self) -> u64 {
        *self
    }
}

/// How finely a wheel divides time: only its speed depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// Two to this power nanoseconds make a slot.
    shift: u32,
    /// Two to this power slots make a ring.
    bits: u32,
}

impl Division {
    /// Slots per entry: few enough to be near each other in memory, enough to have one entry mostly.
    const SLOTS_PER_ENTRY: f64 = 3.0;

    /// For entries that come so many nanoseconds apart on average and are mostly due no later than
    /// `horizon` nanoseconds after they were put in.
    pub fn of(spacing: f64, horizon: u64) -> Self {
        let width = (spacing / Self::SLOTS_PER_ENTRY).clamp(1.0, 1e9) as u64;
        let shift = width.ilog2();
        let slots = (horizon >> shift).clamp(64, 1 << 16).next_power_of_two();
        Self { shift, bits: slots.ilog2() }
    }
}

/// Where an entry stands among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time: u64,
    rank: u32,
    /// Entries that were put in before it.
    order: u64,
}

/// An entry and what is known of it besides.
#[derive(Clone, Copy, Debug)]
struct Node<T> {
    entry: T,
    order: u64,
    rank: u32,
    /// The next in the same list, or the next free place.
    next: u32,
}

impl<T: Due> Node<T> {
    #[inline]
    fn key(&self) -> Key {
        Key { time: self.entry.due(), rank: self.rank, order: self.order }
    }
}

/// A ring of lists, and which of them hold anything.
#[derive(Clone, Debug)]
struct Ring {
    heads: Vec<u32>,
    /// A bit for each list.
    occupied: Vec<u64>,
    /// A bit for each word of those.
    words: Vec<u64>,
}

impl Ring {
    fn new(slots: usize) -> Self {
        let words = slots.div_ceil(64);
        Self {
            heads: vec![NONE; slots],
            occupied: vec![0; words],
            words: vec![0; words.div_ceil(64)],
        }
    }

    /// Puts an entry at the head of a list: the one that was there.
    #[inline]
    fn put(&mut self, slot: usize, entry: u32) -> u32 {
        let word = &mut self.occupied[slot / 64];
        let before = *word;
        *word = before | 1 << (slot % 64);
        if before == 0 {
            self.words[slot / 4096] |= 1 << (slot / 64 % 64);
        }
        std::mem::replace(&mut self.heads[slot], entry)
    }

    /// Nothing is left in a list.
    #[inline]
    fn empty(&mut self, slot: usize) {
        self.heads[slot] = NONE;
        let word = &mut self.occupied[slot / 64];
        *word &= !(1 << (slot % 64));
        if *word == 0 {
            self.words[slot / 4096] &= !(1 << (slot / 64 % 64));
        }
    }

    /// Takes a whole list out: its head.
    fn take(&mut self, slot: usize) -> u32 {
        let head = self.heads[slot];
        if head != NONE {
            self.empty(slot);
        }
        head
    }

    /// The first list from `slot` on that holds anything, not going round.
    #[inline]
    fn first_from(&self, slot: usize) -> Option<usize> {
        let word = slot / 64;
        let bits = self.occupied[word] & (!0 << (slot % 64));
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
                return Some(word * 64 + self.occupied[word].trailing_zeros() as usize);
            }
            rest = !0;
        }
        None
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Wheel<T> {
    /// Two to this power nanoseconds make a slot.
    shift: u32,
    /// Two to this power slots make a turn of the first ring.
    bits: u32,
    /// Slots of the first ring, less one.
    mask: usize,
    /// The slot that is now, counted from time 0.
    now: u64,
    /// When the first entry is due, [`NEVER`] without any, and which it is.
    first_time: u64,
    first: u32,
    free: u32,
    nodes: Vec<Node<T>>,
    /// Entries put in so far.
    count: u64,
    fine: Ring,
    /// Whether anything stands in the heap or beyond the rings.
    has_strays: bool,
    crowd: BinaryHeap<Reverse<(Key, u32)>>,
    /// The list of what neither ring reaches, and the first of it.
    rest: u32,
    rest_first: u32,
    coarse: Ring,
    /// The first entry of each slot of the second ring.
    coarse_first: Vec<u32>,
}

impl<T: Due> Wheel<T> {
    /// An empty wheel at time 0.
    pub fn new(Division { shift, bits }: Division) -> Self {
        Self {
            shift,
            bits,
            mask: (1 << bits) - 1,
            now: 0,
            first_time: NEVER,
            first: NONE,
            free: NONE,
            nodes: Vec::new(),
            count: 0,
            fine: Ring::new(1 << bits),
            has_strays: false,
            crowd: BinaryHeap::new(),
            rest: NONE,
            rest_first: NONE,
            coarse: Ring::new(COARSE),
            coarse_first: vec![NONE; COARSE],
        }
    }

    /// When the first entry is due, [`NEVER`] if there is none.
    #[inline]
    pub fn next_time(&self) -> u64 {
        self.first_time
    }

    /// Puts an entry in. Whether it is now the first.
    #[inline]
    pub fn push(&mut self, entry: T, rank: u32) -> bool {
        let time = entry.due();
        let number = self.free;
        let mut node = Node { entry, order: self.count, rank, next: NONE };
        self.count += 1;
        let slot = (time >> self.shift).max(self.now);
        let is_near = slot - self.now <= self.mask as u64;
        let number = match self.nodes.get_mut(number as usize) {
            Some(place) => {
                self.free = place.next;
                if is_near {
                    node.next = self.fine.put(slot as usize & self.mask, number);
                }
                *place = node;
                number
            }
            None => self.grow(node, is_near, slot),
        };
        if !is_near {
            self.file_far(slot, number);
        }
        if time > self.first_time || time == self.first_time && !self.precedes_first(rank) {
            return false;
        }
        (self.first_time, self.first) = (time, number);
        true
    }

    #[cold]
    fn grow(&mut self, mut node: Node<T>, is_near: bool, slot: u64) -> u32 {
        let number = self.nodes.len() as u32;
        if is_near {
            node.next = self.fine.put(slot as usize & self.mask, number);
        }
        self.nodes.push(node);
        number
    }

    /// Whether an entry of this rank that is due with the first one goes before it.
    #[cold]
    fn precedes_first(&self, rank: u32) -> bool {
        self.nodes.get(self.first as usize).is_none_or(|first| rank < first.rank)
    }

    /// Takes the first entry out, with its rank.
    #[inline]
    pub fn pop(&mut self) -> Option<(T, u32)> {
        let number = self.first;
        let slot = (self.first_time >> self.shift).max(self.now);
        if number != NONE && (slot ^ self.now) >> self.bits != 0 {
            self.turn_to(slot);
        }
        let node = self.nodes.get_mut(number as usize)?;
        let (entry, rank) = (node.entry, node.rank);
        let next = std::mem::replace(&mut node.next, self.free);
        self.free = number;
        self.now = slot;
        let slot = slot as usize & self.mask;
        if self.fine.heads[slot] != number {
            self.unlink(slot, number, next);
        } else if next == NONE {
            self.fine.empty(slot);
        } else {
            self.fine.heads[slot] = next;
        }
        self.find_first(slot);
        Some((entry, rank))
    }

    /// Takes every entry out, in order.
    pub fn drain(&mut self) -> Vec<(T, u32)> {
        // Time stands still meanwhile: entries may be put in that are due before the last of these.
        let now = self.now;
        let entries = std::iter::from_fn(|| self.pop()).collect();
        self.now = now;
        entries
    }

    /// Every entry with its rank, in no order.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = (&T, u32)> {
        let mut free = vec![false; self.nodes.len()];
        let mut place = self.free;
        while place != NONE {
            free[place as usize] = true;
            place = self.nodes[place as usize].next;
        }
        let used = self.nodes.iter().zip(free).filter(|(_, free)| !free);
        used.map(|(node, _)| (&node.entry, node.rank))
    }

    /// Takes an entry out that is not at the head of its slot's list; `next` is the one after it there.
    #[inline(never)]
    fn unlink(&mut self, slot: usize, number: u32, next: u32) {
        if self.crowd.peek().is_some_and(|Reverse((_, crowded))| *crowded == number) {
            self.crowd.pop();
            self.has_strays = !self.crowd.is_empty() || self.rest != NONE;
            return;
        }
        let mut before = self.fine.heads[slot];
        while self.nodes[before as usize].next != number {
            before = self.nodes[before as usize].next;
        }
        self.nodes[before as usize].next = next;
    }

    /// Puts an entry in the list of its time.
    fn file(&mut self, number: u32) {
        let slot = (self.nodes[number as usize].entry.due() >> self.shift).max(self.now);
        if slot - self.now <= self.mask as u64 {
            let next = self.fine.put(slot as usize & self.mask, number);
            self.nodes[number as usize].next = next;
        } else {
            self.file_far(slot, number);
        }
    }

    /// The same for what the first ring does not reach; `slot` of it, counted from time 0.
    fn file_far(&mut self, slot: u64, number: u32) {
        let turn = slot >> self.bits;
        let (list, first) = if turn - (self.now >> self.bits) < COARSE as u64 {
            let slot = turn as usize % COARSE;
            (self.coarse.put(slot, number), &mut self.coarse_first[slot])
        } else {
            self.has_strays = true;
            (std::mem::replace(&mut self.rest, number), &mut self.rest_first)
        };
        self.nodes[number as usize].next = list;
        let key = self.nodes[number as usize].key();
        if self.nodes.get(*first as usize).is_none_or(|first| key < first.key()) {
            *first = number;
        }
    }

    /// The first ring begins a new turn, at `slot`.
    #[cold]
    fn turn_to(&mut self, slot: u64) {
        self.now = slot;
        let turn = slot >> self.bits;
        let list = self.coarse.take(turn as usize % COARSE);
        self.coarse_first[turn as usize % COARSE] = NONE;
        self.file_all(list);
        let rest = self.nodes.get(self.rest_first as usize);
        if rest.is_some_and(|first| first.entry.due() >> self.shift >> self.bits <= turn) {
            let list = std::mem::replace(&mut self.rest, NONE);
            self.rest_first = NONE;
            self.file_all(list);
            self.has_strays = !self.crowd.is_empty() || self.rest != NONE;
        }
    }

    /// Files a list of entries anew.
    fn file_all(&mut self, mut list: u32) {
        while list != NONE {
            let next = self.nodes[list as usize].next;
            self.file(list);
            list = next;
        }
    }

    /// Finds the entry that is due first; `from`: the slot that is now.
    #[inline]
    fn find_first(&mut self, from: usize) {
        self.first = match self.fine.first_from(from) {
            Some(slot) => {
                let head = self.fine.heads[slot];
                let next = self.nodes[head as usize].next;
                if next == NONE { head } else { self.first_of_many(slot) }
            }
            None => self.first_beyond(),
        };
        if self.has_strays {
            self.consider_strays();
        }
        self.first_time = match self.nodes.get(self.first as usize) {
            Some(first) => first.entry.due(),
            None => NEVER,
        };
    }

    /// The earlier of two entries, of which either may be none.
    fn earlier(&self, one: u32, other: u32) -> u32 {
        match (self.nodes.get(one as usize), self.nodes.get(other as usize)) {
            (Some(first), Some(second)) if second.key() < first.key() => other,
            (None, Some(_)) => other,
            _ => one,
        }
    }

    /// What stands in no ring may be due before the first of those that do.
    #[cold]
    fn consider_strays(&mut self) {
        let crowded = self.crowd.peek().map_or(NONE, |Reverse((_, number))| *number);
        let stray = self.earlier(self.rest_first, crowded);
        self.first = self.earlier(self.first, stray);
    }

    /// The first entry after the turn that the first ring is in.
    #[cold]
    fn first_beyond(&mut self) -> u32 {
        let begin = ((self.now >> self.bits) as usize + 1) % COARSE;
        let far = self.coarse.first_from(begin).or_else(|| self.coarse.first_from(0));
        let far = far.map_or(NONE, |slot| self.coarse_first[slot]);
        match self.fine.first_from(0) {
            Some(slot) => {
                let near = self.first_of_many(slot);
                self.earlier(near, far)
            }
            None => far,
        }
    }

    /// The first entry of a slot that holds any. If they are very many, they stand in the heap then.
    fn first_of_many(&mut self, slot: usize) -> u32 {
        let mut first = self.fine.heads[slot];
        let mut key = self.nodes[first as usize].key();
        let mut entry = self.nodes[first as usize].next;
        let mut seen = 1;
        while entry != NONE {
            let node = &self.nodes[entry as usize];
            if node.key() < key {
                (first, key) = (entry, node.key());
            }
            entry = node.next;
            seen += 1;
        }
        if seen > CROWD {
            self.crowd_together(slot);
        }
        first
    }

    /// Too many stand in one slot: they go into the heap.
    #[cold]
    fn crowd_together(&mut self, slot: usize) {
        let mut entry = self.fine.take(slot);
        while entry != NONE {
            let node = &self.nodes[entry as usize];
            self.crowd.push(Reverse((node.key(), entry)));
            entry = node.next;
        }
        self.has_strays = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same order by sorting: what a wheel has to agree with.
    #[derive(Default)]
    struct Sorted(Vec<(u64, u32)>);

    impl Sorted {
        fn push(&mut self, time: u64, rank: u32) {
            let place = self.0.partition_point(|entry| *entry <= (time, rank));
            self.0.insert(place, (time, rank));
        }

        fn pop(&mut self) -> Option<(u64, u32)> {
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }
    }

    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn the_order_is_that_of_sorting_whatever_the_slots_are_like() {
        for (spacing, horizon) in [(1.0, 64), (50.0, 100), (3000.0, 10_000_000), (1e12, 1)] {
            for reach in [10, 1000, 100_000, 10_000_000, 100_000_000_000] {
                let mut wheel: Wheel<u64> = Wheel::new(Division::of(spacing, horizon));
                let (mut sorted, mut state, mut now) = (Sorted::default(), 7, 0);
                for step in 0..4000 {
                    let r = random(&mut state);
                    // It fills, and then empties now and then.
                    if r % 16 < if step % 1000 < 700 { 9 } else { 4 } {
                        let time = now + random(&mut state) % reach;
                        let rank = (r >> 32) as u32 % 5;
                        let first = sorted.0.first().is_none_or(|it| (time, rank) < *it);
                        assert_eq!(wheel.push(time, rank), first);
                        sorted.push(time, rank);
                    } else {
                        let expected = sorted.pop();
                        assert_eq!(wheel.next_time(), expected.map_or(NEVER, |it| it.0));
                        assert_eq!(wheel.pop(), expected);
                        now = expected.map_or(now, |it| it.0);
                    }
                }
                let rest: Vec<_> = std::iter::from_fn(|| sorted.pop()).collect();
                assert_eq!(wheel.iter().count(), rest.len());
                assert_eq!(wheel.drain(), rest);
            }
        }
    }

    /// An entry that can be told from others of its time and rank.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Numbered(u64, usize);

    impl Due for Numbered {
        fn due(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn entries_alike_come_in_the_order_in_which_they_were_put_in() {
        let mut wheel = Wheel::new(Division::of(1000.0, 100_000));
        // The same far time, put in from ever nearer: into each of the lists.
        let time = 10_000_000_000;
        let mut at = 0;
        for number in 0..40 {
            wheel.push(Numbered(time, number), 3);
            wheel.push(Numbered(at, 1000), 0);
            assert_eq!(wheel.pop(), Some((Numbered(at, 1000), 0)));
            at += (time - at) / 3;
        }
        let order: Vec<_> = std::iter::from_fn(|| wheel.pop()).map(|(it, _)| it.1).collect();
        assert_eq!(order, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn very_many_at_one_time_cost_no_more_than_in_a_heap() {
        let mut wheel = Wheel::new(Division::of(1e6, 1_000_000_000));
        let count = 200_000;
        for rank in (0..count).rev() {
            wheel.push(500_u64, rank);
        }
        // By walking through the list for each of them this would take minutes.
        for rank in 0..count {
            assert_eq!(wheel.pop(), Some((500, rank)));
            if rank % 2 == 0 {
                wheel.push(900_000, rank);
            }
        }
        assert_eq!(wheel.drain().len(), count as usize / 2);
    }

    #[test]
    fn after_draining_entries_may_be_put_in_before_the_last_one() {
        let mut wheel = Wheel::new(Division::of(1000.0, 100_000));
        for time in [50_000_u64, 900_000_000, 70_000_000_000] {
            wheel.push(time, 0);
        }
        let entries = wheel.drain();
        assert_eq!(wheel.next_time(), NEVER);
        for (time, rank) in entries.into_iter().rev() {
            wheel.push(time, rank);
        }
        assert_eq!(wheel.pop(), Some((50_000, 0)));
    }
}
