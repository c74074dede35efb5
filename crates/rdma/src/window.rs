use vermilion_parameters::{Bytes, choices, settings};

use crate::Nic;

choices! {
    /// Limit on the bytes in flight.
    pub WindowKind {
        /// None: the rate alone counts.
        None = "none",
        /// The same whatever the rate.
        Fixed = "fixed",
        /// In proportion to the rate.
        Variable = "variable"
    }
}

settings! {
    /// The window that is laid over a rate.
    pub WindowSettings;
    /// limit on the bytes in flight
    window: WindowKind = None, "DCQCN as published has none; HPCC's authors call DCQCN with a variable one DCQCN+win";
    /// bytes in flight at line rate; automatic: line rate x largest empty round trip
    window_bytes: Option<Bytes> = automatic in [1, 1e12], "HPCC's simulator: HAS_WIN, GLOBAL_T";
}

/// A limit on the bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    kind: WindowKind,
    bytes: f64,
    line_rate: f64,
}

impl Window {
    /// The window of these settings.
    #[must_use]
    pub fn new(set: WindowSettings, nic: Nic) -> Self {
        let bytes = set.window_bytes.map_or(nic.bandwidth_delay_product() as f64, |bytes| bytes.0);
        Self { kind: set.window, bytes, line_rate: nic.line_rate }
    }

    /// Bytes in flight at a rate; at least 1, as at least one packet is always allowed.
    #[inline]
    #[must_use]
    pub fn at(&self, rate: f64) -> u64 {
        match self.kind {
            WindowKind::None => u64::MAX,
            WindowKind::Fixed => self.bytes as u64,
            WindowKind::Variable => ((self.bytes * rate / self.line_rate) as u64).max(1),
        }
    }

    /// True if there is a limit at all.
    #[must_use]
    pub fn limits(&self) -> bool {
        self.kind != WindowKind::None
    }
}
