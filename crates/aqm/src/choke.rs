//! CHOKe: a packet that meets one of its own flow in a long queue takes it along.
//!
//! Source: R. Pan, B. Prabhakar, K. Psounis, "CHOKe, A Stateless Active Queue Management Scheme for
//! Approximating Fair Bandwidth Allocation", INFOCOM 2000; Linux, `net/sched/sch_choke.c` (facts, not
//! code).
//!
//! State: RED's. Update, at each arrival: RED's average. Control law: while the average is above the
//! minimum threshold, `candidates` packets are drawn from the queue, one after the other. Those of the
//! arriving packet's flow are dropped, and if there was one, so is the arriving packet. Else RED decides
//! over it. Who has many packets in the queue is met, and meets its own, most often, so that flows that do
//! not answer lose most, without anything being kept for a flow: one such flow among many that answer
//! gets at most 1 / (1 + e) of the link, 0.269 (Tang, Wang, Low, "Understanding CHOKe: Throughput and
//! Spatial Characteristics", IEEE/ACM Transactions on Networking 12(4), 2004).
//!
//! Confirmed from Linux: the order of these steps. Not confirmed: the defaults of 100, 200 and 300 packets,
//! said to be those of the paper's simulations; `tc` takes a quarter and a twelfth of the limit instead.
//!
//! Departures from the source:
//! 1. RED is [`Red`] of 1993, not Linux's; its head says where that departs.
//! 2. ECN-capable packets that RED strikes are marked; those that meet their own flow are dropped, as in
//!    Linux. The paper only drops.
//! 3. Every packet in the queue is as likely to be drawn. Linux draws among places of which some may be
//!    empty, and after three failures takes the first packet.
//! 4. A packet that meets a full buffer starts RED's count anew, as in [`Red`]; in Linux it
//!    does not.
//! 5. The paper adapts the number of candidates to the queue in one of its variants; here it is fixed.

use std::collections::VecDeque;

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::{
    Arrival, Coin, Discipline, DropKind, DropReason, Dropped, LinkFacts, Listed, Packet, Queue,
    Red, Scheduler, Sent, Verdict,
};

/// Two packets of one flow have met.
const MATCH: DropReason = DropReason::Own { kind: DropKind::Early, cause: 0 };

#[derive(Clone, Copy, Debug)]
struct Waiting<P> {
    packet: P,
    arrived: u64,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Choke<P> {
    red: Red,
    limit: usize,
    candidates: u32,
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
    /// When the queue last became empty, in nanoseconds.
    empty_since: u64,
}

impl<P: Packet> Listed for Choke<P> {
    const ALGORITHM: Algorithm = Algorithm {
        name: "choke",
        title: "CHOKe",
        summary: "RED that also drops both packets when an arriving one meets one of its own flow",
        source: "Pan, Prabhakar and Psounis, INFOCOM 2000; Linux, net/sched/sch_choke.c",
        parameters: &[
            Parameter::number("limit", "packets", Some(300.0), 1.0, 1e6)
                .whole()
                .described("packets the buffer holds", "the paper's simulations, not confirmed"),
            Parameter::number("min_threshold", "packets", Some(100.0), 0.0, 1e9)
                .searched(1.0, 150.0, Scale::Linear)
                .described(
                    "average queue up to which nothing is dropped",
                    "the paper's simulations, not confirmed",
                ),
            Parameter::number("max_threshold", "packets", Some(200.0), 0.0, 1e9)
                .searched(6.0, 300.0, Scale::Linear)
                .described(
                    "average queue above which everything is dropped",
                    "twice the minimum, as in the paper's simulations, not confirmed",
                ),
            Parameter::number("max_probability", "probability", Some(0.02), 0.0, 1.0)
                .above_minimum()
                .searched(1e-3, 1.0, Scale::Log)
                .described("RED's drop probability at the maximum threshold", "tc: probability"),
            Parameter::number("weight", "1", Some(0.002), 0.0, 1.0)
                .above_minimum()
                .searched(1e-4, 1.0, Scale::Log)
                .described("weight of one arrival in the average", "as for red"),
            Parameter::number("candidates", "packets", Some(1.0), 1.0, 100.0).whole().described(
                "packets that an arriving one is compared with",
                "the paper; its variants have more, Linux has 1",
            ),
            Parameter::switch("ecn", true)
                .described("ECN-capable packets are marked by RED, not dropped", "Linux has false"),
            Parameter::switch("drop_above_maximum", false).described(
                "ECN-capable packets too are dropped above the maximum threshold",
                "Linux: harddrop",
            ),
            Parameter::number("mean_packet_size", "bytes", Some(1000.0), 1.0, 65535.0)
                .described("packet size that sets the pace of decay while empty", "as for red"),
        ],
        ordered: &[("min_threshold", "max_threshold")],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self {
            red: Red::new(settings, link)?,
            limit: settings.number("limit") as usize,
            candidates: settings.number("candidates") as u32,
            packets: VecDeque::new(),
            bytes: 0,
            empty_since: 0,
        })
    }
}

