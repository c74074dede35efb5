use crate::calendar::NEVER;
use crate::packet::Packet;
use crate::ring::Ring;

/// Next step of a packet at the end of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The queue of a link; the packet's `hop` says which one of its path.
    Link,
    /// The receiver of a flow whose acknowledgements meet no queue and are sent at once: the
    /// stretch includes their way back, and the sender is told immediately.
    ReceiverAndBack,
    /// The same for a receiver that may wait for more before it acknowledges. All that it does is done as much
    /// later as its acknowledgements take.
    WaitingReceiverAndBack,
    /// A receiver.
    Receiver,
    /// The queue of a link on the way back.
    ReturnLink,
    /// The sender.
    Sender,
    /// The end of an open-loop flow.
    Sink,
}

/// A stretch of constant delay: packets leave it in the order in which they entered.
///
/// Only the head of a line competes in the [`Calendar`](crate::calendar::Calendar), so that the
/// calendar's size is the number of stretches, not of packets in flight.
///
/// One takes one line of the cache.
#[repr(align(64))]
#[derive(Clone, Debug)]
pub struct DelayLine {
    /// Next step of packets at the end.
    pub end: End,
    /// Link whose output this line is, if any: its propagation delay is part of the line's.
    pub link: Option<u32>,
    /// Delay beyond the link's own propagation, in nanoseconds.
    pub extra_delay: u64,
    packets: Ring<Packet>,
    /// When the last packet leaves, or left.
    last_time: u64,
}

const _: () = assert!(size_of::<DelayLine>() == 64);

impl DelayLine {
    /// An empty line.
    pub fn new(link: Option<u32>, end: End, extra_delay: u64) -> Self {
        Self { end, link, extra_delay, packets: Ring::default(), last_time: 0 }
    }

    /// When the first packet leaves, [`NEVER`] if there is none.
    #[inline]
    pub fn next_time(&self) -> u64 {
        self.packets.front().map_or(NEVER, |packet| packet.time)
    }

    /// A packet enters the stretch and would leave it at `time`, was it alone: when it does, which is not
    /// before the packet ahead of it (the delay may have been shortened meanwhile).
    #[inline]
    pub fn note_entry(&mut self, time: u64) -> u64 {
        self.last_time = time.max(self.last_time);
        self.last_time
    }

    /// Takes the first packet out.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        self.packets.pop_front()
    }

    /// Takes the last packet out, as if it had never been put in.
    pub fn pop_last(&mut self) -> Option<Packet> {
        let last = self.packets.pop_back();
        self.last_time = self.packets.back().map_or(0, |packet| packet.time);
        last
    }

    /// Puts a packet in that leaves at `time`, or with the packet before it if that is later. Whether the
    /// line was empty before.
    #[inline]
    pub fn push(&mut self, mut packet: Packet, time: u64) -> bool {
        packet.time = self.note_entry(time);
        let was_empty = self.packets.is_empty();
        self.packets.push_back(packet);
        was_empty
    }

    /// Puts a packet behind the others that entered earlier and has been kept elsewhere.
    pub fn take_back(&mut self, packet: Packet) {
        self.packets.push_back(packet);
    }

    /// The packet that is `distance` places before the last would leave at `time`, were it alone and had
    /// the stretch no delay beyond the link's. Times have to be made to ascend afterwards.
    pub fn move_from_end(&mut self, distance: usize, time: u64) {
        let index = self.packets.len().checked_sub(distance + 1);
        if let Some(packet) = index.and_then(|index| self.packets.get_mut(index)) {
            packet.time = time + self.extra_delay;
        }
    }

    /// Number of packets in it.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Every packet in it.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }

    /// Makes times ascend again after some were changed.
    pub fn restore_order(&mut self) {
        let mut last = 0;
        for packet in self.packets.iter_mut() {
            packet.time = packet.time.max(last);
            last = packet.time;
        }
        self.last_time = last;
    }
}
