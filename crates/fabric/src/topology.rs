//! Nodes, ports and shortest ways.

use vermilion_netsim::random::{Purpose, Stream};

use vermilion_parameters::ParameterError;

use crate::scenario::Scenario;

/// Longest distance that is a distance.
const FAR: u8 = u8::MAX;

/// A network of hosts, each at one switch, and of switches. Port `2i` is the one of cable `i` from `a` to `b`, port
/// `2i + 1` that back: what is sent by port `p` arrives by port `p ^ 1`.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Number of hosts.
    pub hosts: u32,
    /// Node that each port sends to.
    pub to: Vec<u32>,
    /// Node of each port.
    pub from: Vec<u32>,
    /// Port of each host.
    pub uplink: Vec<u32>,
    /// Switches that have hosts: number of each host's.
    edge_of_host: Vec<u32>,
    edges: Vec<u32>,
    switches: usize,
    /// Ports on a shortest way, by edge and switch: where they begin in `next_hops`.
    begins: Vec<u32>,
    next_hops: Vec<u32>,
    /// What each switch hashes with.
    seeds: Vec<u32>,
    /// Links of the longest way.
    pub longest: usize,
}

impl Topology {
    /// The network of a scenario.
    ///
    /// # Errors
    /// A cable to nowhere, a host without a switch or with several, hosts that cannot reach each other.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, ParameterError> {
        let hosts = scenario.hosts;
        let nodes = hosts + scenario.switches.len() as u32;
        let (mut to, mut from) = (Vec::new(), Vec::new());
        let mut ports_of: Vec<Vec<u32>> = vec![Vec::new(); nodes as usize];
        for (number, cable) in scenario.cables.iter().enumerate() {
            for (one, other) in [(cable.a, cable.b), (cable.b, cable.a)] {
                if one >= nodes || one == other {
                    let ends = format!("from node {one} to node {other}");
                    let accepted = format!("two of {nodes} nodes");
                    return Err(ParameterError::new(format!("cables[{number}]"), ends, accepted));
                }
                ports_of[one as usize].push(to.len() as u32);
                from.push(one);
                to.push(other);
            }
        }
        let mut uplink = Vec::new();
        for host in 0..hosts {
            match ports_of[host as usize][..] {
                [port] if to[port as usize] >= hosts => uplink.push(port),
                ref ports => {
                    let cables = format!("{} cables", ports.len());
                    let field = format!("hosts[{host}]");
                    return Err(ParameterError::new(field, cables, "one cable, to a switch"));
                }
            }
        }
        let switches = scenario.switches.len();
        let mut edge_of_switch = vec![FAR as u32; switches];
        let mut edges = Vec::new();
        let mut edge_of_host = Vec::new();
        let mut is_edge = vec![false; switches];
        for &port in &uplink {
            let switch = (to[port as usize] - hosts) as usize;
            if !std::mem::replace(&mut is_edge[switch], true) {
                edge_of_switch[switch] = edges.len() as u32;
                edges.push(switch as u32 + hosts);
            }
            edge_of_host.push(edge_of_switch[switch]);
        }
        let mut topology = Self {
            hosts,
            to,
            from,
            uplink,
            edge_of_host,
            edges,
            switches,
            begins: Vec::new(),
            next_hops: Vec::new(),
            seeds: (0..switches)
                .map(|switch| {
                    let mut stream = Stream::new(seed, Purpose::PathHash, switch as u64);
                    stream.uniform_between(0, u64::from(u32::MAX) - 1) as u32
                })
                .collect(),
            longest: 0,
        };
        topology.find_ways(&ports_of)?;
        Ok(topology)
    }

    /// Shortest ways from every switch to every switch with hosts, breadth first.
    fn find_ways(&mut self, ports_of: &[Vec<u32>]) -> Result<(), ParameterError> {
        let mut distance = vec![FAR; self.switches];
        let mut queue = Vec::with_capacity(self.switches);
        for &edge in &self.edges {
            distance.fill(FAR);
            queue.clear();
            queue.push(edge);
            distance[(edge - self.hosts) as usize] = 0;
            let mut at = 0;
            while at < queue.len() {
                let here = queue[at];
                at += 1;
                let near = distance[(here - self.hosts) as usize];
                for &port in &ports_of[here as usize] {
                    let there = self.to[port as usize];
                    if there >= self.hosts && distance[(there - self.hosts) as usize] == FAR {
                        distance[(there - self.hosts) as usize] =
                            near.saturating_add(1).min(FAR - 1);
                        queue.push(there);
                    }
                }
            }
            for switch in 0..self.switches {
                self.begins.push(self.next_hops.len() as u32);
                let here = distance[switch];
                for &port in &ports_of[switch + self.hosts as usize] {
                    let there = self.to[port as usize];
                    if there >= self.hosts
                        && distance[(there - self.hosts) as usize] != FAR
                        && distance[(there - self.hosts) as usize] + 1 == here
                    {
                        self.next_hops.push(port);
                    }
                }
            }
            for &other in &self.edges {
                let links = distance[(other - self.hosts) as usize];
                if links == FAR {
                    let value = "hosts that cannot reach each other";
                    return Err(ParameterError::new("cables", value, "one network"));
                }
                self.longest = self.longest.max(links as usize + 2);
            }
        }
        self.begins.push(self.next_hops.len() as u32);
        Ok(())
    }

    /// Ports on a shortest way from a switch towards an edge, by its number.
    fn next_hops(&self, edge: u32, switch: u32) -> &[u32] {
        let place = edge as usize * self.switches + switch as usize;
        &self.next_hops[self.begins[place] as usize..self.begins[place + 1] as usize]
    }

    /// Ports of the way from one host to another. Which of several it takes depends on the two ports of its transport.
    pub fn way(&self, source: u32, destination: u32, transport: u32, mut take: impl FnMut(u32)) {
        let edge = self.edge_of_host[destination as usize];
        let mut port = self.uplink[source as usize];
        take(port);
        loop {
            let switch = self.to[port as usize] - self.hosts;
            if self.to[port as usize] == self.edges[edge as usize] {
                break take(self.uplink[destination as usize] ^ 1);
            }
            let next = self.next_hops(edge, switch);
            let choice = if next.len() == 1 {
                0
            } else {
                murmur3([source, destination, transport], self.seeds[switch as usize]) as usize
                    % next.len()
            };
            port = next[choice];
            take(port);
        }
    }

    /// A host of every switch with hosts, and a second one of the first.
    pub fn representatives(&self) -> Vec<u32> {
        let mut seen = vec![0; self.edges.len()];
        let mut hosts = Vec::new();
        for host in 0..self.hosts {
            let edge = self.edge_of_host[host as usize] as usize;
            seen[edge] += 1;
            if seen[edge] <= 2 {
                hosts.push(host);
            }
        }
        hosts
    }
}

/// MurmurHash3 (A. Appleby) of three words, by which switches choose among equal ways.
fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut hash = seed;
    for word in words {
        let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= 12;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}
