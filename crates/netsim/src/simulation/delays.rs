//! The books of delay, jitter and loss, where a scenario asks for them.

use crate::delay_line::DelayLine;
use crate::flow_delays::FlowDelays;
use crate::group::Group;
use crate::scenario::Scenario;

/// Books for every group, of so many flows and phases.
pub fn delay_books(
    scenario: &Scenario,
    groups: &[Group],
    lines: &[DelayLine],
    (flows, phases): (usize, usize),
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
    FlowDelays::new(&least, flows, phases)
}
