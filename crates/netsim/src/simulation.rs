//! The engine.
//!
//! Three observations keep the number of events near one per packet and the cost of each small:
//!
//! - packets on a stretch of constant delay keep their order, so only the head of each
//!   [`DelayLine`] competes for the next event;
//! - a queue whose discipline decides at arrival needs no event for departures
//!   ([`ArrivalLink`](crate::arrival_link::ArrivalLink)); every other has one for each, which is mostly carried
//!   out when the next packet arrives there (`simulation/turns.rs`);
//! - where acknowledgements meet no queue, receiving data and being told of it are one event, also of a receiver
//!   that may wait (`simulation/unheard.rs`).
//!
//! The engine can be run to the end, or advanced step by step while somebody watches and changes
//! parameters, as the on-line controller does.

mod answers;
#[cfg(test)]
mod books;
mod delays;
mod forks;
mod held;
mod laid;
mod load;
mod logged;
mod notes;
mod observe;
mod observer;
mod packets;
#[cfg(test)]
mod receivers_apart;
mod records;
mod schedule;
mod shaping;
mod summary;
mod transfers;
mod turns;
mod unheard;
mod watch;

pub use watch::{RouterCounters, SentByFlow};

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vermilion_parameters::ParameterError;
use vermilion_tcp::registry::Profile;
use vermilion_tcp::rule::WindowRule;

use crate::access::AccessLinks;
use crate::acknowledgement_pool::AcknowledgementPool;
use crate::air::Air;
use crate::any_link::AnyLink;
use crate::calendar::Calendar;
use crate::control::{Control, Schedule};
use crate::delay_line::{DelayLine, End};
use crate::delay_lines::standing::{ALONE, APART, TOGETHER};
use crate::delay_lines::{DelayLines, FIRST_LINE};
use crate::departure_link::Hosts;
use crate::flow::{Flow, Tally};
use crate::flow_delays::FlowDelays;
use crate::group::Group;
use crate::headers::{self, Headers};
use crate::limits::LONGEST_DURATION;
use crate::link_window::LinkWindow;
use crate::phases::Phases;
use crate::probe::Series;
use crate::random::{Purpose, Stream};
use crate::record::Mark;
use crate::scenario::{self, FlowGroup, Scenario};
use crate::scripted_losses::Scripts;
use crate::shaper::Shaper;
use crate::timers::Timers;
use crate::transfer_books::{TransferBooks, TransferCounts};
use crate::transfer_log::TransferLog;
use crate::ways::Ways;
use crate::wheel::Division;
use laid::Laid;
use notes::Notes;
use observer::{Observed, Observer, observed};

/// Why a run ended before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// It was asked to stop.
    #[error("the run was cancelled")]
    Cancelled,
    /// It holds more packets than a run may.
    #[error(transparent)]
    Refused(ParameterError),
}

/// Events between two looks at the request to stop.
const EVENTS_BETWEEN_LOOKS: u64 = 8192;

/// Sources of the calendar: what is known beforehand, the delay lines, the timers, the turns of links, the
/// access links.
/// At equal times the first of them comes first: what arrives at the instant at which a timer is due
/// is seen before the timer expires.
const CONTROL: usize = 0;

/// A state of measurement at a boundary between spans.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    time: u64,
    /// Instant before which all events are in it: `time` at a boundary that was known beforehand, and a nanosecond
    /// more where results are asked for at an instant of which all has happened.
    before: u64,
    queued: Vec<u64>,
    /// Of the flows that the scenario names.
    tallies: Vec<Tally>,
    /// Of each group's transfers.
    transfers: Vec<TransferCounts>,
}

/// Measurements from one boundary between spans to the next, of all links and groups.
#[derive(Clone, Debug)]
struct Measured {
    phases: Phases,
    /// Of each group's transfers.
    transfers: Vec<TransferBooks>,
    /// Of each link. Forks share it, and the next two, until one of them comes to a boundary.
    totals: Arc<Vec<LinkWindow>>,
    /// The same, of each phase.
    phase_windows: Arc<Vec<Vec<LinkWindow>>>,
    snapshots: Arc<Vec<Snapshot>>,
    /// Of each link, what probes have read.
    series: Vec<Series>,
}

