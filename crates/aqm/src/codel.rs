use vermilion_parameters::{Bytes, Packets, ParameterError, Seconds, Settings, choices, settings};

use crate::{Arrival, Coin, Decide, Departure, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// A spell that begins within this many intervals of the last one's next drop goes on from its
/// rate.
const MEMORY_INTERVALS: i64 = 16;
/// A unit of the dialect `linux`'s time in nanoseconds, as a power of two.
const UNIT_LOG: u32 = 10;

/// In place of a time that never comes.
const NOT_ABOVE: u64 = u64::MAX;

/// Fixed settings. Times are in the dialect's unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    target: u64,
    interval: u64,
    ce_threshold: Option<u64>,
    maximum_packet_size: u64,
    ecn: bool,
    linux: bool,
    /// The dialect's unit of time in nanoseconds, as a power of two.
    unit_log: u32,
    /// How long the sojourn must have been above the target: the interval, or until it is over.
    patience: u64,
}

/// Outcome of this turn of the link, while it is still looking for a packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing yet.
    Fresh,
    /// The first packet of a spell was dropped: the next is sent.
    Entered,
    /// A packet was dropped in the spell: the next drop is yet to be timed.
    Dropped,
}

choices! {
    /// Arithmetic of CoDel.
    pub CodelDialect { Rfc8289 = "rfc8289", Linux = "linux" }
}

settings! {
    /// Settings of CoDel's control law, of one queue or of each of many.
    pub CodelLaw;
    /// sojourn time that a queue may keep up
    target: Seconds = 0.005 in [0, 10] log [1e-3, 0.05], "RFC 8289, section 4.3; RFC 8290, section 5.2.2";
    /// how long the sojourn must exceed the target; a usual worst round-trip time
    interval: Seconds = 0.1 in [> 0, 100] log [0.01, 1],
        "RFC 8289, section 4.3; RFC 8290, section 5.2.1";
    /// nothing is dropped while no more bytes than this wait behind, of all flows
    maximum_packet_size: Bytes<u32> = 1514 in [0, 65535], "Linux: the device's MTU";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "RFC 8290, section 5.2.6; Linux' CoDel has false";
    /// sojourn time above which every ECN-capable packet is marked; automatic: none
    ce_threshold: Option<Seconds> = automatic in [0, 10], "Linux; RFC 8290, section 5.2.7";
    /// whose arithmetic CoDel has
    dialect: CodelDialect = Rfc8289, "RFC 8289";
}

settings! {
    /// Settings of [`Codel`].
    pub CodelSettings "codel": "CoDel",
        "Drops at the head while every packet of an interval has waited too long",
        "RFC 8289; Linux 6.12, include/net/codel_impl.h";
    ..law: CodelLaw;
    /// packets the buffer holds
    limit: Packets<u32> = 1000 in [1, 1e9], "Linux";
}

/// CoDel: drops at the head when packets have waited too long for too long.
///
/// Source: K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue
/// Management", RFC 8289, 2018; and, for the dialect `linux`, Linux 6.12,
/// `include/net/codel_impl.h` and `net/sched/sch_codel.c` (facts, not code).
///
/// State: since when sojourn times have been above `target`; whether it is dropping, how many it
/// has dropped in this spell, when the next drop is due. Control law: once every packet has waited
/// at least `target` for an `interval`, drop the one at the head, and while that lasts drop again
/// after interval / sqrt(count). A spell that begins soon after the last one starts at the rate
/// the last one had found.
///
/// The dialect `linux` counts time in units of 1024 ns, waits until the interval is over (the RFC:
/// is reached), and approximates 1 / sqrt(count) in 16 bits by one step of Newton's method for
/// each drop.
///
/// Departures from the sources:
/// 1. The RFC leaves marking to its users. As in Linux an ECN-capable packet is marked instead of
///    dropped and sent, and that counts as the drop; by default (Linux: only with `ecn`).
/// 2. The RFC has no buffer; as in Linux the arriving packet is dropped when `limit` packets wait.
/// 3. `ce_threshold` marks only with `ecn`; Linux has it apart.
/// 4. That the queue ran dry is noticed when the next packet arrives; nothing can happen between.
#[derive(Clone, Debug)]
pub struct Codel {
    limit: u32,
    fixed: Configuration,
    control: Control,
}

