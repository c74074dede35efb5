//! Open-loop traffic: packets that are sent whatever happens to them.

use super::bursts::Bursts;
use crate::calendar::NEVER;
use crate::random::{Purpose, Stream};
use crate::scenario::{PacketSize, Traffic};
use crate::variate::Variate;

/// The sender of an open-loop flow.
#[derive(Clone, Debug)]
pub struct OpenLoop {
    /// Mean time between packets in nanoseconds.
    mean_gap: f64,
    mean_size: u32,
    poisson: bool,
    exponential_size: bool,
    on_off: Option<OnOff>,
    stream: Stream,
    /// Time of the next packet in whole nanoseconds; the fraction apart from them, because days of
    /// nanoseconds leave a floating-point number too few digits for the gaps of the fastest flows.
    next: u64,
    fraction: f64,
    /// Until when it sends.
    pub stop: u64,
    /// Bytes that reached the end.
    pub delivered_bytes: u64,
    /// Packets that reached the end.
    pub delivered_packets: u64,
    /// On times by themselves, only where somebody asks for them.
    pub bursts: Option<Box<Bursts>>,
}

/// On times, during which packets are sent at equal intervals, and off times.
///
/// A flow begins with an on time and a packet. What is left of an interval when an on time ends is
/// waited for in the next one, so that the mean rate is exactly rate x on / (on + off) also for on
/// times of a few packets (ns-3 does the same; ns-2 rounds each on time to whole packets).
#[derive(Clone, Debug)]
struct OnOff {
    on: Variate,
    off: Variate,
    /// Rest of the present on time at the moment of the next packet, in nanoseconds.
    left: f64,
}

impl OpenLoop {
    /// A flow of packets of so many bytes that has not begun; `None` for traffic that a window controls. `index` tells
    /// the flows of a scenario apart.
    pub fn new(traffic: &Traffic, packet_size: u32, seed: u64, index: u64) -> Option<Self> {
        let rate = traffic.open_loop_rate()?;
        let on_off = match traffic {
            Traffic::OnOff { on_ns, off_ns, .. } => {
                Some(OnOff { on: on_ns.clone(), off: off_ns.clone(), left: 0.0 })
            }
            _ => None,
        };
        let exponential =
            Traffic::Poisson { rate_bit_per_s: rate, packet_size: PacketSize::Exponential };
        Some(Self {
            mean_gap: f64::from(packet_size) * 8e9 / rate,
            mean_size: packet_size,
            poisson: matches!(traffic, Traffic::Poisson { .. }),
            exponential_size: *traffic == exponential,
            on_off,
            stream: Stream::new(seed, Purpose::Traffic, index),
            next: NEVER,
            fraction: 0.0,
            stop: u64::MAX,
            delivered_bytes: 0,
            delivered_packets: 0,
            bursts: None,
        })
    }

    /// The flow begins at `now`.
    pub fn start(&mut self, now: u64) {
        self.next = now;
        if self.poisson {
            let gap = self.stream.exponential(self.mean_gap);
            self.wait(gap);
        }
        if let Some(on_off) = &mut self.on_off {
            on_off.left = on_off.on.draw(&mut self.stream);
        }
    }

    /// When the next packet leaves, in nanoseconds; [`NEVER`] for never.
    pub fn next_time(&self) -> u64 {
        if self.next < self.stop { self.next } else { NEVER }
    }

    /// Size of the packet that leaves now, in bytes; sets the time of the one after.
    pub fn send(&mut self) -> u32 {
        let size = if self.exponential_size {
            self.stream.exponential(f64::from(self.mean_size)).round().clamp(1.0, 4e9) as u32
        } else {
            self.mean_size
        };
        let gap = match &mut self.on_off {
            Some(on_off) => {
                let gap = on_off.gap(self.mean_gap, &mut self.stream);
                if let Some(bursts) = &mut self.bursts {
                    bursts.on_sent(self.next, size, gap > self.mean_gap);
                }
                gap
            }
            None if self.poisson => self.stream.exponential(self.mean_gap),
            None => self.mean_gap,
        };
        self.wait(gap);
        size
    }

    /// A packet of `size` bytes that left at `sent` reaches the end at `now`.
    pub fn on_arrived(&mut self, now: u64, sent: u64, size: u32) {
        self.delivered_bytes += u64::from(size);
        self.delivered_packets += 1;
        if let Some(bursts) = &mut self.bursts {
            bursts.on_arrived(now, sent);
        }
    }

    /// Has on times written down, so many at the most, if it has any.
    pub fn keep_bursts(&mut self, most: usize) {
        self.bursts = self.on_off.as_ref().map(|_| Box::new(Bursts::new(most)));
    }

    /// The next packet leaves `gap` nanoseconds later.
    fn wait(&mut self, gap: f64) {
        let gap = self.fraction + gap;
        // By way of a signed number, which takes half as many steps; no gap is so long that it shows.
        let whole = gap as i64;
        self.next = self.next.saturating_add_signed(whole);
        self.fraction = gap - whole as f64;
    }
}

impl OnOff {
    /// Time until the next packet, of which `gap` nanoseconds are on.
    fn gap(&mut self, gap: f64, stream: &mut Stream) -> f64 {
        let (mut time, mut needed) = (0.0, gap);
        while needed >= self.left {
            time += self.left + self.off.draw(stream);
            needed -= self.left;
            self.left = self.on.draw(stream);
        }
        self.left -= needed;
        time + needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_flow_keeps_its_rate_after_days() {
        // A byte at 10 Tbit/s every 0.8 ps. At 10^15 ns neighbouring floating-point numbers are 125 ps
        // apart, and time once stood still.
        let traffic = Traffic::ConstantRate { rate_bit_per_s: 1e13 };
        let mut source = OpenLoop::new(&traffic, 1, 1, 0).unwrap();
        let begin = 1_000_000_000_000_000;
        source.start(begin);
        for _ in 0..125_000 {
            source.send();
        }
        assert!((99..=100).contains(&(source.next_time() - begin)), "{}", source.next_time());
    }
}