impl Measured {
    /// Nothing yet.
    fn of(scenario: &Scenario) -> Self {
        let phases = Phases::of(scenario);
        let (spans, links) = (phases.phases.len(), scenario.links.len());
        let windows = vec![LinkWindow::default(); links];
        Self {
            transfers: TransferBooks::of(scenario, spans),
            phase_windows: Arc::new(vec![windows.clone(); spans]),
            totals: Arc::new(windows),
            snapshots: Arc::default(),
            series: vec![Series::default(); links],
            phases,
        }
    }
}

/// A network in motion.
#[derive(Clone, Debug)]
pub struct Simulation {
    scenario: Arc<Scenario>,
    now: u64,
    events: u64,
    /// How many of them there are when packets are counted next.
    next_count: u64,
    calendar: Calendar,
    schedule: Schedule,
    timers: Timers,
    access: AccessLinks,
    lines: DelayLines,
    /// True if some receivers may wait, and have no line of their own for what they answer.
    some_wait: bool,
    links: Vec<AnyLink>,
    /// The links that watch departures, in the order of their numbers in the calendar.
    turns: Vec<u32>,
    /// The links whose packets take different times, likewise.
    airs: Vec<u32>,
    groups: Vec<Group>,
    /// How the windows of each of the scenario's groups move; `None` without acknowledgements.
    profiles: Arc<[Option<Profile>]>,
    /// The flows that the scenario names, and behind them places for transfers that come and go.
    flows: Vec<Flow>,
    ways: Ways,
    answers: AcknowledgementPool,
    named_flows: usize,
    measured: Measured,
    /// The flows' counts at an instant from which on somebody wants to know what is measured.
    mark: Option<Arc<Mark>>,
    /// Only where somebody asks for it.
    transfer_log: Option<Box<TransferLog>>,
    monitor: Option<Vec<(u32, u64)>>,
    /// Only where somebody asks for some.
    notes: Option<Box<Notes>>,
    /// Only where senders write some.
    headers: Option<Box<Headers>>,
    /// Empty where nobody asks for them.
    delays: FlowDelays,
    observed: Observed,
    /// Shapers whose rates laws set.
    shapers: Vec<Shaper>,
    /// True if senders that have heard of a packet send by a call: some of them are paced, or round trips are watched.
    sends_by_call: bool,
    /// True if the last advance ended early, because notes should be taken away.
    paused: bool,
}

impl Simulation {
    /// Builds the network at time 0.
    ///
    /// # Errors
    /// The first field of the scenario that cannot be used.
    pub fn new(scenario: Scenario, seed: u64) -> Result<Self, ParameterError> {
        Self::build(scenario, seed, false)
    }

    /// The same for a run that has no end, if it `is_open`.
    fn build(mut scenario: Scenario, seed: u64, is_open: bool) -> Result<Self, ParameterError> {
        scenario.check()?;
        let links = build_links(&scenario, seed)?;
        check_changes(&scenario, &links)?;
        let mut laid = Laid::of(&scenario, seed)?;
        load::check_expected(&scenario, &links, &laid.profiles)?;
        if is_open {
            scenario.duration_ns = LONGEST_DURATION;
        }
        let measured = Measured::of(&scenario);
        let starts_and_stops = std::mem::take(&mut laid.events);
        let schedule = schedule_of(&scenario, &measured.phases, starts_and_stops);
        let scripts = Scripts::of(&scenario)?;
        let shapers = Shaper::all(&scenario)?;
        let mut simulation = Self::of_parts(scenario, links, laid, measured, schedule);
        simulation.shape_with(shapers);
        if simulation.scenario.flow_delays {
            simulation.count_delays();
        }
        let rules = simulation.profiles.iter().flatten().map(|profile| &profile.sender.rule);
        if rules.clone().any(WindowRule::writes_headers) {
            simulation.headers = Some(Box::default());
        }
        if !scripts.is_empty() || simulation.headers.is_some() {
            simulation.take_notes();
            simulation.notes_with(scripts);
        }
        Ok(simulation)
    }

