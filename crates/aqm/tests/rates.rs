//! How often disciplines drop and mark at a probability that is held, and how far apart: the laws of
//! rules that do not count packets as RED does (for those see `spacing.rs`).
//!
//! - BLUE, PI, WRED, REM, LRED: each packet has a coin of its own, so that the packets from one drop (or
//!   mark) to the next are geometric, P(k) = p (1 - p)^(k - 1), with mean 1 / p. REM's p is 1 - phi^-price,
//!   LRED's l + gain sqrt(l) (queue - target).
//! - PIE (RFC 8033, section 5.4): after a drop the probabilities add up. None is dropped before they
//!   make 0.85, one surely when they make 8.5, and between these each with p: a geometric number that
//!   begins at 0.85 / p and ends at 8.5 / p. So it drops about p / 1.85 of all packets.
//! - DualPI2 (RFC 9332, section 2.1): low latency is marked with k p and the others dropped or marked
//!   with p^2, so that their rates are coupled by (rate of the one / k)^2.
//! - CHOKe: an arriving packet meets one of its own flow with that flow's share of the queue, f, or with
//!   1 - (1 - f)^m among m candidates; each place is as likely. Where nobody meets his own it is RED.
//! - Step marking: what finds more than the threshold, whatever the coins.

use crate::law::{assert_follows, assert_share};
use crate::seeded::Seeded;
use vermilion_aqm::{
    AnyDiscipline, AnyScheduler, Arrival, Coin, Colour, Decide, Departure, Discipline, DropReason,
    Dropped, Ecn, LinkFacts, Packet, Scheduler, Verdict,
};
use vermilion_parameters::{Value, Values};

const LINK: LinkFacts = LinkFacts { rate: 10e6, delay: 0.01 };
const MILLISECOND: u64 = 1_000_000;
const DRAWS: usize = 20_000;

fn values<const N: usize>(numbers: [(&str, f64); N]) -> Values {
    numbers.map(|(name, value)| (name.to_owned(), Value::Number(value))).into()
}

fn discipline(name: &str, values: &Values) -> AnyDiscipline {
    AnyDiscipline::from_values(name, values, LINK).expect("settings in the table").0
}

/// A packet that meets `queue` others of 1000 bytes at one second.
fn packet(queue: u32) -> Arrival {
    Arrival {
        now: 1000 * MILLISECOND,
        size: 1000,
        queue_packets: queue,
        queue_bytes: u64::from(queue) * 1000,
        ..Arrival::default()
    }
}

/// Packets from each drop to the next, the last of them included.
fn spacings(discipline: &mut AnyDiscipline, arrival: &Arrival, coin: &mut Seeded) -> Vec<u32> {
    let mut found = Vec::with_capacity(DRAWS);
    let mut since: Option<u32> = None;
    while found.len() < DRAWS {
        since = since.map(|packets| packets + 1);
        if discipline.on_arrival(arrival, coin) == Verdict::Drop(DropReason::Early) {
            found.extend(since);
            since = Some(0);
        }
    }
    found
}

/// P(k) of the packets up to one on which a coin of probability `p` falls.
fn geometric(p: f64) -> impl Fn(u32) -> f64 {
    move |packets| if packets == 0 { 0.0 } else { p * (1.0 - p).powi(packets as i32 - 1) }
}

#[test]
fn blue_drops_each_packet_for_itself() {
    for (seed, p) in [(1, 0.25), (2, 0.01)] {
        let settings = values([("limit", 50.0), ("increment", p), ("freeze_time", 100.0)]);
        let (mut blue, mut coin) = (discipline("blue", &settings), Seeded::new(seed));
        // One overflow raises the probability from 0 to p, and for 100 s it stays there.
        let overflow = blue.on_arrival(&packet(50), &mut coin);
        assert_eq!(overflow, Verdict::Drop(DropReason::Overflow));
        let draws = spacings(&mut blue, &packet(20), &mut coin);
        assert_follows(&draws, geometric(p), &format!("blue, p = {p}"));
    }
}

#[test]
fn pi_drops_each_packet_for_itself() {
    // The queue is at its target from the first sample on, but was 20 packets below it before: 20 b.
    for (seed, p) in [(3, 0.25), (4, 0.01)] {
        let settings = values([
            ("a", p / 10.0),
            ("b", p / 20.0),
            ("target_queue", 20.0),
            ("updates_per_second", 1.0),
        ]);
        let (mut pi, mut coin) = (discipline("pi", &settings), Seeded::new(seed));
        let draws = spacings(&mut pi, &packet(20), &mut coin);
        assert_follows(&draws, geometric(p), &format!("pi, p = {p}"));
    }
}

