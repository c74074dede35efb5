use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::calendar::NEVER;
use crate::occupied::Occupied;

/// In place of the number of an entry: none.
const NONE: u32 = u32::MAX;
/// Slots of the second ring.
const LATER: usize = 256;
/// More entries than this in one slot go into the heap.
const CROWD: u32 = 8;

/// Entry of a wheel.
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
    pub const SLOTS_PER_ENTRY: f64 = 3.0;

    /// For entries that come so many nanoseconds apart on average and are mostly due no later than
    /// `horizon` nanoseconds after they were put in. A ring is no longer than what near caches hold.
    pub fn of(spacing: f64, horizon: u64) -> Self {
        let width = (spacing / Self::SLOTS_PER_ENTRY).clamp(1.0, 1e9) as u64;
        let shift = width.ilog2();
        let slots = (horizon >> shift).clamp(64, 1 << 12).next_power_of_two();
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

impl Key {
    /// After every entry.
    const LAST: Self = Self { time: NEVER, rank: u32::MAX, order: u64::MAX };
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

/// Entries that are due too late for the first ring, side by side, and the key of their first.
#[derive(Clone, Debug)]
struct Later<T> {
    nodes: Vec<Node<T>>,
    least: Key,
}

impl<T: Due> Later<T> {
    const fn new() -> Self {
        Self { nodes: Vec::new(), least: Key::LAST }
    }

    #[inline]
    fn push(&mut self, node: Node<T>) {
        let key = node.key();
        if key < self.least {
            self.least = key;
        }
        self.nodes.push(node);
    }
}

/// A timing wheel: which of very many entries is due first, at a cost that does not grow with them.
///
/// Source: R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation event
/// set problem", CACM 31(10), 1988; G. Varghese, T. Lauck, "Hashed and hierarchical timing wheels",
/// SOSP 1987.
///
/// Time is cut into slots, and the slots lie in a ring. An entry stands in the list of its slot; the
/// first occupied slot from the present on, which a map of bits finds, has the entry that is due
/// first. What is due later than the ring reaches stands in a second ring, whose slots are as wide as
/// the first ring is long, and goes into the first when its slot comes; what is later than that, with
/// others alike. There the entries of a slot lie side by side, in the order in which they came, and are
/// read once from the first to the last: of very many, only those that are due soon are near in memory.
///
/// The order is that of the times, at equal times that of a rank that comes with each entry, and of
/// those alike the one put in first comes first. It does not depend on the width of the slots, only
/// the speed does: it is best when there is about one entry for every few slots. Where very many meet in
/// one slot they are put into a heap, so that they cost no more than there.
///
/// Time does not go back: what is put in after something was taken out is due no earlier.
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
    /// When the first entry is due, [`NEVER`] without any, and its rank.
    first_time: u64,
    first_rank: u32,
    /// Which it is, if it stands in the first ring or in the heap.
    first: u32,
    free: u32,
    nodes: Vec<Node<T>>,
    /// Entries put in so far.
    count: u64,
    /// The lists of the first ring.
    heads: Vec<u32>,
    occupied: Occupied,
    /// True if anything stands in the heap.
    has_crowd: bool,
    crowd: BinaryHeap<Reverse<(Key, u32)>>,
    /// Entries beyond both rings.
    rest: Later<T>,
    /// The second ring.
    later: Vec<Later<T>>,
    later_occupied: Occupied,
    /// Memory of slots of the second ring that have come.
    spare: Vec<Vec<Node<T>>>,
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
            first_rank: u32::MAX,
            first: NONE,
            free: NONE,
            nodes: Vec::new(),
            count: 0,
            heads: vec![NONE; 1 << bits],
            occupied: Occupied::new(1 << bits),
            has_crowd: false,
            crowd: BinaryHeap::new(),
            rest: Later::new(),
            later: vec![Later::new(); LATER],
            later_occupied: Occupied::new(LATER),
            spare: Vec::new(),
        }
    }

    /// When the first entry is due, [`NEVER`] if there is none.
    #[inline]
    pub fn next_time(&self) -> u64 {
        self.first_time
    }

    /// The rank of the first entry, if there is one.
    #[inline]
    pub fn next_rank(&self) -> u32 {
        self.first_rank
    }

    /// When the first entry is due, and its rank.
    pub fn first_key(&self) -> Option<(u64, u32)> {
        (self.first_time < NEVER).then_some((self.first_time, self.first_rank))
    }

    /// Puts an entry in. Whether it is now the first.
    #[inline(always)] // an entry should not be written anywhere but to its place
    pub fn push(&mut self, entry: T, rank: u32) -> bool {
        let time = entry.due();
        let node = Node { entry, order: self.count, rank, next: NONE };
        self.count += 1;
        let number = self.file(node);
        if (time, rank) >= (self.first_time, self.first_rank) {
            return false;
        }
        (self.first_time, self.first_rank, self.first) = (time, rank, number);
        true
    }

    /// Takes the first entry out, with its rank.
    #[inline]
    pub fn pop(&mut self) -> Option<(T, u32)> {
        if self.first_time == NEVER {
            return None;
        }
        let slot = (self.first_time >> self.shift).max(self.now);
        if (slot ^ self.now) >> self.bits != 0 {
            self.turn_to(slot);
        }
        let number = self.first;
        let node = &mut self.nodes[number as usize];
        let (entry, rank) = (node.entry, node.rank);
        let next = std::mem::replace(&mut node.next, self.free);
        self.free = number;
        self.now = slot;
        let slot = slot as usize & self.mask;
        if self.heads[slot] != number {
            self.unlink(slot, number, next);
        } else {
            self.heads[slot] = next;
            if next == NONE {
                self.occupied.remove(slot);
            }
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
    pub fn iter(&self) -> impl Iterator<Item = (&T, u32)> {
        let mut free = vec![false; self.nodes.len()];
        let mut place = self.free;
        while place != NONE {
            free[place as usize] = true;
            place = self.nodes[place as usize].next;
        }
        let near = self.nodes.iter().zip(free).filter(|(_, free)| !free).map(|(node, _)| node);
        let later = self.later.iter().chain([&self.rest]).flat_map(|later| &later.nodes);
        near.chain(later).map(|node| (&node.entry, node.rank))
    }

    /// Takes an entry out that is not at the head of its slot's list; `next` is the one after it there.
    #[inline(never)]
    fn unlink(&mut self, slot: usize, number: u32, next: u32) {
        if self.crowd.peek().is_some_and(|Reverse((_, crowded))| *crowded == number) {
            self.crowd.pop();
            self.has_crowd = !self.crowd.is_empty();
            return;
        }
        let mut before = self.heads[slot];
        while self.nodes[before as usize].next != number {
            before = self.nodes[before as usize].next;
        }
        self.nodes[before as usize].next = next;
    }

    /// Puts an entry where its time belongs: its number, if that is in the first ring.
    #[inline(always)] // as above
    fn file(&mut self, mut node: Node<T>) -> u32 {
        let slot = (node.entry.due() >> self.shift).max(self.now);
        if slot - self.now > self.mask as u64 {
            self.file_later(slot >> self.bits, node);
            return NONE;
        }
        let slot = slot as usize & self.mask;
        self.occupied.add(slot);
        node.next = self.heads[slot];
        let number = self.free;
        let number = if let Some(place) = self.nodes.get_mut(number as usize) {
            self.free = place.next;
            *place = node;
            number
        } else {
            self.make_room(node)
        };
        self.heads[slot] = number;
        number
    }

    /// No place is free: an entry gets one more.
    #[cold]
    fn make_room(&mut self, node: Node<T>) -> u32 {
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    /// The same for what the first ring does not reach, in `turn` of it, counted from time 0.
    #[inline(never)] // seldom, as what is paced is due soon, and what it needs should not be kept ready
    fn file_later(&mut self, turn: u64, node: Node<T>) {
        if turn - (self.now >> self.bits) < LATER as u64 {
            let slot = turn as usize % LATER;
            let later = &mut self.later[slot];
            if later.nodes.is_empty() {
                self.later_occupied.add(slot);
                later.nodes = self.spare.pop().unwrap_or_default();
            }
            later.push(node);
        } else {
            self.rest.push(node);
        }
    }

    /// The first ring begins a new turn, at `slot`, in which the first entry is due.
    #[cold]
    fn turn_to(&mut self, slot: u64) {
        self.now = slot;
        let turn = slot >> self.bits;
        let place = turn as usize % LATER;
        let mut nodes = std::mem::take(&mut self.later[place].nodes);
        self.later[place].least = Key::LAST;
        self.later_occupied.remove(place);
        for node in nodes.drain(..) {
            self.file(node);
        }
        if nodes.capacity() > 0 {
            self.spare.push(nodes);
        }
        if self.rest.least.time >> self.shift >> self.bits <= turn {
            for node in std::mem::replace(&mut self.rest, Later::new()).nodes {
                self.file(node);
            }
        }
        self.find_first(slot as usize & self.mask);
    }

    /// Finds the entry that is due first; `from`: the slot that is now.
    #[inline(always)] // for every entry that is taken out
    fn find_first(&mut self, from: usize) {
        let Some(slot) = self.occupied.first_from(from) else {
            return self.find_first_later();
        };
        let mut number = self.heads[slot];
        if self.nodes[number as usize].next != NONE {
            number = self.first_of_many(slot);
        }
        // What neither ring reaches comes after anything of this turn.
        if self.has_crowd {
            return self.find_first_with(number, Key::LAST);
        }
        let node = &self.nodes[number as usize];
        (self.first_time, self.first_rank, self.first) = (node.entry.due(), node.rank, number);
    }

    /// The same if nothing is due in what is left of this turn.
    #[cold]
    fn find_first_later(&mut self) {
        let begin = ((self.now >> self.bits) as usize + 1) % LATER;
        let later = &self.later_occupied;
        let later = later.first_from(begin).or_else(|| later.first_from(0));
        let later = later.map_or(Key::LAST, |slot| self.later[slot].least);
        let number = match self.occupied.first_from(0) {
            Some(slot) => self.first_of_many(slot),
            None => NONE,
        };
        self.find_first_with(number, later);
    }

    /// The first is that one, or due at that key, or what stands in the heap or with the rest.
    #[cold]
    fn find_first_with(&mut self, number: u32, later: Key) {
        let mut key = later.min(self.rest.least);
        let mut first = NONE;
        let crowded = self.crowd.peek().map_or(NONE, |Reverse((_, crowded))| *crowded);
        for number in [number, crowded] {
            if let Some(node) = self.nodes.get(number as usize)
                && node.key() < key
            {
                (key, first) = (node.key(), number);
            }
        }
        (self.first_time, self.first_rank, self.first) = (key.time, key.rank, first);
    }

    /// The first entry of a slot that holds any. If they are very many, they stand in the heap then.
    #[inline(never)]
    fn first_of_many(&mut self, slot: usize) -> u32 {
        let mut first = self.heads[slot];
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
        let mut entry = std::mem::replace(&mut self.heads[slot], NONE);
        self.occupied.remove(slot);
        while entry != NONE {
            let node = &self.nodes[entry as usize];
            self.crowd.push(Reverse((node.key(), entry)));
            entry = node.next;
        }
        self.has_crowd = true;
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
