//! Explicit congestion notification: RFC 3168, one response per window of data.

use crate::common::{Path, SECOND, assert_near, transfer};

fn marked(mark: f64) -> (f64, vermilion_tcp::Sender) {
    let path = Path { round_trip: SECOND / 10, loss: 0.0, mark };
    transfer("newreno", &[("ecn", true)], path, 1)
}

#[test]
fn marks_slow_a_flow_as_losses_do_and_nothing_is_sent_again() {
    for (mark, predicted) in [(0.001, 387.3), (0.005, 173.2), (0.01, 122.5)] {
        let (rate, sender) = marked(mark);
        assert_near(rate, predicted, 0.2);
        assert_eq!(sender.counters(), vermilion_tcp::Counters::default());
    }
}

#[test]
fn marking_everything_leaves_a_window_of_one_or_two_segments() {
    let (rate, sender) = marked(1.0);
    assert!(rate <= 20.0, "at most two segments in each round trip of 0.1 s: {rate}");
    // One segment for each expiry of the timer, which backs off to a minute.
    assert!(rate > 1.0 / 60.0, "the flow must stay alive: {rate}");
    assert!(sender.window() <= 2.0);
}

#[test]
fn a_flow_that_is_not_ecn_capable_is_never_marked() {
    let path = Path { round_trip: SECOND / 10, loss: 0.001, mark: 1.0 };
    let with = transfer("newreno", &[("ecn", false)], path, 1).0;
    assert_near(with, 387.3, 0.2);
}

#[test]
fn a_flow_that_stops_while_marks_silence_it_is_over_and_wants_nothing() {
    let values = vermilion_parameters::Values::from([
        ("ecn".to_owned(), vermilion_parameters::Value::Switch(true)),
        ("handshake".to_owned(), vermilion_parameters::Value::Switch(false)),
        ("initial_window".to_owned(), vermilion_parameters::Value::Number(1.0)),
    ]);
    let profile = vermilion_tcp::registry::Profile::from_values("newreno", &values).unwrap();
    let (mut sender, _) = profile.ends(0);
    sender.start(&profile.sender);
    assert!(sender.next_segment(0).is_some());
    let marked = vermilion_tcp::Acknowledgement {
        next_expected: 2,
        congestion_echo: true,
        ..Default::default()
    };
    sender.on_acknowledgement(SECOND, &marked);
    assert_eq!(sender.next_segment(SECOND), None, "half a segment may not be sent");
    assert!(sender.deadline() < u64::MAX, "the timer will let it go on");
    sender.stop();
    assert!(sender.finished());
    assert_eq!(sender.deadline(), u64::MAX);
}
