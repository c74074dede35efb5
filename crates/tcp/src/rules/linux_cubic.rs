use super::CubicOptions;
use crate::Window;
use crate::rule::{Acknowledged, Congestion, WindowRule};
use crate::tick::Tick;

/// Part that a reduction leaves of the window, in 1024ths.
const BETA: u64 = 717;
/// C, in 1024ths of a segment per cubic second.
const SCALE: u64 = 41;
/// By how much the Reno-friendly window grows: eight times the segments that make it grow, over the window.
const RENO: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// Greatest count before a plateau is known: growth of 5 % in a round trip.
const MOST_BEFORE_PLATEAU: u64 = 20;

/// HyStart: windows below this do not end slow start.
const LEAST_WINDOW: u64 = 16;
/// Round trips timed in a round before they are judged.
const SAMPLES: u32 = 8;
/// Acknowledgements this close (nanoseconds) belong together.
const CLOSE: u64 = 2_000_000;
/// Allowance for segments that leave together, in nanoseconds.
const TOGETHER: u64 = 1_000_000;
/// Bounds of the increase of round trips that counts, in nanoseconds.
const LEAST_INCREASE: u64 = 4_000_000;
const GREATEST_INCREASE: u64 = 16_000_000;

const SECOND: u64 = 1_000_000_000;
const UNKNOWN: u64 = u64::MAX;

/// The older HyStart.
#[derive(Clone, Copy, Debug)]
struct OlderHyStart {
    found: bool,
    began: u64,
    last: u64,
    /// The round ends when something at or beyond this one has been acknowledged.
    window_end: u32,
    shortest: u64,
    samples: u32,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// The tick in which it began.
    began: u64,
    /// When the function reaches its plateau, in 1024ths of a second from then.
    plateau_time: u64,
    origin: u64,
    /// Segments acknowledged that have not made the Reno-friendly window grow.
    acknowledged: u64,
    reno: u64,
}

/// CUBIC as Linux computes it: in whole segments, ticks and acknowledgements.
///
/// Source: Linux 6.12, `tcp_cubic.c` (after Ha, Rhee and Xu, 2008), with `tcp_slow_start` and
/// `tcp_cong_avoid_ai` of `tcp_cong.c`. What differs from RFC 9438 (`cubic.rs`), and in outcome where
/// windows are small:
///
/// - A window says after how many acknowledged segments it grows by one, `count`. That is the window
///   over the distance to the target, rounded down, at least 2, and at most 20 until a plateau is known.
///   It is computed anew when the window has changed or 1/32 s has passed.
/// - The Reno-friendly window grows by one after so many segments, rounded down, and never catches up.
/// - The target is that of a shortest round trip ahead, not of a smoothed one. The time of the plateau comes from
///   an integer cube root, and time passes in ticks of the host's timers.
/// - The decrease is 717/1024, rounded down. A timeout forgets the plateau.
/// - Slow start ends by the older HyStart (Ha and Rhee, 2008): when acknowledgements have come in close
///   succession for half a shortest round trip, or round trips have become longer by an eighth (4 to 16 ms).
///   After a timeout it is tried again.
///
/// Departures:
/// 1. The cube root is the largest integer whose cube is not larger, where the kernel's is one step of
///    Newton's method from a table (0.2 % on average).
/// 2. Ticks are counted from time 0, whatever the phase of the host's.
/// 3. HyStart's allowance for segments that leave together is its greatest, 1 ms: what the
///    kernel has below 2 Gbit/s.
/// 4. Round trips are noted with acknowledgements of new data outside recovery; the kernel also notes
///    those of selective reports.
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    /// Of the host's timers.
    tick: Tick,
    fast_convergence: bool,
    paced: bool,
    hystart: Option<OlderHyStart>,
    plateau: u64,
    stage: Option<Stage>,
    count: u64,
    last_window: u64,
    last_tick: u64,
    /// The kernel's `snd_cwnd_cnt`.
    credit: u64,
    shortest_round_trip: u64,
}

impl LinuxCubic {
    /// A rule for a connection that begins on a host whose timers have ticks of `tick` nanoseconds (0: of
    /// a millisecond); `paced`: segments are spaced.
    pub fn new(tick: u64, set: CubicOptions, paced: bool) -> Self {
        let fresh = OlderHyStart {
            found: false,
            began: 0,
            last: 0,
            window_end: 1,
            shortest: UNKNOWN,
            samples: 0,
        };
        Self {
            tick: Tick::new(if tick == 0 { 1_000_000 } else { tick }),
            fast_convergence: set.fast_convergence,
            paced,
            hystart: set.hystart.then_some(fresh),
            plateau: 0,
            stage: None,
            count: 0,
            last_window: 0,
            last_tick: 0,
            credit: 0,
            shortest_round_trip: UNKNOWN,
        }
    }

    /// `cubictcp_acked`.
    fn note_round_trip(&mut self, event: &Acknowledged, window: &mut Window) {
        let Some(round_trip) = event.round_trip else { return };
        let ticks = self.tick.whole(event.now);
        // Those right after a recovery are not to be trusted.
        if self.stage.is_some_and(|stage| (ticks - stage.began) * self.tick.length() < SECOND) {
            return;
        }
        self.shortest_round_trip = self.shortest_round_trip.min(round_trip.max(1));
        if window.in_slow_start() {
            self.look_for_exit(event, round_trip, window);
        }
    }

