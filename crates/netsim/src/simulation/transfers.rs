//! Transfers that come and go, and the places in the table of flows that they use by turns.
//!
//! A packet names its flow by the place in the table, so a place must not go to a new connection
//! while anything of the old one can still reach it. What can:
//!
//! - *Packets and acknowledgements*, late duplicates of a connection that is long over among them.
//!   Every flow counts how many of its packets the network holds: one more when a queue takes a
//!   packet from a sender or a receiver sends an acknowledgement, one less when an end takes it or
//!   a queue drops it. A place becomes vacant when its sender is finished and that count is zero.
//!   There is no bound on a time to be guessed, and a way of losing packets that forgot to report
//!   it would cost memory and not correctness.
//! - *Timers.* An entry among the timers is only an occasion to ask the flow for its deadline. One
//!   that the old connection left behind asks the new one, which says when it wants to be called.
//! - *Starts and stops* that the scenario names are for flows that the scenario names.
//!
//! A vacant place is used again for the same group, so whoever watches the round trips of a flow
//! sees those of one path.

use super::Simulation;
use super::unheard::Unheard;
use crate::flow::{Connection, Flow, Origin, SENDER, Source};
use crate::scenario::MOST_AT_ONCE;
use crate::timers::timer_of;
use crate::traffic::{MOST_SEGMENTS, Transfer, segments_of};
use crate::transfer_books::TransferCounts;

impl Simulation {
    /// The source `number` begins a transfer.
    #[cold]
    pub(super) fn begin_transfer(&mut self, number: u32, transfer: &Transfer) {
        let group = self.flows[number as usize].group;
        let books = self.books_of(group);
        if let Source::Transfers(source) = &self.flows[number as usize].source
            && let Some(place) = source.place
        {
            return self.go_on(place, transfer);
        }
        let profile = self.profiles[books].as_ref();
        let profile = profile.expect("sources of transfers were checked to have a sender");
        let connection = Connection::new(profile, transfer.clock_phase);
        let mut flow = Flow::new(Source::Window(connection), group);
        flow.limit_to(segments_of(transfer.bytes, &self.scenario.flows[books]));
        flow.began = Some(self.now);
        flow.origin = Origin::Source(number);
        // Where it stands by now: to start it before would copy it once more.
        if let Source::Window(connection) = &mut flow.source {
            connection.sender.start(&profile.sender);
        }
        let keeps = self.scenario.flows[books].traffic.keeps_connections();
        if keeps {
            flow.last_size = self.scenario.flows[books].packet_size_bytes;
        }
        let Some(place) = self.place(flow) else {
            self.measured.transfers[books].counts.refused += 1;
            self.tell_source(number);
            return;
        };
        if keeps && let Source::Transfers(source) = &mut self.flows[number as usize].source {
            source.place = Some(place);
        }
        self.measured.transfers[books].begin(self.now);
        self.log_beginning(place, transfer.bytes);
        self.send(place);
    }

    /// A connection that is kept carries a further transfer, of whole packets.
    fn go_on(&mut self, place: u32, transfer: &Transfer) {
        let books = self.books_of(self.flows[place as usize].group);
        let (segments, _) = segments_of(transfer.bytes, &self.scenario.flows[books]);
        let flow = &mut self.flows[place as usize];
        let (began, now) = (flow.began, self.now);
        let Source::Window(connection) = &mut flow.source else { return };
        if flow.last_segment.saturating_add(segments) > MOST_SEGMENTS {
            return; // as an endless flow ends
        }
        connection.sender.supply(now, segments);
        flow.last_segment += segments;
        flow.awaited = flow.last_segment + 1;
        debug_assert!(began < Some(now));
        (flow.began, flow.ended) = (Some(now), None);
        self.measured.transfers[books].begin(now);
        self.log_beginning(place, transfer.bytes);
        self.send(place);
    }

