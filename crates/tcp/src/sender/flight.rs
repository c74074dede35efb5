use super::marks::Marks;
use super::options::{HandshakeLoss, SenderOptions};
use super::state::{Counters, Load, Reduction};
use super::timer::RetransmissionTimer;
use super::window_use::WindowUse;
use crate::rule::{Acknowledged, Congestion, LossWindow, WindowRule};
use crate::rules::Additive;
use crate::{Acknowledgement, AnyRule, Window};

/// State that all recoveries share: sequence numbers, the window and its rule, the timer.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub(crate) window: Window,
    /// First segment not yet acknowledged.
    pub(crate) unacknowledged: u32,
    /// Next segment to send; behind `highest` after a timeout without a scoreboard.
    pub(crate) next: u32,
    /// First segment never sent.
    pub(crate) highest: u32,
    /// Segments available: sending stops here.
    pub(crate) available: u32,
    /// First segment sent after the last reduction: one reduction per window.
    pub(crate) recover: u32,
    /// Segment to send before anything else.
    pub(crate) repair: Option<u32>,
    /// New segments that may still be sent for the event at hand; none before the connection begins.
    pub(crate) allowance: u32,
    /// Nothing is missing, and the recovery does not want to know of every segment: it need not be asked.
    pub(crate) whole: bool,
    /// What the sender was told to do leaves nothing to ask of a flight that is whole (`plain.rs`).
    pub(super) is_simple: bool,
    /// The same, and it is whole.
    pub(super) is_plain: bool,
    pub(crate) open: bool,
    pub(crate) last_reduction: Reduction,
    loss_window: LossWindow,
    handshake_loss: HandshakeLoss,
    /// True if windows grow by the segments acknowledged, and are whole.
    pub(crate) byte_counting: bool,
    pub(crate) initial_window: f64,
    /// From the start on what the options say; kept small before and after.
    pub(crate) rule: AnyRule,
    pub(crate) timer: RetransmissionTimer,
    /// One-way delay told by the last acknowledgement.
    pub(crate) forward_delay: u64,
    pub(crate) counters: Counters,
    pub(crate) marks: Marks,
    /// For a sender whose window does not grow while it is not used, while it is under way.
    pub(crate) window_use: Option<Box<WindowUse>>,
    /// The rule has hooks.
    pub(super) has_hooks: bool,
    /// Something wants to know of every segment that leaves: `window_use`, or the rule.
    pub(super) tells_of_sending: bool,
}

impl Flight {
    #[inline(always)] // see `Profile::ends`
    pub(crate) fn new(options: &SenderOptions, clock_phase: u64) -> Self {
        // Segment 0 opens the connection; without a handshake the first is 1 and all is open.
        let set = &options.common;
        let handshake = set.opening.handshake;
        let first = u32::from(!handshake);
        let window = Window::new(&set.window);
        Self {
            window: Window {
                congestion: if handshake { 1.0 } else { window.congestion },
                ..window
            },
            unacknowledged: first,
            next: first,
            highest: first,
            available: u32::MAX,
            recover: 0,
            repair: None,
            allowance: 0,
            whole: true,
            is_simple: false,
            is_plain: false,
            open: !handshake,
            last_reduction: Reduction::None,
            loss_window: set.growth.loss_window,
            handshake_loss: set.opening.handshake_loss,
            byte_counting: set.growth.byte_counting,
            initial_window: window.congestion,
            rule: Additive::default().into(),
            timer: RetransmissionTimer::new(options, clock_phase),
            forward_delay: 0,
            counters: Counters::default(),
            marks: Marks::new(set.marks, options.feedback()),
            window_use: None,
            has_hooks: false,
            tells_of_sending: false,
        }
    }

