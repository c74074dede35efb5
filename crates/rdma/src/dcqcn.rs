use vermilion_parameters::{BitPerSecond, Bytes, Periods, Seconds, settings};

use crate::{Acknowledgement, Hop, Nic, Paced, RateBased, Window, WindowSettings};

const FORK: &str = "HPCC authors' simulator, run.py";
const PAPER: &str = "Zhu et al., SIGCOMM 2015";
const NEVER: u64 = u64::MAX;

settings! {
    /// Settings that both dialects of DCQCN have.
    pub DcqcnRates;
    ..window: WindowSettings;
    /// weight of one period in alpha
    gain: f64 = (1.0 / 256.0) in [> 0, 1] log [1e-3, 0.1], "all sources but NVIDIA's 5/1024";
    /// time after which alpha is updated
    alpha_period: Seconds = 1e-6 in [1e-9, 1] log [1e-6, 1e-4], FORK;
    /// time between two steps of the increase
    increase_period: Seconds = 300e-6 in [1e-9, 1] log [2e-5, 1e-3], FORK;
    /// steps of fast recovery before the additive increase
    fast_recovery: Periods<u32> = 1 in [0, 1e6], FORK;
    /// additive increase of the target rate; automatic: 5 Mbit/s at 25 Gbit/s, in proportion to the line
    additive_increase: Option<BitPerSecond> = automatic in [0, 1e13] log [1e6, 1e10], FORK;
    /// hyper increase of the target rate; automatic: 50 Mbit/s at 25 Gbit/s, in proportion to the line
    hyper_increase: Option<BitPerSecond> = automatic in [0, 1e13] log [1e7, 1e11], FORK;
    /// least rate
    min_rate: BitPerSecond = 100e6 in [> 0, 1e13], "HPCC authors' simulator, config.txt";
}

settings! {
    /// Settings of DCQCN as ConnectX-4 and later do it.
    pub DcqcnMellanoxSettings "dcqcn-mellanox": "DCQCN (NIC)",
        "DCQCN as ConnectX-4 and later do it: periodic decreases, no byte counter",
        "Li et al., SIGCOMM 2019 (HPCC), its simulator; NVIDIA, DCQCN CC parameters";
    ..rates: DcqcnRates;
    /// time between two looks at whether a notification has come, which cut the rate
    decrease_period: Seconds = 4e-6 in [1e-9, 1] log [1e-6, 1e-4], FORK;
    /// the target becomes the present rate at every cut, not just at those after an increase
    clamp_target: bool = false, FORK;
    /// part of the rate that the first notification leaves
    rate_on_first_notification: f64 = 1 in [> 0, 1], FORK;
}

settings! {
    /// Settings of DCQCN as published.
    pub DcqcnPaperSettings "dcqcn-paper": "DCQCN (paper)",
        "DCQCN as published: a cut at each notification, increases by time and by bytes",
        "Zhu et al., SIGCOMM 2015";
    ..rates: DcqcnRates {
        alpha_period: Number(55e-6), increase_period: Number(55e-6), fast_recovery: Number(5.0),
        additive_increase: Number(40e6), hyper_increase: Number(200e6),
    };
    /// bytes sent between two steps of the increase
    byte_counter: Bytes = 10e6 in [1, 1e12] log [1e5, 1e9], PAPER;
}

/// What one dialect does that the other does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dialect {
    /// A cut at each notification; increases by time and by bytes.
    Paper {
        /// Bytes between two increases.
        byte_counter: f64,
    },
    /// Looks at regular intervals.
    Mellanox {
        /// Nanoseconds between two looks.
        decrease_period: u64,
        /// The target follows every cut.
        clamp_target: bool,
        /// What the first notification leaves.
        first: f64,
    },
}

