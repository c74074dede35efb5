//! How far a run has come with what its scenario scripts.

use std::collections::HashMap;

use vermilion_parameters::ParameterError;

use super::{Action, MOST_NAMED, Passing, ScriptedLoss};
use crate::limits::within;
use crate::scenario::Scenario;
use crate::trace::{Chosen, group_index};

/// How far one flow has come with one script.
#[derive(Clone, Debug, Default)]
struct Progress {
    packets: u64,
    fitting: u64,
    hit: u64,
    /// How often a segment has come that was named.
    arrivals: HashMap<u32, u32>,
}

#[derive(Clone, Debug)]
struct Script {
    rule: ScriptedLoss,
    flows: Chosen,
    /// The link; for each group its own where none is named.
    links: Vec<u32>,
    progress: HashMap<u32, Progress>,
}

/// Every script of a scenario, and how far each has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scripts(Vec<Script>);

impl Scripts {
    /// The scripts of `scenario` at time 0.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn of(scenario: &Scenario) -> Result<Self, ParameterError> {
        let scripts = scenario.scripted_losses.iter().enumerate().map(|(index, rule)| {
            Script::new(scenario, rule)
                .map_err(|error| error.under(&format!("scripted_losses.{index}")))
        });
        Ok(Self(scripts.collect::<Result<_, _>>()?))
    }

    /// Return true if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fate of a packet that arrives, by the first script that means it.
    pub fn judge(&mut self, passing: &Passing) -> Option<Action> {
        let mut action = None;
        for script in &mut self.0 {
            if script.means(passing) && action.is_none() {
                action = Some(script.rule.action);
            }
        }
        action
    }
}

impl Script {
    fn new(scenario: &Scenario, rule: &ScriptedLoss) -> Result<Self, ParameterError> {
        if rule.flows.is_empty() {
            return Err(ParameterError::new("flows", "none", "flows of a group"));
        }
        if rule.sendings.is_some() && rule.segments.is_none() {
            let accepted = "nothing without segments, whose sendings they would be";
            return Err(ParameterError::new("sendings", "sendings", accepted));
        }
        if rule.segments.is_some() && rule.acknowledgements {
            let accepted = "packets for acknowledgements, which are no segments";
            return Err(ParameterError::new("segments", "segments", accepted));
        }
        let named: u64 = rule
            .segments
            .iter()
            .flatten()
            .map(|&(first, last)| u64::from(last.saturating_sub(first)) + 1)
            .sum();
        within("segments", named, 0, MOST_NAMED, "segments in all")?;
        if let (Some(name), None) = (&rule.when, &rule.predicate) {
            let accepted = "the name of a condition that was registered";
            return Err(ParameterError::new("when", format!("\"{name}\""), accepted));
        }
        within("every", rule.every.unwrap_or(1), 1, u64::MAX, "packets")?;
        let flows = Chosen::of(scenario, &rule.flows)?;
        let named = rule.link.as_ref().map(|name| scenario.link_named("link", name)).transpose()?;
        let mut links = vec![u32::MAX; scenario.flows.len()];
        for choice in &rule.flows {
            let number = group_index(scenario, &choice.group)? as usize;
            let group = &scenario.flows[number];
            let path = if rule.acknowledgements { &group.return_path } else { &group.path };
            let link = match named {
                Some(link) if path.contains(&scenario.links[link].name) => Some(link),
                Some(_) => None,
                None => path.first().and_then(|name| scenario.link_index(name)),
            };
            let Some(link) = link else {
                let kind = if rule.acknowledgements { "return_path" } else { "path" };
                let accepted = format!("a link of the {kind} of \"{}\"", group.name);
                let value = rule.link.as_deref().unwrap_or("none");
                return Err(ParameterError::new("link", format!("\"{value}\""), accepted));
            };
            links[number] = link as u32;
        }
        Ok(Self { rule: rule.clone(), flows, links, progress: HashMap::new() })
    }

    /// Return true if the script means the packet that arrives, which it counts.
    fn means(&mut self, passing: &Passing) -> bool {
        let rule = &self.rule;
        if passing.acknowledgement != rule.acknowledgements
            || self.links[passing.group as usize] != passing.link
            || !self.flows.has(passing.group, passing.number)
        {
            return false;
        }
        let progress = self.progress.entry(passing.connection).or_default();
        progress.packets += 1;
        let arrived = progress.packets;
        let in_packets = rule.packets.as_ref().is_none_or(|ranges| holds(ranges, arrived));
        let in_segments = rule.segments.as_ref().is_none_or(|ranges| {
            let Some(segment) = passing.segment else { return false };
            if !holds(ranges, segment) {
                return false;
            }
            let arrival = progress.arrivals.entry(segment).or_default();
            *arrival += 1;
            match &rule.sendings {
                Some(sendings) => holds(sendings, *arrival),
                None => *arrival == 1,
            }
        });
        let in_time = rule.from_ns.is_none_or(|from| passing.now >= from)
            && rule.until_ns.is_none_or(|until| passing.now < until);
        if !(in_packets && in_segments && in_time) {
            return false;
        }
        if let Some(predicate) = &rule.predicate
            && !predicate.means(&Passing { packet: arrived, ..*passing })
        {
            return false;
        }
        progress.fitting += 1;
        if !progress.fitting.is_multiple_of(rule.every.unwrap_or(1))
            || rule.most.is_some_and(|most| progress.hit >= most)
        {
            return false;
        }
        progress.hit += 1;
        true
    }
}

fn holds<T: PartialOrd + Copy>(ranges: &[(T, T)], value: T) -> bool {
    ranges.iter().any(|&(first, last)| first <= value && value <= last)
}
