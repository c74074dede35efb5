//! Losses noticed and repaired by selective acknowledgements.
//!
//! Source: RFC 6675 (a segment with three arrivals beyond it is lost; as many segments may be in
//! the network as the window says; lost ones go first, then new ones, then any that have not been
//! reported; one rescue at the end of a flight), RFC 8985 (`rack.rs`), RFC 9937
//! (`proportional.rs`). After a timeout everything that has not been reported is lost and is sent
//! again in slow start; reports stay valid (receivers here never renege).
//!
//! Without limited transmit (RFC 3042) the first two duplicate acknowledgements release nothing;
//! with it the reported segments, which have left the network, do.
//!
//! Rules of ns-3.37 (`tcp-socket-base.cc`), where one asks for them with `recovery_dialect`:
//! 1. Recovery does not restart the retransmission timer when it begins, and only its first partial
//!    acknowledgement does (the "impatient" variant of RFC 6582). Repairs that take longer than the
//!    timeout end in slow start, and what was on its way is sent a second time.
//! 2. The acknowledgement that ends the repair of a timeout counts for what it covers beyond the point
//!    of recovery: as a rule for nothing, and the window does not grow.
//! 3. Every timeout sets the threshold anew, also one while an earlier one is being repaired.

use super::proportional::ProportionalReduction;
use super::rack::Rack;
use super::{Reduction, Sender, SenderOptions};
use crate::delivery_rate::DeliveryRate;
use crate::rule::{Congestion, WindowRule};
use crate::scoreboard::Scoreboard;
use crate::sent::{Sent, SentSegments};
use crate::{Acknowledgement, Recovery, RoundTripEstimator};

/// What a sender that reads selective acknowledgements keeps besides.
#[derive(Clone, Debug)]
pub struct Selective {
    pub(super) board: Scoreboard,
    /// Segments in the network by the count of `sack1.rs`.
    pub(super) pipe: i64,
    /// Sendings of outstanding segments; kept only for those who ask for them.
    sent: SentSegments,
    // In boxes of their own: most flows of a large run have neither.
    rate: Option<Box<DeliveryRate>>,
    rack: Option<Box<Rack>>,
    reduction: Option<ProportionalReduction>,
    proportional: bool,
    /// Whether a timeout is being repaired: until everything outstanding at it is acknowledged.
    pub(super) after_timeout: bool,
    /// The first lost segment is sent again whatever is in the network.
    must_repair: bool,
    /// A rescue has been sent in this recovery.
    rescued: bool,
    /// Holes before this have been sent again already, or looked at for rule 3 of NextSeg.
    pub(super) tried: u32,
    shortest_round_trip: u64,
}

impl Selective {
    pub(super) fn new(options: &SenderOptions, first: u32) -> Self {
        let mut board = Scoreboard::default();
        board.acknowledge(first);
        Self {
            board,
            pipe: 0,
            sent: SentSegments::default(),
            rate: options.rule.governs_window().then(Box::default),
            rack: (options.recovery == Recovery::Rack)
                .then(|| Box::new(Rack::new(options.switches.tail_loss_probe))),
            reduction: None,
            proportional: options.switches.proportional_rate_reduction,
            after_timeout: false,
            must_repair: false,
            rescued: false,
            tried: 0,
            shortest_round_trip: u64::MAX,
        }
    }

    /// When something besides the retransmission timer is due, in nanoseconds.
    #[inline]
    pub(super) fn deadline(&self) -> u64 {
        self.rack.as_ref().map_or(u64::MAX, |rack| rack.deadline())
    }

    pub(super) fn is_repairing_timeout(&self) -> bool {
        self.after_timeout
    }

    /// The retransmission timer has expired; `forget`: what was reported counts no more.
    pub(super) fn on_timeout(&mut self, unacknowledged: u32, highest: u32, forget: bool) {
        if forget {
            self.board.clear();
            self.board.acknowledge(unacknowledged);
            self.after_timeout = true;
            return;
        }
        let Self { board, sent, rate, .. } = self;
        board.acknowledge(unacknowledged);
        board.mark_all_lost(highest, |sequence| note_lost(rate, sent, sequence));
        self.after_timeout = true;
        self.reduction = None;
        self.must_repair = false;
        if let Some(rack) = &mut self.rack {
            rack.disarm();
        }
    }

