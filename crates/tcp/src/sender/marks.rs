use super::options::{Ecn, EcnOptions};
use crate::Acknowledgement;

/// Record of what marks have told a sender, and what it says of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    options: EcnOptions,
    /// The next segment says that the window has been reduced.
    announce_reduction: bool,
    /// Marked segments that the receiver has counted.
    counted: u32,
}

impl Marks {
    pub(crate) fn new(options: EcnOptions) -> Self {
        Self { options, announce_reduction: false, counted: 0 }
    }

    /// Segments newly known to have arrived marked, or 1 where the classic echo says that some did.
    #[inline]
    pub(crate) fn take(&mut self, answer: &Acknowledgement<'_>) -> u32 {
        match self.options.feedback {
            Ecn::Off => 0,
            Ecn::Classic => u32::from(answer.congestion_echo),
            Ecn::Accurate | Ecn::Scalable => {
                let newly = answer.marked.wrapping_sub(self.counted);
                // Acknowledgements that were overtaken report an older count.
                if newly > u32::MAX / 2 {
                    return 0;
                }
                self.counted = answer.marked;
                newly
            }
        }
    }

    /// So many that were taken are to be told once more, with the next segment acknowledged.
    pub(crate) fn give_back(&mut self, marked: u32) {
        self.counted = self.counted.wrapping_sub(marked);
    }

    /// Return true if a segment may be marked, and if its sender answers every mark; `again`: it is sent
    /// again.
    #[inline]
    pub(crate) fn label(&self, sequence: u32, again: bool) -> (bool, bool) {
        let capable = self.options.feedback != Ecn::Off
            && (sequence > 0 || self.options.capable_handshake)
            && (self.options.capable_retransmissions || !again);
        (capable, capable && self.options.feedback == Ecn::Scalable)
    }

    /// The window has been reduced: where the echo is the classic one, the receiver is told.
    #[inline]
    pub(crate) fn announce_reduction(&mut self) {
        self.announce_reduction = self.options.feedback == Ecn::Classic;
    }

    /// Return true if the segment that leaves now tells it.
    #[inline]
    pub(crate) fn take_announcement(&mut self) -> bool {
        std::mem::take(&mut self.announce_reduction)
    }

    /// Return true if it asks for marks, and has not given that up.
    pub(crate) fn are_understood(&self) -> bool {
        self.options.feedback != Ecn::Off
    }

    /// The opening segment was lost: perhaps because of its marks.
    pub(crate) fn fall_back(&mut self) {
        if self.options.fallback {
            self.options.feedback = Ecn::Off;
            self.announce_reduction = false;
        }
    }
}
