//! The sender: sequence numbers, congestion window, fast retransmit, timeout, ECN response.
//!
//! Source: RFC 5681 (slow start, congestion avoidance, fast retransmit), RFC 3042 (limited
//! transmit), RFC 3168, section 6.1.2 (one response to marks per window), with the order of steps
//! of ns-2.35 `tcp.cc` where the RFCs leave it open and outcomes depend on it:
//!
//! 1. What was outstanding at the last reduction must be fully acknowledged before another fast
//!    retransmit ("bugfix").
//! 2. After a timeout sending resumes right behind the last acknowledged segment (go-back-N).
//! 3. The window's fractional part survives halving; the slow start threshold is rounded down.
//! 4. A response to a mark counts as the window's one reduction: a loss in the same window is
//!    repaired without a further one.

use crate::recovery::Progress;
use crate::{Acknowledgement, Recovery, RoundTripEstimator, Segment, TimerRules, growth};

/// Number of duplicate acknowledgements that signal a loss.
const DUPLICATES_FOR_LOSS: u32 = 3;

/// What is halved when a loss is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossWindow {
    /// The congestion window (ns-2).
    CongestionWindow,
    /// What is outstanding (RFC 5681, equation 4).
    FlightSize,
}

/// Options of a sender. Windows in segments.
#[derive(Clone, Copy, Debug)]
pub struct SenderOptions {
    /// Loss recovery.
    pub recovery: &'static Recovery,
    /// Largest window the receiver allows.
    pub window_cap: f64,
    /// Window once the connection is open.
    pub initial_window: f64,
    /// Rules of the retransmission timer.
    pub timer: TimerRules,
    /// What is halved when a loss is noticed.
    pub loss_window: LossWindow,
    /// Whether the first two duplicate acknowledgements release a segment each.
    pub limited_transmit: bool,
    /// Whether data is sent ECN-capable.
    pub ecn: bool,
    /// Whether a SYN precedes the data.
    pub handshake: bool,
}

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Segments sent again.
    pub retransmissions: u64,
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
    window: f64,
    slow_start_threshold: f64,
    window_cap: f64,
    /// First segment not yet acknowledged.
    unacknowledged: u32,
    /// Next segment to send; behind `highest` after a timeout.
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
    options: SenderFlags,
    last_reduction: Reduction,
    in_recovery: bool,
    partial_seen: bool,
    announce_reduction: bool,
    open: bool,
    /// A second mark at a window of one segment backs the timer off.
    marked_at_one: bool,
    /// Segment being timed and when it was sent.
    timed: Option<(u32, u64)>,
    /// Timer's expiry in nanoseconds; `u64::MAX` while it is off.
    deadline: u64,
    round_trip: RoundTripEstimator,
    last_round_trip: Option<u64>,
    initial_window: f64,
    counters: Counters,
}

#[derive(Clone, Copy, Debug)]
struct SenderFlags {
    recovery: &'static Recovery,
    loss_window: LossWindow,
    limited_transmit: bool,
    ecn: bool,
}

impl Sender {
    /// A sender with endless data that has not begun. `clock_phase`: see [`RoundTripEstimator`].
    #[must_use]
    pub fn new(options: &SenderOptions, clock_phase: u64) -> Self {
        // Segment 0 opens the connection; without a handshake the first is 1 and all is open.
        let first = u32::from(!options.handshake);
        Self {
            window: if options.handshake { 1.0 } else { options.initial_window },
            slow_start_threshold: options.window_cap,
            window_cap: options.window_cap,
            unacknowledged: first,
            next: first,
            highest: first,
            available: u32::MAX,
            duplicates: 0,
            inflation: 0,
            recover: 0,
            repair: None,
            allowance: 0,
            options: SenderFlags {
                recovery: options.recovery,
                loss_window: options.loss_window,
                limited_transmit: options.limited_transmit,
                ecn: options.ecn,
            },
            last_reduction: Reduction::None,
            in_recovery: false,
            partial_seen: false,
            announce_reduction: false,
            open: !options.handshake,
            marked_at_one: false,
            timed: None,
            deadline: u64::MAX,
            round_trip: RoundTripEstimator::new(options.timer, clock_phase),
            last_round_trip: None,
            initial_window: options.initial_window,
            counters: Counters::default(),
        }
    }

