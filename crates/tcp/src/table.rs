//! The parameters that senders have in common, and tables put together from them.

use vermilion_parameters::Parameter;

use crate::Recovery;
use crate::option_sets::NAMES;

/// Number of parameters that every sender has.
pub const COMMON_COUNT: usize = 39;

/// Differences from sender to sender in the defaults of the common parameters.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// True if data is ECN-capable.
    pub ecn: bool,
    /// How marks are fed back.
    pub ecn_feedback: &'static str,
    /// True if its opening segment is ECN-capable: where queues mark so early that they would drop nearly every
    /// other packet.
    pub ecn_capable_handshake: bool,
    /// True if every acknowledgement times a round trip.
    pub timestamps: bool,
    /// True if segments are spaced.
    pub pacing: bool,
}

/// Defaults of the loss-based senders.
pub const PLAIN: Defaults = Defaults {
    ecn: false,
    ecn_feedback: "classic",
    ecn_capable_handshake: false,
    timestamps: false,
    pacing: false,
};

/// Parameters that every sender has. The defaults are those of ns-2.35, except for the window's cap,
/// which ns-2 sets to 20 segments and everybody raises.
pub const fn common(defaults: Defaults) -> [Parameter; COMMON_COUNT] {
    [
        Parameter::choice("option_set", "own", NAMES)
            .described(
                "whose defaults the other parameters have: those of this table, of ns-2 in 2001, of \
                 ns-2.35, or of Linux",
                "docs/senders.md",
            ),
        Parameter::number("window_cap", "packets", Some(10_000.0), 1.0, 1e6)
            .whole()
            .described("largest window the receiver allows", "ns-2.35 has 20"),
        Parameter::number("initial_window", "packets", Some(2.0), 1.0, 1e4)
            .whole()
            .described(
                "window after the connection is open",
                "ns-2.35 (since 2001); RFC 5681; RFC 6928 has 10",
            ),
        Parameter::number("initial_slow_start_threshold", "packets", None, 2.0, 1e6).described(
            "window at which the first slow start ends; 2: there is none; rules without one ignore it",
            "RFC 5681: arbitrarily high; automatic: the window's cap",
        ),
        Parameter::number("minimum_timeout", "seconds", Some(0.2), 0.0, 60.0)
            .described("least retransmission timeout before backing off", "ns-2.35; RFC 6298 has 1 s"),
        Parameter::choice("timeout_floor", "timeout", &["timeout", "variation"]).described(
            "what the minimum timeout bounds: the timeout, or what is added to the smoothed round trip",
            "RFC 6298 and ns-2.35; Linux has variation",
        ),
        Parameter::choice("timeout_estimator", "rfc6298", &["rfc6298", "linux"]).described(
            "how the timeout follows round trips: as in RFC 6298 and ns-2, or (linux) with a variation that falls once in a \
             round trip, and with no new start after four timeouts in a row",
            "RFC 6298 and ns-2.35; Linux: tcp_rtt_estimator",
        ),
        Parameter::number("initial_timeout", "seconds", Some(3.0), 1e-3, 60.0)
            .described(
                "retransmission timeout before any round trip is known",
                "ns-2.35; RFC 2988; RFC 6298 has 1 s",
            ),
        Parameter::number("maximum_timeout", "seconds", Some(60.0), 1e-3, 3600.0)
            .described("greatest retransmission timeout", "RFC 6298"),
        Parameter::number("clock_tick", "seconds", Some(0.01), 1e-9, 1.0)
            .described("granularity in which round trips are timed", "ns-2.35 (since 2002)"),
        Parameter::number("timer_tick", "seconds", Some(0.0), 0.0, 1.0).described(
            "ticks at which the host's timers expire, on Linux's timer wheel; 0: exactly when due",
            "Linux: 1/HZ, 1 to 10 ms; kernel/time/timer.c",
        ),
        Parameter::switch("shared_clock", false).described(
            "the clock of the sender's host is that of all others that share one: their timers expire together",
            "flows of one Linux host",
        ),
        Parameter::switch("timestamps", defaults.timestamps).described(
            "every acknowledgement of new data times a round trip, not only one in each",
            "RFC 7323",
        ),
        Parameter::choice("loss_window", "congestion-window", &["congestion-window", "flight-size", "pipe"])
            .described(
                "what is reduced when a loss is noticed: the window, or what is really outstanding",
                "ns-2.35; RFC 5681 has the flight size",
            ),
        Parameter::switch("byte_counting", false).described(
            "the window grows by the segments acknowledged, not by one for each acknowledgement",
            "RFC 3465",
        ),
        Parameter::switch("cumulative_counting", false).described(
            "byte counting: all that an acknowledgement covers counts, reported before or not, and what \
             has been counted survives a reduction of the window",
            "ns-3.37: TcpLinuxReno",
        ),
        Parameter::number("linear_increase", "packets", Some(1.0), 0.0, 1e3).above_minimum().described(
            "by how much the window grows in a round trip of congestion avoidance; of CUBIC what Reno \
             would; rules of other kinds and the dialect linux ignore it",
            "RFC 5681: 1; AIMD(a, b): Floyd, Handley and Padhye 2000",
        ),
        Parameter::switch("limited_transmit", true)
            .described("the first two duplicate acknowledgements each release a segment", "RFC 3042"),
        Parameter::switch("proportional_rate_reduction", false).described(
            "selective recoveries and linux-newreno: the window falls over one round trip, not at once",
            "RFC 9937",
        ),
        Parameter::choice("reduction_bound", "rfc9937", &["rfc9937", "ns3"]).described(
            "selective recoveries: what may be sent below the threshold where the window falls over a round trip: as much as was \
             delivered since the beginning or by this acknowledgement, and one more with progress, or (ns3) as this \
             one delivers, and one more if it covers what was sent again; and, however the window falls, whether \
             (ns3) each acknowledgement of a part sends a lost segment again although there is no room",
            "RFC 9937; ns-3.37: tcp-prr-recovery.cc, tcp-socket-base.cc (ProcessAck, DoRetransmit)",
        ),
        Parameter::choice("recovery_dialect", "rfc6675", &["rfc6675", "ns3"]).described(
            "recovery sack: what restarts the timer during recovery, what follows from a repeated \
             timeout, and what its last repair counts for",
            "RFC 6675; ns-3.37: tcp-socket-base.cc",
        ),
        Parameter::switch("tail_loss_probe", true).described(
            "recovery by time: the end of a flight is probed before the timer expires",
            "RFC 8985",
        ),
        Parameter::switch("pacing", defaults.pacing)
            .described("segments are spaced over the round trip", "Linux, fq"),
        Parameter::switch("segmentation_offload", false).described(
            "recovery by time: segments leave in bursts of what a millisecond carries, at least two; less waits for the next \
             acknowledgement if that is near; with pacing bursts are spaced",
            "Linux: tcp_tso_should_defer",
        ),
        Parameter::switch("window_validation", false).described(
            "only a window that is used grows, and one that is not used for a timeout shrinks",
            "RFC 7661, RFC 2861; Linux: tcp_cwnd_validate",
        ),
        Parameter::switch("ecn", defaults.ecn)
            .described("data is sent ECN-capable and marks reduce the window", "RFC 3168"),
        Parameter::choice("ecn_feedback", defaults.ecn_feedback, &["classic", "accurate"])
            .described(
                "what acknowledgements tell of marks: that there was one, or how many",
                "RFC 3168; RFC 9768",
            ),
        Parameter::switch("ecn_capable_retransmissions", true).described(
            "data that is sent again is ECN-capable too",
            "ns-2.35; RFC 3168, section 6.1.5, forbids it",
        ),
        Parameter::switch("ecn_capable_handshake", defaults.ecn_capable_handshake).described(
            "with ECN, the SYN is ECN-capable too, so that a queue that marks does not drop it; its mark counts for nothing",
            "Linux: tcp_ca_needs_ecn; RFC 3168, section 6.1.1, forbids it",
        ),
        Parameter::switch("ecn_fallback", false)
            .described("a connection whose SYN is lost goes on without ECN", "Linux: tcp_ecn_fallback"),
        Parameter::switch("handshake", true)
            .described("a 40-byte exchange (SYN) precedes the data", "ns-2.35: syn_"),
        Parameter::choice("handshake_loss", "timeout", &["timeout", "rfc5681", "linux"]).described(
            "what follows from a lost SYN: the same as from any timeout, so that slow start ends at two segments, or \
             (rfc5681) a connection that opens with one segment, or (linux) the same from the second lost SYN on",
            "ns-2.35: TcpAgent::timeout; RFC 5681, section 3.1; Linux: tcp_init_transfer, tcp_init_metrics",
        ),
        Parameter::number("linear_handshake_timeouts", "1", Some(0.0), 0.0, 200.0)
            .whole()
            .described(
                "times that the SYN is sent again before the timer backs off",
                "Linux: tcp_syn_linear_timeouts",
            ),
        Parameter::switch("delayed_acknowledgements", false)
            .described("the receiver acknowledges every second segment", "RFC 5681; ns-2.35 has false"),
        Parameter::number("acknowledgement_delay", "seconds", Some(0.1), 1e-6, 0.5)
            .described("longest wait of a delayed acknowledgement", "ns-2.35; Linux has 0.04 s"),
        Parameter::number("quick_acknowledgements", "packets", Some(0.0), 0.0, 1e6)
            .whole()
            .described(
                "delayed acknowledgements: first segments of a connection acknowledged at once",
                "Linux has 16",
            ),
        Parameter::switch("quick_acknowledgements_renewed", false).described(
            "others at once after a pause, a duplicate or a first mark: 16, 16 and 2",
            "Linux: tcp_incr_quickack, tcp_enter_quickack_mode",
        ),
        Parameter::switch("adaptive_acknowledgement_delay", false).described(
            "the wait for a second segment follows the pauses between segments, from \
             acknowledgement_delay upwards, and ends on a tick; not where timer_tick is 0",
            "Linux: tcp_event_data_recv, tcp_send_delayed_ack",
        ),
        Parameter::switch("compressed_acknowledgements", false).described(
            "while something is missing, the receiver reports three arrivals at once and those after them together: \
             after 5 % of the round trip, 1 ms at most, or when 44 have waited",
            "Linux since 4.18: tcp_comp_sack_delay_ns, tcp_comp_sack_nr",
        ),
    ]
}

/// The choice of a recovery, for the senders that are named after their window rule.
pub const RECOVERY: [Parameter; 1] = [Parameter::choice("recovery", "sack", Recovery::CHOICES)
    .described("how losses are noticed and repaired", "RFC 6675; Linux has rack (RFC 8985)")];

/// Number of parameters of a sender that is named after its window rule, besides the rule's own.
pub const RULED_COUNT: usize = COMMON_COUNT + RECOVERY.len();

/// The common parameters and the choice of a recovery.
pub const fn ruled(defaults: Defaults) -> [Parameter; RULED_COUNT] {
    join(common(defaults), RECOVERY)
}

/// A table of all rows of `first`, then those of `second`.
pub const fn join<const A: usize, const B: usize, const N: usize>(
    first: [Parameter; A],
    second: [Parameter; B],
) -> [Parameter; N] {
    assert!(A + B == N, "the length must be the sum");
    let mut table = [first[0]; N];
    let mut index = 0;
    while index < N {
        table[index] = if index < A { first[index] } else { second[index - A] };
        index += 1;
    }
    table
}
