//! Recovery by time (RACK-TLP) as RFC 8985 and Linux have it, worked out by hand.
//!
//! Sources: RFC 8985, sections 6.2 and 7; RFC 9937; Linux 6.12, `tcp_rack_advance`,
//! `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`, `tcp_rack_reo_timeout`, `tcp_schedule_loss_probe`,
//! `tcp_send_loss_probe`, `tcp_process_tlp_ack`, `tcp_xmit_retransmit_queue`.

use crate::by_hand::{MS, NOTHING, answered, sent, started, window};
use vermilion_parameters::Value;
use vermilion_tcp::Sender;

#[test]
fn losses_that_the_reordering_timer_reveals_leave_one_by_one() {
    // Twenty are sent, the last two arrive: two arrivals prove nothing before a quarter of the round
    // trip has passed (and the spare 2 ms).
    let mut sender = started(&window(20.0), 20);
    assert_eq!(sent(&mut sender, 0).len(), 20);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[(19, 21)]), NOTHING);
    assert_eq!(sender.deadline(), 127 * MS);
    sender.on_timer(127 * MS);
    // 18 lost, none in the network: what proportional reduction always sends, one.
    assert_eq!(sent(&mut sender, 127 * MS), [1]);
    assert_eq!(sender.window(), 1.0);
    // It arrives: progress without new losses releases two.
    assert_eq!(answered(&mut sender, [127 * MS, 227 * MS], 2, &[(19, 21)]), [2, 3]);
}

#[test]
fn a_delayed_acknowledgement_lengthens_the_wait_before_a_loss_is_repaired() {
    let mut sender = started(&window(4.0), 10);
    assert_eq!(sent(&mut sender, 0), [1, 2, 3, 4]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 4, &[]), [5, 6, 7, 8, 9, 10]);
    // 4 waited at the receiver for a second one; 5 is lost; 6 reports itself and 4. The report of 6 gives
    // a round trip of 100 ms, then 4 one of 200: 5 is due at 100 + 200 + 100 / 4 ms.
    assert_eq!(answered(&mut sender, [0, 200 * MS], 5, &[(6, 7)]), NOTHING);
    assert_eq!(sender.deadline(), 327 * MS);
    // 7 took 101 ms, and that counts now: 100 + 101 + 25.
    assert_eq!(answered(&mut sender, [0, 201 * MS], 5, &[(6, 8)]), NOTHING);
    assert_eq!(sender.deadline(), 228 * MS);
    // Three arrivals prove the loss; 5 left 102 ms ago, as long as 8 took.
    assert_eq!(answered(&mut sender, [0, 202 * MS], 5, &[(6, 9)]), [5]);
}

#[test]
fn the_highest_of_several_reported_segments_gives_the_round_trip() {
    let mut sender = started(&window(4.0), 20);
    assert_eq!(sent(&mut sender, 0), [1, 2, 3, 4]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 3, &[]), [5, 6, 7, 8]);
    assert_eq!(answered(&mut sender, [0, 110 * MS], 5, &[]), [9, 10, 11, 12]);
    // 5, 7 and 8 are lost, and so is the acknowledgement that 6 caused. 6 took 110 ms, 9 took 100, though
    // its block comes first: 5 is due at 100 + 100 + 100 / 4 ms.
    answered(&mut sender, [0, 210 * MS], 5, &[(9, 10), (6, 7)]);
    assert_eq!(sender.deadline(), 227 * MS);
}

#[test]
fn a_first_flight_is_probed_after_two_round_trips() {
    let mut sender = started(&[("handshake", Value::Switch(true))], 2);
    assert_eq!(sent(&mut sender, 0), [0]);
    assert_eq!(answered(&mut sender, [0, 20 * MS], 1, &[]), [1, 2]);
    // Both are lost. 20 + 2 * 20 + 2 ms; the timer would expire at 20 + 20 + 200 ms.
    assert_eq!(sender.deadline(), 62 * MS);
    sender.on_timer(62 * MS);
    assert_eq!(sent(&mut sender, 62 * MS), [2]);
    // Its arrival reveals the other loss at once: 1 was sent more than a round trip and a quarter ago.
    assert_eq!(answered(&mut sender, [62 * MS, 82 * MS], 1, &[(2, 3)]), [1]);
    assert_eq!(sender.counters().timeouts, 0);
}