    /// Puts a network together and numbers its sources of events. Nobody has notes taken yet.
    fn of_parts(
        scenario: Scenario,
        mut links: Vec<AnyLink>,
        laid: Laid,
        measured: Measured,
        schedule: Schedule,
    ) -> Self {
        let Laid { lines, groups, profiles, flows, .. } = laid;
        tell_hosts(&scenario, &groups, &flows, &mut links);
        let has_access = groups.iter().any(|group| group.access.is_some());
        let sources = Sources::of(&scenario, &mut links, lines, has_access, flows.len(), &schedule);
        let Sources { lines, some_wait, turns, airs, calendar, timers } = sources;
        Self {
            now: 0,
            events: 0,
            next_count: 0,
            calendar,
            schedule,
            timers,
            access: AccessLinks::new(if has_access { flows.len() } else { 0 }),
            lines,
            some_wait,
            links,
            turns,
            airs,
            ways: Ways::of(&groups, &flows),
            groups,
            named_flows: flows.len(),
            flows,
            answers: AcknowledgementPool::default(),
            measured,
            mark: None,
            transfer_log: None,
            monitor: None,
            notes: None,
            headers: None,
            delays: FlowDelays::default(),
            observed: Observed::Nothing,
            shapers: Vec::new(),
            sends_by_call: profiles
                .iter()
                .flatten()
                .any(|profile| profile.sender.common.sending.pacing),
            profiles: profiles.into(),
            paused: false,
            scenario: Arc::new(scenario),
        }
    }

    /// Gives receivers that may wait lines of their own for what they answer, so that everything happens at its
    /// time. Everything has to be still at its beginning.
    fn part_receivers(&mut self) {
        let lines = Laid::part(&mut self.groups, self.lines.each());
        let has_access = self.groups.iter().any(|group| group.access.is_some());
        let (scenario, links, flows) = (&self.scenario, &mut self.links, self.flows.len());
        let sources = Sources::of(scenario, links, lines, has_access, flows, &self.schedule);
        let Sources { lines, some_wait, turns, airs, calendar, timers } = sources;
        (self.lines, self.some_wait, self.turns, self.airs) = (lines, some_wait, turns, airs);
        (self.calendar, self.timers) = (calendar, timers);
        self.ways = Ways::of(&self.groups, &self.flows);
    }

    /// Runs to the end, unless `cancel` becomes true.
    ///
    /// # Errors
    /// [`Interrupted`] if it was, or if the network holds too many packets.
    pub fn run(&mut self, cancel: &AtomicBool) -> Result<(), Interrupted> {
        self.advance(self.scenario.duration_ns, cancel)
    }

    /// Processes every event up to and including `until` nanoseconds (at most the duration). Where something
    /// is written down ([`Simulation::observe`]) it may end early: [`Simulation::is_paused`].
    ///
    /// # Errors
    /// [`Interrupted`] if `cancel` became true, when the simulation can go on from where it stopped, or if the network
    /// holds too many packets.
    pub fn advance(&mut self, until: u64, cancel: &AtomicBool) -> Result<(), Interrupted> {
        self.paused = false;
        if self.notes.is_none() {
            return self.advance_events(until, cancel);
        }
        let outer = headers::exchange(self.headers.take());
        let advanced = self.advance_reading(until, cancel);
        self.headers = headers::exchange(outer);
        advanced
    }

    fn advance_events(&mut self, until: u64, cancel: &AtomicBool) -> Result<(), Interrupted> {
        observed!(self.advance_observed(until, cancel))
    }

