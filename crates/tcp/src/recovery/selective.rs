use super::by_arrivals::ByArrivals;
use super::judge::{Judge, Repairing};
use super::options::ReductionBound;
use super::proportional::ProportionalReduction;
use super::rack::Rack;
use crate::delivery_rate::DeliveryRate;
use crate::rule::WindowRule;
use crate::scoreboard::Scoreboard;
use crate::sender::flight::Flight;
use crate::sender::state::Load;
use crate::sent::{Sent, SentSegments};
use crate::{Acknowledgement, RoundTripEstimator, SackBlocks, SenderOptions};

mod own_timers;
mod reports;
mod window;

/// News that an acknowledgement has told.
#[derive(Clone, Copy, Debug)]
struct News {
    /// Segments newly known to have arrived.
    delivered: u32,
    /// Segments that count for the window's growth.
    counted: u32,
    /// Segments newly acknowledged.
    newly: u32,
    marked: u32,
    /// Segments newly lost.
    lost: u32,
    /// True if something that had been sent again was acknowledged.
    repaired: bool,
}

/// Losses noticed and repaired by selective acknowledgements.
///
/// Source: RFC 6675 (a segment with three arrivals beyond it is lost; as many segments may be in
/// the network as the window says; lost ones go first, then new ones, then any that have not been
/// reported; one rescue at the end of a flight), RFC 8985 (`rack.rs`), RFC 9937
/// (`proportional.rs`). After a timeout everything that has not been reported is lost, by time only what is overdue, and
/// is sent again in slow start; reports stay valid unless they cover the first outstanding segment: then the receiver
/// has reneged (RFC 2018, section 8), and none of them counts any more.
///
/// Without limited transmit (RFC 3042) the first two duplicate acknowledgements release nothing;
/// with it the reported segments, which have left the network, do.
///
/// When a segment is lost is the matter of its [`Judge`].
///
/// In the order in which it stands in memory, so that what is asked for together is together:
/// for a segment that leaves, the end of the judge, the beginning of the scoreboard, and what is in between.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Selective<J> {
    judge: J,
    reduction: Option<ProportionalReduction>,
    /// In a box of its own: most flows of a large run have none.
    rate: Option<Box<DeliveryRate>>,
    /// Sendings of outstanding segments; kept only for delivery rates, and then for all who ask.
    sent: SentSegments<Sent>,
    in_recovery: bool,
    /// True if a timeout is being repaired: until everything outstanding at it is acknowledged.
    after_timeout: bool,
    /// True if anything was acknowledged since the last timeout.
    progressed: bool,
    /// The first lost segment is sent again whatever is in the network.
    must_repair: bool,
    /// A rescue has been sent in this recovery.
    rescued: bool,
    limited_transmit: bool,
    proportional: Option<ReductionBound>,
    cumulative_counting: bool,
    repairs_with_partial_acknowledgements: bool,
    /// Holes before this have been looked at for rule 3 of NextSeg.
    tried: u32,
    board: Scoreboard,
    /// The blocks that were reported last: what they say is on the scoreboard.
    filed: SackBlocks,
    shortest_round_trip: u64,
}

impl Selective<ByArrivals> {
    /// RFC 6675. `first`: the first segment.
    pub(super) fn by_arrivals(options: &SenderOptions, first: u32) -> Self {
        Self::of(ByArrivals::new(&options.common.repair), options, first)
    }
}

impl Selective<Rack> {
    /// RFC 8985. As above.
    pub(super) fn by_time(options: &SenderOptions, first: u32) -> Self {
        Self::of(Rack::new(options, options.rule.governs_window()), options, first)
    }
}

impl<J: Judge> Selective<J> {
    fn of(judge: J, options: &SenderOptions, first: u32) -> Self {
        let set = &options.common.repair;
        let mut board = Scoreboard::default();
        board.acknowledge(first);
        Self {
            judge,
            reduction: None,
            rate: options.rule.governs_window().then(Box::default),
            sent: SentSegments::default(),
            in_recovery: false,
            after_timeout: false,
            progressed: true,
            must_repair: false,
            rescued: false,
            limited_transmit: set.limited_transmit,
            proportional: set.proportional_rate_reduction.then_some(set.reduction_bound),
            cumulative_counting: options.common.growth.cumulative_counting,
            repairs_with_partial_acknowledgements: set.reduction_bound == ReductionBound::Ns3,
            tried: 0,
            board,
            filed: SackBlocks::default(),
            shortest_round_trip: u64::MAX,
        }
    }