    /// Puts a flow into a vacant place, or into a new one while there may be more.
    #[inline(always)] // for one caller, who should not have to copy the flow for it
    fn place(&mut self, flow: Flow) -> Option<u32> {
        self.take_all_turns(self.now); // what they drop may leave a place
        let (books, group) = (self.books_of(flow.group), flow.group);
        if let Some(place) = self.measured.transfers[books].vacant.pop() {
            self.ways.set(place, group);
            self.flows[place as usize] = flow;
            self.begin_observing(place as usize);
            return Some(place);
        }
        let place = self.flows.len();
        if place >= self.named_flows + MOST_AT_ONCE {
            return None;
        }
        self.flows.push(flow);
        self.timers.grow(self.flows.len());
        self.ways.set(place as u32, group);
        self.access.grow(self.flows.len());
        self.begin_observing(place);
        Some(place as u32)
    }

    /// The receiver of a flow has all of its data, in order, since `received` (nanoseconds). That counts as
    /// having happened at `time`.
    #[cold]
    pub(super) fn on_complete(&mut self, number: u32, received: u64, time: u64) {
        let flow = &mut self.flows[number as usize];
        flow.awaited = u32::MAX;
        let Some(began) = flow.began else {
            debug_assert!(false, "flow {number} is complete and never began");
            return;
        };
        // Both ends of the time are what hosts would see: see the head of `route.rs`.
        let first = began - self.groups[flow.group as usize].route.first_access;
        flow.completed = Some((time, received - first));
        let group = flow.group;
        let books = self.books_of(group);
        if self.scenario.flows[books].traffic.has_barrier() {
            let count = self.scenario.flows[books].count;
            self.measured.transfers[books].complete_part(received, began - first, count);
        } else {
            self.measured.transfers[books].window.add(received - first);
        }
        if let Some(log) = &mut self.transfer_log {
            log.complete(number, received - first);
        }
    }

    /// The sender of a flow has nothing left to send or to wait for; may be said more than once.
    #[cold]
    pub(super) fn on_finished(&mut self, number: u32) {
        if matches!(self.flows[number as usize].origin, Origin::Source(_)) {
            self.take_all_turns(self.now); // places are left in the order of time
        }
        self.finish(number);
    }

    /// The same, once all turns that came before have been carried out.
    fn finish(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        let first_time = flow.ended.is_none();
        // It was active at this very instant.
        flow.ended.get_or_insert(self.now + 1);
        let group = &self.groups[flow.group as usize];
        let keeps = self.scenario.flows[group.number as usize].traffic.keeps_connections();
        if first_time
            && !keeps
            && let Source::Window(connection) = &mut flow.source
        {
            connection.sender.retire();
        }
        let Origin::Source(source) = flow.origin else { return };
        let books = &mut self.measured.transfers[group.number as usize];
        if flow.in_flight == 0 && !keeps {
            flow.origin = Origin::Vacant;
            books.vacant.push(number);
        }
        if first_time {
            books.counts.over += 1;
            if !keeps {
                books.counts.tally += flow.tally(group.packet_size, std::iter::empty());
            }
            self.tell_source(source);
        }
    }

    /// A packet or an acknowledgement of a flow has been dropped on its way.
    #[cold]
    pub(super) fn on_lost(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        flow.in_flight -= 1;
        if flow.in_flight == 0 && flow.ended.is_some() {
            self.finish(number);
        }
    }

    /// Number of the scenario's group whose books flows of engine group `group` are in.
    fn books_of(&self, group: u32) -> usize {
        self.groups[group as usize].number as usize
    }

    fn tell_source(&mut self, number: u32) {
        let (now, books) = (self.now, self.books_of(self.flows[number as usize].group));
        if self.scenario.flows[books].traffic.has_barrier() {
            return self.pass_barrier(number, books);
        }
        let Source::Transfers(source) = &mut self.flows[number as usize].source else {
            debug_assert!(false, "flow {number} is told of a transfer, and begins none");
            return;
        };
        let played = source.transfer_over(now);
        let next = source.next_time();
        if let Some(played) = played {
            self.measured.transfers[books].counts.playback.add(played);
        }
        self.arm(timer_of(number, SENDER), next);
    }

