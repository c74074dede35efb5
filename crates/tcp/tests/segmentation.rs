//! Segmentation offload as Linux has it, worked out by hand: how many segments are worth a burst, and when fewer leave
//! all the same.
//!
//! Source: Linux 6.12.117, `tcp_tso_autosize`, `tcp_tso_should_defer`. Windows grow as in congestion avoidance
//! from the start, and none of them has grown by the end of its test. Spacing: `tcp_update_pacing_rate`,
//! `tcp_update_skb_after_send`.

use crate::by_hand::{MS, NOTHING, answered, sent, started};
use vermilion_parameters::Value;
use vermilion_tcp::Sender;

/// A window of so many segments, all of which have left at 0.
fn full(segments: u32, data: u32) -> Sender {
    full_as(segments, data, true)
}

fn full_as(segments: u32, data: u32, offload: bool) -> Sender {
    let mut sender = started(
        &[
            ("initial_window", Value::Number(f64::from(segments))),
            ("initial_slow_start_threshold", Value::Number(2.0)),
            ("segmentation_offload", Value::Switch(offload)),
        ],
        data,
    );
    assert_eq!(sent(&mut sender, 0).len(), segments as usize);
    sender
}

/// How many leave at `now`, when all before `next_expected` has arrived of what left at 0.
fn released(sender: &mut Sender, now: u64, next_expected: u32) -> usize {
    answered(sender, [0, now], next_expected, &[]).len()
}

#[test]
fn one_segment_waits_for_a_second() {
    // 1.2 * 9 segments in 100 ms are a tenth of a segment in a millisecond: a burst is the least, two.
    let mut sender = full(9, 1000);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 3, &[]), [10, 11]);
    assert_eq!(answered(&mut sender, [0, 100 * MS + MS / 2], 4, &[]), NOTHING);
    assert_eq!(answered(&mut sender, [0, 100 * MS + MS / 2], 5, &[]), [12, 13]);
    let mut without = full_as(9, 1000, false);
    assert_eq!(answered(&mut without, [0, 100 * MS], 3, &[]), [10, 11]);
    assert_eq!(answered(&mut without, [0, 100 * MS + MS / 2], 4, &[]), [12]);
}

#[test]
fn nothing_waits_where_nothing_has_left_for_a_millisecond() {
    let mut sender = full(9, 1000);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 3, &[]), [10, 11]);
    assert_eq!(answered(&mut sender, [0, 101 * MS], 4, &[]), NOTHING);
    let mut sender = full(9, 1000);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 3, &[]), [10, 11]);
    assert_eq!(answered(&mut sender, [0, 101 * MS + 1], 4, &[]), [12]);
}

#[test]
fn a_third_of_the_window_does_not_wait() {
    for (window, expected) in [(3, 1), (4, 0)] {
        let mut sender = full(window, 1000);
        // A single one leaves: nothing had left for a hundred milliseconds.
        assert_eq!(released(&mut sender, 100 * MS, 2), 1);
        assert_eq!(released(&mut sender, 100 * MS + MS / 2, 3), expected, "window {window}");
    }
}

#[test]
fn the_last_segment_does_not_wait() {
    let mut sender = full(9, 11);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 2, &[]), [10]);
    assert_eq!(answered(&mut sender, [0, 100 * MS + MS / 2], 3, &[]), [11]);
}

#[test]
fn nothing_waits_for_an_acknowledgement_that_is_far() {
    // All arrives, the window becomes 10, and all of it leaves in pairs. 10 is acknowledged after half a millisecond;
    // 11 left at 100 ms as well, and is not expected within a millisecond.
    let mut sender = full(9, 1000);
    assert_eq!(released(&mut sender, 100 * MS, 10), 10);
    assert_eq!(answered(&mut sender, [100 * MS, 100 * MS + MS / 2], 11, &[]), [20]);
}

#[test]
fn nothing_waits_while_losses_are_repaired() {
    // 1 is lost. Of 9 outstanding 3 have arrived: 3 * 4 / 9 leave, rounded up, one of them again. Then 5 * 4 / 9,
    // of which two have left (RFC 9937).
    let mut sender = full(9, 1000);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[(2, 5)]), [1, 10]);
    assert_eq!(answered(&mut sender, [0, 100 * MS + MS / 2], 1, &[(2, 7)]), [11]);
}