    fn advance_observed<O: Observer>(
        &mut self,
        until: u64,
        cancel: &AtomicBool,
    ) -> Result<(), Interrupted> {
        match (self.lines.standing(), self.some_wait) {
            (ALONE, false) => self.advance_lines::<ALONE, false, O>(until, cancel),
            (ALONE, true) => self.advance_lines::<ALONE, true, O>(until, cancel),
            (TOGETHER, false) => self.advance_lines::<TOGETHER, false, O>(until, cancel),
            (TOGETHER, true) => self.advance_lines::<TOGETHER, true, O>(until, cancel),
            // What leaves out those that wait is no faster here: measured.
            _ => self.advance_lines::<APART, true, O>(until, cancel),
        }
    }

    /// The same where lines stand in that way, and all receivers acknowledge at once unless `SOME_WAIT`.
    #[inline(never)] // two copies in one function are each slower
    fn advance_lines<const STANDING: u8, const SOME_WAIT: bool, O: Observer>(
        &mut self,
        until: u64,
        cancel: &AtomicBool,
    ) -> Result<(), Interrupted> {
        let until = until.min(self.scenario.duration_ns);
        loop {
            let look = self.events + EVENTS_BETWEEN_LOOKS;
            while self.events < look {
                let (source, time) = self.calendar.next();
                if time > until {
                    self.take_all_turns(until + 1);
                    self.now = self.now.max(until);
                    return self.check_held();
                }
                self.now = time;
                if SOME_WAIT && self.timers.next_is_arrival_at(time) && source != CONTROL {
                    self.settle_answers::<STANDING, O>();
                    continue;
                }
                self.events += 1;
                match source {
                    CONTROL => self.on_control(),
                    FIRST_LINE if STANDING != APART => self.on_line::<STANDING, SOME_WAIT, O>(0),
                    source if STANDING != APART => self.on_later_source::<O>(source - FIRST_LINE),
                    source => self.on_source::<SOME_WAIT, O>(source - FIRST_LINE),
                }
            }
            if cancel.load(Ordering::Relaxed) {
                self.take_all_turns(self.now);
                return Err(Interrupted::Cancelled);
            }
            self.check_held()?;
            if self.is_full() {
                self.take_all_turns(self.now);
                self.paused = true;
                return Ok(());
            }
        }
    }

    /// The calendar's number of the timers.
    #[inline]
    fn timers_source(&self) -> usize {
        FIRST_LINE + self.lines.sources()
    }

    /// The calendar's number of the access links, after those of the links that watch departures.
    #[inline]
    fn access_source(&self) -> usize {
        self.timers_source() + 1 + self.turns.len()
    }

