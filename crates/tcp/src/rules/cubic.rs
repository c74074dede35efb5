use vermilion_parameters::{choices, settings};

use super::HyStart;
use crate::Window;
use crate::rule::{Acknowledged, Congestion, GrowthSettings, WindowRule};

choices! {
    /// Arithmetic of CUBIC.
    pub CubicDialect { Rfc9438 = "rfc9438", Linux = "linux" }
}

settings! {
    /// Settings of the rule.
    pub CubicOptions;
    /// the function as published, or in the kernel's whole numbers, with its constants and its older HyStart; of this
    /// table that one asks for fast_convergence and hystart only
    dialect: CubicDialect = Rfc9438, "RFC 9438; Linux: tcp_cubic.c";
    /// steepness of the cubic function, segments per cubic second
    cubic_scaling: f64 = 0.4 in [> 0, 1e3], "RFC 9438: C";
    /// what a reduction leaves of the window
    decrease_factor: f64 = 0.7 in [0.1, 0.99], "RFC 9438: beta";
    /// a flow whose window is reduced before it is back where it was makes room for others
    fast_convergence: bool = true, "RFC 9438, section 4.7";
    /// the Reno-friendly window grows by a segment per round trip once it is back where it was
    catch_up: bool = true, "RFC 9438, section 4.3; Linux has false";
    /// the first slow start ends when round trips lengthen; needs timestamps
    hystart: bool = true,
        "RFC 9406 (HyStart++), which RFC 9438 recommends; Linux has its own, older one";
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// When it began, in nanoseconds.
    began: u64,
    /// When the function reaches its plateau, in seconds from then.
    plateau_time: f64,
    /// The window Reno would have.
    reno: f64,
}

/// CUBIC: the window follows a cubic function of the time since the last reduction.
///
/// Source: RFC 9438, whole: the cubic function and its time K, the target for one round trip ahead
/// between the window and 1.5 times it, the Reno-friendly window with its change of slope, fast
/// convergence, the factor of 0.7 for losses, marks and timeouts, and the first stage after slow
/// start, which begins on the plateau. HyStart++ (`hystart.rs`) may end the first slow start.
///
/// Departures:
/// 1. In the Reno-friendly region the window is set to the Reno-friendly one only if that is the
///    larger: the RFC's SHOULD would take segments back where the cubic target, which is for one
///    round trip ahead, has put the window above it. Linux does not take them back either.
/// 2. The window stops growing at the receiver's cap. Time goes on meanwhile, and while a sender
///    has nothing to send (the RFC stops it, section 5.8).
///    As an option it grows by whole segments, and the Reno-friendly window never catches up, as in
///    Linux.
/// 3. Spurious losses are not undone (section 4.9): no path of this simulator makes them.
/// 4. What is multiplied by 0.7 is the window, or what is outstanding, as the parameter
///    `loss_window` says; the RFC has the latter and allows the former. The window before the
///    reduction, which is the next plateau, is never the flight.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    set: CubicOptions,
    growth: GrowthSettings,
    hystart: Option<HyStart>,
    /// `W_max`: the plateau.
    plateau: f64,
    /// The window before the last reduction; 0 before the first.
    prior: f64,
    stage: Option<Stage>,
    /// Slow start has just been left: the stage begins on its plateau.
    flat: bool,
    /// Growth that does not make a whole segment yet.
    credit: f64,
}

impl Cubic {
    /// A rule for a connection that begins; `paced`: segments are spaced.
    pub fn new(set: CubicOptions, growth: GrowthSettings, paced: bool) -> Self {
        Self {
            set,
            growth,
            hystart: set.hystart.then(|| HyStart::new(paced)),
            plateau: 0.0,
            prior: 0.0,
            stage: None,
            flat: true,
            credit: 0.0,
        }
    }

    /// Slow start: what is left of the segments counted when it is over.
    fn slow_start(&mut self, event: &Acknowledged, window: &mut Window) -> f64 {
        self.stage = None;
        self.flat = true;
        let Some(hystart) = self.hystart.as_mut().filter(|hystart| !hystart.is_over()) else {
            return window.slow_start(event.counted);
        };
        let left = window.slow_start(hystart.grow(event));
        if hystart.is_over() {
            window.slow_start_threshold = window.congestion;
            return 0.0;
        }
        left
    }

