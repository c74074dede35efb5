use super::Simulation;
use crate::delay_line::End;
use crate::flow::Source;

/// A segment that has reached its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    /// The place of its flow.
    flow: u32,
    /// When it did, in nanoseconds.
    received: u64,
    /// Its number.
    sequence: u32,
}

/// Arrivals at receivers that may wait, of which their senders will hear later.
///
/// Where acknowledgements meet no queue, all that such a receiver does is done when what it answers reaches the sender
/// ([`crate::route`]). What has been delivered up to an instant is what it knows of by then, and what has
/// reached it since and is still on its line.
#[derive(Debug, Default)]
pub struct Unheard {
    /// By flow, and those of one flow by time.
    arrivals: Vec<Arrival>,
}

impl Unheard {
    /// The segments of the flow in place `flow`, in the order of time.
    pub fn of(&self, flow: u32) -> impl ExactSizeIterator<Item = u32> {
        let first = self.arrivals.partition_point(|arrival| arrival.flow < flow);
        let count = self.arrivals[first..].partition_point(|arrival| arrival.flow == flow);
        self.arrivals[first..first + count].iter().map(|arrival| arrival.sequence)
    }
}

impl Simulation {
    /// Packets that have reached its receiver before `end`, in nanoseconds.
    pub(super) fn unheard_before(&self, end: u64) -> Unheard {
        if !self.some_wait {
            return Unheard::default();
        }
        let mut arrivals = Vec::new();
        for (awaiting, packet) in self.lines.packets() {
            if awaiting != End::WaitingReceiverAndBack {
                continue;
            }
            let (flow, sequence) = (packet.flow(), packet.sequence());
            let group = self.flows[flow as usize].group;
            let received = packet.time - self.groups[group as usize].route.after_receipt;
            if received < end {
                arrivals.push(Arrival { flow, received, sequence });
            }
        }
        arrivals.sort_unstable();
        Unheard { arrivals }
    }

    /// Transfers that are complete with what is unheard have been so since it arrived.
    pub(super) fn complete_with(&mut self, unheard: &Unheard) {
        let mut complete = Vec::new();
        for arrivals in unheard.arrivals.chunk_by(|one, next| one.flow == next.flow) {
            let number = arrivals[0].flow;
            let flow = &self.flows[number as usize];
            let Source::Window(connection) = &flow.source else { continue };
            if flow.awaited == u32::MAX {
                continue;
            }
            let is_complete_with = |count: usize| {
                let sequences = arrivals[..count].iter().map(|arrival| arrival.sequence);
                connection.receiver.next_expected_after(sequences) >= flow.awaited
            };
            if !is_complete_with(arrivals.len()) {
                continue;
            }
            // The last arrival that it takes, by halving: a window may be large.
            let (mut without, mut with) = (0, arrivals.len());
            while with - without > 1 {
                let middle = without.midpoint(with);
                if is_complete_with(middle) { with = middle } else { without = middle }
            }
            complete.push((number, arrivals[with - 1].received));
        }
        for (number, received) in complete {
            self.on_complete(number, received, received);
        }
    }
}
