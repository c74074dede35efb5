use std::collections::VecDeque;

use vermilion_parameters::{Bytes, Packets, ParameterError, Seconds, Settings, choices, settings};

use crate::discipline::keeps;
use crate::{
    Coin, Discipline, DropKind, DropReason, Dropped, Ecn, LinkFacts, Listed, Packet, Queue,
    Scheduler, Sent,
};

/// Probability 1.
const CERTAIN: u32 = u32::MAX;
/// Gains are for time in units of 64 ns; the delays are in nanoseconds.
const GAIN_UNIT: i64 = 64;

/// Fixed settings. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Configuration {
    set: DualPi2Settings,
    target: i64,
    interval: u64,
    /// Steps of the probability for each 64 ns.
    alpha: i64,
    beta: i64,
    coupling: u64,
    step: Step,
    /// Hundredths.
    classic_share: i64,
    maximum_packet_size: u64,
}

/// Above which packets of the low-latency queue are marked.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Nanoseconds that the packet has waited.
    Delay(u64),
    /// Packets that wait behind it.
    Packets(usize),
}

#[derive(Clone, Copy, Debug)]
struct Waiting<P> {
    packet: P,
    arrived: u64,
    /// True if the step applies to it: not if it is marked already.
    stepped: bool,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pass,
    Mark,
    Drop,
}

choices! {
    /// Packets that belong into the low-latency queue: ECT(1) and CE, or all that may be marked.
    pub LowLatency { Ect1 = "ect1", EcnCapable = "ecn-capable" }
}

settings! {
    /// Settings of [`DualPi2`].
    pub DualPi2Settings "dualpi2": "DualPI2",
        "Two queues under one controller: low latency for L4S, meant to leave others the same rate",
        "RFC 9332; Linux 6.17, net/sched/sch_dualpi2.c";
    /// packets that both queues hold together
    limit: Packets<u32> = 10_000 in [1, 1e9], "Linux";
    /// queueing delay to hold in the classic queue
    target: Seconds = 0.015 in [0, 4] log [1e-3, 0.1], "RFC 9332, A.1";
    /// time between two updates
    interval: Seconds = 0.016 in [1e-4, 4], "RFC 9332, A.1: Tupdate";
    /// gain, per second, for the distance from the target, in steps of 1/256
    alpha: f64 = 0.16 in [0, 32] log [0.01, 2], "RFC 9332, A.1; Linux";
    /// gain, per second, for the growth of the delay, in steps of 1/256
    beta: f64 = 3.2 in [0, 32] log [0.1, 20], "Linux; RFC 9332 has 3.0";
    /// the low-latency queue marks with this many times p
    coupling: u32 = 2 in [1, 255], "RFC 9332, A.1: k";
    /// wait above which packets of the low-latency queue are marked
    step_delay: Seconds = 0.001 in [0, 4] log [1e-4, 0.02], "RFC 9332, A.1; Linux: step_thresh";
    /// in place of step_delay: packets that wait behind; automatic: step_delay counts
    step_packets: Option<Packets<u32>> = automatic in [0, 1e9], "Linux";
    /// packets in the low-latency queue from which the step applies to one that joins
    step_from: Packets<u32> = 0 in [0, 1e9], "Linux: min_qlen_step";
    /// hundredths of the rate that the classic queue gets while both have packets
    classic_share: u32 = 10 in [0, 100], "Linux: classic_protection";
    /// while less than two of these wait p does not act; the credit's unit
    maximum_packet_size: Bytes<u32> = 1514 in [1, 65535], "Linux: the device's MTU";
    /// what belongs into the low-latency queue: ECT(1) and CE, or all that may be marked
    low_latency: LowLatency = Ect1, "RFC 9331; Linux: l4s_ect or any_ect";
    /// p acts as packets arrive, not as they leave
    drop_on_arrival: bool = false, "Linux: drop_enqueue";
    /// the low-latency queue, too, drops when overloaded
    drop_on_overload: bool = true, "Linux: drop_on_overload";
}

