use std::collections::VecDeque;

use crate::law::Direction;
use crate::{Answer, RateLaw};

/// Length of a cell in nanoseconds, and how many are kept: a minute.
pub(crate) const CELL: u64 = 50_000_000;
pub(crate) const CELLS: usize = 1200;
/// Cells at the beginning of a replay that do not count: the law begins anew.
const SETTLING: usize = 100;
/// Steps of a replay in a cell.
const STEPS: usize = 2;
/// Growth of what senders send in a step, at the most: they double it within a second.
const GROWTH: f64 = 1.0175;
/// A full packet, in bits.
const PACKET: f64 = 8.0 * 1514.0;
/// Room of the line's queue, in seconds of its mean capacity.
const ROOM: f64 = 4.0;

/// What the service curve says of 50 ms.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Bits served.
    bits: f32,
    /// Nanoseconds for which probes waited, so that these bits are the capacity.
    busy: u32,
    /// Longest wait of a probe in seconds, negative where none came through.
    wait: f32,
    /// True if the shaper held somebody back.
    is_loaded: bool,
}

/// A line of the last minute as its service curve has shown it: a fluid on which laws are tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineModel {
    /// Number of the first cell.
    first: u64,
    cells: VecDeque<Cell>,
    served: u64,
    trip: u64,
}

/// Outcome of a law on the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Part of what the line could have carried.
    pub(crate) carried: f64,
    /// 95th percentile of the wait in the line's queue while it is loaded, in seconds; without that of an empty queue.
    pub(crate) excess: f64,
}

impl LineModel {
    /// A point of the curve came through at `served`, `bytes` after the one before, having waited so long.
    pub(crate) fn note(
        &mut self,
        served: u64,
        bytes: f64,
        wait: u64,
        is_busy: bool,
        is_loaded: bool,
    ) {
        let before = std::mem::replace(&mut self.served, served);
        let last = served / CELL;
        if before == 0 || served <= before || last > self.first + (self.cells.len() + CELLS) as u64
        {
            (self.first, self.cells) = (last, VecDeque::from([Cell::default()]));
            return;
        }
        while self.first + self.cells.len() as u64 <= last {
            self.cells.push_back(Cell { wait: -1.0, ..Cell::default() });
        }
        let span = (served - before) as f64;
        for number in (before / CELL).max(self.first)..=last {
            let begin = before.max(number * CELL);
            let part = served.min((number + 1) * CELL) - begin;
            let cell = &mut self.cells[(number - self.first) as usize];
            cell.bits += (8.0 * bytes * part as f64 / span) as f32;
            cell.busy += if is_busy { part as u32 } else { 0 };
            cell.is_loaded |= is_loaded;
        }
        if let Some(cell) = self.cells.back_mut() {
            cell.wait = cell.wait.max(wait as f32 / 1e9);
        }
        while self.cells.len() > CELLS {
            self.cells.pop_front();
            self.first += 1;
        }
    }

    /// Round trip without waits, in nanoseconds.
    pub(crate) fn set_trip(&mut self, trip: u64) {
        self.trip = trip;
    }

    /// Seconds of the last minute in which the capacity was seen.
    pub(crate) fn seen(&self) -> f64 {
        self.cells.iter().map(|cell| f64::from(cell.busy)).sum::<f64>() / 1e9
    }

    /// 95th percentile of the waits of probes while the line was loaded, in seconds.
    pub(crate) fn waited(&self) -> f64 {
        let loaded =
            self.cells.iter().filter(|cell| cell.wait >= 0.0 && (cell.is_loaded || cell.busy > 0));
        percentile(loaded.map(|cell| cell.wait).collect())
    }

    /// Bits that the line could carry in each cell, and that senders would have sent.
    fn capacity(&self) -> (Vec<f64>, Vec<f64>) {
        let seen = |cell: &Cell| u64::from(cell.busy) * 2 >= CELL;
        let mut capacity: Vec<f64> = self.cells.iter().map(|cell| f64::from(cell.bits)).collect();
        let known: Vec<usize> = (0..capacity.len()).filter(|&at| seen(&self.cells[at])).collect();
        let level = |at: usize| capacity[at].max(1.0).ln();
        let mut between = vec![0.0; capacity.len()];
        for pair in known.windows(2) {
            let (a, b) = (level(pair[0]), level(pair[1]));
            let gap = (pair[1] - pair[0]) as f64;
            for (steps, bits) in between[pair[0]..pair[1]].iter_mut().enumerate() {
                *bits = (a + (b - a) * steps as f64 / gap).exp();
            }
        }
        if let (Some(&begin), Some(&end)) = (known.first(), known.last()) {
            let (a, b) = (capacity[begin], capacity[end]);
            between[..begin].fill(a);
            between[end..].fill(b);
        }
        let mut demand = vec![f64::INFINITY; capacity.len()];
        for (at, cell) in self.cells.iter().enumerate() {
            if !seen(cell) {
                if !cell.is_loaded {
                    demand[at] = capacity[at];
                }
                capacity[at] = capacity[at].max(between[at]);
            }
        }
        (capacity, demand)
    }

