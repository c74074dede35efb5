//! Packets that a run would hold at a time, waiting or in flight: estimated before it begins, because they need memory.

use std::collections::HashMap;

use vermilion_aqm::registry::ALGORITHMS;
use vermilion_parameters::{Packets, ParameterError, Value};
use vermilion_tcp::registry::Profile;

use crate::any_link::AnyLink;
use crate::limits::MOST_HELD;
use crate::scenario::{FlowGroup, Link, Scenario, Traffic};

/// Bits of a second's rate in a nanosecond.
const PER_NANOSECOND: f64 = 1e-9;

/// What may come to one link.
#[derive(Clone, Copy)]
struct Load {
    /// Bits of open-loop traffic in the whole run, and for how long there is some, in nanoseconds.
    open_loop_bits: f64,
    active_ns: f64,
    /// Packets in the first windows of its flows, and in their largest.
    burst: f64,
    windows: f64,
    smallest_packet: f64,
    /// Of those flows whose slowest link it is: the longest typical delay outside of all links, in nanoseconds.
    outside_ns: f64,
}

impl Load {
    const NONE: Self = Self {
        open_loop_bits: 0.0,
        active_ns: 0.0,
        burst: 0.0,
        windows: 0.0,
        smallest_packet: 65_535.0,
        outside_ns: 0.0,
    };

    /// Packets that may wait before the link, was its queue without limit, and that may be in flight behind it.
    fn held(&self, link: &Link, duration_ns: f64) -> (f64, f64) {
        let bits_per_packet = 8.0 * self.smallest_packet;
        let bits_per_ns = link.rate_bit_per_s as f64 * PER_NANOSECOND;
        let sent = bits_per_ns * duration_ns / bits_per_packet;
        let excess = (self.open_loop_bits - bits_per_ns * self.active_ns).max(0.0);
        let waiting = excess / bits_per_packet + self.windows.min(self.burst + sent);
        let delay_ns = (link.delay_ns as f64 + self.outside_ns).min(duration_ns);
        let in_flight = bits_per_ns * delay_ns / bits_per_packet;
        let offered = self.open_loop_bits / bits_per_packet + self.windows;
        (waiting, in_flight.min(offered))
    }
}

/// Refuses a scenario that would hold more packets than a run may.
pub(super) fn check_expected(
    scenario: &Scenario,
    links: &[AnyLink],
    profiles: &[Option<Profile>],
) -> Result<(), ParameterError> {
    let duration_ns = scenario.duration_ns as f64;
    let loads = loads_of(scenario, profiles);
    let (mut sum, mut largest) = (0.0, (0.0, None));
    for ((link, state), load) in scenario.links.iter().zip(links).zip(&loads) {
        let (unlimited, in_flight) = load.held(link, duration_ns);
        let limit = limit_of(link, state);
        let in_packets = limit.map_or(f64::INFINITY, |(_, limit, unit)| {
            if unit == "bytes" { limit / load.smallest_packet } else { limit }
        });
        // Queues that bound themselves in another way are left to the counts.
        let waiting = if limit.is_some() { unlimited.min(in_packets) } else { 0.0 };
        sum += waiting + in_flight;
        if waiting + in_flight > largest.0 {
            largest = (waiting + in_flight, Some((link, limit.filter(|_| waiting > in_flight))));
        }
    }
    let (true, Some((link, limit))) = (sum > MOST_HELD as f64, largest.1) else { return Ok(()) };
    let (field, value) = match limit {
        Some((name, limit, unit)) => (format!("queue.{name}"), format!("{limit} {unit}")),
        None => ("rate".to_owned(), format!("{} bit/s", link.rate_bit_per_s)),
    };
    let accepted = format!("{}; about {sum:.0} are to be expected", most_held());
    Err(ParameterError::new(field, value, accepted).under(&format!("links.{}", link.name)))
}

/// What is accepted, in words.
pub(super) fn most_held() -> String {
    format!("at most {MOST_HELD} packets waiting and in flight at a time (docs/limits.md)")
}

/// Name, value and unit of what limits a queue.
fn limit_of(link: &Link, state: &AnyLink) -> Option<(&'static str, f64, &'static str)> {
    let algorithm = ALGORITHMS.iter().find(|each| each.name == link.queue.discipline)?;
    ["limit", "memory_limit"].into_iter().find_map(|name| {
        let parameter = algorithm.parameters.iter().find(|each| each.name == name)?;
        let Some(Value::Number(limit)) = state.values().get(name) else { return None };
        Some((name, *limit, parameter.unit))
    })
}

/// What may come to each link.
fn loads_of(scenario: &Scenario, profiles: &[Option<Profile>]) -> Vec<Load> {
    let numbers: HashMap<_, _> =
        scenario.links.iter().enumerate().map(|(index, link)| (&*link.name, index)).collect();
    let mut loads = vec![Load::NONE; scenario.links.len()];
    for (group, profile) in scenario.flows.iter().zip(profiles) {
        let count = f64::from(group.count);
        let window = |packets: Packets<u32>| count * f64::from(packets.0).min(segments(group));
        let windows = profile.as_ref().map_or((0.0, 0.0), |profile| {
            let set = profile.sender.common.window;
            (window(set.initial_window), window(set.window_cap))
        });
        let active_ns = active_ns(group, scenario.duration_ns);
        let mut rate = count * mean_rate(&group.traffic);
        let (mut delays, mut slowest) = (0, None::<usize>);
        for (name, is_data) in group
            .path
            .iter()
            .map(|name| (name, true))
            .chain(group.return_path.iter().map(|name| (name, false)))
        {
            let index = numbers[&**name];
            let (link, load) = (&scenario.links[index], &mut loads[index]);
            let size = if is_data { group.packet_size_bytes } else { group.ack_size_bytes };
            load.smallest_packet = load.smallest_packet.min(f64::from(size));
            load.burst += windows.0;
            load.windows += windows.1;
            if is_data && rate > 0.0 {
                load.open_loop_bits += rate * active_ns * PER_NANOSECOND;
                load.active_ns = load.active_ns.max(active_ns);
                rate = rate.min(link.rate_bit_per_s as f64);
            }
            delays += link.delay_ns;
            if slowest
                .is_none_or(|other| scenario.links[other].rate_bit_per_s > link.rate_bit_per_s)
            {
                slowest = Some(index);
            }
        }
        if let Some(slowest) = slowest {
            let outside = group.rtt_ns.typical().saturating_sub(delays) as f64;
            loads[slowest].outside_ns = loads[slowest].outside_ns.max(outside);
        }
    }
    loads
}

/// Packets that a flow of the group can have under way; transfers that come and go are left to the counts.
fn segments(group: &FlowGroup) -> f64 {
    let payload = f64::from(group.packet_size_bytes - group.header_size_bytes);
    match &group.traffic {
        Traffic::Bulk => f64::INFINITY,
        Traffic::Transfer { size_bytes } => (*size_bytes as f64 / payload).ceil(),
        _ => 0.0,
    }
}

fn active_ns(group: &FlowGroup, duration: u64) -> f64 {
    let stop = group.stop_ns.map_or(duration, |stop| stop.1.min(duration));
    stop.saturating_sub(group.start_ns.0) as f64
}

fn mean_rate(traffic: &Traffic) -> f64 {
    let share = match traffic {
        Traffic::OnOff { on_ns, off_ns, .. } => on_ns.mean() / (on_ns.mean() + off_ns.mean()),
        _ => 1.0,
    };
    traffic.open_loop_rate().unwrap_or(0.0) * share
}
