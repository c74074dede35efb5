//! The timers of recovery by time: the tail loss probe, and the wait for what may be overtaken.

use super::{News, Selective};
use crate::recovery::judge::Judge;
use crate::recovery::rack::Rack;
use crate::sender::flight::Flight;
use crate::sender::segmentation::Segmentation;
use crate::sender::state::Load;

impl<J: Judge> Selective<J> {
    /// Plans the tail loss probe (RFC 8985, section 7.2): one goes if nothing is known to be missing.
    pub(super) fn plan_probe(&mut self, flight: &Flight, now: u64) {
        let repairing = self.is_repairing_anything() || !flight.open;
        let outstanding = flight.outstanding();
        let wanted = outstanding > 0 && !repairing && self.board.arrived() == 0;
        self.judge.plan_probe(now, wanted, outstanding, &flight.timer);
    }

    /// Only a report has come, of `segment` that was sent once: its round trip counts, as in Linux, and the timer runs
    /// anew if the first missing segment was sent after it (`tcp_ack_update_rtt`, `tcp_clean_rtx_queue`). Otherwise a
    /// queue that grows quickly lets the timer expire while what it waits for is on its way.
    pub(super) fn time_report(&mut self, flight: &mut Flight, now: u64, segment: u32) {
        let Some(sent) = self.judge.last_sending(segment, &self.sent) else { return };
        flight.timer.take_report(now, sent, flight.unacknowledged, flight.highest);
        let first = self.judge.last_sending(flight.unacknowledged, &self.sent);
        if first.is_some_and(|first| sent < first) {
            flight.timer.restart(now);
        }
    }

    /// An acknowledgement may tell what has become of a probe (RFC 8985, section 7.4.2): if it has
    /// repaired a loss, the window is reduced once, as for a loss that was noticed otherwise.
    pub(super) fn judge_probe(
        &mut self,
        flight: &mut Flight,
        now: u64,
        acknowledged: u32,
        duplicate: bool,
    ) {
        if self.judge.judge_probe(acknowledged, duplicate) {
            flight.reduce_for_loss(now, Load::of(self.in_network(flight)));
        }
    }
}

impl Selective<Rack> {
    /// When something besides the retransmission timer is due, in nanoseconds.
    pub(in crate::recovery) fn deadline(&self) -> u64 {
        self.judge.deadline()
    }

    /// See [`AnyRecovery::makes_bursts`](crate::recovery::AnyRecovery::makes_bursts).
    pub(in crate::recovery) fn makes_bursts(&self) -> bool {
        self.judge.makes_bursts()
    }

    /// See [`AnyRecovery::segmentation`](crate::recovery::AnyRecovery::segmentation).
    pub(in crate::recovery) fn segmentation(&mut self) -> Option<(&mut Segmentation, u64)> {
        self.judge.segmentation()
    }

    /// Return true if a tail loss probe is due, which goes before a timeout that is due as well.
    pub(in crate::recovery) fn probe_is_due(&self, now: u64) -> bool {
        self.judge.probe_is_due(now)
    }

    /// A probe may be due, or losses whose waiting time is over.
    pub(in crate::recovery) fn on_timer(&mut self, flight: &mut Flight, now: u64) {
        if self.judge.probe_is_due(now) {
            self.send_probe(flight, now);
        } else if self.judge.take_reordering_timer(now) {
            let lost = self.find_losses(now, &flight.timer.estimator);
            if lost > 0 && !self.is_repairing_anything() {
                self.begin(flight, now);
                // As if one had been delivered: the lost segments leave as slowly as after an
                // acknowledgement (Linux: tcp_rack_reo_timeout).
                let (counted, newly, marked, repaired) = (0, 0, 0, false);
                let news = News { delivered: 1, counted, newly, marked, lost, repaired };
                self.reduce_proportionally(flight, &news);
            }
        }
    }

    /// RFC 8985, section 7.3: a new segment if there is one, else the last one again.
    fn send_probe(&mut self, flight: &mut Flight, now: u64) {
        flight.drop_repair();
        let again = !flight.has_new_data();
        let sequence = if again { flight.highest - 1 } else { flight.take_next() };
        if again {
            self.board.note_sent_again(sequence);
        }
        flight.repair = Some(sequence);
        self.judge.note_probe(flight.next.max(flight.highest), again);
        flight.timer.restart(now);
    }
}
