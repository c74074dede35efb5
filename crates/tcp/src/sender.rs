//! The sender: sequence numbers, what may be sent when, the retransmission timer.
//!
//! Source: RFC 5681 (slow start, congestion avoidance, fast retransmit), RFC 3042 (limited
//! transmit), RFC 3168, section 6.1.2 (one response to marks per window), with the order of steps
//! of ns-2.35 `tcp.cc` where the RFCs leave it open and outcomes depend on it:
//!
//! 1. What was outstanding at the last reduction must be fully acknowledged before another fast
//!    retransmit ("bugfix").
//! 2. Without selective acknowledgements sending resumes right behind the last acknowledged
//!    segment after a timeout (go-back-N).
//! 3. The window's fractional part survives halving, but where windows count segments (RFC 3465) and are whole; the
//!    slow start threshold is rounded down.
//! 4. A response to a mark counts as the window's one reduction: a loss in the same window is
//!    repaired without a further one.
//!
//! The sender is put together from a [`Flight`], which knows the sequence numbers, the window and its
//! rule, the timer (`timer.rs`) and what marks say (`marks.rs`), from a recovery, which says what is missing
//! and what goes next (`recovery.rs`), and from pacing (`pacing.rs`). Windows that are not used are the matter of
//! `validation.rs`.

pub(crate) mod departures;
pub(crate) mod flight;
mod mark_response;
mod marks;
mod options;
mod pacing;
mod plain;
pub(crate) mod segmentation;
#[cfg(test)]
mod short_way;
pub(crate) mod state;
pub(crate) mod timer;
mod validation;
mod window_use;

use crate::recovery::AnyRecovery;
use crate::rule::{Congestion, Header, WindowRule};
use crate::rules::Additive;
use crate::{Acknowledgement, HostClock, Segment};
use flight::Flight;
pub use marks::{Ecn, EcnFeedback, MarkSettings};
pub use options::{
    CommonSettings, HandshakeLoss, HandshakeSettings, SenderOptions, SendingSettings,
};
use pacing::Pacing;
pub use state::{Counters, SenderState};
use state::{Load, Reduction};
use window_use::WindowUse;

/// One flow's sender.
#[derive(Clone, Debug)]
pub struct Sender {
    flight: Flight,
    pacing: Pacing,
    /// Made at the start; before and after there is nothing to repair.
    recovery: AnyRecovery,
}

impl Sender {
    /// A sender with endless data that has not begun. `clock_phase`: see
    /// [`RoundTripEstimator`](crate::RoundTripEstimator).
    #[inline(always)] // see `Profile::ends`
    #[must_use]
    pub fn new(options: &SenderOptions, clock_phase: u64) -> Self {
        Self {
            flight: Flight::new(options, clock_phase),
            pacing: Pacing::new(options.common.sending.pacing),
            recovery: AnyRecovery::idle(),
        }
    }

    /// The connection begins: segments may be asked for. `options` are those it was made with. What only
    /// a connection under way needs is made here: many flows of a large run wait for theirs.
    pub fn start(&mut self, options: &SenderOptions) {
        let governs = options.rule.governs_window();
        let flight = &mut self.flight;
        flight.allowance = u32::MAX;
        flight.rule = options.rule.clone();
        let validates = options.common.sending.window_validation && !governs;
        flight.window_use = validates.then(Box::<WindowUse>::default);
        flight.has_hooks = options.rule.has_hooks();
        flight.tells_of_sending = validates || flight.has_hooks;
        self.recovery = AnyRecovery::new(options, flight.unacknowledged);
        flight.whole = self.recovery.begins_whole();
        flight.note_options(options);
    }

    /// There are `segments` data segments to send in all; to be called before the start.
    pub fn limit_to(&mut self, segments: u32) {
        // Segment 0 opens the connection.
        self.flight.available = segments.saturating_add(1);
    }

