use crate::calendar::NEVER;
use crate::occupied::Occupied;
use crate::wheel::{Division, Due, Wheel};

/// Lists of epochs to come. What is due later than in as many epochs lies in one list.
const EPOCHS: u64 = 256;
/// Entries that are better sorted by comparing them.
const FEW: usize = 32;
/// Entries of an epoch, on average: as many at least, or it is not worth sorting them by digits, and not more,
/// since those of a few epochs should stay near the processor.
const LEAST_ENTRIES: f64 = 32.0;
const MOST_ENTRIES: f64 = 1500.0;

const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;
/// Where the two digits of a key begin by which it is sorted.
const CELL: u32 = u64::BITS - 2 * DIGIT_BITS;
/// An epoch lasts two to the power of this nanoseconds at least: in a data centre a wire takes a microsecond, and
/// thousands of packets are on wires at a time.
const LEAST_SHIFT: u32 = 4;
/// And no more than to the power of this: half of a key is left for the place among the others.
const GREATEST_SHIFT: u32 = 31;

/// Entry of a lazy queue.
pub trait Ranked: Due {
    /// Which comes first of those due at one time: that of the lower rank.
    fn rank(&self) -> u32;
}

/// A lazy queue: which of very many entries is due first, where they are put in long before.
///
/// Source: R. Rönngren, J. Riboe, R. Ayani, "Lazy queue: an efficient implementation of the pending-event
/// set", Annual Simulation Symposium 1991.
///
/// Time is cut into epochs. An entry lies with the others of its epoch, in the order in which they came. When
/// an epoch comes, its entries are sorted by the digits of their times, all of them at once: that has no
/// branch that a processor could guess wrongly, and costs each entry the same however many there are. From then
/// on what is next, and what comes after that, is known without a search. What is put in when its epoch has come
/// already stands in a [`Wheel`]. A packet that spends an epoch or more on its line is never late like that.
///
/// The order is that of the times, at equal times that of a rank that comes with each entry, and of those
/// alike the one put in first comes first. It does not depend on the length of epochs, only the speed does.
///
/// Time does not go back: what is put in after something was taken out is due no earlier.
#[derive(Clone, Debug)]
pub struct LazyQueue<T> {
    /// Two to this power nanoseconds make an epoch.
    shift: u32,
    /// The epoch that has come, counted from time 0, and when it begins.
    now: u64,
    begin: u64,
    /// How many of the epochs after it have a list: none, while there is nothing.
    reach: u64,
    /// When the first entry is due, [`NEVER`] without any.
    first_time: u64,
    /// True if the first entry is one of those that were late.
    is_first_late: bool,
    /// How many entries of the epoch that has come have been taken out.
    taken: usize,
    /// The order of these entries: in the highest bits the time since the epoch began, and in the lower half the
    /// place among them.
    order: Vec<u64>,
    /// The entries of the epoch that has come, in the order in which they were put in.
    current: Vec<T>,
    /// Those of later epochs, each list at the remainder of its epoch's number.
    lists: Box<[Vec<T>; EPOCHS as usize]>,
    occupied: Occupied,
    /// Memory of epochs that are over.
    spare: Vec<Vec<T>>,
    /// Entries due in epochs that have no list yet, and the first of those epochs.
    rest: Vec<T>,
    first_of_rest: u64,
    /// Entries put in when their epoch had come.
    late: Wheel<T>,
    digits: Digits,
}

impl<T: Ranked> LazyQueue<T> {
    /// An empty queue at time 0, for entries that come `spacing` nanoseconds apart, each of which is due one of
    /// `delays` nanoseconds after it was put in, or later.
    pub fn of_delays(spacing: f64, delays: &[u64]) -> Self {
        let mut delays = delays.to_vec();
        delays.sort_unstable();
        let longest = delays.last().copied().unwrap_or(0);
        // A few short lines among many should not make epochs short: what is on these may be late.
        let usual = delays.get(delays.len() / 10).copied().unwrap_or(0) as f64;
        let most = (longest / (EPOCHS / 4)) as f64;
        let length = usual.min(MOST_ENTRIES * spacing).max(LEAST_ENTRIES * spacing).max(most);
        Self::new((length as u64).max(1).ilog2(), Division::of(spacing, longest))
    }

    /// An empty queue whose epochs last two to the power of `shift` nanoseconds, or about that; `division`: what
    /// suits entries that are late.
    fn new(shift: u32, division: Division) -> Self {
        Self {
            shift: shift.clamp(LEAST_SHIFT, GREATEST_SHIFT),
            now: 0,
            begin: 0,
            reach: 0,
            first_time: NEVER,
            is_first_late: true,
            taken: 0,
            order: Vec::new(),
            current: Vec::new(),
            lists: Box::new([const { Vec::new() }; EPOCHS as usize]),
            occupied: Occupied::new(EPOCHS as usize),
            spare: Vec::new(),
            rest: Vec::new(),
            first_of_rest: NEVER,
            late: Wheel::new(division),
            digits: Digits::default(),
        }
    }

