//! What ns-3.37 does differently around timeouts (`recovery_dialect`) and with partial acknowledgements
//! (`reduction_bound`), worked out by hand from `tcp-socket-base.cc`: `EnterRecovery`, `NewAck`, `ReTxTimeout`,
//! `DoRetransmit`, and in `ProcessAck` the branch of partial acknowledgements and the end.

use crate::by_hand::NOTHING;
use vermilion_parameters::{Value, Values};
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Acknowledgement, Sender};

const MS: u64 = 1_000_000;

/// A sender without a handshake that has sent segments 1 to 8 at time 0.
fn eight_sent(dialect: &str) -> Sender {
    let values = Values::from([
        ("handshake".to_owned(), Value::Switch(false)),
        ("initial_window".to_owned(), Value::Number(8.0)),
        ("recovery_dialect".to_owned(), Value::Choice(dialect.to_owned())),
    ]);
    let profile = Profile::from_values("sack", &values).unwrap();
    let (mut sender, _) = profile.ends(0);
    sender.start(&profile.sender);
    send(&mut sender, 0);
    assert_eq!(sender.unacknowledged(), 1);
    sender
}

fn send(sender: &mut Sender, now: u64) -> usize {
    std::iter::from_fn(|| sender.next_segment(now)).count()
}

fn answer(sender: &mut Sender, now: u64, next_expected: u32, blocks: &[(u32, u32)]) {
    let answer = Acknowledgement { next_expected, blocks, ..Acknowledgement::default() };
    sender.on_acknowledgement(now, &answer);
    send(sender, now);
}

/// When the timer is due after each acknowledgement of a recovery in which 1, 3 and 5 are lost.
fn deadlines_of_a_recovery(dialect: &str) -> [u64; 4] {
    let mut sender = eight_sent(dialect);
    answer(&mut sender, 100 * MS, 1, &[(2, 3)]);
    answer(&mut sender, 110 * MS, 1, &[(4, 5), (2, 3)]);
    let before = sender.deadline();
    answer(&mut sender, 120 * MS, 1, &[(6, 9), (4, 5), (2, 3)]);
    let begun = sender.deadline();
    answer(&mut sender, 200 * MS, 3, &[(6, 9), (4, 5)]);
    let first = sender.deadline();
    answer(&mut sender, 210 * MS, 5, &[(6, 9)]);
    [before, begun, first, sender.deadline()]
}

#[test]
fn in_ns3_only_the_first_partial_acknowledgement_of_a_recovery_restarts_the_timer() {
    let [before, begun, first, second] = deadlines_of_a_recovery("ns3");
    assert_eq!(begun, before);
    assert!(first > begun);
    assert_eq!(second, first);
    let [before, begun, first, second] = deadlines_of_a_recovery("rfc6675");
    assert!(before < begun && begun < first && first < second);
}

#[test]
fn in_ns3_the_acknowledgement_that_ends_the_repair_of_a_timeout_counts_for_nothing() {
    for (dialect, grown) in [("ns3", 1.0), ("rfc6675", 2.0)] {
        let mut sender = eight_sent(dialect);
        let expired = sender.deadline();
        sender.on_timer(expired);
        assert_eq!(send(&mut sender, expired), 1);
        assert_eq!(sender.window(), 1.0);
        // Everything but the first had arrived: one acknowledgement ends it all.
        answer(&mut sender, expired + 100 * MS, 9, &[]);
        assert_eq!(sender.window(), grown, "{dialect}");
        answer(&mut sender, expired + 200 * MS, 10, &[]);
        assert_eq!(sender.window(), grown + 1.0, "{dialect}");
    }
}

/// Segments that leave in answer to an acknowledgement of the first of three losses that were repaired, with and without a
/// window that falls over a round trip.
fn sent_for_a_part(bound: &str, proportional: bool) -> Vec<u32> {
    let values = Values::from([
        ("handshake".to_owned(), Value::Switch(false)),
        ("initial_window".to_owned(), Value::Number(16.0)),
        ("proportional_rate_reduction".to_owned(), Value::Switch(proportional)),
        ("reduction_bound".to_owned(), Value::Choice(bound.to_owned())),
    ]);
    let profile = Profile::from_values("sack", &values).unwrap();
    let (mut sender, _) = profile.ends(0);
    sender.limit_to(16);
    sender.start(&profile.sender);
    assert_eq!(send(&mut sender, 0), 16);
    // 1 to 3 are lost. Without them and 4 to 6, which have arrived, ten are in the network, and the first lost one leaves
    // at once. The window is eight, or comes there: of 16, three delivered release one and a half, which RFC 9937
    // rounds up.
    answer(&mut sender, 100 * MS, 1, &[(4, 7)]);
    let expected = match (proportional, bound) {
        (false, _) => (11, 8.0),
        (true, "ns3") => (11, 11.5),
        (true, _) => (12, 12.0),
    };
    assert_eq!((sender.in_flight(), sender.window()), expected);
    let partial =
        Acknowledgement { next_expected: 2, blocks: &[(4, 7)], ..Acknowledgement::default() };
    sender.on_acknowledgement(200 * MS, &partial);
    std::iter::from_fn(|| sender.next_segment(200 * MS)).map(|it| it.sequence).collect()
}

#[test]
fn with_the_bound_of_ns3_every_partial_acknowledgement_sends_a_lost_segment_again() {
    // There is no room, but DoRetransmit does not ask.
    assert_eq!(sent_for_a_part("ns3", false), [2]);
    assert_eq!(sent_for_a_part("rfc9937", false), NOTHING);
    // Four delivered release two, and with RFC 9937 two have left.
    assert_eq!(sent_for_a_part("ns3", true), [2]);
    assert_eq!(sent_for_a_part("rfc9937", true), NOTHING);
}