    /// The retransmission timer has expired at `now`: what has not been reported is lost; by time all of it but what
    /// left too late to be overdue, and the first segment in any case.
    pub(super) fn on_timeout(&mut self, flight: &mut Flight, now: u64) {
        let Self { judge, board, sent, rate, .. } = self;
        let first = flight.unacknowledged;
        board.acknowledge(first);
        let reneged = board.has_arrived(first);
        if reneged {
            board.clear();
            self.filed = SackBlocks::default();
        }
        let spared =
            |sequence| !reneged && sequence != first && !judge.is_overdue(now, sequence, sent);
        board.mark_all_lost(flight.highest, spared, |sequence| note_lost(rate, sent, sequence));
        self.in_recovery = false;
        self.after_timeout = true;
        self.progressed = false;
        self.reduction = None;
        self.must_repair = false;
        self.judge.on_timeout();
        flight.whole = false;
    }

    /// Return true if a timeout finds a window that has been reduced already.
    pub(super) fn has_reduced(&self, flight: &Flight) -> bool {
        let (losses, timeout) = (self.in_recovery, self.after_timeout);
        let stalled = timeout && !self.progressed;
        self.judge.has_reduced(flight, Repairing { losses, timeout, stalled })
    }

    /// Segment `sequence` leaves; `again`: not for the first time.
    #[inline(always)] // for every packet, of which most are the same to all that would have to be looked at
    pub(super) fn note_sent(&mut self, flight: &mut Flight, now: u64, sequence: u32, again: bool) {
        let asks_little = self.reduction.is_none() && self.rate.is_none() && !again;
        if J::WATCHES && asks_little && flight.outstanding() > 2 {
            self.judge.note_sent(now, sequence, None);
            // Only from one to two does it matter how many are outstanding.
            self.judge.put_probe_off(now, &flight.timer);
        } else {
            self.note_sent_at_length(flight, now, sequence, again);
        }
    }

    #[inline(never)] // much code in one place would make others slower that are there
    fn note_sent_at_length(&mut self, flight: &mut Flight, now: u64, sequence: u32, again: bool) {
        if let Some(reduction) = &mut self.reduction {
            reduction.note_sent();
        }
        let outstanding = flight.outstanding();
        if let Some(rate) = &mut self.rate {
            let in_network = self.board.in_network(outstanding).saturating_sub(1);
            self.sent.note(sequence, rate.stamp(now, in_network));
        }
        if !J::WATCHES {
            return;
        }
        self.judge.note_sent(now, sequence, again.then_some(flight.highest));
        if again {
            // Linux waits for the repair of the first missing segment from its last sending on
            // (`tcp_xmit_retransmit_queue`, `tcp_rto_delta_us`).
            if sequence == flight.unacknowledged {
                flight.timer.restart(now);
            }
        } else if outstanding > 2 {
            self.judge.put_probe_off(now, &flight.timer);
        } else {
            self.plan_probe(flight, now);
        }
    }

    /// Return true if losses are being repaired, however they were noticed.
    fn is_repairing_anything(&self) -> bool {
        self.in_recovery || self.after_timeout
    }

    /// Marks segments as lost. How many.
    fn find_losses(&mut self, now: u64, clock: &RoundTripEstimator) -> u32 {
        let repairing = self.is_repairing_anything();
        let Self { judge, board, sent, rate, .. } = self;
        let newly = |sequence| note_lost(rate, sent, sequence);
        judge.find_losses(now, board, sent, clock, repairing, newly)
    }

    /// Which segment may leave at `now`: RFC 6675, NextSeg.
    #[inline(always)] // for every packet
    pub(super) fn choose(&mut self, flight: &mut Flight, now: u64) -> Option<u32> {
        if flight.allowance == 0 {
            return None; // not begun
        }
        let outstanding = flight.outstanding();
        let usable = flight.window.congestion;
        if self.board.is_clean() {
            if usable < f64::from(outstanding + 1) || !flight.has_new_data() {
                return None;
            }
            return self.take_next(flight, now, outstanding);
        }
        self.choose_while_some_are_missing(flight, now)
    }

