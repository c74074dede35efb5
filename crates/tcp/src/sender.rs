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
//! 3. The window's fractional part survives halving; the slow start threshold is rounded down.
//! 4. A response to a mark counts as the window's one reduction: a loss in the same window is
//!    repaired without a further one.
//!
//! The parts have files of their own: losses noticed by duplicate acknowledgements
//! (`duplicates.rs`, `counted.rs`) or selective ones (`selective.rs`), marks (`marks.rs`), pacing (`pacing.rs`),
//! windows that are not used (`validation.rs`).

mod counted;
mod duplicates;
mod marks;
mod pacing;
mod proportional;
mod rack;
mod sack1;
mod selective;
mod validation;

use crate::rule::{Acknowledged, Congestion, WindowRule};
use crate::rules::Additive;
use crate::{Acknowledgement, AnyRule, Recovery, RoundTripEstimator, Segment, TimerRules, Window};
use counted::Counted;
use selective::Selective;
use validation::WindowValidation;

/// What is halved when a loss is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossWindow {
    /// The congestion window (ns-2).
    CongestionWindow,
    /// What is outstanding (RFC 5681, equation 4).
    FlightSize,
    /// What is outstanding and neither reported nor lost (RFC 6675's pipe, as ns-3 has it).
    Pipe,
}

/// How marks are told to the sender and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Data is not ECN-capable.
    Off,
    /// The echo of RFC 3168.
    Classic,
    /// The count of RFC 9768.
    Accurate,
    /// The count of RFC 9768, and data is sent as ECT(1) (RFC 9331).
    Scalable,
}

/// Options of a sender. Windows in segments.
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// Window rule.
    pub rule: AnyRule,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Largest window the receiver allows.
    pub window_cap: f64,
    /// Window once the connection is open.
    pub initial_window: f64,
    /// Window at which the first slow start ends.
    pub slow_start_threshold: f64,
    /// Rules of the retransmission timer.
    pub timer: TimerRules,
    /// Everything that is on or off.
    pub switches: Switches,
}

/// What is on or off, or one of few.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// What is halved when a loss is noticed.
    pub loss_window: LossWindow,
    /// Whether the first two duplicate acknowledgements release a segment each.
    pub limited_transmit: bool,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Whether data that is sent again is ECN-capable too.
    pub ecn_capable_retransmissions: bool,
    /// Whether a connection whose SYN is lost goes on without ECN.
    pub ecn_fallback: bool,
    /// Whether a SYN precedes the data.
    pub handshake: bool,
    /// Retransmissions of the SYN that do not back the timer off.
    pub linear_handshake_timeouts: u8,
    /// Whether every acknowledgement times a round trip (RFC 7323).
    pub timestamps: bool,
    /// Whether windows grow by the segments acknowledged (RFC 3465) instead of by one for each
    /// acknowledgement.
    pub byte_counting: bool,
    /// Whether all that an acknowledgement covers counts, also what had been reported before.
    pub cumulative_counting: bool,
    /// Whether the window falls over a round trip instead of at once (RFC 9937).
    pub proportional_rate_reduction: bool,
    /// Whether its bound is that of ns-3.
    pub bound_of_ns3: bool,
    /// Whether recovery and timeouts have the rules of ns-3 (`selective.rs`).
    pub recovery_of_ns3: bool,
    /// Whether the end of a flight is probed before the timer expires (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// Whether segments are spaced over the round trip.
    pub pacing: bool,
    /// Whether only a window that is used grows, and one that is not shrinks (RFC 7661, RFC 2861).
    pub window_validation: bool,
}

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Segments sent again.
    pub retransmissions: u64,
}

/// What a sender is about, in the order and with the meanings of Linux (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderState {
    /// Nothing is known to be missing.
    Open,
    /// Something has arrived beyond a gap that proves no loss yet.
    Disorder,
    /// A mark has reduced the window.
    Reduced,
    /// Losses are being repaired.
    Recovery,
    /// A timeout is being repaired.
    Loss,
}

/// The last thing that reduced the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    None,
    Loss,
    Mark,
    Timeout,
}