    /// When the first entry is due, [`NEVER`] if there is none.
    #[inline]
    pub fn next_time(&self) -> u64 {
        self.first_time
    }

    /// Puts an entry in. Whether it is now the first.
    #[inline(always)] // an entry should not be written anywhere but to its place
    pub fn push(&mut self, entry: T) -> bool {
        let epoch = entry.due() >> self.shift;
        if epoch.wrapping_sub(self.now + 1) >= self.reach {
            return self.push_elsewhere(entry);
        }
        self.push_to_list(epoch, entry);
        false
    }

    #[inline(always)] // as above
    fn push_to_list(&mut self, epoch: u64, entry: T) {
        let list = &mut self.lists[(epoch % EPOCHS) as usize];
        if list.len() < list.capacity() {
            list.push(entry);
        } else {
            self.push_to_full(epoch, entry);
        }
    }

    /// The same where the epoch's list has no room, as one has none that is empty.
    #[cold]
    #[inline(never)]
    fn push_to_full(&mut self, epoch: u64, entry: T) {
        let slot = (epoch % EPOCHS) as usize;
        let list = &mut self.lists[slot];
        if list.is_empty() {
            self.occupied.add(slot);
            *list = self.spare.pop().unwrap_or_default();
        }
        list.push(entry);
    }

    /// Puts an entry in whose epoch has no list, because it has come or is too far.
    #[cold]
    #[inline(never)]
    fn push_elsewhere(&mut self, entry: T) -> bool {
        let epoch = entry.due() >> self.shift;
        if epoch <= self.now {
            let is_first_of_late = self.late.push(entry, entry.rank());
            self.find_first();
            return is_first_of_late && self.is_first_late;
        }
        self.rest.push(entry);
        self.first_of_rest = self.first_of_rest.min(epoch);
        let is_alone = self.first_time == NEVER;
        if is_alone {
            self.find_first();
        }
        is_alone
    }

    /// The first entry of those that were not late, if its epoch has come.
    #[inline(always)] // for every packet
    fn first_of_epoch(&self) -> Option<&T> {
        let key = self.order.get(self.taken)?;
        self.current.get(*key as u32 as usize)
    }

    /// The first entry, unless it was late.
    #[inline(always)] // as above
    pub fn first(&self) -> Option<&T> {
        if self.is_first_late { None } else { self.first_of_epoch() }
    }

    /// The rank of the first entry.
    pub fn first_rank(&self) -> Option<u32> {
        match self.first() {
            Some(entry) => Some(entry.rank()),
            None => self.late.first_key().map(|(_, rank)| rank),
        }
    }

    /// Takes [`LazyQueue::first`] out.
    #[inline(always)] // as above
    pub fn take_first(&mut self) {
        self.taken += 1;
        self.find_first();
    }

    /// Takes the first entry out, whether it was late or not.
    pub fn pop(&mut self) -> Option<T> {
        if let Some(first) = self.first().copied() {
            self.take_first();
            return Some(first);
        }
        let (first, _) = self.late.pop()?;
        self.find_first();
        Some(first)
    }

    /// Finds the entry that is due first.
    #[inline(always)] // as above
    fn find_first(&mut self) {
        let Some(key) = self.order.get(self.taken) else { return self.turn() };
        self.first_time = self.begin + (key >> (u64::BITS - self.shift));
        self.is_first_late = self.late.next_time() <= self.first_time && self.is_late_first();
    }

    /// Return true if the first of those that were late comes before the first of the others.
    #[cold]
    #[inline(never)]
    fn is_late_first(&mut self) -> bool {
        let Some((time, rank)) = self.late.first_key() else { return false };
        let other = self.first_of_epoch().map_or(u32::MAX, Ranked::rank);
        // Of those alike the one that was late was put in later.
        let is_first = (time, rank) < (self.first_time, other);
        if is_first {
            self.first_time = time;
        }
        is_first
    }

    /// The next epoch comes in which anything is due, if there is one.
    #[cold]
    #[inline(never)]
    fn turn(&mut self) {
        self.taken = 0;
        self.order.clear();
        self.current.clear();
        let slot = (self.now % EPOCHS) as usize;
        let slot = self.occupied.first_from(slot).or_else(|| self.occupied.first_from(0));
        let next = match slot {
            Some(slot) => self.now + (slot as u64).wrapping_sub(self.now) % EPOCHS,
            None if self.first_of_rest < NEVER => self.first_of_rest,
            None => {
                self.reach = 0;
                (self.first_time, self.is_first_late) = (self.late.next_time(), true);
                return;
            }
        };
        let end = self.now + 1 + self.reach;
        (self.now, self.begin) = (next, next << self.shift);
        if end < next + EPOCHS / 2 {
            self.lay_lists();
        } else {
            self.reach = end - next - 1;
        }
        let slot = (next % EPOCHS) as usize;
        let list = std::mem::take(&mut self.lists[slot]);
        self.spare.push(std::mem::replace(&mut self.current, list));
        self.occupied.remove(slot);
        self.sort();
        self.find_first();
    }

