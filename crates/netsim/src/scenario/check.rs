//! What no scenario can be, as far as neither a discipline nor a sender has to be built to see it.

use vermilion_parameters::ParameterError;

use super::{Change, FlowGroup, Link, Scenario, traffic_check};
use crate::air::AirModel;
use crate::limits::{
    HIGHEST_RATE, LINK_MEASURES, LONGEST_DELAY, LONGEST_DURATION, MOST_FLOWS, MOST_LINKS,
    MOST_MEASURES, MOST_PROBES, within,
};
use crate::loss::LossModel;
use crate::phases::Phases;
use crate::scripted_losses::MOST_SCRIPTED_LOSSES;
use crate::transmitter::{DeliveryTrace, RateSchedule};

impl Scenario {
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
        traffic_check::check_transfers(&self.flows, self.duration_ns)?;
        for (index, change) in self.changes.iter().enumerate() {
            self.check_change(change).map_err(|error| error.under(&format!("changes.{index}")))?;
        }
        let scripts = self.scripted_losses.len() as u64;
        within("scripted_losses", scripts, 0, MOST_SCRIPTED_LOSSES, "entries")?;
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
        within("dscp", u64::from(group.dscp), 0, 63, "(a codepoint)")?;
        if group.path.is_empty() {
            return Err(ParameterError::new("path", "[]", "at least one link"));
        }
        if group.path.len() + group.return_path.len() > usize::from(u16::MAX) {
            return Err(ParameterError::new("path", group.path.len(), "at most 65535 links"));
        }
        let mut propagation = 0;
        for (field, path) in [("path", &group.path), ("return_path", &group.return_path)] {
            for name in path {
                propagation += self.links[self.link_named(field, name)?].delay_ns;
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
        let link = self.link_named("link", &change.link)?;
        if let Some(rate) = change.rate_bit_per_s {
            if self.links[link].varies() {
                let accepted = "no rate for a link with a rate_schedule, a trace or a line";
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
        let ways = [self.rate_schedule.is_some(), self.trace.is_some(), self.line.is_some()];
        if ways.into_iter().filter(|&way| way).count() > 1 {
            let accepted = "a rate_schedule, a trace or a line, not two of them";
            let field = if self.trace.is_some() { "trace" } else { "line" };
            return Err(ParameterError::new(field, format!("a {field}"), accepted));
        }
        self.line.map_or(Ok(()), |line| line.check())?;
        self.rate_schedule.as_ref().map_or(Ok(()), RateSchedule::check)?;
        self.trace.as_ref().map_or(Ok(()), DeliveryTrace::check)?;
        self.air.as_ref().map_or(Ok(()), AirModel::check)?;
        self.loss.as_ref().map_or(Ok(()), LossModel::check)
    }
}

fn ordered(field: &str, range: (u64, u64)) -> Result<(), ParameterError> {
    if range.0 <= range.1 {
        return Ok(());
    }
    let value = format!("{} .. {} ns", range.0, range.1);
    Err(ParameterError::new(field, value, "a range whose end is not before its beginning"))
}