    /// A segment leaves while `outstanding` are not acknowledged, it included.
    #[inline]
    pub(super) fn note_sent(&mut self, now: u64, sequence: u32, outstanding: u32) {
        if let Some(reduction) = &mut self.reduction {
            reduction.note_sent();
        }
        if self.rack.is_none() && self.rate.is_none() {
            return;
        }
        let in_network = self.board.in_network(outstanding).saturating_sub(1);
        let sent = match &mut self.rate {
            Some(rate) => rate.stamp(now, in_network),
            None => Sent { time: now, ..Sent::default() },
        };
        self.sent.note(sequence, sent);
        if let Some(rack) = &mut self.rack {
            rack.note_sent(now, sequence);
        }
    }

    /// Whether the probe has to be planned because a new segment leaves, `outstanding` with it.
    #[inline]
    pub(super) fn plans_probes(&self, now: u64, outstanding: u32) -> bool {
        self.rack.as_ref().is_some_and(|rack| !rack.has_planned(now, outstanding))
    }

    /// There is nothing new to send: if that, and not the window or a repair, is what keeps the
    /// sender quiet, the delivery rate is the application's.
    fn note_limited(&mut self, outstanding: u32, window: f64) {
        if let Some(rate) = &mut self.rate {
            let in_network = self.board.in_network(outstanding);
            if f64::from(in_network) < window && !self.board.awaits_repair() {
                rate.note_limited(in_network);
            }
        }
    }

    /// Files the reports of an acknowledgement. How many segments are newly known to have arrived.
    #[inline]
    fn file(&mut self, now: u64, answer: &Acknowledgement<'_>, first: u32, highest: u32) -> u32 {
        let Self { board, sent, rate, rack, .. } = self;
        let mut delivered = 0;
        let tracked = rack.is_some() || rate.is_some();
        let mut note = |sequence: u32, again: bool| {
            if let Some(sent) = sent.get(sequence) {
                if let Some(rate) = rate {
                    rate.note_delivered(now, sent);
                }
                if let Some(rack) = rack {
                    rack.note_delivered(now, sequence, sent.time, again);
                }
            }
        };
        let acknowledged = answer.next_expected;
        if acknowledged > first {
            if tracked {
                for sequence in first..acknowledged {
                    if !board.has_arrived(sequence) {
                        note(sequence, board.is_sent_again(sequence));
                    }
                }
            }
            delivered += board.acknowledge(acknowledged);
        }
        for &(begin, after) in answer.blocks {
            board.report(begin, after.min(highest), |sequence, again| {
                delivered += 1;
                note(sequence, again);
            });
        }
        if tracked && acknowledged > first {
            sent.acknowledge(acknowledged);
            if let Some(rack) = rack {
                rack.forget_before(acknowledged);
            }
        }
        delivered
    }

    /// Marks segments as lost. How many.
    fn find_losses(&mut self, now: u64, clock: &RoundTripEstimator, repairing: bool) -> u32 {
        let Self { board, sent, rate, rack, .. } = self;
        let newly = |sequence| note_lost(rate, sent, sequence);
        match rack {
            Some(rack) => rack.find_losses(now, board, sent, clock, repairing, newly),
            None => board.judge_by_arrivals(newly),
        }
    }
}

/// Segment `sequence` is lost, says the scoreboard: the rate sampler wants to know.
fn note_lost(rate: &mut Option<Box<DeliveryRate>>, sent: &SentSegments, sequence: u32) {
    if let Some(rate) = rate
        && let Some(sent) = sent.get(sequence)
    {
        rate.note_lost(sent);
    }
}

