//! A network that is kept: a run without an end, which is forked, changed and measured while it goes on.
//!
//! Such a run stands *before* an instant: all has happened that comes earlier, and nothing that comes then. What is
//! changed there is changed as by one of the scenario's `changes` at that instant, and what is measured up to there is what
//! a run of that duration measures. So pieces of a run add up to the whole, and a fork in which nothing is
//! changed goes on as the run that it was taken from, to the last bit.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use vermilion_parameters::ParameterError;

use super::{CONTROL, Interrupted, Simulation};
use crate::control::Control;
use crate::flow::Flow;
use crate::limits::{HIGHEST_RATE, LONGEST_DURATION, within};
use crate::record::{GroupRecord, LinkRecord, Mark, Record};
use crate::results::Results;
use crate::scenario::{Books, Scenario};

impl Simulation {
    /// Builds the network at time 0 for a run that has no end. The scenario's duration bounds what is checked before.
    ///
    /// # Errors
    /// The first field of the scenario that cannot be used.
    pub fn open(scenario: Scenario, seed: u64) -> Result<Self, ParameterError> {
        Self::build(scenario, seed, true)
    }

    /// Processes every event before `until`, in nanoseconds, where the run stands then.
    ///
    /// # Errors
    /// As [`Simulation::advance`], and a time that is past or too late for any run.
    pub fn extend(&mut self, until: u64, cancel: &AtomicBool) -> Result<(), Interrupted> {
        within("until", until, self.now, LONGEST_DURATION - 1, "ns")
            .map_err(Interrupted::Refused)?;
        if until > 0 {
            self.advance(until - 1, cancel)?;
        }
        self.now = until;
        Ok(())
    }

    /// A copy that goes on by itself, and whose [record](Simulation::record) begins here.
    pub fn fork(&self) -> Self {
        let mut fork = self.clone();
        fork.mark();
        fork
    }

    /// The record begins here.
    pub fn mark(&mut self) {
        self.take_all_turns(self.now);
        let now = self.now;
        self.links.iter_mut().for_each(|link| link.mark(now));
        self.mark = Some(Arc::new(self.counts()));
    }

    /// Counts of all flows by now.
    fn counts(&self) -> Mark {
        let unheard = self.unheard_before(self.now);
        let tally = |(place, flow): (u32, &Flow)| {
            let packet_size = self.groups[flow.group as usize].packet_size;
            flow.tally(packet_size, unheard.of(place))
        };
        Mark {
            time: self.now,
            tallies: (0..).zip(&self.flows[..self.named_flows]).map(tally).collect(),
            transfers: self.transfer_counts(&unheard).iter().map(|counts| counts.tally).collect(),
        }
    }

    /// A few figures of what was measured since the [mark](Simulation::mark), or a fork, in microseconds where
    /// [`Simulation::results`] takes milliseconds; `None` without a mark.
    pub fn record(&mut self) -> Option<Record> {
        let mark = Arc::clone(self.mark.as_ref()?);
        self.take_all_turns(self.now);
        let (now, end) = (self.now, self.counts());
        let books = self.scenario.links.iter().map(|link| link.books);
        let links = self.links.iter_mut().zip(books).map(|(link, books)| {
            link.since_mark(now)
                .filter(|_| books != Books::None)
                .map(|window| LinkRecord::of(&window))
        });
        let links = links.collect();
        let seconds = (end.time - mark.time) as f64 / 1e9;
        let mut place = 0;
        let groups = self.scenario.flows.iter().enumerate();
        let flows = groups.map(|(number, group)| {
            let flows = place..place + group.count as usize;
            place = flows.end;
            let header = u64::from(group.header_size_bytes);
            if group.traffic.is_dynamic() {
                let ends = [(mark.transfers[number], end.transfers[number])];
                return GroupRecord { jain_index: None, ..GroupRecord::of(&ends, seconds, header) };
            }
            let was_there = |flow: &usize| {
                let flow = &self.flows[*flow];
                flow.began.is_some() && flow.ended.is_none_or(|time| time > mark.time)
            };
            let flows = flows.filter(was_there);
            let ends: Vec<_> = flows.map(|flow| (mark.tallies[flow], end.tallies[flow])).collect();
            GroupRecord::of(&ends, seconds, header)
        });
        let flows = flows.collect();
        let seconds = |time: u64| time as f64 / 1e9;
        Some(Record { start_s: seconds(mark.time), end_s: seconds(now), links, flows })
    }

    /// Measurements up to where the run stands, as of a run that ends there; it may go on.
    ///
    /// # Errors
    /// As [`Simulation::advance`]: what happens at the very last instant is in the totals since time 0.
    pub fn results_here(&self, each: bool, cancel: &AtomicBool) -> Result<Results, Interrupted> {
        let mut ended = self.clone();
        let end = ended.now;
        Arc::make_mut(&mut ended.scenario).duration_ns = end;
        ended.schedule.add(end, Control::Boundary);
        ended.calendar.set(CONTROL, ended.schedule.next_time());
        ended.advance(end, cancel)?;
        Ok(ended.conclude(each))
    }

    /// Link `link` sends at `rate` bits per second from now on.
    ///
    /// # Errors
    /// A rate that no link has, or a link whose rate follows a schedule or a trace.
    pub fn set_rate(&mut self, link: usize, rate: u64) -> Result<(), ParameterError> {
        let description = &self.scenario.links[link];
        let refused = if description.varies() {
            let accepted = "no rate for a link with a rate_schedule, a trace or a line";
            Err(ParameterError::new("rate", rate, accepted))
        } else {
            within("rate", rate, 1, HIGHEST_RATE, "bit/s")
        };
        refused.map_err(|error| error.under(&format!("links.{}", description.name)))?;
        self.take_all_turns(self.now);
        self.change_rate(link, rate);
        Ok(())
    }
}
