//! A queue, watched between two instants.

use serde::Serialize;

/// Bytes to a class of the distribution.
const CLASS: u32 = 250;

/// Time that a queue spent at each length.
#[derive(Clone, Debug, Default)]
pub struct QueueWindow {
    from: u64,
    to: u64,
    since: u64,
    bytes: u32,
    time: f64,
    sum: f64,
    squares: f64,
    largest: u32,
    classes: Vec<f64>,
}

/// A queue over time, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueBytes {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Percentiles, to 250 bytes.
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl QueueWindow {
    /// An empty queue, to be watched from one instant to another.
    #[must_use]
    pub fn new(from: u64, to: u64) -> Self {
        Self { from, to, ..Self::default() }
    }

    /// The queue has another length from now on.
    #[inline]
    pub fn change(&mut self, now: u64, bytes: u32) {
        let (from, to) = (self.since.max(self.from), now.min(self.to));
        if to > from {
            let time = (to - from) as f64;
            let length = f64::from(self.bytes);
            self.time += time;
            self.sum += time * length;
            self.squares += time * length * length;
            self.largest = self.largest.max(self.bytes);
            let class = (self.bytes / CLASS) as usize;
            if class >= self.classes.len() {
                self.classes.resize(class + 1, 0.0);
            }
            self.classes[class] += time;
        }
        (self.since, self.bytes) = (now, bytes);
    }

    /// The queue was as it is until now.
    pub fn end(&mut self, now: u64) {
        self.change(now, self.bytes);
    }

    /// What was seen, `None` if nothing.
    #[must_use]
    pub fn summary(&self) -> Option<QueueBytes> {
        if self.time == 0.0 {
            return None;
        }
        let mean = self.sum / self.time;
        let percentile = |part: f64| {
            let mut left = part * self.time;
            let class = self.classes.iter().position(|time| {
                left -= time;
                left <= 0.0
            });
            class
                .map_or(f64::from(self.largest), |class| class as f64 * f64::from(CLASS))
                .min(f64::from(self.largest))
        };
        Some(QueueBytes {
            mean,
            sd: (self.squares / self.time - mean * mean).max(0.0).sqrt(),
            p5: percentile(0.05),
            p50: percentile(0.5),
            p95: percentile(0.95),
            p99: percentile(0.99),
            max: f64::from(self.largest),
        })
    }
}