    /// The stage that begins at `now` with `window` segments.
    fn begin(&mut self, now: u64, window: f64) -> Stage {
        if std::mem::take(&mut self.flat) || self.plateau < window {
            self.plateau = window;
        }
        if self.prior == 0.0 {
            self.prior = window;
        }
        let plateau_time = ((self.plateau - window) / self.set.cubic_scaling).cbrt();
        Stage { began: now, plateau_time, reno: window }
    }

    /// Congestion avoidance with `counted` segments that `acknowledged` ones stand for.
    fn avoid(&mut self, event: &Acknowledged, counted: f64, newly: f64, window: &mut Window) {
        let current = window.congestion;
        if current >= window.cap {
            return;
        }
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin(event.now, current),
        };
        let time = event.now.saturating_sub(stage.began) as f64 / 1e9;
        let ahead = event.smoothed_round_trip.unwrap_or(0) as f64 / 1e9;
        let cubic = |time: f64| {
            let from_plateau = time - stage.plateau_time;
            self.set.cubic_scaling * (from_plateau * from_plateau * from_plateau) + self.plateau
        };
        let (here, target) = (cubic(time), cubic(time + ahead));
        let decrease = self.set.decrease_factor;
        // With this slope a window of factor beta is on average that of Reno, factor 1/2.
        let slope = if self.set.catch_up && stage.reno >= self.prior {
            1.0
        } else {
            3.0 * (1.0 - decrease) / (1.0 + decrease)
        };
        stage.reno += self.growth.linear_increase.0 * slope * newly / current;
        self.stage = Some(stage);
        let grown = if here < stage.reno {
            stage.reno.max(current)
        } else {
            let target = target.clamp(current, 1.5 * current);
            (current + (target - current) * counted / current).min(target)
        };
        if self.growth.byte_counting {
            self.credit += grown - current;
            let whole = f64::from(self.credit as u32);
            self.credit -= whole;
            window.congestion = (current + whole).min(window.cap);
        } else {
            window.congestion = grown.min(window.cap);
        }
    }
}

impl WindowRule for Cubic {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        if window.in_slow_start() {
            let left = self.slow_start(event, window);
            if left > 0.0 {
                self.avoid(event, left, left, window);
            }
        } else {
            self.avoid(event, event.counted, f64::from(event.delivered), window);
        }
    }

    fn reduced(&mut self, _now: u64, sign: Congestion, base: f64, window: &Window) -> f64 {
        let current = window.congestion.min(window.cap);
        let decrease = self.set.decrease_factor;
        self.plateau = if self.set.fast_convergence && current < self.plateau {
            current * (1.0 + decrease) / 2.0
        } else {
            current
        };
        self.prior = current;
        self.stage = None;
        self.credit = 0.0;
        self.flat = false;
        if let Some(hystart) = &mut self.hystart {
            hystart.end();
        }
        let least = if sign == Congestion::Mark { 1.0 } else { 2.0 };
        (base * decrease).max(least)
    }

    /// The next stage begins on its plateau (section 4.8).
    fn timed_out(&mut self, _now: u64) {
        self.stage = None;
        self.flat = true;
    }
}

#[cfg(test)]
mod tests {
    use vermilion_parameters::Packets;

    use super::*;
    use crate::rule::tests::{acknowledged, window};

    /// The rule of the RFC without HyStart, but for these settings.
    fn cubic(set: CubicOptions, linear_increase: f64) -> Cubic {
        let linear_increase = Packets(linear_increase);
        let growth = GrowthSettings { linear_increase, ..GrowthSettings::default() };
        Cubic::new(CubicOptions { hystart: false, ..set }, growth, false)
    }
    const SECOND: u64 = 1_000_000_000;

    fn reduced_from(plateau: f64) -> (Cubic, Window) {
        let mut rule = cubic(CubicOptions::default(), 1.0);
        let mut window = window(plateau, 2.0);
        window.congestion = rule.reduced(0, Congestion::Loss, plateau, &window);
        (rule, window)
    }

    /// Acknowledges a window's worth in each round trip of 0.1 s; the window at the end.
    fn run(rule: &mut Cubic, window: &mut Window, seconds: f64) {
        let mut now = 0.0;
        while now < seconds {
            let step = 0.1 / window.congestion;
            let mut event = acknowledged(1);
            event.now = (now * 1e9) as u64;
            event.smoothed_round_trip = Some(SECOND / 10);
            rule.grow(&event, window);
            now += step;
        }
    }

