use vermilion_parameters::{choices, settings};

use crate::Acknowledgement;

choices! {
    /// What acknowledgements tell of marks.
    pub EcnFeedback {
        /// That there was one (RFC 3168).
        Classic = "classic",
        /// How many there were (RFC 9768).
        Accurate = "accurate",
    }
}

settings! {
    /// Settings of explicit congestion notification.
    pub MarkSettings;
    /// data is sent ECN-capable and marks reduce the window
    ecn: bool = false, "RFC 3168";
    /// what acknowledgements tell of marks: that there was one, or how many
    ecn_feedback: EcnFeedback = Classic, "RFC 3168; RFC 9768";
    /// data that is sent again is ECN-capable too
    ecn_capable_retransmissions: bool = true, "ns-2.35; RFC 3168, section 6.1.5, forbids it";
    /// with ECN, the SYN is ECN-capable too, so that a queue that marks does not drop it; its mark counts for nothing
    ecn_capable_handshake: bool = false,
        "Linux: tcp_ca_needs_ecn; RFC 3168, section 6.1.1, forbids it";
    /// a connection whose SYN is lost goes on without ECN
    ecn_fallback: bool = false, "Linux: tcp_ecn_fallback";
}

/// How marks are told to the sender and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Data is not ECN-capable.
    Off,
    /// The echo of RFC 3168.
    Classic,
    /// The count of RFC 9768.
    Accurate,
    /// The count of RFC 9768, and data is sent as ECT(1) (RFC 9331).
    Scalable,
}

/// Record of what marks have told a sender, and what it says of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    set: MarkSettings,
    /// As long as the connection has not fallen back.
    feedback: Ecn,
    /// The next segment says that the window has been reduced.
    announce_reduction: bool,
    /// Marked segments that the receiver has counted.
    counted: u32,
}

impl Marks {
    pub(crate) fn new(set: MarkSettings, feedback: Ecn) -> Self {
        Self { set, feedback, announce_reduction: false, counted: 0 }
    }

    /// Segments newly known to have arrived marked, or 1 where the classic echo says that some did.
    pub(crate) fn take(&mut self, answer: &Acknowledgement<'_>) -> u32 {
        match self.feedback {
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
    pub(crate) fn label(&self, sequence: u32, again: bool) -> (bool, bool) {
        let capable = self.feedback != Ecn::Off
            && (sequence > 0 || self.set.ecn_capable_handshake)
            && (self.set.ecn_capable_retransmissions || !again);
        (capable, capable && self.feedback == Ecn::Scalable)
    }

    /// The window has been reduced: where the echo is the classic one, the receiver is told.
    pub(crate) fn announce_reduction(&mut self) {
        self.announce_reduction = self.feedback == Ecn::Classic;
    }

    /// Return true if the segment that leaves now tells it.
    pub(crate) fn take_announcement(&mut self) -> bool {
        std::mem::take(&mut self.announce_reduction)
    }

    /// Return true if it asks for marks, and has not given that up.
    pub(crate) fn are_understood(&self) -> bool {
        self.feedback != Ecn::Off
    }

    /// The opening segment was lost: perhaps because of its marks.
    pub(crate) fn fall_back(&mut self) {
        if self.set.ecn_fallback {
            self.feedback = Ecn::Off;
            self.announce_reduction = false;
        }
    }
}
