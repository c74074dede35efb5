//! Losses and marks that a scenario scripts: these packets of these flows, on their way to this link.
//!
//! They stand before the queue, which knows nothing of a packet that is dropped: its books are those of what
//! reaches it. Everything is counted where the packets arrive, so that the outcome follows from the scenario
//! alone.

mod scripts;

use std::fmt::Debug;
use std::sync::Arc;

use serde::Deserialize;

use crate::trace::FlowChoice;
pub(crate) use scripts::Scripts;

/// Most scripted losses of a scenario.
pub const MOST_SCRIPTED_LOSSES: u64 = 10_000;
/// Most segments that one of them may name.
pub const MOST_NAMED: u64 = 10_000_000;

/// Treatment of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It is dropped.
    #[default]
    Drop,
    /// It is marked, if it may be marked (CE).
    Mark,
}

/// A condition that is written somewhere else than here, in another language for instance. It follows from
/// what it is told alone. Who fails keeps the failure to itself, means no packet from then on, and has
/// whoever embeds the core end the run.
pub trait PacketPredicate: Debug + Send + Sync {
    /// Return true if a packet is meant, to which all fits that its script gives beside.
    fn means(&self, packet: &Passing) -> bool;
}

/// Which packets, and what is done to them. All that is given has to fit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedLoss {
    /// Of which flows; each counts for itself.
    pub flows: Vec<FlowChoice>,
    /// On their way to which link; to the first of the group's path unless it is given.
    #[serde(default)]
    pub link: Option<String>,
    /// Action.
    #[serde(default)]
    pub action: Action,
    /// True if to acknowledgements instead of data.
    #[serde(default)]
    pub acknowledgements: bool,
    /// Data segments by number, the first being 1; ranges from first to last.
    #[serde(default)]
    pub segments: Option<Vec<(u32, u32)>>,
    /// At which of its arrivals a segment is meant, the first being 1; ranges from first to last.
    #[serde(default)]
    pub sendings: Option<Vec<(u32, u32)>>,
    /// Packets of a flow in the order of their arrival, the first being 1; ranges from first to last.
    #[serde(default)]
    pub packets: Option<Vec<(u64, u64)>>,
    /// From when on they arrive, in nanoseconds.
    #[serde(default)]
    pub from_ns: Option<u64>,
    /// Until when they arrive, in nanoseconds.
    #[serde(default)]
    pub until_ns: Option<u64>,
    /// Name of a condition that is not the core's.
    #[serde(default)]
    pub when: Option<String>,
    /// The condition itself, from whoever embeds the core.
    #[serde(skip)]
    pub predicate: Option<Arc<dyn PacketPredicate>>,
    /// Of all that fit so far each so-many-th of a flow.
    #[serde(default)]
    pub every: Option<u64>,
    /// At most so many of a flow.
    #[serde(default)]
    pub most: Option<u64>,
}

/// A packet that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// When, in nanoseconds.
    pub now: u64,
    /// Number of the link.
    pub link: u32,
    /// Number of its connection.
    pub connection: u32,
    /// Number of its group.
    pub group: u32,
    /// Number of its flow among the group's.
    pub number: u32,
    /// Of its flow's packets that come to the link the so-many-th; the first is 1. Acknowledgements are
    /// counted apart.
    pub packet: u64,
    /// True if it is an acknowledgement.
    pub acknowledgement: bool,
    /// Number of its segment, if it has one.
    pub segment: Option<u32>,
    /// True if its segment was sent before.
    pub retransmission: bool,
    /// Size in bytes.
    pub size: u32,
    /// ECN codepoint as in the IP header.
    pub ecn: u8,
}
