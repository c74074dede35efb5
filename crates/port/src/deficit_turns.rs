//! Deficit round robin, and DRR++.

use std::collections::VecDeque;

use vermilion_parameters::{Bytes, settings};

settings! {
    /// Settings of deficit round robin.
    pub DrrSettings "drr": "DRR",
        "Classes take turns, each by its weight in bytes",
        "Shreedhar and Varghese, SIGCOMM 1995; Linux 6.12, net/sched/sch_drr.c";
    /// bytes that a class of weight 1 may send in a turn
    quantum: Bytes<u32> = 1514 in [64, 1_048_576] log [256, 65536], "Linux: the device's MTU";
}

settings! {
    /// Settings of DRR++.
    pub DrrPlusPlusSettings "drr++": "DRR++",
        "Classes take turns by their weights, and one that begins to send comes before those that go on",
        "MacGregor and Shi, ICON 2000; RFC 8290, section 4";
    /// bytes that a class of weight 1 may send in a turn
    quantum: Bytes<u32> = 1514 in [64, 1_048_576] log [256, 65536], "Linux: the device's MTU";
}

/// Turns of classes, by deficits in bytes.
///
/// A class that gets a packet and is in no list has a quantum and becomes the last of the old ones, or in DRR++ of the
/// new ones, who come first. At its turn it sends while its deficit is above zero, which may leave it below; then it
/// gets another quantum and becomes the last old one. One that is found empty leaves the lists, except that a new one
/// becomes the last old one while there are others.
///
/// Departures: Shreedhar and Varghese send while the deficit suffices for the next packet, which nobody knows of a
/// queue that drops at its head. So a class may owe a part of a packet, as in RFC 8290; what it owes when it leaves
/// the lists is forgotten there and here. A class that holds its packets back is passed over and keeps its deficit.
#[derive(Clone, Debug)]
pub struct DeficitTurns {
    prefers_new: bool,
    /// Bytes that each class gets in a turn.
    quanta: Vec<i64>,
    deficits: Vec<i64>,
    is_listed: Vec<bool>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl DeficitTurns {
    /// Turns of empty classes with these weights. `quantum`: bytes that a class of weight 1 may send in a turn;
    /// `prefers_new`: DRR++.
    #[must_use]
    pub fn new(prefers_new: bool, quantum: u32, weights: &[f64]) -> Self {
        let classes = weights.len();
        let mut turns = Self {
            prefers_new,
            quanta: Vec::new(),
            deficits: vec![0; classes],
            is_listed: vec![false; classes],
            new: VecDeque::with_capacity(classes),
            old: VecDeque::with_capacity(classes),
        };
        turns.set(quantum, weights);
        turns
    }

    /// Takes another quantum and other weights.
    pub fn set(&mut self, quantum: u32, weights: &[f64]) {
        let of = |weight: &f64| ((f64::from(quantum) * weight) as i64).max(1);
        self.quanta = weights.iter().map(of).collect();
    }

    /// A packet has joined a class.
    #[inline]
    pub fn join(&mut self, class: usize) {
        if std::mem::replace(&mut self.is_listed[class], true) {
            return;
        }
        self.deficits[class] = self.quanta[class];
        if self.prefers_new { self.new.push_back(class) } else { self.old.push_back(class) }
    }

    /// The class whose turn it is. `state` says of a class whether it has a packet and, if so, whether that may be sent.
    #[inline]
    pub fn next(&mut self, state: impl Fn(usize) -> Option<bool>) -> Option<usize> {
        let mut held = 0;
        while held < self.new.len() + self.old.len() {
            let is_new = !self.new.is_empty();
            let stays = is_new && !self.old.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let class = *list.front()?;
            match state(class) {
                Some(true) if self.deficits[class] > 0 => return Some(class),
                Some(true) => {
                    self.deficits[class] += self.quanta[class];
                    held = 0;
                }
                Some(false) => held += 1,
                None if stays => {}
                None => {
                    list.pop_front();
                    self.is_listed[class] = false;
                    continue;
                }
            }
            list.pop_front();
            self.old.push_back(class);
        }
        None
    }

    /// A class has sent so many bytes in its turn.
    #[inline]
    pub fn charge(&mut self, class: usize, bytes: u32) {
        self.deficits[class] -= i64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which classes send packets of these sizes, all of which wait from the beginning, except that those
    /// of the last class come after so many have been sent.
    fn order(turns: &mut DeficitTurns, sizes: &[&[u32]], late: usize) -> Vec<usize> {
        let mut left: Vec<VecDeque<u32>> =
            sizes.iter().map(|sizes| sizes.iter().copied().collect()).collect();
        let last = sizes.len() - 1;
        let mut sent = Vec::new();
        (0..last).for_each(|class| turns.join(class));
        loop {
            if sent.len() == late {
                turns.join(last);
            }
            let waits = |class: usize| class < last || sent.len() >= late;
            let next =
                turns.next(|class| (waits(class) && !left[class].is_empty()).then_some(true));
            let Some(class) = next else { return sent };
            turns.charge(class, left[class].pop_front().expect("it has some"));
            sent.push(class);
        }
    }

    #[test]
    fn drr_gives_each_class_its_quantum_in_bytes() {
        // Quanta of 1000 and 2000. Class 0 sends 600 and 600 (it owes 200), class 1 four of 500; then class 0 has 800:
        // 600 and 600 again, class 1 four.
        let mut turns = DeficitTurns::new(false, 1000, &[1.0, 2.0]);
        let sent = order(&mut turns, &[&[600; 5], &[500; 9]], 0);
        // After that class 0 has 600: one, and 0; and class 1 its last.
        assert_eq!(sent, [0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1]);
    }

    #[test]
    fn drr_puts_one_that_begins_behind_the_others_and_drr_plus_plus_before_them() {
        // Class 2 begins after the first packet.
        let sizes: [&[u32]; 3] = [&[1000; 3], &[1000; 3], &[500; 3]];
        let mut turns = DeficitTurns::new(false, 1000, &[1.0; 3]);
        assert_eq!(order(&mut turns, &sizes, 1), [0, 1, 2, 2, 0, 1, 2, 0, 1]);
        // In DRR++ classes 0 and 1 are new at first. Class 0 has used its quantum up and becomes old; class 1 is
        // new and came before class 2, which sends a quantum and becomes old behind both.
        let mut turns = DeficitTurns::new(true, 1000, &[1.0; 3]);
        assert_eq!(order(&mut turns, &sizes, 1), [0, 1, 2, 2, 0, 1, 2, 0, 1]);
        // Once both are old it does not wait for either.
        let mut turns = DeficitTurns::new(true, 1000, &[1.0; 3]);
        assert_eq!(order(&mut turns, &sizes, 3), [0, 1, 0, 2, 2, 1, 2, 0, 1]);
        let mut turns = DeficitTurns::new(false, 1000, &[1.0; 3]);
        assert_eq!(order(&mut turns, &sizes, 3), [0, 1, 0, 1, 2, 2, 0, 1, 2]);
    }

    #[test]
    fn a_class_that_holds_back_is_passed_over() {
        let mut turns = DeficitTurns::new(false, 1000, &[1.0; 2]);
        (0..2).for_each(|class| turns.join(class));
        assert_eq!(turns.next(|class| Some(class == 1)), Some(1));
        assert_eq!(turns.next(|_| Some(false)), None);
        assert_eq!(turns.next(|class| Some(class == 0)), Some(0));
    }
}
