mod maximum;
mod policer;
#[cfg(test)]
mod tests;

use crate::Window;
use crate::numbers::mix;
use crate::rule::{Acknowledged, Congestion, WindowRule};
use crate::sender::departures::Departures;
use maximum::WindowedMaximum;
use policer::{Count, Policer, Sign};

/// Gains, in 256ths as in the kernel: of startup, of draining, and of the phases in which the bandwidth is probed for.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const PHASES: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Of the window while the bandwidth is probed for.
const WINDOW_GAIN: f64 = 2.0;
/// Rounds of which the greatest bandwidth counts.
const BANDWIDTH_ROUNDS: u32 = 10;
/// Growth without which a round counts towards the end of startup, and how many do.
const GROWTH: f64 = 1.25;
const ROUNDS_WITHOUT: u32 = 3;
/// For how long the shortest round trip counts, and for how long it is probed, in nanoseconds.
const ROUND_TRIP_WINDOW: u64 = 10_000_000_000;
const PROBE_TIME: u64 = 200_000_000;
const LEAST_WINDOW: f64 = 4.0;
/// The window before any round trip is known (TCP_INIT_CWND).
const FIRST_WINDOW: f64 = 10.0;
/// Acknowledgements that come early: the most of ten rounds counts, and of the ten before; at most what arrives in a tenth
/// of a second.
const AGGREGATION_ROUNDS: u32 = 10;
const LONGEST_AGGREGATION: f64 = 0.1;
const MOST_ACKNOWLEDGED: f64 = 1_048_576.0;
/// Share of the bandwidth at which segments are paced.
const PACING_SHARE: f64 = 0.99;
/// Segments of 1448 bytes a second: below, a burst is one segment (1.2 Mbit/s), and how many a burst of 1/1024 s has.
const SLOW: f64 = 1.2e6 / (8.0 * 1448.0);
const BURSTS: f64 = 1024.0;
const MOST_IN_BURST: f64 = 45.0;
/// Round trip before any is known, in nanoseconds, for the first pacing rate.
const NOMINAL_ROUND_TRIP: u64 = 1_000_000;

/// State.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRoundTrip,
}

/// Retransmissions and timeouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Repair {
    #[default]
    None,
    Recovery,
    Timeout,
}

/// By how many segments acknowledgements ran ahead of the bandwidth.
#[derive(Clone, Copy, Debug, Default)]
struct Aggregation {
    /// When the stretch began over which deliveries are compared with the bandwidth.
    began: u64,
    acknowledged: f64,
    /// The most of the last rounds and of those before.
    extra: [f64; 2],
    place: usize,
    rounds: u32,
}

/// BBR, version 1, as Linux has it: the window and the pacing rate follow the greatest bandwidth and the shortest round
/// trip of late, and losses hardly count.
///
/// Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh and V. Jacobson, "BBR: Congestion-Based Congestion
/// Control", ACM Queue 14(5), 2016; Linux 6.12, `tcp_bbr.c`, which is what people run. The bandwidth is the greatest of
/// ten rounds (`maximum.rs`), the round trip the shortest of ten seconds; when these are over, only four segments are kept
/// in the network for 200 ms. Startup sends at 2.89 times the bandwidth, until three rounds in a row have not brought a quarter
/// more. Then it drains, and then it sends at 1.25, 0.75 and six times at 1 of the bandwidth, each for a round trip. The window
/// is twice what the path holds, and three bursts more. In the first round of a recovery as much is sent as arrives.
/// Where a policer seems to be at work, the rate is kept (`policer.rs`). Names of the kernel are spelled out.
///
/// Departures:
/// 1. The phase in which probing begins is not drawn but mixed from the time and the count of deliveries: rules have no
///    random stream, and flows that start at different times must not probe together.
/// 2. What is to be done when sending begins after an idle time is not, and the first ten segments are spaced.
/// 3. What a timeout takes for lost counts for the policer with the next acknowledgement.
/// 4. Whether an acknowledgement was held back is not asked when the shortest round trip is too old.
/// 5. To a near receiver no more leaves at once than to others.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    begun: bool,
    mode: Mode,
    /// Segments delivered, and declared lost.
    delivered: u64,
    lost: u64,

    round_count: u32,
    round_start: bool,
    next_round_delivered: u64,

    bandwidth: WindowedMaximum,
    policer: Policer,
    /// In nanoseconds; the greatest number while unknown.
    shortest_round_trip: u64,
    shortest_round_trip_at: u64,
    /// Segments per second.
    pacing_rate: f64,
    /// When segments leave.
    departures: Departures,

    /// Startup: the bandwidth that is to be outgrown, rounds that have not, and whether it has ended.
    baseline: f64,
    rounds_without_growth: u32,
    filled: bool,
    /// Probing for bandwidth: the phase, and when it began.
    phase: usize,
    phase_began: u64,
    /// Probing for the round trip: when it may end, once the network is empty enough; whether a round has passed since;
    /// deliveries between which segments were sent that say nothing about the bandwidth.
    probe_done_at: Option<u64>,
    probe_round_done: bool,
    limited: (u64, u64),

    aggregation: Aggregation,
    repair: Repair,
    timed_out: bool,
    /// As much is sent as arrives.
    conserving: bool,
    /// The window before recovery or probing the round trip.
    prior_window: f64,
}

