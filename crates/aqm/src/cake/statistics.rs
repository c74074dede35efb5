//! What CAKE tells of itself, in the kernel's words.

/// Figures of one tin, as `tc -s qdisc` shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CakeTinStatistics {
    /// Rate within which it goes before tins of a lower number, in bytes per second; 0 without a rate.
    pub threshold_rate: u64,
    /// COBALT's target in nanoseconds.
    pub target_ns: u64,
    /// COBALT's interval in nanoseconds.
    pub interval_ns: u64,
    /// Bytes that a flow alone at its hosts may send in a turn.
    pub flow_quantum: u32,
    /// Packets that have come, those among them that are dropped later.
    pub sent_packets: u64,
    /// Bytes of these.
    pub sent_bytes: u64,
    /// Packets that COBALT or a full buffer have dropped.
    pub drops: u64,
    /// Packets marked.
    pub ecn_mark: u64,
    /// Acknowledgements that the filter has taken away.
    pub ack_drops: u64,
    /// Moving average of the sojourn times of packets sent, in nanoseconds.
    pub avg_delay_ns: u64,
    /// The same, quick to rise.
    pub peak_delay_ns: u64,
    /// The same, quick to fall.
    pub base_delay_ns: u64,
    /// Flows that were found in another place than their first.
    pub way_indirect_hits: u64,
    /// Flows that got a free place.
    pub way_misses: u64,
    /// Flows that found no free place.
    pub way_collisions: u64,
    /// Flows that send no more than a quantum at a time.
    pub sparse_flows: u32,
    /// Flows with a queue that stands.
    pub bulk_flows: u32,
    /// Empty flows of which COBALT still knows something.
    pub decaying_flows: u32,
    /// Flows of which BLUE drops packets.
    pub unresponsive_flows: u32,
}

impl CakeTinStatistics {
    /// A packet is sent that has waited for `delay` nanoseconds.
    #[inline]
    pub(crate) fn note_delay(&mut self, delay: u64) {
        let rises = delay > self.peak_delay_ns;
        let falls = delay < self.base_delay_ns;
        averaged(&mut self.avg_delay_ns, delay, 8);
        averaged(&mut self.peak_delay_ns, delay, if rises { 2 } else { 8 });
        averaged(&mut self.base_delay_ns, delay, if falls { 2 } else { 8 });
    }
}

/// One step of a moving average with the weight 2^-shift.
#[inline]
fn averaged(average: &mut u64, sample: u64, shift: u32) {
    *average = *average - (*average >> shift) + (sample >> shift);
}