    /// Segments sent and not acknowledged; of those that are sent anew in order after a timeout, none that still waits
    /// for it.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        self.next - self.unacknowledged
    }

    /// Segments ever sent and not acknowledged.
    #[inline]
    pub(crate) fn flight_size(&self) -> u32 {
        self.highest - self.unacknowledged
    }

    /// Return true if there is a segment to send that has not been sent, and the receiver allows it.
    #[inline]
    pub(crate) fn has_new_data(&self) -> bool {
        self.next < self.available && f64::from(self.outstanding()) < self.window.cap
    }

    /// Takes the next segment.
    #[inline]
    pub(crate) fn take_next(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// The next segment in order that the window allows.
    #[inline]
    pub(crate) fn choose_in_order(&mut self) -> Option<u32> {
        self.choose_within(self.window.congestion)
    }

    /// The same where a recovery has a `window` of its own.
    #[inline]
    pub(crate) fn choose_within(&mut self, window: f64) -> Option<u32> {
        if !self.has_next_within(window) {
            return None;
        }
        self.allowance -= 1;
        Some(self.take_next())
    }

    /// Return true if that window allows a next segment in order.
    #[inline]
    pub(super) fn has_next_within(&self, window: f64) -> bool {
        if self.allowance == 0 || self.next >= self.available {
            return false;
        }
        // Not `f64::min`, which takes six steps more to mind what is no number.
        let cap = self.window.cap;
        let usable = if window < cap { window } else { cap };
        // One more has to fit. To count whole segments of the window first takes longer, and much waits for this.
        usable >= f64::from(self.outstanding() + 1)
    }

    /// Segment `sequence` leaves at `now`. Return true if it has been sent before.
    #[inline(always)] // for every packet
    pub(super) fn note_sent(&mut self, sequence: u32, now: u64) -> bool {
        let again = sequence < self.highest;
        if again {
            self.counters.retransmissions += 1;
        } else {
            self.highest = sequence + 1;
            self.timer.note_first_sending(sequence, now);
        }
        again
    }

    #[inline(never)] // few ask for it
    pub(super) fn tell_of_sending(&mut self, sequence: u32, now: u64, again: bool) {
        if let Some(window_use) = &mut self.window_use {
            window_use.note_sent(now);
        }
        if self.has_hooks {
            self.rule.on_sent(now, sequence, again, &mut self.window);
        }
    }

    /// Send segment `sequence` before anything else.
    pub(crate) fn repair_first(&mut self, sequence: u32) {
        self.drop_repair();
        self.repair = Some(sequence);
    }

    /// Nothing goes before anything else; a new segment that was to, but has not left, is the next one again.
    pub(crate) fn drop_repair(&mut self) {
        if let Some(pending) = self.repair.take()
            && pending + 1 == self.next
        {
            self.next = pending.max(self.unacknowledged); // what was to be sent anew may have arrived meanwhile
        }
    }

    /// RFC 3042: one segment beyond the window for each of the first two duplicates.
    pub(crate) fn transmit_limited(&mut self, duplicates: u32) {
        let usable = (self.window.congestion + f64::from(duplicates)).min(self.window.cap);
        if self.outstanding() < usable as u32 && self.next < self.available {
            self.drop_repair();
            self.repair = Some(self.take_next());
        }
    }

    /// New data acknowledged outside recovery, or by the acknowledgement that ends it.
    #[inline(always)] // nearly every acknowledgement
    pub(crate) fn advance(&mut self, now: u64, answer: &Acknowledgement<'_>, marked: u32) {
        let acknowledged = answer.next_expected;
        let newly = acknowledged - self.unacknowledged;
        self.unacknowledged = acknowledged;
        self.next = self.next.max(acknowledged);
        self.timer.take(now, answer, self.highest, marked > 0);
        self.run_timer(now);
        self.grow_or_open(now, newly, marked);
        self.allowance = u32::MAX;
    }

    /// New data has been acknowledged at `now`: the timer runs anew while there is anything to wait for.
    #[inline]
    pub(crate) fn run_timer(&mut self, now: u64) {
        if self.unacknowledged < self.highest || self.next < self.available {
            self.timer.restart(now);
        } else {
            self.timer.deadline = u64::MAX;
        }
    }

    /// The window grows, unless marks have just been answered; the opening segment's
    /// acknowledgement makes it the initial one.
    #[inline(always)] // nearly every acknowledgement
    pub(crate) fn grow_or_open(&mut self, now: u64, delivered: u32, marked: u32) {
        if !self.open {
            self.open_connection();
        } else if !self.window_is_used() {
            self.tell_rule_of_marks(now, delivered, marked);
        } else if marked > 0 || !self.grow_simply(delivered) {
            self.grow_by_rule(now, delivered, marked);
        }
    }

    /// The window grows by the only rule that needs to be told nothing else: most flows of most networks. Return false if
    /// that is not the rule.
    #[inline(always)] // as above
    pub(super) fn grow_simply(&mut self, delivered: u32) -> bool {
        let AnyRule::Additive(rule) = &mut self.rule else { return false };
        let counted = if self.byte_counting { delivered } else { 1 };
        rule.grow_by(f64::from(counted), &mut self.window);
        true
    }

    /// The opening segment has been acknowledged: the window is the initial one.
    #[inline(never)] // once for each connection
    pub(crate) fn open_connection(&mut self) {
        self.open = true;
        // So far only the SYN can have been lost.
        let repetitions = self.counters.timeouts;
        self.window.congestion = self.handshake_loss.window(repetitions, self.initial_window);
    }

    /// Return true if a timeout says something about the network's load: that of a handshake, which carries no data, only as
    /// ns-2 has it. Linux takes back what it did to the threshold (`tcp_init_metrics`).
    pub(crate) fn timeout_tells_of_congestion(&self) -> bool {
        self.open || self.handshake_loss == HandshakeLoss::Timeout
    }

    /// The same for a rule that needs to be told more.
    #[inline(never)] // much code, and rules that say less should not pay for it
    pub(super) fn grow_by_rule(&mut self, now: u64, delivered: u32, marked: u32) {
        if marked == 0 || self.rule.answers_marks() {
            let event = self.acknowledged(now, delivered, marked);
            self.rule.grow(&event, &mut self.window);
        }
    }

    /// News that an acknowledgement of new data tells the window rule.
    #[inline(always)] // rules ask for parts of it
    pub(crate) fn acknowledged(&self, now: u64, delivered: u32, marked: u32) -> Acknowledged {
        Acknowledged {
            now,
            delivered,
            counted: if self.byte_counting { f64::from(delivered) } else { 1.0 },
            marked,
            round_trip: self.timer.last_round_trip(),
            forward_delay: Some(self.forward_delay),
            smoothed_round_trip: self.timer.estimator.smoothed(),
            unacknowledged: self.unacknowledged,
            highest: self.highest,
            in_network: self.flight_size(),
            in_recovery: false,
            lost: 0,
            rate: None,
        }
    }

    /// Quantity reduced at a sign of congestion.
    pub(crate) fn loss_window(&self, load: Load) -> f64 {
        match self.loss_window {
            LossWindow::CongestionWindow => {
                (self.window.congestion + f64::from(load.inflation)).min(self.window.cap)
            }
            LossWindow::FlightSize => f64::from(self.flight_size()),
            LossWindow::Pipe => f64::from(load.pipe),
        }
    }

    /// The window rule's answer to `sign`: the slow start threshold, whole and at least two.
    pub(crate) fn reduce_threshold(&mut self, now: u64, sign: Congestion, base: f64) -> f64 {
        let reduced = self.rule.reduced(now, sign, base, &self.window);
        self.window.slow_start_threshold = whole(reduced).max(2.0);
        reduced
    }

    /// A sign of congestion other than a timeout: reduce the window.
    pub(crate) fn reduce(&mut self, now: u64, sign: Congestion, load: Load) {
        let base = self.loss_window(load);
        let reduced = self.reduce_threshold(now, sign, base);
        if !self.rule.governs_window() {
            self.window.congestion = if self.byte_counting {
                // Who counts in segments has whole windows.
                self.window.slow_start_threshold
            } else if sign == Congestion::Mark {
                // Below one segment nothing is sent until the timer expires.
                reduced
            } else {
                reduced.max(1.0)
            };
        }
        self.marks.announce_reduction();
    }

    /// The reduction for a loss that is repaired without waiting for the timer.
    pub(crate) fn reduce_for_loss(&mut self, now: u64, load: Load) {
        self.reduce(now, Congestion::Loss, load);
        self.last_reduction = Reduction::Loss;
        self.recover = self.highest;
    }

    /// Return true if the losses just noticed belong to a window that was reduced for its marks; they are then
    /// repaired without a further reduction, once.
    pub(crate) fn takes_reduction_for_marks(&mut self) -> bool {
        let takes = self.is_reduced_for_marks();
        if takes {
            self.last_reduction = Reduction::Loss;
        }
        takes
    }

    /// The same where recoveries ask for it only after they have seen that the window was reduced.
    pub(crate) fn takes_last_reduction_for_marks(&mut self) -> bool {
        let takes = self.was_reduced_for_marks_last();
        if takes {
            self.last_reduction = Reduction::Loss;
        }
        takes
    }

    /// Return true if a timeout has reduced that window.
    pub(crate) fn is_repairing_timeout(&self) -> bool {
        self.unacknowledged < self.recover && self.last_reduction == Reduction::Timeout
    }

    /// Return true if marks have reduced the window in which the first outstanding segment was sent.
    pub(crate) fn is_reduced_for_marks(&self) -> bool {
        self.unacknowledged < self.recover && self.was_reduced_for_marks_last()
    }

    /// Return true if the last reduction was for a mark, in whatever window.
    pub(crate) fn was_reduced_for_marks_last(&self) -> bool {
        self.last_reduction == Reduction::Mark
    }
}

/// The whole segments of a window; without the library call that `floor` is on plain x86-64.
#[inline]
fn whole(window: f64) -> f64 {
    f64::from(window as u32)
}