#[test]
fn wred_drops_each_packet_for_itself_by_its_colour() {
    let settings = values([
        ("weight", 1.0),
        ("green_min_threshold", 10.0),
        ("green_max_threshold", 50.0),
        ("green_max_probability", 0.2),
        ("yellow_min_threshold", 10.0),
        ("yellow_max_threshold", 30.0),
        ("yellow_max_probability", 0.2),
        ("red_min_threshold", 0.0),
        ("red_max_threshold", 40.0),
        ("red_max_probability", 0.8),
    ]);
    // At 20 packets: a quarter of 0.2, half of 0.2, half of 0.8.
    for (seed, colour, p) in
        [(5, Colour::Green, 0.05), (6, Colour::Yellow, 0.1), (7, Colour::Red, 0.4)]
    {
        let arrival = Arrival { colour, ..packet(20) };
        let draws = spacings(&mut discipline("wred", &settings), &arrival, &mut Seeded::new(seed));
        assert_follows(&draws, geometric(p), &format!("wred, {colour:?}"));
    }
}

#[test]
fn rem_marks_with_one_minus_base_to_the_minus_price() {
    // 1.25 packets fit into an interval, none arrives and 20 wait: each adds 18.75 gains, which is 1.
    let settings = values([
        ("target_queue", 0.0),
        ("gain", 1.0 / 18.75),
        ("base", 1.25),
        ("rate_weight", 1.0),
        ("queue_weight", 1.0),
        ("interval", 0.001),
    ]);
    for (price, p) in [(1, 0.2), (2, 0.36), (3, 0.488)] {
        let mut rem = discipline("rem", &settings);
        let leaving = Departure {
            now: price * MILLISECOND,
            size: 1000,
            ecn: Ecn::Ect0,
            queue_packets: 19,
            queue_bytes: 19_000,
            ..Departure::default()
        };
        let mut coin = Seeded::new(40 + price);
        let (mut draws, mut since) = (Vec::new(), None);
        while draws.len() < DRAWS {
            since = since.map(|packets: u32| packets + 1);
            if rem.on_departure(&leaving, &mut coin) == Verdict::Mark {
                draws.extend(since.replace(0));
            }
        }
        assert_follows(&draws, geometric(p), &format!("rem, price {price}"));
    }
}

#[test]
fn lred_drops_with_the_loss_ratio_corrected_by_the_queue() {
    let settings = values([
        ("limit", 100.0),
        ("memory", 0.0),
        ("gain", 0.01),
        ("interval", 1.0),
        ("target_queue", 20.0),
    ]);
    // One of 25 packets is lost in the first period: 0.04, and 0.01 x 0.2 more for each packet
    // beyond the target.
    for (seed, queue, p) in [(50, 20, 0.04), (51, 50, 0.1), (52, 10, 0.02)] {
        let (mut lred, mut coin) = (discipline("lred", &settings), Seeded::new(seed));
        for number in 0..25 {
            let arrival = Arrival { now: 0, ..packet(if number == 0 { 100 } else { 20 }) };
            lred.on_arrival(&arrival, &mut coin);
        }
        let draws = spacings(&mut lred, &packet(queue), &mut coin);
        assert_follows(&draws, geometric(p), &format!("lred, queue {queue}"));
    }
}

#[test]
fn lred_forgets_losses_while_nothing_arrives() {
    let settings = values([("limit", 1.0), ("memory", 0.5), ("gain", 0.0), ("interval", 1.0)]);
    // The only packet of the first second is lost. Four periods are looked back to, so that it is four times half of the
    // way from the estimate to 1; from then on the estimate is halved in every period.
    for (seconds, p) in [(1, 0.5), (4, 0.9375), (5, 0.46875), (12, 0.9375 / 256.0)] {
        let (mut lred, mut coin) = (discipline("lred", &settings), Seeded::new(1));
        let full = Arrival { now: 0, ..packet(1) };
        assert_eq!(lred.on_arrival(&full, &mut coin), Verdict::Drop(DropReason::Overflow));
        lred.on_arrival(&Arrival { now: seconds * 1_000_000_000, ..packet(0) }, &mut coin);
        assert_eq!(lred.drop_probability(), Some(p), "after {seconds} s");
    }
}

/// PIE at a probability of `updates` x 0.02: gains of 0, and 0.02 more at each update at which the
/// delay is above 250 ms (Linux).
fn steady_pie(updates: u64) -> (AnyDiscipline, Arrival) {
    let settings = values([
        ("alpha", 0.0),
        ("beta", 0.0),
        ("burst_allowance", 0.0),
        ("interval", 1.0),
        ("mark_probability", 1.0),
    ]);
    let mut pie = discipline("pie", &settings);
    let sent = Departure {
        now: 999 * MILLISECOND,
        arrived: 0,
        size: 1000,
        queue_packets: 20,
        queue_bytes: 20_000,
        ..Departure::default()
    };
    pie.on_departure(&sent, &mut Seeded::new(0));
    (pie, Arrival { now: updates * 1000 * MILLISECOND, ..packet(20) })
}

