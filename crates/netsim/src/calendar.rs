//! Which source of events is next.
//!
//! Events wait at their sources (delay lines, the timers, the control schedule), each of which
//! knows its earliest one. The calendar is a tournament over the sources: finding the next event
//! is reading the root, changing a source's time is replaying its few matches. At equal times the
//! source with the lower number wins, so that the order of events is always the same.

/// No event.
pub const NEVER: u64 = u64::MAX;

/// A tournament over numbered sources.
#[derive(Clone, Debug)]
pub struct Calendar {
    times: Vec<u64>,
    /// `winners[node]` is the source that wins below `node`; leaves begin at `leaves`.
    winners: Vec<u32>,
    leaves: usize,
}

impl Calendar {
    /// A calendar for `sources` sources, none of which has an event yet.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        let mut winners = vec![0; 2 * leaves];
        for (source, winner) in winners[leaves..].iter_mut().enumerate() {
            *winner = source as u32;
        }
        let mut calendar = Self { times: vec![NEVER; leaves], winners, leaves };
        for node in (1..leaves).rev() {
            calendar.winners[node] = calendar.play(node);
        }
        calendar
    }

    /// The next source and its time; the time is [`NEVER`] when there is no event at all.
    #[inline]
    #[must_use]
    pub fn next(&self) -> (usize, u64) {
        let source = self.winners[1] as usize;
        (source, self.times[source])
    }

    /// Sets the time of a source's earliest event.
    #[inline(always)] // for every event: the call was 1 % of a run
    pub fn set(&mut self, source: usize, time: u64) {
        self.times[source] = time;
        let mut node = (self.leaves + source) / 2;
        while node > 0 {
            let winner = self.play(node);
            // Mostly the same source stays ahead: reading on need not wait for a store then.
            if winner != self.winners[node] {
                self.winners[node] = winner;
            }
            node /= 2;
        }
    }

    #[inline]
    fn play(&self, node: usize) -> u32 {
        let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
        if self.times[right as usize] < self.times[left as usize] { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_source_wins_and_ties_go_to_the_lower_number() {
        let mut calendar = Calendar::new(5);
        assert_eq!(calendar.next().1, NEVER);
        calendar.set(3, 70);
        calendar.set(4, 50);
        assert_eq!(calendar.next(), (4, 50));
        calendar.set(1, 50);
        assert_eq!(calendar.next(), (1, 50));
        calendar.set(1, NEVER);
        calendar.set(4, 90);
        assert_eq!(calendar.next(), (3, 70));
    }
}
