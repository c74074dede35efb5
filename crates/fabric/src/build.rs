use vermilion_parameters::ParameterError;
use vermilion_rdma::Nic;

use crate::classes::classes;
use crate::port::Port;
use crate::queue_window::QueueWindow;
use crate::scenario::Scenario;
use crate::shared_buffer::{Ingress, SharedBuffer};
use crate::topology::Topology;
use crate::traffic::{Transfer, transfers};

/// Most links of a way.
pub(crate) const MOST_LINKS: usize = 16;

/// Everything of a fabric but its ends.
pub(crate) struct Build {
    pub topology: Topology,
    pub ports: Vec<Port>,
    pub ingress: Vec<Ingress>,
    pub buffers: Vec<SharedBuffer>,
    pub transfers: Vec<Transfer>,
    pub windows: Vec<QueueWindow>,
    base_round_trip: u64,
    pub seed: u64,
    /// Links, and the classes that there are, the highest first.
    pub lines: u32,
    pub classes: Vec<u8>,
}

impl Build {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Self, ParameterError> {
        let topology = Topology::new(scenario, seed)?;
        if topology.longest > MOST_LINKS {
            let value = format!("a way of {} links", topology.longest);
            return Err(ParameterError::new("cables", value, format!("at most {MOST_LINKS}")));
        }
        let transfers = transfers(scenario, seed)?;
        let classes = classes(scenario)?;
        let mut ports = Vec::with_capacity(topology.to.len());
        let mut ingress = Vec::with_capacity(topology.to.len());
        let mut taken = vec![0_u64; scenario.switches.len()];
        for number in 0..topology.to.len() {
            let cable = &scenario.cables[number / 2];
            let mut port = Port::new(cable.rate_bit_per_s, cable.delay_ns);
            port.to_host = topology.to[number] < topology.hosts;
            let mut own = Ingress::new(0, 0, cable.alpha, 0);
            if let Some(switch) = topology.from[number].checked_sub(topology.hosts) {
                port.switch = switch;
                (port.kmin, port.kmax) = (cable.kmin_bytes, cable.kmax_bytes);
                port.slope = cable.pmax / f64::from((cable.kmax_bytes - cable.kmin_bytes).max(1));
                port.alpha = cable.alpha;
                let memory = &scenario.switches[switch as usize];
                if memory.pauses {
                    own = Ingress::new(
                        memory.reserve_bytes,
                        cable.headroom_bytes,
                        cable.alpha,
                        memory.resume_offset_bytes,
                    );
                    taken[switch as usize] += classes.len() as u64
                        * (u64::from(memory.reserve_bytes) + u64::from(cable.headroom_bytes));
                }
            }
            ports.push(port);
            ingress.push(own);
        }
        let mut buffers = Vec::with_capacity(taken.len());
        for (number, (memory, taken)) in scenario.switches.iter().zip(taken).enumerate() {
            let Some(shared) = memory.buffer_bytes.checked_sub(taken).filter(|&shared| shared > 0)
            else {
                let accepted =
                    format!("more than reserves and headrooms of its ports, {taken} bytes");
                let field = format!("switches[{number}].buffer_bytes");
                return Err(ParameterError::new(field, memory.buffer_bytes, accepted));
            };
            buffers.push(SharedBuffer::new(shared));
        }
        let rates = topology.uplink.iter().map(|&port| ports[port as usize].rate);
        if let Some(other) =
            rates.clone().find(|&rate| rate != ports[topology.uplink[0] as usize].rate)
        {
            let value = format!("a host of {other} bit/s among others");
            return Err(ParameterError::new("cables", value, "one rate for all hosts"));
        }
        let mut windows = Vec::new();
        for (number, watched) in scenario.watched.iter().enumerate() {
            let found = (0..ports.len()).find(|&port| {
                topology.from[port] == watched.from && topology.to[port] == watched.to
            });
            let Some(port) = found else {
                let value = format!("from node {} to node {}", watched.from, watched.to);
                return Err(ParameterError::new(format!("watched[{number}]"), value, "a link"));
            };
            ports[port].watched = windows.len() as u32;
            windows.push(QueueWindow::new(watched.from_ns, watched.until_ns));
        }
        let lines = ports.len() as u32;
        let mut build = Self {
            topology,
            ports,
            ingress,
            buffers,
            transfers,
            windows,
            base_round_trip: 0,
            seed,
            lines,
            classes,
        };
        let hosts = build.topology.representatives();
        for &source in &hosts {
            for &destination in &hosts {
                if source != destination {
                    let (base, _) = build.alone(source, destination, scenario.packets.payload);
                    build.base_round_trip = build.base_round_trip.max(base);
                }
            }
        }
        for _ in 1..build.classes.len() {
            build.ports.extend_from_within(..lines as usize);
            build.ingress.extend_from_within(..lines as usize);
            build.topology.to.extend_from_within(..lines as usize);
            build.topology.from.extend_from_within(..lines as usize);
        }
        Ok(build)
    }

    pub(crate) fn has_classes(&self) -> bool {
        self.classes.len() > 1
    }

    /// The round trip of the empty network in nanoseconds, and the slowest rate on the way.
    pub(crate) fn alone(&self, source: u32, destination: u32, payload: u32) -> (u64, f64) {
        let (mut time, mut slowest) = (0, f64::INFINITY);
        self.topology.way(source, destination, 0, |port| {
            let port = &self.ports[port as usize];
            time += 2 * u64::from(port.propagation) + (f64::from(payload) * 8e9 / port.rate) as u64;
            slowest = slowest.min(port.rate);
        });
        (time, slowest)
    }

    pub(crate) fn nic(&self) -> Nic {
        let line_rate =
            self.topology.uplink.first().map_or(1.0, |&port| self.ports[port as usize].rate);
        Nic { line_rate, base_round_trip: self.base_round_trip }
    }
}
