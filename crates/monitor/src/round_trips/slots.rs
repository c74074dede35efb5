use crate::sequence::ahead;

/// How many wait at once.
pub const SLOTS: usize = 8;

/// Sights that wait for their answer: a fixed number of slots, each with a number that an answer will name
/// and the instant at which the number was first seen.
///
/// Numbers (timestamps, or ends of segments) enter in rising order, so the slots are a queue. An
/// answer frees every slot that it has overtaken: if the answer that a slot waits for was lost, or
/// never sent, the next one frees it. No slot stays blocked as long as any answers come; if none
/// come, age frees it.
///
/// Behind a hole, answers name nothing new by timestamp, but say what has arrived. So a slot may
/// also know where its segment ends. A slot of an answer that waits to be named knows how long the
/// answer took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slots {
    times: [u64; SLOTS],
    values: [u32; SLOTS],
    /// Where the segment ends; or, of an answer that waits to be named, how many microseconds it
    /// took.
    notes: [u32; SLOTS],
    first: u8,
    count: u8,
    /// A bit for each place whose answer is in doubt.
    doubted: u8,
    /// A bit for each place whose segment's end is known.
    ended: u8,
    /// A bit for each place of which nothing is left to count.
    settled: u8,
}

/// Effect of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Slots whose number the answer has overtaken, but for those of which nothing is left to count.
    pub overtaken: u64,
    /// When the number that it names was first seen, if that was waited for.
    pub since: Option<u64>,
    /// True if that is in doubt.
    pub doubted: bool,
    /// True if nothing is left to count of it.
    pub settled: bool,
    /// Note of [`Slots::note_last`].
    pub note: u32,
}

impl Slots {
    /// Return true if nothing waits.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many wait.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Waits for an answer that names `value`, which is ahead of all that wait. Whether there was a
    /// slot for it.
    #[inline]
    pub fn wait(&mut self, value: u32, time: u64) -> bool {
        if self.len() == SLOTS {
            return false;
        }
        let place = self.place(self.len());
        self.values[place] = value;
        self.times[place] = time;
        self.doubted &= !(1 << place);
        self.ended &= !(1 << place);
        self.settled &= !(1 << place);
        self.notes[place] = 0;
        self.count += 1;
        true
    }

    /// The number that came last is of a segment that was sent once, and ends before `end`.
    pub fn last_ends_before(&mut self, end: u32) {
        self.note_last(end);
        if let Some(last) = self.len().checked_sub(1) {
            self.ended |= 1 << self.place(last);
        }
    }

    /// Notes something of the number that came last. The answer to it has it.
    pub fn note_last(&mut self, note: u32) {
        if let Some(last) = self.len().checked_sub(1) {
            self.notes[self.place(last)] = note;
        }
    }

    /// The bytes from `start` up to `end`, exclusive, were sent again: that they have arrived says no
    /// more which sight of them it was (Karn's rule).
    pub fn sent_again(&mut self, start: u32, end: u32) {
        for place in 0..SLOTS {
            if ahead(self.notes[place], start) > 0 && ahead(end, self.notes[place]) >= 0 {
                self.ended &= !(1 << place);
            }
        }
    }

    /// Takes an answer that says that the bytes from `start` up to `end`, exclusive, have arrived,
    /// the last of them just now. It names the segment that ends there.
    pub fn arrived(&mut self, start: u32, end: u32) -> Answered {
        let within = |place: usize| {
            self.ended >> place & 1 == 1
                && ahead(self.notes[place], start) > 0
                && ahead(end, self.notes[place]) >= 0
        };
        let Some(last) = (0..self.len()).rev().find(|&offset| within(self.place(offset))) else {
            return Answered::default();
        };
        let place = self.place(last);
        let named = self.notes[place] == end;
        for _ in 0..=last {
            self.drop_first();
        }
        Answered {
            overtaken: last as u64 + u64::from(!named),
            since: named.then_some(self.times[place]),
            doubted: self.doubted >> place & 1 == 1,
            settled: self.settled >> place & 1 == 1,
            note: self.notes[place],
        }
    }

