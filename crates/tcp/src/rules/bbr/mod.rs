mod bounds;
mod cycle;
mod filters;
mod model;
mod probe_rtt;
mod report;
mod signals;
mod startup;
mod state;
#[cfg(test)]
mod tests;

use crate::Window;
use crate::numbers::{greater, lesser, real};
use crate::rule::{Acknowledged, Congestion, WindowRule};
use model::Model;
use report::Report;
use state::{LEAST_WINDOW, State};

/// Share of the bandwidth at which BBR paces: 1 % below it (BBR.PacingMarginPercent).
const PACING_SHARE: f64 = 0.99;

/// Round trip before any is known, in nanoseconds, for the first pacing rate.
const NOMINAL_ROUND_TRIP: u64 = 1_000_000;

/// BBR, version 3: the window and the pacing rate follow a model of the path instead of losses.
///
/// Source: draft-ietf-ccwg-bbr (N. Cardwell, I. Swett, J. Beshay), in the version of August 2026
/// with precautionary bandwidth probing. The model is what was delivered at most (`filters.rs`:
/// bandwidth over two probing cycles, aggregation over ten rounds), the shortest round trip of ten
/// seconds (`probe_rtt.rs`), and bounds learned from losses (`bounds.rs`): a long-term one on what is
/// in the network, found while probing, and short-term ones on rate and volume, forgotten before
/// each probe. The state machine (`state.rs`, `startup.rs`, `cycle.rs`) sets gains upon the model.
/// Names of the draft are spelled out: `inflight_longterm` is `Model::long_term_volume`,
/// `full_bw_reached` is `Model::filled`, and so on.
///
/// Departures from the draft, and readings where it leaves room:
/// 1. Segments are sent one by one: the send quantum is one segment, and there is no offload budget
///    (it would be below the least window of four segments).
/// 2. Nothing is undone after a spurious recovery: no path here reorders, and a spurious timeout is
///    not detected.
/// 3. The random part of the wait between probes is not drawn but mixed from the time and the count of
///    deliveries (`numbers.rs`): rules have no random stream, and flows that start at different times
///    must not probe together. The same run gives the same waits.
/// 4. Lost segments are judged with the next acknowledgement, one for each: the one by which losses
///    became too many (`delivery_rate.rs`). For those that a timer finds that is a moment later.
/// 5. The round trip is that of the timestamp echoed, which under delayed acknowledgements is of the
///    first segment covered, not of the last.
/// 6. What is to be done before sending after an idle time happens with the first acknowledgement
///    after it; that flight is paced at the gain of its state instead of 1.
/// 7. Startup's "six stretches lost" are six acknowledgements that reveal losses, as in Linux.
/// 8. The bandwidth filter does not advance past a cycle without any sample, as in Linux.
/// 9. The draft leaves marks open, but wants them treated as congestion where data is ECN-capable: here
///    one window's marks count as a loss in it, and as too many losses while probing. As with losses,
///    that slows BBR much less than Reno: what was delivered remains the floor.
/// 10. Whether a probe has reached the long-term bound is asked of what was in the network before the
///     acknowledgement, as in Linux: after it there is always room for a segment.
///
/// Boxed: it is many times larger than the other rules.
#[derive(Clone, Debug, Default)]
pub struct Bbr(Box<Model>);

impl WindowRule for Bbr {
    #[inline(never)]
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        self.hear(event, window);
    }

    fn reduced(&mut self, _now: u64, sign: Congestion, _base: f64, window: &Window) -> f64 {
        match sign {
            Congestion::Mark => self.0.marked = true,
            Congestion::Loss | Congestion::Timeout => self.0.save_window(window.congestion),
        }
        window.cap
    }

    fn governs_window(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.0.pacing_rate > 0.0).then_some(self.0.pacing_rate)
    }
}

impl Bbr {
    /// The same as [`WindowRule::grow`], in place.
    ///
    /// The news is in the registers of the processor, as far as they suffice, unless it is
    /// handed to a call: then all of it is written to memory first. So what happens with every
    /// acknowledgement is in place here, and what is rare gets a copy ([`Report::apart`]).
    #[inline(always)]
    pub(crate) fn hear(&mut self, event: &Acknowledged, window: &mut Window) {
        let model = &mut *self.0;
        if !model.begun {
            model.begin(event.now, event.round_trip, window.congestion);
            if event.unacknowledged <= 1 {
                return; // only the handshake was acknowledged
            }
        }
        let Some(mut report) = model.report(event, window.congestion) else {
            model.signals.note_loss();
            return;
        };
        model.update(&mut report, window);
        model.set_pacing_rate();
        model.set_window(&report, window);
    }
}