#[test]
fn a_burst_is_what_a_millisecond_carries() {
    // 1.2 * 100 segments in 10 ms are 11.7 in 1/1024 s.
    let mut sender = full(100, 1000);
    assert_eq!(released(&mut sender, 10 * MS, 12), 11);
    assert_eq!(released(&mut sender, 10 * MS + MS / 10, 22), 0);
    assert_eq!(released(&mut sender, 10 * MS + MS / 5, 23), 11);
}

#[test]
fn a_near_receiver_is_sent_more_at_once() {
    // 1.2 * 102 segments in 4 ms are 29.9 in 1/1024 s. 4 ms are 7 times 512 us, and 45 / 2^7 are 0.35: a burst has 30.
    let mut sender = full(102, 1000);
    assert_eq!(released(&mut sender, 4 * MS, 30), 29);
    assert_eq!(released(&mut sender, 4 * MS + MS / 10, 59), 0);
}

#[test]
fn a_burst_has_64_kilobytes_at_most() {
    // 1.2 * 1000 segments in 10 ms would be 117.
    let mut sender = full(1000, 10_000);
    assert_eq!(released(&mut sender, 10 * MS, 46), 45);
    assert_eq!(released(&mut sender, 10 * MS + MS / 10, 90), 0);
    assert_eq!(released(&mut sender, 10 * MS + MS / 5, 91), 45);
}

/// The same of a sender that is paced. The first ten segments are not.
fn paced(segments: u32, parameters: &[(&str, Value)]) -> Sender {
    let mut all = vec![
        ("initial_window", Value::Number(f64::from(segments))),
        ("initial_slow_start_threshold", Value::Number(2.0)),
        ("segmentation_offload", Value::Switch(true)),
        ("pacing", Value::Switch(true)),
    ];
    all.extend_from_slice(parameters);
    let mut sender = started(&all, 1000);
    assert_eq!(sent(&mut sender, 0).len(), segments as usize);
    sender
}

#[test]
fn paced_segments_leave_in_bursts_whose_spacing_is_that_of_all_their_segments() {
    let mut sender = paced(9, &[]);
    // 1.2 * 9 segments in 100 ms are one in 9.259259 ms. Nothing had left for 100 ms, so half of it is made up for.
    assert_eq!(answered(&mut sender, [0, 100 * MS], 3, &[]), [10, 11]);
    assert_eq!(sender.release(), 109_259_260);
    assert_eq!(answered(&mut sender, [0, 100 * MS + 1], 6, &[]), NOTHING);
    assert_eq!(sent(&mut sender, 109_259_259), NOTHING);
    // The window has room for three. Two are a burst, and it left on time.
    assert_eq!(sent(&mut sender, 109_259_260), [12, 13]);
    assert_eq!(sender.release(), 109_259_260 + 2 * 9_259_259);
    // The third waits for another: less than a millisecond has passed since it might have left.
    assert_eq!(sent(&mut sender, 128_777_778), NOTHING);
    assert_eq!(sent(&mut sender, 128_777_779), [14]);
    // Of one segment half at most is made up for as well, and a millisecond and a nanosecond is less.
    assert_eq!(sender.release(), 128_777_779 + 9_259_259 - MS - 1);
}

#[test]
fn no_more_than_half_of_a_window_leaves_at_once() {
    let mut sender = paced(3, &[("window_cap", Value::Number(3.0))]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 4, &[]), [4, 5, 6]);
    assert_eq!(answered(&mut sender, [100 * MS, 200 * MS], 7, &[]), [7, 8, 9]);
    // Those were not spaced. Now one leaves, where two would be a burst: half of three is one.
    assert_eq!(answered(&mut sender, [200 * MS, 300 * MS], 10, &[]), [10]);
    let next = sender.release();
    assert!(next > 300 * MS);
    assert_eq!(sent(&mut sender, next), [11]);
}

#[test]
fn what_is_sent_again_is_spaced_alone() {
    let mut sender = paced(9, &[]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 3, &[]), [10, 11]);
    let late = 200 * MS;
    // 3 and 4 are lost: one leaves at once, the other one after its spacing.
    assert_eq!(answered(&mut sender, [0, late], 3, &[(5, 10)]), [3]);
    let next = sender.release();
    assert!(next > late);
    assert_eq!(sent(&mut sender, next), [4]);
}
