/// Entry of an order that begins with its time.
pub(crate) trait Ordered {
    /// Time in nanoseconds, and which comes first at one time.
    fn order(&self) -> (u64, u64);
}

/// Records that nobody has taken yet: at most so many, handed out in order.
#[derive(Clone, Debug)]
pub(crate) struct Kept<T> {
    /// How many may still be kept.
    left: u64,
    /// True if something was left out because of that.
    cut: bool,
    waiting: Vec<T>,
}

impl<T: Ordered> Kept<T> {
    /// How many wait when somebody should take them.
    const MANY: usize = 1 << 16;

    /// Nothing so far, and at most `most` in all.
    pub fn new(most: u64) -> Self {
        Self { left: most, cut: false, waiting: Vec::new() }
    }

    /// Keeps what `make` makes, if there may be one more; whether it was kept.
    pub fn keep(&mut self, make: impl FnOnce() -> T) -> bool {
        if self.left == 0 {
            self.cut = true;
            return false;
        }
        self.left -= 1;
        self.waiting.push(make());
        true
    }

    /// Return true if somebody should take what there is.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= Self::MANY
    }

    /// Return true if something was left out because there may not be more.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Events before `end`, in order; nothing earlier may come after it.
    pub fn take(&mut self, end: u64) -> Vec<T> {
        self.waiting.sort_by_key(Ordered::order);
        let over = self.waiting.partition_point(|each| each.order().0 < end);
        let later = self.waiting.split_off(over);
        std::mem::replace(&mut self.waiting, later)
    }
}