    /// All the next epochs have lists from now on, into which what is due in them goes from the rest. Not done at
    /// each turn: it looks through all of the rest.
    #[cold]
    fn lay_lists(&mut self) {
        self.reach = EPOCHS - 1;
        let end = self.now + EPOCHS;
        if self.first_of_rest >= end {
            return;
        }
        self.first_of_rest = NEVER;
        for entry in std::mem::take(&mut self.rest) {
            let epoch = entry.due() >> self.shift;
            if epoch < end {
                self.push_to_list(epoch, entry);
            } else {
                self.rest.push(entry);
                self.first_of_rest = self.first_of_rest.min(epoch);
            }
        }
    }

    /// Finds the order of the epoch that has come.
    fn sort(&mut self) {
        let (begin, shift) = (self.begin, u64::BITS - self.shift);
        let keys = self.current.iter().zip(0_u64..);
        self.order.extend(keys.map(|(entry, place)| (entry.due() - begin) << shift | place));
        if self.order.len() < FEW {
            return self.sort_by_comparing(0, self.order.len());
        }
        self.digits.sort(&mut self.order);
        // What these digits do not tell apart is rare.
        let mut from = 0;
        let is_alike = |pair: &[u64]| pair[0] >> CELL == pair[1] >> CELL;
        while let Some(first) = self.order[from..].windows(2).position(is_alike) {
            let first = from + first;
            let cell = self.order[first] >> CELL;
            let alike = self.order[first..].iter().take_while(|key| *key >> CELL == cell).count();
            self.sort_by_comparing(first, first + alike);
            from = first + alike;
        }
    }

    #[inline(never)]
    fn sort_by_comparing(&mut self, first: usize, end: usize) {
        let (current, shift) = (&self.current, u64::BITS - self.shift);
        let rank = |key: u64| current[key as u32 as usize].rank();
        self.order[first..end].sort_unstable_by_key(|key| (key >> shift, rank(*key), *key as u32));
    }

    /// Takes every entry out, in order.
    pub fn drain(&mut self) -> Vec<T> {
        // Time stands still meanwhile: entries may be put in that are due before the last of these.
        let late = self.late.drain();
        let now = self.now;
        self.find_first();
        let mut entries: Vec<_> = std::iter::from_fn(|| self.pop()).collect();
        entries.extend(late.into_iter().map(|(entry, _)| entry));
        entries.sort_by_key(|entry| (entry.due(), entry.rank()));
        self.now = now;
        entries
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        let lists = self.lists.iter().map(Vec::len).sum::<usize>();
        self.order.len() - self.taken + lists + self.rest.len() + self.late.iter().count()
    }

    /// Every entry, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let order = self.order[self.taken..].iter();
        let current = order.map(|key| &self.current[*key as u32 as usize]);
        let others = current.chain(self.lists.iter().flatten()).chain(&self.rest);
        others.chain(self.late.iter().map(|(entry, _)| entry))
    }
}

/// Sorts keys by their two highest digits. Those alike stay in their order.
#[derive(Clone, Debug, Default)]
struct Digits {
    scratch: Vec<u64>,
}

impl Digits {
    fn sort(&mut self, keys: &mut [u64]) {
        let mut low = [0_u32; DIGITS];
        let mut high = [0_u32; DIGITS];
        for key in keys.iter() {
            low[(key >> CELL) as usize % DIGITS] += 1;
            high[(key >> (CELL + DIGIT_BITS)) as usize % DIGITS] += 1;
        }
        self.scratch.resize(keys.len(), 0);
        scatter::<CELL>(keys, &mut self.scratch, &mut low);
        scatter::<{ CELL + DIGIT_BITS }>(&self.scratch, keys, &mut high);
    }
}

