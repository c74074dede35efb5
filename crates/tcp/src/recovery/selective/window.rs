//! What acknowledgements do to the window of a sender that has selective ones: it falls over a round trip, grows,
//! or is its rule's own business.

use super::{News, Selective};
use crate::AnyRule;
use crate::recovery::judge::Judge;
use crate::recovery::options::ReductionBound;
use crate::recovery::proportional::ProportionalReduction;
use crate::rule::{Acknowledged, WindowRule};
use crate::sender::flight::Flight;

impl<J: Judge> Selective<J> {
    /// Lets the window fall from `old` to the threshold over a round trip, if so told.
    pub(super) fn spread_reduction(&mut self, flight: &mut Flight, old: f64) {
        let Some(bound) = self.proportional else { return }; // it has fallen at once
        if flight.rule.governs_window() {
            return;
        }
        let base = match bound {
            // What the receiver does not allow was never in the network.
            ReductionBound::Published => old.min(flight.window.cap),
            ReductionBound::Ns3 => f64::from(flight.outstanding()),
        };
        self.reduction = Some(ProportionalReduction::new(base, bound));
        flight.window.congestion = old;
    }

    /// The window after an acknowledgement.
    pub(super) fn set_window(&mut self, flight: &mut Flight, now: u64, news: &News) {
        if !flight.rule.governs_window() {
            let reducing = self.reduce_proportionally(flight, news);
            // Only ns-3's rule 2 leaves new data that counts for nothing.
            let nothing = news.counted == 0 && flight.open && !flight.byte_counting;
            let told = news.newly > 0 && !(self.in_recovery || reducing || nothing)
                || flight.rule.answers_marks() && (news.delivered > 0 || news.marked > 0);
            if told {
                self.grow_or_open(flight, now, news);
            }
            return;
        }
        self.tell_governing_rule(flight, now, news.delivered, news.marked, news.lost);
    }

    /// A rule that sets the window alone hears of what was delivered, marked and lost, and how fast.
    pub(super) fn tell_governing_rule(
        &mut self,
        flight: &mut Flight,
        now: u64,
        delivered: u32,
        marked: u32,
        lost: u32,
    ) {
        if let Some(round_trip) = flight.timer.last_round_trip() {
            self.shortest_round_trip = self.shortest_round_trip.min(round_trip);
        }
        if delivered == 0 && lost == 0 {
            return;
        }
        if !flight.open {
            flight.open_connection();
        }
        if !matches!(flight.rule, AnyRule::Bbr(_)) {
            return self.tell_other_rule(flight, now, delivered, marked, lost);
        }
        // In place, so that what BBR is told need not be written to memory, and what it does not ask for is not
        // looked up.
        let event = self.news_for_rule(flight, now, delivered, marked, lost);
        if let AnyRule::Bbr(rule) = &mut flight.rule {
            rule.hear(&event, &mut flight.window);
        }
    }

    /// Another rule hears of the same.
    #[inline(never)]
    fn tell_other_rule(
        &mut self,
        flight: &mut Flight,
        now: u64,
        delivered: u32,
        marked: u32,
        lost: u32,
    ) {
        let event = self.news_for_rule(flight, now, delivered, marked, lost);
        flight.rule.grow(&event, &mut flight.window);
    }

    #[inline(always)] // see above
    fn news_for_rule(
        &mut self,
        flight: &Flight,
        now: u64,
        delivered: u32,
        marked: u32,
        lost: u32,
    ) -> Acknowledged {
        let shortest = self.shortest_round_trip;
        Acknowledged {
            rate: self.rate.as_mut().and_then(|rate| rate.take_sample(shortest)),
            lost,
            in_recovery: self.is_repairing_anything(),
            in_network: self.board.in_network(flight.outstanding()),
            ..flight.acknowledged(now, delivered, marked)
        }
    }

    fn grow_or_open(&mut self, flight: &mut Flight, now: u64, news: &News) {
        if !flight.open || !self.in_recovery {
            flight.grow_or_open(now, news.counted, news.marked);
            return;
        }
        let mut event = flight.acknowledged(now, news.counted, news.marked);
        event.in_recovery = true;
        flight.rule.grow(&event, &mut flight.window);
    }

    /// Return true if the window is falling over a round trip; then it falls.
    pub(super) fn reduce_proportionally(&mut self, flight: &mut Flight, news: &News) -> bool {
        let Some(reduction) = &mut self.reduction else { return false };
        if news.delivered > 0 {
            let in_network = self.board.in_network(flight.outstanding());
            let threshold = flight.window.slow_start_threshold;
            let progress = if self.repairs_with_partial_acknowledgements {
                news.repaired
            } else {
                news.newly > 0 && news.lost == 0
            };
            flight.window.congestion =
                reduction.window(in_network, threshold, news.delivered, progress).max(1.0);
        }
        true
    }
}