/// One flow's sender.
#[derive(Clone, Debug)]
pub struct Sender {
    window: Window,
    /// First segment not yet acknowledged.
    unacknowledged: u32,
    /// Next segment to send; behind `highest` after a timeout without a scoreboard.
    next: u32,
    /// First segment never sent.
    highest: u32,
    /// Segments available: sending stops here.
    available: u32,
    duplicates: u32,
    /// Segments by which duplicate acknowledgements inflate the window during recovery.
    inflation: u32,
    /// First segment sent after the last reduction: one reduction per window.
    recover: u32,
    /// Segment to send again before anything else.
    repair: Option<u32>,
    /// New segments that may still be sent for the event at hand.
    allowance: u32,
    /// From the start on what the options say; kept small before and after.
    rule: AnyRule,
    recovery: Recovery,
    switches: Switches,
    last_reduction: Reduction,
    in_recovery: bool,
    partial_seen: bool,
    announce_reduction: bool,
    open: bool,
    /// There is no scoreboard to look at: the recovery has none, or nothing is missing and nobody
    /// wants to know when segments were sent.
    in_order: bool,
    /// A second mark at a window of one segment backs the timer off.
    marked_at_one: bool,
    /// Marked segments that the receiver has counted.
    marked: u32,
    /// Segment being timed and when it was sent.
    timed: Option<(u32, u64)>,
    /// Retransmission timer's expiry in nanoseconds; `u64::MAX` while it is off.
    deadline: u64,
    /// When the next segment may leave, in nanoseconds, if it is only pacing that holds it.
    release: u64,
    round_trip: RoundTripEstimator,
    last_round_trip: Option<u64>,
    /// One-way delay told by the last acknowledgement.
    forward_delay: u64,
    initial_window: f64,
    counters: Counters,
    /// What a sender that reads selective acknowledgements keeps besides, while it is under way.
    selective: Option<Box<Selective>>,
    /// Likewise for one that counts duplicates.
    counted: Option<Box<Counted>>,
    /// Likewise for one whose window does not grow while it is not used.
    validation: Option<Box<WindowValidation>>,
}

impl Sender {
    /// A sender with endless data that has not begun. `clock_phase`: see [`RoundTripEstimator`].
    #[must_use]
    pub fn new(options: &SenderOptions, clock_phase: u64) -> Self {
        // Segment 0 opens the connection; without a handshake the first is 1 and all is open.
        let handshake = options.switches.handshake;
        let first = u32::from(!handshake);
        Self {
            window: Window {
                congestion: if handshake { 1.0 } else { options.initial_window },
                slow_start_threshold: options.slow_start_threshold,
                cap: options.window_cap,
            },
            unacknowledged: first,
            next: first,
            highest: first,
            available: u32::MAX,
            duplicates: 0,
            inflation: 0,
            recover: 0,
            repair: None,
            allowance: 0,
            rule: Additive::default().into(),
            recovery: options.recovery,
            switches: options.switches,
            last_reduction: Reduction::None,
            in_recovery: false,
            partial_seen: false,
            announce_reduction: false,
            open: !handshake,
            in_order: options.recovery.is_in_order(),
            marked_at_one: false,
            marked: 0,
            timed: None,
            deadline: u64::MAX,
            release: 0,
            round_trip: RoundTripEstimator::new(options.timer, clock_phase),
            last_round_trip: None,
            forward_delay: 0,
            initial_window: options.initial_window,
            counters: Counters::default(),
            selective: None,
            counted: None,
            validation: None,
        }
    }

    /// The connection begins: segments may be asked for. `options` are those it was made with. What only
    /// a connection under way needs is made here: many flows of a large run wait for theirs.
    pub fn start(&mut self, options: &SenderOptions) {
        self.allowance = u32::MAX;
        self.rule = options.rule.clone();
        let selective = options.recovery.is_selective();
        self.selective = selective.then(|| Box::new(Selective::new(options, self.unacknowledged)));
        let proportional = options.switches.proportional_rate_reduction;
        self.counted = (options.recovery == Recovery::LinuxNewReno)
            .then(|| Box::new(Counted::new(proportional)));
        let validates = options.switches.window_validation && !self.rule.governs_window();
        self.validation = validates.then(Box::default);
    }