impl Sender {
    /// Which segment may leave: RFC 6675, NextSeg.
    #[inline]
    pub(super) fn choose_selectively(&mut self) -> Option<u32> {
        if self.allowance == 0 {
            return None; // not begun
        }
        let selective = self.selective.as_mut()?;
        let board = &mut selective.board;
        let outstanding = self.next - self.unacknowledged;
        let usable = self.window.congestion as u32;
        let new_data = self.next < self.available && f64::from(outstanding) < self.window.cap;
        if board.is_clean() {
            if outstanding >= usable || !new_data {
                return None;
            }
            self.next += 1;
            return Some(self.next - 1);
        }
        if selective.must_repair {
            selective.must_repair = false;
            if let Some(sequence) = board.next_lost() {
                board.note_sent_again(sequence);
                return Some(sequence);
            }
        }
        let repairing = self.in_recovery || selective.after_timeout;
        let in_network = if repairing || self.switches.limited_transmit {
            board.in_network(outstanding)
        } else {
            outstanding
        };
        if in_network >= usable {
            return None;
        }
        if let Some(sequence) = board.next_lost() {
            board.note_sent_again(sequence);
            return Some(sequence);
        }
        if new_data {
            self.next += 1;
            return Some(self.next - 1);
        }
        // By time only what is known to be lost is sent again.
        if !self.in_recovery || selective.rack.is_some() {
            return None;
        }
        if let Some(sequence) = board.next_unreported(selective.tried) {
            selective.tried = sequence + 1;
            board.note_sent_again(sequence);
            return Some(sequence);
        }
        let last = self.highest - 1;
        if selective.rescued || board.has_arrived(last) || board.is_sent_again(last) {
            return None;
        }
        selective.rescued = true;
        board.note_sent_again(last);
        Some(last)
    }

    /// An acknowledgement for a sender that reads selective ones.
    pub(super) fn acknowledge_selectively(
        &mut self,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        let acknowledged = answer.next_expected;
        let first = self.unacknowledged;
        if acknowledged < first {
            return; // overtaken
        }
        if self.highest == first {
            self.judge_probe(now, acknowledged, answer.blocks.is_empty());
            return; // nothing outstanding
        }
        if marked > 0 {
            self.respond_to_marks(now, acknowledged);
        }
        let newly = acknowledged - first;
        let outstanding = self.next - first;
        let idle = self.next >= self.available;
        let Some(selective) = &mut self.selective else { return };
        if self.in_order {
            selective.board.acknowledge(first);
        }
        if idle {
            selective.note_limited(outstanding, self.window.congestion);
        }
        let repaired = self.switches.bound_of_ns3
            && (first..acknowledged).any(|sequence| selective.board.is_sent_again(sequence));
        let delivered = selective.file(now, answer, first, self.highest);
        // ns-3 sends a lost segment again with every partial acknowledgement, unless the first one has been.
        if self.switches.bound_of_ns3
            && self.in_recovery
            && newly > 0
            && acknowledged < self.recover
            && !selective.board.is_sent_again(acknowledged)
        {
            selective.must_repair = true;
        }
        if newly > 0 {
            self.unacknowledged = acknowledged;
            self.time_round_trip(now, answer, marked > 0);
            if !self.leaves_timer(acknowledged) {
                self.deadline = if acknowledged < self.highest || self.next < self.available {
                    self.round_trip.expiry(now)
                } else {
                    u64::MAX
                };
            }
        }
        self.judge_probe(now, acknowledged, newly == 0 && answer.blocks.is_empty());
        let Some(selective) = &mut self.selective else { return };
        if let Some(round_trip) = self.last_round_trip {
            selective.shortest_round_trip = selective.shortest_round_trip.min(round_trip);
        }
        let mut counted = if self.switches.cumulative_counting { newly } else { delivered };
        if acknowledged >= self.recover {
            let beyond = self.switches.cumulative_counting || self.switches.recovery_of_ns3;
            if selective.after_timeout && beyond {
                counted = acknowledged - self.recover;
            }
            selective.after_timeout = false;
            // A reduction for marks lasts until something sent after it is acknowledged.
            let over = self.in_recovery || acknowledged > self.recover;
            self.in_recovery = false;
            if over && selective.reduction.take().is_some() {
                self.window.congestion = self.window.slow_start_threshold;
            }
        }
        let mut lost = 0;
        if !selective.board.is_clean() {
            let repairing = self.in_recovery || selective.after_timeout;
            lost = selective.find_losses(now, &self.round_trip, repairing);
            if selective.board.any_lost() && !repairing {
                self.begin_recovery(now);
            }
        }
        self.set_window(now, [delivered, counted], newly, marked, lost, repaired);
        self.plan_probe(now);
        self.in_order = self.nothing_is_missing();
        self.allowance = u32::MAX;
    }

