//! What a timeout takes for lost, and when it reduces the threshold, worked out by hand.
//!
//! Sources: RFC 8985, section 6.3; RFC 5681, section 3.1; RFC 3168, section 6.1.2; Linux 6.12, `tcp_timeout_mark_lost`
//! and `tcp_enter_loss`; ns-2.35, `TcpAgent::timeout`.

use crate::by_hand::{MS, NOTHING, answered, sent, started, started_as, window};
use vermilion_parameters::Value;
use vermilion_tcp::{Acknowledgement, Sender};

fn by(recovery: &str) -> (&'static str, Value) {
    ("recovery", Value::Choice(recovery.to_owned()))
}

/// Window and threshold.
fn windows(sender: &Sender) -> (f64, f64) {
    (sender.window(), sender.threshold())
}

/// The retransmission timer expires when it is due, at `now`. What leaves.
#[track_caller]
fn timed_out(sender: &mut Sender, now: u64) -> Vec<u32> {
    assert_eq!(sender.deadline(), now);
    let before = sender.counters().timeouts;
    sender.on_timer(now);
    assert_eq!(sender.counters().timeouts, before + 1);
    sent(sender, now)
}

/// 2 is lost.
///
/// Ten leave at once. 1 arrives after 100 ms, so the timeout is 100 + max(4 * 50, 200) = 300 ms. The window becomes
/// 11, and 11 and 12 leave. The next acknowledgement tells of 3, 4 and 5: 2 is lost, the threshold is
/// 5, and 2 is sent again.
fn repairing(recovery: &str, segments: u32) -> Sender {
    let [first] = window(10.0);
    let at_once = ("proportional_rate_reduction", Value::Switch(false));
    let mut sender = started(&[first, by(recovery), at_once], segments);
    assert_eq!(sent(&mut sender, 0).len(), 10);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 2, &[]), [11, 12]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 2, &[(3, 6)]), [2]);
    assert_eq!(windows(&sender), (5.0, 5.0));
    sender
}

/// 2 is lost again, and then the round trip gets long, so that the timer comes up while the loss is repaired.
///
/// 6 to 10 arrive after 300 ms. Then 2, 11 and 12 are in the network, so 13 and 14 leave. At 400 ms the timer that
/// began with the repair expires.
fn interrupted_by_arrivals() -> Sender {
    let mut sender = repairing("sack", 100);
    assert_eq!(answered(&mut sender, [0, 300 * MS], 2, &[(3, 11)]), [13, 14]);
    sender
}

/// When the timer of [`interrupted_by_time`] expires.
const LATE: u64 = 737_500_000;

/// As [`interrupted_by_arrivals`], by time, and 13 and 14 are there to be sent from 500 ms on only.
///
/// The report at 300 ms was sent before the repair. So its round trip counts, and the timer runs anew (Linux:
/// `tcp_clean_rtx_queue`). Round trips of 100, 100 and 300 ms have been timed: the smoothed one is 125, four times the
/// variation 200, 150, and 150 + 200 - 37.5. The timer expires after 437.5 ms.
fn interrupted_by_time() -> Sender {
    let mut sender = repairing("rack", 12);
    assert_eq!(answered(&mut sender, [0, 300 * MS], 2, &[(3, 11)]), NOTHING);
    sender.limit_to(100);
    assert_eq!(sent(&mut sender, 500 * MS), [13, 14]);
    sender
}

#[test]
fn by_time_what_left_within_a_round_trip_before_a_timeout_is_not_lost() {
    let mut sender = interrupted_by_time();
    // The last arrival took 300 ms. 11 and 12 left 637.5 ms ago and are overdue, 13 and 14 only 237.5 ms ago. 2 is first.
    assert_eq!(timed_out(&mut sender, LATE), [2]);
    assert_eq!((sender.lost(), sender.in_flight()), (3, 3));
    // Two in the network and one more. The losses being repaired have reduced the threshold already.
    assert_eq!(windows(&sender), (3.0, 5.0));
    // 13 and 14 arrive as late as the others did, and make room for what is lost: they were not sent again.
    assert_eq!(answered(&mut sender, [0, 800 * MS], 2, &[(3, 11), (13, 15)]), [11, 12]);
    // 2 arrives, and slow start makes room for four; 11 and 12 are in the network.
    assert_eq!(answered(&mut sender, [LATE, LATE + 300 * MS], 11, &[(13, 15)]), [15, 16]);
    assert_eq!(windows(&sender), (4.0, 5.0));
    assert_eq!(sender.counters().retransmissions, 4);
}

