//! The engine.
//!
//! Three observations keep the number of events near one per packet and the cost of each small:
//!
//! - packets on a stretch of constant delay keep their order, so only the head of each
//!   [`DelayLine`] competes for the next event;
//! - a queue whose discipline decides at arrival needs no event for departures ([`LinkState`]);
//! - where acknowledgements meet no queue, receiving data and being told of it are one event.
//!
//! The engine can be run to the end, or advanced step by step while somebody watches and changes
//! parameters, as the on-line controller does.

mod summary;

use std::sync::atomic::{AtomicBool, Ordering};

use vermilion_parameters::{ParameterError, Values};
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{AcknowledgementPolicy, Receiver, Sender};

use crate::calendar::{Calendar, NEVER};
use crate::control::{Control, Schedule};
use crate::delay_line::{DelayLine, End};
use crate::flow::{Connection, Flow, Source, Tally};
use crate::link::LinkState;
use crate::link_window::LinkWindow;
use crate::packet::Packet;
use crate::phases::{Phases, Span};
use crate::probe::Series;
use crate::random::{Purpose, Stream};
use crate::route::{Lines, Route};
use crate::scenario::Scenario;
use crate::timers::Timers;
use crate::traffic::OpenLoop;

/// A run was asked to stop before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run was cancelled")]
pub struct Cancelled;

/// Events between two looks at the request to stop.
const EVENTS_BETWEEN_LOOKS: u32 = 8192;

/// Sources of the calendar before the delay lines.
const CONTROL: usize = 0;
const TIMERS: usize = 1;
const FIRST_LINE: usize = 2;

/// What every flow of a group shares.
#[derive(Clone, Debug)]
struct Group {
    route: Route,
    packet_size: u32,
    header_size: u32,
    acknowledgement_size: u32,
}

/// A state of measurement at a boundary between spans.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    time: u64,
    queued: Vec<u64>,
    tallies: Vec<Tally>,
}

/// A network in motion.
#[derive(Clone, Debug)]
pub struct Simulation {
    scenario: Scenario,
    now: u64,
    events: u64,
    calendar: Calendar,
    schedule: Schedule,
    timers: Timers,
    lines: Vec<DelayLine>,
    links: Vec<LinkState>,
    groups: Vec<Group>,
    flows: Vec<Flow>,
    phases: Phases,
    totals: Vec<LinkWindow>,
    phase_windows: Vec<Vec<LinkWindow>>,
    snapshots: Vec<Snapshot>,
    series: Vec<Series>,
    monitor: Option<Vec<(u32, u64)>>,
}

