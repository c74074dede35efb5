//! What a window rule is: how the window grows, and what it becomes at a sign of congestion.
//!
//! A rule is told what the sender has learned ([`Acknowledged`]) and sets the [`Window`]. It knows
//! neither sequence numbers nor how losses are found and repaired: that is [`crate::Recovery`]. A rule
//! whose window must not be halved by the sender (BBR) says so with
//! [`WindowRule::governs_window`], and is then asked on every acknowledgement.

use vermilion_parameters::{Packets, choices, settings};

use crate::Window;
use crate::delivery_rate::RateSample;

choices! {
    /// Quantity reduced when a loss is noticed.
    pub LossWindow {
        /// The congestion window (ns-2).
        CongestionWindow = "congestion-window",
        /// Segments outstanding (RFC 5681, equation 4).
        FlightSize = "flight-size",
        /// Segments outstanding and neither reported nor lost (RFC 6675's pipe, as ns-3 has it).
        Pipe = "pipe",
    }
}

settings! {
    /// Settings of what a window is reduced from and grows by, whatever its rule.
    pub GrowthSettings;
    /// what is reduced when a loss is noticed: the window, or what is really outstanding
    loss_window: LossWindow = CongestionWindow, "ns-2.35; RFC 5681 has the flight size";
    /// the window grows by the segments acknowledged, not by one for each acknowledgement
    byte_counting: bool = false, "RFC 3465";
    /// byte counting: all that an acknowledgement covers counts, reported before or not, and what has been counted
    /// survives a reduction of the window
    cumulative_counting: bool = false, "ns-3.37: TcpLinuxReno";
    /// by how much the window grows in a round trip of congestion avoidance; of CUBIC what Reno would; rules of other
    /// kinds and the dialect linux ignore it
    linear_increase: Packets = 1 in [> 0, 1e3],
        "RFC 5681: 1; AIMD(a, b): Floyd, Handley and Padhye 2000";
}

/// News that an acknowledgement told, in segments and nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// Now.
    pub now: u64,
    /// Segments newly known to have arrived, by cumulative or selective acknowledgement.
    pub delivered: u32,
    /// Segments by which the growth rules count: those delivered, or 1 for each acknowledgement
    /// where the sender does not count bytes (RFC 3465).
    pub counted: f64,
    /// Of the delivered ones, those that arrived marked (accurate feedback only).
    pub marked: u32,
    /// The round trip just timed.
    pub round_trip: Option<u64>,
    /// How long the segment that made the receiver answer was on its way, by two clocks that nobody has
    /// set alike: only differences tell something.
    pub forward_delay: Option<u64>,
    /// The smoothed round trip; `None` before the first sample.
    pub smoothed_round_trip: Option<u64>,
    /// First segment not acknowledged, after this acknowledgement.
    pub unacknowledged: u32,
    /// First segment never sent.
    pub highest: u32,
    /// Segments in the network, for rules that govern the window; for others all that were sent and are not
    /// acknowledged.
    pub in_network: u32,
    /// True if lost segments are being repaired: only rules that govern the window are asked then (and told of the
    /// repairs after a timeout too), and those that answer marks.
    pub in_recovery: bool,
    /// Segments newly taken for lost.
    pub lost: u32,
    /// Delivery rate, for rules that want it.
    pub rate: Option<RateSample>,
}

/// A sign of congestion that reduces the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A loss noticed without waiting for the timer: once per window.
    Loss,
    /// A mark, answered once per window.
    Mark,
    /// The retransmission timer expired.
    Timeout,
}

/// How a window grows and shrinks.
pub trait WindowRule: std::fmt::Debug {
    /// An acknowledgement of new data has arrived: grow.
    fn grow(&mut self, event: &Acknowledged, window: &mut Window);

    /// The slow start threshold that follows `sign`, for `base` segments: the window, or what is
    /// outstanding. The sender sets the window to it, at once or over a round trip. After a timeout the window is one segment
    /// more than what is still in the network, as a rule one. Not less than two segments is used.
    fn reduced(&mut self, now: u64, sign: Congestion, base: f64, window: &Window) -> f64;

    /// The retransmission timer has expired. It is told so after [`WindowRule::reduced`], and also where the window has
    /// been reduced for the same losses before, so that it is not reduced again.
    fn timed_out(&mut self, _now: u64) {}

