//! A scenario as the core takes it: whole nanoseconds, bytes and bits per second, every default of
//! the scenario language already filled in. It is built from what users write by the layer above.

mod traffic;

use std::sync::Arc;

use serde::Deserialize;
use vermilion_aqm::{Colour, ForeignFactory};
use vermilion_parameters::{ParameterError, Values};
use vermilion_tcp::ForeignSenders;

use crate::loss::LossModel;
use crate::phases::Phases;
use crate::round_trip::RoundTrips;
use crate::transmitter::{DeliveryTrace, RateSchedule};
pub use traffic::{LARGEST_TRANSFER, MOST_AT_ONCE, MOST_TRANSFERS, PacketSize, Traffic};

/// Longest duration: about eleven days.
pub const LONGEST_DURATION: u64 = 1_000_000_000_000_000;
/// Highest rate of a link: 10 Tbit/s.
pub const HIGHEST_RATE: u64 = 10_000_000_000_000;
/// Longest delay or round trip: an hour.
pub const LONGEST_DELAY: u64 = 3_600_000_000_000;
/// Most flows in all groups together.
pub const MOST_FLOWS: u64 = 1_000_000;
/// Most links.
pub const MOST_LINKS: u64 = 10_000;
/// Most numbers that are kept at the ends of all phases together: one for each flow, and
/// [`LINK_MEASURES`] for each link.
pub const MOST_MEASURES: u64 = 20_000_000;
/// What a link's queue weighs among them: its histograms are much larger than a flow's tally. So is
/// that of a group's delays, where it is asked for.
pub const LINK_MEASURES: u64 = 50;
/// Most points of a probe's time series.
pub const MOST_PROBES: u64 = 10_000_000;

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
    /// Whether results have the distribution of waiting times, which makes them longer.
    #[serde(default)]
    pub distributions: bool,
    /// Whether results have delay, jitter and loss of the packets of each group of flows.
    #[serde(default)]
    pub flow_delays: bool,
    /// The links.
    pub links: Vec<Link>,
    /// The groups of flows.
    pub flows: Vec<FlowGroup>,
    /// What changes while the network runs.
    #[serde(default)]
    pub changes: Vec<Change>,
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
    /// Propagation delay in nanoseconds, one way, after the queue.
    pub delay_ns: u64,
    /// Its queue.
    pub queue: Queue,
    /// How its wire loses packets; it loses none without it.
    #[serde(default)]
    pub loss: Option<LossModel>,
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
    /// What makes it, where whoever embeds the core has a discipline of this name of its own.
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
    /// What it sends.
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
    /// What makes it, where whoever embeds the core has a sender of this name of its own.
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

const fn default_packet_size() -> u32 {
    1000
}

const fn default_acknowledgement_size() -> u32 {
    40
}

impl Scenario {
    /// Number of the link called `name`.
    #[must_use]
    pub fn link_index(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    /// Checks everything that does not need a discipline or a sender to be built.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn check(&self) -> Result<(), ParameterError> {
        within("duration", self.duration_ns, 1, LONGEST_DURATION, "ns")?;
        if self.warm_up_ns >= self.duration_ns {
            let accepted = format!("less than the duration, {} ns", self.duration_ns);
            return Err(ParameterError::new("warm_up", self.warm_up_ns, accepted));
        }
        within("settle", self.settle_ns, 0, LONGEST_DURATION, "ns")?;
        if let Some(interval) = self.probe_interval_ns {
            let least = (self.duration_ns / MOST_PROBES).max(1);
            within("probe_interval", interval, least, LONGEST_DURATION, "ns")?;
        }
        if self.links.is_empty() {
            return Err(ParameterError::new("links", "nothing", "at least one link"));
        }
        within("links", self.links.len() as u64, 1, MOST_LINKS, "links")?;
        for (index, link) in self.links.iter().enumerate() {
            link.check().map_err(|error| error.under(&format!("links.{}", link.name)))?;
            if self.link_index(&link.name) != Some(index) {
                return Err(ParameterError::new("links", &link.name, "each name once"));
            }
        }
        for (index, group) in self.flows.iter().enumerate() {
            self.check_group(group)
                .map_err(|error| error.under(&format!("flows.{}", group.name)))?;
            if self.flows[..index].iter().any(|earlier| earlier.name == group.name) {
                return Err(ParameterError::new("flows", &group.name, "each name once"));
            }
        }
        let flows = self.flows.iter().map(|group| u64::from(group.count)).sum();
        within("flows", flows, 1, MOST_FLOWS, "flows in all")?;
        traffic::check_transfers(&self.flows, self.duration_ns)?;
        for (index, change) in self.changes.iter().enumerate() {
            self.check_change(change).map_err(|error| error.under(&format!("changes.{index}")))?;
        }
        self.check_phases(flows)
    }