impl Default for Bbr1 {
    fn default() -> Self {
        Self {
            begun: false,
            mode: Mode::Startup,
            delivered: 0,
            lost: 0,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            bandwidth: WindowedMaximum::default(),
            policer: Policer::default(),
            shortest_round_trip: u64::MAX,
            shortest_round_trip_at: 0,
            pacing_rate: 0.0,
            departures: Departures::default(),
            baseline: 0.0,
            rounds_without_growth: 0,
            filled: false,
            phase: 0,
            phase_began: 0,
            probe_done_at: None,
            probe_round_done: false,
            limited: (u64::MAX, 0),
            aggregation: Aggregation::default(),
            repair: Repair::None,
            timed_out: false,
            conserving: false,
            prior_window: 0.0,
        }
    }
}

impl WindowRule for Bbr1 {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        if !self.begun {
            self.begin(event, window.congestion);
            if event.unacknowledged <= 1 {
                return; // only the handshake was acknowledged
            }
        }
        if let Some(sample) = &event.rate {
            (self.delivered, self.lost) = (sample.delivered, sample.all_lost);
        }
        self.update_model(event, window);
        self.set_pacing_rate();
        self.set_window(event, window);
    }

    fn reduced(&mut self, _now: u64, _sign: Congestion, _base: f64, window: &Window) -> f64 {
        self.save_window(window.congestion);
        window.cap
    }

    /// A timeout is like the end of a round: startup looks for growth anew.
    fn timed_out(&mut self, now: u64) {
        self.timed_out = true;
        self.repair = Repair::Timeout;
        self.baseline = 0.0;
        self.round_start = true;
        self.ask_policer(now, true, false);
    }

    fn governs_window(&self) -> bool {
        true
    }

    /// Let what a millisecond carries leave at once (`tcp_tso_autosize`).
    fn space(&mut self, now: u64, wait: u64) -> (u64, u32) {
        self.departures.note(now);
        (self.departures.space(now, wait), self.burst() as u32 - 1)
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.pacing_rate > 0.0).then_some(self.pacing_rate)
    }
}

impl Bbr1 {
    /// The first acknowledgement, of the handshake if there was one.
    fn begin(&mut self, event: &Acknowledged, window: f64) {
        self.begun = true;
        self.shortest_round_trip = event.round_trip.unwrap_or(u64::MAX);
        self.shortest_round_trip_at = event.now;
        self.aggregation.began = event.now;
        let round_trip = event.round_trip.unwrap_or(NOMINAL_ROUND_TRIP).max(1);
        self.pacing_rate = HIGH_GAIN * PACING_SHARE * window * 1e9 / round_trip as f64;
    }

    /// `bbr_update_model`.
    fn update_model(&mut self, event: &Acknowledged, window: &mut Window) {
        self.update_bandwidth(event);
        self.update_aggregation(event, window.congestion);
        self.update_phase(event);
        self.check_full_pipe(event);
        self.check_drain(event);
        self.update_shortest_round_trip(event, window);
    }

