use crate::flow::Flow;
use crate::group::Group;
use crate::route::Hop;

/// The queue that comes next on a packet's way, in tables of its own: every packet asks at every link, and flows and
/// groups are so large that those of a large network are in no near cache.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// The queues of all groups, those on the way of data and then those of acknowledgements.
    hops: Vec<Hop>,
    /// The places in `hops` of each group's first queue either way.
    of_groups: Vec<[u32; 2]>,
    /// The same of each flow.
    of_flows: Vec<[u32; 2]>,
}

impl Ways {
    /// The ways of these flows, which are of these groups.
    pub fn of(groups: &[Group], flows: &[Flow]) -> Self {
        let mut ways = Self::default();
        for group in groups {
            let forward = ways.hops.len() as u32;
            ways.hops.extend(&group.route.forward);
            ways.of_groups.push([forward, ways.hops.len() as u32]);
            ways.hops.extend(&group.route.backward);
        }
        (0..).zip(flows).for_each(|(place, flow)| ways.set(place, flow.group));
        ways
    }

    /// The flow in place `place` is of group `group`.
    pub fn set(&mut self, place: u32, group: u32) {
        let place = place as usize;
        if place >= self.of_flows.len() {
            self.of_flows.resize(place + 1, [0; 2]);
        }
        self.of_flows[place] = self.of_groups[group as usize];
    }

    /// The queue that has `passed` others of a flow's way before it, that of acknowledgements if it leads `back`.
    #[inline(always)] // for every packet at every link
    pub fn hop(&self, flow: u32, back: bool, passed: u32) -> Hop {
        let first = self.of_flows[flow as usize][usize::from(back)];
        self.hops[(first + passed) as usize]
    }
}