/// As [`interrupted_by_time`], of CUBIC as Linux has it, and with four segments that are there to be sent from 500 ms on.
/// Its threshold is 7 of 10.
///
/// All but 13 to 16 are lost by the time the timer expires. Then everything arrives. Slow start takes two of the seven
/// segments to the threshold; five count for what comes after it.
fn cubic_after_a_timeout_in_recovery() -> Sender {
    let [first] = window(10.0);
    let at_once = ("proportional_rate_reduction", Value::Switch(false));
    let mut sender = started_as("cubic", &[first, by("rack"), at_once], 12);
    assert_eq!(sent(&mut sender, 0).len(), 10);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 2, &[]), [11, 12]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 2, &[(3, 6)]), [2]);
    assert_eq!(answered(&mut sender, [0, 300 * MS], 2, &[(3, 11)]), NOTHING);
    sender.limit_to(1000);
    assert_eq!(sent(&mut sender, 500 * MS), [13, 14, 15, 16]);
    assert_eq!(timed_out(&mut sender, LATE), [2]);
    assert_eq!(windows(&sender), (5.0, 7.0));
    assert_eq!(
        answered(&mut sender, [LATE, LATE + 100 * MS], 17, &[]),
        [17, 18, 19, 20, 21, 22, 23]
    );
    assert_eq!(windows(&sender), (7.0, 7.0));
    sender
}

#[test]
fn to_linux_cubic_a_timeout_forgets_the_plateau_although_the_window_was_reduced_before() {
    // Linux: tcp_enter_loss leaves the threshold, and tcp_set_ca_state calls bictcp_state all the same. The plateau is
    // now 7, and no target lies above it. The Reno-friendly window grows by one after more than 7 * 15 / 8 = 13
    // segments: with the 14th, nine after the five. With the plateau of 10 the window would grow after two. They come
    // slowly, since the kernel computes its growth anew after 1/32 s at the earliest.
    let mut sender = cubic_after_a_timeout_in_recovery();
    let mut now = LATE + 160 * MS;
    let windows = [18, 19, 20, 21, 22, 23, 24, 25, 26].map(|next_expected| {
        now += 40 * MS;
        answered(&mut sender, [now - 100 * MS, now], next_expected, &[]);
        sender.window()
    });
    assert_eq!(windows, [7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 8.0]);
}

#[test]
fn by_arrivals_a_timeout_means_that_all_that_is_not_reported_is_lost() {
    let mut sender = interrupted_by_arrivals();
    assert_eq!(timed_out(&mut sender, 400 * MS), [2]);
    assert_eq!((sender.lost(), sender.in_flight()), (5, 1));
    // RFC 5681: 2 had not been sent again for the timer, so half of the window of five.
    assert_eq!(windows(&sender), (1.0, 2.0));
}

#[test]
fn without_an_arrival_to_compare_with_a_timeout_takes_all_for_lost() {
    // No round trip is known.
    let mut sender = started(&[window(4.0)[0].clone(), by("rack")], 4);
    assert_eq!(sent(&mut sender, 0), [1, 2, 3, 4]);
    sender.on_timer(1000 * MS); // the probe goes instead of the timer, and the timer begins anew
    assert_eq!(sent(&mut sender, 1000 * MS), [4]);
    assert_eq!(timed_out(&mut sender, 2000 * MS), [1]);
    assert_eq!((sender.lost(), sender.window()), (4, 1.0));
}

