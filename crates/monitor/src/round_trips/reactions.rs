/// The longest is forgotten by such a part with each that is taken.
const FORGETTING: u32 = 64;

/// One that is in doubt may be longer than any that is certain by such a part.
const TOLERANCE: u32 = 8;

/// For how long the latest stands for the next, in nanoseconds: some round trips, in which a queue
/// does not change much.
const STANDS_FOR: u64 = 1_000_000_000;

const NANOSECONDS: u64 = 1000;
const NONE: u32 = u32::MAX;

/// The sender's part of its round trips: from an answer that passes to the first segment that it
/// has set off. Where the monitor stands behind a queue, the wait in it is part of this.
///
/// Not every answer's part can be timed. Where nothing of the sender's is under way beyond the monitor
/// any more, what comes next may have waited for the application, or be lost before it is seen. Those
/// answers are no random choice: a receiver takes longest to answer a single segment, because it waits
/// for a second one (RFC 1122, section 4.2.3.2). Without them, the mean of flows with few segments under
/// way would be too short. So for them the sender's part is the latest that was timed.
///
/// Times are kept in microseconds, of an hour at most.
#[derive(Clone, Copy, Debug)]
pub struct Reactions {
    latest: u32,
    longest: u32,
    taken: u64,
}

impl Default for Reactions {
    fn default() -> Self {
        Self { latest: NONE, longest: 0, taken: 0 }
    }
}

impl Reactions {
    /// Takes one that ended at `now`. Whether it may be taken: it is certain that the answer has set
    /// the segment off, or it took hardly longer than those that are certain. A timer or an
    /// application would have taken longer.
    pub fn take(&mut self, now: u64, nanoseconds: u64, certain: bool) -> bool {
        let Ok(reaction) = u32::try_from(nanoseconds / NANOSECONDS) else { return certain };
        if certain {
            self.longest = reaction.max(self.longest - self.longest / FORGETTING);
        } else if reaction > self.longest + self.longest / TOLERANCE || self.latest == NONE {
            return false;
        }
        self.latest = reaction.min(NONE - 1);
        self.taken = now;
        true
    }

    /// The latest, in nanoseconds, if it was taken shortly before `now`.
    pub fn latest(&self, now: u64) -> Option<u64> {
        let recent = now.checked_sub(self.taken).is_some_and(|age| age <= STANDS_FOR);
        (self.latest != NONE && recent).then(|| u64::from(self.latest) * NANOSECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::Reactions;

    const MILLISECOND: u64 = 1_000_000;
    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn nothing_is_known_before_one_that_is_certain() {
        let mut reactions = Reactions::default();
        assert_eq!(reactions.latest(0), None);
        assert!(!reactions.take(SECOND, 0, false));
        assert_eq!(reactions.latest(SECOND), None);
        assert!(reactions.take(SECOND, 40 * MILLISECOND, true));
        assert_eq!(reactions.latest(SECOND), Some(40 * MILLISECOND));
    }

    #[test]
    fn one_in_doubt_is_taken_if_it_is_hardly_longer() {
        let mut reactions = Reactions::default();
        reactions.take(0, 40 * MILLISECOND, true);
        assert!(reactions.take(1, 45 * MILLISECOND, false));
        // It says nothing of how long they may take.
        assert!(!reactions.take(2, 46 * MILLISECOND, false));
        assert_eq!(reactions.latest(2), Some(45 * MILLISECOND));
    }

    #[test]
    fn the_longest_is_forgotten() {
        let mut reactions = Reactions::default();
        reactions.take(0, 400 * MILLISECOND, true);
        for now in 1..200 {
            reactions.take(now, 10 * MILLISECOND, true);
        }
        assert!(!reactions.take(200, 30 * MILLISECOND, false));
    }

    #[test]
    fn the_latest_stands_for_a_second() {
        let mut reactions = Reactions::default();
        reactions.take(SECOND, MILLISECOND, true);
        assert_eq!(reactions.latest(2 * SECOND), Some(MILLISECOND));
        assert_eq!(reactions.latest(2 * SECOND + 1), None);
        assert_eq!(reactions.latest(SECOND - 1), None); // time runs backwards
    }

    #[test]
    fn what_takes_hours_is_not_kept() {
        let mut reactions = Reactions::default();
        assert!(reactions.take(0, u64::MAX, true));
        assert!(!reactions.take(0, u64::MAX, false));
        assert_eq!(reactions.latest(0), None);
        assert!(reactions.take(0, 1000 * u64::from(u32::MAX), true));
        assert_eq!(reactions.latest(0), Some(1000 * u64::from(u32::MAX - 1)));
    }
}
