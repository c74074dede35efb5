//! Which recoveries there are, and what they can be told.

/// The published ways of noticing and repairing losses. They combine with every window rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Three duplicate acknowledgements: start over with slow start (V. Jacobson 1988).
    Tahoe,
    /// Fast recovery that ends with the first acknowledgement of new data (RFC 5681).
    Reno,
    /// Fast recovery until all that was outstanding has been acknowledged (RFC 6582).
    NewReno,
    /// The same as Linux does it: a count of duplicates instead of selective acknowledgements.
    LinuxNewReno,
    /// A scoreboard of selective acknowledgements and an estimate of what is in the network
    /// (RFC 6675).
    Sack,
    /// The same as ns-2 does it (Fall and Floyd 1996).
    Sack1,
    /// As [`Recovery::Sack`], but losses are noticed by time (RFC 8985, RACK-TLP).
    Rack,
}

impl Recovery {
    /// The names of those that can be chosen for a window rule of their own.
    pub const CHOICES: &'static [&'static str] =
        &["sack", "rack", "sack1", "newreno", "linux-newreno", "reno", "tahoe"];

    /// The recovery of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "tahoe" => Self::Tahoe,
            "reno" => Self::Reno,
            "newreno" => Self::NewReno,
            "linux-newreno" => Self::LinuxNewReno,
            "sack" => Self::Sack,
            "sack1" => Self::Sack1,
            "rack" => Self::Rack,
            _ => return None,
        })
    }

    /// The same as Linux has it.
    #[must_use]
    pub fn of_linux(self) -> Self {
        match self {
            Self::NewReno => Self::LinuxNewReno,
            other => other,
        }
    }

    /// Return true if its receiver reports what arrives beyond a gap.
    #[must_use]
    pub fn is_selective(self) -> bool {
        matches!(self, Self::Sack | Self::Sack1 | Self::Rack)
    }
}

/// How much may be sent while the window falls over a round trip. ns-3's differs in three things: in what is sent
/// below the threshold, in that the share above it is not rounded up, and in what the share is of: all that is
/// outstanding in place of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionBound {
    /// RFC 9937.
    Published,
    /// ns-3.37: without progress no more than this acknowledgement delivers, whatever is owed.
    Ns3,
}

/// A recovery and its options. Each takes those that concern it.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryOptions {
    /// Which recovery.
    pub kind: Recovery,
    /// True if the first two duplicate acknowledgements release a segment each.
    pub limited_transmit: bool,
    /// True if all that an acknowledgement covers counts, also what had been reported before.
    pub cumulative_counting: bool,
    /// Way in which the window falls over a round trip (RFC 9937); `None`: it falls at once.
    pub proportional_rate_reduction: Option<ReductionBound>,
    /// True if every acknowledgement of a part of what was outstanding sends a lost segment again,
    /// whatever is in the network, and only what was sent again counts as progress (ns-3.37,
    /// `TcpSocketBase::ProcessAck`: the branch of partial acknowledgements, `DoRetransmit`).
    pub repairs_with_partial_acknowledgements: bool,
    /// True if timer and timeouts have the rules of ns-3 (`recovery/by_arrivals.rs`).
    pub timeouts_of_ns3: bool,
    /// True if the end of a flight is probed before the timer expires (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// True if segments leave in bursts that are worth it (`sender/segmentation.rs`).
    pub segmentation_offload: bool,
}