#[test]
fn to_linux_a_timeout_without_progress_leaves_the_threshold_that_recovery_has_set() {
    let mut sender = interrupted_by_time();
    timed_out(&mut sender, LATE);
    // The timeout has doubled.
    let later = LATE + 2 * (LATE - 300 * MS);
    timed_out(&mut sender, later);
    assert_eq!(sender.threshold(), 5.0);
    // 2 arrives, and 11 does not: progress. The window is two segments then, and so is the least threshold.
    answered(&mut sender, [later, later + 100 * MS], 11, &[]);
    assert_eq!(sender.window(), 2.0);
    let due = sender.deadline();
    timed_out(&mut sender, due);
    assert_eq!(sender.threshold(), 2.0);
}

/// Forty are sent, and nothing arrives. The thresholds after a timeout, after another one, and after a third, before which
/// the first segment has arrived.
fn thresholds_of_three(recovery: &str) -> [f64; 3] {
    let probe = ("tail_loss_probe", Value::Switch(false));
    let mut sender = started(&[window(40.0)[0].clone(), by(recovery), probe], 100);
    assert_eq!(sent(&mut sender, 0).len(), 40);
    // No round trip is known: a second, then two.
    assert_eq!(timed_out(&mut sender, 1000 * MS), [1]);
    let first = sender.threshold();
    assert_eq!(timed_out(&mut sender, 3000 * MS), [1]);
    let second = sender.threshold();
    assert_eq!(answered(&mut sender, [3000 * MS, 3100 * MS], 2, &[]), [2, 3]);
    assert_eq!(timed_out(&mut sender, 3400 * MS), [2]);
    [first, second, sender.threshold()]
}

#[test]
fn a_repeated_timeout_reduces_the_threshold_after_progress_or_never() {
    // Linux: the third one finds a window of two that has made progress.
    assert_eq!(thresholds_of_three("rack"), [20.0, 20.0, 2.0]);
    assert_eq!(thresholds_of_three("linux-newreno"), [20.0, 20.0, 2.0]);
    // RFC 5681: 2 has been sent again already, in the repair of the timeouts before.
    assert_eq!(thresholds_of_three("sack"), [20.0, 20.0, 20.0]);
    // ns-2 reduces every time: 40 to 20, then one segment and two to the least.
    assert_eq!(thresholds_of_three("newreno"), [20.0, 2.0, 2.0]);
}

/// A mark halves a window of ten, and all of it is acknowledged, with something sent later. Then nothing arrives any
/// more. Window before the timeout, threshold after it.
fn long_after_a_mark(name: &str, parameters: &[(&str, Value)]) -> (f64, f64) {
    let ecn = ("ecn", Value::Switch(true));
    let [first] = window(10.0);
    let mut given = vec![first, ecn, ("tail_loss_probe", Value::Switch(false))];
    given.extend(parameters.iter().cloned());
    let mut sender = started_as(name, &given, 1000);
    let mut last = sent(&mut sender, 0).len() as u32;
    let mut now = 0;
    for round in 0..6 {
        now += 100 * MS;
        let answer = Acknowledgement {
            next_expected: last + 1,
            echo: now - 100 * MS,
            congestion_echo: round == 0,
            ..Acknowledgement::default()
        };
        sender.on_acknowledgement(now, &answer);
        last += sent(&mut sender, now).len() as u32;
    }
    let window = sender.window();
    let due = sender.deadline();
    timed_out(&mut sender, due);
    (window, sender.threshold())
}

#[test]
fn a_mark_of_an_earlier_window_does_not_excuse_a_timeout() {
    for (name, recovery) in
        [("sack", Some("rack")), ("sack", Some("sack")), ("newreno", None), ("cubic", Some("sack"))]
    {
        let recovery: Vec<_> = recovery.map(by).into_iter().collect();
        let (window, threshold) = long_after_a_mark(name, &recovery);
        assert!(window > 5.0 && threshold < window, "{name}: {threshold} of {window}");
    }
}

#[test]
fn to_ns2_the_last_mark_excuses_a_timeout_however_long_ago_it_was() {
    for recovery in ["reno", "newreno", "sack1"] {
        let (window, threshold) = long_after_a_mark("sack", &[by(recovery)]);
        assert!(window > 5.0 && threshold == 5.0, "{recovery}: {threshold} of {window}");
    }
}