    #[test]
    fn the_window_is_back_on_its_plateau_after_k_seconds() {
        // K = cbrt(1000 * 0.3 / 0.4) = 9.086 s.
        let (mut rule, mut window) = reduced_from(1000.0);
        assert_eq!(window.congestion, 700.0);
        run(&mut rule, &mut window, 4.543);
        // Half way: an eighth of the distance is left, 0.4 * 4.543^3 = 37.5.
        assert!((window.congestion - 962.5).abs() < 3.0, "{}", window.congestion);
        run_on(&mut rule, &mut window, 4.543, 9.086);
        assert!((window.congestion - 1000.0).abs() < 1.0, "{}", window.congestion);
    }

    fn run_on(rule: &mut Cubic, window: &mut Window, from: f64, to: f64) {
        let mut now = from;
        while now < to {
            let mut event = acknowledged(1);
            event.now = (now * 1e9) as u64;
            event.smoothed_round_trip = Some(SECOND / 10);
            now += 0.1 / window.congestion;
            rule.grow(&event, window);
        }
    }

    #[test]
    fn a_flow_reduced_below_its_plateau_makes_room() {
        let (mut rule, mut window) = reduced_from(100.0);
        window.congestion = 80.0;
        rule.reduced(0, Congestion::Loss, 80.0, &window);
        assert_eq!(rule.plateau, 68.0); // 80 * 1.7 / 2
        let set = CubicOptions { fast_convergence: false, ..CubicOptions::default() };
        let mut selfish = cubic(set, 1.0);
        selfish.plateau = 100.0;
        selfish.reduced(0, Congestion::Loss, 80.0, &window);
        assert_eq!(selfish.plateau, 80.0);
    }

    #[test]
    fn small_windows_grow_as_reno_does_on_average() {
        // 20 segments: the cubic function needs 2.5 s back to 20, Reno's mean window 11 round trips.
        let (mut rule, mut window) = reduced_from(20.0);
        run(&mut rule, &mut window, 1.0);
        // Ten round trips at 9/17 of a segment each: 14 + 5.3.
        assert!((window.congestion - 19.3).abs() < 0.3, "{}", window.congestion);
        run_on(&mut rule, &mut window, 1.0, 1.14);
        let at_prior = window.congestion;
        run_on(&mut rule, &mut window, 1.14, 1.64);
        // Beyond the window before the reduction, a segment in each round trip.
        assert!((window.congestion - at_prior - 5.0).abs() < 0.4, "{}", window.congestion);
    }

    #[test]
    fn a_network_in_little_has_the_same_windows_in_little() {
        // A quarter of the window, of C and of Reno's increase: the same course in time.
        for plateau in [1000.0, 20.0] {
            let (mut rule, mut window) = reduced_from(plateau);
            let set = CubicOptions { cubic_scaling: 0.1, ..CubicOptions::default() };
            let mut small = cubic(set, 0.25);
            let mut smaller = Window { congestion: plateau / 4.0, ..window };
            smaller.congestion = small.reduced(0, Congestion::Loss, smaller.congestion, &smaller);
            run(&mut rule, &mut window, 4.0);
            run(&mut small, &mut smaller, 4.0);
            let ratio = window.congestion / smaller.congestion;
            assert!((ratio - 4.0).abs() < 0.03, "{ratio}");
        }
    }

    #[test]
    fn one_acknowledgement_never_aims_beyond_one_and_a_half_windows() {
        let (mut rule, mut window) = reduced_from(100.0);
        let mut event = acknowledged(1);
        rule.grow(&event, &mut window);
        event.now = 100 * SECOND;
        let before = window.congestion;
        rule.grow(&event, &mut window);
        assert!((window.congestion - before - 0.5).abs() < 1e-9, "{}", window.congestion);
    }

    #[test]
    fn after_a_timeout_the_stage_begins_on_its_plateau() {
        let mut rule = cubic(CubicOptions::default(), 1.0);
        let mut window = window(100.0, 2.0);
        assert_eq!(rule.reduced(0, Congestion::Timeout, 100.0, &window), 70.0);
        rule.timed_out(0);
        (window.congestion, window.slow_start_threshold) = (1.0, 70.0);
        for _ in 0..69 {
            rule.grow(&acknowledged(1), &mut window);
        }
        assert_eq!(window.congestion, 70.0);
        rule.grow(&acknowledged(1), &mut window);
        assert_eq!((rule.plateau, rule.stage.unwrap().plateau_time), (70.0, 0.0));
    }

    #[test]
    fn the_window_stops_at_the_receivers_cap() {
        let (mut rule, mut window) = reduced_from(100.0);
        window.cap = 90.0;
        run(&mut rule, &mut window, 30.0);
        assert_eq!(window.congestion, 90.0);
    }
}
