//! BBR seen from outside: what the draft (draft-ietf-ccwg-bbr) promises of rates, queues and times.

use std::ops::RangeInclusive;

use crate::common::bottleneck::{Flow, Link, MILLISECOND, Moment, watch};
use vermilion_parameters::Value;

pub const SECOND: u64 = 1000 * MILLISECOND;

/// How often the flows are looked at.
const INTERVAL: u64 = 10 * MILLISECOND;

/// 1000 segments per second and 100 ms: 100 segments fill the path.
pub const ROUND_TRIP: u64 = 100 * MILLISECOND;
pub const RATE: f64 = 1000.0;
pub const FULL: f64 = 100.0;

pub fn link(limit: usize) -> Link {
    Link { rates: vec![(0, RATE)], round_trip: ROUND_TRIP, limit, loss: 0.0 }
}

pub fn see(link: &Link, flows: &[Flow], seconds: u64) -> Vec<Moment> {
    watch(link, flows, seconds * SECOND, INTERVAL, 1)
}

fn lone(link: &Link, seconds: u64) -> Vec<Moment> {
    see(link, &[Flow::new("bbr", 0)], seconds)
}

/// Segments per second of flow `flow` from `from` to `to` seconds.
pub fn rate(moments: &[Moment], flow: usize, from: u64, to: u64) -> f64 {
    let at = |second: u64| match second {
        0 => 0,
        _ => moments[(second * SECOND / INTERVAL) as usize - 1].delivered[flow],
    };
    (at(to) - at(from)) as f64 / (to - from) as f64
}

pub fn mean_queue(moments: &[Moment]) -> f64 {
    moments.iter().map(|moment| moment.queue as f64).sum::<f64>() / moments.len() as f64
}

/// The stretches of moments for which `holds`: first and last second of each.
pub fn episodes(moments: &[Moment], holds: impl Fn(&Moment) -> bool) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    let mut before = false;
    for moment in moments {
        let now = moment.time as f64 / 1e9;
        if holds(moment) {
            if before {
                found.last_mut().unwrap().1 = now;
            } else {
                found.push((now, now));
            }
        }
        before = holds(moment);
    }
    found
}

#[test]
fn a_lone_flow_uses_the_link_and_keeps_the_queue_short() {
    let moments = lone(&link(400), 60);
    assert!(rate(&moments, 0, 1, 60) > 0.95 * RATE, "{}", rate(&moments, 0, 1, 60));
    assert_eq!(moments.last().unwrap().drops, 0);
    let steady = &moments[300..];
    assert!(mean_queue(steady) < 0.25 * FULL, "{}", mean_queue(steady));
    // A probe lasts three rounds without growth, each adding a quarter, the first less.
    let most = steady.iter().map(|moment| moment.queue).max().unwrap() as f64;
    assert!((0.5 * FULL..=FULL).contains(&most), "{most}");
    // Twice what fills the path, 2.25 times while probing; a little for what ran ahead.
    let window = steady.iter().map(|moment| moment.windows[0]).fold(0.0, f64::max);
    assert!((2.2 * FULL..=2.4 * FULL).contains(&window), "{window}");
}

#[test]
fn a_queue_that_holds_too_little_is_answered_with_a_bound_on_what_is_in_the_network() {
    for (limit, share) in [(100, 0.95), (50, 0.95), (20, 0.95), (10, 0.9)] {
        let moments = lone(&link(limit), 60);
        let (drops, rate) = (moments.last().unwrap().drops, rate(&moments, 0, 10, 60));
        assert!(rate > share * RATE, "{limit}: {rate}");
        let later = drops - moments[999].drops;
        assert!((later as f64) < 0.01 * 50.0 * RATE, "{limit}: {later} drops");
        let bound = moments[1000..].iter().map(|moment| moment.windows[0]).fold(0.0, f64::max);
        assert!(bound < FULL + 1.1 * limit as f64 + 10.0, "{limit}: {bound}");
    }
}

