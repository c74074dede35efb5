use vermilion_parameters::{Packets, settings};

use crate::Window;
use crate::rule::{Acknowledged, Congestion, Rounds, WindowRule};

/// Round trips that have to be timed in one of them, or else it counts as Reno's.
const SAMPLES: u32 = 2;

settings! {
    /// Settings of the rule.
    pub VegasOptions;
    /// segments of its own in queues below which the window grows
    alpha: Packets = 2 in [0, 1e4] log [1, 16], "Linux 6.12";
    /// segments of its own in queues above which the window shrinks
    beta: Packets = 4 in [0, 1e4] log [1, 32], "Linux 6.12";
    /// segments of its own in queues above which slow start ends
    gamma: Packets = 1 in [0, 1e4], "Linux 6.12";
}

/// Vegas: keeps a few segments of its own in queues, by the delay that they cause.
///
/// Source: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
/// 1995; as Linux 6.12 has it, `net/ipv4/tcp_vegas.c` (facts, not code).
///
/// State: the least round trip ever; the least of this one and how many were timed in it; the first segment that
/// was not sent when it began. Once a round trip, by its least sample r and the least ever b: the segments in queues are
/// window x (r - b) / b. In slow start with more than `gamma` the window becomes what the path holds, window x b / r, and
/// one, and slow start is over; after it one segment less with more than `beta`, one more with less than `alpha`. A round
/// trip in which no more than two were timed counts as Reno's. A loss halves the window, as Reno's.
///
/// Departures from the source:
/// 1. Windows are not whole numbers: what would be cut off is not.
/// 2. Linux turns Vegas off while losses are repaired and after a timeout forgets the round trip; here the sender does
///    not ask during a repair, and a timeout makes it begin anew.
#[derive(Clone, Debug)]
pub struct Vegas {
    options: VegasOptions,
    /// Least round trip ever, in nanoseconds.
    base: u64,
    /// Least of this round trip.
    least: u64,
    timed: u32,
    rounds: Rounds,
}

impl Vegas {
    /// A rule for a connection that begins.
    pub fn new(options: VegasOptions) -> Self {
        Self { options, base: u64::MAX, least: u64::MAX, timed: 0, rounds: Rounds::default() }
    }

    /// What Reno does.
    fn grow_as_reno(event: &Acknowledged, window: &mut Window) {
        let left = window.slow_start(event.counted);
        window.congestion += left / window.congestion;
    }

    /// A round trip is over that was timed often enough.
    fn adjust(&self, event: &Acknowledged, window: &mut Window) {
        let (least, base) = (self.least as f64, self.base as f64);
        let queued = window.congestion * (least - base) / base;
        if window.in_slow_start() {
            if queued <= self.options.gamma.0 {
                window.slow_start(event.counted);
                return;
            }
            let held = window.congestion * base / least;
            window.congestion = window.congestion.min(held + 1.0);
        } else if queued > self.options.beta.0 {
            window.congestion -= 1.0;
        } else if queued < self.options.alpha.0 {
            window.congestion += 1.0;
            return;
        } else {
            return;
        }
        window.congestion = window.congestion.max(2.0);
        let threshold = window.slow_start_threshold.min(window.congestion - 1.0);
        window.slow_start_threshold = threshold.max(2.0);
    }
}

impl WindowRule for Vegas {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        if let Some(sample) = event.round_trip {
            self.base = self.base.min(sample);
            self.least = self.least.min(sample);
            self.timed += 1;
        }
        if self.rounds.is_over(event) {
            if self.timed > SAMPLES {
                self.adjust(event, window);
            } else {
                Self::grow_as_reno(event, window);
            }
            (self.least, self.timed) = (u64::MAX, 0);
        } else if window.in_slow_start() {
            window.slow_start(event.counted);
        }
        window.congestion = window.congestion.min(window.cap);
    }

    fn reduced(&mut self, _now: u64, _sign: Congestion, base: f64, _window: &Window) -> f64 {
        base / 2.0
    }

    fn timed_out(&mut self, _now: u64) {
        (self.least, self.timed) = (u64::MAX, 0);
    }
}