/// DualPI2: two coupled queues, so that senders with low latency and others share a link fairly.
///
/// Source: K. De Schepper, B. Briscoe, G. White, "Dual-Queue Coupled Active Queue Management (AQM) for
/// Low Latency, Low Loss, and Scalable Throughput (L4S)", RFC 9332, 2023, as Linux 6.17 runs it
/// (`net/sched/sch_dualpi2.c`; facts, not code), in the kernel's whole numbers: time in nanoseconds,
/// probability as a 32-bit fraction.
///
/// State: two first-in, first-out queues, one for packets with ECT(1) or CE and one for all others; the
/// base probability p; the delay at the last update; a credit that says whose turn it is. Update, every
/// `interval`: with the longer of the times that the two heads have waited, p moves by alpha x (delay -
/// target) + beta x (delay - last delay). Control law, as a packet leaves: one of the classic queue is
/// dropped, or marked if it can be, with p x p; one of the low-latency queue is marked with `coupling` x p,
/// and also if it has itself waited longer than the step. While less than two packets' worth wait nothing
/// but the step acts.
///
/// Squaring turns p into what senders with the square-root law need; senders that answer in proportion
/// need p itself; and with a coupling of 2 both then have about the same rate at equal round trips.
///
/// Which queue sends: the low-latency one, unless the credit is above 0. While both have packets, each
/// byte of the low-latency queue adds `classic_share` (in hundredths) to the credit and each byte of the
/// classic one takes the rest, so that the classic queue gets that share at least.
///
/// Overload is when coupling x p exceeds 1. Then the classic queue drops what it would mark, and the
/// low-latency queue drops with p x p and marks all else; or, without `drop_on_overload`, it only marks, and
/// p stays where coupling x p is 1.
///
/// Departures from the source:
/// 1. Updates are not timed: those that have passed are made up for at the next arrival or departure, with
///    the heads as they were. The kernel's timer is late by what it takes to run.
/// 2. At p = 0 no coin is drawn; in the kernel a random number of 0 strikes even then.
/// 3. The buffer is limited in packets only; the kernel also counts memory. Packets beyond a limit that
///    has been lowered stay; the kernel drops them.
/// 4. The credit is as new when a packet finds both queues empty and the link idle, or the classic share is
///    set anew; the kernel does the former when it is asked and has nothing to send.
/// 5. A change of p beyond 32 bits ends at 0 or 1; in the kernel it wraps round.
/// 6. What belongs into which queue cannot be changed while running.
/// 7. Filters and priorities that put packets into a queue, and the splitting of large segments, are not
///    here.
/// 8. RFC 9332's pseudo-code makes beta 3.0 per second and the interval 15 ms for a largest round trip of
///    100 ms; the defaults, 3.2 and 16 ms, are Linux's, which its text is quoted with, too.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    fixed: Configuration,
    classic: VecDeque<Waiting<P>>,
    low_latency: VecDeque<Waiting<P>>,
    bytes: u64,
    /// p, a 32-bit fraction.
    probability: u32,
    last_delay: i64,
    credit: i64,
    /// When the last update was due.
    updated: u64,
}

impl<P: Packet> Listed for DualPi2<P> {
    type Settings = DualPi2Settings;

    fn new(set: DualPi2Settings, _link: LinkFacts) -> Result<Self, ParameterError> {
        let fixed = Configuration::new(set);
        Ok(Self {
            fixed,
            classic: VecDeque::new(),
            low_latency: VecDeque::new(),
            bytes: 0,
            probability: 0,
            last_delay: 0,
            credit: fixed.first_credit(),
            updated: 0,
        })
    }
}

/// Why the probability drops a packet: a low-latency one only where marks no longer help.
const fn early(low_latency: bool) -> DropReason {
    let overload = DropReason::Own { kind: DropKind::Early, cause: 0 };
    if low_latency { overload } else { DropReason::Early }
}

impl<P: Packet> Discipline for DualPi2<P> {
    fn reconfigure(&mut self, settings: &Settings, _link: LinkFacts) -> Result<(), ParameterError> {
        let fixed = Configuration::new(settings.read());
        // Packets of one flow would be in two queues.
        keeps("low_latency", self.fixed.set.low_latency, fixed.set.low_latency)?;
        if fixed.first_credit() != self.fixed.first_credit() {
            self.credit = fixed.first_credit();
        }
        self.fixed = fixed;
        Ok(())
    }

