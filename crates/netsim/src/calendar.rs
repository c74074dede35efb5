//! Which source of events is next.
//!
//! Events wait at their sources (delay lines, the timers, the control schedule), each of which
//! knows its earliest one. The calendar is a tournament over the sources: finding the next event
//! is reading the root, changing a source's time is replaying its few matches. At equal times the
//! source with the lower number wins, so that the order of events is always the same.
//!
//! What plays is a time with the number of its source below it, in one whole number: then a match is
//! the lesser of two numbers, and has no branch that a processor could guess wrongly. Who wins is as good
//! as random where many sources are equally busy.
//!
//! One source has most of the events where all packets are on one line, or on lines that stand together. It meets
//! the winner of the others, so that its next event is compared once.
//!
//! Of few others all times are compared at once: one round trip over one link makes three, and most
//! networks that are simulated are such. Of more, each number of players has a piece of code of its own: how many
//! matches there are is known to it, and that every place is one of the tournament's need not be checked. Up to
//! some hundreds, it is a part of whoever asks for it with [`Calendar::set_likely_more`].

use crate::limits::LONGEST_DURATION;

/// No event.
pub const NEVER: u64 = u64::MAX;

/// Bits of the number of a source.
const SOURCE_BITS: u32 = 14;

/// Most sources that a calendar can have: one for each link and each line that stands apart, and a few more.
pub const MOST_SOURCES: usize = 1 << SOURCE_BITS;

/// Later than any run: all that is due then or later is alike.
const LATEST: u64 = u64::MAX >> SOURCE_BITS;
const _: () = assert!(LONGEST_DURATION < LATEST);

/// The source that meets the winner of all others.
pub const BUSIEST: usize = 1;

/// So many sources are few.
const FEW: usize = 4;

/// The keys of the players. Sources play at the places from the middle on, the two at places `2 n` and
/// `2 n + 1` against each other, and who wins plays at place `n`. Who would play at place 1 is first. Of few
/// sources there are those only.
#[derive(Clone, Debug)]
enum Keys {
    Few([u64; FEW]),
    UpTo16(Box<[u64; 2 * 16]>),
    UpTo64(Box<[u64; 2 * 64]>),
    UpTo256(Box<[u64; 2 * 256]>),
    Many(Vec<u64>),
}

/// A tournament over numbered sources.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// The least of all keys: a time, and in the lowest bits its source.
    first: u64,
    /// The key of the [`BUSIEST`] source.
    busiest: u64,
    /// The least of all others.
    others: u64,
    keys: Keys,
}

impl Calendar {
    /// A calendar for `sources` sources, at most [`MOST_SOURCES`], none of which has an event yet.
    pub fn new(sources: usize) -> Self {
        assert!(sources <= MOST_SOURCES, "{sources} sources");
        let leaves = sources.next_power_of_two();
        let keys = match leaves {
            0..=FEW => Keys::Few([NEVER; FEW]),
            5..=16 => Keys::UpTo16(Box::new([NEVER; 2 * 16])),
            17..=64 => Keys::UpTo64(Box::new([NEVER; 2 * 64])),
            65..=256 => Keys::UpTo256(Box::new([NEVER; 2 * 256])),
            _ => Keys::Many(vec![NEVER; 2 * leaves]),
        };
        let mut calendar = Self { first: NEVER, busiest: NEVER, others: NEVER, keys };
        (0..leaves).for_each(|source| calendar.set(source, NEVER));
        calendar
    }

    /// The next source and its time, which is later than any run when there is no event at all.
    pub fn next(&self) -> (usize, u64) {
        (self.first as usize % MOST_SOURCES, self.first >> SOURCE_BITS)
    }

    /// Sets the time of a source's earliest event.
    #[inline(always)] // for every event: the call was 1 % of a run
    pub fn set(&mut self, source: usize, time: u64) {
        if source == BUSIEST {
            return self.set_busiest(time);
        }
        let key = key_of(source, time);
        if let Keys::Few(keys) = &mut self.keys {
            keys[source] = key;
            self.others = keys[0].min(keys[2].min(keys[3]));
        } else {
            self.play(source, key);
        }
        self.first = self.others.min(self.busiest);
    }