#[test]
fn a_flight_after_an_acknowledgement_of_everything_is_probed() {
    let mut sender = started(&window(4.0), 8);
    assert_eq!(sent(&mut sender, 0), [1, 2, 3, 4]);
    assert_eq!(answered(&mut sender, [0, 40 * MS], 5, &[]), [5, 6, 7, 8]);
    assert_eq!(sender.deadline(), (40 + 2 * 40 + 2) * MS);
}

#[test]
fn a_probe_that_would_come_after_the_timer_takes_its_place() {
    // One segment: 2 * 20 + 200 ms, but the timer expires after 20 + 200.
    let mut sender = started(&[("handshake", Value::Switch(true))], 1);
    assert_eq!(sent(&mut sender, 0), [0]);
    assert_eq!(answered(&mut sender, [0, 20 * MS], 1, &[]), [1]);
    assert_eq!(sender.deadline(), 240 * MS);
    sender.on_timer(240 * MS);
    assert_eq!(sent(&mut sender, 240 * MS), [1]);
    assert_eq!((sender.counters().timeouts, sender.window()), (0, 10.0));
    // The timer runs anew, and there is no second probe.
    assert_eq!(sender.deadline(), 460 * MS);
    sender.on_timer(460 * MS);
    assert_eq!(sender.counters().timeouts, 1);
}

#[test]
fn the_probe_of_one_segment_waits_for_the_minimum_timeout_besides() {
    // 2 * 100 + 50 ms; the timer would expire after 100 + max(4 * 50, 50).
    let least = ("minimum_timeout", Value::Number(0.05));
    let mut sender = started(&[("handshake", Value::Switch(true)), least], 1);
    assert_eq!(sent(&mut sender, 0), [0]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[]), [1]);
    assert_eq!(sender.deadline(), (100 + 250) * MS);
    sender.on_timer(350 * MS);
    assert_eq!((sent(&mut sender, 350 * MS), sender.counters().timeouts), (vec![1], 0));
}

#[test]
fn only_what_is_known_to_be_lost_is_sent_again() {
    for (recovery, rescued) in [("rack", vec![]), ("sack", vec![10])] {
        let recovery = ("recovery", Value::Choice(recovery.to_owned()));
        let [first] = window(10.0);
        let at_once = ("proportional_rate_reduction", Value::Switch(false));
        let mut sender = started(&[first, recovery, at_once], 10);
        assert_eq!(sent(&mut sender, 0).len(), 10);
        assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[(2, 5)]), [1]);
        for after in [6, 7] {
            assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[(2, after)]), NOTHING);
        }
        // 8 to 10 are on their way, and the window of five has room: RFC 6675's rule 4.
        assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[(2, 8)]), rescued);
    }
}

/// The last segment of a window that the receiver bounds is lost or comes late, and is probed.
fn probed_at_the_cap() -> Sender {
    let [first] = window(10.0);
    let mut sender = started(&[first, ("window_cap", Value::Number(10.0))], 1000);
    assert_eq!(sent(&mut sender, 0).len(), 10);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 10, &[]).len(), 9);
    assert_eq!(sender.deadline(), 302 * MS);
    sender.on_timer(302 * MS);
    assert_eq!(sent(&mut sender, 302 * MS), [19]); // ten are outstanding: no new one
    sender
}

#[test]
fn a_probe_that_repaired_a_loss_costs_half_a_window() {
    let mut sender = probed_at_the_cap();
    let before = sender.window();
    assert_eq!(answered(&mut sender, [302 * MS, 402 * MS], 20, &[]).len(), 10);
    assert!(sender.window() >= before); // so far it may have been only late
    answered(&mut sender, [402 * MS, 502 * MS], 21, &[]);
    assert!(sender.window() <= 6.0, "{}", sender.window()); // 10 / 2 and this one's share
    assert_eq!(sender.threshold(), 5.0);
}

#[test]
fn a_probe_of_what_was_only_late_costs_nothing() {
    let mut sender = probed_at_the_cap();
    let before = (sender.window(), sender.threshold());
    assert_eq!(answered(&mut sender, [0, 310 * MS], 20, &[]).len(), 10);
    assert_eq!(answered(&mut sender, [0, 402 * MS], 20, &[]), NOTHING); // the probe's own
    assert!(sender.window() >= before.0);
    answered(&mut sender, [310 * MS, 410 * MS], 21, &[]);
    assert!(sender.window() >= before.0);
    assert_eq!(sender.threshold(), before.1);
}

