//! A scenario as the core takes it: whole nanoseconds, bytes and bits per second, every default of
//! the scenario language already filled in. It is built from what users write by the layer above.
//! What cannot be one is refused in `scenario/check.rs` and `scenario/traffic_check.rs`.

mod check;
mod traffic;
mod traffic_check;

use std::sync::Arc;

use serde::Deserialize;
use vermilion_aqm::{Colour, ForeignFactory};
use vermilion_parameters::{ParameterError, Values};
use vermilion_port::Class;
use vermilion_tcp::ForeignSenders;

pub use crate::air::{AirModel, Reordering};
use crate::generated_line::GeneratedLine;
pub use crate::limits::{
    HIGHEST_RATE, LINK_MEASURES, LONGEST_DELAY, LONGEST_DURATION, MOST_FLOWS, MOST_LINKS,
    MOST_MEASURES, MOST_PROBES,
};
pub use crate::link_books::Books;
use crate::loss::LossModel;
use crate::round_trip::RoundTrips;
use crate::scripted_losses::ScriptedLoss;
use crate::transmitter::{DeliveryTrace, RateSchedule};
pub use traffic::{
    BitRateRule, LARGEST_TRANSFER, MOST_AT_ONCE, MOST_TRANSFERS, PacketSize, Traffic, Video,
};

/// A network, its traffic, and what happens to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Simulated time in nanoseconds.
    pub duration_ns: u64,
    /// Time excluded from metrics at the beginning, in nanoseconds.
    pub warm_up_ns: u64,
    /// Time excluded from a phase's metrics after each change, in nanoseconds.
    pub settle_ns: u64,
    /// Interval of the time series in nanoseconds; none are kept without it.
    #[serde(default)]
    pub probe_interval_ns: Option<u64>,
    /// True if results have the distribution of waiting times, which makes them longer.
    #[serde(default)]
    pub distributions: bool,
    /// True if results have delay, jitter and loss of the packets of each group of flows.
    #[serde(default)]
    pub flow_delays: bool,
    /// The links.
    pub links: Vec<Link>,
    /// The groups of flows.
    pub flows: Vec<FlowGroup>,
    /// Changes while the network runs.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// Packets that are dropped or marked whatever the queues say.
    #[serde(default)]
    pub scripted_losses: Vec<ScriptedLoss>,
}

/// A link and the queue in front of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Rate in bits per second; where it varies, the one that disciplines are told.
    pub rate_bit_per_s: u64,
    /// Rates that follow a schedule.
    #[serde(default)]
    pub rate_schedule: Option<RateSchedule>,
    /// A recorded trace of delivery opportunities.
    #[serde(default)]
    pub trace: Option<DeliveryTrace>,
    /// A line whose rate is drawn from the seed.
    #[serde(default)]
    pub line: Option<GeneratedLine>,
    /// Propagation delay in nanoseconds, one way, after the queue.
    pub delay_ns: u64,
    /// Its queue.
    pub queue: Queue,
    /// Law that sets its rate while the network runs.
    #[serde(default)]
    pub rate_control: Option<RateControl>,
    /// How its wire loses packets; it loses none without it.
    #[serde(default)]
    pub loss: Option<LossModel>,
    /// By how much longer than its delay packets take; all take as long without it.
    #[serde(default)]
    pub air: Option<AirModel>,
    /// How much is written down here.
    #[serde(default)]
    pub books: Books,
}

/// A law that keeps a shaper at the rate of a line that it does not know.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateControl {
    /// Name of the law, or `oracle`.
    pub law: String,
    /// Its parameters in the units of its table.
    #[serde(default)]
    pub parameters: Values,
    /// Name of the open-loop flows that are its probes, each to a reflector of its own, over the shaper and the line.
    pub probes: String,
    /// Interval at which it sets the rate, in nanoseconds.
    #[serde(default = "default_interval")]
    pub interval_ns: u64,
    /// True if it knows one-way delays and not only round trips.
    #[serde(default)]
    pub one_way: bool,
}

/// A queue discipline and its parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Name of the discipline.
    pub discipline: String,
    /// Its parameters in the units of its table.
    #[serde(default)]
    pub parameters: Values,
    /// Classes, where it is a scheduler; their parameters are among those of the queue.
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Factory, where whoever embeds the core has a discipline of this name of its own.
    #[serde(skip)]
    pub foreign: Option<Arc<dyn ForeignFactory>>,
}

