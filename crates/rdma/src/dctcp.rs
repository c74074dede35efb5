use vermilion_parameters::{BitPerSecond, settings};

use crate::{Acknowledgement, Hop, Nic, Paced, RateBased, Window, WindowSettings};

settings! {
    /// Settings of [`HardwareDctcp`].
    pub HardwareDctcpSettings "dctcp-hardware": "DCTCP in hardware",
        "DCTCP's law on a rate that starts at line rate, as simulators of NICs have it",
        "Li et al., SIGCOMM 2019 (HPCC), its simulator; Alizadeh et al., SIGCOMM 2010";
    ..window: WindowSettings { window: Choice("variable") };
    /// weight of a round trip in the estimated part of marked packets
    gain: f64 = (1.0 / 16.0) in [> 0, 1] log [0.01, 0.5], "SIGCOMM 2010: g = 1/16";
    /// increase of the rate each round trip; automatic: one packet of 1000 bytes in 13 us
    additive_increase: Option<BitPerSecond> = automatic in [0, 1e13] log [1e7, 1e10],
        "HPCC authors' simulator: 615 Mbit/s";
    /// least rate
    min_rate: BitPerSecond = 100e6 in [> 0, 1e13], "HPCC authors' simulator, config.txt";
}

/// DCTCP as the simulator of HPCC's authors has it in a NIC: rate-based, from line rate on.
///
/// Source: `HandleAckDctcp` of the simulator of Y. Li et al., "HPCC", SIGCOMM 2019; the law is that of M. Alizadeh et al.,
/// "Data Center TCP", SIGCOMM 2010.
///
/// State: the rate, `alpha` from 1, marks since the last update. Once a round trip `alpha` takes a step towards the part of
/// packets that were marked, at most 1. A marked acknowledgement cuts the rate by `alpha/2`, once until what was
/// sent by then is acknowledged; each round trip outside of that adds `additive_increase`.
///
/// Departures: rates are real numbers where the simulator has whole bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardwareDctcp {
    line_rate: f64,
    window: Window,
    gain: f64,
    increase: f64,
    min_rate: f64,
}

/// One flow's rate under [`HardwareDctcp`].
#[derive(Clone, Debug, PartialEq)]
pub struct HardwareDctcpState {
    rate: f64,
    alpha: f64,
    marks: u32,
    /// Packets of the round trip that alpha is next updated for.
    batch: u32,
    update_after: u32,
    reduced: bool,
    reduced_until: u32,
}

impl HardwareDctcpState {
    /// Estimated part of packets that are marked.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }
}

impl HardwareDctcp {
    /// The end of these settings.
    #[must_use]
    pub fn new(set: HardwareDctcpSettings, nic: Nic) -> Self {
        Self {
            line_rate: nic.line_rate,
            window: Window::new(set.window, nic),
            gain: set.gain,
            increase: set.additive_increase.map_or(8000.0 / 13e-6, |rate| rate.0),
            min_rate: set.min_rate.0.min(nic.line_rate),
        }
    }
}

impl RateBased for HardwareDctcp {
    type State = HardwareDctcpState;

    fn start(&self) -> HardwareDctcpState {
        HardwareDctcpState {
            rate: self.line_rate,
            alpha: 1.0,
            marks: 0,
            batch: 0,
            update_after: 0,
            reduced: false,
            reduced_until: 0,
        }
    }

    #[inline]
    fn on_acknowledgement(&self, state: &mut HardwareDctcpState, ack: &Acknowledgement, _: &[Hop]) {
        state.marks += u32::from(ack.marked);
        let is_round = ack.upto > state.update_after;
        if is_round {
            if state.update_after > 0 {
                let part = (f64::from(state.marks) / f64::from(state.batch)).min(1.0);
                state.alpha = (1.0 - self.gain) * state.alpha + self.gain * part;
                state.marks = 0;
                state.batch = ack.sent.saturating_sub(ack.upto) + 1;
            } else {
                state.batch = ack.sent + 1;
            }
            state.update_after = ack.sent;
        }
        if state.reduced && ack.upto > state.reduced_until {
            state.reduced = false;
        }
        if ack.marked && !state.reduced {
            state.rate = (state.rate * (1.0 - state.alpha / 2.0)).max(self.min_rate);
            (state.reduced, state.reduced_until) = (true, ack.sent);
        }
        if is_round && !state.reduced {
            state.rate = (state.rate + self.increase).min(self.line_rate);
        }
    }

    fn on_notification(&self, _: &mut HardwareDctcpState, _: u64) {}

    #[inline]
    fn next_gap(&self, state: &mut HardwareDctcpState, _: u64, bytes: u32) -> f64 {
        Paced::gap(bytes, state.rate)
    }

    #[inline]
    fn rate(&self, state: &mut HardwareDctcpState, _: u64) -> f64 {
        state.rate
    }

    #[inline]
    fn window(&self, state: &mut HardwareDctcpState, _: u64) -> u64 {
        self.window.at(state.rate)
    }
}
