//! LEDBAT from outside: the queue that it keeps, and what it leaves to others (RFC 6817, section 1).

use crate::common::bottleneck::{Flow, Link, MILLISECOND, Moment, watch};

const SECOND: u64 = 1000 * MILLISECOND;

/// 1000 segments per second, 40 ms, and a buffer of this many segments.
fn link(limit: usize) -> Link {
    Link { rates: vec![(0, 1000.0)], round_trip: 40 * MILLISECOND, limit, loss: 0.0 }
}

fn after(moments: &[Moment], time: u64) -> &[Moment] {
    &moments[moments.iter().position(|moment| moment.time >= time).unwrap()..]
}

fn mean_queue(moments: &[Moment]) -> f64 {
    moments.iter().map(|moment| moment.queue as f64).sum::<f64>() / moments.len() as f64
}

/// Segments per second of each flow.
fn rates(moments: &[Moment]) -> Vec<f64> {
    let (first, last) = (&moments[0], &moments[moments.len() - 1]);
    let seconds = (last.time - first.time) as f64 / 1e9;
    let flows = first.delivered.iter().zip(&last.delivered);
    flows.map(|(before, now)| (now - before) as f64 / seconds).collect()
}

#[test]
fn alone_it_fills_the_link_and_keeps_the_queue_at_its_target() {
    let moments = watch(&link(1000), &[Flow::new("ledbat", 0)], 60 * SECOND, 10 * MILLISECOND, 1);
    let steady = after(&moments, 40 * SECOND);
    assert!(rates(steady)[0] > 999.0);
    // 100 ms of 1000 segments per second.
    let queue = mean_queue(steady);
    let window = moments.last().unwrap().windows[0];
    assert!((135.0..145.0).contains(&window), "{window}");
    assert!((97.0..103.0).contains(&queue), "{queue}");
    assert_eq!(moments.last().unwrap().drops, 0);
}

/// 300 ms of buffer: SACK's sawtooth, from 170 to 340 segments, stays beyond the target.
#[test]
fn beside_a_flow_that_fills_the_buffer_it_keeps_next_to_nothing() {
    let flows = [Flow::new("ledbat", 0), Flow::new("sack", 5 * SECOND)];
    let moments = watch(&link(300), &flows, 120 * SECOND, 10 * MILLISECOND, 1);
    let rates = rates(after(&moments, 40 * SECOND));
    assert!(rates[0] + rates[1] > 990.0, "{rates:?}");
    // Two segments in a round trip of 170 to 340 ms, and now and then one more.
    assert!((2.0 / 0.34..20.0).contains(&rates[0]), "{rates:?}");
}

/// Who has never seen the queue empty takes what stands in it for the path: a known weakness.
#[test]
fn a_latecomer_knows_no_better_and_takes_more() {
    let late = [Flow::new("sack", 0), Flow::new("ledbat", 5 * SECOND)];
    let moments = watch(&link(300), &late, 120 * SECOND, 10 * MILLISECOND, 1);
    let rates = rates(after(&moments, 40 * SECOND));
    assert!(rates[1] > 50.0, "{rates:?}");
}

#[test]
fn it_takes_what_becomes_free() {
    let mut widened = link(1000);
    widened.rates = vec![(0, 500.0), (60 * SECOND, 1000.0)];
    let flows = [Flow::new("ledbat", 0)];
    let moments = watch(&widened, &flows, 120 * SECOND, 10 * MILLISECOND, 1);
    assert!(rates(after(&moments, 90 * SECOND))[0] > 999.0);
}

#[test]
fn within_a_small_buffer_it_is_no_more_than_another_reno() {
    // 30 ms of buffer: the target is never reached, losses alone make it give way.
    let flows = [Flow::new("sack", 0), Flow::new("ledbat", 0)];
    let moments = watch(&link(30), &flows, 200 * SECOND, 10 * MILLISECOND, 1);
    let rates = rates(after(&moments, 50 * SECOND));
    let share = rates[1] / (rates[0] + rates[1]);
    assert!((0.2..0.6).contains(&share), "{rates:?}");
}
