use vermilion_parameters::{BitPerSecond, Periods, settings};

use crate::{Acknowledgement, Hop, Nic, Paced, RateBased, Window, WindowSettings};

settings! {
    /// Settings of [`Hpcc`].
    pub HpccSettings "hpcc": "HPCC",
        "Rates from telemetry of every hop: queue, bytes sent and time",
        "Li et al., SIGCOMM 2019";
    ..window: WindowSettings { window: Choice("variable") };
    /// utilisation that is aimed at
    target_utilisation: f64 = 0.95 in [> 0, 1] linear [0.8, 1], "SIGCOMM 2019: eta";
    /// additive steps before the next proportional one
    max_stage: Periods<u32> = 5 in [0, 1e6], "SIGCOMM 2019; the configurations of its simulator have 0";
    /// additive step of the rate; automatic: 10 Mbit/s at 25 Gbit/s, in proportion to the line
    additive_increase: Option<BitPerSecond> = automatic in [0, 1e13] log [1e6, 1e10],
        "HPCC authors' simulator, run.py";
    /// every acknowledgement changes the rate, not only one each round trip
    fast_reaction: bool = true, "SIGCOMM 2019: W from Wc with each acknowledgement";
    /// least rate
    min_rate: BitPerSecond = 100e6 in [> 0, 1e13], "HPCC authors' simulator, config.txt";
}

/// HPCC: the rate follows the utilisation of the busiest hop, measured by telemetry.
///
/// Source: Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1, and the authors' simulator
/// (`UpdateRateHp`, one rate for the flow).
///
/// State: the utilisation `U` (a moving average over one base round trip, from 1), the reference rate of the last
/// round trip, the additive steps since the last proportional one, each hop's last telemetry. Control law: where `U` is at
/// least the target, or after `max_stage` additive steps, the reference rate is divided by `U/target`; an additive step
/// comes on top either way. The reference follows once a round trip.
///
/// Departures: 1. a rate stands for the paper's window (the window is rate x base round trip), as in the simulator.
/// 2. The first acknowledgement only stores telemetry. 3. Times and bytes are not cut to the header's few bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hpcc {
    line_rate: f64,
    round_trip: f64,
    window: Window,
    target: f64,
    max_stage: u32,
    increase: f64,
    fast_reaction: bool,
    min_rate: f64,
}

/// One flow's rate under [`Hpcc`].
#[derive(Clone, Debug, PartialEq)]
pub struct HpccState {
    rate: f64,
    reference: f64,
    utilisation: f64,
    stage: u32,
    update_after: u32,
    hops: Vec<Hop>,
}

impl HpccState {
    /// Averaged utilisation of the busiest hop.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }
}

impl Hpcc {
    /// The end of these settings.
    #[must_use]
    pub fn new(set: HpccSettings, nic: Nic) -> Self {
        Self {
            line_rate: nic.line_rate,
            round_trip: nic.base_round_trip as f64,
            window: Window::new(set.window, nic),
            target: set.target_utilisation,
            max_stage: set.max_stage.0,
            increase: set.additive_increase.map_or(10e6 * nic.line_rate / 25e9, |rate| rate.0),
            fast_reaction: set.fast_reaction,
            min_rate: set.min_rate.0.min(nic.line_rate),
        }
    }

    /// Takes the telemetry of a packet into the average utilisation.
    fn measure(&self, state: &mut HpccState, hops: &[Hop]) {
        let (mut most, mut over) = (0.0, 0.0);
        for (now, last) in hops.iter().zip(&mut state.hops) {
            let apart = (now.time - last.time) as f64;
            // Two packets of one instant say nothing of a rate.
            if apart > 0.0 {
                let sent = (now.sent_bytes - last.sent_bytes) as f64 * 8e9 / apart / now.rate;
                let queue = f64::from(now.queue_bytes.min(last.queue_bytes));
                let used = sent + queue * 8e9 / (now.rate * self.round_trip);
                if used > most {
                    (most, over) = (used, apart);
                }
            }
            *last = *now;
        }
        let weight = over.min(self.round_trip) / self.round_trip;
        state.utilisation = (1.0 - weight) * state.utilisation + weight * most;
    }
}

impl RateBased for Hpcc {
    type State = HpccState;

    const TELEMETRY: bool = true;
    const RETIMES: bool = true;

    fn start(&self) -> HpccState {
        HpccState {
            rate: self.line_rate,
            reference: self.line_rate,
            utilisation: 1.0,
            stage: 0,
            update_after: 0,
            hops: Vec::new(),
        }
    }

    fn on_acknowledgement(&self, state: &mut HpccState, ack: &Acknowledgement, hops: &[Hop]) {
        if state.update_after == 0 || state.hops.len() != hops.len() {
            state.update_after = ack.sent;
            state.hops = hops.to_vec();
            return;
        }
        let is_round = ack.upto > state.update_after;
        if !is_round && !self.fast_reaction {
            return;
        }
        self.measure(state, hops);
        let excess = state.utilisation / self.target;
        let (rate, stage) = if excess >= 1.0 || state.stage >= self.max_stage {
            (state.reference / excess + self.increase, 0)
        } else {
            (state.reference + self.increase, state.stage + 1)
        };
        state.rate = rate.clamp(self.min_rate, self.line_rate);
        if is_round {
            (state.reference, state.stage) = (state.rate, stage);
            state.update_after = ack.sent.max(state.update_after);
        }
    }

    fn on_notification(&self, _: &mut HpccState, _: u64) {}

    #[inline]
    fn next_gap(&self, state: &mut HpccState, _: u64, bytes: u32) -> f64 {
        Paced::gap(bytes, state.rate)
    }

    #[inline]
    fn rate(&self, state: &mut HpccState, _: u64) -> f64 {
        state.rate
    }

    #[inline]
    fn window(&self, state: &mut HpccState, _: u64) -> u64 {
        self.window.at(state.rate)
    }
}
