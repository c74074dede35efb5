//! BBR version 1 seen from outside: what its paper (Cardwell et al., ACM Queue 2016) says of rates, queues and times.

use crate::bbr::{FULL, RATE, SECOND, assert_between, episodes, link, mean_queue, rate, see};
use crate::common::bottleneck::{Flow, Link, MILLISECOND, Moment};

fn lone(link: &Link, seconds: u64) -> Vec<Moment> {
    see(link, &[Flow::new("bbr1", 0)], seconds)
}

#[test]
fn a_lone_flow_uses_the_link_and_keeps_the_queue_short() {
    let moments = lone(&link(400), 60);
    assert!(rate(&moments, 0, 1, 60) > 0.95 * RATE, "{}", rate(&moments, 0, 1, 60));
    assert_eq!(moments.last().unwrap().drops, 0);
    // A quarter more for one round trip in eight, and drained in the next.
    let steady = &moments[300..];
    assert!(mean_queue(steady) < 0.12 * FULL, "{}", mean_queue(steady));
    let most = steady.iter().map(|moment| moment.queue).max().unwrap() as f64;
    assert!((0.15 * FULL..=0.4 * FULL).contains(&most), "{most}");
}

#[test]
fn the_bandwidth_is_probed_once_in_eight_round_trips() {
    // Between two probes of the round trip: 100 ms each, and those of less end early.
    let moments = lone(&link(400), 9);
    let probes = episodes(&moments[300..], |moment| moment.queue as f64 > 0.15 * FULL);
    let each = 6.0 / probes.len() as f64;
    assert!((0.7..=1.0).contains(&each), "every {each} s");
}

#[test]
fn the_round_trip_is_probed_every_ten_seconds_with_four_segments() {
    let moments = lone(&link(400), 65);
    let probes = episodes(&moments[200..], |moment| moment.windows[0] <= 4.0);
    assert!((5..=6).contains(&probes.len()), "{probes:?}");
    assert_between(&probes, 10.0..=10.3, 0.5);
}

#[test]
fn startup_fills_the_path_and_drain_empties_the_queue() {
    let moments = lone(&link(1000), 5);
    // Three rounds without growth are sent at 2.89 times the bandwidth, which the window bounds: as much as fills the path
    // 2.89 times, of which the path holds one.
    let most = moments.iter().map(|moment| moment.queue).max().unwrap() as f64;
    assert!((1.5 * FULL..=2.1 * FULL).contains(&most), "{most}");
    // At 0.34 of the rate it shrinks by 66 segments in 100 ms, until the network holds what fills the path and three bursts.
    let full = moments.iter().rposition(|moment| moment.queue as f64 > 0.95 * most).unwrap();
    let empty = moments[full..].iter().position(|moment| moment.queue <= 10).unwrap();
    let expected = 100.0 * (most - 10.0) / (0.66 * RATE);
    assert!((0.9 * expected..=1.3 * expected).contains(&(empty as f64)), "{empty} {expected}");
    // The queue is full when a round trip has brought no more, and three round trips of 0.29 s later that is noticed.
    let begun = moments.iter().position(|moment| moment.queue as f64 > 0.95 * most).unwrap();
    assert!((60..=150).contains(&(full - begun)), "{begun} {full}");
}

#[test]
fn random_losses_of_five_percent_cost_little_and_those_of_a_third_nearly_everything() {
    // The paper's figure 8: the bandwidth is kept up to losses of 15 %, and cannot be beyond the probes' 20 %.
    let path = |loss: f64| Link { rates: vec![(0, 10_000.0)], loss, ..link(4000) };
    let share = |loss: f64| rate(&lone(&path(loss), 60), 0, 10, 60) / 10_000.0;
    let whole = share(0.0);
    for (loss, least) in [(0.01, 0.95), (0.05, 0.9), (0.1, 0.8)] {
        let some = share(loss);
        assert!(some > least * whole, "{loss}: {some} of {whole}");
    }
    let most = share(0.35);
    assert!(most < 0.2 * whole, "35 %: {most} of {whole}");
}

#[test]
fn a_queue_that_holds_less_than_the_path_is_overrun() {
    // Two flows have twice what fills the path in the network, as each takes its share for its own
    // (Hock, Bless and Zitterbart, "Experimental Evaluation of BBR Congestion Control", ICNP 2017).
    let path = Link { rates: vec![(0, RATE)], ..link(20) };
    let flows = [Flow::new("bbr1", 0), Flow::new("bbr1", 100 * MILLISECOND)];
    let moments = see(&path, &flows, 60);
    let sent = moments.last().unwrap().delivered.iter().sum::<u64>() as f64;
    let lost = (moments.last().unwrap().drops - moments[999].drops) as f64 / (sent * 50.0 / 60.0);
    assert!(lost > 0.03, "{lost}");
    assert!(rate(&moments, 0, 10, 60) + rate(&moments, 1, 10, 60) > 0.95 * RATE);
    let reno = see(&path, &[Flow::new("sack", 0), Flow::new("sack", 100 * MILLISECOND)], 60);
    let of_reno = (reno.last().unwrap().drops - reno[999].drops) as f64 / (sent * 50.0 / 60.0);
    assert!(of_reno < 0.1 * lost, "{of_reno} {lost}");
}

#[test]
fn two_flows_end_with_fair_shares_where_the_queue_is_long() {
    let path = Link { rates: vec![(0, 2000.0)], round_trip: 50 * MILLISECOND, ..link(2000) };
    let flows = [Flow::new("bbr1", 0), Flow::new("bbr1", 5 * SECOND)];
    let moments = see(&path, &flows, 120);
    let (first, second) = (rate(&moments, 0, 40, 120), rate(&moments, 1, 40, 120));
    assert!((0.8..=1.25).contains(&(first / second)), "{first} and {second}");
    assert!(first + second > 0.95 * 2000.0, "{first} and {second}");
}

#[test]
fn less_than_a_segment_in_the_path_still_keeps_four_going() {
    let path = Link { rates: vec![(0, 10.0)], round_trip: 10 * MILLISECOND, ..link(50) };
    let moments = lone(&path, 60);
    assert!(rate(&moments, 0, 2, 60) > 9.9, "{}", rate(&moments, 0, 2, 60));
    assert!(moments[500..].iter().all(|moment| moment.windows[0] >= 4.0));
    assert!(moments[500..].iter().all(|moment| moment.queue <= 15));
}
