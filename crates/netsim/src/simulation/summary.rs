//! From what an engine has collected to the results users see.

use std::collections::BTreeMap;

use super::unheard::Unheard;
use super::{Simulation, Snapshot};
use crate::calendar::NEVER;
use crate::flow::Flow;
use crate::link_window::LinkWindow;
use crate::phases::Span;
use crate::results::{
    GroupMetrics, LedgerResults, LinkMetrics, LinkResults, Quantiles, Results, Spans,
};
use crate::scenario::{Books, FlowGroup, Traffic};
use crate::transfer_books::TransferMetrics;

impl Simulation {
    /// Measurements up to now. `each`: with every single flow.
    pub fn results(&self, each: bool) -> Results {
        self.clone().conclude(each)
    }

    /// As [`Simulation::results`], at the end of a run.
    pub fn into_results(mut self, each: bool) -> Results {
        self.conclude(each)
    }

    /// As [`Simulation::results`], without the copy that lets a run go on: it is over now.
    pub fn conclude(&mut self, each: bool) -> Results {
        // What happens at the very instant of a boundary, but after it, belongs to the next span.
        if self.measured.snapshots.last().is_none_or(|last| last.time < self.now) {
            self.on_boundary(self.now + 1);
        }
        self.summarise(each)
    }

    pub(super) fn snapshot(&self, before: u64, unheard: &Unheard) -> Snapshot {
        Snapshot {
            time: self.now,
            before,
            queued: self.links.iter().map(|link| u64::from(link.queue().0)).collect(),
            transfers: self.transfer_counts(unheard),
            tallies: (0..)
                .zip(&self.flows[..self.named_flows])
                .map(|(place, flow)| {
                    let packet_size = self.groups[flow.group as usize].packet_size;
                    flow.tally(packet_size, unheard.of(place))
                })
                .collect(),
        }
    }

    fn summarise(&mut self, each: bool) -> Results {
        let now = self.now;
        // A span that is not over yet ends now; of one that has not begun nothing is left.
        let cut = |span: Span| Span { begin: span.begin.min(now), end: span.end.min(now) };
        let total = cut(self.measured.phases.total);
        let phases: Vec<(usize, Span)> = self
            .measured
            .phases
            .phases
            .iter()
            .map(|&span| cut(span))
            .enumerate()
            .filter(|(_, span)| !span.is_empty())
            .collect();
        let (mut links, mut packets_forwarded) = (BTreeMap::new(), 0);
        for index in 0..self.links.len() {
            let metrics = |window: &LinkWindow, span: Span| {
                let queued = |time| self.at(time).map_or(0, |snapshot| snapshot.queued[index]);
                let mut metrics =
                    LinkMetrics::of(window, span, (queued(span.begin), queued(span.end)));
                if self.scenario.distributions {
                    metrics.sojourn_distribution_ms = Quantiles::of(&window.sojourn, 1e-6);
                }
                metrics
            };
            let spans = Spans {
                total: metrics(&self.measured.totals[index], total),
                phases: phases
                    .iter()
                    .map(|&(phase, span)| metrics(&self.measured.phase_windows[phase][index], span))
                    .collect(),
            };
            let ledger = self.ledger(index);
            packets_forwarded += ledger.forwarded;
            let link = &self.scenario.links[index];
            if link.books != Books::None {
                links.insert(link.name.clone(), LinkResults { spans, ledger });
            }
        }
        let stops = self.stops();
        let metrics = |group, phase, span| self.group_metrics(group, phase, span, &stops, each);
        let mut groups: Vec<Spans<GroupMetrics>> = (0..self.scenario.flows.len())
            .map(|group| Spans {
                total: metrics(group, None, total),
                phases: phases
                    .iter()
                    .map(|&(phase, span)| metrics(group, Some(phase), span))
                    .collect(),
            })
            .collect();
        self.count_starved(&mut groups, phases.len());
        let names = self.scenario.flows.iter().map(|group| group.name.clone());
        let flows = names.zip(groups).collect();
        Results { packets_forwarded, events: self.events + self.late_turns(), links, flows }
    }

