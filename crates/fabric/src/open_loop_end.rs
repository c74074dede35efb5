use vermilion_netsim::{Distribution, OpenLoop};
use vermilion_parameters::ParameterError;

use crate::end::{Arrival, End, Reply, Then};
use crate::packet::Packet;
use crate::results::{Delays, OpenLoopResult};
use crate::scenario::{Scenario, Traffic};
use crate::slots::NEVER;
use crate::tcp_end::Carried;

/// Sources that send whatever the network does (UDP), and receivers that answer nothing.
///
/// A packet waits at its host from the instant at which its source has it. That wait is a part of its delay.
pub(crate) struct OpenLoopEnd {
    groups: Vec<Group>,
    /// Place of the first group's sender, after those of the scenario's senders.
    first: u8,
    seed: u64,
}

/// The sources of one part of the traffic.
struct Group {
    traffic: Traffic,
    header: u32,
    /// Sources that have begun.
    begun: u64,
    sent: u64,
    received: u64,
    lost: u64,
    goodput_bytes: u64,
    last_arrival: u64,
    delays: Distribution,
    /// Number of the part of the traffic.
    part: usize,
}

/// A source of a group.
pub(crate) struct Source {
    group: usize,
    packets: OpenLoop,
    ecn: bool,
}

/// The place of the first open-loop part among the senders.
pub(crate) fn first_open_loop(scenario: &Scenario) -> usize {
    1 + scenario.further_senders.len()
}

impl OpenLoopEnd {
    /// # Errors
    /// Traffic that is not open-loop, or the first field that cannot be used.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Self, ParameterError> {
        let mut groups = Vec::new();
        for (part, traffic) in scenario.traffic.iter().enumerate() {
            let Traffic::OpenLoop { source, packet_size, .. } = traffic else { continue };
            source
                .check_open_loop(*packet_size)
                .map_err(|error| error.under(&format!("traffic[{part}]")))?;
            groups.push(Group {
                traffic: traffic.clone(),
                header: scenario.packets.header,
                begun: 0,
                sent: 0,
                received: 0,
                lost: 0,
                goodput_bytes: 0,
                last_arrival: 0,
                delays: Distribution::default(),
                part,
            });
        }
        // Places that do not fit have been refused with the transfers.
        Ok(Self { groups, first: first_open_loop(scenario) as u8, seed })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether a transfer's sender is one of these.
    pub(crate) fn has(&self, sender: u8) -> bool {
        sender >= self.first
    }
}

impl End for OpenLoopEnd {
    type Flow = Box<Source>;
    type Load = Carried;

    fn begin(&mut self, sender: u8, _: u32, _: u32, now: u64) -> Self::Flow {
        let place = usize::from(sender - self.first);
        let group = &mut self.groups[place];
        let Traffic::OpenLoop { source, packet_size, ecn, until_ns, .. } = &group.traffic else {
            unreachable!("a group is of open-loop traffic");
        };
        let index = ((group.part as u64) << 32) | group.begun;
        let packets = OpenLoop::new(source, *packet_size, self.seed, index);
        let mut packets = packets.expect("the traffic has been checked");
        packets.stop = *until_ns;
        packets.start(now);
        group.begun += 1;
        Box::new(Source { group: place, packets, ecn: *ecn })
    }

    fn on_packet(&mut self, flow: &mut Self::Flow, at: Arrival<'_, Carried>) -> Reply {
        let group = &mut self.groups[flow.group];
        if let Carried::Born(born) = *at.load {
            group.delays.count(at.now - born);
        }
        group.received += 1;
        group.goodput_bytes += u64::from(at.packet.size).saturating_sub(u64::from(group.header));
        group.last_arrival = at.now;
        Reply::default()
    }

    fn on_answer(&mut self, _: &mut Self::Flow, _: Arrival<'_, Carried>) -> Then {
        Then::Nothing
    }

    fn on_timer(&mut self, _: &mut Self::Flow, _: u64) -> Option<Carried> {
        None
    }

    fn wants_turn(&self, flow: &mut Self::Flow, now: u64, free_at: u64) -> bool {
        flow.packets.next_time() <= now.max(free_at)
    }

    fn next(&mut self, flow: &mut Self::Flow, now: u64) -> Option<(Packet, Carried)> {
        let born = flow.packets.next_time();
        if born > now {
            return None;
        }
        let size = flow.packets.send() as u16;
        self.groups[flow.group].sent += 1;
        Some((Packet { size, unmarkable: !flow.ecn, ..Packet::default() }, Carried::Born(born)))
    }

    fn deadline(&self, flow: &Self::Flow, now: u64) -> u64 {
        let next = flow.packets.next_time();
        if next > now { next } else { NEVER }
    }

    fn retransmissions(&self) -> u64 {
        0
    }

    fn on_loss(&mut self, flow: &mut Self::Flow) {
        self.groups[flow.group].lost += 1;
    }

    fn is_over(&self, flow: &Self::Flow) -> bool {
        flow.packets.next_time() == NEVER
    }

    fn open_loop(&self, now: u64) -> Vec<OpenLoopResult> {
        let result = |group: &Group| {
            let Traffic::OpenLoop { from_ns, until_ns, .. } = group.traffic else {
                unreachable!("a group is of open-loop traffic");
            };
            let time = now.min(until_ns).max(group.last_arrival).saturating_sub(from_ns);
            let delay_s = group.delays.mean().zip(group.delays.quantiles([0.95, 0.99]));
            OpenLoopResult {
                traffic: group.part,
                sources: group.begun,
                packets_sent: group.sent,
                packets_received: group.received,
                packets_lost: group.lost,
                delay_s: delay_s.map(|(mean, ([p95, p99], _))| Delays {
                    mean: mean / 1e9,
                    p95: p95 / 1e9,
                    p99: p99 / 1e9,
                }),
                goodput_bit_per_s: group.goodput_bytes as f64 * 8e9 / time.max(1) as f64,
            }
        };
        self.groups.iter().map(result).collect()
    }
}
