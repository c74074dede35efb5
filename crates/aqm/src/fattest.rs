//! Which of many queues holds most bytes.
//!
//! Asked seldom, for a buffer that is full, while what the queues hold changes with every packet. So a
//! change only puts its queue on a list of those to be looked at, once, and the question plays a
//! tournament over the queues of which only the matches of those are played again.

/// See the module's head.
#[derive(Clone, Debug)]
pub(crate) struct Fattest {
    /// `winners[node]` is the queue that holds most below `node`, the first of those alike; none before the
    /// first question. The leaves, from the middle on, are not kept.
    winners: Vec<u32>,
    changed: Vec<u32>,
    /// A bit for each queue: whether it is among the changed ones.
    is_changed: Vec<u64>,
}

impl Fattest {
    /// For so many queues, all empty.
    pub(crate) fn new(queues: usize) -> Self {
        let is_changed = vec![0; queues.div_ceil(64)];
        Self { winners: Vec::new(), changed: Vec::new(), is_changed }
    }

    /// What `queue` holds changes.
    #[inline]
    pub(crate) fn note_change(&mut self, queue: usize) {
        if self.winners.is_empty() {
            return; // nobody has asked yet
        }
        let (word, bit) = (&mut self.is_changed[queue / 64], 1 << (queue % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.changed.push(queue as u32);
        }
    }

    /// The queue that holds most, the first of those alike; `backlogs` is what each holds.
    pub(crate) fn find(&mut self, backlogs: &[u64]) -> usize {
        let leaves = backlogs.len().next_power_of_two().max(2);
        if self.winners.is_empty() {
            self.winners = vec![0; leaves];
            for node in (1..leaves).rev() {
                self.winners[node] = self.play(node, leaves, backlogs);
            }
        }
        for &queue in &self.changed {
            self.is_changed[queue as usize / 64] &= !(1 << (queue % 64));
        }
        let mut changed = std::mem::take(&mut self.changed);
        for queue in changed.drain(..) {
            self.play_again(queue, leaves, backlogs);
        }
        self.changed = changed;
        self.winners[1] as usize
    }

    /// Plays the matches again in which `queue` takes part, as far as it matters to them.
    fn play_again(&mut self, queue: u32, leaves: usize, backlogs: &[u64]) {
        let mut node = (leaves + queue as usize) / 2;
        while node > 0 {
            let winner = self.play(node, leaves, backlogs);
            let before = std::mem::replace(&mut self.winners[node], winner);
            if winner == before && winner != queue {
                return; // it lost here, and loses again
            }
            node /= 2;
        }
    }

    #[inline]
    fn play(&self, node: usize, leaves: usize, backlogs: &[u64]) -> u32 {
        let [left, right] = [2 * node, 2 * node + 1].map(|node| match node.checked_sub(leaves) {
            Some(queue) => queue as u32,
            None => self.winners[node],
        });
        // Beyond the last queue there is nothing; the left is the one with the lower number.
        let held = |queue: u32| backlogs.get(queue as usize).copied().unwrap_or(0);
        if held(right) > held(left) { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By looking at all of them.
    fn by_scan(backlogs: &[u64]) -> usize {
        let (mut fattest, mut most) = (0, 0);
        for (queue, &backlog) in backlogs.iter().enumerate() {
            if backlog > most {
                (fattest, most) = (queue, backlog);
            }
        }
        fattest
    }

    #[test]
    fn it_is_the_queue_that_a_scan_of_all_finds_and_the_first_of_those_alike() {
        for queues in [1, 2, 3, 7, 64, 65, 1000, 1024] {
            let mut backlogs = vec![0; queues];
            let mut fattest = Fattest::new(queues);
            let mut state: u64 = 12345;
            for _ in 0..3000 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let queue = state as usize % queues;
                // Few values, so that many are alike.
                backlogs[queue] = (state >> 40) % 4;
                fattest.note_change(queue);
                if state.is_multiple_of(3) {
                    assert_eq!(fattest.find(&backlogs), by_scan(&backlogs));
                }
            }
        }
    }
}
