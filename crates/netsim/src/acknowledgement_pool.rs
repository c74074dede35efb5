use vermilion_tcp::{Acknowledgement, KeptAcknowledgement};

/// Acknowledgements on their way: kept here while a small packet with their number travels.
///
/// An acknowledgement with its selective blocks is larger than a packet in flight should be, and
/// most never fly: where acknowledgements meet no queue, the sender is told directly.
#[derive(Clone, Debug, Default)]
pub struct AcknowledgementPool {
    answers: Vec<KeptAcknowledgement>,
    free: Vec<u32>,
}

impl AcknowledgementPool {
    /// Keeps an acknowledgement; its number.
    #[inline(always)] // it should be written here and nowhere else
    pub fn keep(&mut self, answer: &Acknowledgement<'_>) -> u32 {
        if let Some(number) = self.free.pop() {
            self.answers[number as usize].replace(answer);
            return number;
        }
        self.answers.push(KeptAcknowledgement::from(*answer));
        (self.answers.len() - 1) as u32
    }

    /// Takes an acknowledgement that has arrived, or was lost, out. It can be read until another is kept.
    pub fn take(&mut self, number: u32) -> Acknowledgement<'_> {
        self.free.push(number);
        self.answers[number as usize].get()
    }

    /// An acknowledgement on its way.
    pub fn look_at(&self, number: u32) -> &KeptAcknowledgement {
        &self.answers[number as usize]
    }

    /// Acknowledgements on their way.
    #[cfg(test)]
    pub fn on_their_way(&self) -> usize {
        self.answers.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_those_that_arrived_are_used_again() {
        let mut pool = AcknowledgementPool::default();
        let keep = |pool: &mut AcknowledgementPool, next_expected| {
            let blocks = &[(next_expected + 2, next_expected + 5)];
            pool.keep(&Acknowledgement { next_expected, blocks, ..Acknowledgement::default() })
        };
        let numbers: Vec<u32> = (0..3).map(|k| keep(&mut pool, k)).collect();
        assert_eq!(pool.take(numbers[1]).next_expected, 1);
        assert_eq!(keep(&mut pool, 7), numbers[1]);
        let taken = pool.take(numbers[1]);
        assert_eq!((taken.next_expected, taken.blocks), (7, &[(9, 12)][..]));
        assert_eq!(pool.on_their_way(), 2);
    }
}
