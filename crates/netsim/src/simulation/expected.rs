//! What a packet will ask for is brought near before it arrives, where very many flows keep more than a
//! processor has near: see [`crate::prefetch`].

use vermilion_tcp::registry::Profile;

use super::{Group, Simulation};
use crate::delay_line::End;
use crate::flow::Source;
use crate::prefetch::prefetch;
use crate::timers::flow_of;

/// The state of no more flows than this stays near by itself: measured, with 10,000 and 100,000 flows.
const MOST_NEAR: usize = 20_000;

/// How many packets are before one on its line when its flow is brought, and when each depth of what its
/// sender keeps apart is: measured, with 100,000 flows. In between, what was asked for arrives.
const DISTANCES: [usize; 4] = [10, 6, 3, 1];

impl Simulation {
    /// Whether flows are far from the processor.
    #[inline]
    pub(super) fn is_far(&self) -> bool {
        self.flows.len() > MOST_NEAR
    }

    /// How many depths of memory there are behind a flow's own: its group, and what its sender keeps apart.
    pub(super) fn depth_apart(groups: &[Group], profiles: &[Option<Profile>]) -> usize {
        let depths = profiles.iter().flatten().map(|profile| profile.sender.depth_apart());
        depths.max().unwrap_or(0).max(usize::from(groups.len() > MOST_NEAR))
    }

    /// A packet is about to arrive from that source of the calendar, counted from the first line: brings what
    /// those after it will ask for.
    #[inline(never)] // networks with fewer flows should not pay for it
    pub(super) fn expect_packets(&mut self, source: usize) {
        let distances = &DISTANCES[..=self.depth_apart];
        self.lines.expect(source, distances, |packet, end, index| {
            let flow = &self.flows[packet.flow() as usize];
            if index == 0 {
                prefetch(flow);
                if packet.is_acknowledgement() {
                    prefetch(self.answers.look_at(packet.sequence()));
                }
                return;
            }
            if index == 1 {
                prefetch(&self.groups[flow.group as usize]);
            }
            if matches!(end, End::Sender | End::ReceiverAndBack)
                && let Source::Window(connection) = &flow.source
            {
                let apart = connection.sender.apart(index - 1);
                apart.into_iter().flatten().for_each(prefetch);
            }
        });
    }

    /// A timer is about to come up: brings the flows of those after it.
    #[inline(never)] // as above
    pub(super) fn expect_timers(&mut self) {
        self.timers.expect(|timer| prefetch(&self.flows[flow_of(timer).0 as usize]));
    }
}
