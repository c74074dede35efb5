//! Packet-hops per CPU second of fabrics with shared buffers, pauses and DCQCN.
//!
//! `cargo bench -p vermilion-fabric --bench hops`

use std::sync::atomic::AtomicBool;

use cpu_time::ProcessTime;
use vermilion_fabric::Fabric;
use vermilion_fabric::scenario::{Cable, Feedback, Scenario, Sender, Sizes, Switch, Traffic};

/// Web search, as published with HPCC's simulator: bytes and part of transfers.
const WEB_SEARCH: &[(f64, f64)] = &[
    (0.0, 0.0),
    (1e4, 0.15),
    (2e4, 0.2),
    (3e4, 0.3),
    (5e4, 0.4),
    (8e4, 0.53),
    (2e5, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (1e7, 0.97),
    (3e7, 1.0),
];

fn cable(a: u32, b: u32, rate: f64) -> Cable {
    let k = (rate / 25e9) as u32;
    Cable {
        a,
        b,
        rate_bit_per_s: rate,
        delay_ns: 1000,
        kmin_bytes: 100_000 * k,
        kmax_bytes: 400_000 * k,
        pmax: 0.2,
        alpha: (rate / 100e9 / 8.0).min(1.0),
        headroom_bytes: (3.0 * rate * 1e-6 / 8.0) as u32,
    }
}

fn scenario(hosts: u32, switches: u32, cables: Vec<Cable>, load: f64, until_ns: u64) -> Scenario {
    Scenario {
        hosts,
        switches: vec![
            Switch {
                buffer_bytes: 32 << 20,
                reserve_bytes: 4096,
                resume_offset_bytes: 3072,
                pauses: true,
            };
            switches as usize
        ],
        cables,
        packets: Sizes {
            payload: 1000,
            header: 48,
            telemetry: 42,
            acknowledgement: 60,
            notification: 60,
            pause: 64,
        },
        further_senders: Vec::new(),
        traffic_senders: Vec::new(),
        traffic_classes: Vec::new(),
        class_weights: Vec::new(),
        sender: Sender {
            algorithm: std::env::var("SENDER").unwrap_or("dcqcn-mellanox".into()),
            parameters: Default::default(),
        },
        feedback: Feedback {
            acknowledgements_first: true,
            acknowledge_every: 1,
            notification_interval_ns: None,
        },
        marks_at_departure: true,
        retransmission_timeout_ns: 10_000_000,
        duration_ns: until_ns,
        traffic: vec![Traffic::Poisson { sizes: WEB_SEARCH.to_vec(), load, from_ns: 0, until_ns }],
        watched: Vec::new(),
        size_classes: vec![30_000, 3_000_000],
    }
}

fn leaf_spine(leaves: u32, hosts_each: u32, spines: u32, load: f64, until: u64) -> Scenario {
    let hosts = leaves * hosts_each;
    let mut cables = Vec::new();
    for host in 0..hosts {
        cables.push(cable(host, hosts + host / hosts_each, 100e9));
    }
    for leaf in 0..leaves {
        for spine in 0..spines {
            cables.push(cable(hosts + leaf, hosts + leaves + spine, 400e9));
        }
    }
    scenario(hosts, leaves + spines, cables, load, until)
}

fn fat_tree(k: u32, load: f64, until: u64) -> Scenario {
    let (half, hosts) = (k / 2, k * k * k / 4);
    let (edge, aggregation) = (hosts, hosts + k * half);
    let core = aggregation + k * half;
    let mut cables = Vec::new();
    for host in 0..hosts {
        cables.push(cable(host, edge + host / half, 100e9));
    }
    for pod in 0..k {
        for one in 0..half {
            for other in 0..half {
                cables.push(cable(
                    edge + pod * half + one,
                    aggregation + pod * half + other,
                    100e9,
                ));
                cables.push(cable(
                    aggregation + pod * half + one,
                    core + one * half + other,
                    100e9,
                ));
            }
        }
    }
    scenario(hosts, k * k + half * half, cables, load, until)
}

/// A loop that does just hops: packets go round on fixed ways over first-in, first-out ports that share memory.
/// No classes, marks, pauses, ends or books: the scale for the engine, in packet-hops per CPU second.
fn tight_loop(hosts: usize, leaves: usize, spines: usize, packets: usize, hops: u64) -> f64 {
    const SLOTS: usize = 4096;
    let each = hosts / leaves;
    // Ports: up from hosts, down to hosts, leaf to spine, spine to leaf.
    let (down, up, back) = (hosts, 2 * hosts, 2 * hosts + leaves * spines);
    let ports = back + leaves * spines;
    let mut state = 1_u64;
    let mut draw = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % most
    };
    let ways: Vec<[u32; 4]> = (0..packets)
        .map(|_| {
            let (source, target, spine) = (draw(hosts), draw(hosts), draw(spines));
            let there = up + source / each * spines + spine;
            let here = back + target / each * spines + spine;
            [source, there, here, down + target].map(|port| port as u32)
        })
        .collect();
    let switch_of: Vec<u32> = (0..ports)
        .map(|port| {
            let switch = match port {
                port if port < down => leaves + spines,
                port if port < up => (port - down) / each,
                port if port < back => (port - up) / spines,
                port => leaves + (port - back) % spines,
            };
            switch as u32
        })
        .collect();
    let mut free_at = vec![0_u64; ports];
    let mut used = vec![0_u32; leaves + spines + 1];
    let (mut place, mut leaves_port) = (vec![0_u8; packets], vec![false; packets]);
    let (mut first, mut next) = (vec![u32::MAX; SLOTS], vec![u32::MAX; packets]);
    for (packet, following) in next.iter_mut().enumerate() {
        *following = std::mem::replace(&mut first[draw(1000)], packet as u32);
    }
    let begun = ProcessTime::now();
    let (mut now, mut done) = (0_u64, 0_u64);
    while done < hops {
        let slot = now as usize % SLOTS;
        let mut packet = std::mem::replace(&mut first[slot], u32::MAX);
        while packet != u32::MAX {
            let (number, following) = (packet as usize, next[packet as usize]);
            let port = ways[number][usize::from(place[number])] as usize;
            let switch = switch_of[port] as usize;
            let time = if leaves_port[number] {
                used[switch] -= 1048;
                place[number] = (place[number] + 1) % 4;
                done += 1;
                now + 1000
            } else {
                used[switch] += 1048;
                free_at[port] = free_at[port].max(now) + if port < up { 84 } else { 21 };
                free_at[port].min(now + SLOTS as u64 - 1)
            };
            leaves_port[number] = !leaves_port[number];
            next[number] = std::mem::replace(&mut first[time as usize % SLOTS], packet);
            packet = following;
        }
        now += 1;
    }
    std::hint::black_box(&used);
    done as f64 / begun.elapsed().as_secs_f64() / 1e6
}

