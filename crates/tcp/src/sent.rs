//! When each outstanding segment was last sent, and what the sender knew then.

/// The last sending of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// When, in nanoseconds.
    pub time: u64,
    /// When the last of the segments was delivered that were by then.
    pub delivered_time: u64,
    /// When the flight began that was being sampled.
    pub first_sent: u64,
    /// Segments delivered by then; a connection has no more than this can count.
    pub delivered: u32,
    /// Segments declared lost by then, wrapping.
    pub lost: u32,
    /// Segments in the network, this one included.
    pub in_network: u32,
    /// True if the sender had nothing more to send.
    pub application_limited: bool,
}

// There is one for each segment in the network, and each is fetched from far away when it is acknowledged.
const _: () = assert!(size_of::<Sent>() == 40);

/// Record kept of the last sendings of the segments from the first outstanding one on: all of it, or no
/// more than when they were, which is a fifth of that.
///
/// It is a ring with a place for each segment that is found by the segment's number: to forget those that
/// have been acknowledged is to move its beginning, however many they are.
#[derive(Clone, Debug, Default)]
pub struct SentSegments<T> {
    first: u32,
    /// One after the last segment.
    after: u32,
    /// A power of two of places, or none.
    places: Box<[T]>,
}

/// Places of a ring that has any.
const FEWEST_PLACES: usize = 4;

impl<T: Copy + Default> SentSegments<T> {
    #[inline]
    fn place(&self, sequence: u32) -> usize {
        sequence as usize & (self.places.len().wrapping_sub(1))
    }

    /// Segment `sequence` is sent: anew, or the next in order.
    #[inline]
    pub fn note(&mut self, sequence: u32, sent: T) {
        if self.first == self.after {
            (self.first, self.after) = (sequence, sequence);
        }
        if sequence >= self.after {
            debug_assert_eq!(sequence, self.after, "segments are first sent in order");
            if (self.after - self.first) as usize == self.places.len() {
                self.grow();
            }
            self.after = sequence + 1;
        }
        let place = self.place(sequence);
        self.places[place] = sent;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let length = (2 * self.places.len()).max(FEWEST_PLACES);
        let mut places = vec![T::default(); length].into_boxed_slice();
        for sequence in self.first..self.after {
            places[sequence as usize & (length - 1)] = self.places[self.place(sequence)];
        }
        self.places = places;
    }

    /// The last sending of segment `sequence`, if it is outstanding.
    #[inline]
    pub fn get(&self, sequence: u32) -> Option<&T> {
        let is_outstanding = self.first <= sequence && sequence < self.after;
        is_outstanding.then(|| &self.places[self.place(sequence)])
    }

    /// Forgets the segments before `acknowledged`.
    #[inline]
    pub fn acknowledge(&mut self, acknowledged: u32) {
        self.first = acknowledged.min(self.after).max(self.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outstanding_segment_is_found_and_no_other_however_many_there_are() {
        let mut kept = SentSegments::<u64>::default();
        let (mut first, mut next, mut state) = (7, 7, 1_u64);
        let mut expected = std::collections::BTreeMap::new();
        for _ in 0..5000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let drawn = (state >> 33) as u32;
            match drawn % 4 {
                0 if next > first => {
                    first += drawn / 4 % (next - first + 1);
                    kept.acknowledge(first);
                    expected = expected.split_off(&first);
                }
                1 if next > first => {
                    let again = first + drawn / 4 % (next - first);
                    kept.note(again, state);
                    expected.insert(again, state);
                }
                _ => {
                    kept.note(next, state);
                    expected.insert(next, state);
                    next += 1;
                }
            }
            for sequence in first.saturating_sub(3)..next + 3 {
                assert_eq!(kept.get(sequence), expected.get(&sequence));
            }
        }
        assert_eq!(kept.get(first), expected.get(&first));
        assert!(next > 1000, "{next}");
    }

    #[test]
    fn where_nothing_is_outstanding_what_is_sent_next_is_first() {
        let mut kept = SentSegments::default();
        kept.note(3, 'a');
        kept.acknowledge(9); // beyond what is known of
        assert_eq!(kept.get(3), None);
        kept.note(9, 'b');
        assert_eq!(kept.get(9), Some(&'b'));
    }
}
