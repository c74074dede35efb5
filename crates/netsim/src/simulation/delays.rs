//! The books of delay, jitter and loss, where a scenario asks for them.

use super::Simulation;
use super::observer::Observed;
use crate::any_link::AnyLink;
use crate::delay_line::{DelayLine, End};
use crate::flow::{Flow, Source};
use crate::flow_delays::{FlowDelays, Way};
use crate::group::Group;
use crate::packet::{NUMBER, Packet};
use crate::scenario::Scenario;

/// Books for every group, of these flows and so many phases.
pub(super) fn delay_books(
    scenario: &Scenario,
    groups: &[Group],
    lines: &[DelayLine],
    flows: &[Flow],
    phases: usize,
) -> FlowDelays {
    let mut propagation: Vec<u64> = scenario.links.iter().map(|link| link.delay_ns).collect();
    for change in &scenario.changes {
        if let (Some(delay), Some(link)) = (change.delay_ns, scenario.link_index(&change.link)) {
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
    let ways = flows.iter().map(|flow| {
        let group = &groups[flow.group as usize];
        way_of(group, least[group.number as usize])
    });
    FlowDelays::new(&least, ways, phases)
}

/// Way of a group's packets, `least` being the least delay of all of the same group of the scenario. What is sent is
/// processed later than at its host, and so may be what arrives: see [`crate::route`].
fn way_of(group: &Group, least: u64) -> Way {
    let least = least.wrapping_add(group.route.after_receipt);
    Way { group: group.number, least: least.wrapping_sub(group.route.first_access) }
}

impl Simulation {
    /// From now on delays are counted. Everything has to be still at its beginning.
    pub(super) fn count_delays(&mut self) {
        let phases = self.measured.phases.phases.len();
        let (lines, flows) = (self.lines.each(), &self.flows);
        self.delays = delay_books(&self.scenario, &self.groups, lines, flows, phases);
        if self.observed == Observed::Nothing {
            self.observed = Observed::Delays;
        }
    }

    /// From now on notes are taken of packets. Everything has to be still at its beginning: receivers that may wait get
    /// lines of their own for what they answer.
    pub(super) fn take_notes(&mut self) {
        if self.observed == Observed::Everything {
            return;
        }
        self.observed = Observed::Everything;
        self.part_receivers();
        self.count_delays();
        for link in &mut self.links {
            if let AnyLink::AtDeparture(link) = link {
                link.take_notes();
            }
        }
    }

    /// A transfer has come to a place in the table of flows.
    pub(super) fn begin_delays(&mut self, place: usize) {
        if self.delays.are_kept() {
            let group = &self.groups[self.flows[place].group as usize];
            self.delays.begin(place, way_of(group, self.delays.least_of(group.number)));
        }
    }

    /// A data packet is dropped by a queue or lost on a wire.
    pub(super) fn count_loss(&mut self, packet: &Packet) {
        let flow = packet.flow();
        let source = &self.flows[flow as usize].source;
        if self.delays.are_kept()
            && !(packet.sequence() == 0 && matches!(source, Source::Window(_)))
        {
            self.delays.on_lost(flow);
        }
    }

    /// Counts what has reached receivers that may wait before `end`, in nanoseconds, and of which they will hear later.
    pub(super) fn count_unheard(&mut self, end: u64) {
        if !self.some_wait || !self.delays.are_kept() {
            return;
        }
        let mut arrivals = Vec::new();
        for (awaiting, packet) in self.lines.packets() {
            if awaiting != End::WaitingReceiverAndBack || packet.sequence() == 0 {
                continue;
            }
            let group = self.flows[packet.flow() as usize].group;
            let received = packet.time - self.groups[group as usize].route.after_receipt;
            if self.delays.counted_until <= received && received < end {
                arrivals.push((received, packet.stamp().number(), packet));
            }
        }
        // Those of one flow in the order in which they were sent.
        arrivals.sort_unstable_by_key(|&(received, number, _)| (received, number));
        for (_, number, packet) in arrivals {
            let after = packet.time - packet.stamp().sent();
            self.delays.on_arrived(packet.flow(), (number, NUMBER), after);
        }
        self.delays.counted_until = end;
    }
}
