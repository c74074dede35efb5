//! What a receiver can be told.

use vermilion_parameters::{Packets, Seconds, settings};

settings! {
    /// Settings of when the receiver acknowledges: every segment at once, unless acknowledgements are delayed.
    pub ReceiverSettings;
    /// the receiver acknowledges every second segment
    delayed_acknowledgements: bool = false, "RFC 5681; ns-2.35 has false";
    /// longest wait of a delayed acknowledgement
    acknowledgement_delay: Seconds = 0.1 in [1e-6, 0.5], "ns-2.35; Linux has 0.04 s";
    /// delayed acknowledgements: first segments of a connection acknowledged at once
    quick_acknowledgements: Packets<u32> = 0 in [0, 1e6], "Linux has 16";
    /// others at once after a pause, a duplicate or a first mark: 16, 16 and 2
    quick_acknowledgements_renewed: bool = false,
        "Linux: tcp_incr_quickack, tcp_enter_quickack_mode";
    /// the wait for a second segment follows the pauses between segments, from acknowledgement_delay upwards, and ends
    /// on a tick; not where timer_tick is 0
    adaptive_acknowledgement_delay: bool = false,
        "Linux: tcp_event_data_recv, tcp_send_delayed_ack";
    /// while something is missing, the receiver reports three arrivals at once and those after them together: after 5 %
    /// of the round trip, 1 ms at most, or when 44 have waited
    compressed_acknowledgements: bool = false,
        "Linux since 4.18: tcp_comp_sack_delay_ns, tcp_comp_sack_nr";
}