/// State that CoDel keeps of one queue. Disciplines with many queues have one for each.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    /// When the sojourn will have been above the target for an interval; [`NOT_ABOVE`] if it is not above.
    first_above: u64,
    dropping: bool,
    drop_next: u64,
    count: u32,
    last_count: u32,
    /// Linux's 1 / sqrt(count), 16 binary places.
    inverse_root: u16,
    turn: Turn,
}

impl Listed for Codel {
    type Settings = CodelSettings;

    fn new(set: CodelSettings, _link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self {
            limit: set.limit.0,
            fixed: Configuration::new(&set.law),
            control: Control::new(),
        })
    }
}

impl Discipline for Codel {
    fn watches_departures(&self) -> bool {
        true
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let mut fresh = Self::new(settings.read(), link)?;
        self.control.convert(&self.fixed, &fresh.fixed);
        std::mem::swap(&mut self.control, &mut fresh.control);
        *self = fresh;
        Ok(())
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("", "control law", "limit")
    }
}

impl<C: Coin> Decide<C> for Codel {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, _coin: &mut C) -> Verdict {
        if arrival.idle_since.is_some() {
            self.control.first_above = NOT_ABOVE;
            self.control.dropping = false;
            self.control.turn = Turn::Fresh;
        }
        if arrival.queue_packets >= self.limit {
            Verdict::Drop(DropReason::Overflow)
        } else {
            Verdict::Accept
        }
    }

    #[inline(always)] // where it decides, what it is told of need not be written to memory
    fn on_departure(&mut self, departure: &Departure, _coin: &mut C) -> Verdict {
        self.control.decide(&self.fixed, departure)
    }
}

impl Configuration {
    pub(crate) fn new(set: &CodelLaw) -> Self {
        let linux = set.dialect == CodelDialect::Linux;
        let unit_log = if linux { UNIT_LOG } else { 0 };
        let time = |time: Seconds| time.nanoseconds() >> unit_log;
        let interval = time(set.interval);
        Self {
            target: time(set.target),
            interval,
            ce_threshold: set.ce_threshold.map(time),
            maximum_packet_size: u64::from(set.maximum_packet_size.0),
            ecn: set.ecn,
            linux,
            unit_log,
            patience: interval + u64::from(linux),
        }
    }

    /// Now and the packet's sojourn in the dialect's unit.
    #[inline]
    fn times(&self, departure: &Departure) -> (u64, u64) {
        let now = departure.now >> self.unit_log;
        (now, now - (departure.arrived >> self.unit_log))
    }
}

impl Control {
    /// Of a queue that has been empty so far.
    pub(crate) fn new() -> Self {
        Self {
            first_above: NOT_ABOVE,
            dropping: false,
            drop_next: 0,
            count: 0,
            last_count: 0,
            inverse_root: 0,
            turn: Turn::Fresh,
        }
    }

    /// Goes over from one configuration to another.
    pub(crate) fn convert(&mut self, from: &Configuration, to: &Configuration) {
        if from.linux == to.linux {
            return;
        }
        // Another unit of time.
        let convert = |time: u64| {
            if to.linux { time >> UNIT_LOG } else { time << UNIT_LOG }
        };
        if self.first_above != NOT_ABOVE {
            // Where the interval has to be over, the unit after it counts.
            let reached = self.first_above - u64::from(from.linux);
            self.first_above = convert(reached) + u64::from(to.linux);
        }
        self.drop_next = convert(self.drop_next);
        self.inverse_root = (65536.0 / f64::from(self.count.max(1)).sqrt()).min(65535.0) as u16;
    }

    /// The link asked for a packet, and none waits (any more).
    pub(crate) fn ran_dry(&mut self, fixed: &Configuration) {
        let turn = std::mem::replace(&mut self.turn, Turn::Fresh);
        // The first drop of a spell has begun it, even if no packet is left to be looked at.
        self.dropping &= turn == Turn::Entered;
        // The kernel forgets only if it has just dropped a packet.
        if turn != Turn::Fresh || !fixed.linux {
            self.first_above = NOT_ABOVE;
        }
    }