#[test]
fn slow_start_leads_to_twice_what_the_receiver_allows_and_losses_reduce_what_it_allows() {
    let [first] = window(10.0);
    let endless = ("initial_slow_start_threshold", Value::Number(1e6));
    let mut sender = started(&[first, ("window_cap", Value::Number(12.0)), endless], 100_000);
    let mut now = 0;
    let mut next = 1;
    sent(&mut sender, now);
    for _ in 0..20 {
        now += 100 * MS;
        for _ in 0..sender.in_flight() {
            next += 1;
            answered(&mut sender, [now - 100 * MS, now], next, &[]);
        }
    }
    // Slow start may reach twice what was outstanding (Linux: tcp_is_cwnd_limited).
    assert_eq!((sender.window(), sender.in_flight()), (24.0, 12));
    // What falls over a round trip falls from what the receiver allows: of twelve, four delivered release two of the
    // threshold of six. Of 24 it would be one. Seven are in the network.
    let sent = answered(&mut sender, [now, now + 100 * MS], next, &[(next + 1, next + 5)]);
    assert_eq!((sender.threshold(), sender.window()), (6.0, 7.0 + 2.0));
    assert_eq!(sent, [next]); // twelve are outstanding: no new one
}

#[test]
fn the_first_ten_segments_are_not_spaced() {
    let mut sender = started(
        &[
            ("handshake", Value::Switch(true)),
            ("pacing", Value::Switch(true)),
            ("initial_window", Value::Number(20.0)),
        ],
        1000,
    );
    assert_eq!(sent(&mut sender, 0), [0]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[]).len(), 10);
    // The eleventh waits for its share of half a round trip: 100 / (2 * 20) ms.
    assert_eq!(sender.release(), 102_500_000);
}

#[test]
fn while_losses_are_repaired_what_is_outstanding_sets_the_pace() {
    let pacing = ("pacing", Value::Switch(true));
    let mut sender = started(&[("handshake", Value::Switch(true)), pacing], 1000);
    assert_eq!(sent(&mut sender, 0), [0]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[]).len(), 10);
    // Ten are outstanding, three have arrived, one is lost. The window falls: three of ten delivered release two of the
    // threshold of five, so it is 6 + 2.
    assert_eq!(answered(&mut sender, [100 * MS, 200 * MS], 1, &[(2, 5)]), [1]);
    assert_eq!((sender.window(), sender.outstanding()), (8.0, 10));
    // 1.2 times ten in 100 ms, not eight.
    assert_eq!(sender.release(), 208_333_333);
}

#[test]
fn the_timer_runs_from_the_last_sending_of_the_first_missing_segment() {
    // Linux 6.12, tcp_xmit_retransmit_queue and tcp_rto_delta_us: a repair that is lost and sent again
    // is waited for from then on.
    let mut sender = started(&window(4.0), 8);
    assert_eq!(sent(&mut sender, 0), [1, 2, 3, 4]);
    assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[(2, 5)]), [1, 5]);
    // 1 has been lost again: 5 was sent after it, and has arrived.
    let again = answered(&mut sender, [100 * MS, 230 * MS], 1, &[(2, 6)]);
    assert_eq!(again.first(), Some(&1));
    // Reports have timed round trips of 100 and 130 ms: 103.75 + max(4 * 45, 200) from there.
    assert_eq!(sender.deadline(), 230 * MS + 303_750_000);
}

#[test]
fn what_has_been_sent_again_tells_of_what_was_sent_before_it() {
    // RFC 8985, section 6.2: every arrival of what was sent later tells, also that of a segment sent again, and also
    // if the only segment outstanding is the one that is lost.
    let mut sender = started(&window(3.0), 4);
    assert_eq!(sent(&mut sender, 0), [1, 2, 3]);
    // 1 is lost; 4 leaves in answer to 2, and is lost too; 1 follows when the timer for reordering expires.
    assert_eq!(answered(&mut sender, [0, 100 * MS], 1, &[(2, 3)]), [4]);
    assert_eq!(sender.deadline(), 127 * MS);
    sender.on_timer(127 * MS);
    assert_eq!(sent(&mut sender, 127 * MS), [1]);
    assert_eq!(answered(&mut sender, [0, 130 * MS], 1, &[(2, 4)]), NOTHING);
    // 1 arrives 100 ms after it was sent, and 4, which left 27 ms before it, has not.
    assert_eq!(answered(&mut sender, [127 * MS, 227 * MS], 4, &[]), [4]);
}
