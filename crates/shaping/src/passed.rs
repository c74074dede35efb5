//! Bytes that have passed an interface, as a curve over time.

use std::collections::VecDeque;

/// Readings that are kept.
const MOST: usize = 512;

/// Readings of a counter of bytes, of which those in between are interpolated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    readings: VecDeque<(u64, u64)>,
    raw: u64,
}

impl Passed {
    /// Takes a reading of the counter. One that has begun anew goes on from here.
    pub(crate) fn note(&mut self, now: u64, raw: u64) {
        let Some(&(time, bytes)) = self.readings.back() else {
            self.raw = raw;
            self.readings.push_back((now, 0));
            return;
        };
        if now < time {
            return;
        }
        let bytes = bytes.saturating_add(raw.saturating_sub(self.raw));
        self.raw = raw;
        if now == time {
            self.readings.pop_back();
        } else if self.readings.len() == MOST {
            self.readings.pop_front();
        }
        self.readings.push_back((now, bytes));
    }

    /// The last reading.
    pub(crate) fn last(&self) -> (u64, u64) {
        self.readings.back().copied().unwrap_or_default()
    }

    /// Bytes until `time`; those of the first or last reading beyond them.
    pub(crate) fn at(&self, time: u64) -> f64 {
        let after = self.readings.partition_point(|&(other, _)| other <= time);
        let Some(&(t0, b0)) = self.readings.get(after.saturating_sub(1)) else { return 0.0 };
        match self.readings.get(after) {
            Some(&(t1, b1)) if after > 0 => {
                b0 as f64 + (b1 - b0) as f64 * (time - t0) as f64 / (t1 - t0) as f64
            }
            _ => b0 as f64,
        }
    }

    /// Bits per second over the last so many nanoseconds; `None` before there are as many.
    pub(crate) fn rate(&self, span: u64) -> Option<f64> {
        let (now, bytes) = self.last();
        let begin = now.checked_sub(span)?;
        (self.readings.front()?.0 <= begin)
            .then(|| (bytes as f64 - self.at(begin)) * 8e9 / span as f64)
    }
}