    /// So many packets were dropped because the buffer was full: their flow is to have a stronger
    /// signal.
    pub(crate) fn count_overflow(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Decides over the packet whose turn it is; see [`Decide::on_departure`].
    #[inline(always)]
    pub(crate) fn decide(&mut self, fixed: &Configuration, departure: &Departure) -> Verdict {
        let (now, sojourn) = fixed.times(departure);
        let due = self.is_due(fixed, departure, now, sojourn);
        let markable = fixed.ecn && departure.ecn_capable();
        if (due || self.dropping)
            && let Some(verdict) = self.decide_over_drop(fixed, due, markable, now)
        {
            return verdict;
        }
        self.turn = Turn::Fresh;
        let too_late = fixed.ce_threshold.is_some_and(|threshold| sojourn > threshold);
        if too_late && markable { Verdict::Mark } else { Verdict::Accept }
    }

    /// The same where packets have waited too long for too long, or had when the last one was looked at. Whether that
    /// meets the packet, and how.
    #[inline(never)] // most packets are not concerned
    fn decide_over_drop(
        &mut self,
        fixed: &Configuration,
        due: bool,
        markable: bool,
        now: u64,
    ) -> Option<Verdict> {
        let turn = std::mem::replace(&mut self.turn, Turn::Fresh);
        if self.dropping && turn != Turn::Entered {
            if !due {
                self.dropping = false;
            } else {
                if turn == Turn::Dropped {
                    self.drop_next = self.control_law(fixed, self.drop_next);
                }
                if now >= self.drop_next {
                    self.count = self.count.saturating_add(1);
                    self.newton_step();
                    if markable {
                        self.drop_next = self.control_law(fixed, self.drop_next);
                        return Some(Verdict::Mark);
                    }
                    self.turn = Turn::Dropped;
                    return Some(Verdict::Drop(DropReason::Forced));
                }
            }
        } else if due && !self.dropping {
            self.enter(fixed, now);
            if markable {
                return Some(Verdict::Mark);
            }
            self.turn = Turn::Entered;
            return Some(Verdict::Drop(DropReason::Forced));
        }
        None
    }

    /// Return true if sojourn times have been above the target for an interval. Of flows that take turns nobody can guess who
    /// is above it, so nothing branches by that.
    #[inline]
    fn is_due(
        &mut self,
        fixed: &Configuration,
        departure: &Departure,
        now: u64,
        sojourn: u64,
    ) -> bool {
        let is_below =
            (sojourn < fixed.target) | (departure.queue_bytes <= fixed.maximum_packet_size);
        let first_above = self.first_above;
        let begun = if first_above == NOT_ABOVE { now + fixed.patience } else { first_above };
        self.first_above = if is_below { NOT_ABOVE } else { begun };
        (now >= first_above) & !is_below
    }

    /// A spell of dropping begins.
    fn enter(&mut self, fixed: &Configuration, now: u64) {
        self.dropping = true;
        let found = self.count.wrapping_sub(self.last_count);
        let since = now as i64 - self.drop_next as i64;
        let memory = MEMORY_INTERVALS * fixed.interval as i64;
        if found > 1 && since < memory {
            self.count = found;
            self.newton_step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(fixed, now);
    }

    /// `time` + interval / sqrt(count).
    #[inline]
    fn control_law(&self, fixed: &Configuration, time: u64) -> u64 {
        let interval = fixed.interval;
        time + if fixed.linux {
            ((u128::from(interval) * u128::from(self.inverse_root)) >> 16) as u64
        } else {
            (interval as f64 / f64::from(self.count).sqrt()) as u64
        }
    }

    /// One step of Newton's method towards 1 / sqrt(count): x (3 - count x x) / 2.
    fn newton_step(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        let left = (3_u64 << 32).wrapping_sub(u64::from(self.count) * square);
        self.inverse_root = ((left >> 2).wrapping_mul(root) >> (31 + 16)) as u16;
    }
}
