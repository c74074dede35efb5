//! What leaves through one interface: the view of the queue at its exit.
//!
//! A packet socket sees a packet that leaves after the queue has let it go, and one that arrives
//! before anything is done with it. So what leaves is what the queue has forwarded; and the whole
//! round trip of data that leaves contains the wait in this queue, while its round trip beyond the
//! monitor does not.
//!
//! Where packets are seen before the queue as well ([`Passage::Entering`]), whole round trips are put
//! together from what is known there ([`Entrance`]), without the sender's own wait for its turn.

use std::collections::HashMap;

use crate::capture::Passage;
use crate::entrance::{Entrance, Stamped};
use crate::flows::{End, Flow, Stage, Traffic};
use crate::listener::Listener;
use crate::monitor::Monitor;
use crate::round_trips::{Path, RoundTrip};
use crate::volumes::{Volume, Volumes};

/// A whole round trip of data that leaves here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeRoundTrip {
    /// The flow's number.
    pub flow: u64,
    /// How long it took.
    pub nanoseconds: u64,
}

/// Knowledge of a flow besides the monitor's own knowledge.
#[derive(Clone, Copy, Debug)]
struct Known {
    traffic: Traffic,
    /// True if packets of the initiator, and of the responder, leave here. Both do where a machine
    /// talks to itself.
    leaves: [bool; 2],
    /// True if those have ever carried data, or are not TCP.
    sends: [bool; 2],
    /// True if their receivers acknowledge selectively, as far as that was seen.
    selective: [bool; 2],
    /// True if any of their packets was ECN-capable.
    ecn_capable: [bool; 2],
}

/// Traffic that a flow sent through the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// How much.
    pub volume: Volume,
    /// True if its sender slows down when packets are lost; `None` for flows of which nothing but
    /// acknowledgements leaves here.
    pub slows_down: Option<bool>,
    /// True if its receiver has been seen to acknowledge selectively, or to agree to it.
    pub selective: bool,
    /// True if any of its packets was ECN-capable, here or on its way here marked (RFC 3168).
    pub ecn_capable: bool,
}

/// Listens to a monitor of one interface.
///
/// Its memory is bounded by the flows that the monitor follows and by [`Departures::MOST_KEPT`].
pub struct Departures {
    passage: Passage,
    known: HashMap<u64, Known>,
    /// Of the flows that were seen before the queue, what their initiator and responder send.
    entrances: HashMap<u64, [Entrance; 2]>,
    leaving: Volumes,
    round_trips: Vec<WholeRoundTrip>,
    left_out: u64,
}

impl Default for Departures {
    fn default() -> Self {
        Self::new()
    }
}

impl Departures {
    /// So many round trips are kept until they are taken; more are counted.
    pub const MOST_KEPT: usize = 200_000;

    /// Nothing has left yet.
    pub fn new() -> Self {
        Self {
            passage: Passage::Leaving,
            known: HashMap::new(),
            entrances: HashMap::new(),
            // One stretch for ever: it ends when it is taken.
            leaving: Volumes::new(u64::MAX),
            round_trips: Vec::new(),
            left_out: 0,
        }
    }

    /// The next packet that the monitor is told of goes this way.
    pub fn passes(&mut self, passage: Passage) {
        self.passage = passage;
    }

    /// Round trips since the last call.
    pub fn take_round_trips(&mut self) -> Vec<WholeRoundTrip> {
        std::mem::take(&mut self.round_trips)
    }

    /// How many round trips were not kept because nobody had taken those before.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Traffic that each flow sent through the exit since the last call.
    pub fn take_volumes(&mut self) -> Vec<Departed> {
        let departed = |volume: Volume| {
            let side = usize::from(!volume.from_initiator);
            let known = self.known.get(&volume.flow).filter(|known| known.sends[side]);
            Departed {
                volume,
                slows_down: known.map(|known| known.traffic != Traffic::Udp),
                selective: known.is_some_and(|known| known.selective[side]),
                ecn_capable: known.is_some_and(|known| known.ecn_capable[side]),
            }
        };
        self.leaving.take(true).into_iter().map(departed).collect()
    }

    /// How many flows have sent data through the exit since `since` (nanoseconds), and have not
    /// said that there is no more to come.
    pub fn active(&self, monitor: &Monitor, since: u64) -> u64 {
        let active = |flow: &&Flow| {
            let last = match flow.stage {
                Stage::Connected => flow.last_data(),
                Stage::Datagrams => flow.last,
                Stage::Opening | Stage::Closed => return false,
            };
            last >= since
                && self.known.get(&flow.number).is_some_and(|known| {
                    (0..2).any(|side| known.sends[side] && !flow.directions[side].fin)
                })
        };
        monitor.flows().filter(active).count() as u64
    }
}

impl Listener for Departures {
    fn packet(&mut self, flow: &Flow, from_initiator: bool, packets: u32, bytes: u32) {
        if self.passage != Passage::Leaving {
            return;
        }
        let side = usize::from(!from_initiator);
        let known = self.known.entry(flow.number).or_insert(Known {
            traffic: flow.traffic(),
            leaves: [false; 2],
            sends: [false; 2],
            selective: [false; 2],
            ecn_capable: [false; 2],
        });
        known.traffic = flow.traffic();
        known.selective[side] = flow.acknowledged_selectively[side];
        let [_, capable @ ..] = flow.directions[side].ecn;
        known.ecn_capable[side] = capable.iter().any(|packets| *packets > 0);
        known.leaves[side] = true;
        known.sends[side] |= known.traffic != Traffic::Tcp || flow.directions[side].payload > 0;
        self.leaving.packet(flow, from_initiator, packets, bytes);
    }

    fn segment(&mut self, flow: &Flow, from_initiator: bool, segment: &Stamped) {
        let Some(entrances) = self.entrances.get_mut(&flow.number) else { return };
        let side = usize::from(!from_initiator);
        match self.passage {
            Passage::Leaving => entrances[side].leaves(segment),
            // What comes in here answers what the other side sends.
            Passage::Arriving => entrances[1 - side].answer_passes(segment),
            Passage::Entering => {}
        }
    }

    fn entered(&mut self, flow: &Flow, from_initiator: bool, segment: &Stamped) {
        let entrances = self.entrances.entry(flow.number).or_default();
        entrances[usize::from(!from_initiator)].comes_in(segment);
    }

    fn round_trip(&mut self, round_trip: &RoundTrip) {
        let RoundTrip { flow, nanoseconds, time, path, from_initiator } = *round_trip;
        let side = usize::from(!from_initiator);
        if !self.known.get(&flow).is_some_and(|known| known.leaves[side]) {
            return;
        }
        let seen_before = self.entrances.get(&flow).map(|sides| &sides[side]);
        let composed = seen_before.and_then(|entrance| entrance.whole(time, nanoseconds));
        let nanoseconds = match (path, composed) {
            (Path::Beyond, Some(composed)) => composed,
            (Path::Whole, None) => nanoseconds,
            _ => return,
        };
        if self.round_trips.len() == Self::MOST_KEPT {
            self.left_out += 1;
            return;
        }
        self.round_trips.push(WholeRoundTrip { flow, nanoseconds });
    }

    fn flow_ended(&mut self, flow: &Flow, _why: End) {
        self.known.remove(&flow.number);
        self.entrances.remove(&flow.number);
    }
}
