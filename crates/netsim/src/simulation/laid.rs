use std::collections::HashMap;

use vermilion_parameters::ParameterError;
use vermilion_tcp::registry::Profile;

use crate::access::AccessRate;
use crate::control::Control;
use crate::delay_line::{DelayLine, End};
use crate::flow::{Connection, Flow, Source};
use crate::group::Group;
use crate::line_order::in_order;
use crate::packet::Class;
use crate::random::{Purpose, Stream};
use crate::route::{Lines, Route};
use crate::scenario::{FlowGroup, Scenario, Traffic};
use crate::traffic::{OpenLoop, Transfers, segments_of};

/// The flows of a scenario at time 0: their ways, their ends, and when they start and stop.
#[derive(Default)]
pub(super) struct Laid {
    pub lines: Vec<DelayLine>,
    pub groups: Vec<Group>,
    /// Of the scenario's groups.
    pub profiles: Vec<Option<Profile>>,
    pub flows: Vec<Flow>,
    /// When flows start and stop.
    pub events: Vec<(u64, Control)>,
}

/// A group of the scenario while its flows are laid.
struct Plan<'a> {
    scenario: &'a Scenario,
    group: &'a FlowGroup,
    number: u32,
    seed: u64,
    /// How its windows move; `None` without acknowledgements.
    profile: Option<Profile>,
}

impl Laid {
    /// The flows of every group.
    ///
    /// # Errors
    /// The first sender that cannot be.
    pub fn of(scenario: &Scenario, seed: u64) -> Result<Self, ParameterError> {
        let (mut laid, mut lines) = (Self::default(), Lines::default());
        for (number, group) in scenario.flows.iter().enumerate() {
            let plan = Plan::of(scenario, group, number as u32, seed)?;
            laid.add(&plan, &mut lines);
            laid.profiles.push(plan.profile);
        }
        laid.lines = lines.all;
        let some_wait = laid.lines.iter().any(|line| line.end == End::WaitingReceiverAndBack);
        if some_wait {
            laid.lines = in_order(&mut laid.groups, laid.lines);
        }
        Ok(laid)
    }

    /// Gives receivers that may wait lines of their own for what they answer: the new lines of all `groups`, which
    /// were on `old` ones.
    pub fn part(groups: &mut [Group], old: &[DelayLine]) -> Vec<DelayLine> {
        let mut lines = Lines::default();
        groups.iter_mut().for_each(|group| group.route.part(old, &mut lines));
        lines.all
    }

    /// The flows of one group.
    fn add(&mut self, plan: &Plan<'_>, lines: &mut Lines) {
        let group = plan.group;
        let mut starts = plan.stream(Purpose::StartTimes);
        let mut stops = plan.stream(Purpose::StopTimes);
        let mut phases = plan.stream(Purpose::ClockPhases);
        let mut round_trips = plan.stream(Purpose::RoundTrips);
        // What flows share that have one base round trip, and where in it they begin.
        let mut shared: HashMap<u64, (u32, u64)> = HashMap::new();
        for index in 0..group.count {
            let flow = self.flows.len() as u32;
            let round_trip = group.rtt_ns.of_flow(index, &mut round_trips);
            let (shared, first_access) = *shared.entry(round_trip).or_insert_with(|| {
                let laid = plan.lay(round_trip, lines);
                let first_access = laid.route.first_access;
                self.groups.push(laid);
                (self.groups.len() as u32 - 1, first_access)
            });
            let begin = starts.uniform_between(group.start_ns.0, group.start_ns.1);
            self.events.push((begin + first_access, Control::Start(flow)));
            if let Some((first, last)) = group.stop_ns {
                let stop = stops.uniform_between(first, last);
                self.events.push((stop + first_access, Control::Stop(flow)));
            }
            let mut flow = Flow::new(plan.source(index, &mut phases), shared);
            if let Traffic::Transfer { size_bytes } = group.traffic {
                flow.limit_to(segments_of(size_bytes, group));
            }
            self.flows.push(flow);
        }
    }
}

impl<'a> Plan<'a> {
    fn of(
        scenario: &'a Scenario,
        group: &'a FlowGroup,
        number: u32,
        seed: u64,
    ) -> Result<Self, ParameterError> {
        let profile = group
            .sender
            .as_ref()
            .map(|sender| match sender.foreign.as_deref() {
                None => Profile::from_values(&sender.congestion_control, &sender.parameters),
                Some(factory) => Profile::from_foreign(factory, &sender.parameters),
            })
            .transpose()
            .map_err(|error| error.under(&format!("flows.{}.sender", group.name)))?;
        Ok(Self { scenario, group, number, seed, profile })
    }

    /// The group's random numbers for `purpose`.
    fn stream(&self, purpose: Purpose) -> Stream {
        Stream::new(self.seed, purpose, u64::from(self.number))
    }

    /// Facts that its flows with this base round trip share.
    fn lay(&self, round_trip: u64, lines: &mut Lines) -> Group {
        let group = self.group;
        let may_wait = self
            .profile
            .as_ref()
            .is_some_and(|it| it.sender.common.receiver.delayed_acknowledgements);
        let full_size = group.packet_size_bytes;
        Group {
            number: self.number,
            route: Route::lay(self.scenario, group, round_trip, may_wait, lines),
            access: group.access_rate_bit_per_s.map(|rate| AccessRate::new(rate, full_size)),
            packet_size: full_size,
            acknowledgement_size: group.ack_size_bytes,
            class: Class::new(group.colour.into(), group.dscp),
        }
    }

    /// Traffic that one of its flows sends.
    fn source(&self, index: u32, phases: &mut Stream) -> Source {
        let index = u64::from(self.number) << 32 | u64::from(index);
        let Some(profile) = &self.profile else {
            let source =
                OpenLoop::new(&self.group.traffic, self.group.packet_size_bytes, self.seed, index);
            return Source::OpenLoop(Box::new(source.expect("other traffic has a sender")));
        };
        let clocks = profile.sender.common.timer.clock_phases();
        match Transfers::new(self.group, self.seed, index, clocks) {
            Some(source) => Source::Transfers(Box::new(source)),
            None => Source::Window(Connection::new(profile, phases.uniform_between(0, clocks - 1))),
        }
    }
}
