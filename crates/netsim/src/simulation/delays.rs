//! What the engine tells the books of delay, jitter and loss, where a scenario asks for them.
//!
//! Hosts' clocks: what happens at the first queue does so later than at the sender, and an arrival
//! whose acknowledgement is told at once is processed later than at the receiver
//! ([`crate::route`]). A delay is what the hosts would see.

use vermilion_tcp::Segment;

use super::{Group, Simulation};
use crate::delay_line::DelayLine;
use crate::flow::Source;
use crate::flow_delays::FlowDelays;
use crate::packet::{NUMBER, Packet, Stamp};
use crate::scenario::Scenario;

impl Simulation {
    /// Books for every group, if the scenario asks for them.
    pub(super) fn delay_books(
        scenario: &Scenario,
        groups: &[Group],
        lines: &[DelayLine],
        (flows, phases): (usize, usize),
    ) -> Option<Box<FlowDelays>> {
        if !scenario.flow_delays {
            return None;
        }
        let mut propagation: Vec<u64> = scenario.links.iter().map(|link| link.delay_ns).collect();
        for change in &scenario.changes {
            if let (Some(delay), Some(link)) = (change.delay_ns, scenario.link_index(&change.link))
            {
                propagation[link] = propagation[link].min(delay);
            }
        }
        let mut least = vec![u64::MAX; scenario.flows.len()];
        for group in groups {
            let route = &group.route;
            let Some(last) = route.forward.last() else { continue };
            let links: u64 = route.forward.iter().map(|hop| propagation[hop.link as usize]).sum();
            let to_receiver = lines[last.line as usize].extra_delay - route.after_receipt;
            let shortest = &mut least[group.number as usize];
            *shortest = (*shortest).min(route.first_access + links + to_receiver);
        }
        Some(Box::new(FlowDelays::new(&least, flows, phases)))
    }

    /// A transfer has come to a place in the table of flows.
    pub(super) fn note_beginning(&mut self, place: usize) {
        if let Some(delays) = &mut self.delays {
            delays.begin(place);
        }
    }

    /// A packet reaches its receiver now: when it was sent. Only the parts of it that matter are taken,
    /// because the whole packet would be forced into memory, also where nobody asks.
    #[cold]
    #[inline(never)]
    pub(super) fn note_arrival(&mut self, flow: u32, sequence: u32, stamp: Stamp) -> u64 {
        let state = &self.flows[flow as usize];
        let number = match state.source {
            Source::Window(_) if sequence == 0 => return stamp.sent(),
            Source::Window(_) => (stamp.number(), NUMBER),
            _ => (sequence, u32::MAX),
        };
        let group = &self.groups[state.group as usize];
        let route = &group.route;
        let delay = self.now - route.after_receipt + route.first_access - stamp.sent();
        if let Some(delays) = &mut self.delays {
            delays.on_arrived(flow, group.number, number, delay);
        }
        stamp.sent()
    }

    /// A data packet is dropped by a queue or lost on a wire.
    #[cold]
    pub(super) fn note_loss(&mut self, packet: &Packet) {
        let flow = &self.flows[packet.flow as usize];
        let opens = matches!(flow.source, Source::Window(_)) && packet.sequence == 0;
        if let Some(delays) = &mut self.delays
            && !opens
        {
            delays.on_lost(packet.flow, self.groups[flow.group as usize].number);
        }
    }

    /// What [`Simulation::send`] does where delays are asked for, after so many of the flow's packets
    /// have left the network.
    #[cold]
    #[inline(never)]
    pub(super) fn send_noted(&mut self, number: u32, gone: u32) {
        self.send_segments::<true>(number, gone);
    }
}

/// A flow of a group sends a segment: the same with the number of its packet in its time, unless it
/// opens the connection and is no data.
#[inline]
pub(super) fn number_segment(
    delays: Option<&mut FlowDelays>,
    (flow, group): (u32, u32),
    mut segment: Segment,
) -> Segment {
    if let Some(delays) = delays
        && segment.sequence > 0
    {
        segment.sent = Stamp::numbered(segment.sent, delays.on_sent(flow, group));
    }
    segment
}