    /// The connection begins: segments may be asked for.
    pub fn start(&mut self) {
        self.allowance = u32::MAX;
    }

    /// No new data from now on; what is outstanding is still repaired.
    pub fn stop(&mut self) {
        self.available = self.highest;
    }

    /// Whether everything there was to send has been acknowledged.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.unacknowledged >= self.available
    }

    /// When [`Sender::on_timer`] wants to be called; `u64::MAX` for never.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> u64 {
        self.deadline
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
        self.window
    }

    /// First segment not yet acknowledged.
    #[inline]
    #[must_use]
    pub fn unacknowledged(&self) -> u32 {
        self.unacknowledged
    }

    /// The round trip timed since the last call, in nanoseconds.
    #[inline]
    pub fn take_round_trip(&mut self) -> Option<u64> {
        self.last_round_trip.take()
    }

    /// The next segment that may be sent at `now`, or `None` when it is time to wait.
    #[inline]
    pub fn next_segment(&mut self, now: u64) -> Option<Segment> {
        if let Some(sequence) = self.repair.take() {
            return Some(self.emit(sequence, now));
        }
        if self.allowance == 0 || self.next >= self.available {
            return None;
        }
        let usable = (self.window + f64::from(self.inflation)).min(self.window_cap) as u32;
        if self.next - self.unacknowledged >= usable {
            return None;
        }
        self.allowance -= 1;
        let sequence = self.next;
        self.next += 1;
        Some(self.emit(sequence, now))
    }

    /// An acknowledgement has arrived at `now`.
    #[inline]
    pub fn on_acknowledgement(&mut self, now: u64, answer: &Acknowledgement) {
        self.allowance = 0;
        let acknowledged = answer.next_expected;
        if answer.congestion_echo && self.options.ecn {
            self.respond_to_mark(acknowledged);
        }
        if acknowledged > self.unacknowledged {
            if !self.in_recovery {
                self.advance(now, acknowledged, answer.congestion_echo);
                return;
            }
            match (self.options.recovery.judge)(acknowledged, self.recover) {
                Progress::Complete => {
                    self.in_recovery = false;
                    self.partial_seen = false;
                    self.inflation = 0;
                    self.advance(now, acknowledged, answer.congestion_echo);
                }
                Progress::Partial => self.advance_partially(now, acknowledged),
            }
        } else if acknowledged == self.unacknowledged && self.highest > self.unacknowledged {
            self.count_duplicate(now);
        }
    }

    /// The retransmission timer has expired at `now`.
    pub fn on_timer(&mut self, now: u64) {
        self.counters.timeouts += 1;
        self.inflation = 0;
        self.duplicates = 0;
        self.in_recovery = false;
        self.partial_seen = false;
        self.recover = self.highest;
        // A window already halved for a mark is not halved again for the loss of its packets.
        if self.last_reduction != Reduction::Mark {
            self.slow_start_threshold = whole(self.loss_window() / 2.0).max(2.0);
        }
        self.window = 1.0;
        self.announce_reduction = self.options.ecn;
        self.last_reduction = Reduction::Timeout;
        self.round_trip.back_off();
        self.deadline = now + self.round_trip.timeout();
        self.timed = None;
        self.next = self.unacknowledged;
        self.repair = None;
        self.allowance = u32::MAX;
    }

    /// New data acknowledged outside recovery, or by the acknowledgement that ends it.
    #[inline]
    fn advance(&mut self, now: u64, acknowledged: u32, echo: bool) {
        self.duplicates = 0;
        self.unacknowledged = acknowledged;
        self.next = self.next.max(acknowledged);
        if let Some((sequence, sent)) = self.timed
            && acknowledged > sequence
        {
            self.timed = None;
            if !(self.marked_at_one && echo) {
                self.round_trip.end_back_off();
                self.marked_at_one = false;
            }
            self.round_trip.sample(sent, now);
            self.last_round_trip = Some(now - sent);
        }
        self.deadline = if acknowledged < self.highest || self.next < self.available {
            now + self.round_trip.timeout()
        } else {
            u64::MAX
        };
        if self.open {
            if !(echo && self.options.ecn) {
                self.window = growth::additive_increase(self.window, self.slow_start_threshold);
            }
        } else {
            self.open = true;
            self.window = self.initial_window;
        }
        self.allowance = u32::MAX;
    }

    /// New data acknowledged, but not all of the window in which the loss happened.
    fn advance_partially(&mut self, now: u64, acknowledged: u32) {
        let newly = acknowledged - self.unacknowledged;
        if !self.partial_seen {
            self.partial_seen = true;
            self.deadline = now + self.round_trip.timeout();
        }
        // Deflate by what was acknowledged, less the one retransmission that leaves now.
        if self.inflation > newly {
            self.inflation -= newly - 1;
        } else {
            self.window = (self.window - f64::from(newly - self.inflation)).max(1.0);
            self.inflation = 1;
        }
        self.unacknowledged = acknowledged;
        self.next = self.next.max(acknowledged);
        if let Some((sequence, _)) = self.timed
            && acknowledged > sequence
        {
            self.timed = None;
            self.round_trip.end_back_off();
        }
        self.repair = Some(acknowledged);
        self.allow_during_recovery();
    }

    /// The same acknowledgement once more: something was lost, or overtaken.
    fn count_duplicate(&mut self, now: u64) {
        self.duplicates += 1;
        if self.duplicates == DUPLICATES_FOR_LOSS {
            self.notice_loss(now);
            self.allow_during_recovery();
        } else if self.duplicates > DUPLICATES_FOR_LOSS {
            if self.in_recovery {
                self.inflation += 1;
            }
            self.allow_during_recovery();
        } else if self.options.limited_transmit {
            self.transmit_limited();
        }
    }

    fn allow_during_recovery(&mut self) {
        if self.duplicates >= DUPLICATES_FOR_LOSS {
            self.allowance = self.options.recovery.burst;
        }
    }

    /// RFC 3042: one segment beyond the window for each of the first two duplicates.
    fn transmit_limited(&mut self) {
        let outstanding = self.next - self.unacknowledged;
        let usable = (self.window + f64::from(self.duplicates)).min(self.window_cap);
        if outstanding < usable as u32 && self.next < self.available {
            self.repair = Some(self.next);
            self.next += 1;
        }
    }

    /// The third duplicate: send the missing segment again, halve the window once per window.
    fn notice_loss(&mut self, now: u64) {
        // The first window may always be repaired, even if the opening segment was lost before it.
        if self.unacknowledged > self.recover || self.unacknowledged == 1 {
            self.halve();
            self.last_reduction = Reduction::Loss;
            self.recover = self.highest;
        } else if self.last_reduction == Reduction::Mark {
            self.last_reduction = Reduction::Loss;
        } else {
            return;
        }
        self.in_recovery = true;
        self.partial_seen = false;
        self.inflation = DUPLICATES_FOR_LOSS;
        self.timed = None;
        self.deadline = now + self.round_trip.timeout();
        self.repair = Some(self.unacknowledged);
    }

    /// RFC 3168: a mark halves the window, once for each window of data.
    fn respond_to_mark(&mut self, acknowledged: u32) {
        let new_window = acknowledged > self.recover;
        if !new_window && self.last_reduction != Reduction::Timeout {
            return;
        }
        self.recover = self.highest;
        self.last_reduction = Reduction::Mark;
        if self.window <= 1.0 {
            if self.marked_at_one {
                self.round_trip.back_off();
            }
            self.marked_at_one = true;
        } else {
            self.marked_at_one = false;
        }
        self.halve();
    }

    fn halve(&mut self) {
        let half = self.loss_window() / 2.0;
        self.slow_start_threshold = whole(half).max(2.0);
        self.window = half.max(1.0);
        self.announce_reduction = self.options.ecn;
    }

    fn loss_window(&self) -> f64 {
        match self.options.loss_window {
            LossWindow::CongestionWindow => {
                (self.window + f64::from(self.inflation)).min(self.window_cap)
            }
            LossWindow::FlightSize => f64::from(self.highest - self.unacknowledged),
        }
    }

    #[inline]
    fn emit(&mut self, sequence: u32, now: u64) -> Segment {
        if sequence < self.highest {
            self.counters.retransmissions += 1;
        } else {
            self.highest = sequence + 1;
            if self.timed.is_none() {
                self.timed = Some((sequence, now));
            }
        }
        if self.deadline == u64::MAX {
            self.deadline = now + self.round_trip.timeout();
        }
        Segment {
            sequence,
            ecn_capable: self.options.ecn && sequence > 0,
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