    /// p, the base of both queues' probabilities.
    fn drop_probability(&self) -> Option<f64> {
        Some(f64::from(self.probability) / f64::from(CERTAIN))
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        match reason {
            DropReason::Own { .. } => "overload",
            other => other.kind().choose("classic probability", "", "limit"),
        }
    }
}

impl<P: Packet> Queue<P> for DualPi2<P> {
    #[inline]
    fn len(&self) -> usize {
        self.classic.len() + self.low_latency.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        self.classic.iter().chain(&self.low_latency).for_each(|waiting| look(&waiting.packet));
    }
}

impl<P: Packet, C: Coin> Scheduler<P, C> for DualPi2<P> {
    #[inline(always)] // a call would have the packet written to memory
    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        mut packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        self.catch_up(now);
        if idle_since.is_some() && self.len() == 0 {
            self.credit = self.fixed.first_credit();
        }
        if self.len() >= self.fixed.set.limit.0 as usize {
            dropped(Dropped { packet, arrived: now, reason: DropReason::Overflow });
            return false;
        }
        let low_latency = self.fixed.is_low_latency(packet.ecn());
        let mut marked = false;
        if self.fixed.set.drop_on_arrival {
            match self.fate(packet.ecn(), low_latency, coin) {
                Fate::Drop => {
                    dropped(Dropped { packet, arrived: now, reason: early(low_latency) });
                    return false;
                }
                Fate::Mark => {
                    packet.mark();
                    marked = true;
                }
                Fate::Pass => {}
            }
        }
        self.bytes += u64::from(packet.size());
        let long_enough = self.low_latency.len() >= self.fixed.set.step_from.0 as usize;
        let stepped = low_latency && long_enough && !marked;
        let queue = if low_latency { &mut self.low_latency } else { &mut self.classic };
        queue.push_back(Waiting { packet, arrived: now, stepped });
        marked
    }

    #[inline(always)] // likewise
    fn dequeue(
        &mut self,
        now: u64,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        self.catch_up(now);
        while let Some((waiting, low_latency, credit)) = self.next() {
            let Waiting { mut packet, arrived, stepped } = waiting;
            let fate = if self.fixed.set.drop_on_arrival {
                Fate::Pass
            } else {
                self.fate(packet.ecn(), low_latency, coin)
            };
            if fate == Fate::Drop {
                dropped(Dropped { packet, arrived, reason: early(low_latency) });
                continue;
            }
            let marked = fate == Fate::Mark || (stepped && self.is_above_step(now - arrived));
            if marked {
                packet.mark();
            }
            self.credit += credit;
            return Some(Sent { packet, arrived, marked });
        }
        None
    }
}

impl Configuration {
    fn new(set: DualPi2Settings) -> Self {
        // Linux takes whole 256ths, for seconds, and keeps them for units of 64 ns.
        let gain = |per_second: f64| {
            let in_256ths = (per_second * 256.0).round() as u64;
            ((in_256ths * u64::from(CERTAIN)) >> 2) as i64 / 1_000_000_000
        };
        Self {
            set,
            target: set.target.nanoseconds() as i64,
            interval: set.interval.nanoseconds(),
            alpha: gain(set.alpha),
            beta: gain(set.beta),
            coupling: u64::from(set.coupling),
            step: match set.step_packets {
                Some(packets) => Step::Packets(packets.0 as usize),
                None => Step::Delay(set.step_delay.nanoseconds()),
            },
            classic_share: i64::from(set.classic_share),
            maximum_packet_size: u64::from(set.maximum_packet_size.0),
        }
    }

    fn first_credit(&self) -> i64 {
        self.maximum_packet_size as i64 * (2 * self.classic_share - 100)
    }

    fn is_low_latency(&self, ecn: Ecn) -> bool {
        match ecn {
            Ecn::NotCapable => false,
            Ecn::Ect0 => self.set.low_latency == LowLatency::EcnCapable,
            Ecn::Ect1 | Ecn::CongestionExperienced => true,
        }
    }
}

