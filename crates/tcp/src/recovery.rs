//! How losses are noticed and repaired.

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

    /// Whether what to send is a matter of sequence numbers alone while nothing is missing.
    #[must_use]
    pub fn is_in_order(self) -> bool {
        matches!(self, Self::Tahoe | Self::Reno | Self::NewReno)
    }

    /// Whether it reads selective acknowledgements.
    #[must_use]
    pub fn is_selective(self) -> bool {
        matches!(self, Self::Sack | Self::Sack1 | Self::Rack)
    }
}