/// Flows that are alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// Its name.
    pub name: String,
    /// Number of flows.
    pub count: u32,
    /// Names of the links that data crosses, in order.
    pub path: Vec<String>,
    /// Names of the links that acknowledgements cross, in order.
    #[serde(default)]
    pub return_path: Vec<String>,
    /// Round-trip time without queueing and transmission, in nanoseconds.
    pub rtt_ns: RoundTrips,
    /// Rate of each flow's own links to the network, at both ends, in bits per second; without it
    /// access takes no time but delay.
    #[serde(default)]
    pub access_rate_bit_per_s: Option<u64>,
    /// The sender; `None` for open-loop traffic.
    #[serde(default)]
    pub sender: Option<SenderChoice>,
    /// Size of a data packet in bytes, headers included.
    #[serde(default = "default_packet_size")]
    pub packet_size_bytes: u32,
    /// The part of a data packet that is no goodput, in bytes.
    #[serde(default)]
    pub header_size_bytes: u32,
    /// Size of an acknowledgement (and of a packet that opens a connection) in bytes.
    #[serde(default = "default_acknowledgement_size")]
    pub ack_size_bytes: u32,
    /// Drop precedence of its packets and acknowledgements.
    #[serde(default)]
    pub colour: DropPrecedence,
    /// Differentiated services codepoint of its packets and acknowledgements.
    #[serde(default)]
    pub dscp: u8,
    /// Name of the host that sends its data; without it the group has one of its own.
    #[serde(default)]
    pub source_host: Option<String>,
    /// Name of the host that receives its data; without it the group has one of its own.
    #[serde(default)]
    pub destination_host: Option<String>,
    /// Traffic that it sends.
    #[serde(default)]
    pub traffic: Traffic,
    /// Range over which starts are uniform, in nanoseconds.
    pub start_ns: (u64, u64),
    /// Range over which stops are uniform, in nanoseconds; `None` for never.
    #[serde(default)]
    pub stop_ns: Option<(u64, u64)>,
}

/// Which packets a queue that knows colours drops first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropPrecedence {
    /// Last.
    #[default]
    Green,
    /// Before green ones.
    Yellow,
    /// First.
    Red,
}

impl From<DropPrecedence> for Colour {
    fn from(precedence: DropPrecedence) -> Self {
        match precedence {
            DropPrecedence::Green => Self::Green,
            DropPrecedence::Yellow => Self::Yellow,
            DropPrecedence::Red => Self::Red,
        }
    }
}

/// A sender and its parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SenderChoice {
    /// Name of the sender.
    pub congestion_control: String,
    /// Its parameters in the units of its table.
    #[serde(default)]
    pub parameters: Values,
    /// Factory, where whoever embeds the core has a sender of this name of its own.
    #[serde(skip)]
    pub foreign: Option<Arc<dyn ForeignSenders>>,
}

/// Something about a link that changes at a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// Name of the link.
    pub link: String,
    /// New rate in bits per second.
    #[serde(default)]
    pub rate_bit_per_s: Option<u64>,
    /// New propagation delay in nanoseconds.
    #[serde(default)]
    pub delay_ns: Option<u64>,
    /// Discipline parameters to replace.
    #[serde(default)]
    pub queue: Option<Values>,
    /// How the wire loses packets from now on.
    #[serde(default)]
    pub loss: Option<LossModel>,
}

const fn default_interval() -> u64 {
    20_000_000
}

const fn default_packet_size() -> u32 {
    1000
}

const fn default_acknowledgement_size() -> u32 {
    40
}

impl Scenario {
    /// Number of the link called `name`.
    pub fn link_index(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    /// The same where a user has named it in a `field`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn link_named(&self, field: &str, name: &str) -> Result<usize, ParameterError> {
        self.link_index(name).ok_or_else(|| {
            let known = self.links.iter().map(|link| &*link.name);
            ParameterError::unknown(field, name, "a link of the scenario:", known)
        })
    }
}

impl Link {
    /// Return true if its rate varies by itself.
    pub(crate) fn varies(&self) -> bool {
        self.rate_schedule.is_some() || self.trace.is_some() || self.line.is_some()
    }
}