    /// Return true if every mark is answered by [`WindowRule::grow`] itself instead of once per window.
    fn answers_marks(&self) -> bool {
        false
    }

    /// Return true if [`Acknowledged::forward_delay`] is asked for: others are not always told. It is asked at the start.
    fn reads_forward_delay(&self) -> bool {
        false
    }

    /// Return true if the rule alone sets the window, also during recovery.
    fn governs_window(&self) -> bool {
        false
    }

    /// A paced segment leaves at `now`, and the rate has the next one `wait` nanoseconds later. How much later the rule has
    /// it, and how many may leave at once after this one.
    fn space(&mut self, _now: u64, wait: u64) -> (u64, u32) {
        (wait, 0)
    }

    /// Segments per second at which to send, for rules that pace by themselves.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Return true if [`WindowRule::on_sent`] and [`WindowRule::deadline`] mean anything. It is asked at the start, so that
    /// other rules cost nothing more for a segment.
    fn has_hooks(&self) -> bool {
        false
    }

    /// Segment `sequence` leaves at `now`, and not for the first time if `again`.
    fn on_sent(&mut self, _now: u64, _sequence: u32, _again: bool, _window: &mut Window) {}

    /// When [`WindowRule::on_timer`] wants to be called; `u64::MAX` for never.
    fn deadline(&self) -> u64 {
        u64::MAX
    }

    /// The deadline has come; the next one is later than `now`.
    fn on_timer(&mut self, _now: u64, _window: &mut Window) {}

    /// Return true if its packets carry headers: numbers that queues may change and receivers return. It is asked before
    /// the start.
    fn writes_headers(&self) -> bool {
        false
    }

    /// Header of the segment that has just left; `None` if it carries none.
    fn take_header(&mut self) -> Option<Header> {
        None
    }

    /// Header that the next acknowledgement returns: of the last segment that its receiver had got.
    fn read_header(&mut self, _header: Header) {}
}

/// Numbers that a packet carries from its sender through queues to its receiver, which returns them.
pub type Header = [f64; 4];

/// Round trips, for rules that do something once in each: one is over when something is acknowledged that was sent
/// after its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    end: u32,
}

impl Rounds {
    /// Return true if this acknowledgement ends one, and the next begins.
    #[inline]
    pub fn is_over(&mut self, event: &Acknowledged) -> bool {
        let is_over = event.unacknowledged > self.end;
        if is_over {
            self.end = event.highest;
        }
        is_over
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An acknowledgement of `counted` segments that tells nothing else.
    pub fn acknowledged(counted: u32) -> Acknowledged {
        Acknowledged {
            now: 0,
            delivered: counted,
            counted: f64::from(counted),
            marked: 0,
            round_trip: None,
            forward_delay: None,
            smoothed_round_trip: None,
            unacknowledged: 0,
            highest: 0,
            in_network: 0,
            in_recovery: false,
            lost: 0,
            rate: None,
        }
    }

    pub fn window(congestion: f64, slow_start_threshold: f64) -> Window {
        Window { congestion, slow_start_threshold, cap: 1e6 }
    }

    pub const MILLISECOND: u64 = 1_000_000;

    /// A path of 100 segments per second and 100 ms, always ten segments in the network: what the
    /// acknowledgement of segment `delivered` tells.
    pub fn steady(delivered: u64) -> Acknowledged {
        Acknowledged {
            now: (100 + 10 * delivered) * MILLISECOND,
            round_trip: Some(100 * MILLISECOND),
            unacknowledged: 100,
            in_network: 9,
            rate: Some(RateSample {
                rate: Some(100.0),
                delivered,
                prior_delivered: delivered.saturating_sub(10),
                lost: 0,
                all_lost: 0,
                age: 100 * MILLISECOND,
                sent_in_network: 10,
                application_limited: false,
                loss: None,
            }),
            ..acknowledged(1)
        }
    }

    /// A rule after `segments` acknowledgements of that path, with a window of ten at first.
    pub fn driven<R: WindowRule>(mut rule: R, segments: u64) -> (R, Window) {
        let mut window = window(10.0, 1e6);
        for delivered in 1..=segments {
            rule.grow(&steady(delivered), &mut window);
        }
        (rule, window)
    }
}