    /// Whether the timer runs on although new data has been acknowledged: rule 1 of ns-3.
    fn leaves_timer(&mut self, acknowledged: u32) -> bool {
        self.switches.recovery_of_ns3
            && self.in_recovery
            && acknowledged < self.recover
            && std::mem::replace(&mut self.partial_seen, true)
    }

    fn nothing_is_missing(&self) -> bool {
        !self.in_recovery
            && self.selective.as_ref().is_some_and(|selective| {
                selective.board.is_clean()
                    && !selective.after_timeout
                    && !selective.proportional
                    && selective.rack.is_none()
                    && selective.rate.is_none()
            })
    }

    /// Losses have been noticed in a window that was whole: reduce it, and repair them.
    pub(super) fn begin_recovery(&mut self, now: u64) {
        let Some(selective) = &mut self.selective else { return };
        if let Some(rack) = &mut selective.rack {
            rack.forget_probe();
        }
        selective.rescued = false;
        selective.tried = 0;
        self.in_recovery = true;
        self.timed = None;
        self.partial_seen = false;
        if !self.switches.recovery_of_ns3 {
            self.deadline = self.round_trip.expiry(now);
        }
        // Marks have reduced this window already, or losses have: then only repair.
        if self.unacknowledged < self.recover && self.last_reduction == Reduction::Mark {
            self.last_reduction = Reduction::Loss;
            selective.must_repair = true;
            return;
        }
        let old = self.window.congestion;
        self.reduce(now, Congestion::Loss);
        self.last_reduction = Reduction::Loss;
        self.recover = self.highest;
        let Some(selective) = &mut self.selective else { return };
        selective.must_repair = true;
        self.spread_reduction(old);
    }

    /// Lets the window fall from `old` to the threshold over a round trip, if so told.
    pub(super) fn spread_reduction(&mut self, old: f64) {
        if let Some(selective) = &mut self.selective
            && selective.proportional
            && !self.rule.governs_window()
        {
            selective.reduction = Some(if self.switches.bound_of_ns3 {
                ProportionalReduction::as_in_ns3(f64::from(self.next - self.unacknowledged))
            } else {
                // What the receiver does not allow was never in the network.
                ProportionalReduction::new(old.min(self.window.cap))
            });
            self.window.congestion = old;
        } else if self.counted.is_some() {
            self.spread_counted_reduction(old);
        }
    }

    /// The window after an acknowledgement.
    #[inline]
    fn set_window(
        &mut self,
        now: u64,
        [delivered, counted]: [u32; 2],
        newly: u32,
        marked: u32,
        lost: u32,
        repaired: bool,
    ) {
        let in_recovery = self.in_recovery;
        if !self.rule.governs_window() {
            let reducing = self.reduce_proportionally(delivered, newly, lost, repaired);
            // Only ns-3's rule 2 leaves new data that counts for nothing.
            let nothing = counted == 0 && self.open && !self.switches.byte_counting;
            let told = newly > 0 && !(in_recovery || reducing || nothing)
                || self.rule.answers_marks() && (delivered > 0 || marked > 0);
            if told {
                self.grow_or_open_selectively(now, counted, marked);
            }
            return;
        }
        if delivered == 0 && lost == 0 {
            return;
        }
        let Some(selective) = &mut self.selective else { return };
        let shortest = selective.shortest_round_trip;
        let rate = selective.rate.as_mut().and_then(|rate| rate.take_sample(shortest));
        let outstanding = self.next - self.unacknowledged;
        let in_network = selective.board.in_network(outstanding);
        let repairing = in_recovery || selective.after_timeout;
        if !self.open {
            self.open = true;
            self.window.congestion = self.initial_window;
        }
        let mut event = self.acknowledged(now, delivered, marked);
        (event.rate, event.lost, event.in_recovery) = (rate, lost, repairing);
        event.in_network = in_network;
        self.rule.grow(&event, &mut self.window);
    }

