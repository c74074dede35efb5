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
#[repr(C)] // see the model
pub(super) struct AggregationFilter {
    /// When the stretch began over which deliveries are compared with the bandwidth.
    interval_start: u64,
    delivered: f64,
    /// The most of all rounds that count, and of this one.
    most: f64,
    most_of_round: f64,
    /// The most of each of the last rounds before, by round modulo their number.
    rounds: [f64; AGGREGATION_ROUNDS as usize],
}

impl AggregationFilter {
    /// So many bytes at its beginning are asked for with every acknowledgement.
    pub(super) const OFTEN_ASKED_FOR: usize = std::mem::offset_of!(Self, rounds);

    pub(super) fn begin(&mut self, now: u64) {
        self.interval_start = now;
    }

    /// Segments beyond what the bandwidth explains.
    pub(super) fn get(&self) -> f64 {
        self.most
    }

    /// Round `round` begins; the last `length` rounds count, this one included.
    #[cold] // once in a round
    #[inline(never)]
    pub(super) fn begin_round(&mut self, round: u64, length: u64) {
        let place = |round: u64| (round % AGGREGATION_ROUNDS) as usize;
        self.rounds[place(round - 1)] = std::mem::take(&mut self.most_of_round);
        self.rounds[place(round)] = 0.0;
        for back in length..AGGREGATION_ROUNDS.min(round + 1) {
            self.rounds[place(round - back)] = 0.0;
        }
        self.most = self.rounds.iter().fold(0.0, |most, round| f64::max(most, *round));
    }

    /// `newly` segments were delivered at `now`.
    #[inline(always)]
    pub(super) fn add(&mut self, now: u64, newly: f64, bandwidth: f64, window: f64) {
        let mut expected = bandwidth * real(now - self.interval_start) / 1e9;
        if self.delivered <= expected {
            self.delivered = 0.0;
            self.interval_start = now;
            expected = 0.0;
        }
        self.delivered += newly;
        let extra = lesser(self.delivered - expected, window);
        self.most_of_round = greater(self.most_of_round, extra);
        self.most = greater(self.most, extra);
    }
}