    /// The same for the [`BUSIEST`] source.
    #[inline(always)] // as above
    pub fn set_busiest(&mut self, time: u64) {
        self.busiest = key_of(BUSIEST, time);
        self.first = self.others.min(self.busiest);
    }

    /// The same where there are likely more sources than a few.
    #[inline(always)] // as above
    pub fn set_likely_more(&mut self, source: usize, time: u64) {
        if source == BUSIEST {
            return self.set_busiest(time);
        }
        let key = key_of(source, time);
        self.others = match &mut self.keys {
            Keys::UpTo16(keys) => replay(keys, source, key),
            Keys::UpTo64(keys) => replay(keys, source, key),
            Keys::UpTo256(keys) => replay(keys, source, key),
            Keys::Few(_) | Keys::Many(_) => return self.set(source, time),
        };
        self.first = self.others.min(self.busiest);
    }

    /// A source of many has another key: its matches are played again.
    #[cold] // where sources are few, nothing should be kept ready for it
    #[inline(never)] // a piece of code for each number of players
    fn play(&mut self, source: usize, key: u64) {
        macro_rules! with_places {
            ($keys:ident $($places:literal)*) => {
                match $keys.len() {
                    $($places => match $keys.as_mut_slice().try_into() {
                        Ok(keys) => replay::<$places>(keys, source, key),
                        Err(_) => key,
                    },)*
                    places => unreachable!("{places} places"),
                }
            };
        }
        self.others = match &mut self.keys {
            Keys::Few(_) => key, // is set without a match
            Keys::UpTo16(keys) => replay(keys, source, key),
            Keys::UpTo64(keys) => replay(keys, source, key),
            Keys::UpTo256(keys) => replay(keys, source, key),
            Keys::Many(keys) => {
                with_places!(keys 1024 2048 4096 8192 16384 32768)
            }
        };
    }
}

/// Player of a source.
#[inline(always)]
fn key_of(source: usize, time: u64) -> u64 {
    time.min(LATEST) << SOURCE_BITS | source as u64
}

const _: () = assert!(MOST_SOURCES == 16384, "these are the numbers of places between");

/// Plays the matches of a source that has another key; the key of who is first.
#[inline(always)]
fn replay<const PLACES: usize>(keys: &mut [u64; PLACES], source: usize, mut key: u64) -> u64 {
    let mut place = PLACES / 2 + source % (PLACES / 2);
    for _ in 1..PLACES.ilog2() {
        keys[place] = key;
        key = key.min(keys[place ^ 1]);
        place /= 2;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_source_wins_and_ties_go_to_the_lower_number() {
        let mut calendar = Calendar::new(5);
        assert!(calendar.next().1 > LONGEST_DURATION);
        calendar.set(3, 70);
        calendar.set(4, 50);
        assert_eq!(calendar.next(), (4, 50));
        calendar.set(1, 50);
        assert_eq!(calendar.next(), (1, 50));
        calendar.set(1, NEVER);
        calendar.set(4, 90);
        assert_eq!(calendar.next(), (3, 70));
    }

    #[test]
    fn what_no_run_lives_to_see_is_never_next() {
        let mut calendar = Calendar::new(MOST_SOURCES);
        calendar.set(0, 1 << 62);
        calendar.set(MOST_SOURCES - 1, LONGEST_DURATION);
        assert_eq!(calendar.next(), (MOST_SOURCES - 1, LONGEST_DURATION));
    }

    #[test]
    fn however_many_there_are_the_next_is_the_least_of_all() {
        for sources in [1, 2, 4, 5, 16, 17, 64, 65, 300] {
            let mut calendar = Calendar::new(sources);
            let mut times = vec![LONGEST_DURATION; sources];
            (0..sources).for_each(|source| calendar.set(source, LONGEST_DURATION));
            let mut state = 3_u64;
            for _ in 0..3000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let source = (state >> 33) as usize % sources;
                times[source] = (state >> 20) % 50;
                if state >> 63 == 0 {
                    calendar.set(source, times[source]);
                } else {
                    calendar.set_likely_more(source, times[source]);
                }
                let least = times.iter().enumerate().min_by_key(|it| (it.1, it.0));
                assert_eq!(Some(calendar.next()), least.map(|(source, &time)| (source, time)));
            }
        }
    }
}
