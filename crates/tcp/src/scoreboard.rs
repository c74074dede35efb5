/// Arrivals beyond a segment after which it is taken for lost (DupThresh).
pub const DUPLICATES_FOR_LOSS: u32 = 3;

/// The bits of 64 segments side by side: whoever looks at one kind mostly needs the others too.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    arrived: u64,
    lost: u64,
    again: u64,
}

impl Word {
    /// The segments `bits` have arrived: which of them were lost, and which were sent again.
    #[inline]
    fn take_found(&mut self, bits: u64) -> (u64, u64) {
        let found = (self.lost & bits, self.again & bits);
        self.lost &= !bits;
        self.again &= !bits;
        found
    }
}

/// Where the bit of segment `sequence` is in its word.
#[inline]
fn bit(sequence: u32) -> u64 {
    1 << (sequence % 64)
}

/// The stretch from `first` to before `after`, cut where words end: for each piece its first segment
/// and the bits of its segments.
#[inline]
fn pieces(first: u32, after: u32) -> impl Iterator<Item = (u32, u64)> {
    let mut next = first;
    std::iter::from_fn(move || {
        if next >= after {
            return None;
        }
        let begin = next;
        let count = (after - begin).min(64 - begin % 64);
        next += count;
        Some((begin, (u64::MAX >> (64 - count)) << (begin % 64)))
    })
}

/// The segment whose bit is the lowest in `bits`, in the word of segment `within`.
#[inline]
fn lowest(within: u32, bits: u64) -> u32 {
    (within & !63) + bits.trailing_zeros()
}

/// Knowledge of each outstanding segment: the scoreboard of RFC 6675, section 4.
///
/// Three bits for each segment (arrived, lost, sent again) in a ring that grows with the window and
/// holds nothing while nothing is missing, with counts kept up to date so that the estimate of what
/// is in the network ("pipe") costs nothing. Stretches are gone through 64 segments at a time.
///
/// In the order in which it stands in memory.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Scoreboard {
    /// First segment not acknowledged: the ring holds nothing before it.
    first: u32,
    /// One after the last segment that may have a bit set.
    after: u32,
    arrived_count: u32,
    lost_count: u32,
    again_count: u32,
    /// Lost segments that have not been sent again.
    waiting_count: u32,
    /// The highest segments that have arrived, descending.
    highest: [u32; DUPLICATES_FOR_LOSS as usize],
    /// Segments before this have been judged by the number of arrivals beyond them.
    judged: u32,
    /// No lost segment that has not been sent again lies before this one.
    repair_from: u32,
    /// The ring from when on two words are not enough, its length a power of two; empty before.
    far: Vec<Word>,
    /// The ring before, as it is of most flows of a large run: it is where everything else is.
    near: [Word; 2],
}

impl Scoreboard {
    #[inline]
    fn words(&self) -> &[Word] {
        if self.far.is_empty() { &self.near } else { &self.far }
    }

    #[inline]
    fn word(&self, sequence: u32) -> &Word {
        let words = self.words();
        &words[(sequence / 64) as usize & (words.len() - 1)]
    }

    #[inline]
    fn word_mut(&mut self, sequence: u32) -> &mut Word {
        let words: &mut [Word] = if self.far.is_empty() { &mut self.near } else { &mut self.far };
        let index = (sequence / 64) as usize & (words.len() - 1);
        &mut words[index]
    }