    /// Lets a law set the rate before or behind the line. Senders send whatever it lets out, upwards at once, downwards
    /// a round trip later.
    pub(crate) fn replay(&self, law: &mut dyn RateLaw, direction: Direction) -> Outcome {
        let (capacity, demand) = self.capacity();
        let step = CELL / STEPS as u64;
        let mean =
            capacity.iter().sum::<f64>() / (capacity.len().max(1) as f64 * CELL as f64 / 1e9);
        let lag = match direction {
            Direction::Up => 0,
            Direction::Down => (self.trip / step).max(1) as usize,
        };
        let mut flow = mean;
        let mut rates = VecDeque::from(vec![mean; lag + 1]);
        let (mut let_out, mut served, mut lost) = (0.0_f64, 0.0_f64, 0.0_f64);
        let (mut could, mut carried) = (0.0, 0.0);
        // Probes in the queue: when each was sent, the bits before it; answers on their way.
        let mut probes: VecDeque<(u64, f64)> = VecDeque::new();
        let mut answers: VecDeque<Answer> = VecDeque::new();
        let mut waits = Vec::new();
        let mut idle_until = 0;
        let begin = self.trip + step;
        for at in 0..capacity.len() * STEPS {
            let (cell, now) = (at / STEPS, begin + at as u64 * step);
            let (room, wanted) = (capacity[cell] / STEPS as f64, demand[cell] / STEPS as f64);
            while let Some(&answer) = answers.front()
                && answer.received <= now
            {
                answers.pop_front();
                law.answered(answer);
            }
            let bytes = match direction {
                Direction::Up => let_out / 8.0,
                Direction::Down => served / 8.0,
            };
            rates.push_back(law.rate(now, bytes as u64));
            let rate = rates.pop_front().unwrap_or(mean);
            flow = if matches!(direction, Direction::Up) { rate } else { rate.min(flow * GROWTH) };
            if at % STEPS == 0 {
                let sent = if matches!(direction, Direction::Up) { now } else { now - self.trip };
                law.probe_sent(sent, bytes as u64);
                probes.push_back((now, let_out - lost));
            }
            let_out += wanted.min(flow * step as f64 / 1e9);
            let sent = room.min(let_out - lost - served);
            let (before, ends) = (served, now + step);
            served += sent;
            lost += (let_out - lost - served - ROOM * mean).max(0.0);
            if room < 1.0 {
                idle_until = ends;
            }
            while let Some(&(left, bits)) = probes.front()
                && bits <= served
                && room >= 1.0
            {
                probes.pop_front();
                let through =
                    now.max(left) + ((bits - before).max(0.0) / room * step as f64) as u64;
                // Nobody can be served while the line is silent.
                let empty = idle_until.saturating_sub(left);
                let wait = (through - left).saturating_sub(empty);
                let is_counted = cell >= SETTLING
                    && (demand[cell].is_infinite() || capacity[cell] < demand[cell]);
                if is_counted {
                    waits.push(wait as f32 / 1e9);
                }
                let (sent, received) = match direction {
                    Direction::Up => (left, through + self.trip),
                    Direction::Down => (left - self.trip, through),
                };
                answers.push_back(Answer {
                    reflector: 0,
                    sent,
                    received,
                    one_way: None,
                    own_wait: 0,
                });
            }
            if cell >= SETTLING {
                could += room.min(wanted);
                carried += sent;
            }
        }
        Outcome { carried: carried / f64::max(could, PACKET), excess: percentile(waits) }
    }
}

/// The 95th percentile; zero of nothing.
fn percentile(mut values: Vec<f32>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = (values.len() - 1) * 95 / 100;
    let (_, value, _) = values.select_nth_unstable_by(place, f32::total_cmp);
    f64::from(*value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fixed, FixedSettings};
    use vermilion_parameters::BitPerSecond;

    /// A minute of a line of 12 Mbit/s that was always busy: 75,000 bytes every 50 ms.
    fn constant() -> LineModel {
        let mut line = LineModel::default();
        line.set_trip(40_000_000);
        for number in 1..=1200 {
            line.note(number * CELL, 75_000.0, 20_000_000, true, true);
        }
        line
    }

    fn at(rate: f64, direction: Direction) -> Outcome {
        let mut law = Fixed::new(FixedSettings { rate: BitPerSecond(rate) });
        constant().replay(&mut law, direction)
    }

    #[test]
    fn what_was_seen_is_known() {
        let line = constant();
        assert!((line.seen() - 59.95).abs() < 1e-6, "{}", line.seen());
        assert!((line.waited() - 0.02).abs() < 1e-6, "{}", line.waited());
    }

    #[test]
    fn half_the_rate_carries_half_and_waits_for_nothing() {
        for direction in [Direction::Up, Direction::Down] {
            let Outcome { carried, excess } = at(6e6, direction);
            assert!((carried - 0.5).abs() < 0.01, "{carried}");
            assert!(excess < 0.001, "{excess}");
        }
    }

    #[test]
    fn one_per_cent_too_much_fills_the_line_by_a_hundredth_of_the_time() {
        // After t s 0.01 t s of traffic wait; a twentieth of the 55 s that count comes later than 57.25 s.
        for direction in [Direction::Up, Direction::Down] {
            let Outcome { carried, excess } = at(12.12e6, direction);
            assert!(carried > 0.999, "{carried}");
            assert!((excess - 0.5725).abs() < 0.02, "{excess}");
        }
    }

    #[test]
    fn silence_of_the_line_is_no_excess() {
        let mut line = LineModel::default();
        line.set_trip(40_000_000);
        for number in 1..=1200 {
            // Nothing is served in every other second.
            let bytes = if number / 20 % 2 == 0 { 75_000.0 } else { 0.0 };
            line.note(number * CELL, bytes, 20_000_000, true, true);
        }
        let mut law = Fixed::new(FixedSettings { rate: BitPerSecond(1e5) });
        let outcome = line.replay(&mut law, Direction::Up);
        assert!(outcome.excess < 0.06, "{outcome:?}");
    }
}