#[test]
fn a_mark_in_the_same_window_excuses_a_timeout() {
    for recovery in ["rack", "sack", "linux-newreno", "newreno"] {
        let [first] = window(10.0);
        let probe = ("tail_loss_probe", Value::Switch(false));
        let ecn = ("ecn", Value::Switch(true));
        let mut sender = started(&[first, by(recovery), probe, ecn], 1000);
        assert_eq!(sent(&mut sender, 0).len(), 10);
        let answer =
            Acknowledgement { next_expected: 3, congestion_echo: true, ..Default::default() };
        sender.on_acknowledgement(100 * MS, &answer);
        sent(&mut sender, 100 * MS);
        assert_eq!(sender.threshold(), 5.0, "{recovery}");
        let due = sender.deadline();
        timed_out(&mut sender, due);
        assert_eq!(sender.threshold(), 5.0, "{recovery}");
    }
}

/// Window and threshold of a connection that opens after so many lost SYNs. With RFC 6298's first timeout of 1 s, and
/// Linux's four that do not double it, the SYNs leave at 0, 1, 2 s.
#[track_caller]
fn opened_after(lost: u64, recovery: &str, rule: &str) -> (f64, f64) {
    let rule = ("handshake_loss", Value::Choice(rule.to_owned()));
    let handshake = ("handshake", Value::Switch(true));
    let [first] = window(10.0);
    let mut sender = started(&[first, by(recovery), rule, handshake], 100);
    assert_eq!(sent(&mut sender, 0), [0]);
    let second = 1000 * MS;
    for at in 1..=lost {
        assert_eq!(timed_out(&mut sender, at * second), [0]);
    }
    let [echo, now] = [lost * second, lost * second + 100 * MS];
    answered(&mut sender, [echo, now], 1, &[]);
    windows(&sender)
}

#[test]
fn a_lost_syn_costs_the_first_window_and_not_the_threshold() {
    let cap = 10_000.0;
    for recovery in ["rack", "sack", "sack1", "newreno", "reno", "tahoe", "linux-newreno"] {
        for rule in ["timeout", "rfc5681", "linux"] {
            assert_eq!(opened_after(0, recovery, rule), (10.0, cap), "{recovery}, {rule}");
        }
        // RFC 5681, section 3.1: one segment. Linux: from the second one on.
        for (lost, window) in [(1, 1.0), (2, 1.0)] {
            assert_eq!(opened_after(lost, recovery, "rfc5681"), (window, cap), "{recovery}");
        }
        for (lost, window) in [(1, 10.0), (2, 1.0)] {
            assert_eq!(opened_after(lost, recovery, "linux"), (window, cap), "{recovery}");
        }
        // ns-2.35, `TcpAgent::timeout`: like any timeout; the window is the initial one all the same.
        for lost in [1, 2] {
            assert_eq!(opened_after(lost, recovery, "timeout"), (10.0, 2.0), "{recovery}");
        }
    }
}

#[test]
fn a_lost_syn_tells_a_rule_nothing() {
    let [first] = window(10.0);
    for name in ["cubic", "bbr", "bbr1", "ledbat", "dctcp", "prague"] {
        let begin = |lost: u64| {
            let mut sender =
                started_as(name, &[("handshake", Value::Switch(true)), first.clone()], 400);
            let begun = 5000 * MS - lost * 1000 * MS;
            assert_eq!(sent(&mut sender, begun), [0]);
            for at in 1..=lost {
                assert_eq!(timed_out(&mut sender, begun + at * 1000 * MS), [0]);
            }
            // Three round trips of 100 ms, each answered as a whole.
            let mut seen = Vec::new();
            let mut next = 1;
            for round in 0..3 {
                let echo = (5000 + 100 * round) * MS;
                let mut now = echo + 100 * MS;
                let mut left = answered(&mut sender, [echo, now], next, &[]);
                while sender.release() > now {
                    now = sender.release();
                    left.extend(sent(&mut sender, now));
                }
                seen.push((windows(&sender), left.len()));
                next += left.len() as u32;
            }
            seen
        };
        assert_eq!(begin(0), begin(1), "{name}");
    }
}