    /// The next new segment, while so many are in the network, unless it waits for others to leave with it.
    #[inline(always)] // as above
    fn take_next(&mut self, flight: &mut Flight, now: u64, in_network: u32) -> Option<u32> {
        let defers =
            !self.is_repairing_anything() && self.judge.defers(now, flight, in_network, &self.sent);
        (!defers).then(|| flight.take_next())
    }

    #[inline(never)] // much code, for few of those who ask
    fn choose_while_some_are_missing(&mut self, flight: &mut Flight, now: u64) -> Option<u32> {
        let (usable, outstanding) = (flight.window.congestion, flight.outstanding());
        if std::mem::take(&mut self.must_repair)
            && let Some(sequence) = self.send_lost_again()
        {
            return Some(sequence);
        }
        let in_network = if self.is_repairing_anything() || self.limited_transmit {
            self.board.in_network(outstanding)
        } else {
            outstanding
        };
        if usable < f64::from(in_network + 1) {
            return None;
        }
        if let Some(sequence) = self.send_lost_again() {
            return Some(sequence);
        }
        if flight.has_new_data() {
            return self.take_next(flight, now, in_network);
        }
        if !self.in_recovery || !J::RESENDS_UNREPORTED {
            return None;
        }
        self.choose_unreported(flight.highest - 1)
    }

    fn send_lost_again(&mut self) -> Option<u32> {
        let sequence = self.board.next_lost()?;
        self.board.note_sent_again(sequence);
        Some(sequence)
    }

    /// NextSeg, rules 3 and 4: what may be lost, then a rescue of the `last` segment.
    fn choose_unreported(&mut self, last: u32) -> Option<u32> {
        if let Some(sequence) = self.board.next_unreported(self.tried) {
            self.tried = sequence + 1;
            self.board.note_sent_again(sequence);
            return Some(sequence);
        }
        if self.rescued || self.board.has_arrived(last) || self.board.is_sent_again(last) {
            return None;
        }
        self.rescued = true;
        self.board.note_sent_again(last);
        Some(last)
    }

    pub(super) fn on_acknowledgement(
        &mut self,
        flight: &mut Flight,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        let plain = marked == 0
            && answer.blocks.is_empty()
            && answer.next_expected > flight.unacknowledged
            && self.misses_nothing();
        if plain {
            self.advance(flight, now, answer);
        } else {
            self.weigh(flight, now, answer, marked);
        }
    }

    /// Return true if nothing is reported, lost or sent again of what is outstanding, no reduction is under way, and no
    /// probe awaits its judgement.
    fn misses_nothing(&self) -> bool {
        self.board.is_clean()
            && !self.is_repairing_anything()
            && self.reduction.is_none()
            && !self.judge.is_probing()
    }

    /// The short way through what [`Self::weigh`] does with any acknowledgement, for the usual one: it
    /// acknowledges new data of a flight of which [nothing is missing](Self::misses_nothing), and says
    /// nothing else. Then what is outstanding was sent once, in the order of its numbers. The last segment
    /// acknowledged is the most recently sent one and had the shortest round trip of those that are, so
    /// that it alone says what all of them would. There is nothing to be found lost, sent again,
    /// judged or ended. A test holds the two ways against each other (`sender/short_way.rs`).
    #[inline(always)] // nearly every acknowledgement
    fn advance(&mut self, flight: &mut Flight, now: u64, answer: &Acknowledgement<'_>) {
        let acknowledged = answer.next_expected;
        let newly = acknowledged - flight.unacknowledged;
        if let Some(rate) = &mut self.rate {
            if flight.next >= flight.available {
                note_limited(rate, &self.board, flight);
            }
            if let Some(sent) = self.sent.get(acknowledged - 1) {
                rate.note_all_delivered(now, newly, sent);
                self.judge.note_arrival(now, acknowledged - 1, false, sent.time);
            } else {
                debug_assert!(false, "segment {} arrives and was not sent", acknowledged - 1);
            }
            self.sent.acknowledge(acknowledged);
        } else {
            self.judge.note_all_delivered(now, acknowledged);
        }
        self.board.acknowledge(acknowledged);
        flight.unacknowledged = acknowledged;
        flight.timer.take(now, answer, flight.highest, false);
        flight.run_timer(now);
        if flight.rule.governs_window() {
            self.tell_governing_rule(flight, now, newly, 0, 0);
        } else {
            flight.grow_or_open(now, newly, 0);
        }
        self.plan_probe(flight, now);
        flight.whole = self.is_whole();
        flight.allowance = u32::MAX;
    }