/// Puts keys into the order of the digit at bit `SHIFT`; `counts`: how often each digit comes.
#[inline(always)]
fn scatter<const SHIFT: u32>(keys: &[u64], to: &mut [u64], counts: &mut [u32; DIGITS]) {
    let mut before = 0;
    for place in counts.iter_mut() {
        before += std::mem::replace(place, before);
    }
    for &key in keys {
        let place = &mut counts[(key >> SHIFT) as usize % DIGITS];
        to[*place as usize] = key;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time and a rank, and a number by which those alike can be told apart.
    type Entry = (u64, u32, usize);

    impl Due for Entry {
        fn due(&self) -> u64 {
            self.0
        }
    }

    impl Ranked for Entry {
        fn rank(&self) -> u32 {
            self.1
        }
    }

    fn queue(shift: u32) -> LazyQueue<Entry> {
        LazyQueue::new(shift, Division::of(1000.0, 100_000))
    }

    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn the_order_is_that_of_sorting_however_long_epochs_are() {
        for shift in [4, 10, 16, 20, 31] {
            // From far less than an epoch to far more than there are lists.
            for reach in [1, 10_000, 1 << 20, 1 << 24, 1 << 28, 1 << 40] {
                let (mut queue, mut sorted) = (queue(shift), Vec::<Entry>::new());
                let (mut state, mut now) = (7, 0);
                for number in 0..6000 {
                    let r = random(&mut state);
                    // It fills, and then empties now and then.
                    if r % 16 < if number % 1000 < 700 { 9 } else { 4 } {
                        let time = now + random(&mut state) % reach;
                        // Some far ones at which later ones will aim as well.
                        let time = if r & 256 > 0 { time } else { time | 0xffff };
                        let entry = (time, (r >> 32) as u32 % 5, number);
                        let is_first = sorted.first().is_none_or(|it| entry < *it);
                        assert_eq!(queue.push(entry), is_first);
                        sorted.insert(sorted.partition_point(|it| *it < entry), entry);
                    } else {
                        let expected = (!sorted.is_empty()).then(|| sorted.remove(0));
                        assert_eq!(queue.next_time(), expected.map_or(NEVER, |it| it.0));
                        assert_eq!(queue.pop(), expected);
                        now = expected.map_or(now, |it| it.0);
                    }
                }
                assert_eq!(queue.iter().count(), sorted.len());
                assert_eq!(queue.drain(), sorted);
                assert_eq!(queue.pop(), None);
            }
        }
    }

    #[test]
    fn very_many_at_one_time_are_sorted_like_others() {
        let mut queue = queue(20);
        let count = 100_000;
        queue.push((1, 0, 0));
        for number in 0..count {
            queue.push(((5 << 20) + 7, (count - number) as u32, number));
        }
        queue.pop();
        for number in (0..count).rev() {
            assert_eq!(queue.pop().map(|entry| entry.2), Some(number));
        }
    }

    #[test]
    fn what_is_far_is_looked_through_seldom_and_comes_in_order() {
        let mut queue = queue(16);
        // 100 entries in each of 4000 epochs, sixteen times as many as have lists.
        for number in 0..4000 {
            queue.push((number as u64 * 0x1_0000 + 9, 0, number));
        }
        let mut looked = 0;
        let mut rest = queue.rest.len();
        for number in 0..4000 {
            assert_eq!(queue.pop().map(|entry| entry.2), Some(number));
            looked += usize::from(queue.rest.len() != rest);
            rest = queue.rest.len();
        }
        assert!((16..40).contains(&looked), "{looked}");
    }

    #[test]
    fn after_draining_entries_may_be_put_in_before_the_last_one() {
        let mut queue = queue(16);
        for (number, time) in [50_000, 900_000_000, 70_000_000_000].into_iter().enumerate() {
            queue.push((time, 0, number));
        }
        let entries = queue.drain();
        assert_eq!(queue.next_time(), NEVER);
        for entry in entries.iter().rev() {
            queue.push(*entry);
        }
        assert_eq!(queue.drain(), entries);
    }

    #[test]
    fn an_epoch_is_as_long_as_the_usual_lines_and_holds_neither_few_nor_very_many() {
        let millisecond = 1_000_000;
        let shift = |spacing, delays: &[u64]| LazyQueue::<Entry>::of_delays(spacing, delays).shift;
        // 600 Mbit/s, 30 to 50 ms: 2^24 ns are 17 ms, in which 839 packets come.
        let delays: Vec<_> = (0..2000).map(|n| (30_000 + n * 10) * 1000).collect();
        assert_eq!(shift(20_000.0, &delays), 24);
        // The same at 60 Gbit/s: 1500 packets come in 300 us, but the longest line is 50 ms.
        assert_eq!(shift(200.0, &delays), 19);
        // Slow links: 32 packets in 0.4 s.
        assert_eq!(shift(12e6, &delays), 28);
        // Short lines are few.
        let few_short = [&[0; 20], &delays[..]].concat();
        assert_eq!(shift(20_000.0, &few_short), 24);
        assert_eq!(shift(1e9, &[0]), GREATEST_SHIFT);
        assert_eq!(shift(0.1, &[]), LEAST_SHIFT);
        assert_eq!(shift(0.1, &[1000; 3]), 7); // 150 ns on the packets' account, 128 of which are a power of two
        assert_eq!(shift(20_000.0, &[10 * millisecond; 3]), 23);
    }
}
