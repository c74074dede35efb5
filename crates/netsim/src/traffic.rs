//! Open-loop traffic: packets that are sent whatever happens to them.

use crate::random::Stream;
use crate::scenario::{PacketSize, Traffic};

/// The sender of an open-loop flow.
#[derive(Clone, Debug)]
pub struct OpenLoop {
    /// Mean time between packets in nanoseconds.
    mean_gap: f64,
    mean_size: u32,
    poisson: bool,
    exponential_size: bool,
    stream: Stream,
    /// Time of the next packet in nanoseconds, with its fraction.
    next: f64,
    /// Until when it sends.
    pub stop: u64,
    /// Bytes that reached the end.
    pub delivered_bytes: u64,
    /// Packets that reached the end.
    pub delivered_packets: u64,
}

impl OpenLoop {
    /// A flow that has not begun; `None` for traffic that a window controls.
    pub fn new(traffic: Traffic, mean_size: u32, stream: Stream) -> Option<Self> {
        let (rate, poisson, exponential_size) = match traffic {
            Traffic::Bulk => return None,
            Traffic::ConstantRate { rate_bit_per_s } => (rate_bit_per_s, false, false),
            Traffic::Poisson { rate_bit_per_s, packet_size } => {
                (rate_bit_per_s, true, packet_size == PacketSize::Exponential)
            }
        };
        Some(Self {
            mean_gap: f64::from(mean_size) * 8e9 / rate,
            mean_size,
            poisson,
            exponential_size,
            stream,
            next: f64::INFINITY,
            stop: u64::MAX,
            delivered_bytes: 0,
            delivered_packets: 0,
        })
    }

    /// The flow begins at `now`.
    pub fn start(&mut self, now: u64) {
        self.next = now as f64;
        if self.poisson {
            self.next += self.stream.exponential(self.mean_gap);
        }
    }

    /// When the next packet leaves, in nanoseconds; `u64::MAX` for never.
    #[inline]
    pub fn next_time(&self) -> u64 {
        let next = self.next as u64;
        if next < self.stop { next } else { u64::MAX }
    }

    /// Size of the packet that leaves now, in bytes; sets the time of the one after.
    #[inline]
    pub fn send(&mut self) -> u32 {
        let size = if self.exponential_size {
            self.stream.exponential(f64::from(self.mean_size)).round().clamp(1.0, 4e9) as u32
        } else {
            self.mean_size
        };
        self.next +=
            if self.poisson { self.stream.exponential(self.mean_gap) } else { self.mean_gap };
        size
    }
}
