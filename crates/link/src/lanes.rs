use std::collections::HashMap;

/// How much farther than the end of the wire addresses are, in nanoseconds.
///
/// Packets to different addresses may overtake each other. Those to one address do not, unless jitter
/// lets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    of: HashMap<[u8; 4], u64>,
}

impl Distances {
    /// From IPv4 addresses and what packets to them take longer.
    pub fn new(of: HashMap<[u8; 4], u64>) -> Self {
        Self { of }
    }

    /// Return true if all is at the end of the wire.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The longest.
    pub fn longest(&self) -> u64 {
        self.of.values().copied().max().unwrap_or(0)
    }
}

/// Facts that packets to one address share, or those to all addresses that have no lane of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lane {
    /// Time that they take longer than to the end of the wire.
    pub farther: u64,
    /// When the last of them arrives, or arrived.
    pub last_due: u64,
}

/// Lanes beyond the end of the wire: one for each address that is farther away.
///
/// There are as many as addresses have been named, and one more.
#[derive(Debug)]
pub struct Lanes {
    /// The number of each address's lane; the others share number 0.
    numbers: HashMap<[u8; 4], usize>,
    lanes: Vec<Lane>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { numbers: HashMap::new(), lanes: vec![Lane::default()] }
    }
}

impl Lanes {
    /// From now on addresses are so far away. One that was named before keeps its lane, so that what
    /// is on its way there is not overtaken.
    pub fn set_distances(&mut self, distances: &Distances) {
        self.lanes.iter_mut().for_each(|lane| lane.farther = 0);
        for (&address, &farther) in &distances.of {
            let others = self.lanes[0];
            let number = *self.numbers.entry(address).or_insert_with(|| {
                self.lanes.push(others);
                self.lanes.len() - 1
            });
            self.lanes[number].farther = farther;
        }
    }

    /// The number of the lane that a packet takes.
    pub fn number(&self, packet: &[u8]) -> usize {
        if self.numbers.is_empty() {
            return 0;
        }
        match packet {
            [first, rest @ ..] if *first >> 4 == 4 && rest.len() >= 19 => {
                let address = [rest[15], rest[16], rest[17], rest[18]];
                self.numbers.get(&address).copied().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// A lane by its number.
    pub fn lane(&mut self, number: usize) -> &mut Lane {
        &mut self.lanes[number]
    }
}