    /// Return true if nothing is noted: everything outstanding is in the network.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.after <= self.first
    }

    /// Segments that have arrived beyond the first missing one.
    #[inline]
    pub fn arrived(&self) -> u32 {
        self.arrived_count
    }

    /// Lost segments, sent again or not, that have not arrived yet.
    pub fn lost(&self) -> u32 {
        self.lost_count
    }

    /// Return true if any lost segment, sent again or not, has not arrived yet.
    #[inline]
    pub fn any_lost(&self) -> bool {
        self.lost_count > 0
    }

    /// Return true if any lost segment has not been sent again.
    #[inline]
    pub fn awaits_repair(&self) -> bool {
        self.waiting_count > 0
    }

    /// One after the highest segment that has arrived; the first outstanding one if none has.
    #[inline]
    pub fn forward(&self) -> u32 {
        if self.arrived_count > 0 { self.highest[0] + 1 } else { self.first }
    }

    /// Of `outstanding` segments, those that are in the network (RFC 6675: pipe).
    #[inline]
    pub fn in_network(&self, outstanding: u32) -> u32 {
        (outstanding + self.again_count).saturating_sub(self.arrived_count + self.lost_count)
    }

    /// Return true if segment `sequence` has arrived.
    #[inline]
    pub fn has_arrived(&self, sequence: u32) -> bool {
        (self.first..self.after).contains(&sequence)
            && self.word(sequence).arrived & bit(sequence) != 0
    }

    /// Return true if segment `sequence` is lost and has not arrived since.
    #[inline]
    pub fn is_lost(&self, sequence: u32) -> bool {
        (self.first..self.after).contains(&sequence)
            && self.word(sequence).lost & bit(sequence) != 0
    }

    /// Return true if a retransmission of segment `sequence` is in the network.
    #[inline]
    pub fn is_sent_again(&self, sequence: u32) -> bool {
        (self.first..self.after).contains(&sequence)
            && self.word(sequence).again & bit(sequence) != 0
    }

    /// Return true if segment `sequence`, which is outstanding, or a retransmission of it is in the network: it has not arrived,
    /// and is not lost unless it has been sent again.
    #[inline]
    pub fn is_in_network(&self, sequence: u32) -> bool {
        if !(self.first..self.after).contains(&sequence) {
            return true;
        }
        let word = self.word(sequence);
        (word.arrived | word.lost & !word.again) & bit(sequence) == 0
    }

    /// All segments before `acknowledged` have arrived. How many of them had not been reported yet.
    #[inline]
    pub fn acknowledge(&mut self, acknowledged: u32) -> u32 {
        let newly = acknowledged - self.first;
        if self.is_clean() {
            self.first = acknowledged;
            self.after = acknowledged;
            return newly;
        }
        let mut known = 0;
        for (begin, bits) in pieces(self.first, acknowledged.min(self.after)) {
            let word = self.word_mut(begin);
            known += (word.arrived & bits).count_ones();
            word.arrived &= !bits;
            let (lost, again) = word.take_found(bits);
            self.uncount(lost, again);
        }
        self.arrived_count -= known;
        self.first = acknowledged;
        self.after = self.after.max(acknowledged);
        self.judged = self.judged.max(acknowledged);
        self.repair_from = self.repair_from.max(acknowledged);
        newly - known
    }

    /// The receiver reports segments from `first` to before `after`, none of them beyond what was
    /// sent. Calls `newly` for each that had not been reported, saying whether a retransmission of
    /// it was in the network.
    pub fn report(&mut self, first: u32, after: u32, mut newly: impl FnMut(u32, bool)) {
        let first = first.max(self.first);
        if first >= after {
            return;
        }
        self.reserve(after);
        for (begin, bits) in pieces(first, after) {
            let word = self.word_mut(begin);
            let mut unknown = bits & !word.arrived;
            word.arrived |= unknown;
            let (lost, again) = word.take_found(unknown);
            self.uncount(lost, again);
            while unknown != 0 {
                let sequence = lowest(begin, unknown);
                unknown &= unknown - 1;
                self.arrived_count += 1;
                self.rank(sequence);
                newly(sequence, again & bit(sequence) != 0);
            }
        }
    }

    /// The same for a single segment, as it mostly is: whether it had been sent again, `None` if it had been reported.
    #[inline]
    pub fn report_one(&mut self, sequence: u32) -> Option<bool> {
        if sequence < self.first {
            return None;
        }
        self.reserve(sequence + 1);
        let word = self.word_mut(sequence);
        if word.arrived & bit(sequence) != 0 {
            return None;
        }
        word.arrived |= bit(sequence);
        let (lost, again) = word.take_found(bit(sequence));
        self.uncount(lost, again);
        self.arrived_count += 1;
        self.rank(sequence);
        Some(again != 0)
    }

    /// These segments of one word have arrived that were lost, and those that were sent again: they are neither
    /// lost nor in the network any more.
    #[inline]
    fn uncount(&mut self, lost: u64, again: u64) {
        if lost | again == 0 {
            return; // nearly always, and to count bits takes long
        }
        self.lost_count -= lost.count_ones();
        self.again_count -= again.count_ones();
        self.waiting_count -= (lost & !again).count_ones();
    }

    /// Keeps the highest arrivals, which decide about losses.
    fn rank(&mut self, sequence: u32) {
        if self.arrived_count == 1 {
            self.highest = [sequence, self.first, self.first];
            return;
        }
        let [top, middle, low] = self.highest;
        self.highest = if sequence > top {
            [sequence, top, middle]
        } else if sequence > middle {
            [top, sequence, middle]
        } else {
            [top, middle, low.max(sequence)]
        };
    }

    /// Marks segments with three arrivals beyond them as lost (RFC 6675, IsLost), and calls `newly`
    /// for each. How many.
    pub fn judge_by_arrivals(&mut self, mut newly: impl FnMut(u32)) -> u32 {
        if self.arrived_count < DUPLICATES_FOR_LOSS {
            return 0;
        }
        let before = self.highest[DUPLICATES_FOR_LOSS as usize - 1];
        let mut count = 0;
        for (begin, bits) in pieces(self.judged.max(self.first), before) {
            let word = self.word(begin);
            let mut lost = bits & !word.arrived & !word.lost;
            while lost != 0 {
                let sequence = lowest(begin, lost);
                lost &= lost - 1;
                self.mark_lost(sequence);
                newly(sequence);
                count += 1;
            }
        }
        self.judged = self.judged.max(before);
        count
    }

    /// Segment `sequence`, or its retransmission, is lost.
    pub fn mark_lost(&mut self, sequence: u32) {
        self.reserve(sequence + 1);
        let word = self.word_mut(sequence);
        let lost = word.lost & bit(sequence) != 0;
        let again = word.again & bit(sequence) != 0;
        word.lost |= bit(sequence);
        word.again &= !bit(sequence);
        self.lost_count += u32::from(!lost);
        self.again_count -= u32::from(again);
        self.waiting_count += u32::from(!lost || again);
        self.repair_from = self.repair_from.min(sequence);
    }

    /// After a timeout everything before `after` is lost that has not arrived and is not `spared`. Calls `newly`
    /// for each that was in the network until now.
    pub fn mark_all_lost(
        &mut self,
        after: u32,
        spared: impl Fn(u32) -> bool,
        mut newly: impl FnMut(u32),
    ) {
        for sequence in self.first..after {
            let in_network = !self.is_lost(sequence) || self.is_sent_again(sequence);
            if in_network && !self.has_arrived(sequence) && !spared(sequence) {
                newly(sequence);
                self.mark_lost(sequence);
            }
        }
    }

    /// The first lost segment that has not been sent again.
    #[inline]
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.waiting_count == 0 {
            return None;
        }
        for (begin, bits) in pieces(self.repair_from.max(self.first), self.after) {
            let word = self.word(begin);
            let waiting = bits & word.lost & !word.again;
            if waiting != 0 {
                self.repair_from = lowest(begin, waiting);
                return Some(self.repair_from);
            }
        }
        self.repair_from = self.after;
        None
    }

    /// The first segment from `from` on, below the highest arrival, that has neither arrived nor
    /// been sent again (RFC 6675, NextSeg rule 3).
    pub fn next_unreported(&self, from: u32) -> Option<u32> {
        pieces(from.max(self.first), self.forward()).find_map(|(begin, bits)| {
            let word = self.word(begin);
            let unreported = bits & !word.arrived & !word.again;
            (unreported != 0).then(|| lowest(begin, unreported))
        })
    }

    /// The first outstanding segment from `from` on of which nothing is noted: it has been sent once, or not at
    /// all, and nothing has been heard of it.
    #[inline]
    pub fn next_unnoted(&self, from: u32) -> u32 {
        let mut from = from.max(self.first);
        while from < self.after {
            let word = self.word(from);
            // Nothing is noted from `after` on: what is noted ends there, or before.
            let noted = (word.arrived | word.lost | word.again) >> (from % 64);
            from += noted.trailing_ones();
            if noted & 1 == 0 || !from.is_multiple_of(64) {
                break;
            }
        }
        from
    }

    /// Segment `sequence` has been sent again.
    pub fn note_sent_again(&mut self, sequence: u32) {
        self.reserve(sequence + 1);
        let word = self.word_mut(sequence);
        if word.again & bit(sequence) == 0 {
            word.again |= bit(sequence);
            let lost = word.lost & bit(sequence) != 0;
            self.again_count += 1;
            self.waiting_count -= u32::from(lost);
        }
    }

    /// Forgets everything about what is outstanding.
    pub fn clear(&mut self) {
        self.near = Default::default();
        self.far.fill(Word::default());
        (self.arrived_count, self.lost_count) = (0, 0);
        (self.again_count, self.waiting_count) = (0, 0);
        self.after = self.first;
        self.judged = self.first;
        self.repair_from = self.first;
    }

    /// Makes the ring long enough for segments before `after`.
    fn reserve(&mut self, after: u32) {
        if self.is_clean() {
            self.after = self.first;
            self.judged = self.first;
            self.repair_from = self.first;
        }
        if after <= self.after {
            return;
        }
        // Words, not segments: the first and the last one may be used in part.
        let span = (after - 1) / 64 - self.first / 64 + 1;
        if span as usize > self.words().len() {
            self.grow(span as usize);
        }
        self.after = after;
    }

    #[cold]
    fn grow(&mut self, span: usize) {
        let length = span.next_power_of_two();
        let mut words = vec![Word::default(); length];
        for (begin, _) in pieces(self.first, self.after) {
            words[(begin / 64) as usize & (length - 1)] = *self.word(begin);
        }
        self.far = words;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_one_segment_is_filed_as_a_stretch_of_one_is() {
        let (mut stretches, mut state) = (Scoreboard::default(), 11_u64);
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let sequence = stretches.first + (state >> 33) as u32 % 300;
            match state >> 61 {
                0 => stretches.mark_lost(sequence),
                1 if stretches.is_lost(sequence) => stretches.note_sent_again(sequence),
                2 => {
                    stretches.acknowledge(stretches.first + 40);
                }
                _ => {
                    let mut ones = stretches.clone();
                    let mut told = None;
                    stretches.report(sequence, sequence + 1, |_, again| told = Some(again));
                    assert_eq!(ones.report_one(sequence), told);
                    assert_eq!(format!("{ones:?}"), format!("{stretches:?}"));
                }
            }
        }
        assert!(stretches.arrived() > 0);
    }

    fn report(board: &mut Scoreboard, first: u32, after: u32) -> Vec<u32> {
        let mut newly = Vec::new();
        board.report(first, after, |sequence, _| newly.push(sequence));
        newly
    }

    #[test]
    fn three_arrivals_beyond_a_segment_mean_that_it_is_lost() {
        let mut board = Scoreboard::default();
        board.acknowledge(10);
        assert_eq!(report(&mut board, 11, 12), [11]);
        assert_eq!(report(&mut board, 14, 15), [14]);
        assert_eq!(board.judge_by_arrivals(|_| ()), 0);
        assert_eq!(report(&mut board, 14, 16), [15]);
        assert_eq!(board.judge_by_arrivals(|_| ()), 1); // 10; 12 and 13 have only two beyond them
        assert_eq!(board.next_lost(), Some(10));
        assert_eq!(report(&mut board, 14, 17), [16]);
        assert_eq!(board.judge_by_arrivals(|_| ()), 2);
        // Ten outstanding (10..20): four arrived, three lost.
        assert_eq!(board.in_network(10), 3);
        board.note_sent_again(10);
        assert_eq!((board.in_network(10), board.next_lost()), (4, Some(12)));
        assert_eq!(board.acknowledge(12), 1); // 10 only: 11 had been reported
        assert_eq!((board.arrived_count, board.lost_count, board.again_count), (3, 2, 0));
    }

    #[test]
    fn a_lost_retransmission_is_lost_once_more() {
        let mut board = Scoreboard::default();
        report(&mut board, 1, 5);
        board.judge_by_arrivals(|_| ());
        board.note_sent_again(0);
        assert_eq!(board.next_lost(), None);
        board.mark_lost(0);
        assert_eq!(board.next_lost(), Some(0));
        assert_eq!((board.lost_count, board.again_count), (1, 0));
    }

    #[test]
    fn after_a_timeout_what_has_arrived_is_not_sent_again() {
        let mut board = Scoreboard::default();
        report(&mut board, 2, 4);
        board.mark_all_lost(6, |_| false, |_| ());
        let mut sent = Vec::new();
        while let Some(sequence) = board.next_lost() {
            board.note_sent_again(sequence);
            sent.push(sequence);
        }
        assert_eq!(sent, [0, 1, 4, 5]);
        assert_eq!(board.in_network(6), 4);
    }

    #[test]
    fn the_ring_grows_without_forgetting_and_is_empty_in_the_end() {
        let mut board = Scoreboard::default();
        for first in (0..4000).step_by(3) {
            assert_eq!(report(&mut board, first + 1, first + 3).len(), 2);
        }
        assert_eq!(board.arrived(), 2 * 1334);
        assert_eq!(board.judge_by_arrivals(|_| ()), 1333);
        assert_eq!(report(&mut board, 1, 3).len(), 0);
        assert_eq!(board.acknowledge(4002), 1334);
        assert_eq!((board.arrived_count, board.lost_count, board.again_count), (0, 0, 0));
        assert!(board.is_clean());
        assert_eq!(board.in_network(7), 7);
    }
}
