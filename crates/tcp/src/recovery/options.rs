//! Which recoveries there are, and what they can be told.

use vermilion_parameters::{choices, settings};

choices! {
    /// The published ways of noticing and repairing losses. They combine with every window rule.
    pub Recovery {
        /// A scoreboard of selective acknowledgements and an estimate of what is in the network
        /// (RFC 6675).
        Sack = "sack",
        /// The same, but losses are noticed by time (RFC 8985, RACK-TLP).
        Rack = "rack",
        /// [`Recovery::Sack`] as ns-2 does it (Fall and Floyd 1996).
        Sack1 = "sack1",
        /// Fast recovery until all that was outstanding has been acknowledged (RFC 6582).
        NewReno = "newreno",
        /// The same as Linux does it: a count of duplicates instead of selective acknowledgements.
        LinuxNewReno = "linux-newreno",
        /// Fast recovery that ends with the first acknowledgement of new data (RFC 5681).
        Reno = "reno",
        /// Three duplicate acknowledgements: start over with slow start (V. Jacobson 1988).
        Tahoe = "tahoe",
    }
    row recovery = Sack, "how losses are noticed and repaired",
        "RFC 6675; Linux has rack (RFC 8985)"
}

impl Recovery {
    /// Return true if its receiver reports what arrives beyond a gap.
    pub fn is_selective(self) -> bool {
        matches!(self, Self::Sack | Self::Sack1 | Self::Rack)
    }
}

choices! {
    /// How much may be sent while the window falls over a round trip. ns-3's differs in three things: in what is sent
    /// below the threshold, in that the share above it is not rounded up, and in what the share is of: all that is
    /// outstanding in place of the window.
    pub ReductionBound {
        /// RFC 9937.
        Published = "rfc9937",
        /// ns-3.37: without progress no more than this acknowledgement delivers, whatever is owed. However the window
        /// falls, every acknowledgement of a part of what was outstanding sends a lost segment again, whatever is in the
        /// network, and only what was sent again counts as progress (`TcpSocketBase::ProcessAck`: the branch of partial
        /// acknowledgements, `DoRetransmit`).
        Ns3 = "ns3",
    }
}

choices! {
    /// Rules of the timer and of timeouts during recovery.
    pub RecoveryDialect {
        /// Those of the RFCs.
        Rfc6675 = "rfc6675",
        /// Those of ns-3.37 (`recovery/by_arrivals.rs`).
        Ns3 = "ns3",
    }
}

settings! {
    /// Settings of recoveries. Each takes those that concern it.
    pub RecoverySettings;
    /// the first two duplicate acknowledgements each release a segment
    limited_transmit: bool = true, "RFC 3042";
    /// selective recoveries and linux-newreno: the window falls over one round trip, not at once
    proportional_rate_reduction: bool = false, "RFC 9937";
    /// selective recoveries: what may be sent below the threshold where the window falls over a round trip: as much as
    /// was delivered since the beginning or by this acknowledgement, and one more with progress, or (ns3) as this one
    /// delivers, and one more if it covers what was sent again; and, however the window falls, whether (ns3) each
    /// acknowledgement of a part sends a lost segment again although there is no room
    reduction_bound: ReductionBound = Published,
        "RFC 9937; ns-3.37: tcp-prr-recovery.cc, tcp-socket-base.cc (ProcessAck, DoRetransmit)";
    /// recovery sack: what restarts the timer during recovery, what follows from a repeated timeout, and what its last
    /// repair counts for
    recovery_dialect: RecoveryDialect = Rfc6675, "RFC 6675; ns-3.37: tcp-socket-base.cc";
    /// recovery by time: the end of a flight is probed before the timer expires
    tail_loss_probe: bool = true, "RFC 8985";
}
