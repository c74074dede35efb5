//! What a packet will ask for is brought near before it arrives, where very many flows keep more than a
//! processor has near: see [`crate::prefetch`].

use vermilion_tcp::registry::Profile;

use super::Simulation;
use crate::delay_line::End;
use crate::flow::{Flow, Source};
use crate::group::Group;
use crate::packet::Packet;
use crate::prefetch::prefetch;
use crate::timers::flow_of;

/// The state of no more flows than this stays near by itself: measured, with 10,000 and 100,000 flows.
const MOST_NEAR: usize = 20_000;

/// How many packets are before one on its line when its flow is brought, and when each depth of what its
/// sender keeps apart is: measured, with 100,000 flows. In between, what was asked for arrives.
const DISTANCES: [usize; 4] = [10, 6, 3, 1];

/// Brings the flow of the packet that is next, and its group. Of the many flows whose round trips differ each has a
/// group of its own, and which of them is next is known one packet ahead at no cost. That is early enough for what a
/// processor has in its farther caches.
#[inline(always)] // for every packet where very many lines stand together
pub(super) fn bring_flow(flows: &[Flow], groups: &[Group], packet: &Packet) {
    let flow = &flows[packet.flow() as usize];
    prefetch(flow);
    // Its first line of the cache has what every packet asks for.
    prefetch(&groups[flow.group as usize].packet_size);
}

impl Simulation {
    /// Return true if flows are far from the processor.
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
            if matches!(end, Some(End::Sender | End::ReceiverAndBack | End::WaitingReceiverAndBack))
                && let Source::Window(connection) = &flow.source
            {
                let apart = connection.sender.apart(index - 1);
                apart.into_iter().flatten().for_each(prefetch);
                if index == 1
                    && let Some(apart) = connection.receiver.apart()
                {
                    prefetch(apart);
                }
            }
        });
    }

    /// A timer is about to come up: brings the flows of those after it.
    #[inline(never)] // as above
    pub(super) fn expect_timers(&mut self) {
        let flow_of = |timer| &self.flows[flow_of(timer).0 as usize];
        self.timers.expect(0, |timer| prefetch(flow_of(timer)));
        // A recovery that goes by time is asked as well. Only senders that have one go as deep.
        if self.depth_apart > 1 {
            self.timers.expect(1, |timer| {
                if let Source::Window(connection) = &flow_of(timer).source {
                    let [recovery, ..] = connection.sender.apart(0);
                    recovery.into_iter().for_each(prefetch);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use serde_json::{Value, json};

    use super::*;

    const MILLISECOND: u64 = 1_000_000;
    const END: u64 = 2000 * MILLISECOND;

    /// How a run of few busy flows ends, beside as many others that have not begun.
    fn run(sender: &Value, others: usize) -> (u64, Vec<String>) {
        let round_trips = json!({"distribution": "uniform",
            "min_ns": 20 * MILLISECOND, "max_ns": 60 * MILLISECOND});
        let group = |name, count, start: u64| {
            json!({"name": name, "count": count, "path": ["link"], "rtt_ns": round_trips,
                "sender": sender, "start_ns": [start, start]})
        };
        let mut flows = vec![group("busy", 30, 0)];
        if others > 0 {
            flows.push(group("others", others, END));
        }
        let scenario = serde_json::from_value(json!({
            "duration_ns": END, "warm_up_ns": 0, "settle_ns": 0,
            "links": [{"name": "link", "rate_bit_per_s": 20_000_000, "delay_ns": MILLISECOND,
                "queue": {"discipline": "drop-tail", "parameters": {"limit": 50}}}],
            "flows": flows,
        }));
        let mut simulation = Simulation::new(scenario.expect("it can be read"), 1).expect("valid");
        assert_eq!(simulation.is_far(), others > 0);
        simulation.advance(END - 1, &AtomicBool::new(false)).expect("nobody cancels");
        let ends = simulation.flows[..30]
            .iter()
            .map(|flow| format!("{:?}", flow.tally(1000, std::iter::empty())));
        (simulation.events, ends.collect())
    }

    #[test]
    fn what_is_brought_near_changes_no_result() {
        for sender in [
            json!({"congestion_control": "newreno"}),
            json!({"congestion_control": "cubic", "parameters": {"option_set": "linux"}}),
            json!({"congestion_control": "bbr"}),
        ] {
            let alone = run(&sender, 0);
            assert!(alone.0 > 4000, "{} events", alone.0);
            assert_eq!(run(&sender, MOST_NEAR), alone, "{sender}");
        }
    }
}