    /// Simulated time in nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The scenario this is a run of.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

/// Source of events, at the beginning.
struct Sources {
    lines: DelayLines,
    some_wait: bool,
    turns: Vec<u32>,
    airs: Vec<u32>,
    calendar: Calendar,
    timers: Timers,
}

impl Sources {
    /// Those of a network with these links and lines and so many flows, some of whose hosts have links of their own if
    /// it `has_access`.
    fn of(
        scenario: &Scenario,
        links: &mut [AnyLink],
        lines: Vec<DelayLine>,
        has_access: bool,
        flows: usize,
        schedule: &Schedule,
    ) -> Self {
        Simulation::allow_late_turns(scenario, links, &lines);
        let some_wait = lines.iter().any(|line| line.end == End::WaitingReceiverAndBack);
        let (spacing, delays) = (spacing_for(scenario), delays_of(scenario, &lines));
        let longest = delays.iter().copied().max().unwrap_or(0);
        let lines = DelayLines::new(lines, spacing, &delays);
        let first_turn = FIRST_LINE + lines.sources() + 1;
        let turns = Simulation::number_turns(links, first_turn);
        let access = first_turn + turns.len();
        let airs = Simulation::number_airs(links, access + 1);
        let sources = access + usize::from(has_access || !airs.is_empty()) + airs.len();
        let mut calendar = Calendar::new(sources);
        calendar.set(CONTROL, schedule.next_time());
        let timers = Timers::new(flows, Division::of(spacing, longest));
        Self { lines, some_wait, turns, airs, calendar, timers }
    }
}

/// All that is known beforehand: when flows start and stop, boundaries between spans, and changes.
fn schedule_of(
    scenario: &Scenario,
    phases: &Phases,
    starts_and_stops: Vec<(u64, Control)>,
) -> Schedule {
    let mut events = starts_and_stops;
    events.extend(phases.boundaries().into_iter().map(|time| (time, Control::Boundary)));
    let changes = scenario.changes.iter().enumerate();
    events.extend(changes.map(|(index, change)| (change.at_ns, Control::Change(index as u32))));
    Schedule::new(events, scenario.probe_interval_ns)
}

/// How many nanoseconds apart the links together can send packets.
fn spacing_for(scenario: &Scenario) -> f64 {
    let size = scenario.flows.iter().map(|group| group.packet_size_bytes).max().unwrap_or(1500);
    let rate: f64 = scenario.links.iter().map(|link| link.rate_bit_per_s as f64).sum();
    f64::from(size) * 8e9 / rate.max(1.0)
}

/// How long a packet is on each of these lines.
fn delays_of(scenario: &Scenario, lines: &[DelayLine]) -> Vec<u64> {
    let of_link = |link: u32| scenario.links[link as usize].delay_ns;
    lines.iter().map(|line| line.extra_delay + line.link.map_or(0, of_link)).collect()
}

fn build_links(scenario: &Scenario, seed: u64) -> Result<Vec<AnyLink>, ParameterError> {
    scenario
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            let stream = |purpose| Stream::new(seed, purpose, index as u64);
            let drawn = link.line.map(|line| {
                let schedule = line.draw(scenario.duration_ns, stream(Purpose::LineRate));
                scenario::Link { rate_schedule: Some(schedule), ..link.clone() }
            });
            let link = drawn.as_ref().unwrap_or(link);
            AnyLink::new(link, stream(Purpose::QueueCoin), stream(Purpose::WireLoss))
                .map(|mut built| {
                    if let (AnyLink::AtDeparture(built), Some(model)) = (&mut built, &link.air) {
                        built.set_air(Air::new(model.clone(), seed, index as u64));
                    }
                    built
                })
                .map_err(|error| error.under(&format!("links.{}.queue", link.name)))
        })
        .collect()
}

/// Tells links whose flows are whose. Hosts have the numbers of the groups that name them first; those of senders
/// and of receivers are two, also where they have one name.
fn tell_hosts(scenario: &Scenario, groups: &[Group], flows: &[Flow], links: &mut [AnyLink]) {
    let mut numbers = HashMap::new();
    let mut of_group = |group: &FlowGroup| {
        [&group.source_host, &group.destination_host].map(|name| {
            let next = numbers.len() as u16;
            *numbers.entry(name.clone().unwrap_or_else(|| group.name.clone())).or_insert(next)
        })
    };
    let of_groups: Vec<_> = scenario.flows.iter().map(&mut of_group).collect();
    let of_flow = |flow: &Flow| of_groups[groups[flow.group as usize].number as usize];
    let hosts: Hosts = flows.iter().map(of_flow).collect();
    for link in links {
        if let AnyLink::AtDeparture(link) = link {
            link.tell_hosts(&hosts);
        }
    }
}

/// Tries every change of parameters beforehand, in the order in which they will happen.
fn check_changes(scenario: &Scenario, links: &[AnyLink]) -> Result<(), ParameterError> {
    if scenario.changes.is_empty() {
        return Ok(());
    }
    let mut links = links.to_vec();
    let mut changes: Vec<_> = scenario.changes.iter().enumerate().collect();
    changes.sort_by_key(|(_, change)| change.at_ns);
    for (index, change) in changes {
        let link = scenario.link_index(&change.link).expect("changes were checked");
        // What is automatic follows from the rate and the delay in force, and must fit what is not.
        if let Some(rate) = change.rate_bit_per_s {
            links[link].set_rate(0, rate, &mut []);
        }
        if let Some(delay) = change.delay_ns {
            links[link].set_delay(0, delay, &mut []);
        }
        if let Some(values) = &change.queue {
            links[link]
                .set_parameters(0, values)
                .map_err(|error| error.under(&format!("changes.{index}.queue")))?;
        }
    }
    Ok(())
}