/// DCQCN's reaction point: the rate limiter of a sender's NIC, in two dialects.
///
/// Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015 (`paper`); the simulator
/// of Y. Li et al., "HPCC", SIGCOMM 2019, `rdma-hw.cc` (`mellanox`).
///
/// State: the current rate, a target rate, `alpha` (how congested the path is), the stage of the increase. All begins
/// at line rate, without timers, until the first notification.
///
/// `paper`: a notification sets the target to the rate, cuts the rate by `alpha/2` and raises `alpha`; every
/// `alpha_period` without one lowers it. Increases come every `increase_period` and every `byte_counter` bytes since
/// the last cut: halving of the gap to the target while both counts are below `fast_recovery`, then with an additive
/// step of the target, or where both are above it with `i` hyper steps.
///
/// `mellanox`: from the first notification on `alpha` is updated every `alpha_period`, and every `decrease_period` the
/// rate is cut if a notification has come since the last look. The target follows the rate only at the first cut after an
/// increase. Increases come by time alone, the hyper step is constant.
///
/// Timers are lazy: after k silent periods `alpha` is `(1-g)^k alpha`, computed when it is next needed.
///
/// Departures: 1. rates are real numbers where the simulator has whole bit/s. 2. The byte counter that ConnectX has beside
/// its timer is left out of `mellanox`, as its simulator does. 3. A stage is counted before it is compared (`paper`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dcqcn {
    dialect: Dialect,
    line_rate: f64,
    window: Window,
    gain: f64,
    alpha_period: u64,
    increase_period: u64,
    fast_recovery: u32,
    additive: f64,
    hyper: f64,
    min_rate: f64,
}

/// One flow's rates under [`Dcqcn`].
#[derive(Clone, Debug, PartialEq)]
pub struct DcqcnState {
    rate: f64,
    target: f64,
    alpha: f64,
    /// When periods of alpha began to be counted; [`NEVER`] before the first notification.
    origin: u64,
    /// Periods of alpha that are accounted for.
    periods: u64,
    /// A notification has come in the period of alpha under way.
    notified: bool,
    /// When the rate is next cut (`mellanox`).
    cut_at: u64,
    increase_at: u64,
    time_stage: u32,
    byte_stage: u32,
    bytes: f64,
}

impl DcqcnState {
    /// Congestion of the path as of the last event.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Rate to which it recovers.
    #[must_use]
    pub fn target(&self) -> f64 {
        self.target
    }
}

impl Dcqcn {
    /// The dialect of ConnectX.
    #[must_use]
    pub fn mellanox(set: DcqcnMellanoxSettings, nic: Nic) -> Self {
        let dialect = Dialect::Mellanox {
            decrease_period: set.decrease_period.nanoseconds().max(1),
            clamp_target: set.clamp_target,
            first: set.rate_on_first_notification,
        };
        Self::new(dialect, set.rates, nic)
    }

    /// The dialect of the paper.
    #[must_use]
    pub fn paper(set: DcqcnPaperSettings, nic: Nic) -> Self {
        Self::new(Dialect::Paper { byte_counter: set.byte_counter.0 }, set.rates, nic)
    }

    fn new(dialect: Dialect, set: DcqcnRates, nic: Nic) -> Self {
        let of_line = nic.line_rate / 25e9;
        Self {
            dialect,
            line_rate: nic.line_rate,
            window: Window::new(set.window, nic),
            gain: set.gain,
            alpha_period: set.alpha_period.nanoseconds().max(1),
            increase_period: set.increase_period.nanoseconds().max(1),
            fast_recovery: set.fast_recovery.0,
            additive: set.additive_increase.map_or(5e6 * of_line, |rate| rate.0),
            hyper: set.hyper_increase.map_or(50e6 * of_line, |rate| rate.0),
            min_rate: set.min_rate.0.min(nic.line_rate),
        }
    }

    /// Accounts for the periods of alpha that ended by then.
    fn decay(&self, state: &mut DcqcnState, now: u64) {
        let mut silent = (now - state.origin) / self.alpha_period - state.periods;
        state.periods += silent;
        if silent > 0 && state.notified {
            state.notified = false;
            state.alpha = (1.0 - self.gain) * state.alpha + self.gain;
            silent -= 1;
        }
        if silent > 0 {
            state.alpha *= (1.0 - self.gain).powi(silent.min(1 << 30) as i32);
        }
    }