impl<P: Packet> Discipline for Choke<P> {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        self.red.reconfigure(settings, link)?;
        self.limit = settings.number("limit") as usize;
        self.candidates = settings.number("candidates") as u32;
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
    fn len(&self) -> usize {
        self.packets.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        self.packets.iter().for_each(|waiting| look(&waiting.packet));
    }
}

impl<P: Packet, C: Coin> Scheduler<P, C> for Choke<P> {
    #[inline(always)] // a call would have the packet written to memory
    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        mut packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        let arrival = Arrival {
            now,
            size: packet.size(),
            flow: packet.flow(),
            ecn: packet.ecn(),
            colour: packet.colour(),
            queue_packets: self.packets.len() as u32,
            queue_bytes: self.bytes,
            empty_since: self.empty_since,
            idle_since,
        };
        self.red.update_average(&arrival);
        if self.red.is_above_minimum() && self.meets_its_own(&arrival, coin, dropped) {
            dropped(Dropped { packet, arrived: now, reason: MATCH });
            return false;
        }
        let verdict = self.red.choose(&arrival, coin);
        if self.packets.len() >= self.limit {
            self.red.restart_count();
            dropped(Dropped { packet, arrived: now, reason: DropReason::Overflow });
            return false;
        }
        if let Verdict::Drop(reason) = verdict {
            dropped(Dropped { packet, arrived: now, reason });
            return false;
        }
        let marked = verdict == Verdict::Mark;
        if marked {
            packet.mark();
        }
        self.bytes += u64::from(arrival.size);
        self.packets.push_back(Waiting { packet, arrived: now });
        marked
    }

    #[inline(always)] // likewise
    fn dequeue(
        &mut self,
        now: u64,
        _coin: &mut C,
        _dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        let Waiting { packet, arrived } = self.packets.pop_front()?;
        self.note_taken(now, packet.size());
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
        for _ in 0..self.candidates {
            if self.packets.is_empty() {
                break;
            }
            let place = (coin.uniform() * self.packets.len() as f64) as usize;
            if self.packets[place].packet.flow() == arrival.flow
                && let Some(Waiting { packet, arrived }) = self.take(arrival.now, place)
            {
                dropped(Dropped { packet, arrived, reason: MATCH });
                met = true;
            }
        }
        met
    }

    /// Takes the packet at `place` out of the queue.
    fn take(&mut self, now: u64, place: usize) -> Option<Waiting<P>> {
        let waiting = self.packets.remove(place)?;
        self.note_taken(now, waiting.packet.size());
        Some(waiting)
    }

    /// A packet of so many bytes has been taken out.
    #[inline]
    fn note_taken(&mut self, now: u64, size: u32) {
        self.bytes -= u64::from(size);
        if self.packets.is_empty() {
            self.empty_since = now;
        }
    }
}