    /// Nothing is left to count of the number that came last: when its slot is freed, nobody is told.
    pub fn settle_last(&mut self) {
        if let Some(last) = self.len().checked_sub(1) {
            self.settled |= 1 << self.place(last);
        }
    }

    /// Puts the number that came last in doubt.
    pub fn doubt_last(&mut self) {
        if let Some(last) = self.len().checked_sub(1) {
            self.doubted |= 1 << self.place(last);
        }
    }

    /// Takes the numbers ahead of `value` out of doubt.
    pub fn trust_ahead_of(&mut self, value: u32) {
        for offset in (0..self.len()).rev() {
            let place = self.place(offset);
            if ahead(self.values[place], value) <= 0 {
                return;
            }
            self.doubted &= !(1 << place);
        }
    }

    /// Takes an answer that names `value`.
    #[inline]
    pub fn answer(&mut self, value: u32) -> Answered {
        let mut answered = Answered::default();
        while self.count > 0 {
            let first = usize::from(self.first);
            match ahead(value, self.values[first]) {
                ..0 => break,
                0 => {
                    answered.since = Some(self.times[first]);
                    answered.doubted = self.doubted >> first & 1 == 1;
                    answered.note = self.notes[first];
                    answered.settled = self.settled >> first & 1 == 1;
                }
                1.. => answered.overtaken += self.open(first),
            }
            self.drop_first();
        }
        answered
    }

    /// Frees every slot whose number is ahead of `value`; how many there were.
    pub fn forget_ahead_of(&mut self, value: u32) -> u64 {
        let mut forgotten = 0;
        while self.count > 0 && ahead(self.values[self.place(self.len() - 1)], value) > 0 {
            self.count -= 1;
            forgotten += 1;
        }
        forgotten
    }

    /// Frees every slot that has waited since before `time`; how many there were, but for those of
    /// which nothing is left to count.
    pub fn forget_before(&mut self, time: u64) -> u64 {
        let mut forgotten = 0;
        while self.count > 0 && self.times[usize::from(self.first)] < time {
            forgotten += self.open(usize::from(self.first));
            self.drop_first();
        }
        forgotten
    }

    /// Frees all; how many there were, but for those of which nothing is left to count.
    pub fn clear(&mut self) -> u64 {
        let open = (0..self.len()).map(|offset| self.open(self.place(offset))).sum();
        self.count = 0;
        open
    }

    /// 1 for a place of which something is left to count, else 0.
    const fn open(&self, place: usize) -> u64 {
        (self.settled >> place & 1 ^ 1) as u64
    }

    const fn place(&self, offset: usize) -> usize {
        (self.first as usize + offset) % SLOTS
    }

    const fn drop_first(&mut self) {
        self.first = (self.first + 1) % SLOTS as u8;
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Answered, SLOTS, Slots};

    const NOTHING: Answered =
        Answered { overtaken: 0, since: None, doubted: false, settled: false, note: 0 };

    fn waiting(values: &[u32]) -> Slots {
        let mut slots = Slots::default();
        for &value in values {
            assert!(slots.wait(value, u64::from(value) + 1000));
        }
        slots
    }

    #[test]
    fn an_answer_takes_its_slot_once() {
        let mut slots = waiting(&[10]);
        assert_eq!(slots.answer(10), Answered { overtaken: 0, since: Some(1010), ..NOTHING });
        assert_eq!(slots.answer(10), NOTHING);
    }

    #[test]
    fn a_lost_answer_blocks_no_slot() {
        let mut slots = waiting(&[10, 20, 30]);
        // The answers to 10 and 20 were lost.
        assert_eq!(slots.answer(30), Answered { overtaken: 2, since: Some(1030), ..NOTHING });
        assert!(slots.is_empty());
    }

    #[test]
    fn an_answer_that_was_itself_overtaken_takes_nothing() {
        let mut slots = waiting(&[10, 20, 30]);
        assert_eq!(slots.answer(20), Answered { overtaken: 1, since: Some(1020), ..NOTHING });
        assert_eq!(slots.answer(10), NOTHING);
        assert_eq!(slots.answer(30), Answered { overtaken: 0, since: Some(1030), ..NOTHING });
    }

