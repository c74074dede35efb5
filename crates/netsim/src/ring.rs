/// A first-in, first-out queue in a ring whose places are a power of two.
///
/// A place is found by a mask, where the standard library's queue compares and subtracts: packets go through such
/// queues several times each.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    places: Box<[T]>,
    /// Entries taken out at the front so far, and put in at the back.
    taken: usize,
    put: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { places: Box::default(), taken: 0, put: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Number of entries.
    #[inline(always)] // for every packet, as all that follows
    pub fn len(&self) -> usize {
        self.put - self.taken
    }

    /// Return true if there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.put == self.taken
    }

    /// The first entry.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.places.get(self.taken & (self.places.len() - 1)) }
    }

    /// The last entry.
    pub fn back(&self) -> Option<&T> {
        self.len().checked_sub(1).and_then(|index| self.get(index))
    }

    /// The entry that has so many before it.
    pub fn get(&self, index: usize) -> Option<&T> {
        if index < self.len() {
            self.places.get((self.taken + index) & (self.places.len() - 1))
        } else {
            None
        }
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index < self.len() {
            let mask = self.places.len() - 1;
            self.places.get_mut((self.taken + index) & mask)
        } else {
            None
        }
    }

    /// Takes the first entry out.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.taken += 1;
        Some(first)
    }

    /// Takes the last entry out.
    pub fn pop_back(&mut self) -> Option<T> {
        let last = *self.back()?;
        self.put -= 1;
        Some(last)
    }

    /// Puts an entry in behind all others.
    #[inline(always)]
    pub fn push_back(&mut self, entry: T) {
        if self.len() == self.places.len() {
            self.grow(entry);
        }
        let place = self.put & (self.places.len() - 1);
        self.places[place] = entry;
        self.put += 1;
    }

    /// Makes room for as many again.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let mut places = Vec::with_capacity((2 * self.len()).max(4));
        places.extend(self.iter().copied());
        places.resize(places.capacity().next_power_of_two(), filler);
        (self.taken, self.put) = (0, self.len());
        self.places = places.into_boxed_slice();
    }

    /// All entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        let mask = self.places.len().wrapping_sub(1);
        (self.taken..self.put).map(move |place| &self.places[place & mask])
    }

    /// All entries in order, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        if !self.places.is_empty() {
            self.places.rotate_left(self.taken & (self.places.len() - 1));
        }
        (self.taken, self.put) = (0, self.len());
        self.places[..self.put].iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn it_is_the_queue_of_the_library() {
        let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
        let mut state = 5_u64;
        for step in 0..20_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            match (state >> 33) % if step % 2000 < 1000 { 8 } else { 16 } {
                0..=4 => {
                    ring.push_back(step);
                    queue.push_back(step);
                }
                5 => assert_eq!(ring.pop_back(), queue.pop_back()),
                6 => {
                    ring.iter_mut().for_each(|entry| *entry += 1);
                    queue.iter_mut().for_each(|entry| *entry += 1);
                }
                7 => {
                    let index = queue.len() / 2;
                    assert_eq!(ring.get_mut(index), queue.get_mut(index));
                }
                _ => assert_eq!(ring.pop_front(), queue.pop_front()),
            }
            assert_eq!((ring.front(), ring.back()), (queue.front(), queue.back()));
            assert_eq!((ring.len(), ring.is_empty()), (queue.len(), queue.is_empty()));
        }
        assert!(ring.iter().eq(&queue));
    }
}
