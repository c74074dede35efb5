/// Which of many queues holds most bytes.
///
/// Asked seldom, for a buffer that is full, while what the queues hold changes with every packet. So a
/// change only puts its queue on a list of those to be looked at, and the question plays a tournament over
/// the queues of which only the matches of those are played again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fattest {
    /// `winners[node]` is the queue that holds most below `node`, the first of those alike; none before the
    /// first question. The leaves, from the middle on, are not kept.
    winners: Vec<u32>,
    /// Length of each queue at the last question.
    held: Vec<u64>,
    changed: Vec<u32>,
}

impl Fattest {
    /// Note that the contents of `queue` change. It is enough to say so once after each question, and only after the first one.
    #[inline]
    pub(crate) fn note_change(&mut self, queue: usize) {
        self.changed.push(queue as u32);
    }

    /// Which of so many queues holds most, the first of those alike; `look` is told of those that were noted, of
    /// all of them the first time, and says what they hold.
    pub(crate) fn find(&mut self, queues: usize, mut look: impl FnMut(usize) -> u64) -> usize {
        let leaves = queues.next_power_of_two().max(2);
        if self.winners.is_empty() {
            self.held = (0..queues).map(look).collect();
            self.winners = vec![0; leaves];
            for node in (1..leaves).rev() {
                self.winners[node] = self.play(node, leaves);
            }
            return self.winners[1] as usize;
        }
        for &queue in &self.changed {
            self.held[queue as usize] = look(queue as usize);
        }
        let mut changed = std::mem::take(&mut self.changed);
        for queue in changed.drain(..) {
            self.play_again(queue, leaves);
        }
        self.changed = changed;
        self.winners[1] as usize
    }

    /// Plays the matches again in which `queue` takes part, as far as it matters to them.
    fn play_again(&mut self, queue: u32, leaves: usize) {
        let mut node = (leaves + queue as usize) / 2;
        while node > 0 {
            let winner = self.play(node, leaves);
            let before = std::mem::replace(&mut self.winners[node], winner);
            if winner == before && winner != queue {
                return; // it lost here, and loses again
            }
            node /= 2;
        }
    }

    #[inline]
    fn play(&self, node: usize, leaves: usize) -> u32 {
        let [left, right] = [2 * node, 2 * node + 1].map(|node| match node.checked_sub(leaves) {
            Some(queue) => queue as u32,
            None => self.winners[node],
        });
        // Beyond the last queue there is nothing; the left is the one with the lower number.
        let held = |queue: u32| self.held.get(queue as usize).copied().unwrap_or(0);
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
            let mut fattest = Fattest::default();
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
                    assert_eq!(fattest.find(queues, |queue| backlogs[queue]), by_scan(&backlogs));
                }
            }
        }
    }
}