impl Simulation {
    /// Builds the network at time 0.
    ///
    /// # Errors
    /// The first field of the scenario that cannot be used.
    pub fn new(scenario: Scenario, seed: u64) -> Result<Self, ParameterError> {
        scenario.check()?;
        let links = build_links(&scenario, seed)?;
        check_changes(&scenario, &links)?;
        let mut lines = Lines::default();
        let mut events = Vec::new();
        let (mut groups, mut flows) = (Vec::new(), Vec::new());
        for (number, group) in scenario.flows.iter().enumerate() {
            let profile = group
                .sender
                .as_ref()
                .map(|sender| Profile::from_values(&sender.congestion_control, &sender.parameters))
                .transpose()
                .map_err(|error| error.under(&format!("flows.{}.sender", group.name)))?;
            let separate_receiver = profile.as_ref().is_some_and(|profile| {
                profile.acknowledgements != AcknowledgementPolicy::EverySegment
            });
            let route = Route::lay(&scenario, group, separate_receiver, &mut lines);
            let stream = |purpose| Stream::new(seed, purpose, number as u64);
            let mut starts = stream(Purpose::StartTimes);
            let mut stops = stream(Purpose::StopTimes);
            let mut phases = stream(Purpose::ClockPhases);
            for index in 0..group.count {
                let flow = flows.len() as u32;
                let begin = starts.uniform_between(group.start_ns.0, group.start_ns.1);
                events.push((begin + route.first_access, Control::Start(flow)));
                if let Some((first, last)) = group.stop_ns {
                    let stop = stops.uniform_between(first, last);
                    events.push((stop + route.first_access, Control::Stop(flow)));
                }
                let traffic_stream =
                    Stream::new(seed, Purpose::Traffic, (number as u64) << 32 | u64::from(index));
                let source = match (
                    &profile,
                    OpenLoop::new(group.traffic, group.packet_size_bytes, traffic_stream),
                ) {
                    (_, Some(source)) => Source::OpenLoop(Box::new(source)),
                    (Some(profile), None) => {
                        let phase = phases.uniform_between(0, profile.sender.timer.tick - 1);
                        Source::Window(Connection {
                            sender: Sender::new(&profile.sender, phase),
                            receiver: Receiver::new(profile.acknowledgements),
                        })
                    }
                    (None, None) => unreachable!("bulk traffic was checked to have a sender"),
                };
                flows.push(Flow::new(source, number as u32));
            }
            groups.push(Group {
                route,
                packet_size: group.packet_size_bytes,
                header_size: group.header_size_bytes,
                acknowledgement_size: group.ack_size_bytes,
            });
        }
        let phases = Phases::of(&scenario);
        events.extend(phases.boundaries().into_iter().map(|time| (time, Control::Boundary)));
        let changes = scenario.changes.iter().enumerate();
        events.extend(changes.map(|(index, change)| (change.at_ns, Control::Change(index as u32))));
        let schedule = Schedule::new(events, scenario.probe_interval_ns);
        let mut calendar = Calendar::new(FIRST_LINE + lines.0.len());
        calendar.set(CONTROL, schedule.next_time());
        let windows = vec![LinkWindow::default(); links.len()];
        Ok(Self {
            now: 0,
            events: 0,
            calendar,
            schedule,
            timers: Timers::new(2 * flows.len()),
            lines: lines.0,
            series: vec![Series::default(); links.len()],
            links,
            groups,
            flows,
            phase_windows: vec![windows.clone(); phases.phases.len()],
            totals: windows,
            phases,
            snapshots: Vec::new(),
            monitor: None,
            scenario,
        })
    }

    /// Runs to the end, unless `cancel` becomes true.
    ///
    /// # Errors
    /// [`Cancelled`] if it was.
    pub fn run(&mut self, cancel: &AtomicBool) -> Result<(), Cancelled> {
        self.advance(self.scenario.duration_ns, cancel)
    }

