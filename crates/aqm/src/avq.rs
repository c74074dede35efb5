use vermilion_parameters::{Bytes, Packets, ParameterError, Settings, settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

settings! {
    /// Settings of [`Avq`].
    pub AvqSettings "avq": "Adaptive virtual queue",
        "Marks what overflows a virtual queue whose capacity adapts to a utilisation",
        "Kunniyur and Srikant, SIGCOMM 2001; ns-2.35, queue/vq.cc";
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "ns-2.35 has 50";
    /// utilisation of the link to aim at
    target_utilization: f64 = 0.98 in [> 0, 1] linear [0.8, 1], "the paper's gamma; ns-2.35";
    /// how fast the virtual capacity moves, per second; stable only below a bound that falls with
    /// round trips
    damping: f64 = 0.15 in [0, 1e3] log [0.01, 2], "the paper's alpha; ns-2.35";
    /// virtual capacity at the start, of the link's
    initial_capacity: f64 = 0.8 in [0, 1], "ns-2.35: ecnlim";
    /// size of the virtual buffer, of the real one
    virtual_buffer: f64 = 1 in [0, 1e3] linear [0.1, 1], "ns-2.35: buflim";
    /// packet size behind the capacity and byte mode
    mean_packet_size: Bytes = 1000 in [1, 65535], "ns-2.35";
    /// the virtual queue counts bytes, not packets
    byte_mode: bool = true, "ns-2.35: queue_in_bytes";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "ns-2.35: markpkts, false";
}

/// Adaptive virtual queue: marks what a slightly slower link would have dropped.
///
/// Source: S. Kunniyur, R. Srikant, "Analysis and Design of an Adaptive Virtual Queue (AVQ) Algorithm
/// for Active Queue Management", SIGCOMM 2001, as the authors' code in ns-2.35 runs it (`queue/vq.cc`,
/// facts, not code).
///
/// State: the backlog of a virtual queue, and its capacity. Update, at each arrival: the virtual queue
/// has drained at the virtual capacity and takes the packet if it has room; the virtual capacity moves
/// by damping x (target_utilization x capacity x time since the last arrival - the packet, unless it
/// is dropped), held between 0 and the capacity. Control law: a packet that the virtual queue has no
/// room for is dropped or marked.
///
/// While packets come at target_utilization x capacity the virtual capacity stands still; while more
/// come it falls, until the virtual queue overflows and enough is marked.
///
/// Departures from ns-2.35:
/// 1. An ECN-capable packet is marked (there: with `markpkts_`), any other dropped, and only packets
///    that are taken count as load. There, one switch chooses for all packets, and with marking
///    nothing else is dropped. The paper marks.
/// 2. The buffer and the virtual buffer hold packets, of the mean size in byte mode, but the limit of
///    the buffer itself stays in packets.
/// 3. A change of the link's rate moves the virtual capacity in proportion; there it is fixed.
/// 4. No choice of the packet at the head instead of the arriving one (`drop_front_`, `markfront_`).
/// 5. The virtual capacity recovers with the time that has passed also where a packet is dropped, as in
///    the paper, whose update comes with every arrival. There, a drop leaves it alone, and the next
///    packet that is taken brings all of that time. At a virtual capacity of 0, which a burst into a
///    slow link reaches, no packet is ever taken again: the virtual queue no longer drains, and the
///    link stays shut for good.
#[derive(Clone, Debug)]
pub struct Avq {
    set: AvqSettings,
    /// Units that the virtual queue holds.
    virtual_limit: f64,
    /// Units that the link sends in a second. Units are bytes or (packet mode) packets.
    capacity: f64,

    /// Part of the capacity that the virtual queue has.
    virtual_share: f64,
    /// Units in the virtual queue.
    backlog: f64,
    /// When the virtual queue was last drained and its capacity moved, in nanoseconds; `None` before the
    /// first packet.
    moved: Option<u64>,
}

impl Listed for Avq {
    type Settings = AvqSettings;

    fn new(set: AvqSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        let unit = if set.byte_mode { set.mean_packet_size.0 } else { 1.0 };
        let mut avq = Self {
            set,
            virtual_limit: set.virtual_buffer * f64::from(set.limit.0) * unit,
            capacity: 0.0,
            virtual_share: set.initial_capacity,
            backlog: 0.0,
            moved: None,
        };
        avq.link_changed(link);
        Ok(avq)
    }
}

impl Discipline for Avq {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let fresh = Self::new(settings.read(), link)?;
        let begun = self.moved.is_some();
        let conversion = match (self.set.byte_mode, fresh.set.byte_mode) {
            (true, false) => 1.0 / self.set.mean_packet_size.0,
            (false, true) => fresh.set.mean_packet_size.0,
            _ => 1.0,
        };
        *self = Self {
            virtual_share: if begun { self.virtual_share } else { fresh.virtual_share },
            backlog: self.backlog * conversion,
            moved: self.moved,
            ..fresh
        };
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        let unit = if self.set.byte_mode { 1.0 } else { self.set.mean_packet_size.0 };
        self.capacity = link.packets_per_second(unit);
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("", "virtual queue", "limit")
    }
}

impl<C: Coin> Decide<C> for Avq {
    #[inline(never)]
    fn on_arrival(&mut self, arrival: &Arrival, _coin: &mut C) -> Verdict {
        let now = arrival.now;
        let packet = if self.set.byte_mode { f64::from(arrival.size) } else { 1.0 };
        let passed = seconds(now - self.moved.unwrap_or(now));
        self.moved = Some(now);
        let sent = self.virtual_share * self.capacity * passed;
        self.backlog = (self.backlog - sent).max(0.0);
        let room = self.backlog + packet <= self.virtual_limit;
        let marked = !room && self.set.ecn && arrival.ecn_capable();
        if room {
            self.backlog += packet;
        }
        let load = if room || marked { packet } else { 0.0 };
        let due = self.set.target_utilization * self.capacity * passed;
        let share = self.virtual_share + self.set.damping * (due - load) / self.capacity;
        self.virtual_share = share.clamp(0.0, 1.0);
        if arrival.queue_packets >= self.set.limit.0 {
            Verdict::Drop(DropReason::Overflow)
        } else if room {
            Verdict::Accept
        } else if marked {
            Verdict::Mark
        } else {
            Verdict::Drop(DropReason::Forced)
        }
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
