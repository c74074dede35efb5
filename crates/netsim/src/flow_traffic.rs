use std::collections::VecDeque;

/// Entries after which those that left are counted, though nobody has asked for long.
const MANY: usize = 1 << 14;
/// In place of the direction of packets that were there before anybody asked.
const UNKNOWN: u32 = u32::MAX;

/// Packets and bytes of one flow and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// See [`direction`](crate::packet::direction).
    pub direction: u32,
    /// Packets whose transmission began.
    pub packets: u64,
    /// Bytes whose transmission began.
    pub bytes: u64,
}

/// Packets that each flow has sent through a queue, for whoever asks.
///
/// A queue that serves first in, first out need not say who leaves: of the packets it accepted, all
/// but as many of the last ones as wait have left. A packet therefore costs one entry, and nothing
/// at all where nobody asks.
#[derive(Clone, Debug, Default)]
pub struct FlowTraffic {
    /// Direction and size in bytes of what was accepted and has not been counted.
    accepted: VecDeque<(u32, u32)>,
    /// Packets that have left since somebody asked, by direction.
    sent: Vec<Sent>,
    /// The directions in it that are not 0.
    seen: Vec<u32>,
}

impl FlowTraffic {
    /// Watches from now on a queue in which so many packets wait.
    pub fn behind(waiting: u32) -> Self {
        let accepted = std::iter::repeat_n((UNKNOWN, 0), waiting as usize).collect();
        Self { accepted, ..Self::default() }
    }

    /// A packet has been accepted by a queue that serves first in, first out and in which so many
    /// wait besides.
    pub fn accept(&mut self, direction: u32, size: u32, waiting: u32) {
        if self.accepted.len() >= MANY + waiting as usize {
            self.count_all_but(waiting);
        }
        self.accepted.push_back((direction, size));
    }

    /// Of the packets accepted, so many wait; the others have left.
    pub fn count_all_but(&mut self, waiting: u32) {
        for _ in waiting as usize..self.accepted.len() {
            if let Some((direction, size)) = self.accepted.pop_front() {
                self.count(direction, size);
            }
        }
    }

    /// Those that wait have been dropped.
    pub fn flush(&mut self, waiting: u32) {
        self.count_all_but(waiting);
        self.accepted.clear();
    }

    /// A packet has left.
    pub fn count(&mut self, direction: u32, size: u32) {
        if direction == UNKNOWN {
            return;
        }
        let index = direction as usize;
        if index >= self.sent.len() {
            self.sent.resize(index + 1, Sent::default());
        }
        let sent = &mut self.sent[index];
        if sent.packets == 0 {
            self.seen.push(direction);
            sent.direction = direction;
        }
        sent.packets += 1;
        sent.bytes += u64::from(size);
    }

    /// Packets that have left since the last call, in the order of directions.
    pub fn take(&mut self) -> Vec<Sent> {
        self.seen.sort_unstable();
        let sent = &mut self.sent;
        self.seen.drain(..).map(|index| std::mem::take(&mut sent[index as usize])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_has_not_been_sent_and_what_was_there_before_is_nobodys() {
        let mut traffic = FlowTraffic::behind(1);
        traffic.accept(4, 1000, 1);
        traffic.accept(2, 500, 2);
        traffic.accept(4, 100, 3);
        traffic.count_all_but(1);
        let four = Sent { direction: 4, packets: 1, bytes: 1000 };
        let two = Sent { direction: 2, packets: 1, bytes: 500 };
        assert_eq!(traffic.take(), [two, four]);
        traffic.count_all_but(0);
        assert_eq!(traffic.take(), [Sent { direction: 4, packets: 1, bytes: 100 }]);
        assert_eq!(traffic.take(), []);
    }

    #[test]
    fn what_is_flushed_is_never_sent() {
        let mut traffic = FlowTraffic::behind(0);
        traffic.accept(0, 1000, 0);
        traffic.accept(0, 1000, 0);
        traffic.accept(2, 1000, 1);
        traffic.flush(2);
        assert_eq!(traffic.take(), [Sent { direction: 0, packets: 1, bytes: 1000 }]);
        traffic.count_all_but(0);
        assert_eq!(traffic.take(), []);
    }

    #[test]
    fn memory_is_bounded_though_nobody_asks() {
        let mut traffic = FlowTraffic::behind(0);
        for _ in 0..5 * MANY {
            traffic.accept(6, 10, 30);
        }
        assert!(traffic.accepted.len() <= MANY + 30);
        traffic.count_all_but(30);
        let sent = traffic.take();
        assert_eq!(sent[0].packets, 5 * MANY as u64 - 30);
    }
}
