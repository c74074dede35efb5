//! A player of video: which rate the next segment has, when it is asked for, and when playing stalls.

use crate::scenario::{BitRateRule, Video};

/// Downloads whose rates the throughput rule looks at.
const LAST: usize = 5;

/// A player and its buffer. Times are in nanoseconds.
///
/// It fetches segments one after the other, all that fit into its buffer, and plays from the first on. Rules for the rate
/// of the next segment:
///
/// - buffer: BBA-0 of T.-Y. Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014, section 4: below
///   a reservoir the lowest rate, from 90 % of the buffer on the highest, between them a line, which has to
///   reach the next rate of the list before that is taken. The reservoir is 90 of 240 s, as there.
/// - throughput: the highest rate below the harmonic mean of the last five downloads, as in X. Yin et al., "A
///   Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP", SIGCOMM 2015, section 5.
///
/// Departures: the player stands beside the sender, who is asked when it knows that a segment has arrived.
#[derive(Clone, Debug)]
pub struct Player {
    video: Video,
    /// Playing time in the buffer when it was last looked at, and when that was; `None` before anything has come.
    buffer: Option<(u64, u64)>,
    rate: usize,
    asked: u64,
    downloads: [f64; LAST],
    count: usize,
}

/// Outcome of a segment's arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Played {
    /// Bits a second of the segment.
    pub rate: f64,
    /// How long playing had stalled for it.
    pub stalled: u64,
    /// How long the player waits before it asks for the next one.
    pub wait: u64,
}

impl Player {
    pub fn new(video: Video) -> Self {
        Self { video, buffer: None, rate: 0, asked: 0, downloads: [0.0; LAST], count: 0 }
    }

    /// Bytes of the segment that is asked for at `now`.
    pub fn ask(&mut self, now: u64) -> f64 {
        self.asked = now;
        let level = self.buffer.map_or(0, |(level, since)| level.saturating_sub(now - since));
        self.rate = match self.video.rule {
            BitRateRule::Buffer => self.by_buffer(level as f64),
            BitRateRule::Throughput => self.by_throughput(),
        };
        self.video.rates_bit_per_s[self.rate] * self.video.segment_ns as f64 / 8e9
    }

    /// The segment has arrived.
    pub fn arrived(&mut self, now: u64) -> Played {
        let rate = self.video.rates_bit_per_s[self.rate];
        let took = (now - self.asked).max(1) as f64;
        self.downloads[self.count % LAST] = rate * self.video.segment_ns as f64 / took;
        self.count += 1;
        let (level, stalled) = self.buffer.map_or((0, 0), |(level, since)| {
            let played = now - since;
            (level.saturating_sub(played), played.saturating_sub(level))
        });
        let level = level + self.video.segment_ns;
        self.buffer = Some((level, now));
        let wait = (level + self.video.segment_ns).saturating_sub(self.video.buffer_ns);
        Played { rate, stalled, wait }
    }

    fn by_buffer(&self, level: f64) -> usize {
        let rates = &self.video.rates_bit_per_s;
        let (most, last) = (self.video.buffer_ns as f64, rates.len() - 1);
        let (reservoir, upper) = (most * 90.0 / 240.0, most * 0.9);
        if level <= reservoir {
            return 0;
        }
        if level >= upper {
            return last;
        }
        let line = rates[0] + (rates[last] - rates[0]) * (level - reservoir) / (upper - reservoir);
        let (above, below) = ((self.rate + 1).min(last), self.rate.saturating_sub(1));
        if line >= rates[above] {
            rates.iter().rposition(|&rate| rate < line).unwrap_or(0)
        } else if line <= rates[below] {
            rates.iter().position(|&rate| rate > line).unwrap_or(last)
        } else {
            self.rate
        }
    }

    fn by_throughput(&self) -> usize {
        let known = &self.downloads[..self.count.min(LAST)];
        let mean = known.len() as f64 / known.iter().map(|rate| 1.0 / rate).sum::<f64>();
        self.video.rates_bit_per_s.iter().rposition(|&rate| rate < mean).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn player(rule: BitRateRule) -> Player {
        let rates_bit_per_s = vec![1e6, 2e6, 4e6];
        Player::new(Video { rates_bit_per_s, segment_ns: 4 * SECOND, buffer_ns: 40 * SECOND, rule })
    }

    #[test]
    fn playing_stalls_when_the_buffer_is_empty() {
        let mut player = player(BitRateRule::Throughput);
        assert_eq!(player.ask(0), 5e5);
        assert_eq!(player.arrived(SECOND), Played { rate: 1e6, stalled: 0, wait: 0 });
        // 4 s are in the buffer at 1 s; the next segment takes until 7 s.
        assert_eq!(player.ask(SECOND), 1e6); // 4 Mbit/s were seen, and 2 are below
        assert_eq!(player.arrived(7 * SECOND).stalled, 2 * SECOND);
    }

    #[test]
    fn a_full_buffer_makes_the_player_wait() {
        let mut player = player(BitRateRule::Buffer);
        let mut waits = Vec::new();
        for _ in 0..11 {
            player.ask(0);
            waits.push(player.arrived(0).wait / SECOND);
        }
        assert_eq!(waits, [0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 8]);
    }

    #[test]
    fn the_rate_follows_the_buffer() {
        let mut player = player(BitRateRule::Buffer);
        // The line from 15 s to 36 s: 2 Mbit/s at 22 s, 4 at 36.
        for (level, rate) in [
            (15, 0),
            (21, 0),
            (23, 1),
            (30, 1),
            (16, 1),
            (15, 0),
            (36, 2),
            (30, 2),
            (22, 2),
            (21, 1),
        ] {
            player.buffer = Some((level * SECOND, 0));
            player.ask(0);
            assert_eq!(player.rate, rate, "{level} s");
        }
    }
}
