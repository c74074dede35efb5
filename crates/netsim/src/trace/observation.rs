//! What somebody wants to have written down, as text, and checked.

use serde::Deserialize;
use vermilion_parameters::ParameterError;

use super::flow_choice::FlowChoice;
use crate::limits::within;
use crate::scenario::Scenario;

/// Most records of a trace that may be asked for.
pub const MOST_RECORDS: u64 = 10_000_000_000;

/// Everything that is to be written down of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Packets.
    #[serde(default)]
    pub packets: Option<PacketChoice>,
    /// Windows and what belongs to them.
    #[serde(default)]
    pub windows: Option<WindowChoice>,
    /// Waiting times, delays, gaps between drops.
    #[serde(default)]
    pub distributions: Option<DistributionChoice>,
    /// Transfers.
    #[serde(default)]
    pub transfers: Option<TransferChoice>,
}

/// How many transfers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferChoice {
    /// Transfers after which no further one is written down.
    pub most: u64,
}

impl TransferChoice {
    /// Refuses more of them than there can be.
    pub(crate) fn check(&self) -> Result<(), ParameterError> {
        within("transfers.most", self.most, 1, MOST_RECORDS, "transfers")
    }
}

/// Which packets, and where they are seen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketChoice {
    /// Of which flows; of all if none is named.
    #[serde(default)]
    pub flows: Vec<FlowChoice>,
    /// At which links; at all if it is not given.
    #[serde(default)]
    pub links: Option<Vec<String>>,
    /// True if at the ends that send data.
    #[serde(default = "yes")]
    pub senders: bool,
    /// True if at the ends that data goes to.
    #[serde(default = "yes")]
    pub receivers: bool,
    /// From when on, in nanoseconds.
    #[serde(default)]
    pub from_ns: u64,
    /// Until when, in nanoseconds.
    #[serde(default = "forever")]
    pub until_ns: u64,
    /// Records after which the trace ends.
    pub most: u64,
}

/// Whose windows, and when they are read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowChoice {
    /// Of which flows; of all if none is named.
    #[serde(default)]
    pub flows: Vec<FlowChoice>,
    /// At the multiples of which interval, in nanoseconds; without one at each change.
    #[serde(default)]
    pub interval_ns: Option<u64>,
    /// Rows after which the series end.
    pub most: u64,
}

/// Of what the distributions are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistributionChoice {
    /// Links: waiting times, gaps between drops.
    #[serde(default)]
    pub links: Vec<String>,
    /// Groups of flows: one-way delays, gaps between drops.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Width of a histogram's bins in nanoseconds.
    pub width_ns: u64,
    /// Most single values that are kept of each; none without it.
    #[serde(default)]
    pub values: u64,
}

const fn yes() -> bool {
    true
}

const fn forever() -> u64 {
    u64::MAX
}

/// Flows that were chosen, by number of their group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen(Option<Vec<(u32, FlowChoice)>>);

impl Chosen {
    /// The flows of `scenario` that `flows` name; all if they name none.
    ///
    /// # Errors
    /// A group or a number that there is not.
    pub fn of(scenario: &Scenario, flows: &[FlowChoice]) -> Result<Self, ParameterError> {
        if flows.is_empty() {
            return Ok(Self(None));
        }
        let chosen = flows.iter().map(|choice| {
            let number = group_index(scenario, &choice.group)?;
            let group = &scenario.flows[number as usize];
            if choice.step == 0 {
                return Err(ParameterError::new("flows", "every 0th flow", "every 1st or more"));
            }
            if choice.first >= group.count && !group.traffic.is_dynamic() {
                let (value, last) = (format!("{}:{}", choice.group, choice.first), group.count - 1);
                let accepted = format!("a flow of \"{}\", from 0 to {last}", choice.group);
                return Err(ParameterError::new("flows", value, accepted));
            }
            Ok((number, choice.clone()))
        });
        Ok(Self(Some(chosen.collect::<Result<_, _>>()?)))
    }

    /// Return true if flow `number` of group `group` is one of them.
    pub fn has(&self, group: u32, number: u32) -> bool {
        self.0.as_ref().is_none_or(|chosen| {
            chosen.iter().any(|(of, choice)| {
                *of == group
                    && number >= choice.first
                    && choice.last.is_none_or(|last| number <= last)
                    && (number - choice.first).is_multiple_of(choice.step)
            })
        })
    }
}

/// Number of the group called `name`.
pub(crate) fn group_index(scenario: &Scenario, name: &str) -> Result<u32, ParameterError> {
    let found = scenario.flows.iter().position(|group| group.name == name);
    found.map(|index| index as u32).ok_or_else(|| {
        let known = scenario.flows.iter().map(|group| &*group.name);
        ParameterError::unknown("flows", name, "a group of the scenario:", known)
    })
}

impl Observation {
    /// Checks the numbers in it; names are checked where they are looked up.
    ///
    /// # Errors
    /// The first that cannot be used.
    pub fn check(&self, scenario: &Scenario) -> Result<(), ParameterError> {
        if let Some(packets) = &self.packets {
            within("most", packets.most, 1, MOST_RECORDS, "records")?;
            if packets.from_ns >= packets.until_ns {
                let value = format!("{} .. {} ns", packets.from_ns, packets.until_ns);
                return Err(ParameterError::new(
                    "time",
                    value,
                    "a range that ends after it begins",
                ));
            }
        }
        if let Some(windows) = &self.windows {
            within("most", windows.most, 1, MOST_RECORDS, "rows")?;
            if let Some(interval) = windows.interval_ns {
                within("interval", interval, 1000, scenario.duration_ns, "ns")?;
            }
        }
        if let Some(distributions) = &self.distributions {
            within("width", distributions.width_ns, 1, 1_000_000_000, "ns")?;
            within("values", distributions.values, 0, MOST_RECORDS, "values")?;
        }
        Ok(())
    }
}
