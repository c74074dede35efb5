//! What crosses the network.

/// A segment on its way to the receiver. Sequence numbers count segments; 0 is the one that opens
/// the connection (SYN) and carries no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment.
    pub sequence: u32,
    /// When it was sent by the sender's clock, in nanoseconds: the value of its timestamp option.
    pub sent: u64,
    /// True if it may be marked instead of dropped (ECT).
    pub ecn_capable: bool,
    /// True if its sender answers every mark and wants a queue of its own (ECT(1), RFC 9331).
    pub scalable: bool,
    /// True if a queue has marked it (CE).
    pub congestion_experienced: bool,
    /// True if the sender says that it has reduced its window (CWR).
    pub window_reduced: bool,
}

/// An acknowledgement on its way to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement<'a> {
    /// The next segment the receiver waits for: all before it have arrived.
    pub next_expected: u32,
    /// The echoed timestamp (RFC 7323, section 4.3), in nanoseconds of the sender's clock.
    pub echo: u64,
    /// Reading of the receiver's clock less what the segment's timestamp did when that segment arrived
    /// which is answered (RFC 6817, section 2.3), in nanoseconds.
    pub forward_delay: u64,
    /// The receiver's classic echo of a mark (ECE, RFC 3168).
    pub congestion_echo: bool,
    /// Marked segments that have arrived so far (accurate ECN, RFC 9768), wrapping.
    pub marked: u32,
    /// Stretches of segments that have arrived beyond a gap (RFC 2018), each from its first
    /// segment to the one after its last, the most recently changed one first.
    pub blocks: &'a [(u32, u32)],
}

/// An acknowledgement that owns its blocks, to be kept while it travels.
#[derive(Clone, Copy, Debug)]
pub struct KeptAcknowledgement {
    echo: u64,
    forward_delay: u64,
    next_expected: u32,
    marked: u32,
    congestion_echo: bool,
    blocks: SackBlocks,
}

// Many are on their way at once: one must not take more than a line of the cache.
const _: () = assert!(size_of::<KeptAcknowledgement>() <= 64);

impl From<Acknowledgement<'_>> for KeptAcknowledgement {
    #[inline]
    fn from(answer: Acknowledgement<'_>) -> Self {
        Self {
            echo: answer.echo,
            forward_delay: answer.forward_delay,
            next_expected: answer.next_expected,
            marked: answer.marked,
            congestion_echo: answer.congestion_echo,
            blocks: SackBlocks::of(answer.blocks),
        }
    }
}

impl KeptAcknowledgement {
    /// Becomes `answer`. As a rule that has no blocks, and those that were kept stay where they are.
    #[inline]
    pub fn replace(&mut self, answer: &Acknowledgement<'_>) {
        self.echo = answer.echo;
        self.forward_delay = answer.forward_delay;
        self.next_expected = answer.next_expected;
        self.marked = answer.marked;
        self.congestion_echo = answer.congestion_echo;
        self.blocks.replace(answer.blocks);
    }

    /// The acknowledgement.
    #[inline]
    pub fn get(&self) -> Acknowledgement<'_> {
        Acknowledgement {
            next_expected: self.next_expected,
            echo: self.echo,
            forward_delay: self.forward_delay,
            congestion_echo: self.congestion_echo,
            marked: self.marked,
            blocks: self.blocks.as_slice(),
        }
    }
}

/// Most blocks in one acknowledgement: with timestamps, three fit into the TCP header (RFC 2018).
pub const MOST_BLOCKS: usize = 3;

/// The blocks of a selective acknowledgement, kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); MOST_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// Keeps at most [`MOST_BLOCKS`] blocks.
    pub fn of(blocks: &[(u32, u32)]) -> Self {
        let mut kept = Self::default();
        kept.replace(blocks);
        kept
    }

    /// Keeps these in place of those that were kept.
    #[inline]
    pub fn replace(&mut self, blocks: &[(u32, u32)]) {
        for (kept, block) in self.blocks.iter_mut().zip(blocks) {
            *kept = *block;
        }
        self.count = blocks.len().min(MOST_BLOCKS) as u8;
    }

    /// The first block ends at `after` now.
    #[inline]
    pub fn extend_first(&mut self, after: u32) {
        self.blocks[0].1 = after;
    }

    /// The blocks.
    #[inline]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// The first block.
    #[inline]
    pub fn first_mut(&mut self) -> Option<&mut (u32, u32)> {
        self.blocks[..usize::from(self.count)].first_mut()
    }

    /// Puts `latest`, if there is one, before the blocks that were kept, and forgets those that it has swallowed,
    /// those before segment `next_expected`, and what there is no more room for.
    pub(crate) fn lead_with(&mut self, latest: Option<(u32, u32)>, next_expected: u32) {
        let before = *self;
        let (from, after) = latest.unwrap_or((0, 0));
        self.count = 0;
        if let Some(block) = latest {
            self.blocks[0] = block;
            self.count = 1;
        }
        for &block in before.as_slice() {
            let swallowed = from <= block.0 && block.0 < after;
            if block.0 >= next_expected && !swallowed && usize::from(self.count) < MOST_BLOCKS {
                self.blocks[usize::from(self.count)] = block;
                self.count += 1;
            }
        }
    }
}