    /// There are `segments` more to send from `now` on, for a sender that has been limited. If nothing was
    /// outstanding, a window that was not used for longer than a timeout is reduced (RFC 2861). The traffic of the
    /// simulator has nothing that pauses and goes on, so only who embeds a sender asks for it.
    pub fn supply(&mut self, now: u64, segments: u32) {
        self.flight.available = self.flight.available.saturating_add(segments);
        if self.flight.outstanding() == 0 {
            self.flight.restart_after_idle(now);
        }
    }

    /// No new data from now on; what is outstanding is still repaired.
    pub fn stop(&mut self) {
        self.flight.available = self.flight.highest;
        if self.finished() {
            self.flight.timer.deadline = u64::MAX; // a mark may have silenced it with nothing outstanding
        }
    }

    /// Return true if everything there was to send has been acknowledged.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.flight.unacknowledged >= self.flight.available
    }

    /// Gives back the memory of what only a connection needs that still has something to send. For one
    /// that has [finished](Self::finished); what is counted stays.
    pub fn retire(&mut self) {
        self.recovery = AnyRecovery::idle();
        self.flight.whole = true;
        self.flight.is_plain = false;
        self.flight.window_use = None;
        (self.flight.has_hooks, self.flight.tells_of_sending) = (false, false);
        self.flight.rule = Additive::default().into();
        self.pacing.release = 0;
    }

    /// When [`Sender::on_timer`] wants to be called; `u64::MAX` for never.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> u64 {
        let deadline = self.flight.timer.deadline.min(self.recovery.deadline());
        if self.flight.has_hooks { deadline.min(self.flight.rule.deadline()) } else { deadline }
    }

    /// When the next segment may leave that only pacing holds, in nanoseconds; 0 if none is held.
    #[inline]
    #[must_use]
    pub fn release(&self) -> u64 {
        self.pacing.release
    }

    /// Timeouts and retransmissions so far.
    #[inline]
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.flight.counters
    }

    /// Congestion window in segments.
    #[must_use]
    pub fn window(&self) -> f64 {
        self.flight.window.congestion
    }

    /// Slow start threshold in segments.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.flight.window.slow_start_threshold
    }

    /// Return true if what it sends may be marked instead of dropped, but for segments sent again.
    #[must_use]
    pub fn is_ecn_capable(&self) -> bool {
        self.flight.marks.are_understood()
    }

    /// Segments in the network, as the recovery counts them.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.recovery.in_network(&self.flight)
    }

    /// Segments sent and not acknowledged, whatever has become of them.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.flight.flight_size()
    }

    /// Segments that have arrived beyond the first one missing, as far as the sender knows.
    #[must_use]
    pub fn sacked(&self) -> u32 {
        self.recovery.sacked(&self.flight)
    }

    /// Segments that are taken for lost and have not arrived since.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.recovery.lost(&self.flight)
    }

    /// State of the sender.
    #[must_use]
    pub fn state(&self) -> SenderState {
        self.recovery.state(&self.flight)
    }

    /// First segment not yet acknowledged.
    #[inline]
    #[must_use]
    pub fn unacknowledged(&self) -> u32 {
        self.flight.unacknowledged
    }

    /// The round trip timed by the last acknowledgement, in nanoseconds, unless somebody has taken it since.
    #[inline]
    pub fn take_last_round_trip(&mut self) -> Option<u64> {
        self.flight.timer.take_last_round_trip()
    }

    /// The smoothed round trip, in nanoseconds; `None` before the first sample.
    #[must_use]
    pub fn smoothed_round_trip(&self) -> Option<u64> {
        self.flight.timer.estimator.smoothed()
    }

    /// The clock of its host.
    #[inline]
    #[must_use]
    pub fn clock(&self) -> &HostClock {
        self.flight.timer.estimator.clock()
    }

    /// Segments per second at which it spaces them; `None` where it does not, or not yet.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<f64> {
        self.pacing.rate(&self.flight)
    }

    /// The next segment that may be sent at `now`, or `None` when it is time to wait.
    #[inline]
    pub fn next_segment(&mut self, now: u64) -> Option<Segment> {
        let sequence = self.next_sequence(now)?;
        Some(self.send(sequence, now))
    }

    /// The number of that segment, which has to be [sent](Self::send) then.
    #[inline(always)] // asked twice for every packet
    pub fn next_sequence(&mut self, now: u64) -> Option<u32> {
        let chosen = self.choose(now);
        if chosen.is_none() {
            self.pacing.end_burst();
            self.note_use(now);
        }
        chosen
    }

    #[inline(always)]
    fn choose(&mut self, now: u64) -> Option<u32> {
        if self.pacing.holds(now) {
            return None;
        }
        let flight = &mut self.flight;
        if let Some(sequence) = flight.repair {
            flight.repair = None; // not taken: that would write it each time
            // It may have been acknowledged while something else held it.
            if sequence >= flight.unacknowledged {
                return Some(sequence);
            }
        }
        if flight.whole { flight.choose_in_order() } else { self.recovery.choose(flight, now) }
    }

    /// Segment `sequence` has left at `now`: when the next one may.
    #[inline] // for every segment of who spaces them
    fn space(&mut self, now: u64, sequence: u32, again: bool) {
        let flight = &mut self.flight;
        let Some(wait) = pacing::wait(flight) else { return };
        if self.recovery.makes_bursts() {
            return self.space_bursts(now, sequence, again, wait);
        }
        let (wait, further) = flight.rule.space(now, wait);
        self.pacing.hold(now + wait, further);
    }

    /// The same where segments leave in bursts.
    #[inline(never)] // much code, for few of those who space
    fn space_bursts(&mut self, now: u64, sequence: u32, again: bool, wait: u64) {
        let Some((segmentation, shortest)) = self.recovery.segmentation() else { return };
        let wait = segmentation.space(now, wait);
        let further =
            if again { 0 } else { segmentation.further(&self.flight, now, sequence, shortest) };
        self.pacing.hold(now + wait, further);
    }

    /// No more may leave at `now`: how much of the window is used?
    #[inline(always)] // for every acknowledgement, and few senders want to know
    fn note_use(&mut self, now: u64) {
        if self.flight.window_use.is_some() {
            self.note_use_of_window(now);
        }
    }

    #[inline(never)]
    fn note_use_of_window(&mut self, now: u64) {
        let flight = &self.flight;
        if flight.has_new_data() && flight.allowance > 0 && self.pacing.release <= now {
            // It can only be the window that holds what there is.
            self.flight.note_full_window(now);
        } else {
            self.note_part_of_window(now);
        }
    }

    #[inline(never)]
    fn note_part_of_window(&mut self, now: u64) {
        let in_network = self.recovery.in_network(&self.flight);
        self.flight.note_use_of_window(now, in_network, self.recovery.is_repairing());
    }

    /// Take an acknowledgement that has arrived at `now`. One of what has not been sent changes nothing (RFC 9293,
    /// section 3.10.7.4), and blocks that cannot be are passed over (Linux: `tcp_is_sackblock_valid`).
    #[inline(always)] // every packet of data: so it need not be written to memory as a rule
    pub fn on_acknowledgement(&mut self, now: u64, answer: &Acknowledgement<'_>) {
        let flight = &mut self.flight;
        flight.timer.forget_last_round_trip();
        if answer.next_expected > flight.highest {
            return;
        }
        flight.forward_delay = answer.forward_delay;
        let marked = flight.marks.take(answer);
        let plain = answer.blocks.is_empty() && marked == 0;
        if flight.whole && plain && answer.next_expected > flight.unacknowledged {
            flight.advance(now, answer, 0);
        } else {
            let answer = *answer; // only here it is written
            self.ask_recovery(now, &answer, marked);
        }
        self.flight.note_plainness();
    }

    /// The same where the recovery has to be asked.
    #[inline(never)] // much code, for few of those who ask
    fn ask_recovery(&mut self, now: u64, answer: &Acknowledgement<'_>, marked: u32) {
        let highest = self.flight.highest;
        let is_valid = |block: &(u32, u32)| block.0 < block.1 && block.1 <= highest;
        if answer.blocks.iter().all(is_valid) {
            self.recovery.on_acknowledgement(&mut self.flight, now, answer, marked);
        } else {
            let blocks: Vec<_> = answer.blocks.iter().copied().filter(is_valid).collect();
            let answer = Acknowledgement { blocks: &blocks, ..*answer };
            self.recovery.on_acknowledgement(&mut self.flight, now, &answer, marked);
        }
    }

    /// Return the header of the segment that has just left, if it carries one.
    pub fn take_header(&mut self) -> Option<Header> {
        self.flight.rule.take_header()
    }

    /// Take the header that the next acknowledgement returns.
    pub fn read_header(&mut self, header: Header) {
        self.flight.rule.read_header(header);
    }

    /// A timer has expired at `now`, or was said to.
    pub fn on_timer(&mut self, now: u64) {
        let Self { flight, recovery, .. } = self;
        flight.timer.forget_last_round_trip();
        if flight.has_hooks && flight.rule.deadline() <= now {
            flight.rule.on_timer(now, &mut flight.window);
            if flight.timer.deadline.min(recovery.deadline()) > now {
                return;
            }
        }
        if flight.timer.deadline > now || recovery.precedes_timeout(now) {
            recovery.on_timer(flight, now);
        } else if flight.open && flight.flight_size() == 0 {
            flight.resume_after_marks(now);
        } else {
            self.on_timeout(now);
        }
        self.flight.note_plainness();
    }

    fn on_timeout(&mut self, now: u64) {
        let Self { flight, recovery, .. } = self;
        flight.counters.timeouts += 1;
        flight.drop_repair();
        if flight.timeout_tells_of_congestion() {
            if !recovery.has_reduced(flight) {
                let base = flight.loss_window(Load::of(recovery.pipe(flight)));
                flight.reduce_threshold(now, Congestion::Timeout, base);
            }
            flight.rule.timed_out(now);
            flight.marks.announce_reduction();
            flight.last_reduction = Reduction::Timeout;
        }
        flight.recover = flight.highest;
        recovery.on_timeout(flight, now);
        // One segment more than the recovery does not take for lost (Linux: tcp_enter_loss). Where that is nothing, it is
        // the loss window of RFC 5681.
        flight.window.congestion = f64::from(recovery.in_network(flight) + 1);
        flight.allowance = u32::MAX;
        self.pacing.release = 0;
        if self.flight.open {
            self.flight.timer.estimator.back_off();
        } else {
            self.repeat_handshake();
        }
        self.flight.timer.restart(now);
        self.flight.timer.stop_timing();
    }

    /// The opening segment will be sent again.
    fn repeat_handshake(&mut self) {
        self.flight.marks.fall_back();
        self.flight.timer.lengthen_in_handshake();
    }

    /// Sends segment `sequence`, which [`Sender::next_sequence`] has just named.
    #[inline(always)] // for every packet
    pub fn send(&mut self, sequence: u32, now: u64) -> Segment {
        let flight = &mut self.flight;
        let again = flight.note_sent(sequence, now);
        if flight.tells_of_sending {
            flight.tell_of_sending(sequence, now, again);
        }
        if flight.timer.deadline == u64::MAX {
            flight.timer.restart(now);
        }
        if !flight.whole {
            self.recovery.note_sent(flight, now, sequence, again);
        }
        if self.pacing.is_on() {
            self.space(now, sequence, again);
        }
        let flight = &mut self.flight;
        let (ecn_capable, scalable) = flight.marks.label(sequence, again);
        Segment {
            sequence,
            sent: now,
            ecn_capable,
            scalable,
            congestion_experienced: false,
            window_reduced: flight.marks.take_announcement(),
        }
    }
}