    #[test]
    fn an_answer_to_what_was_not_waited_for_frees_what_it_overtakes() {
        let mut slots = waiting(&[10, 30]);
        assert_eq!(slots.answer(20), Answered { overtaken: 1, since: None, ..NOTHING });
        assert_eq!(slots.len(), 1);
    }

    #[test]
    fn doubt_is_taken_from_what_is_ahead_only() {
        let mut slots = waiting(&[10, 20]);
        slots.doubt_last();
        assert!(slots.wait(30, 1030));
        slots.doubt_last();
        slots.trust_ahead_of(20);
        assert!(!slots.answer(10).doubted);
        assert!(slots.answer(20).doubted);
        assert!(!slots.answer(30).doubted);
        // The place of a doubted one is used again.
        for value in 40..48 {
            assert!(slots.wait(value, 0));
            slots.doubt_last();
        }
        slots.clear();
        assert!(slots.wait(50, 0));
        assert!(!slots.answer(50).doubted);
    }

    #[test]
    fn what_arrives_behind_a_hole_names_the_segment_that_ends_there() {
        let mut slots = Slots::default();
        for value in 0..4 {
            slots.wait(10 + value, 100 + u64::from(value));
            slots.last_ends_before(1000 * (value + 1));
        }
        // The first was lost.
        let took = slots.arrived(1000, 2000);
        assert_eq!(took, Answered { overtaken: 1, since: Some(101), note: 2000, ..NOTHING });
        assert_eq!(slots.arrived(1000, 2000), NOTHING);
        // What is known to be there no more than to the middle of a segment names none.
        assert_eq!(slots.arrived(1000, 2500), NOTHING);
        // Of several at once, none but the last was answered in time.
        let took = slots.arrived(1000, 4000);
        assert_eq!(took, Answered { overtaken: 1, since: Some(103), note: 4000, ..NOTHING });
        assert_eq!(slots.len(), 0);
    }

    #[test]
    fn what_was_sent_again_is_named_by_nothing_that_arrives() {
        let mut slots = Slots::default();
        slots.wait(10, 100);
        slots.last_ends_before(1000);
        slots.wait(20, 200);
        assert_eq!(slots.arrived(1000, 2000), NOTHING);
        // Nor does an end stay behind in its place.
        slots.clear();
        slots.wait(30, 300);
        assert_eq!(slots.arrived(0, 1000), NOTHING);
        assert_eq!(slots.answer(30).since, Some(300));
    }

    #[test]
    fn of_what_is_settled_nobody_is_told() {
        let mut slots = waiting(&[10]);
        slots.settle_last();
        assert!(slots.wait(20, 1020));
        assert!(slots.wait(30, 1030));
        slots.settle_last();
        assert_eq!(
            slots.answer(30),
            Answered { overtaken: 1, since: Some(1030), settled: true, ..NOTHING }
        );
        assert!(slots.wait(40, 1040));
        slots.settle_last();
        assert!(slots.wait(50, 1050));
        assert_eq!(slots.forget_before(1050), 0);
        assert_eq!((slots.len(), slots.clear(), slots.len()), (1, 1, 0));
    }

    #[test]
    fn numbers_may_start_anew() {
        let mut slots = Slots::default();
        assert!(slots.wait(u32::MAX, 7));
        assert!(slots.wait(3, 8));
        assert_eq!(slots.answer(3), Answered { overtaken: 1, since: Some(8), ..NOTHING });
    }

    #[test]
    fn there_are_so_many_slots_and_no_more() {
        let mut slots = Slots::default();
        // Moved on by three, so that the queue wraps around in its array.
        for value in 0..3 {
            slots.wait(value, 0);
        }
        slots.answer(2);
        for value in 0..SLOTS as u32 {
            assert!(slots.wait(100 + value, u64::from(value)));
        }
        assert!(!slots.wait(200, 9));
        assert_eq!(slots.forget_before(2), 2);
        assert_eq!(slots.forget_ahead_of(104), 3);
        assert_eq!(slots.answer(104), Answered { overtaken: 2, since: Some(4), ..NOTHING });
    }
}
