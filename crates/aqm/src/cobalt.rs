use vermilion_parameters::{
    Bytes, Packets, ParameterError, Probability, Seconds, Settings, settings,
};

use crate::{Arrival, Coin, Decide, Departure, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// Counts whose root the kernel keeps in a table; those beyond take one step of Newton's method.
const TABULATED: usize = 16;
/// 1 / sqrt(count) with 32 binary places, to the last of them as the kernel has it.
const INVERSE_ROOTS: [u32; TABULATED] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// Fixed settings of its control law. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    pub(crate) target: u64,
    pub(crate) interval: u64,
    /// Time that the link needs for the largest packet.
    pub(crate) packet_time: u64,
    /// 32-bit fractions.
    pub(crate) increment: u32,
    pub(crate) decrement: u32,
    pub(crate) ecn: bool,
}

/// State of its control law, of one queue or of each of many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control {
    count: u32,
    inverse_root: u32,
    /// When the next signal is due; with a count of 0, until when the queue counts as in use.
    next: i64,
    above: bool,
    /// 32-bit fraction.
    probability: u32,
    /// When the probability last moved.
    moved: i64,
}

settings! {
    /// Settings of [`Cobalt`].
    pub CobaltSettings "cobalt": "COBALT",
        "CoDel whose drop rate decays as it grew, and BLUE against flows that do not answer",
        "Linux 6.12, net/sched/sch_cake.c";
    /// packets the buffer holds
    limit: Packets<u32> = 1000 in [1, 1e9], "as CoDel's; CAKE limits memory";
    /// sojourn time that a queue may keep up, if the link is fast enough
    target: Seconds = 0.005 in [0, 10] log [1e-3, 0.05], "CAKE: a twentieth of rtt";
    /// a usual worst round-trip time
    interval: Seconds = 0.1 in [> 0, 100] log [0.01, 1], "CAKE: rtt";
    /// largest packet, for the least times
    maximum_packet_size: Bytes<u32> = 1514 in [0, 65535], "CAKE: the device's MTU";
    /// step of the probability up, when the buffer overflows
    increment: Probability = (1.0 / 256.0) in [0, 1], "CAKE";
    /// step of the probability down, when the queue is empty
    decrement: Probability = (1.0 / 4096.0) in [0, 1], "CAKE";
    /// CoDel's part marks ECN-capable packets, not drops them
    ecn: bool = true, "CAKE";
}

/// COBALT: CoDel for flows that answer and BLUE for those that do not, side by side.
///
/// Source: Linux 6.12, `net/sched/sch_cake.c` (facts, not code), the queue management of each of the
/// flow queues of CAKE (T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", IEEE LANMAN 2018),
/// in the kernel's whole numbers.
///
/// State of its CoDel: a count, whether sojourn times are above the target, and when the next signal is
/// due. Update, at each packet that leaves: when the target is first exceeded the next signal is due
/// after interval / sqrt(count). When it is due and the target still exceeded, the packet is marked or
/// dropped, the count rises, and the next is due interval / sqrt(count) later; when it is due and the
/// target is not exceeded, the count falls instead, by as many as have fallen due. So the rate that
/// was found decays as it grew, where CoDel forgets it at once. Below the target or with an empty
/// queue nothing is signalled.
///
/// State of its BLUE: a probability and when it last moved. An overflow raises it and an empty queue
/// lowers it, each at most once in a `target`. A packet that leaves is dropped with it, ECN-capable or
/// not: who does not answer marks must lose packets.
///
/// The target is at least one and a half times, and the sojourn at which it acts four times, what the
/// link needs for the largest packet; the interval grows with the target.
///
/// As in the kernel the very first spell does not wait for an interval: the root of a count that has
/// never moved is 0. The roots of counts below 16 are exact, as in Linux since 6.12; before, the table
/// itself came from Newton's method, and that of 2 was 0.06 % too small.
///
/// The whole of it is [`Cake`](crate::Cake), which has such a queue for each flow.
///
/// Departures from that, which come with a single queue:
/// 1. The arriving packet is dropped when `limit` packets wait; CAKE drops from the head of the longest
///    queue when its memory (bytes) is used up.
/// 2. The queue is found empty when the link asks it for a packet and there is none. CAKE looks into an
///    empty flow queue when it is that flow's turn, which with a single flow never happens.
/// 3. `ecn` can be switched off, and the steps of the probability can be set.
/// 4. The rate that sets the times of the largest packet is the link's; CAKE's is its shaper's, and
///    without one these times are 0. They stay when the link changes under it and follow new settings.
/// 5. CAKE's ingress mode also asks for a sojourn of two packets for each busy flow.
#[derive(Clone, Debug)]
pub struct Cobalt {
    limit: u32,
    law: Law,
    control: Control,
}

impl Listed for Cobalt {
    type Settings = CobaltSettings;

    fn new(set: CobaltSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self { limit: set.limit.0, law: Law::of(set, link), control: Control::default() })
    }
}

impl Discipline for Cobalt {
    fn watches_departures(&self) -> bool {
        true
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let set: CobaltSettings = settings.read();
        (self.limit, self.law) = (set.limit.0, Law::of(set, link));
        Ok(())
    }

    /// BLUE's.
    fn drop_probability(&self) -> Option<f64> {
        Some(self.control.probability())
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("blue", "control law", "limit")
    }
}