#[test]
fn pie_lets_packets_pass_until_the_probabilities_make_0_85() {
    for (updates, p, first, last) in [(1, 0.02, 43, 425), (5, 0.1, 9, 85)] {
        let (mut pie, arrival) = steady_pie(updates);
        let draws = spacings(&mut pie, &arrival, &mut Seeded::new(7 + updates));
        // Of `last` packets the probabilities are 8.5; rounding may leave a hair to the next.
        let range = first..=last + 1;
        assert!(draws.iter().all(|draw| range.contains(draw)), "outside {range:?}");
        let from_there = geometric(p);
        let law =
            |packets: u32| if packets < first { 0.0 } else { from_there(packets - first + 1) };
        assert_follows(&draws, law, &format!("pie, p = {p}"));
        // The mean of the law: what passes surely, and a geometric number cut off at the end.
        let tail = (1.0 - p).powi((last - first) as i32);
        let mean = f64::from(first - 1) + (1.0 - tail) / p;
        let found = draws.iter().copied().map(f64::from).sum::<f64>() / draws.len() as f64;
        assert!((found / mean - 1.0).abs() < 0.02, "{found} instead of {mean}");
    }
}

#[derive(Clone, Debug)]
struct Numbered {
    number: u32,
    flow: u32,
    ecn: Ecn,
}

impl Packet for Numbered {
    fn size(&self) -> u32 {
        1000
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) {
        self.ecn = Ecn::CongestionExperienced;
    }

    fn flow(&self) -> u32 {
        self.flow
    }
}

fn scheduler(name: &str, values: &Values) -> AnyScheduler<Numbered> {
    AnyScheduler::from_values(name, values, LINK).expect("settings in the table").0
}

/// Marked and dropped shares of packets with `ecn` at p = 0.1, and the packets between two marks.
fn dualpi2_rates(ecn: Ecn, seed: u64) -> (f64, f64, Vec<u32>) {
    // Growth of the delay alone moves p, by 3.125 x 16 ms at 16 and again at 32 ms.
    let settings = values([
        ("limit", 1e6),
        ("alpha", 0.0),
        ("beta", 3.125),
        ("step_delay", 1.0),
        ("maximum_packet_size", 1000.0),
    ]);
    let (mut queue, mut coin) = (scheduler("dualpi2", &settings), Seeded::new(seed));
    let packets = 100_000;
    for number in 0..packets {
        let packet = Numbered { number, flow: 0, ecn };
        queue.enqueue(0, None, packet, &mut coin, &mut |_| panic!("there is room"));
    }
    let (mut dropped, mut marked, mut spacings, mut last) = (0, 0, Vec::new(), None);
    while let Some(sent) = queue.dequeue(33 * MILLISECOND, &mut coin, &mut |_| dropped += 1) {
        if sent.marked {
            marked += 1;
            spacings.extend(last.replace(sent.packet.number).map(|last| sent.packet.number - last));
        }
    }
    let share = |count: u32| f64::from(count) / f64::from(packets);
    (share(marked), share(dropped), spacings)
}

#[test]
fn dualpi2_marks_low_latency_with_two_p_and_the_others_with_p_squared() {
    // The kernel's whole numbers make p 0.09988, 0.1 % less than 0.1.
    let (marked, dropped, spacings) = dualpi2_rates(Ecn::Ect1, 20);
    assert_share(marked, 0.2, 100_000, "ECT(1)");
    assert_follows(&spacings, geometric(2.0 * 0.09988), "marks of ECT(1)");
    assert_eq!(dropped, 0.0);
    let low_latency = marked;

    let (marked, dropped, spacings) = dualpi2_rates(Ecn::Ect0, 21);
    assert_share(marked, 0.01, 100_000, "ECT(0)");
    assert_share(marked, (low_latency / 2.0).powi(2), 100_000, "the coupling");
    assert_follows(&spacings, geometric(0.09988 * 0.09988), "marks of ECT(0)");
    assert_eq!(dropped, 0.0);

    let (marked, dropped, _) = dualpi2_rates(Ecn::NotCapable, 22);
    assert_share(dropped, 0.01, 100_000, "Not-ECT");
    assert_eq!(marked, 0.0);
}