impl Model {
    /// The first acknowledgement, of the handshake if there was one.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, now: u64, round_trip: Option<u64>, window: f64) {
        self.begun = true;
        self.initial_window = window;
        self.shortest_round_trip = round_trip.unwrap_or(u64::MAX);
        self.shortest_round_trip_at = now;
        self.probe.begin(now);
        self.aggregation.begin(now);
        let round_trip = round_trip.unwrap_or(NOMINAL_ROUND_TRIP).max(1);
        self.pacing_rate = State::Startup.pacing_gain() * window * 1e9 / round_trip as f64;
    }

    /// News that an acknowledgement tells; `None` if it delivers nothing.
    #[inline(always)]
    fn report(&mut self, event: &Acknowledged, window: f64) -> Option<Report> {
        let sample = event.rate?;
        let before = event.in_network + event.delivered + event.lost;
        let in_network_before = f64::from(before);
        // Whether it is no less than the window's whole segments, which take longer to count.
        if in_network_before + 1.0 > window {
            self.window_full_before = sample.delivered + 1;
        }
        Some(Report {
            now: event.now,
            newly: f64::from(event.delivered),
            delivered: sample.delivered,
            prior_delivered: sample.prior_delivered,
            rate: sample.rate.unwrap_or(0.0),
            volume: real(sample.delivered - sample.prior_delivered),
            in_network: f64::from(event.in_network),
            in_network_before,
            sent_in_network: f64::from(sample.sent_in_network),
            lost: real(sample.lost),
            application_limited: sample.application_limited
                || self.probe.limits(sample.prior_delivered),
            round_trip: event.round_trip,
            in_recovery: event.in_recovery,
            losses: event.lost > 0 || sample.loss.is_some(),
            loss: sample.loss,
            after_idle: sample.application_limited && sample.sent_in_network == 1,
            window,
            window_full: sample.prior_delivered < self.window_full_before,
        })
    }

    /// `UpdateModelAndState`, after the losses that the acknowledgement reveals.
    #[inline(always)]
    fn update(&mut self, report: &mut Report, window: &mut Window) {
        if self.recovering && !report.in_recovery {
            self.restore_window(window);
        }
        self.recovering = report.in_recovery;
        self.handle_losses(report);
        let report = &*report;
        self.signals.update(report);
        self.update_round(report);
        self.update_bandwidth(report);
        self.adapt_short_term_bounds(report);
        self.update_aggregation(report);
        self.check_full_pipe(report);
        if matches!(self.state, State::Startup | State::Drain) {
            self.check_early_states(&report.apart());
        }
        self.update_cycle(report);
        self.update_shortest_round_trip(report);
        if self.probe.is_expired() || self.state == State::ProbeRoundTrip {
            self.check_round_trip_probe(&report.apart(), window);
        }
        self.signals.advance(report);
        self.usable_bandwidth = lesser(self.bandwidth.get(), self.short_term_bandwidth);
    }

    /// Counts packet-timed rounds.
    #[inline(always)]
    fn update_round(&mut self, report: &Report) {
        self.round_start = report.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round(report);
            self.round_count += 1;
            self.cycle.rounds_since_probe += 1;
        }
    }

    #[inline(always)]
    fn start_round(&mut self, report: &Report) {
        self.next_round_delivered = report.delivered;
    }

    #[inline(always)]
    fn update_bandwidth(&mut self, report: &Report) {
        let known = self.bandwidth.get();
        if report.rate > 0.0 && (report.rate >= known || !report.application_limited) {
            self.bandwidth.add(report.rate);
        }
    }

    #[inline(always)]
    fn update_aggregation(&mut self, report: &Report) {
        if self.round_start {
            let rounds = if self.filled { filters::AGGREGATION_ROUNDS } else { 1 };
            self.aggregation.begin_round(self.round_count, rounds);
        }
        self.aggregation.add(report.now, report.newly, self.usable_bandwidth, report.window);
    }

    /// Segments that `bandwidth` delivers in the shortest round trip, times `gain`.
    #[inline(always)]
    fn volume(&self, bandwidth: f64, gain: f64) -> f64 {
        if self.shortest_round_trip == u64::MAX {
            return self.initial_window;
        }
        gain * bandwidth * real(self.shortest_round_trip) / 1e9
    }

    /// `Inflight`: what should be in the network at `bandwidth`, times `gain`, and no less than
    /// keeps the path busy.
    #[inline(always)]
    fn volume_in_network(&self, bandwidth: f64, gain: f64) -> f64 {
        self.with_least(self.volume(bandwidth, gain))
    }

    /// `QuantizationBudget`.
    #[inline(always)]
    fn with_least(&self, volume: f64) -> f64 {
        greater(volume, LEAST_WINDOW) + if self.state == State::Up { 2.0 } else { 0.0 }
    }

    /// `TargetInflight`.
    #[inline(always)]
    fn target(&self, window: f64) -> f64 {
        lesser(self.volume(self.usable_bandwidth, 1.0), window)
    }

    #[inline(always)]
    fn set_pacing_rate(&mut self) {
        let rate = self.state.pacing_gain() * self.usable_bandwidth * PACING_SHARE;
        if rate > 0.0 && (self.filled || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    #[inline(always)]
    fn set_window(&mut self, report: &Report, window: &mut Window) {
        let volume = self.volume(self.usable_bandwidth, self.state.window_gain());
        let most = self.with_least(volume + self.aggregation.get());
        let mut next = window.congestion;
        if self.filled {
            next = lesser(next + report.newly, most);
        } else if next < most || real(report.delivered) < self.initial_window {
            next += report.newly;
        }
        next = greater(next, LEAST_WINDOW);
        if self.state == State::ProbeRoundTrip {
            next = next.min(self.round_trip_probe_window());
        }
        let bound = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.long_term_volume,
            State::Cruise | State::ProbeRoundTrip => self.volume_with_headroom(),
        };
        next = lesser(next, greater(lesser(bound, self.short_term_volume), LEAST_WINDOW));
        window.congestion = greater(lesser(next, window.cap), 1.0);
    }

    /// Remembers the last window that neither recovery nor a probe has made small.
    fn save_window(&mut self, window: f64) {
        self.prior_window = if self.recovering || self.state == State::ProbeRoundTrip {
            self.prior_window.max(window)
        } else {
            window
        };
    }

    fn restore_window(&mut self, window: &mut Window) {
        window.congestion = window.congestion.max(self.prior_window);
    }
}