    /// `hystart_update`.
    fn look_for_exit(&mut self, event: &Acknowledged, round_trip: u64, window: &mut Window) {
        let shortest = self.shortest_round_trip;
        let Some(hystart) = self.hystart.as_mut().filter(|hystart| !hystart.found) else { return };
        if event.unacknowledged > hystart.window_end {
            (hystart.began, hystart.last) = (event.now, event.now);
            hystart.window_end = event.highest;
            (hystart.shortest, hystart.samples) = (UNKNOWN, 0);
        }
        if (window.congestion as u64) < LEAST_WINDOW {
            return;
        }
        if event.now - hystart.last <= CLOSE {
            hystart.last = event.now;
            let whole = shortest + TOGETHER;
            let train = if self.paced { whole } else { whole / 2 };
            hystart.found |= event.now - hystart.began > train;
        }
        hystart.shortest = hystart.shortest.min(round_trip);
        if hystart.samples < SAMPLES {
            hystart.samples += 1;
        } else {
            let increase = (shortest / 8).clamp(LEAST_INCREASE, GREATEST_INCREASE);
            hystart.found |= hystart.shortest > shortest + increase;
        }
        if hystart.found {
            window.slow_start_threshold = window.congestion;
        }
    }

    /// `bictcp_update`: after how many acknowledged segments the window of `window` grows.
    fn update(&mut self, now: u64, window: u64, acknowledged: u64) {
        let ticks = self.tick.whole(now);
        if let Some(stage) = &mut self.stage {
            stage.acknowledged += acknowledged;
        }
        let recent = (ticks - self.last_tick) <= self.tick.whole(SECOND / 32);
        if self.last_window == window && recent {
            return;
        }
        // At most once in a tick, except in a new stage.
        if self.stage.is_none() || ticks != self.last_tick {
            (self.last_window, self.last_tick) = (window, ticks);
            self.count = self.cubic_count(ticks, window, acknowledged);
            if self.plateau == 0 {
                self.count = self.count.min(MOST_BEFORE_PLATEAU);
            }
        }
        if let Some(stage) = &mut self.stage {
            let growing = (window * RENO) >> 3;
            while growing > 0 && stage.acknowledged > growing {
                stage.acknowledged -= growing;
                stage.reno += 1;
            }
            if stage.reno > window {
                self.count = self.count.min(window / (stage.reno - window));
            }
        }
        self.count = self.count.max(2);
    }

    /// The count that the cubic function asks for.
    fn cubic_count(&mut self, ticks: u64, window: u64, acknowledged: u64) -> u64 {
        let plateau = self.plateau;
        let stage = *self.stage.get_or_insert_with(|| {
            let below = plateau.saturating_sub(window);
            Stage {
                began: ticks,
                plateau_time: cube_root((1 << 40) / (SCALE * 10) * below),
                origin: plateau.max(window),
                acknowledged,
                reno: window,
            }
        });
        let ahead = if self.shortest_round_trip == UNKNOWN { 0 } else { self.shortest_round_trip };
        let elapsed = (ticks - stage.began + self.tick.begun(ahead)) * self.tick.length();
        let time = u128::from(elapsed) * 1024 / u128::from(SECOND);
        let plateau_time = u128::from(stage.plateau_time);
        let distance = time.abs_diff(plateau_time);
        let moved = (u128::from(SCALE * 10) * distance * distance * distance) >> 40;
        let moved = u64::try_from(moved).unwrap_or(u64::MAX);
        let target = if time < plateau_time {
            stage.origin.saturating_sub(moved)
        } else {
            stage.origin.saturating_add(moved)
        };
        if target > window { window / (target - window) } else { 100 * window }
    }

    /// `tcp_cong_avoid_ai`.
    fn grow_by_count(&mut self, acknowledged: u64, window: &mut Window) {
        if self.credit >= self.count {
            self.credit = 0;
            window.congestion += 1.0;
        }
        self.credit += acknowledged;
        if self.credit >= self.count {
            let grown = self.credit / self.count;
            self.credit -= grown * self.count;
            window.congestion += grown as f64;
        }
        window.congestion = window.congestion.min(window.cap);
    }
}

impl WindowRule for LinuxCubic {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        self.note_round_trip(event, window);
        let mut acknowledged = event.counted;
        if window.in_slow_start() {
            acknowledged = window.slow_start(acknowledged);
            window.congestion = window.congestion.min(window.cap);
            if acknowledged <= 0.0 {
                return;
            }
        }
        let acknowledged = acknowledged as u64;
        self.update(event.now, window.congestion as u64, acknowledged);
        self.grow_by_count(acknowledged, window);
    }

    fn reduced(&mut self, _now: u64, _sign: Congestion, base: f64, window: &Window) -> f64 {
        let current = window.congestion.min(window.cap) as u64;
        self.stage = None;
        self.plateau = if self.fast_convergence && current < self.plateau {
            current * (1024 + BETA) / 2048
        } else {
            current
        };
        self.credit = 0;
        ((base as u64 * BETA / 1024) as f64).max(2.0)
    }

    /// `bictcp_reset`, `bictcp_hystart_reset`.
    fn timed_out(&mut self, now: u64) {
        self.stage = None;
        (self.plateau, self.count, self.credit) = (0, 0, 0);
        (self.last_window, self.last_tick) = (0, 0);
        self.shortest_round_trip = UNKNOWN;
        if let Some(hystart) = &mut self.hystart {
            hystart.found = false;
            (hystart.began, hystart.last, hystart.window_end) = (now, now, 0);
        }
    }
}

/// The largest integer whose cube is at most `number`.
fn cube_root(number: u64) -> u64 {
    let mut root = (number as f64).cbrt() as u64;
    while u128::from(root + 1).pow(3) <= u128::from(number) {
        root += 1;
    }
    while u128::from(root).pow(3) > u128::from(number) {
        root -= 1;
    }
    root
}
