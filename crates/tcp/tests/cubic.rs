//! CUBIC against the numbers of RFC 9438: the mean window of a flow that loses one packet in every
//! 1/p (equation 6 and the Reno-friendly region, tables 1 and 2), and HyStart++ against what it is
//! for.

use crate::common::carry::{Passage, carry};
use vermilion_parameters::{Value, Values};
use vermilion_tcp::Segment;
use vermilion_tcp::registry::Profile;

const SECOND: u64 = 1_000_000_000;

fn profile(values: &[(&str, Value)]) -> Profile {
    let mut all = Values::from([("handshake".to_owned(), Value::Switch(false))]);
    all.extend(values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Profile::from_values("cubic", &all).unwrap()
}

/// Mean window over many losses, the first twenty left out; every `period`-th packet is lost. The
/// first slow start ends far above the window expected, or with one more loss far below it.
fn mean_window(scaling: f64, above: bool, round_trip: u64, period: u32, expected: f64) -> f64 {
    let plain = ("fast_convergence", Value::Switch(false));
    mean_window_with(plain, scaling, above, round_trip, period, expected)
}

fn mean_window_with(
    value: (&str, Value),
    scaling: f64,
    above: bool,
    round_trip: u64,
    period: u32,
    expected: f64,
) -> f64 {
    let profile = profile(&[
        value,
        ("cubic_scaling", Value::Number(scaling)),
        ("window_cap", Value::Number((3.0 * expected).ceil())),
        ("clock_tick", Value::Number(1e-6)),
    ]);
    let cycle = f64::from(period) / expected * round_trip as f64;
    let (begin, end) = ((20.0 * cycle) as u64, (60.0 * cycle) as u64);
    let early = if above { 0 } else { expected as u32 / 2 };
    let (mut sent, mut before) = (0, 0);
    let (delivered, sender) = carry(
        &profile,
        round_trip,
        end,
        |_, _| {
            sent += 1;
            (sent % period != 0 && sent != early).then_some(Passage { wait: 0, marked: false })
        },
        |now, _, delivered| {
            if now < begin {
                before = delivered;
            }
        },
    );
    assert_eq!(sender.counters().timeouts, 0);
    f64::from(delivered - before) * round_trip as f64 / (end - begin) as f64
}

#[test]
fn the_mean_window_is_that_of_table_1_at_a_round_trip_of_100_ms() {
    // A flow that loses its packet before the plateau comes back a little lower, and one that loses
    // it behind, higher; but the function is so flat there that the step is the cube of the
    // distance, and sixty losses leave some 15 % of it on either side of the RFC's flow, which
    // always loses on the plateau itself.
    for (scaling, period, expected) in [
        (0.4, 10_000, 187.0),
        (0.4, 100_000, 1054.0),
        (0.04, 100_000, 593.0),
        (4.0, 1_000, 59.0),
        (4.0, 10_000, 333.0),
    ] {
        let ratio = |above| mean_window(scaling, above, SECOND / 10, period, expected) / expected;
        let (low, high) = (ratio(false), ratio(true));
        assert!(low < 1.0 && 1.0 < high, "{low:.3} to {high:.3} of {expected}");
        assert!(low > 0.84 && high < 1.17, "{low:.3} to {high:.3} of {expected}");
    }
}

#[test]
fn fast_convergence_costs_a_flow_that_is_alone_a_tenth_of_its_window() {
    // A loss a little before the plateau is taken for a newcomer: the plateau falls by 15 %, and
    // half of the next losses come behind it. From above the table's window it falls below it.
    let fast = || ("fast_convergence", Value::Switch(true));
    for (period, expected) in [(10_000, 187.0), (100_000, 1054.0)] {
        let mean = mean_window_with(fast(), 0.4, true, SECOND / 10, period, expected);
        let ratio = mean / expected;
        assert!((0.85..0.95).contains(&ratio), "1/p {period}: {ratio:.3} of {expected}");
    }
}

#[test]
fn small_windows_have_renos_mean() {
    // The rows of tables 1 and 2 in which the Reno-friendly window is the larger.
    for (scaling, round_trip, period, expected) in [
        (0.4, SECOND / 10, 1_000, 38.0),
        (0.04, SECOND / 10, 10_000, 120.0),
        (0.4, SECOND / 100, 1_000, 38.0),
        (0.4, SECOND / 100, 10_000, 120.0),
        (0.4, SECOND / 100, 100_000, 379.0),
    ] {
        for above in [false, true] {
            let ratio = mean_window(scaling, above, round_trip, period, expected) / expected;
            assert!((ratio - 1.0).abs() < 0.05, "1/p {period}: {ratio:.3} of {expected}");
        }
    }
}

/// Packets lost and delivered in the first ten seconds over a bottleneck of 1000 packets per second
/// and a round trip of 100 ms with room for `room` packets.
fn first_ten_seconds(hystart: bool, room: u64) -> (u32, u32) {
    const SERVICE: u64 = SECOND / 1000;
    let (mut free, mut lost) = (0_u64, 0);
    let queue = |now: u64, _: &Segment| {
        let wait = free.saturating_sub(now);
        if wait / SERVICE >= room {
            lost += 1;
            return None;
        }
        free = free.max(now) + SERVICE;
        Some(Passage { wait: wait + SERVICE, marked: false })
    };
    let profile = profile(&[("hystart", Value::Switch(hystart))]);
    let (delivered, _) = carry(&profile, SECOND / 10, 10 * SECOND, queue, |_, _, _| {});
    (lost, delivered)
}

#[test]
fn hystart_loses_less_than_a_third_of_what_the_standard_slow_start_does() {
    for room in [100, 200, 400] {
        let ((lost, delivered), (lost_without, _)) =
            (first_ten_seconds(true, room), first_ten_seconds(false, room));
        assert!(3 * lost < lost_without, "{lost} and {lost_without} with room for {room}");
        // And slow start is left late enough: the link is never idle for long.
        assert!(delivered > 9_000, "{delivered} with room for {room}");
    }
}