    /// Any acknowledgement.
    #[inline(never)] // much code, for few of those who ask
    pub(super) fn weigh(
        &mut self,
        flight: &mut Flight,
        now: u64,
        answer: &Acknowledgement<'_>,
        marked: u32,
    ) {
        if flight.whole && answer.blocks.is_empty() {
            return acknowledge_whole(flight, now, answer, marked);
        }
        let first = flight.unacknowledged;
        if answer.next_expected < first {
            return self.weigh_overtaken(flight, now, answer);
        }
        let acknowledged = answer.next_expected;
        if flight.highest == first {
            self.judge_probe(flight, now, acknowledged, answer.blocks.is_empty());
            return; // nothing outstanding
        }
        // What was sent again and has arrived tells of what was sent before it, also if that is the first
        // outstanding segment and nothing is reported.
        let told_by_repairs = J::WATCHES && self.is_repairing_anything();
        if marked > 0 {
            self.answer_marks(flight, now, acknowledged);
        }
        let newly = acknowledged - first;
        if flight.whole {
            self.board.acknowledge(first);
        }
        if flight.next >= flight.available
            && let Some(rate) = &mut self.rate
        {
            note_limited(rate, &self.board, flight);
        }
        let repaired = self.repairs_with_partial_acknowledgements
            && (first..acknowledged).any(|sequence| self.board.is_sent_again(sequence));
        let (delivered, first_report) = self.file(now, answer, first, flight.highest);
        if self.repairs_with_partial_acknowledgements
            && self.in_recovery
            && newly > 0
            && acknowledged < flight.recover
            && !self.board.is_sent_again(acknowledged)
        {
            self.must_repair = true;
        }
        if newly > 0 {
            self.progressed = true;
            flight.unacknowledged = acknowledged;
            flight.timer.take(now, answer, flight.highest, marked > 0);
            if !self.leaves_timer(flight) {
                flight.run_timer(now);
            }
        } else if let Some(segment) = first_report {
            self.time_report(flight, now, segment);
        }
        self.judge_probe(flight, now, acknowledged, newly == 0 && answer.blocks.is_empty());
        let mut counted = if self.cumulative_counting { newly } else { delivered };
        if acknowledged >= flight.recover {
            if self.after_timeout
                && (self.cumulative_counting || self.judge.counts_beyond_timeout())
            {
                counted = acknowledged - flight.recover;
            }
            self.end(flight, acknowledged);
        }
        let mut lost = 0;
        if told_by_repairs || !self.board.is_clean() {
            lost = self.find_losses(now, &flight.timer.estimator);
            if self.board.any_lost() && !self.is_repairing_anything() {
                self.begin(flight, now);
            }
        }
        let news = News { delivered, counted, newly, marked, lost, repaired };
        self.set_window(flight, now, &news);
        self.plan_probe(flight, now);
        flight.whole = self.is_whole();
        flight.allowance = u32::MAX;
    }

    /// An acknowledgement that others have overtaken: what it reports is news all the same, but the window does not hear
    /// of it (Linux: `tcp_ack`, `old_ack`).
    #[cold]
    fn weigh_overtaken(&mut self, flight: &mut Flight, now: u64, answer: &Acknowledgement<'_>) {
        let first = flight.unacknowledged;
        if flight.highest == first || !answer.blocks.iter().any(|block| block.1 > first) {
            return;
        }
        let answer = Acknowledgement { next_expected: first, ..*answer };
        if flight.whole {
            self.board.acknowledge(first);
        }
        self.file(now, &answer, first, flight.highest);
        self.find_losses(now, &flight.timer.estimator);
        if self.board.any_lost() && !self.is_repairing_anything() {
            self.begin(flight, now);
        }
        self.plan_probe(flight, now);
        flight.whole = self.is_whole();
        flight.allowance = u32::MAX;
    }

