//! The way of a group's packets: which delay line follows each queue.
//!
//! What the links of a path do not use of a flow's base round trip is access delay, half of it on
//! the sender's side and half on the receiver's, each in both directions. The stretch from the
//! sender to the first queue is not simulated: sender and first queue are put in one place by
//! setting the sender's clock back by that stretch, which changes no instant at any queue. A flow
//! therefore starts at its first queue a quarter of the access delay after its start.
//!
//! Where access has a rate, each stretch next to an end takes a transmission longer: that of a full
//! packet for data, that of an acknowledgement on the way back. Packets queue for it at the sender
//! only ([`crate::access`]); at the receiver they come one by one from a slower or an equal link.
//!
//! Where acknowledgements meet no queue, their way is part of the last stretch of the data. Whatever a receiver does is
//! done when its acknowledgement reaches the sender, that much later than it happens ([`Route::after_receipt`]). So it is
//! with a receiver that may wait for another segment: its timer runs as much later (`simulation/answers.rs`), and what
//! it has at an instant is looked up on its line (`simulation/unheard.rs`). Only where packets are followed does such a
//! receiver have a line of its own for what it answers ([`Route::part`]).

use std::collections::HashMap;

use crate::access::transmission;
use crate::delay_line::{DelayLine, End};
use crate::scenario::{FlowGroup, Scenario};

/// A queue on the way and the delay line behind it.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Number of the link.
    pub link: u32,
    /// Number of the delay line its output goes to.
    pub line: u32,
}

/// The way of a group's packets, what every packet asks for first.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Route {
    /// The first queue on the way of data, apart from the others: every packet asks for it.
    pub first: Hop,
    /// How much later than at the receiver its events are processed, in nanoseconds: where an
    /// acknowledgement's way back is part of the stretch, with its arrival there.
    pub after_receipt: u64,
    /// Queues on the way of data.
    pub forward: Vec<Hop>,
    /// How acknowledgements leave the receiver.
    pub answers: Answers,
    /// Queues on the way of acknowledgements.
    pub backward: Vec<Hop>,
    /// How much later than at the sender things happen at the first queue, in nanoseconds.
    pub first_access: u64,
}

/// How the acknowledgements of a receiver leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// On the line of that number, a stretch of its own.
    OnLine(u32),
    /// With the data that they acknowledge, whose stretch includes their way. What a receiver answers that has waited
    /// comes, at one instant, after the packets of line `after` and those before it.
    WithData {
        /// The number of that line.
        after: u32,
    },
}

impl Answers {
    /// Their line, if they have one.
    pub fn line(self) -> Option<u32> {
        match self {
            Self::OnLine(line) => Some(line),
            Self::WithData { .. } => None,
        }
    }
}

/// Collects the delay lines of all routes, each distinct one once.
#[derive(Debug, Default)]
pub struct Lines {
    /// The lines in the order in which they were first wanted.
    pub all: Vec<DelayLine>,
    known: HashMap<(Option<u32>, End, u64), u32>,
}

impl Lines {
    fn find_or_add(&mut self, link: Option<u32>, end: End, extra_delay: u64) -> u32 {
        *self.known.entry((link, end, extra_delay)).or_insert_with(|| {
            self.all.push(DelayLine::new(link, end, extra_delay));
            (self.all.len() - 1) as u32
        })
    }
}

impl Route {
    /// Lays the route of the flows of `group` with base round trip `round_trip`, in nanoseconds.
    /// `may_wait`: acknowledgements are not sent at once.
    pub fn lay(
        scenario: &Scenario,
        group: &FlowGroup,
        round_trip: u64,
        may_wait: bool,
        lines: &mut Lines,
    ) -> Self {
        let numbers = |path: &[String]| -> Vec<u32> {
            path.iter()
                .map(|name| scenario.link_index(name).expect("paths were checked") as u32)
                .collect()
        };
        let (out, back) = (numbers(&group.path), numbers(&group.return_path));
        let propagation: u64 =
            out.iter().chain(&back).map(|&link| scenario.links[link as usize].delay_ns).sum();
        let [data_time, acknowledgement_time] = [group.packet_size_bytes, group.ack_size_bytes]
            .map(|size| group.access_rate_bit_per_s.map_or(0, |rate| transmission(size, rate)));
        let access = round_trip - propagation;
        let first_access = access / 4 + data_time;
        let to_receiver = access / 4 + data_time;
        let from_receiver = access / 4 + acknowledgement_time;
        // What is left, the sender's clock set right again.
        let to_sender = access - 3 * (access / 4) + acknowledgement_time + first_access;
        let open_loop = group.sender.is_none();

        let mut acknowledgement_line = None;
        let (last_end, last_extra) = if open_loop {
            (End::Sink, to_receiver)
        } else if back.is_empty() {
            let end = if may_wait { End::WaitingReceiverAndBack } else { End::ReceiverAndBack };
            (end, to_receiver + from_receiver + to_sender)
        } else {
            acknowledgement_line = Some(lines.find_or_add(None, End::ReturnLink, from_receiver));
            (End::Receiver, to_receiver)
        };
        let forward = hops(&out, End::Link, last_end, last_extra, lines);
        let backward = hops(&back, End::ReturnLink, End::Sender, to_sender, lines);
        let after_receipt = last_extra - to_receiver;
        let first = forward[0];
        Self {
            first,
            after_receipt,
            answers: acknowledgement_line.map_or(
                Answers::WithData { after: forward.last().map_or(0, |hop| hop.line) },
                Answers::OnLine,
            ),
            forward,
            backward,
            first_access,
        }
    }

    /// The same way, on `lines` instead of `old` ones, where a receiver that may wait has a line of its own for what
    /// it answers.
    pub fn part(&mut self, old: &[DelayLine], lines: &mut Lines) {
        let last = self.forward.last().map(|hop| &old[hop.line as usize]);
        let waits = last.is_some_and(|line| line.end == End::WaitingReceiverAndBack);
        let back = if waits { std::mem::take(&mut self.after_receipt) } else { 0 };
        let mut place = |line: &DelayLine| match line.end {
            End::WaitingReceiverAndBack => {
                lines.find_or_add(line.link, End::Receiver, line.extra_delay - back)
            }
            end => lines.find_or_add(line.link, end, line.extra_delay),
        };
        self.answers = match self.answers {
            Answers::OnLine(line) => Answers::OnLine(place(&old[line as usize])),
            Answers::WithData { .. } if waits => {
                Answers::OnLine(place(&DelayLine::new(None, End::Sender, back)))
            }
            with_data @ Answers::WithData { .. } => with_data,
        };
        for hop in self.forward.iter_mut().chain(&mut self.backward) {
            hop.line = place(&old[hop.line as usize]);
        }
        self.first = self.forward[0];
    }
}

fn hops(path: &[u32], next: End, last: End, last_extra: u64, lines: &mut Lines) -> Vec<Hop> {
    let count = path.len();
    path.iter()
        .enumerate()
        .map(|(index, &link)| {
            let (end, extra) = if index + 1 < count { (next, 0) } else { (last, last_extra) };
            Hop { link, line: lines.find_or_add(Some(link), end, extra) }
        })
        .collect()
}