#[test]
fn startup_doubles_in_every_round() {
    // From 10 segments in flight (a window of 10) to a full path; then the first full second ends.
    for decades in 1..5 {
        let rate = 10_f64.powi(decades + 2);
        let path = Link { rates: vec![(0, rate)], limit: 10_000_000, ..link(0) };
        let moments = lone(&path, 4);
        let rounds = moments.windows(11).position(|window| {
            let delivered = window[10].delivered[0] - window[0].delivered[0];
            delivered as f64 >= 0.95 * rate / 10.0
        });
        // The handshake, the first flight, then log2 of the ratio to the window of 10.
        let seconds = (rounds.unwrap() + 10) as f64 / 100.0;
        let expected = 0.1 + 0.1 + 0.1 * 10_f64.powi(decades).log2();
        assert!((seconds - expected).abs() <= 0.25, "{rate}: {seconds} s, not {expected} s");
        // cwnd_gain bounds the queue to as much again as fills the path.
        let most = moments.iter().map(|moment| moment.queue).max().unwrap() as f64;
        assert!(most < 1.2 * rate / 10.0 + 10.0, "{rate}: {most}");
    }
}

#[test]
fn drain_empties_the_queue_that_startup_has_built() {
    let moments = lone(&link(400), 5);
    let full = moments.iter().rposition(|moment| moment.time < 3 * SECOND && moment.queue > 100);
    let empty = moments[full.unwrap()..].iter().position(|moment| moment.queue < 5).unwrap();
    // At half the rate a queue as large as what fills the path needs two round trips.
    assert!((15..=30).contains(&empty), "{empty} hundredths of a second");
    // Startup left after three rounds without growth: full since about 0.6 s, noticed a queue later.
    let left = moments[full.unwrap()].time as f64 / 1e9;
    assert!((1.0..=1.6).contains(&left), "{left}");
}

#[test]
fn bandwidth_is_probed_two_to_three_seconds_after_the_round_trip_was() {
    let moments = lone(&link(400), 200);
    let quiet = episodes(&moments[200..], |moment| moment.windows[0] < 0.6 * FULL);
    let probes = episodes(&moments, |moment| moment.queue as f64 > FULL / 10.0);
    let waits: Vec<f64> = quiet
        .iter()
        .filter_map(|(_, end)| Some(probes.iter().find(|(from, _)| from > end)?.0 - end))
        .collect();
    // The wait of 2 to 3 s, a round of refilling, and the queue of the probe is seen.
    assert!(waits.len() > 30, "{waits:?}");
    assert!(waits.iter().all(|wait| (2.0..=3.3).contains(wait)), "{waits:?}");
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((2.5..=2.8).contains(&mean), "{mean}");
    let short = waits.iter().filter(|wait| **wait < mean).count();
    assert!((waits.len() / 4..=waits.len() * 3 / 4).contains(&short), "not one and the same");
}

#[test]
fn a_path_of_few_segments_is_probed_as_often_as_reno_would() {
    // 20 segments fill the path: a probe after at most 20 rounds of 20 ms, not after 2 s.
    let path = Link { round_trip: 20 * MILLISECOND, ..link(400) };
    let moments = lone(&path, 60);
    let probes = episodes(&moments[300..], |moment| moment.queue > 4);
    let each = 57.0 / probes.len() as f64;
    assert!((0.3..=1.0).contains(&each), "every {each} s");
}

#[test]
fn the_round_trip_is_probed_every_five_seconds_for_a_fifth() {
    let moments = lone(&link(400), 60);
    let probes = episodes(&moments[200..], |moment| moment.windows[0] < 0.6 * FULL);
    assert!((9..=12).contains(&probes.len()), "{probes:?}");
    assert_between(&probes, 5.0..=5.3, 0.42);
}

/// So many seconds lie between two probes of the round trip. Each lasts for a fifth, and for `longest` at most: the network is
/// emptied in a round; then 200 ms, to the end of a round.
pub fn assert_between(probes: &[(f64, f64)], between: RangeInclusive<f64>, longest: f64) {
    for pair in probes.windows(2) {
        assert!(between.contains(&(pair[1].0 - pair[0].1)), "{probes:?}");
    }
    for (from, to) in probes {
        assert!((0.2..=longest).contains(&(to - from)), "{from} to {to}");
    }
}