    /// Lets cuts and increases happen that were due by now.
    #[inline]
    fn catch_up(&self, state: &mut DcqcnState, now: u64) {
        while state.cut_at.min(state.increase_at) <= now {
            if state.cut_at <= state.increase_at {
                let at = std::mem::replace(&mut state.cut_at, NEVER);
                self.decay(state, at);
                self.cut(state, at);
            } else {
                state.increase_at += self.increase_period;
                state.time_stage += 1;
                self.increase(state);
            }
        }
    }

    fn cut(&self, state: &mut DcqcnState, at: u64) {
        let keeps_target = matches!(self.dialect, Dialect::Mellanox { clamp_target: false, .. })
            && state.time_stage == 0;
        if !keeps_target {
            state.target = state.rate;
        }
        state.rate = (state.rate * (1.0 - state.alpha / 2.0)).max(self.min_rate);
        (state.time_stage, state.byte_stage, state.bytes) = (0, 0, 0.0);
        state.increase_at = at + self.increase_period;
    }

    fn increase(&self, state: &mut DcqcnState) {
        let (low, high) = match self.dialect {
            // Its stage is counted after the step.
            Dialect::Mellanox { .. } => (state.time_stage - 1, state.time_stage - 1),
            Dialect::Paper { .. } => {
                (state.time_stage.min(state.byte_stage), state.time_stage.max(state.byte_stage))
            }
        };
        let step = if high < self.fast_recovery {
            0.0
        } else if low > self.fast_recovery {
            match self.dialect {
                Dialect::Mellanox { .. } => self.hyper,
                Dialect::Paper { .. } => f64::from(low - self.fast_recovery) * self.hyper,
            }
        } else {
            self.additive
        };
        state.target = (state.target + step).min(self.line_rate);
        state.rate = (state.rate + state.target) / 2.0;
    }
}

impl RateBased for Dcqcn {
    type State = DcqcnState;

    fn start(&self) -> DcqcnState {
        DcqcnState {
            rate: self.line_rate,
            target: self.line_rate,
            alpha: 1.0,
            origin: NEVER,
            periods: 0,
            notified: false,
            cut_at: NEVER,
            increase_at: NEVER,
            time_stage: 0,
            byte_stage: 0,
            bytes: 0.0,
        }
    }

    #[inline]
    fn on_acknowledgement(&self, state: &mut DcqcnState, ack: &Acknowledgement, _hops: &[Hop]) {
        if ack.marked {
            self.on_notification(state, ack.now);
        }
    }

    fn on_notification(&self, state: &mut DcqcnState, now: u64) {
        self.catch_up(state, now);
        let is_first = state.origin == NEVER;
        match self.dialect {
            Dialect::Paper { .. } => {
                if !is_first {
                    self.decay(state, now);
                }
                (state.origin, state.periods) = (now, 0);
                self.cut(state, now);
                state.alpha = (1.0 - self.gain) * state.alpha + self.gain;
            }
            Dialect::Mellanox { decrease_period, first, .. } => {
                if is_first {
                    state.origin = now;
                    state.rate *= first;
                    state.target = state.rate;
                } else {
                    self.decay(state, now);
                    state.notified = true;
                }
                if state.cut_at == NEVER {
                    // Looks come a nanosecond after updates of alpha.
                    let looks = now.saturating_sub(state.origin + 1) / decrease_period + 1;
                    state.cut_at = state.origin + 1 + looks * decrease_period;
                }
            }
        }
    }

    #[inline]
    fn next_gap(&self, state: &mut DcqcnState, now: u64, bytes: u32) -> f64 {
        self.catch_up(state, now);
        if let Dialect::Paper { byte_counter } = self.dialect
            && state.origin != NEVER
        {
            state.bytes += f64::from(bytes);
            while state.bytes >= byte_counter {
                state.bytes -= byte_counter;
                state.byte_stage += 1;
                self.increase(state);
            }
        }
        Paced::gap(bytes, state.rate)
    }

    #[inline]
    fn rate(&self, state: &mut DcqcnState, now: u64) -> f64 {
        self.catch_up(state, now);
        state.rate
    }

    #[inline]
    fn window(&self, state: &mut DcqcnState, now: u64) -> u64 {
        if self.window.limits() {
            self.catch_up(state, now);
        }
        self.window.at(state.rate)
    }
}