/// CHOKe with a hundred packets of `flows` flows in turn, to which RED does next to nothing.
fn choke(flows: u32, candidates: f64) -> AnyScheduler<Numbered> {
    let filling = values([("weight", 1.0), ("min_threshold", 200.0), ("max_threshold", 300.0)]);
    let mut queue = scheduler("choke", &filling);
    for number in 0..100 {
        let packet = Numbered { number, flow: number % flows, ecn: Ecn::NotCapable };
        queue.enqueue(0, None, packet, &mut Seeded::new(0), &mut |_| panic!("nobody is drawn"));
    }
    let mut settings = filling;
    settings.extend(values([
        ("min_threshold", 10.0),
        ("max_probability", 1e-9),
        ("candidates", candidates),
    ]));
    queue.set_values(&settings, LINK).expect("settings in the table");
    queue
}

/// The packets that one of flow 0 takes along, of a full queue each time.
fn victims(queue: &AnyScheduler<Numbered>, seed: u64, tries: usize) -> Vec<Vec<u32>> {
    let mut coin = Seeded::new(seed);
    let arriving = Numbered { number: 100, flow: 0, ecn: Ecn::NotCapable };
    (0..tries)
        .map(|_| {
            let mut dropped = Vec::new();
            let mut drop = |it: Dropped<Numbered>| dropped.push(it.packet.number);
            queue.clone().enqueue(0, None, arriving.clone(), &mut coin, &mut drop);
            dropped
        })
        .collect()
}

#[test]
fn choke_meets_a_flow_as_often_as_its_share_of_the_queue() {
    for (seed, flows, candidates) in [(30, 10, 1), (31, 4, 1), (32, 10, 3)] {
        let queue = choke(flows, f64::from(candidates));
        let tries = victims(&queue, seed, DRAWS);
        let met = tries.iter().filter(|dropped| !dropped.is_empty()).count();
        assert!(tries.iter().all(|dropped| dropped.is_empty() || dropped.last() == Some(&100)));
        let law = 1.0 - (1.0 - 1.0 / f64::from(flows)).powi(candidates);
        let found = met as f64 / DRAWS as f64;
        assert_share(found, law, DRAWS, &format!("{flows} flows, {candidates} candidates"));
    }
}

#[test]
fn choke_draws_every_place_as_often() {
    let tries = victims(&choke(1, 1.0), 33, DRAWS);
    let places: Vec<u32> = tries.iter().map(|dropped| dropped[0]).collect();
    assert!(tries.iter().all(|dropped| dropped.len() == 2));
    assert_follows(&places, |place| if place < 100 { 0.01 } else { 0.0 }, "places");
}

#[test]
fn choke_spaces_the_drops_of_flows_that_do_not_meet_themselves_as_red_does() {
    let mut queue = choke(10, 1.0);
    let settings = values([
        ("weight", 1.0),
        ("min_threshold", 50.0),
        ("max_threshold", 150.0),
        ("max_probability", 0.1),
    ]);
    queue.set_values(&settings, LINK).expect("settings in the table");
    // 100 wait at each arrival, half way: 1/20. A packet that joins is followed by one that leaves.
    let (mut coin, mut since, mut found) = (Seeded::new(34), None, Vec::new());
    for number in 1000.. {
        since = since.map(|packets: u32| packets + 1);
        let packet = Numbered { number, flow: number, ecn: Ecn::NotCapable };
        let mut drops = 0;
        queue.enqueue(0, None, packet, &mut coin, &mut |_| drops += 1);
        if drops == 0 {
            queue.dequeue(0, &mut coin, &mut |_| panic!("CHOKe drops on arrival"));
            continue;
        }
        found.extend(since.replace(0));
        if found.len() == DRAWS {
            break;
        }
    }
    assert_follows(&found, |gap| if (1..=20).contains(&gap) { 0.05 } else { 0.0 }, "choke");
}

/// A coin that must not be drawn.
struct NoCoin;

impl Coin for NoCoin {
    fn uniform(&mut self) -> f64 {
        panic!("a coin is drawn")
    }
}

#[test]
fn step_marks_the_share_of_packets_that_finds_more_than_the_threshold() {
    let mut step = discipline("step", &values([("threshold", 20.0)]));
    // Queues of 0 to 49 packets in turn: 29 of 50 are longer than 20.
    let verdicts: Vec<_> = (0..50_000)
        .map(|number| Arrival { ecn: Ecn::Ect0, ..packet(number % 50) })
        .map(|arrival| step.on_arrival(&arrival, &mut NoCoin))
        .collect();
    let marks = verdicts.iter().filter(|verdict| **verdict == Verdict::Mark).count();
    assert_eq!(marks, 29_000);
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Mark | Verdict::Accept)));
}
