//! What was seen at most: bandwidth over two probing cycles, aggregation over ten rounds.

use crate::numbers::{greater, lesser, real};

/// The greatest delivery rate of this probing cycle and the one before (`BBR.MaxBwFilterLen` = 2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BandwidthFilter {
    before: f64,
    current: f64,
}

impl BandwidthFilter {
    pub(super) fn get(&self) -> f64 {
        greater(self.before, self.current)
    }

    pub(super) fn add(&mut self, rate: f64) {
        self.current = greater(self.current, rate);
    }

    /// A new cycle begins: the one before the last is forgotten.
    pub(super) fn advance(&mut self) {
        if self.current > 0.0 {
            self.before = self.current;
            self.current = 0.0;
        }
    }
}

/// Rounds for which aggregation is remembered (`BBR.ExtraAckedFilterLen`).
pub(super) const AGGREGATION_ROUNDS: u64 = 10;

/// By how many segments acknowledgements ran ahead of the bandwidth, at most, in the last rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AggregationFilter {
    /// When the stretch began over which deliveries are compared with the bandwidth.
    interval_start: u64,
    delivered: f64,
    /// The most of each of the last rounds, by round modulo their number.
    rounds: [f64; AGGREGATION_ROUNDS as usize],
    round: u64,
    /// The place of that round among them.
    place: usize,
    most: f64,
}

impl AggregationFilter {
    pub(super) fn begin(&mut self, now: u64) {
        self.interval_start = now;
    }

    /// Segments beyond what the bandwidth explains.
    pub(super) fn get(&self) -> f64 {
        self.most
    }

    /// `newly` segments were delivered at `now` in round `round`; the last `length` rounds count.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        now: u64,
        round: u64,
        length: u64,
        newly: f64,
        bandwidth: f64,
        window: f64,
    ) {
        let mut expected = bandwidth * real(now - self.interval_start) / 1e9;
        if self.delivered <= expected {
            self.delivered = 0.0;
            self.interval_start = now;
            expected = 0.0;
        }
        self.delivered += newly;
        let extra = lesser(self.delivered - expected, window);
        let place = |round: u64| (round % AGGREGATION_ROUNDS) as usize;
        if round != self.round {
            let passed = round - self.round;
            for back in 0..AGGREGATION_ROUNDS.min(round + 1) {
                // Rounds without an acknowledgement, and those too long ago.
                if back < passed || back >= length {
                    self.rounds[place(round - back)] = 0.0;
                }
            }
            self.round = round;
            self.place = place(round);
            self.most = self.rounds.iter().fold(0.0, |most, round| f64::max(most, *round));
        }
        let here = &mut self.rounds[self.place];
        *here = greater(*here, extra);
        self.most = greater(self.most, extra);
    }
}
