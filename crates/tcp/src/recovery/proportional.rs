//! Proportional rate reduction: the window falls to the threshold over one round trip.
//!
//! Source: RFC 9937, as in Linux's `tcp_cwnd_reduction`: above the threshold in proportion to what
//! is delivered; below it as much as is delivered, and one more if an acknowledgement makes
//! progress without new losses. At the end of recovery the window is the threshold.
//!
//! ns-3.37 (`tcp-prr-recovery.cc`) reduces from what is outstanding, not from the window; below the
//! threshold it owes nothing unless something sent again has arrived, and then also what has been
//! sent too much; above it, it counts bytes: a part of a segment is not rounded up to one
//! (`reduction_bound`).

use super::ReductionBound;

/// One episode of reduction.
#[derive(Clone, Copy, Debug)]
pub struct ProportionalReduction {
    /// The window when it began.
    base: f64,
    /// Segments delivered since.
    delivered: u32,
    /// Segments sent since.
    sent: u32,
    bound: ReductionBound,
}

impl ProportionalReduction {
    /// An episode that begins with `base` segments: the window, or what is outstanding (ns-3).
    pub fn new(base: f64, bound: ReductionBound) -> Self {
        Self { base: base.max(1.0), delivered: 0, sent: 0, bound }
    }

    /// A segment is sent.
    pub fn note_sent(&mut self) {
        self.sent += 1;
    }

    /// The window after an acknowledgement that reports `delivered` segments, while `in_network`
    /// are in the network; `progress`: it acknowledges new data and reveals no loss.
    pub fn window(
        &mut self,
        in_network: u32,
        threshold: f64,
        delivered: u32,
        progress: bool,
    ) -> f64 {
        self.delivered += delivered;
        let sendable = if f64::from(in_network) > threshold {
            let share = f64::from(self.delivered) * threshold / self.base;
            let due = match self.bound {
                ReductionBound::Published => share.ceil(),
                ReductionBound::Ns3 => share,
            };
            due - f64::from(self.sent)
        } else {
            let owed = f64::from(self.delivered) - f64::from(self.sent);
            let conserving = match self.bound {
                ReductionBound::Published => owed.max(f64::from(delivered)),
                // The larger of two unsigned numbers: one below zero is the larger one.
                ReductionBound::Ns3 if progress && owed < 0.0 => owed,
                ReductionBound::Ns3 if progress => owed.max(f64::from(delivered)),
                ReductionBound::Ns3 => f64::from(delivered),
            };
            let bound = if progress { conserving + 1.0 } else { conserving };
            bound.min(threshold - f64::from(in_network))
        };
        // The retransmission that begins an episode is always sent.
        let least = if self.sent == 0 { 1.0 } else { 0.0 };
        f64::from(in_network) + sendable.max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_falls_in_proportion_to_what_is_delivered() {
        // RFC 6937, section 3: 20 outstanding, threshold 10: one sent for every two delivered.
        let mut reduction = ProportionalReduction::new(20.0, ReductionBound::Published);
        let mut in_network = 19;
        let mut sent = 0;
        for _ in 0..18 {
            in_network -= 1;
            let window = reduction.window(in_network, 10.0, 1, false);
            while f64::from(in_network) < window {
                in_network += 1;
                sent += 1;
                reduction.note_sent();
            }
        }
        assert!((9..=10).contains(&sent), "{sent}");
        assert_eq!(in_network, 10);
    }

    #[test]
    fn below_the_threshold_as_much_is_sent_as_was_delivered_and_one_more_with_progress() {
        let mut reduction = ProportionalReduction::new(20.0, ReductionBound::Published);
        reduction.note_sent();
        reduction.note_sent();
        // One delivered and two sent: still as much as this acknowledgement delivers.
        assert_eq!(reduction.window(3, 10.0, 1, false), 4.0);
        assert_eq!(reduction.window(3, 10.0, 1, true), 5.0);
        assert_eq!(reduction.window(9, 10.0, 8, true), 10.0); // never beyond the threshold
    }

    #[test]
    fn ns3_counts_bytes_and_takes_back_what_was_sent_too_much() {
        let mut reduction = ProportionalReduction::new(7.0, ReductionBound::Ns3);
        // 3 of 7 delivered, threshold 3.5: one and a half due, one has left.
        reduction.note_sent();
        assert_eq!(reduction.window(6, 3.5, 3, false), 6.5);
        for _ in 0..4 {
            reduction.note_sent();
        }
        // 4 delivered, 5 sent: with progress one more than is owed, which makes none.
        assert_eq!(reduction.window(2, 3.5, 1, true), 2.0);
        assert_eq!(reduction.window(2, 3.5, 0, false), 2.0);
    }
}