    /// Processes every event up to and including `until` nanoseconds (at most the duration).
    ///
    /// # Errors
    /// [`Cancelled`] if `cancel` became true; the simulation can go on from where it stopped.
    pub fn advance(&mut self, until: u64, cancel: &AtomicBool) -> Result<(), Cancelled> {
        let until = until.min(self.scenario.duration_ns);
        loop {
            for _ in 0..EVENTS_BETWEEN_LOOKS {
                let (source, time) = self.calendar.next();
                if time > until {
                    self.now = self.now.max(until);
                    return Ok(());
                }
                self.now = time;
                self.events += 1;
                match source {
                    CONTROL => self.on_control(),
                    TIMERS => self.on_timer(),
                    line => self.on_line(line - FIRST_LINE),
                }
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
        }
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

    /// The packet at the head of a delay line arrives.
    #[inline]
    fn on_line(&mut self, line: usize) {
        let delay_line = &mut self.lines[line];
        let end = delay_line.end;
        let Some(packet) = delay_line.pop() else { return };
        let next = delay_line.next_time();
        self.calendar.set(FIRST_LINE + line, next);
        match end {
            End::ReceiverAndBack => self.on_data_and_back(&packet),
            End::Link => self.offer(packet, false),
            End::ReturnLink => self.offer(packet, true),
            End::Receiver => self.on_data(&packet),
            End::Sender => self.on_acknowledgement(&packet),
            End::Sink => self.on_sink(&packet),
        }
    }

    /// Data reaches a receiver whose acknowledgement the sender has at once.
    #[inline]
    fn on_data_and_back(&mut self, packet: &Packet) {
        let now = self.now;
        let Source::Window(connection) = &mut self.flows[packet.flow as usize].source else {
            return;
        };
        let Some(answer) = connection.receiver.on_segment(now, &packet.to_segment()) else {
            return;
        };
        connection.sender.on_acknowledgement(now, &answer);
        self.send(packet.flow);
    }

    fn on_data(&mut self, packet: &Packet) {
        let flow = packet.flow;
        let Source::Window(connection) = &mut self.flows[flow as usize].source else { return };
        let answer = connection.receiver.on_segment(self.now, &packet.to_segment());
        let deadline = connection.receiver.deadline();
        self.arm(2 * flow + 1, deadline);
        if let Some(answer) = answer {
            self.send_acknowledgement(flow, &answer);
        }
    }

    fn send_acknowledgement(&mut self, flow: u32, answer: &vermilion_tcp::Acknowledgement) {
        let group = &self.groups[self.flows[flow as usize].group as usize];
        let packet = Packet::acknowledgement(flow, group.acknowledgement_size, answer);
        let line = group.route.acknowledgement_line.expect("laid for separate receivers");
        let time = self.now + self.lines[line as usize].extra_delay;
        self.push(line, packet, time);
    }

    fn on_acknowledgement(&mut self, packet: &Packet) {
        let Source::Window(connection) = &mut self.flows[packet.flow as usize].source else {
            return;
        };
        connection.sender.on_acknowledgement(self.now, &packet.to_acknowledgement());
        self.send(packet.flow);
    }

    fn on_sink(&mut self, packet: &Packet) {
        if let Source::OpenLoop(source) = &mut self.flows[packet.flow as usize].source {
            source.delivered_bytes += u64::from(packet.size);
            source.delivered_packets += 1;
        }
    }

    /// Lets a sender send all it may, and looks after its timer and its end.
    #[inline]
    fn send(&mut self, number: u32) {
        let now = self.now;
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let hop = group.route.forward[0];
        let Source::Window(connection) = &mut flow.source else { return };
        let sender = &mut connection.sender;
        if let Some(samples) = &mut self.monitor
            && let Some(round_trip) = sender.take_round_trip()
        {
            samples.push((number, round_trip));
        }
        while let Some(segment) = sender.next_segment(now) {
            let size =
                if segment.sequence == 0 { group.acknowledgement_size } else { group.packet_size };
            let mut packet = Packet::data(number, size, &segment);
            let link = &mut self.links[hop.link as usize];
            if let Some(sent) = link.offer(now, &mut packet, hop.line) {
                let line = &mut self.lines[hop.line as usize];
                let time = sent + link.delay() + line.extra_delay;
                if line.push(packet, time) {
                    self.calendar.set(FIRST_LINE + hop.line as usize, time);
                }
            }
        }
        let deadline = sender.deadline();
        if sender.finished() {
            flow.ended.get_or_insert(now);
        }
        self.arm(2 * number, deadline);
    }

    /// A packet arrives at the queue of a link on its way (back, if it is an acknowledgement).
    #[inline]
    fn offer(&mut self, mut packet: Packet, back: bool) {
        let route = &self.groups[self.flows[packet.flow as usize].group as usize].route;
        let path = if back { &route.backward } else { &route.forward };
        let hop = path[packet.hop as usize];
        let link = &mut self.links[hop.link as usize];
        if let Some(sent) = link.offer(self.now, &mut packet, hop.line) {
            packet.hop += 1;
            let time = sent + link.delay() + self.lines[hop.line as usize].extra_delay;
            self.push(hop.line, packet, time);
        }
    }

    #[inline]
    fn push(&mut self, line: u32, packet: Packet, time: u64) {
        if self.lines[line as usize].push(packet, time) {
            self.calendar.set(FIRST_LINE + line as usize, time);
        }
    }

    #[inline]
    fn arm(&mut self, timer: u32, deadline: u64) {
        if self.timers.arm(timer, deadline) {
            self.calendar.set(TIMERS, deadline);
        }
    }

    /// The first entry among the timers comes up: even numbers are senders', odd ones receivers'.
    fn on_timer(&mut self) {
        let (now, flows) = (self.now, &self.flows);
        let expired =
            self.timers.expire(now, |timer| flows[timer as usize / 2].deadline(timer % 2));
        self.calendar.set(TIMERS, self.timers.next_time());
        let Some(timer) = expired else { return };
        let number = timer / 2;
        match &mut self.flows[number as usize].source {
            Source::OpenLoop(source) => {
                let size = source.send();
                let next = source.next_time();
                let packet = Packet::data(number, size, &vermilion_tcp::Segment::default());
                self.offer(packet, false);
                self.arm(timer, next);
            }
            Source::Window(connection) if timer.is_multiple_of(2) => {
                connection.sender.on_timer(now);
                self.send(number);
            }
            Source::Window(connection) => {
                if let Some(answer) = connection.receiver.on_timer() {
                    self.send_acknowledgement(number, &answer);
                }
            }
        }
    }

    fn on_control(&mut self) {
        let event = self.schedule.pop();
        self.calendar.set(CONTROL, self.schedule.next_time());
        match event {
            Some(Control::Boundary) => self.on_boundary(),
            Some(Control::Change(index)) => self.on_change(index as usize),
            Some(Control::Start(flow)) => self.on_start(flow),
            Some(Control::Stop(flow)) => self.on_stop(flow),
            Some(Control::Probe) => self.read_probes(),
            None => {}
        }
    }

    fn on_start(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        if flow.ended.is_some() {
            return;
        }
        flow.began = Some(self.now);
        match &mut flow.source {
            Source::Window(connection) => {
                connection.sender.start();
                self.send(number);
            }
            Source::OpenLoop(source) => {
                source.start(self.now);
                let next = source.next_time();
                self.arm(2 * number, next);
            }
        }
    }

    fn on_stop(&mut self, number: u32) {
        let now = self.now;
        let flow = &mut self.flows[number as usize];
        match &mut flow.source {
            Source::Window(connection) => {
                connection.sender.stop();
                if connection.sender.finished() {
                    flow.ended.get_or_insert(now);
                }
            }
            Source::OpenLoop(source) => {
                source.stop = now;
                flow.ended.get_or_insert(now);
            }
        }
    }

    fn on_change(&mut self, index: usize) {
        let change = self.scenario.changes[index].clone();
        let link = self.scenario.link_index(&change.link).expect("changes were checked");
        if let Some(rate) = change.rate_bit_per_s {
            self.close_windows();
            self.links[link].set_rate(self.now, rate, &mut self.lines);
            for (index, line) in self.lines.iter().enumerate() {
                self.calendar.set(FIRST_LINE + index, line.next_time());
            }
        }
        if let Some(delay) = change.delay_ns {
            self.links[link].set_delay(self.now, delay);
        }
        if let Some(values) = &change.queue {
            let accepted = self.links[link].set_parameters(self.now, values);
            debug_assert!(accepted.is_ok(), "changes were checked");
        }
    }

    fn read_probes(&mut self) {
        let interval = self.scenario.probe_interval_ns.unwrap_or(NEVER);
        for (series, link) in self.series.iter_mut().zip(&mut self.links) {
            series.read(self.now, interval, link);
        }
    }

    fn on_boundary(&mut self) {
        self.close_windows();
        let snapshot = self.snapshot();
        self.snapshots.push(snapshot);
    }

    /// Adds what was measured since the last boundary to the spans it belongs to.
    fn close_windows(&mut self) {
        let now = self.now;
        let covers = |span: &Span| span.begin < now && now <= span.end;
        let in_total = covers(&self.phases.total);
        let phase = self.phases.phases.iter().position(covers);
        for (index, link) in self.links.iter_mut().enumerate() {
            let mut into = Vec::new();
            if in_total {
                into.push(&mut self.totals[index]);
            }
            if let Some(phase) = phase {
                into.push(&mut self.phase_windows[phase][index]);
            }
            link.close_window(now, &mut into);
        }
    }

    /// What a router in front of link `link` exports, cumulative since time 0.
    pub fn counters(&mut self, link: usize) -> RouterCounters {
        let ledger = self.links[link].ledger(self.now);
        let (backlog_packets, backlog_bytes) = self.links[link].queue();
        RouterCounters {
            backlog_packets,
            backlog_bytes,
            forwarded_packets: ledger.forwarded,
            forwarded_bytes: ledger.forwarded_bytes,
            drops: ledger.drops,
            marks: ledger.marks,
        }
    }

    /// Flows that have begun and not ended.
    #[must_use]
    pub fn active_flows(&self) -> usize {
        self.flows.iter().filter(|flow| flow.active()).count()
    }

    /// Keeps round-trip samples from now on, for [`Simulation::take_round_trips`].
    pub fn watch_round_trips(&mut self) {
        self.monitor.get_or_insert_default();
    }

    /// Round trips timed since the last call: flow and nanoseconds, queueing included.
    pub fn take_round_trips(&mut self) -> Vec<(u32, u64)> {
        self.monitor.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Replaces parameters of a queue now; on error nothing changes.
    ///
    /// # Errors
    /// A value the discipline's table refuses, its field named from `links.` on.
    pub fn set_queue(&mut self, link: usize, values: &Values) -> Result<(), ParameterError> {
        let name = &self.scenario.links[link].name;
        self.links[link]
            .set_parameters(self.now, values)
            .map_err(|error| error.under(&format!("links.{name}.queue")))
    }

    /// Every parameter of a queue in force.
    #[must_use]
    pub fn queue_values(&self, link: usize) -> &Values {
        self.links[link].values()
    }

    /// The time series of each link; empty without a probe interval.
    #[must_use]
    pub fn series(&self) -> &[Series] {
        &self.series
    }
}

/// What a router exports about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterCounters {
    /// Packets waiting.
    pub backlog_packets: u32,
    /// Bytes waiting.
    pub backlog_bytes: u64,
    /// Packets whose transmission began, since time 0.
    pub forwarded_packets: u64,
    /// Bytes whose transmission began, since time 0.
    pub forwarded_bytes: u64,
    /// Packets dropped, since time 0.
    pub drops: u64,
    /// Packets marked, since time 0.
    pub marks: u64,
}

fn build_links(scenario: &Scenario, seed: u64) -> Result<Vec<LinkState>, ParameterError> {
    scenario
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            LinkState::new(link, Stream::new(seed, Purpose::QueueCoin, index as u64))
                .map_err(|error| error.under(&format!("links.{}.queue", link.name)))
        })
        .collect()
}

/// Tries every change of parameters beforehand, in the order in which they will happen.
fn check_changes(scenario: &Scenario, links: &[LinkState]) -> Result<(), ParameterError> {
    let mut links = links.to_vec();
    let mut changes: Vec<_> = scenario.changes.iter().enumerate().collect();
    changes.sort_by_key(|(_, change)| change.at_ns);
    for (index, change) in changes {
        let Some(values) = &change.queue else { continue };
        let link = scenario.link_index(&change.link).expect("changes were checked");
        links[link]
            .set_parameters(0, values)
            .map_err(|error| error.under(&format!("changes.{index}.queue")))?;
    }
    Ok(())
}