    /// Counts the starved flows of every span, among the endless ones with a sender: what a call, or
    /// a short transfer, gets says nothing about the queue's fairness.
    fn count_starved(&self, groups: &mut [Spans<GroupMetrics>], phases: usize) {
        let mut endless: Vec<&mut Spans<GroupMetrics>> = self
            .scenario
            .flows
            .iter()
            .zip(groups)
            .filter(|(group, _)| matches!(group.traffic, Traffic::Bulk))
            .map(|(_, spans)| spans)
            .collect();
        let mut totals: Vec<_> = endless.iter_mut().map(|spans| &mut spans.total).collect();
        GroupMetrics::count_starved(&mut totals);
        for phase in 0..phases {
            let mut windows: Vec<_> =
                endless.iter_mut().map(|spans| &mut spans.phases[phase]).collect();
            GroupMetrics::count_starved(&mut windows);
        }
    }

    fn at(&self, time: u64) -> Option<&Snapshot> {
        let index = self.measured.snapshots.partition_point(|snapshot| snapshot.time < time);
        self.measured.snapshots.get(index).filter(|snapshot| snapshot.time == time)
    }

    /// When the host of each flow that the scenario names stops it, or [`NEVER`]. Its first queue hears of that
    /// an access delay later, and its last packets are acknowledged later still: neither makes it active again.
    fn stops(&self) -> Vec<u64> {
        let mut stops = vec![NEVER; self.named_flows];
        for (time, flow) in self.schedule.stops() {
            let group = &self.groups[self.flows[flow as usize].group as usize];
            stops[flow as usize] = time - group.route.first_access;
        }
        stops
    }

    /// Metrics of a group over `span`, which is the measured part of `phase` or, without one, of
    /// the whole run; `stops` says when flows are stopped.
    fn group_metrics(
        &self,
        group: usize,
        phase: Option<usize>,
        span: Span,
        stops: &[u64],
        each: bool,
    ) -> GroupMetrics {
        let ends = || Some((self.at(span.begin)?, self.at(span.end)?));
        let transfers = || {
            let (begin, end) = ends()?;
            let counts = (begin.transfers[group], end.transfers[group]);
            let completions = self.measured.transfers[group].completions(phase);
            let is_video = matches!(self.scenario.flows[group].traffic, Traffic::Video(_));
            Some(TransferMetrics::of(counts, completions, is_video))
        };
        let traffic = &self.scenario.flows[group].traffic;
        let header_size = self.scenario.flows[group].header_size_bytes;
        let packets = self.scenario.flow_delays.then(|| self.delays.metrics(group, phase));
        let count = |group: &FlowGroup| group.count as usize;
        let before = self.scenario.flows[..group].iter().map(count).sum();
        let flows = || {
            let flows = self.flows.iter().zip(stops).enumerate().skip(before);
            flows.take(count(&self.scenario.flows[group]))
        };
        let is_active = |flow: &Flow, stop: u64, (begin, end): (&Snapshot, &Snapshot)| {
            let began = flow.began.is_some_and(|time| time < end.before);
            let over = flow.ended.is_some_and(|time| time <= begin.before);
            began && !over && stop > begin.before
        };
        if traffic.is_dynamic() {
            let source_runs = ends()
                .is_some_and(|it| flows().any(|(_, (flow, &stop))| is_active(flow, stop, it)));
            return GroupMetrics {
                packets,
                ..GroupMetrics::of_transfers(span, transfers(), source_runs, header_size)
            };
        }
        let mut tallies = Vec::new();
        if let Some((begin, end)) = ends() {
            for (number, (flow, &stop)) in flows() {
                let completion = flow
                    .completed
                    .filter(|&(time, _)| begin.before <= time && time < end.before)
                    .map(|(_, took)| took);
                // A transfer may be stopped when all of it is on its way.
                if is_active(flow, stop, (begin, end)) || completion.is_some() {
                    tallies.push((begin.tallies[number], end.tallies[number], completion));
                }
            }
        }
        let mut metrics = GroupMetrics::of(span, &tallies, header_size, each);
        metrics.transfers = transfers().filter(|_| traffic.is_finite());
        metrics.packets = packets;
        metrics
    }

    fn ledger(&mut self, link: usize) -> LedgerResults {
        let now = self.now;
        let state = &mut self.links[link];
        let ledger = state.ledger(now);
        LedgerResults::of(&ledger, state.queue().0, state.waiting_so_far(now))
    }
}