impl<P: Packet> DualPi2<P> {
    /// Takes the packet whose turn it is out of its queue: the packet, whether it is of the low-latency
    /// queue, and what sending it does to the credit.
    #[inline(always)] // as above
    fn next(&mut self) -> Option<(Waiting<P>, bool, i64)> {
        let both = !self.classic.is_empty() && !self.low_latency.is_empty();
        let low_latency = if both { self.credit <= 0 } else { self.classic.is_empty() };
        let (queue, weight) = if low_latency {
            (&mut self.low_latency, self.fixed.classic_share)
        } else {
            (&mut self.classic, self.fixed.classic_share - 100)
        };
        let waiting = queue.pop_front()?;
        let size = waiting.packet.size();
        self.bytes -= u64::from(size);
        Some((waiting, low_latency, if both { weight * i64::from(size) } else { 0 }))
    }

    /// Effect of p on a packet of this codepoint that is not, or not any more, in its queue.
    #[inline]
    fn fate(&self, ecn: Ecn, low_latency: bool, coin: &mut impl Coin) -> Fate {
        if self.bytes < 2 * self.fixed.maximum_packet_size || self.probability == 0 {
            return Fate::Pass;
        }
        self.fate_by_coins(ecn, low_latency, coin)
    }

    #[inline(never)] // much code, for few packets where queues are short
    fn fate_by_coins(&self, ecn: Ecn, low_latency: bool, coin: &mut impl Coin) -> Fate {
        let coupled = u64::from(self.probability) * self.fixed.coupling;
        let overload = coupled > u64::from(CERTAIN);
        if !low_latency {
            return if !self.strikes_twice(coin) {
                Fate::Pass
            } else if ecn.is_capable() && !overload {
                Fate::Mark
            } else {
                Fate::Drop
            };
        }
        if overload {
            let lost = self.fixed.set.drop_on_overload && self.strikes_twice(coin);
            if lost { Fate::Drop } else { Fate::Mark }
        } else if strikes(coupled, coin) {
            Fate::Mark
        } else {
            Fate::Pass
        }
    }

    /// With p x p: two coins, the second only if the first falls.
    fn strikes_twice(&self, coin: &mut impl Coin) -> bool {
        let probability = u64::from(self.probability);
        strikes(probability, coin) && strikes(probability, coin)
    }

    fn is_above_step(&self, waited: u64) -> bool {
        match self.fixed.step {
            Step::Delay(step) => waited > step,
            Step::Packets(step) => self.low_latency.len() > step,
        }
    }

    /// Makes up for every update that was due by `now`; since the last look the heads have been the same.
    #[inline]
    fn catch_up(&mut self, now: u64) {
        if now - self.updated >= self.fixed.interval {
            self.catch_up_by_call(now);
        }
    }

    #[cold]
    #[inline(never)] // much code, asked for twice for every packet and needed seldom
    fn catch_up_by_call(&mut self, now: u64) {
        while now - self.updated >= self.fixed.interval {
            self.updated += self.fixed.interval;
            let first = [&self.classic, &self.low_latency]
                .iter()
                .filter_map(|queue| queue.front().map(|head| head.arrived))
                .min();
            let delay = first.map_or(0, |arrived| self.updated.saturating_sub(arrived) as i64);
            self.update(delay);
            if first.is_none() && self.probability == 0 {
                // So it stays while nothing waits.
                self.last_delay = 0;
                self.updated += (now - self.updated) / self.fixed.interval * self.fixed.interval;
            }
        }
    }

    fn update(&mut self, delay: i64) {
        let change = i128::from(delay - self.fixed.target) * i128::from(self.fixed.alpha)
            + i128::from(delay - self.last_delay) * i128::from(self.fixed.beta);
        self.last_delay = delay;
        // Rounded towards 0.
        let moved = i128::from(self.probability) + change / i128::from(GAIN_UNIT);
        let highest = if self.fixed.set.drop_on_overload {
            CERTAIN
        } else {
            (u64::from(CERTAIN) / self.fixed.coupling) as u32
        };
        self.probability = moved.clamp(0, i128::from(highest)) as u32;
    }
}

/// Return true if a coin falls on a packet: a 32-bit random number that is not above the probability.
fn strikes(probability: u64, coin: &mut impl Coin) -> bool {
    (coin.uniform() * 4_294_967_296.0) as u64 <= probability
}
