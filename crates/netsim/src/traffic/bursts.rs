/// What was sent in one on time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Burst {
    /// When its first packet left, at the first queue, in nanoseconds.
    pub began: u64,
    /// When its last did.
    pub ended: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// Packets of it.
    pub packets: u32,
    /// Packets of it that have arrived.
    arrived: u32,
    /// When the last packet arrived that has, in nanoseconds.
    last_arrival: u64,
}

/// The on times of on-off traffic as transfers: what was sent in each, and when the last of it had arrived.
#[derive(Clone, Debug, Default)]
pub struct Bursts {
    all: Vec<Burst>,
    /// True if the last of them is over.
    is_over: bool,
    most: usize,
    cut: bool,
}

impl Bursts {
    /// None yet, and never more than so many.
    pub fn new(most: usize) -> Self {
        Self { most, is_over: true, ..Self::default() }
    }

    /// A packet of `size` bytes leaves at `now`; the on time ends with it if it `is_last`.
    pub fn on_sent(&mut self, now: u64, size: u32, is_last: bool) {
        if self.is_over {
            if self.all.len() == self.most {
                self.cut = true;
                return;
            }
            self.all.push(Burst { began: now, ..Burst::default() });
        }
        self.is_over = is_last;
        if let Some(burst) = self.all.last_mut() {
            burst.ended = now;
            burst.bytes += u64::from(size);
            burst.packets += 1;
        }
    }

    /// A packet that left at `sent` arrives at `now`.
    pub fn on_arrived(&mut self, now: u64, sent: u64) {
        let after = self.all.partition_point(|burst| burst.began <= sent);
        if let Some(burst) = after.checked_sub(1).and_then(|place| self.all.get_mut(place))
            && sent <= burst.ended
        {
            burst.arrived += 1;
            burst.last_arrival = now;
        }
    }

    /// Each burst, and when all of it had arrived, if that is so.
    pub fn each(&self) -> impl Iterator<Item = (&Burst, Option<u64>)> {
        let last = self.all.len().wrapping_sub(1);
        self.all.iter().enumerate().map(move |(place, burst)| {
            let is_over = self.is_over || place != last;
            let is_complete = is_over && burst.arrived == burst.packets;
            (burst, is_complete.then_some(burst.last_arrival))
        })
    }

    /// Return true if some were left out because there may not be more.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}