#[test]
fn two_flows_end_with_fair_shares() {
    for limit in [30, 200, 2000] {
        let path = Link { rates: vec![(0, 2000.0)], round_trip: 50 * MILLISECOND, ..link(limit) };
        let flows = [Flow::new("bbr", 0), Flow::new("bbr", 5 * SECOND)];
        let moments = see(&path, &flows, 120);
        let (first, second) = (rate(&moments, 0, 60, 120), rate(&moments, 1, 60, 120));
        assert!((0.8..=1.25).contains(&(first / second)), "{limit}: {first} and {second}");
        assert!(first + second > 0.95 * 2000.0, "{limit}: {first} and {second}");
        // The newcomer is not starved on the way.
        assert!(rate(&moments, 1, 10, 20) > 0.25 * 2000.0, "{limit}");
    }
}

#[test]
fn one_percent_of_random_loss_costs_little_and_reno_nearly_everything() {
    let path = |loss: f64| Link { rates: vec![(0, 10_000.0)], loss, ..link(4000) };
    let share = |loss: f64| rate(&lone(&path(loss), 60), 0, 10, 60) / 10_000.0;
    let whole = share(0.0);
    // Between probes the rate follows what is delivered down: (1 - loss) in each of the up to 30
    // rounds of 100 ms, 0.86 on average for 1 %.
    let (some, more) = (share(0.005), share(0.01));
    assert!(some > 0.85 * whole, "0.5 %: {some} of {whole}");
    assert!(more > 0.8 * whole, "1 %: {more} of {whole}");
    // Above 2 % losses are taken for a full queue.
    let most = share(0.05);
    assert!(most < 0.2 * whole, "5 %: {most} of {whole}");
    // The square-root law: 1.22 segments in a round of 0.1 s over the root of the loss.
    let sack = rate(&see(&path(0.01), &[Flow::new("sack", 0)], 60), 0, 10, 60);
    assert!(sack < 1.3 * 122.5, "{sack}");
}

#[test]
fn ten_times_the_bandwidth_is_found_and_a_tenth_is_accepted() {
    let rates = vec![(0, RATE), (20 * SECOND, 10.0 * RATE), (40 * SECOND, RATE)];
    let path = Link { rates, round_trip: 50 * MILLISECOND, ..link(500) };
    let moments = lone(&path, 120);
    // The next probe, at most 6 s away, grows by a quarter in each round: log 10 / log 1.25 = 10.
    assert!(rate(&moments, 0, 28, 40) > 9300.0, "{}", rate(&moments, 0, 28, 40));
    // Two cycles remember the old bandwidth, and the shortest round trip of ten seconds has the queue
    // in it: pacing 1 % below the rate drains 10 of 500 segments in a second. Meanwhile each round
    // trip is the shortest yet, which puts off probing it until the queue is gone.
    assert!(rate(&moments, 0, 45, 120) > 0.95 * RATE, "{}", rate(&moments, 0, 45, 120));
    assert!(mean_queue(&moments[10_500..]) < 25.0, "{}", mean_queue(&moments[10_500..]));
}

#[test]
fn less_than_a_segment_in_the_path_still_keeps_four_going() {
    let path = Link { rates: vec![(0, 10.0)], round_trip: 10 * MILLISECOND, ..link(50) };
    let moments = lone(&path, 60);
    assert!(rate(&moments, 0, 2, 60) > 9.9, "{}", rate(&moments, 0, 2, 60));
    assert!(moments[500..].iter().all(|moment| moment.windows[0] >= 4.0));
    assert!(moments[500..].iter().all(|moment| moment.queue <= 15));
}

#[test]
fn delayed_acknowledgements_and_the_other_recovery_change_little() {
    for (name, value) in [
        ("delayed_acknowledgements", Value::Switch(true)),
        ("recovery", Value::Choice("sack".to_owned())),
        ("timestamps", Value::Switch(false)),
    ] {
        let mut flow = Flow::new("bbr", 0);
        flow.parameters.insert(name.to_owned(), value);
        let moments = see(&link(50), &[flow], 60);
        assert!(rate(&moments, 0, 10, 60) > 0.94 * RATE, "{name}");
        assert!(mean_queue(&moments[1000..]) < 0.25 * FULL, "{name}");
    }
}