    /// The transfer of source `number` is over, of a group whose sources wait for each other.
    fn pass_barrier(&mut self, number: u32, books: usize) {
        if !self.measured.transfers[books].pass(self.scenario.flows[books].count) {
            return;
        }
        let now = self.now;
        let Source::Transfers(source) = &mut self.flows[number as usize].source else { return };
        source.transfer_over(now);
        let next = source.next();
        for place in 0..self.named_flows {
            if self.books_of(self.flows[place].group) == books
                && let Source::Transfers(source) = &mut self.flows[place].source
            {
                source.begin_with(next);
                let time = source.next_time();
                self.arm(timer_of(place as u32, SENDER), time);
            }
        }
    }

    /// The counts of every group, transfers under way included.
    pub(super) fn transfer_counts(&self, unheard: &Unheard) -> Vec<TransferCounts> {
        let mut counts: Vec<_> = self.measured.transfers.iter().map(|books| books.counts).collect();
        for (place, flow) in (0..).zip(&self.flows).skip(self.named_flows) {
            let traffic = &self.scenario.flows[self.books_of(flow.group)].traffic;
            if flow.ended.is_none() || traffic.keeps_connections() {
                let packet_size = self.groups[flow.group as usize].packet_size;
                let tally = flow.tally(packet_size, unheard.of(place));
                counts[self.books_of(flow.group)].tally += tally;
            }
        }
        counts
    }

    /// Places in the table of flows: those of the scenario, and as many as transfers have needed.
    pub fn flow_places(&self) -> usize {
        self.flows.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn every_flow_knows_how_many_of_its_packets_the_network_holds() {
        let network = r#"{"duration_ns": 20000000000, "warm_up_ns": 0, "settle_ns": 0,
            "links": [
                {"name": "out", "rate_bit_per_s": 4000000, "delay_ns": 10000000,
                    "queue": {"discipline": "drop-tail", "parameters": {"limit": 20}}},
                {"name": "back", "rate_bit_per_s": 120000, "delay_ns": 10000000,
                    "queue": {"discipline": "red", "parameters": {"limit": 20}}}],
            "flows": [
                {"name": "web", "count": 5, "path": ["out"], "return_path": ["back"],
                    "rtt_ns": 60000000, "start_ns": [0, 0],
                    "sender": {"congestion_control": "newreno",
                        "parameters": {"delayed_acknowledgements": true, "minimum_timeout": 0}},
                    "traffic": {"kind": "web", "mean_gap_ns": 2e8,
                        "size": {"distribution": "exponential", "mean": 2e4}}},
                {"name": "bulk", "count": 3, "path": ["out"], "rtt_ns": 60000000,
                    "start_ns": [0, 1000000000], "stop_ns": [9000000000, 9500000000],
                    "sender": {"congestion_control": "reno"}},
                {"name": "on-off", "count": 1, "path": ["out", "back"], "rtt_ns": 60000000,
                    "start_ns": [0, 0], "traffic": {"kind": "on-off", "rate_bit_per_s": 2e6,
                        "on_ns": {"distribution": "exponential", "mean": 1e8},
                        "off_ns": {"distribution": "exponential", "mean": 1e9}}}]}"#;
        let scenario = serde_json::from_str(network).unwrap();
        let mut simulation = Simulation::new(scenario, 1).unwrap();
        let mut held_by_the_dead = 0;
        for step in 1..=4000 {
            simulation.advance(step * 5_000_000, &AtomicBool::new(false)).unwrap();
            let mut held = vec![0; simulation.flows.len()];
            for (_, packet) in simulation.lines.packets() {
                held[packet.flow() as usize] += 1;
            }
            for (flow, held) in simulation.flows.iter().zip(held) {
                assert_eq!(flow.in_flight, held, "at step {step}");
                if flow.origin == Origin::Vacant {
                    assert_eq!(held, 0);
                } else if flow.ended.is_some() {
                    held_by_the_dead += held;
                }
            }
        }
        assert!(held_by_the_dead > 0, "nothing was ever late");
        assert!(simulation.measured.transfers[0].counts.over > 200);
    }
}
