//! When transfers begin and how large they are.

use std::sync::Arc;

use super::player::{Played, Player};
use crate::calendar::NEVER;
use crate::random::{Purpose, Stream};
use crate::scenario::{FlowGroup, LARGEST_TRANSFER, Traffic};
use crate::variate::{Drawn, Variate};

/// A number of bytes to be sent over a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Goodput, in bytes.
    pub bytes: u64,
    /// Where the sender's clock stands, in nanoseconds.
    pub clock_phase: u64,
}

/// Rule that decides when the next transfer begins.
#[derive(Clone, Debug)]
pub enum Arrivals {
    /// A Poisson process: whatever happens to earlier transfers.
    Poisson {
        /// Mean time between arrivals in nanoseconds.
        mean_gap: f64,
    },
    /// A pause after the transfer before it has been acknowledged: the network has a say.
    AfterPause {
        /// The pause in nanoseconds.
        pause: Variate,
    },
    /// When the player of a video asks.
    Played(Box<Player>),
    /// A list of starts (nanoseconds after the source's) and bytes, in the order of the starts.
    Listed {
        /// Starts and sizes.
        rows: Arc<[(u64, u64)]>,
        /// Rows already begun.
        position: usize,
        /// When the source began.
        begin: u64,
    },
}

/// A source of transfers.
#[derive(Clone, Debug)]
pub struct Transfers {
    arrivals: Arrivals,
    sizes: Drawn,
    gap_stream: Stream,
    size_stream: Stream,
    clock_stream: Stream,
    /// In how many ways hosts' clocks stand apart, in nanoseconds.
    clock_phases: u64,
    /// When the next transfer begins in nanoseconds, with its fraction; infinite for never.
    next: f64,
    /// Until when transfers begin.
    pub stop: u64,
    /// Place in the table of flows of its one connection, where it keeps that.
    pub place: Option<u32>,
}

impl Transfers {
    /// A source that has not begun; `None` for traffic that is not made of arriving transfers.
    /// `index` tells the sources of a scenario apart; hosts' clocks stand apart in `clock_phases` ways.
    pub fn new(group: &FlowGroup, seed: u64, index: u64, clock_phases: u64) -> Option<Self> {
        let (arrivals, sizes) = match &group.traffic {
            Traffic::Web { mean_gap_ns, size } => {
                (Arrivals::Poisson { mean_gap: *mean_gap_ns }, size.clone())
            }
            Traffic::Bursts { size, off_ns } => {
                (Arrivals::AfterPause { pause: off_ns.clone() }, size.clone())
            }
            Traffic::Requests { size, think_ns, .. } => {
                (Arrivals::AfterPause { pause: think_ns.clone() }, size.clone())
            }
            Traffic::Video(video) => {
                let player = Player::new(video.clone());
                (Arrivals::Played(Box::new(player)), Variate::Constant { value: 1.0 })
            }
            Traffic::Trace { starts_ns, sizes_bytes } => {
                let rows = starts_ns.iter().copied().zip(sizes_bytes.iter().copied()).collect();
                let arrivals = Arrivals::Listed { rows, position: 0, begin: 0 };
                (arrivals, Variate::Constant { value: 1.0 })
            }
            _ => return None,
        };
        let stream = |purpose| Stream::new(seed, purpose, index);
        Some(Self {
            arrivals,
            sizes: Drawn::new(sizes),
            gap_stream: stream(Purpose::TransferGaps),
            size_stream: stream(Purpose::TransferSizes),
            clock_stream: stream(Purpose::TransferClocks),
            clock_phases,
            next: f64::INFINITY,
            stop: NEVER,
            place: None,
        })
    }

    /// The source begins at `now`.
    pub fn start(&mut self, now: u64) {
        match &mut self.arrivals {
            Arrivals::Poisson { mean_gap } => {
                self.next = now as f64 + self.gap_stream.exponential(*mean_gap);
            }
            Arrivals::AfterPause { .. } | Arrivals::Played(_) => self.next = now as f64,
            Arrivals::Listed { begin, .. } => *begin = now,
        }
    }

    /// When the next transfer begins, in nanoseconds; [`NEVER`] for not at all, or not yet known.
    pub fn next_time(&self) -> u64 {
        let next = match &self.arrivals {
            Arrivals::Listed { rows, position, begin } => {
                rows.get(*position).map_or(NEVER, |&(start, _)| begin.saturating_add(start))
            }
            _ => self.next as u64,
        };
        if next < self.stop { next } else { NEVER }
    }

    /// The transfer that begins now; sets the time of the one after.
    pub fn take(&mut self) -> Transfer {
        let bytes = match &mut self.arrivals {
            Arrivals::Listed { rows, position, .. } => {
                *position += 1;
                rows[*position - 1].1
            }
            Arrivals::Played(player) => {
                let bytes = player.ask(self.next as u64).round();
                self.next = f64::INFINITY;
                bytes.max(1.0) as u64
            }
            arrivals => {
                self.next = match arrivals {
                    Arrivals::Poisson { mean_gap } => {
                        self.next + self.gap_stream.exponential(*mean_gap)
                    }
                    _ => f64::INFINITY,
                };
                let size = self.sizes.draw(&mut self.size_stream).round();
                size.clamp(1.0, LARGEST_TRANSFER as f64) as u64
            }
        };
        let clock_phase = self.clock_stream.uniform_between(0, self.clock_phases - 1);
        Transfer { bytes, clock_phase }
    }

    /// A transfer of this source has been acknowledged, or could not begin, at `now`. What has been played, of a video.
    pub fn transfer_over(&mut self, now: u64) -> Option<Played> {
        match &mut self.arrivals {
            Arrivals::AfterPause { pause } => {
                self.next = now as f64 + pause.draw(&mut self.gap_stream);
                None
            }
            Arrivals::Played(player) => {
                let played = player.arrived(now);
                self.next = (now + played.wait) as f64;
                Some(played)
            }
            Arrivals::Poisson { .. } | Arrivals::Listed { .. } => None,
        }
    }

    /// The next transfer begins when that of `other` does.
    pub fn begin_with(&mut self, other: f64) {
        self.next = other;
    }

    /// Instant at which the next transfer begins, if it begins, in nanoseconds.
    pub fn next(&self) -> f64 {
        self.next
    }
}
