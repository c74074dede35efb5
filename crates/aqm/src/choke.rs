use vermilion_parameters::{Bytes, Packets, ParameterError, Probability, Settings, settings};

use crate::line::{Kept, Line};
use crate::red::{Red, RedSettings};
use crate::scheduler::waits_in;
use crate::{
    Arrival, Coin, Discipline, DropKind, DropReason, Dropped, LinkFacts, Listed, Packet, Queue,
    Scheduler, Sent, Verdict,
};

/// Two packets of one flow have met.
const MATCH: DropReason = DropReason::Own { kind: DropKind::Early, cause: 0 };

settings! {
    /// Settings of [`Choke`].
    pub ChokeSettings "choke": "CHOKe",
        "RED that also drops both packets when an arriving one meets one of its own flow",
        "Pan, Prabhakar and Psounis, INFOCOM 2000; Linux, net/sched/sch_choke.c",
        min_threshold < max_threshold;
    /// packets the buffer holds
    limit: Packets<u32> = 300 in [1, 1e6], "the paper's simulations, not confirmed";
    /// average queue up to which nothing is dropped
    min_threshold: Packets = 100 in [0, 1e9] linear [1, 150],
        "the paper's simulations, not confirmed";
    /// average queue above which everything is dropped
    max_threshold: Packets = 200 in [0, 1e9] linear [6, 300],
        "twice the minimum, as in the paper's simulations, not confirmed";
    /// RED's drop probability at the maximum threshold
    max_probability: Probability = 0.02 in [> 0, 1] log [1e-3, 1], "tc: probability";
    /// weight of one arrival in the average
    weight: f64 = 0.002 in [> 0, 1] log [1e-4, 1], "as for red";
    /// packets that an arriving one is compared with
    candidates: Packets<u32> = 1 in [1, 100], "the paper; its variants have more, Linux has 1";
    /// ECN-capable packets are marked by RED, not dropped
    ecn: bool = true, "Linux has false";
    /// ECN-capable packets too are dropped above the maximum threshold
    drop_above_maximum: bool = false, "Linux: harddrop";
    /// packet size that sets the pace of decay while empty
    mean_packet_size: Bytes = 1000 in [1, 65535], "as for red";
}

/// CHOKe: a packet that meets one of its own flow in a long queue takes it along.
///
/// Source: R. Pan, B. Prabhakar, K. Psounis, "CHOKe, A Stateless Active Queue Management Scheme for
/// Approximating Fair Bandwidth Allocation", INFOCOM 2000; Linux, `net/sched/sch_choke.c` (facts, not
/// code).
///
/// State: RED's. Update, at each arrival: RED's average. Control law: while the average is above the
/// minimum threshold, `candidates` packets are drawn from the queue, one after the other. Those of the
/// arriving packet's flow are dropped, and if there was one, so is the arriving packet. Else RED decides
/// over it. Who has many packets in the queue is met, and meets its own, most often, so that flows that do
/// not answer lose most, without anything being kept for a flow: one such flow among many that answer
/// gets at most 1 / (1 + e) of the link, 0.269 (Tang, Wang, Low, "Understanding CHOKe: Throughput and
/// Spatial Characteristics", IEEE/ACM Transactions on Networking 12(4), 2004).
///
/// Confirmed from Linux: the order of these steps. Not confirmed: the defaults of 100, 200 and 300 packets,
/// said to be those of the paper's simulations; `tc` takes a quarter and a twelfth of the limit instead.
///
/// Departures from the source:
/// 1. RED is [`Red`] of 1993, not Linux's; its head says where that departs.
/// 2. ECN-capable packets that RED strikes are marked; those that meet their own flow are dropped, as in
///    Linux. The paper only drops.
/// 3. Every packet in the queue is as likely to be drawn. Linux draws among places of which some may be
///    empty, and after three failures takes the first packet.
/// 4. A packet that meets a full buffer starts RED's count anew, as in [`Red`]; in Linux it
///    does not.
/// 5. The paper adapts the number of candidates to the queue in one of its variants; here it is fixed.
#[derive(Clone, Debug)]
pub struct Choke<P> {
    set: ChokeSettings,
    red: Red,
    line: Line<P>,
}

impl ChokeSettings {
    fn red(&self) -> RedSettings {
        RedSettings {
            limit: self.limit,
            min_threshold: self.min_threshold,
            max_threshold: self.max_threshold,
            max_probability: self.max_probability,
            weight: self.weight,
            gentle: false,
            byte_mode: false,
            ecn: self.ecn,
            drop_above_maximum: self.drop_above_maximum,
            mean_packet_size: self.mean_packet_size,
        }
    }
}

impl<P: Packet> Listed for Choke<P> {
    type Settings = ChokeSettings;

    fn new(set: ChokeSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self { set, red: Red::new(set.red(), link)?, line: Line::new() })
    }
}

impl<P: Packet> Discipline for Choke<P> {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let set: ChokeSettings = settings.read();
        self.red.set_anew(set.red(), link)?;
        self.set = set;
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        Discipline::link_changed(&mut self.red, link);
    }

    fn average_queue(&self) -> Option<f64> {
        Discipline::average_queue(&self.red)
    }

    /// RED's.
    fn drop_probability(&self) -> Option<f64> {
        Discipline::drop_probability(&self.red)
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        match reason {
            DropReason::Own { .. } => "match",
            of_red => Discipline::cause(&self.red, of_red),
        }
    }
}

impl<P: Packet> Queue<P> for Choke<P> {
    waits_in!(line);
}

impl<P: Packet, C: Coin> Scheduler<P, C> for Choke<P> {
    #[inline(always)] // a call would have the packet written to memory
    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        let arrival = self.line.met_by(&packet, now, idle_since);
        self.red.update_average(&arrival);
        let verdict = if self.red.is_above_minimum() && self.meets_its_own(&arrival, coin, dropped)
        {
            Verdict::Drop(MATCH)
        } else {
            let verdict = self.red.choose(&arrival, coin);
            if self.line.len() < self.set.limit.0 as usize {
                verdict
            } else {
                self.red.restart_count();
                Verdict::Drop(DropReason::Overflow)
            }
        };
        if let Verdict::Drop(reason) = verdict {
            dropped(Dropped { packet, arrived: now, reason });
            return false;
        }
        let marked = verdict == Verdict::Mark;
        self.line.push(packet, now, arrival.size, marked);
        marked
    }

    #[inline(always)] // likewise
    fn dequeue(
        &mut self,
        now: u64,
        _coin: &mut C,
        _dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        let Kept { packet, arrived, .. } = self.line.pop(now)?;
        Some(Sent { packet, arrived, marked: false })
    }
}

impl<P: Packet> Choke<P> {
    /// Draws candidates and drops those of the arriving packet's flow: whether there was one.
    fn meets_its_own(
        &mut self,
        arrival: &Arrival,
        coin: &mut impl Coin,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        let mut met = false;
        for _ in 0..self.set.candidates.0 {
            if self.line.len() == 0 {
                break;
            }
            let place = (coin.uniform() * self.line.len() as f64) as usize;
            if self.line.at(place).flow() == arrival.flow
                && let Some(candidate) = self.line.remove(arrival.now, place, MATCH)
            {
                dropped(candidate);
                met = true;
            }
        }
        met
    }
}