    /// Rounds, the policer and the greatest bandwidth.
    fn update_bandwidth(&mut self, event: &Acknowledged) {
        self.round_start = false;
        let Some(sample) = event.rate else { return };
        let Some(rate) = sample.rate else { return };
        if sample.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = sample.delivered;
            self.round_count += 1;
            self.round_start = true;
            self.conserving = false;
        }
        let limited = self.is_limited(event);
        self.ask_policer(event.now, event.lost > 0, limited);
        if !limited || rate >= self.bandwidth.get() {
            self.bandwidth.add(BANDWIDTH_ROUNDS, self.round_count, rate);
        }
    }

    fn ask_policer(&mut self, now: u64, losses: bool, application_limited: bool) {
        let count = Count { now, delivered: self.delivered, lost: self.lost };
        let cycling = self.mode == Mode::ProbeBandwidth;
        let sign = Sign { losses, application_limited, round_start: self.round_start, cycling };
        if self.policer.take(count, sign) {
            self.begin_probing(now);
        }
    }

    /// Return true if what the acknowledgement reports was sent while there was nothing more to send, or not allowed to be.
    fn is_limited(&self, event: &Acknowledged) -> bool {
        event.rate.is_some_and(|sample| {
            sample.application_limited
                || (self.limited.0..=self.limited.1).contains(&sample.prior_delivered)
        })
    }

    /// `bbr_bw`, in segments per second.
    fn usable_bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or(self.bandwidth.get())
    }

    fn update_aggregation(&mut self, event: &Acknowledged, window: f64) {
        if event.delivered == 0 || event.rate.is_none_or(|sample| sample.rate.is_none()) {
            return;
        }
        let bandwidth = self.usable_bandwidth();
        let of = &mut self.aggregation;
        if self.round_start {
            of.rounds += 1;
            if of.rounds >= AGGREGATION_ROUNDS {
                of.rounds = 0;
                of.place = 1 - of.place;
                of.extra[of.place] = 0.0;
            }
        }
        let mut expected = (bandwidth * (event.now - of.began) as f64 / 1e9).floor();
        let newly = f64::from(event.delivered);
        if of.acknowledged <= expected || of.acknowledged + newly >= MOST_ACKNOWLEDGED {
            of.acknowledged = 0.0;
            of.began = event.now;
            expected = 0.0;
        }
        of.acknowledged += newly;
        let extra = (of.acknowledged - expected).min(window);
        of.extra[of.place] = of.extra[of.place].max(extra);
    }

    /// Segments that `bandwidth` delivers in the shortest round trip, times `gain`, and what keeps the hosts at both ends
    /// busy (`bbr_inflight`).
    fn volume(&self, bandwidth: f64, gain: f64) -> f64 {
        let path = if self.shortest_round_trip == u64::MAX {
            FIRST_WINDOW
        } else {
            (gain * bandwidth * self.shortest_round_trip as f64 / 1e9).ceil()
        };
        let even = 2.0 * ((path + 3.0 * self.burst()) / 2.0).ceil();
        let probing = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        even + if probing { 2.0 } else { 0.0 }
    }

    /// Segments that Linux hands over at once (`bbr_tso_segs_goal`).
    fn burst(&self) -> f64 {
        let least = if self.pacing_rate < SLOW { 1.0 } else { 2.0 };
        (self.pacing_rate / BURSTS).floor().clamp(least, MOST_IN_BURST)
    }

    /// Of `segments` in the network, how many will be there when the next burst has left (`bbr_packets_in_net_at_edt`).
    fn at_departure(&self, now: u64, segments: u32) -> f64 {
        let leaving = if self.pacing_gain() > 1.0 { self.burst() } else { 0.0 };
        let time = self.departures.next().saturating_sub(now) as f64 / 1e9;
        let arriving = (self.usable_bandwidth() * time).floor();
        (f64::from(segments) + leaving - arriving).max(0.0)
    }

    /// The next phase begins after a round trip; that of more, only when so much is in the network or something is lost; that
    /// of less, as soon as the network holds no more than the path.
    fn update_phase(&mut self, event: &Acknowledged) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let long = event.now - self.phase_began > self.shortest_round_trip;
        let gain = self.pacing_gain();
        let bandwidth = self.bandwidth.get();
        let in_network =
            self.at_departure(event.now, event.in_network + event.delivered + event.lost);
        let over = if gain > 1.0 {
            long && (event.lost > 0 || in_network >= self.volume(bandwidth, gain))
        } else if gain < 1.0 {
            long || in_network <= self.volume(bandwidth, 1.0)
        } else {
            long
        };
        if over {
            self.begin_phase(event.now, self.phase + 1);
        }
    }

    fn begin_phase(&mut self, now: u64, phase: usize) {
        self.phase = phase % PHASES.len();
        self.phase_began = now;
    }

    /// Begins with any phase but that of less.
    fn begin_probing(&mut self, now: u64) {
        self.mode = Mode::ProbeBandwidth;
        let choices = PHASES.len() as u64 - 1;
        self.begin_phase(now, 2 + (mix(now, self.delivered) % choices) as usize);
    }

    fn check_full_pipe(&mut self, event: &Acknowledged) {
        if self.filled || !self.round_start || self.is_limited(event) {
            return;
        }
        if self.bandwidth.get() >= self.baseline * GROWTH {
            self.baseline = self.bandwidth.get();
            self.rounds_without_growth = 0;
            return;
        }
        self.rounds_without_growth += 1;
        self.filled = self.rounds_without_growth >= ROUNDS_WITHOUT;
    }

    fn check_drain(&mut self, event: &Acknowledged) {
        if self.mode == Mode::Startup && self.filled {
            self.mode = Mode::Drain;
        }
        let fits = || {
            self.at_departure(event.now, event.in_network) <= self.volume(self.bandwidth.get(), 1.0)
        };
        if self.mode == Mode::Drain && fits() {
            self.begin_probing(event.now);
        }
    }

    fn update_shortest_round_trip(&mut self, event: &Acknowledged, window: &mut Window) {
        let now = event.now;
        let expired = now > self.shortest_round_trip_at + ROUND_TRIP_WINDOW;
        if let Some(sample) = &event.rate
            && (sample.age < self.shortest_round_trip || expired)
        {
            self.shortest_round_trip = sample.age.max(1);
            self.shortest_round_trip_at = now;
        }
        if expired && self.mode != Mode::ProbeRoundTrip {
            self.mode = Mode::ProbeRoundTrip;
            self.save_window(window.congestion);
            self.probe_done_at = None;
        }
        if self.mode == Mode::ProbeRoundTrip {
            self.probe_round_trip(event, window);
        }
    }

    fn probe_round_trip(&mut self, event: &Acknowledged, window: &mut Window) {
        let until = self.delivered + u64::from(event.in_network);
        if self.limited.1 < self.delivered {
            self.limited.0 = self.delivered;
        }
        self.limited.1 = until.max(1);
        let Some(done_at) = self.probe_done_at else {
            if f64::from(event.in_network) <= LEAST_WINDOW {
                self.probe_done_at = Some(event.now + PROBE_TIME);
                self.probe_round_done = false;
                self.next_round_delivered = self.delivered;
            }
            return;
        };
        self.probe_round_done |= self.round_start;
        if self.probe_round_done && event.now > done_at {
            self.shortest_round_trip_at = event.now;
            window.congestion = window.congestion.max(self.prior_window);
            if self.filled {
                self.begin_probing(event.now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth if self.policer.rate().is_some() => 1.0,
            Mode::ProbeBandwidth => PHASES[self.phase],
            Mode::ProbeRoundTrip => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBandwidth => WINDOW_GAIN,
            Mode::ProbeRoundTrip => 1.0,
        }
    }

    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain() * self.usable_bandwidth() * PACING_SHARE;
        if rate > 0.0 && (self.filled || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn set_window(&mut self, event: &Acknowledged, window: &mut Window) {
        let mut next = window.congestion;
        if event.delivered > 0 {
            let newly = f64::from(event.delivered);
            next = self.recover_or_restore(event, next);
            if !self.conserving {
                let bandwidth = self.usable_bandwidth();
                let most = self.volume(bandwidth, self.window_gain()) + self.early(bandwidth);
                if self.filled {
                    next = (next + newly).min(most);
                } else if next < most || (self.delivered as f64) < FIRST_WINDOW {
                    next += newly;
                }
                next = next.max(LEAST_WINDOW);
            }
        }
        next = next.min(window.cap);
        if self.mode == Mode::ProbeRoundTrip {
            next = next.min(LEAST_WINDOW);
        }
        window.congestion = next.max(1.0);
    }

    /// Room for acknowledgements that come early, once startup is over.
    fn early(&self, bandwidth: f64) -> f64 {
        if !self.filled {
            return 0.0;
        }
        let [one, other] = self.aggregation.extra;
        one.max(other).min((bandwidth * LONGEST_AGGREGATION).floor())
    }

    /// The window `next` without what was lost, or with what recovery or a timeout has taken from it.
    fn recover_or_restore(&mut self, event: &Acknowledged, mut next: f64) -> f64 {
        self.timed_out &= event.in_recovery;
        let repair = match (event.in_recovery, self.timed_out) {
            (false, _) => Repair::None,
            (true, false) => Repair::Recovery,
            (true, true) => Repair::Timeout,
        };
        let arriving = f64::from(event.in_network + event.delivered);
        next = (next - f64::from(event.lost)).max(1.0);
        if repair == Repair::Recovery && self.repair != Repair::Recovery {
            self.conserving = true;
            self.next_round_delivered = self.delivered;
            next = arriving;
        } else if repair == Repair::None && self.repair != Repair::None {
            self.conserving = false;
            next = next.max(self.prior_window);
        }
        self.repair = repair;
        if self.conserving { next.max(arriving) } else { next }
    }

    /// Remembers the last window that neither recovery nor a probe has made small.
    fn save_window(&mut self, window: f64) {
        let small = self.repair != Repair::None || self.mode == Mode::ProbeRoundTrip;
        self.prior_window = if small { self.prior_window.max(window) } else { window };
    }
}