impl<C: Coin> Decide<C> for Cobalt {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, _coin: &mut C) -> Verdict {
        if let Some(since) = arrival.idle_since {
            self.control.found_empty(&self.law, since);
        }
        if arrival.queue_packets >= self.limit {
            self.control.overflow(&self.law, arrival.now);
            return Verdict::Drop(DropReason::Overflow);
        }
        Verdict::Accept
    }

    #[inline]
    fn on_departure(&mut self, departure: &Departure, coin: &mut C) -> Verdict {
        self.control.decide(&self.law, departure, 0, coin)
    }
}

impl Law {
    /// With times that are at least what the link needs for packets that take it `packet_time`.
    pub(crate) fn new(target: u64, interval: u64, packet_time: u64) -> Self {
        let at_least = (packet_time * 3 / 2).max(target);
        Self {
            target: at_least,
            interval: (interval + at_least - target).max(2 * at_least),
            packet_time,
            increment: 1 << 24,
            decrement: 1 << 20,
            ecn: true,
        }
    }

    fn of(set: CobaltSettings, link: LinkFacts) -> Self {
        let fraction = |probability: Probability| (probability.0 * 4_294_967_296.0) as u32;
        let packet_bits = f64::from(set.maximum_packet_size.0) * 8.0;
        let packet_time = (packet_bits * 1e9 / link.rate) as u64;
        Self {
            increment: fraction(set.increment),
            decrement: fraction(set.decrement),
            ecn: set.ecn,
            ..Self::new(set.target.nanoseconds(), set.interval.nanoseconds(), packet_time)
        }
    }
}

impl Control {
    /// Decides over a packet that leaves. It also has to have waited as long as two of the largest packets of each of so
    /// many `bulk_flows` take.
    #[inline]
    pub(crate) fn decide(
        &mut self,
        law: &Law,
        departure: &Departure,
        bulk_flows: u64,
        coin: &mut impl Coin,
    ) -> Verdict {
        let now = departure.now as i64;
        let sojourn = departure.sojourn();
        let mut late = now - self.next;
        let above = sojourn > law.target && sojourn > law.packet_time * (2 * bulk_flows).max(4);
        let mut due = self.count > 0 && late >= 0;
        if above {
            if !self.above {
                self.next = self.control_law(law, now);
            }
            self.count = self.count.max(1);
        }
        self.above = above;
        let signalled = due && above;
        if signalled {
            self.count = self.count.saturating_add(1);
            late = self.advance(law, now);
        } else {
            while due {
                self.count -= 1;
                late = self.advance(law, now);
                due = self.count > 0 && late >= 0;
            }
        }
        let marked = signalled && law.ecn && departure.ecn_capable();
        let struck = self.probability > 0
            && ((coin.uniform() * 4_294_967_296.0) as u64) < u64::from(self.probability);
        let dropped = struck || (signalled && !marked);
        if self.count == 0 {
            self.next = now + law.interval as i64;
        } else if late > 0 && !dropped {
            self.next = now;
        }
        // The last packet in the queue may be marked, but not dropped.
        if dropped && departure.queue_packets > 0 {
            Verdict::Drop(if struck { DropReason::Early } else { DropReason::Forced })
        } else if marked {
            Verdict::Mark
        } else {
            Verdict::Accept
        }
    }

    /// A packet is dropped because the buffer is full. Whether BLUE becomes active by it.
    pub(crate) fn overflow(&mut self, law: &Law, now: u64) -> bool {
        let now = now as i64;
        let was_quiet = self.probability == 0;
        let moves = self.may_move(law, now);
        if moves {
            self.probability = self.probability.saturating_add(law.increment);
            self.moved = now;
        }
        self.above = true;
        self.next = now;
        self.count = self.count.max(1);
        moves && was_quiet
    }

    /// The queue was asked for a packet and had none. Whether BLUE becomes quiet by it.
    pub(crate) fn found_empty(&mut self, law: &Law, now: u64) -> bool {
        let now = now as i64;
        let moves = self.probability > 0 && self.may_move(law, now);
        if moves {
            self.probability = self.probability.saturating_sub(law.decrement);
            self.moved = now;
        }
        self.above = false;
        if self.count > 0 && now >= self.next {
            self.count -= 1;
            self.advance(law, now);
        }
        moves && self.probability == 0
    }

    /// Return true if it has forgotten everything at `now`.
    pub(crate) fn is_at_rest(&self, now: u64) -> bool {
        self.probability == 0 && self.count == 0 && self.next <= now as i64
    }

    /// BLUE's probability.
    pub(crate) fn probability(&self) -> f64 {
        f64::from(self.probability) / 4_294_967_296.0
    }

    /// Return true if the probability has rested for more than a target.
    fn may_move(&self, law: &Law, now: i64) -> bool {
        now - self.moved > law.target as i64
    }

    /// The count has moved: sets when the next signal is due, and says how long ago that was.
    fn advance(&mut self, law: &Law, now: i64) -> i64 {
        self.inverse_root = match INVERSE_ROOTS.get(self.count as usize) {
            Some(&root) => root,
            None => newton_step(self.inverse_root, self.count),
        };
        self.next = self.control_law(law, self.next);
        now - self.next
    }

    /// `time` + interval / sqrt(count).
    fn control_law(&self, law: &Law, time: i64) -> i64 {
        let wait = (u128::from(law.interval) * u128::from(self.inverse_root)) >> 32;
        time + wait as i64
    }
}

/// One step of Newton's method towards 1 / sqrt(count): x (3 - count x x) / 2.
const fn newton_step(root: u32, count: u32) -> u32 {
    let square = (root as u64 * root as u64) >> 32;
    let left = (3_u64 << 32).wrapping_sub(count as u64 * square);
    ((left >> 2).wrapping_mul(root as u64) >> 31) as u32
}
