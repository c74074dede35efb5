//! The log of transfers, where somebody has asked for it, and how long each would take in an empty network.

use vermilion_parameters::ParameterError;

use super::Simulation;
use crate::access::transmission;
use crate::flow::Source;
use crate::group::Group;
use crate::route::{Answers, Hop};
use crate::trace::TransferChoice;
use crate::transfer_log::{TransferLog, TransferRow};

impl Simulation {
    /// Logs transfers from now on; to be called before anything has happened.
    pub(super) fn log_transfers(&mut self, choice: &TransferChoice) -> Result<(), ParameterError> {
        choice.check()?;
        self.transfer_log = Some(Box::new(TransferLog::new(choice.most)));
        for flow in &mut self.flows {
            if let Source::OpenLoop(source) = &mut flow.source {
                source.keep_bursts(choice.most as usize);
            }
        }
        Ok(())
    }

    /// The transfers so far, in the order in which they began, and whether some were left out because there may not be
    /// more; none where nobody has asked for them ([`Simulation::observe`]).
    pub fn transfers(&self) -> (Vec<TransferRow>, bool) {
        let Some(log) = &self.transfer_log else { return (Vec::new(), false) };
        let (mut rows, mut cut) = (Vec::new(), false);
        for flow in &self.flows {
            let Source::OpenLoop(source) = &flow.source else { continue };
            let Some(bursts) = &source.bursts else { continue };
            cut |= bursts.is_cut();
            let group = &self.groups[flow.group as usize];
            rows.extend(bursts.each().map(|(burst, arrived)| {
                let began = burst.began - group.route.first_access;
                let sending = (burst.ended - burst.began) as f64;
                // At the pace of its source, or as fast as the slowest link takes it.
                let last = sending + self.carrying_time(group, 1, group.packet_size);
                let ideal = last.max(self.carrying_time(group, burst.packets, group.packet_size));
                let took = arrived.map(|time| time - began);
                TransferRow { group: group.number, began, bytes: burst.bytes, took, ideal }
            }));
        }
        log.rows_with(rows, cut)
    }

    /// A transfer of so many bytes begins now, as a flow that is laid and limited to them.
    pub(super) fn log_beginning(&mut self, place: u32, bytes: u64) {
        if self.transfer_log.is_none() {
            return;
        }
        let flow = &self.flows[place as usize];
        let group = &self.groups[flow.group as usize];
        let ideal =
            self.opening_time(group) + self.carrying_time(group, flow.last_segment, flow.last_size);
        let began = self.now - group.route.first_access;
        let row = TransferRow { group: group.number, began, bytes, took: None, ideal };
        if let Some(log) = &mut self.transfer_log {
            log.begin(place, row);
        }
    }

    /// Nanoseconds from the first packet of a connection to the first of its data, where nobody else is; none without a
    /// handshake.
    fn opening_time(&self, group: &Group) -> f64 {
        let profile = self.profiles[group.number as usize].as_ref();
        if !profile.is_some_and(|profile| profile.sender.common.opening.handshake) {
            return 0.0;
        }
        let (route, size) = (&group.route, group.acknowledgement_size);
        let crossed =
            |hops: &[Hop]| -> f64 { hops.iter().map(|hop| self.crossing(hop, size)).sum() };
        let extra = |line: u32| self.lines.each()[line as usize].extra_delay;
        let stretches = match route.answers {
            Answers::OnLine(line) => extra(line),
            Answers::WithData { .. } => 0,
        };
        let back: u64 = stretches + route.backward.iter().map(|hop| extra(hop.line)).sum::<u64>();
        // The way back ends on the sender's clock, which is as much behind as its packets are late.
        let fixed = self.to_receiver(group) + route.after_receipt + back;
        fixed as f64 + crossed(&route.forward) + crossed(&route.backward)
    }

    /// Nanoseconds from the first of so many packets, the last of which has `last_size` bytes, to the arrival of the last
    /// one at the receiver, where nobody else is and all are sent at once.
    fn carrying_time(&self, group: &Group, packets: u32, last_size: u32) -> f64 {
        let (full, before) = (group.packet_size, f64::from(packets) - 1.0);
        let access = group.access.as_ref();
        let mut slowest = access.map_or(0.0, |access| access.time(full) as f64);
        let (mut first, mut last) =
            (group.route.first_access as f64, group.route.first_access as f64);
        if let Some(access) = access
            && before > 0.0
        {
            last += (before - 1.0) * slowest + access.time(last_size) as f64;
        }
        for hop in &group.route.forward {
            let link = &self.scenario.links[hop.link as usize];
            let time = |size: u32| f64::from(size) * 8e9 / link.rate_bit_per_s as f64;
            let delay = link.delay_ns as f64;
            slowest = slowest.max(time(full));
            if before > 0.0 {
                // Of those before it the last leaves, and then this one.
                let free = first + time(full) + (before - 1.0) * slowest;
                last = last.max(free);
            }
            first += time(full) + delay;
            last += time(last_size) + delay;
        }
        last + self.to_receiver(group) as f64
    }

    /// Nanoseconds for a packet of `size` bytes to cross a link in which nothing is.
    fn crossing(&self, hop: &Hop, size: u32) -> f64 {
        let link = &self.scenario.links[hop.link as usize];
        transmission(size, link.rate_bit_per_s) as f64 + link.delay_ns as f64
    }

    /// Delay from the last link to the receiver, in nanoseconds.
    fn to_receiver(&self, group: &Group) -> u64 {
        let line = group.route.forward.last().map_or(0, |hop| hop.line);
        self.lines.each()[line as usize].extra_delay - group.route.after_receipt
    }
}
