//! What is sent: lists, Poisson arrivals, incasts, open-loop sources.

use vermilion_netsim::random::{Purpose, Stream};

use vermilion_parameters::ParameterError;

use crate::open_loop_end::first_open_loop;
use crate::scenario::{Scenario, Traffic};

/// Largest packet of an open-loop source.
const MOST_PACKET_BYTES: u32 = 65_535;

/// A transfer of so many bytes from one host to another, or an open-loop source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Host that sends.
    pub source: u32,
    /// Host that receives.
    pub destination: u32,
    /// Bytes; 0 for an open-loop source.
    pub bytes: u64,
    /// Instant of its start, in nanoseconds.
    pub start: u64,
    /// Its sender, by [`Scenario::traffic_senders`].
    pub sender: u8,
    /// Its class, by [`Scenario::traffic_classes`].
    pub class: u8,
}

impl Transfer {
    /// True if it is an open-loop source.
    #[must_use]
    pub fn is_open_loop(&self) -> bool {
        self.bytes == 0
    }
}

/// Every transfer of a scenario, by their start.
///
/// # Errors
/// A list or a pattern that does not fit the hosts.
pub fn transfers(scenario: &Scenario, seed: u64) -> Result<Vec<Transfer>, ParameterError> {
    let mut all = Vec::new();
    let mut open_loop = first_open_loop(scenario);
    for (number, traffic) in scenario.traffic.iter().enumerate() {
        let hosts = scenario.hosts;
        let sender = scenario.traffic_senders.get(number).copied().unwrap_or(0);
        let class = scenario.traffic_classes.get(number).copied().unwrap_or(0);
        let stream =
            |purpose, part: u64| Stream::new(seed, purpose, ((number as u64) << 32) | part);
        match traffic {
            Traffic::List { transfers } => {
                for &(source, destination, bytes, start) in transfers {
                    if source >= hosts
                        || destination >= hosts
                        || source == destination
                        || bytes == 0
                    {
                        let value =
                            format!("{bytes} bytes from host {source} to host {destination}");
                        let accepted = format!("bytes from one of {hosts} hosts to another");
                        let field = format!("traffic[{number}].transfers");
                        return Err(ParameterError::new(field, value, accepted));
                    }
                    all.push(Transfer { source, destination, bytes, start, sender, class });
                }
            }
            Traffic::Poisson { sizes, load, from_ns, until_ns } => {
                let mean = mean_size(sizes);
                for host in 0..hosts {
                    let rate = host_rate(scenario, host);
                    let gap = mean * 8e9 / (load * rate);
                    let mut gaps = stream(Purpose::TransferGaps, u64::from(host));
                    let mut draws = stream(Purpose::TransferSizes, u64::from(host));
                    let mut time = *from_ns as f64 + gaps.exponential(gap);
                    while time < *until_ns as f64 {
                        let bytes = (size_at(sizes, draws.uniform()).round() as u64).max(1);
                        let other = draws.uniform_between(0, u64::from(hosts) - 2) as u32;
                        let destination = other + u32::from(other >= host);
                        let start = time as u64;
                        all.push(Transfer {
                            source: host,
                            destination,
                            bytes,
                            start,
                            sender,
                            class,
                        });
                        time += gaps.exponential(gap);
                    }
                }
            }
            Traffic::Incast { senders, bytes, interval_ns, receiver, from_ns, until_ns } => {
                if *senders >= hosts {
                    let (field, accepted) =
                        (format!("traffic[{number}].senders"), format!("fewer than {hosts} hosts"));
                    return Err(ParameterError::new(field, senders, accepted));
                }
                let mut gaps = stream(Purpose::TransferGaps, 0);
                let mut draws = stream(Purpose::TransferSizes, 0);
                let mut time = *from_ns as f64;
                let mut order: Vec<u32> = (0..hosts).collect();
                loop {
                    if let Some(interval) = interval_ns {
                        time += gaps.exponential(*interval);
                        if time >= *until_ns as f64 {
                            break;
                        }
                    }
                    let destination = receiver
                        .unwrap_or_else(|| draws.uniform_between(0, u64::from(hosts) - 1) as u32);
                    order.sort_unstable();
                    order.retain(|&host| host != destination);
                    for place in 0..*senders as usize {
                        let last = order.len() as u64 - 1;
                        order.swap(place, draws.uniform_between(place as u64, last) as usize);
                        let source = order[place];
                        all.push(Transfer {
                            source,
                            destination,
                            bytes: *bytes,
                            start: time as u64,
                            sender,
                            class,
                        });
                    }
                    order.push(destination);
                    if interval_ns.is_none() {
                        break;
                    }
                }
            }
            Traffic::OpenLoop { source, packet_size, from, to, from_ns, .. } => {
                let refuse = |value: String, accepted| {
                    Err(ParameterError::new(format!("traffic[{number}]"), value, accepted))
                };
                let Ok(sender) = u8::try_from(open_loop) else {
                    return refuse("one more".into(), "fewer senders and open-loop parts than 257");
                };
                open_loop += 1;
                let is_host = |host: &Option<u32>| host.is_none_or(|host| host < hosts);
                if hosts < 2 || !is_host(from) || !is_host(to) || from.is_some() && from == to {
                    let value = format!("packets from {from:?} to {to:?}");
                    return refuse(value, "from one of the hosts to another");
                }
                if !(1..=MOST_PACKET_BYTES).contains(packet_size) {
                    return refuse(format!("packets of {packet_size} bytes"), "1 to 65535 bytes");
                }
                let gap = f64::from(*packet_size) * 8e9 / source.open_loop_rate().unwrap_or(1.0);
                let mut draws = stream(Purpose::TransferGaps, 0);
                for host in from.map_or(0..hosts, |host| host..host + 1) {
                    let phase = if from.is_none() { draws.uniform() * gap } else { 0.0 };
                    let other = draws.uniform_between(0, u64::from(hosts) - 2) as u32;
                    let destination = to.unwrap_or(other + u32::from(other >= host));
                    if destination != host {
                        let start = from_ns + phase as u64;
                        all.push(Transfer {
                            source: host,
                            destination,
                            bytes: 0,
                            start,
                            sender,
                            class,
                        });
                    }
                }
            }
        }
    }
    all.sort_by_key(|transfer| transfer.start);
    Ok(all)
}

fn host_rate(scenario: &Scenario, host: u32) -> f64 {
    let cable = scenario.cables.iter().find(|cable| cable.a == host || cable.b == host);
    cable.map_or(1.0, |cable| cable.rate_bit_per_s)
}

/// The mean of a distribution of sizes that is linear between its points.
pub fn mean_size(points: &[(f64, f64)]) -> f64 {
    points.windows(2).map(|two| (two[0].0 + two[1].0) / 2.0 * (two[1].1 - two[0].1)).sum()
}

fn size_at(points: &[(f64, f64)], part: f64) -> f64 {
    let above = points.partition_point(|point| point.1 < part).clamp(1, points.len() - 1);
    let ((low, from), (high, to)) = (points[above - 1], points[above]);
    low + (high - low) * (part - from) / (to - from)
}
