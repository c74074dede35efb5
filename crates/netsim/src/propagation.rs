//! How long packets take on a link's wire, which a change alters for later packets only.

/// The propagation delay of each packet, in nanoseconds. Packets have numbers in the order in which
/// they leave; only those before a change whose transmission has not ended are remembered.
#[derive(Clone, Debug)]
pub struct Propagation {
    delay: u64,
    /// Former delays, and the number of the first packet that no longer had each.
    former: Vec<(u64, u64)>,
}

impl Propagation {
    /// The same for all packets so far.
    pub fn new(delay: u64) -> Self {
        Self { delay, former: Vec::new() }
    }

    /// That of the packet that comes next.
    #[inline(always)] // for every packet
    pub fn delay(&self) -> u64 {
        self.delay
    }

    /// From packet number `first` on it is `delay`. Nobody will ask about packets before number
    /// `oldest`.
    pub fn change(&mut self, oldest: u64, first: u64, delay: u64) {
        self.former.retain(|&(end, _)| end > oldest);
        if delay != self.delay {
            self.former.push((first, self.delay));
            self.delay = delay;
        }
    }

    /// That of packet number `number`.
    pub fn of(&self, number: u64) -> u64 {
        let former = self.former.iter().find(|&&(end, _)| number < end);
        former.map_or(self.delay, |&(_, delay)| delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_keeps_the_delay_that_it_was_given() {
        let mut propagation = Propagation::new(50);
        propagation.change(0, 3, 20);
        propagation.change(1, 3, 30); // before another packet has come
        propagation.change(2, 5, 0);
        let of = |propagation: &Propagation| Vec::from_iter((2..7).map(|n| propagation.of(n)));
        assert_eq!((of(&propagation), propagation.delay()), (vec![50, 30, 30, 0, 0], 0));
        propagation.change(5, 6, 10);
        assert_eq!(propagation.former, [(6, 0)]);
    }
}