    /// An acknowledgement tells of marks. Where it ends a recovery it does so first (Linux: `tcp_fastretrans_alert`):
    /// the answer to the marks is a reduction of its own, and begins another window.
    fn answer_marks(&mut self, flight: &mut Flight, now: u64, acknowledged: u32) {
        if acknowledged > flight.recover && !flight.rule.answers_marks() {
            self.end(flight, acknowledged);
        }
        let load = Load::of(self.in_network(flight));
        if let Some(old) = flight.respond_to_marks(now, acknowledged, load) {
            self.spread_reduction(flight, old);
        }
    }

    /// Everything outstanding at the beginning has been acknowledged.
    fn end(&mut self, flight: &mut Flight, acknowledged: u32) {
        self.after_timeout = false;
        // A reduction for marks lasts until something sent after it is acknowledged.
        let over = std::mem::take(&mut self.in_recovery) || acknowledged > flight.recover;
        if over && self.reduction.take().is_some() {
            flight.window.congestion = flight.window.slow_start_threshold;
        }
    }

    /// Return true if the timer runs on although new data has been acknowledged.
    fn leaves_timer(&mut self, flight: &Flight) -> bool {
        self.in_recovery && flight.unacknowledged < flight.recover && self.judge.leaves_timer()
    }

    /// Return true if nothing is missing, and nobody wants to know of every segment.
    fn is_whole(&self) -> bool {
        self.board.is_clean()
            && !self.is_repairing_anything()
            && self.proportional.is_none()
            && !J::WATCHES
            && self.rate.is_none()
    }

    /// Losses have been noticed in a window that was whole: reduce it, and repair them.
    fn begin(&mut self, flight: &mut Flight, now: u64) {
        self.judge.on_begin();
        let pipe = self.in_network(flight);
        self.rescued = false;
        self.tried = 0;
        self.in_recovery = true;
        self.must_repair = true;
        flight.timer.stop_timing();
        if self.judge.restarts_timer() {
            flight.timer.restart(now);
        }
        // Marks have reduced this window already, or losses have: then only repair.
        if flight.takes_reduction_for_marks() {
            return;
        }
        let old = flight.window.congestion;
        flight.reduce_for_loss(now, Load::of(pipe));
        self.spread_reduction(flight, old);
    }

    pub(super) fn in_network(&self, flight: &Flight) -> u32 {
        if flight.whole {
            return flight.outstanding(); // the scoreboard is not kept up to date
        }
        self.board.in_network(flight.outstanding())
    }

    pub(super) fn sacked(&self, _flight: &Flight) -> u32 {
        self.board.arrived()
    }

    pub(super) fn lost(&self, _flight: &Flight) -> u32 {
        self.board.lost()
    }

    pub(super) fn is_repairing(&self) -> bool {
        self.in_recovery
    }

    pub(super) fn is_repairing_timeout(&self, _flight: &Flight) -> bool {
        self.after_timeout
    }
}

/// There is nothing new to send: if that, and not the window or a repair, is what keeps the
/// sender quiet, the delivery rate is the application's.
fn note_limited(rate: &mut DeliveryRate, board: &Scoreboard, flight: &Flight) {
    let in_network = board.in_network(flight.outstanding());
    if f64::from(in_network) < flight.window.congestion && !board.awaits_repair() {
        rate.note_limited(in_network);
    }
}

/// Segment `sequence` is lost, says the scoreboard: the rate sampler wants to know.
fn note_lost(rate: &mut Option<Box<DeliveryRate>>, sent: &SentSegments<Sent>, sequence: u32) {
    let Some(rate) = rate else { return };
    let Some(sent) = sent.get(sequence) else {
        debug_assert!(false, "segment {sequence} is lost and was not outstanding");
        return;
    };
    rate.note_lost(sent);
}

/// Nothing is missing and nothing reported: what is rare is a mark, or a duplicate that says nothing.
fn acknowledge_whole(flight: &mut Flight, now: u64, answer: &Acknowledgement<'_>, marked: u32) {
    let acknowledged = answer.next_expected;
    if marked > 0 {
        flight.respond_to_marks(now, acknowledged, Load::of(flight.flight_size()));
    }
    if acknowledged > flight.unacknowledged {
        flight.advance(now, answer, marked);
        return;
    }
    flight.allowance = u32::MAX;
    // A rule that answers every mark hears of these with the next segment acknowledged.
    if marked > 0 && flight.rule.answers_marks() {
        flight.marks.give_back(marked);
    }
}