    /// There are `segments` data segments to send in all; to be called before the start.
    pub fn limit_to(&mut self, segments: u32) {
        // Segment 0 opens the connection.
        self.available = segments.saturating_add(1);
    }

    /// There are `segments` more to send from `now` on, for a sender that has been limited. If nothing was
    /// outstanding, a window that was not used for longer than a timeout is reduced (RFC 2861).
    pub fn supply(&mut self, now: u64, segments: u32) {
        self.available = self.available.saturating_add(segments);
        if self.next == self.unacknowledged {
            self.restart_after_idle(now);
        }
    }

    /// No new data from now on; what is outstanding is still repaired.
    pub fn stop(&mut self) {
        self.available = self.highest;
        if self.finished() {
            self.deadline = u64::MAX; // a mark may have silenced it with nothing outstanding
        }
    }

    /// Whether everything there was to send has been acknowledged.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.unacknowledged >= self.available
    }

    /// Gives back the memory of what only a connection needs that still has something to send. For one
    /// that has [finished](Self::finished); what is counted stays.
    pub fn retire(&mut self) {
        self.selective = None;
        self.counted = None;
        self.validation = None;
        self.in_order = true;
        self.rule = Additive::default().into();
        self.release = 0;
    }

    /// When [`Sender::on_timer`] wants to be called; `u64::MAX` for never.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> u64 {
        if self.recovery == Recovery::Rack { self.earliest_deadline() } else { self.deadline }
    }

    #[inline(never)]
    fn earliest_deadline(&self) -> u64 {
        self.deadline.min(self.selective.as_ref().map_or(u64::MAX, |it| it.deadline()))
    }

    /// When the next segment may leave that only pacing holds, in nanoseconds; 0 if none is held.
    #[inline]
    #[must_use]
    pub fn release(&self) -> u64 {
        self.release
    }

    /// Timeouts and retransmissions so far.
    #[inline]
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Congestion window in segments.
    #[must_use]
    pub fn window(&self) -> f64 {
        self.window.congestion
    }

    /// Slow start threshold in segments.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.window.slow_start_threshold
    }

    /// Segments in the network, as the recovery counts them.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        let outstanding = self.next - self.unacknowledged;
        if let Some(counted) = &self.counted {
            return counted.in_network(self.unacknowledged, self.next);
        }
        match &self.selective {
            Some(selective) if !self.in_order => selective.board.in_network(outstanding),
            _ => outstanding,
        }
    }

    /// Segments sent and not acknowledged, whatever has become of them.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.next - self.unacknowledged
    }

    /// Segments that have arrived beyond the first one missing, as far as the sender knows.
    #[must_use]
    pub fn sacked(&self) -> u32 {
        match (&self.counted, &self.selective) {
            (Some(counted), _) => counted.arrived(),
            (_, Some(selective)) if !self.in_order => selective.board.arrived(),
            _ => self.duplicates,
        }
    }

    /// Segments that are taken for lost and have not arrived since.
    #[must_use]
    pub fn lost(&self) -> u32 {
        match (&self.counted, &self.selective) {
            (Some(counted), _) => counted.lost(self.unacknowledged),
            (_, Some(selective)) if !self.in_order => selective.board.lost(),
            _ => u32::from(self.in_recovery),
        }
    }

    /// What the sender is about.
    #[must_use]
    pub fn state(&self) -> SenderState {
        let repairing_timeout = match (&self.counted, &self.selective) {
            (Some(counted), _) => counted.is_repairing_timeout(),
            (_, Some(selective)) => selective.is_repairing_timeout(),
            _ => self.last_reduction == Reduction::Timeout && self.unacknowledged < self.recover,
        };
        if self.in_recovery {
            SenderState::Recovery
        } else if repairing_timeout {
            SenderState::Loss
        } else if self.last_reduction == Reduction::Mark && self.unacknowledged < self.recover {
            SenderState::Reduced
        } else if self.sacked() > 0 {
            SenderState::Disorder
        } else {
            SenderState::Open
        }
    }

    /// First segment not yet acknowledged.
    #[inline]
    #[must_use]
    pub fn unacknowledged(&self) -> u32 {
        self.unacknowledged
    }

    /// The round trip timed by the last acknowledgement, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn last_round_trip(&self) -> Option<u64> {
        self.last_round_trip
    }

    /// The next segment that may be sent at `now`, or `None` when it is time to wait.
    #[inline]
    pub fn next_segment(&mut self, now: u64) -> Option<Segment> {
        if self.switches.pacing && self.held_by_pacing(now) {
            self.note_use(now);
            return None;
        }
        let sequence = if let Some(sequence) = self.repair.take() {
            Some(sequence)
        } else if self.in_order {
            self.choose_in_order()
        } else if self.recovery == Recovery::Sack1 {
            self.choose_by_pipe()
        } else if self.recovery == Recovery::LinuxNewReno {
            self.choose_by_count()
        } else {
            self.choose_selectively()
        };
        let Some(sequence) = sequence else {
            self.note_use(now);
            return None;
        };
        Some(self.emit(sequence, now))
    }

    /// The same for who asks seldom: what is inlined in two places of a program is soon inlined in
    /// none, and the place that asks for every packet would be 5 % slower.
    #[inline(never)]
    pub fn next_segment_by_call(&mut self, now: u64) -> Option<Segment> {
        self.next_segment(now)
    }

    /// An acknowledgement has arrived at `now`.
    #[inline]
    pub fn on_acknowledgement(&mut self, now: u64, answer: &Acknowledgement<'_>) {
        self.last_round_trip = None;
        self.forward_delay = answer.forward_delay;
        let marked = self.take_marks(answer);
        if self.in_order && answer.blocks.is_empty() {
            self.acknowledge_in_order(now, answer, marked);
        } else if self.recovery == Recovery::Sack1 {
            self.acknowledge_by_pipe(now, answer, marked);
        } else if self.recovery == Recovery::LinuxNewReno {
            self.acknowledge_by_count(now, answer, marked);
        } else {
            self.acknowledge_selectively(now, answer, marked);
        }
    }

    /// A timer has expired at `now`, or was said to.
    pub fn on_timer(&mut self, now: u64) {
        self.last_round_trip = None;
        if self.deadline > now || self.probe_is_due(now) {
            self.on_other_timer(now);
            return;
        }
        if self.open && self.highest == self.unacknowledged {
            self.resume_after_marks(now);
            return;
        }
        self.counters.timeouts += 1;
        self.inflation = 0;
        self.duplicates = 0;
        // A timeout while an earlier one is being repaired finds no window worth halving.
        let repeated = self.recovery != Recovery::Sack1
            && self.selective.as_ref().is_some_and(|it| it.is_repairing_timeout())
            || self.unacknowledged < self.recover
                && self.counted.as_ref().is_some_and(|it| it.is_reduced(self.in_recovery));
        // ns-3 asks for a head that has been sent again after it has forgotten which were.
        let repeated = repeated && !self.switches.recovery_of_ns3;
        self.in_recovery = false;
        self.partial_seen = false;
        self.recover = self.highest;
        // A window already halved for a mark is not halved again for the loss of its packets.
        if self.last_reduction != Reduction::Mark && !repeated {
            let base = self.loss_window();
            self.reduce_threshold(now, Congestion::Timeout, base);
        }
        self.window.congestion = 1.0;
        self.announce_reduction = self.switches.ecn == Ecn::Classic;
        self.last_reduction = Reduction::Timeout;
        if self.open {
            self.round_trip.back_off();
        } else {
            self.repeat_handshake();
        }
        self.deadline = self.round_trip.expiry(now);
        self.timed = None;
        self.repair = None;
        self.release = 0;
        self.allowance = u32::MAX;
        self.in_order = self.selective.is_none() && self.counted.is_none();
        let go_back =
            !matches!(self.recovery, Recovery::Sack | Recovery::Rack | Recovery::LinuxNewReno);
        if go_back {
            self.next = self.unacknowledged;
        }
        if let Some(selective) = &mut self.selective {
            selective.on_timeout(self.unacknowledged, self.highest, go_back);
        }
        if let Some(counted) = &mut self.counted {
            counted.on_timeout(self.unacknowledged, self.highest);
        }
    }

    /// The opening segment will be sent again.
    fn repeat_handshake(&mut self) {
        if self.switches.ecn_fallback {
            self.switches.ecn = Ecn::Off;
            self.announce_reduction = false;
        }
        match self.switches.linear_handshake_timeouts.checked_sub(1) {
            Some(left) => self.switches.linear_handshake_timeouts = left,
            None => self.round_trip.back_off(),
        }
    }

    /// The window rule's answer to `sign`: the slow start threshold, whole and at least two.
    fn reduce_threshold(&mut self, now: u64, sign: Congestion, base: f64) -> f64 {
        let reduced = self.rule.reduced(now, sign, base, &self.window);
        self.window.slow_start_threshold = whole(reduced).max(2.0);
        reduced
    }

    /// A sign of congestion other than a timeout: reduce the window.
    fn reduce(&mut self, now: u64, sign: Congestion) {
        let base = self.loss_window();
        let reduced = self.reduce_threshold(now, sign, base);
        if !self.rule.governs_window() {
            self.window.congestion = if self.switches.byte_counting {
                // Who counts in segments has whole windows.
                self.window.slow_start_threshold
            } else if sign == Congestion::Mark {
                // Below one segment nothing is sent until the timer expires.
                reduced
            } else {
                reduced.max(1.0)
            };
        }
        self.announce_reduction = self.switches.ecn == Ecn::Classic;
    }

    fn loss_window(&self) -> f64 {
        match self.switches.loss_window {
            LossWindow::CongestionWindow => {
                (self.window.congestion + f64::from(self.inflation)).min(self.window.cap)
            }
            LossWindow::FlightSize => f64::from(self.highest - self.unacknowledged),
            LossWindow::Pipe => match &self.selective {
                Some(selective) if !self.in_order => {
                    f64::from(selective.board.in_network(self.next - self.unacknowledged))
                }
                _ => f64::from(self.highest - self.unacknowledged),
            },
        }
    }

    /// A round trip from `sent` to `now` has been timed.
    #[inline]
    fn note_round_trip(&mut self, sent: u64, now: u64) {
        self.round_trip.sample(sent, now);
        self.last_round_trip = Some(now - sent);
    }

    /// What an acknowledgement of new data tells the window rule.
    #[inline]
    fn acknowledged(&self, now: u64, delivered: u32, marked: u32) -> Acknowledged {
        Acknowledged {
            now,
            delivered,
            counted: if self.switches.byte_counting { f64::from(delivered) } else { 1.0 },
            marked,
            round_trip: self.last_round_trip,
            forward_delay: Some(self.forward_delay),
            smoothed_round_trip: self.round_trip.smoothed(),
            unacknowledged: self.unacknowledged,
            highest: self.highest,
            in_network: self.highest - self.unacknowledged,
            in_recovery: false,
            lost: 0,
            rate: None,
        }
    }

    #[inline]
    fn emit(&mut self, sequence: u32, now: u64) -> Segment {
        let again = sequence < self.highest;
        if again {
            self.counters.retransmissions += 1;
        } else {
            self.highest = sequence + 1;
            if let Some(validation) = &mut self.validation {
                validation.note_sent(now);
            }
            if self.timed.is_none() {
                self.timed = Some((sequence, now));
            }
        }
        if self.deadline == u64::MAX {
            self.deadline = self.round_trip.expiry(now);
        }
        if !self.in_order
            && let Some(selective) = &mut self.selective
        {
            let outstanding = self.next - self.unacknowledged;
            selective.note_sent(now, sequence, outstanding);
            if !again && selective.plans_probes(now, outstanding) {
                self.plan_probe(now);
            }
        }
        if let Some(counted) = &mut self.counted
            && let Some(reduction) = &mut counted.reduction
        {
            reduction.note_sent();
        }
        if self.switches.pacing {
            self.pace(now);
        }
        let ecn_capable = self.switches.ecn != Ecn::Off
            && sequence > 0
            && (self.switches.ecn_capable_retransmissions || !again);
        Segment {
            sequence,
            sent: now,
            ecn_capable,
            scalable: ecn_capable && self.switches.ecn == Ecn::Scalable,
            congestion_experienced: false,
            window_reduced: std::mem::take(&mut self.announce_reduction),
        }
    }
}

/// The whole segments of a window; without the library call that `floor` is on plain x86-64.
#[inline]
fn whole(window: f64) -> f64 {
    f64::from(window as u32)
}
