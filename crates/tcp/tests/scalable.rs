//! Senders that answer every mark (DCTCP, Prague, REM): windows and queues against what follows from
//! their rules.

use crate::common::carry::{Passage, carry};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use vermilion_parameters::{Value, Values};
use vermilion_tcp::Segment;
use vermilion_tcp::registry::Profile;

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

fn profile(sender: &str, values: &[(&str, Value)]) -> Profile {
    let mut all = Values::from([("handshake".to_owned(), Value::Switch(false))]);
    all.extend(values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Profile::from_values(sender, &all).unwrap()
}

/// Delivered segments per second over a path that marks each with probability `mark`.
fn rate(sender: &str, values: &[(&str, Value)], round_trip: u64, mark: f64) -> f64 {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
    let path = |_, _: &Segment| {
        let marked = (generator.next_u64() as f64 / u64::MAX as f64) < mark;
        Some(Passage { wait: 0, marked })
    };
    let (begin, end) = (100 * SECOND, 500 * SECOND);
    let mut before = 0;
    let (delivered, _) =
        carry(&profile(sender, values), round_trip, end, path, |now, _, delivered| {
            if now < begin {
                before = delivered;
            }
        });
    f64::from(delivered - before) / 400.0
}

#[track_caller]
fn assert_near(measured: f64, predicted: f64, tolerance: f64) {
    let ratio = measured / predicted;
    println!("{measured:.4} against {predicted:.4}: {ratio:.3}");
    assert!((ratio - 1.0).abs() <= tolerance, "{measured:.1} against {predicted:.1}: {ratio:.3}");
}

/// Under marks at random with probability p the average fraction is p. A reduction takes W p / 2. The
/// next one follows at the first mark after a round trip, so after 1 + 1/(p W) round trips, in
/// which the window has grown by 1 - p segments each. With x = p W: x / 2 = 1 + 1 / x, of which
/// the root is 1 + sqrt(3). (Were there always a mark to answer, it would be the 2 / p of
/// De Schepper and others.)
#[test]
fn at_random_marks_the_window_is_inversely_proportional_to_their_probability() {
    let root = 1.0 + 3.0_f64.sqrt();
    for mark in [0.01, 0.02, 0.05] {
        let predicted = root * (1.0 - mark) / mark / 0.1;
        for sender in ["dctcp", "prague"] {
            assert_near(rate(sender, &[], SECOND / 10, mark), predicted, 0.1);
        }
    }
}

#[test]
fn twice_the_marks_halve_a_scalable_flow_and_not_a_classic_one() {
    let classic = [("ecn", Value::Switch(true))];
    let ratio = |sender, values: &[(&str, Value)]| {
        rate(sender, values, SECOND / 10, 0.01) / rate(sender, values, SECOND / 10, 0.02)
    };
    assert_near(ratio("dctcp", &[]), 2.0, 0.1);
    assert_near(ratio("prague", &[]), 2.0, 0.1);
    assert_near(ratio("sack", &classic), 2.0_f64.sqrt(), 0.1);
}

#[test]
fn prague_at_a_short_round_trip_is_as_fast_as_at_the_reference() {
    let reference = rate("prague", &[], 25 * MILLISECOND, 0.02);
    assert_near(rate("prague", &[], 5 * MILLISECOND, 0.02), reference, 0.15);
    // Otherwise it is as much faster as the round trip is shorter.
    let dependent = [("round_trip_independence", Value::Switch(false))];
    assert_near(rate("prague", &dependent, 5 * MILLISECOND, 0.02), 5.0 * reference, 0.15);
}

/// Record of a bottleneck that marks whatever meets a queue of `threshold` packets or more.
struct Bottleneck {
    marked: f64,
    least: u64,
    most: u64,
}

/// 10 000 packets per second, 20 ms, after 20 s.
fn step(sender: &str, gain: f64, threshold: u64) -> Bottleneck {
    const SERVICE: u64 = SECOND / 10_000;
    let mut free = 0_u64;
    let (mut packets, mut marks, mut least, mut most) = (0_u32, 0_u32, u64::MAX, 0);
    let queue = |now: u64, _: &Segment| {
        let wait = free.saturating_sub(now);
        let waiting = wait.div_ceil(SERVICE);
        let marked = waiting >= threshold;
        if now > 20 * SECOND {
            packets += 1;
            marks += u32::from(marked);
            (least, most) = (least.min(waiting), most.max(waiting));
        }
        free = free.max(now) + SERVICE;
        Some(Passage { wait: wait + SERVICE, marked })
    };
    let profile = profile(sender, &[("mark_gain", Value::Number(gain))]);
    let (_, sender) = carry(&profile, 20 * MILLISECOND, 100 * SECOND, queue, |_, _, _| {});
    assert_eq!(sender.counters(), vermilion_tcp::Counters::default());
    Bottleneck { marked: f64::from(marks) / f64::from(packets), least, most }
}

/// Alizadeh and others 2010, section 3.3: with W* = C R + K the fraction of marks is about
/// sqrt(2 / W*), the queue's amplitude sqrt(2 W*) / 2, and its greatest length K + 1 for one flow. The
/// derivation takes the average for constant over the eleven round trips of a cycle, so the gain
/// must be far below 1.386 / sqrt(2 W*) = 0.06 (there, section 3.4): with 1/16 the average has fallen
/// by a third when the mark comes, and the queue swings less.
#[test]
fn dctcp_at_a_step_marks_and_oscillates_as_alizadeh_derived() {
    for threshold in [30, 65] {
        let window = 200.0 + threshold as f64;
        let seen = step("dctcp", 0.01, threshold);
        assert_near(seen.marked, (2.0 / window).sqrt(), 0.15);
        let amplitude = (seen.most - seen.least) as f64;
        assert_near(amplitude, (2.0 * window).sqrt() / 2.0, 0.2);
        assert!(seen.most <= threshold + 3, "{} above {threshold}", seen.most);
        assert!(seen.least > 0, "the link is never idle");
    }
}

#[test]
fn rem_sends_at_the_weight_over_the_price_of_its_path() {
    // A path of price P marks with probability 1 - 1.04^-P; the rate is to be 4000 / P.
    for price in [10.0, 20.0, 40.0] {
        let mark = 1.0 - 1.04_f64.powf(-price);
        // The fraction of the last N is taken from so many that its scatter hardly bends the price.
        let memory = [("marks_memory", Value::Number(1000.0))];
        let rate = rate("rem", &memory, SECOND / 2, mark);
        // Rounding the window up adds half a segment in a round trip.
        assert_near(rate, 4000.0 / price + 1.0, 0.02);
    }
}

#[test]
fn the_smoothed_source_of_rem_comes_to_the_same_rate() {
    let values = [
        ("marks_memory", Value::Number(1000.0)),
        ("adjustment", Value::Choice("smoothed".to_owned())),
    ];
    let mark = 1.0 - 1.04_f64.powf(-20.0);
    assert_near(rate("rem", &values, SECOND / 10, mark), 200.0, 0.05);
}

/// As Linux has it where the congestion control needs ECN (`tcp_ecn_send_syn`), and RFC 3168 (section
/// 6.1.1) for all others. Behind a queue that marks from a few packets on, only what is ECN-capable gets through.
#[test]
fn the_opening_segment_is_ecn_capable_where_the_rule_needs_ecn() {
    let opening = |sender: &str, ecn: bool| {
        let values = Values::from([("ecn".to_owned(), Value::Switch(ecn))]);
        let profile = Profile::from_values(sender, &values).unwrap();
        let (mut sender, _) = profile.ends(0);
        sender.start(&profile.sender);
        let segment = sender.next_segment(0).unwrap();
        assert_eq!(segment.sequence, 0);
        (segment.ecn_capable, segment.scalable)
    };
    assert_eq!(opening("dctcp", true), (true, false));
    assert_eq!(opening("prague", true), (true, true));
    for sender in ["newreno", "cubic", "rem"] {
        assert_eq!(opening(sender, true), (false, false), "{sender}");
    }
    assert_eq!(opening("dctcp", false), (false, false));
}

/// Linux, `tcp_ecn_send`: what is sent again is not ECN-capable, unless the congestion control needs ECN.
#[test]
fn as_in_linux_what_is_sent_again_is_ecn_capable_where_the_rule_needs_ecn() {
    for (sender, expected) in [("dctcp", true), ("prague", true), ("cubic", false)] {
        let linux = Value::Choice("linux".to_owned());
        let profile = profile(sender, &[("ecn", Value::Switch(true)), ("option_set", linux)]);
        let mut seen = Vec::new();
        carry(
            &profile,
            SECOND / 50,
            SECOND,
            |_, segment| {
                if segment.sequence == 5 {
                    seen.push(segment.ecn_capable);
                }
                let lost = segment.sequence == 5 && seen.len() == 1;
                (!lost).then_some(Passage { wait: 0, marked: false })
            },
            |_, _, _| {},
        );
        assert!(seen.len() > 1 && seen[0], "{sender}: {seen:?}");
        assert!(seen[1..].iter().all(|&again| again == expected), "{sender}: {seen:?}");
    }
}