    fn grow_or_open_selectively(&mut self, now: u64, delivered: u32, marked: u32) {
        let in_recovery = self.in_recovery;
        if !self.open || !in_recovery {
            self.grow_or_open(now, delivered, marked);
            return;
        }
        let mut event = self.acknowledged(now, delivered, marked);
        event.in_recovery = true;
        self.rule.grow(&event, &mut self.window);
    }

    /// Whether the window is falling over a round trip; then it falls.
    fn reduce_proportionally(
        &mut self,
        delivered: u32,
        newly: u32,
        lost: u32,
        repaired: bool,
    ) -> bool {
        let outstanding = self.next - self.unacknowledged;
        let threshold = self.window.slow_start_threshold;
        let Some(selective) = &mut self.selective else { return false };
        let in_network = selective.board.in_network(outstanding);
        let Some(reduction) = &mut selective.reduction else { return false };
        if delivered > 0 {
            let progress =
                if self.switches.bound_of_ns3 { repaired } else { newly > 0 && lost == 0 };
            self.window.congestion =
                reduction.window(in_network, threshold, delivered, progress).max(1.0);
        }
        true
    }

    /// Plans the tail loss probe (RFC 8985, section 7.2): one goes if nothing is known to be missing.
    pub(super) fn plan_probe(&mut self, now: u64) {
        let repairing = self.in_recovery || !self.open;
        let Some(selective) = &mut self.selective else { return };
        let Some(rack) = &mut selective.rack else { return };
        let outstanding = self.next - self.unacknowledged;
        let idle = outstanding == 0 || repairing || selective.after_timeout;
        let wanted = !idle && selective.board.arrived() == 0;
        let smoothed = self.round_trip.smoothed();
        rack.plan_probe(now, wanted, smoothed, outstanding, self.deadline, &self.round_trip);
    }

    /// An acknowledgement may tell what has become of a probe (RFC 8985, section 7.4.2): if it has
    /// repaired a loss, the window is reduced once, as for a loss that was noticed otherwise.
    fn judge_probe(&mut self, now: u64, acknowledged: u32, duplicate: bool) {
        let Some(selective) = &mut self.selective else { return };
        let Some(rack) = &mut selective.rack else { return };
        if rack.judge_probe(acknowledged, duplicate) {
            self.reduce(now, Congestion::Loss);
            self.last_reduction = Reduction::Loss;
            self.recover = self.highest;
        }
    }

    /// Whether a tail loss probe is due, which goes before a timeout that is due as well.
    pub(super) fn probe_is_due(&self, now: u64) -> bool {
        self.selective.as_ref().is_some_and(|selective| {
            selective.rack.as_ref().is_some_and(|rack| rack.probe_is_due(now))
        })
    }

    /// Something other than the retransmission timer was due: pacing, a probe, or losses whose
    /// waiting time is over.
    pub(super) fn on_other_timer(&mut self, now: u64) {
        let Some(selective) = &mut self.selective else { return };
        let Some(rack) = &mut selective.rack else { return };
        if rack.probe_is_due(now) {
            self.send_probe(now);
        } else if rack.take_reordering_timer(now) {
            let repairing = self.in_recovery || selective.after_timeout;
            let lost = selective.find_losses(now, &self.round_trip, repairing);
            if lost > 0 && !repairing {
                self.begin_recovery(now);
                // As if one had been delivered: the lost segments leave as slowly as after an
                // acknowledgement (Linux: tcp_rack_reo_timeout).
                self.reduce_proportionally(1, 0, lost, false);
            }
        }
    }

    /// RFC 8985, section 7.3: a new segment if there is one, else the last one again.
    fn send_probe(&mut self, now: u64) {
        let outstanding = self.next - self.unacknowledged;
        let again = self.next >= self.available || f64::from(outstanding) >= self.window.cap;
        let Some(selective) = &mut self.selective else { return };
        if again {
            self.repair = Some(self.highest - 1);
            selective.board.note_sent_again(self.highest - 1);
        } else {
            self.repair = Some(self.next);
            self.next += 1;
        }
        if let Some(rack) = &mut selective.rack {
            rack.note_probe(self.next.max(self.highest), again);
        }
        self.deadline = self.round_trip.expiry(now);
    }
}