    /// Refuses more phases than can be kept and reported, each with every flow and every link.
    fn check_phases(&self, flows: u64) -> Result<(), ParameterError> {
        let histograms = self.links.len() + if self.flow_delays { self.flows.len() } else { 0 };
        let each = flows + LINK_MEASURES * histograms as u64;
        let most = (MOST_MEASURES / each).max(1);
        let phases = Phases::of(self).phases.len() as u64;
        if phases <= most {
            return Ok(());
        }
        let accepted = format!(
            "at most {most} phases with {flows} flows and {} links; starts, stops and changes begin \
             phases, the steps of a rate_schedule do not",
            self.links.len()
        );
        let field = if self.changes.is_empty() { "flows" } else { "changes" };
        Err(ParameterError::new(field, format!("{phases} phases"), accepted))
    }

    fn check_group(&self, group: &FlowGroup) -> Result<(), ParameterError> {
        within("count", u64::from(group.count), 1, MOST_FLOWS, "flows")?;
        within("packet_size", u64::from(group.packet_size_bytes), 1, 65_535, "bytes")?;
        within("ack_size", u64::from(group.ack_size_bytes), 1, 65_535, "bytes")?;
        let largest_header = u64::from(group.packet_size_bytes) - 1;
        within("header_size", u64::from(group.header_size_bytes), 0, largest_header, "bytes")?;
        if let Some(rate) = group.access_rate_bit_per_s {
            within("access_rate", rate, 1, HIGHEST_RATE, "bit/s")?;
        }
        if group.path.is_empty() {
            return Err(ParameterError::new("path", "[]", "at least one link"));
        }
        if group.path.len() + group.return_path.len() > usize::from(u16::MAX) {
            return Err(ParameterError::new("path", group.path.len(), "at most 65535 links"));
        }
        let mut propagation = 0;
        for (field, path) in [("path", &group.path), ("return_path", &group.return_path)] {
            for name in path {
                let Some(index) = self.link_index(name) else {
                    let names: Vec<_> = self.links.iter().map(|link| &*link.name).collect();
                    let accepted = format!("a link of the scenario: {}", names.join(", "));
                    return Err(ParameterError::new(field, format!("\"{name}\""), accepted));
                };
                propagation += self.links[index].delay_ns;
            }
        }
        group.rtt_ns.check(propagation)?;
        ordered("start", group.start_ns)?;
        within("start", group.start_ns.1, 0, self.duration_ns, "ns (the duration)")?;
        if let Some(stop) = group.stop_ns {
            ordered("stop", stop)?;
            within("stop", stop.1, 0, LONGEST_DURATION, "ns")?;
            if stop.0 < group.start_ns.0 {
                let accepted = format!("not before the start, {} ns", group.start_ns.0);
                return Err(ParameterError::new("stop", stop.0, accepted));
            }
        }
        group.check_traffic()
    }

    fn check_change(&self, change: &Change) -> Result<(), ParameterError> {
        within("at", change.at_ns, 0, self.duration_ns, "ns (the duration)")?;
        let Some(link) = self.link_index(&change.link) else {
            let names: Vec<_> = self.links.iter().map(|link| &*link.name).collect();
            let accepted = format!("a link of the scenario: {}", names.join(", "));
            return Err(ParameterError::new("link", format!("\"{}\"", change.link), accepted));
        };
        if let Some(rate) = change.rate_bit_per_s {
            if self.links[link].varies() {
                let accepted = "no rate for a link with a rate_schedule or a trace";
                return Err(ParameterError::new("rate", rate, accepted));
            }
            within("rate", rate, 1, HIGHEST_RATE, "bit/s")?;
        }
        if let Some(delay) = change.delay_ns {
            within("delay", delay, 0, LONGEST_DELAY, "ns")?;
        }
        change.loss.as_ref().map_or(Ok(()), LossModel::check)
    }
}

impl Link {
    /// Refuses what no link can be; its queue is looked at when it is built.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn check(&self) -> Result<(), ParameterError> {
        within("rate", self.rate_bit_per_s, 1, HIGHEST_RATE, "bit/s")?;
        within("delay", self.delay_ns, 0, LONGEST_DELAY, "ns")?;
        if let (Some(_), Some(_)) = (&self.rate_schedule, &self.trace) {
            let accepted = "a rate_schedule or a trace, not both";
            return Err(ParameterError::new("trace", "a trace", accepted));
        }
        self.rate_schedule.as_ref().map_or(Ok(()), RateSchedule::check)?;
        self.trace.as_ref().map_or(Ok(()), DeliveryTrace::check)?;
        self.loss.as_ref().map_or(Ok(()), LossModel::check)
    }

    /// Whether its rate varies by itself.
    fn varies(&self) -> bool {
        self.rate_schedule.is_some() || self.trace.is_some()
    }
}

pub(crate) fn within(
    field: &str,
    value: u64,
    low: u64,
    high: u64,
    unit: &str,
) -> Result<(), ParameterError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(ParameterError::new(field, value, format!("from {low} to {high} {unit}")))
}

fn ordered(field: &str, range: (u64, u64)) -> Result<(), ParameterError> {
    if range.0 <= range.1 {
        return Ok(());
    }
    let value = format!("{} .. {} ns", range.0, range.1);
    Err(ParameterError::new(field, value, "a range whose end is not before its beginning"))
}