fn main() {
    let networks = [
        ("32 hosts, leaf-spine", leaf_spine(4, 8, 2, 0.5, 20_000_000)),
        ("320 hosts, leaf-spine", leaf_spine(20, 16, 4, 0.5, 2_000_000)),
        ("1024 hosts, fat tree", fat_tree(16, 0.5, 300_000)),
    ];
    let wanted = std::env::args().nth(1).and_then(|it| it.parse::<usize>().ok());
    for (number, (name, scenario)) in networks.iter().enumerate() {
        if wanted.is_some_and(|wanted| wanted != number) {
            continue;
        }
        let begun = ProcessTime::now();
        let fabric = Fabric::new(scenario, 1).expect("a network");
        let built = begun.elapsed().as_secs_f64();
        let begun = ProcessTime::now();
        let (results, _) = fabric.run(&AtomicBool::new(false)).expect("not stopped");
        let seconds = begun.elapsed().as_secs_f64();
        let (leaves, spines) = [(4, 2), (20, 4), (64, 16)][number];
        let hosts = scenario.hosts as usize;
        let tight = tight_loop(hosts, leaves, spines, hosts * 60, 20_000_000);
        println!("a loop of {hosts} hosts that does just hops: {tight:.2} M/s");
        println!(
            "{name}: built in {built:.3} s; {} transfers, {} not done; {} data hops, {} others; {:.2} M data hops/s, {:.2} M of all; pauses {}, drops {}, slowdown p99 {:?}",
            results.transfers,
            results.not_done,
            results.packet_hops,
            results.control_hops,
            results.packet_hops as f64 / seconds / 1e6,
            (results.packet_hops + results.control_hops) as f64 / seconds / 1e6,
            results.pauses,
            results.drops,
            results.slowdown.p99,
        );
    }
}
