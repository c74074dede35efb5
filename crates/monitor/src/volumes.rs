//! What each flow sent, stretch by stretch of the packets' time.

use std::collections::HashMap;

use crate::flows::Flow;
use crate::listener::Listener;

/// Traffic that one end of a flow sent within a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// The stretch's number: the time of its packets, divided by its length.
    pub stretch: u64,
    /// The flow's number.
    pub flow: u64,
    /// True if its initiator sent it.
    pub from_initiator: bool,
    /// Packets, as many as the link carried at least.
    pub packets: u64,
    /// Their bytes from the IP header on.
    pub bytes: u64,
}

/// Adds up what each end of each flow sends.
///
/// Memory grows with the flows that send in a stretch, and with the stretches that nobody has taken.
pub struct Volumes {
    length_ns: u64,
    stretch: u64,
    rows: HashMap<(u64, bool), (u64, u64)>,
    done: Vec<Volume>,
}

impl Volumes {
    /// Of stretches of so many nanoseconds; 0 is taken for 1.
    pub fn new(length_ns: u64) -> Self {
        Self { length_ns: length_ns.max(1), stretch: 0, rows: HashMap::new(), done: Vec::new() }
    }

    /// Sums since the last call, by stretch, flow and end. With `all` that of the
    /// present stretch too, which may go on in the next answer.
    pub fn take(&mut self, all: bool) -> Vec<Volume> {
        if all {
            self.close();
        }
        std::mem::take(&mut self.done)
    }

    fn close(&mut self) {
        let before = self.done.len();
        let stretch = self.stretch;
        self.done.extend(self.rows.drain().map(|((flow, from_initiator), (packets, bytes))| {
            Volume { stretch, flow, from_initiator, packets, bytes }
        }));
        self.done[before..].sort_unstable_by_key(|row| (row.flow, row.from_initiator));
    }
}

impl Listener for Volumes {
    fn packet(&mut self, flow: &Flow, from_initiator: bool, packets: u32, bytes: u32) {
        let stretch = flow.last / self.length_ns;
        if stretch != self.stretch {
            self.close();
            self.stretch = stretch;
        }
        let row = self.rows.entry((flow.number, from_initiator)).or_default();
        row.0 += u64::from(packets);
        row.1 += u64::from(bytes);
    }
}
