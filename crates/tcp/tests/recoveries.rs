//! What each recovery sends when one or two segments of a window are lost, worked out by hand.
//!
//! A window of eight segments leaves at once; segments 1 and 2 are acknowledged (slow start: 9 to 12
//! leave); then come the acknowledgements that the losses leave over. Twelve segments have been sent
//! when the third duplicate comes, ten of them outstanding: half a window is five.
//!
//! Sources: K. Fall and S. Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP", 1996,
//! whose cases of one and two losses these are; RFC 5681, RFC 6582, RFC 6675.

use vermilion_parameters::{Value, Values};
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Acknowledgement, Segment, Sender};

/// An acknowledgement, and the segments that must leave in answer to it.
type Step<'a> = (u32, &'a [(u32, u32)], &'a [u32]);

fn sent(sender: &mut Sender) -> Vec<u32> {
    std::iter::from_fn(|| sender.next_segment(0)).map(|segment: Segment| segment.sequence).collect()
}

/// A sender of so many segments in all whose window of eight has left, without limited transmit.
fn eight_under_way(name: &str, recovery: Option<&str>, segments: u32) -> Sender {
    let mut values = Values::from([
        ("handshake".to_owned(), Value::Switch(false)),
        ("limited_transmit".to_owned(), Value::Switch(false)),
        ("initial_window".to_owned(), Value::Number(8.0)),
    ]);
    values.extend(recovery.map(|it| ("recovery".to_owned(), Value::Choice(it.to_owned()))));
    let profile = Profile::from_values(name, &values).unwrap();
    let (mut sender, _) = profile.ends(0);
    sender.limit_to(segments);
    sender.start(&profile.sender);
    assert_eq!(sent(&mut sender), [1, 2, 3, 4, 5, 6, 7, 8]);
    sender
}

/// Plays the steps after the first ten segments; the window in the end.
#[track_caller]
fn play(name: &str, recovery: Option<&str>, steps: &[Step<'_>]) -> f64 {
    let mut sender = eight_under_way(name, recovery, u32::MAX - 1);
    let opening: [Step<'_>; 2] = [(2, &[], &[9, 10]), (3, &[], &[11, 12])];
    for (number, &(next_expected, blocks, expected)) in opening.iter().chain(steps).enumerate() {
        let answer = Acknowledgement { next_expected, blocks, ..Acknowledgement::default() };
        sender.on_acknowledgement(100_000_000, &answer);
        assert_eq!(sent(&mut sender), expected, "{name}, acknowledgement {number}");
    }
    sender.window()
}

#[test]
fn tahoe_starts_over_with_one_segment() {
    let steps: &[Step<'_>] = &[
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[3]), // the window is one segment
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[]),
        (13, &[], &[13, 14]), // slow start: two
    ];
    assert_eq!(play("tahoe", None, steps), 2.0);
}

#[test]
fn one_loss_costs_reno_and_newreno_half_a_window() {
    let steps: &[Step<'_>] = &[
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[3]), // 5 + 3 may be outstanding, 10 are
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[13]), // 5 + 6
        (3, &[], &[14]),
        (3, &[], &[15]),
        (3, &[], &[16]),
        (13, &[], &[17]), // 13 to 16 are outstanding, the window is 5 1/5
    ];
    for name in ["reno", "newreno"] {
        assert_eq!(play(name, None, steps), 5.2);
    }
}

#[test]
fn two_losses_end_reno_s_recovery_too_early_and_leave_the_second_to_the_timer() {
    let steps: &[Step<'_>] = &[
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[3]),
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[13]),
        (3, &[], &[14]),
        (3, &[], &[15]),
        (5, &[], &[]), // over: 11 are outstanding, the window is 5 1/5
        (5, &[], &[]),
        (5, &[], &[]),
        (5, &[], &[]), // a third duplicate, but of the same window
    ];
    assert_eq!(play("reno", None, steps), 5.2);
}

/// Linux without selective acknowledgements: every duplicate releases a segment while the window has
/// room, and recovery lasts until something sent after its start (15 and later) is acknowledged.
#[test]
fn one_loss_costs_linux_newreno_half_a_window() {
    let steps: &[Step<'_>] = &[
        (3, &[], &[13]),
        (3, &[], &[14]),
        (3, &[], &[3]), // 12 outstanding, 3 have arrived, one is lost and sent again: 9
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[]), // 5, as many as the window
        (3, &[], &[15]),
        (3, &[], &[16]),
        (3, &[], &[17]),
        (3, &[], &[18]),
        (15, &[], &[19]), // all that was outstanding, but nothing sent since
        (16, &[], &[20]),
    ];
    assert_eq!(play("sack", Some("linux-newreno"), steps), 5.2);
}

#[test]
fn linux_newreno_repairs_two_losses_in_two_round_trips() {
    let steps: &[Step<'_>] = &[
        (3, &[], &[13]),
        (3, &[], &[14]),
        (3, &[], &[3]),
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[15]),
        (3, &[], &[16]),
        (3, &[], &[17]),
        // 13 outstanding; of 10 arrivals one was 4's, so 9; 5 is lost: 3 in the network.
        (5, &[], &[5, 18]),
        (5, &[], &[19]),
        (5, &[], &[20]),
        (5, &[], &[21]),
        (18, &[], &[22]),
    ];
    assert_eq!(play("sack", Some("linux-newreno"), steps), 5.2);
}

#[test]
fn newreno_repairs_two_losses_in_two_round_trips() {
    let steps: &[Step<'_>] = &[
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[3]),
        (3, &[], &[]),
        (3, &[], &[]),
        (3, &[], &[13]),
        (3, &[], &[14]),
        (3, &[], &[15]),
        // Two are acknowledged and one is sent again: 5 + 8 - 1 may be outstanding, 11 are.
        (5, &[], &[5, 16]),
        (5, &[], &[17]),
        (5, &[], &[18]),
        (5, &[], &[19]),
        (16, &[], &[20]),
    ];
    assert_eq!(play("newreno", None, steps), 5.2);
}

#[test]
fn sack_repairs_one_loss_as_reno_does() {
    let steps: &[Step<'_>] = &[
        (3, &[(4, 5)], &[]),
        (3, &[(4, 6)], &[]),
        // Ten outstanding, three arrived, one lost and one sent again: seven in the network.
        (3, &[(4, 7)], &[3]),
        (3, &[(4, 8)], &[]),
        (3, &[(4, 9)], &[]),
        (3, &[(4, 10)], &[13]), // four were
        (3, &[(4, 11)], &[14]),
        (3, &[(4, 12)], &[15]),
        (3, &[(4, 13)], &[16]),
        (13, &[], &[17]),
    ];
    assert_eq!(play("sack", None, steps), 5.2);
}

#[test]
fn sack_repairs_two_losses_in_one_round_trip() {
    let steps: &[Step<'_>] = &[
        (3, &[(4, 5)], &[]),
        (3, &[(6, 7), (4, 5)], &[]),
        (3, &[(6, 8), (4, 5)], &[3]), // 5 has two arrivals beyond it
        // Three now: ten outstanding, four arrived, two lost, one sent again: five.
        (3, &[(6, 9), (4, 5)], &[]),
        (3, &[(6, 10), (4, 5)], &[5]),
        (3, &[(6, 11), (4, 5)], &[13]),
        (3, &[(6, 12), (4, 5)], &[14]),
        (3, &[(6, 13), (4, 5)], &[15]),
        // Eleven outstanding, seven arrived, 5 lost and sent again: four.
        (5, &[(6, 13)], &[16]),
        (13, &[], &[17]),
    ];
    assert_eq!(play("sack", None, steps), 5.2);
}

#[test]
fn sack1_counts_the_packets_in_the_network_by_hand() {
    let steps: &[Step<'_>] = &[
        (3, &[(4, 5)], &[]),
        (3, &[(6, 7), (4, 5)], &[]),
        (3, &[(6, 8), (4, 5)], &[3]), // ten outstanding less three: seven
        (3, &[(6, 9), (4, 5)], &[]),
        (3, &[(6, 10), (4, 5)], &[]),
        (3, &[(6, 11), (4, 5)], &[5]), // four, and the hole is sent again
        (3, &[(6, 12), (4, 5)], &[13]),
        (3, &[(6, 13), (4, 5)], &[14]),
        (5, &[(6, 13)], &[15, 16]), // partial: two less
        (13, &[], &[17]),           // the window does not grow
    ];
    assert_eq!(play("sack", Some("sack1"), steps), 5.0);
}

#[test]
fn after_a_timeout_a_scoreboard_sends_only_what_has_not_arrived() {
    let values = Values::from([
        ("handshake".to_owned(), Value::Switch(false)),
        ("initial_window".to_owned(), Value::Number(4.0)),
    ]);
    let profile = Profile::from_values("sack", &values).unwrap();
    let (mut sender, _) = profile.ends(0);
    sender.start(&profile.sender);
    assert_eq!(sent(&mut sender), [1, 2, 3, 4]);
    let report = |next_expected, blocks: &'static [(u32, u32)]| Acknowledgement {
        next_expected,
        blocks,
        ..Acknowledgement::default()
    };
    sender.on_acknowledgement(0, &report(1, &[(3, 4)]));
    assert_eq!(sent(&mut sender), [5]); // limited transmit
    sender.on_timer(sender.deadline());
    assert_eq!(sent(&mut sender), [1]);
    sender.on_acknowledgement(0, &report(2, &[(3, 4)]));
    assert_eq!(sent(&mut sender), [2, 4]); // 3 has arrived
    assert_eq!(sender.counters().timeouts, 1);
}

#[test]
fn no_more_segments_are_said_to_have_arrived_than_can_have() {
    for name in ["tahoe", "reno", "newreno"] {
        let mut values = Values::from([("handshake".to_owned(), Value::Switch(false))]);
        values.insert("initial_window".to_owned(), Value::Number(4.0));
        let profile = Profile::from_values(name, &values).unwrap();
        let (mut sender, _) = profile.ends(0);
        sender.limit_to(4);
        sender.start(&profile.sender);
        assert_eq!(sent(&mut sender), [1, 2, 3, 4]);
        // Three of four have arrived, and something repeats an acknowledgement.
        for expected in [1, 2, 3, 3, 3] {
            let answer = Acknowledgement { next_expected: 1, ..Acknowledgement::default() };
            sender.on_acknowledgement(100_000_000, &answer);
            assert_eq!(sender.sacked(), expected, "{name}");
        }
    }
}

/// A segment of eight is lost and the three after it arrive, at 100 ms; then nothing does. By hand: what each
/// recovery takes to be lost, reported and in the network, once the lost one has been sent again; and once the first
/// one has after a timeout. Nobody tells Tahoe and Reno which have arrived, so that they take all to be in the
/// network, or, where they begin anew, none.
#[test]
fn every_recovery_says_what_it_takes_to_be_lost_and_in_the_network() {
    let rows = [
        ("tahoe", None, [8, 3, 1], [8, 0, 1]),
        ("reno", None, [1, 3, 8], [8, 0, 1]),
        ("newreno", None, [1, 3, 8], [8, 0, 1]),
        ("sack", Some("linux-newreno"), [1, 3, 5], [8, 0, 1]),
        ("sack", Some("sack1"), [1, 3, 5], [8, 0, 1]),
        ("sack", Some("sack"), [1, 3, 5], [5, 3, 1]),
        ("sack", Some("rack"), [1, 3, 5], [5, 3, 1]),
    ];
    for (name, recovery, noticed, timed_out) in rows {
        let mut sender = eight_under_way(name, recovery, 8);
        for blocks in [&[(2, 3)], &[(2, 4)], &[(2, 5)]] {
            let answer = Acknowledgement { next_expected: 1, blocks, ..Acknowledgement::default() };
            sender.on_acknowledgement(100_000_000, &answer);
        }
        let told = |sender: &Sender| [sender.lost(), sender.sacked(), sender.in_flight()];
        assert_eq!(sent(&mut sender), [1], "{name} {recovery:?}");
        assert_eq!((told(&sender), sender.outstanding()), (noticed, 8), "{name} {recovery:?}");
        sender.on_timer(sender.deadline());
        assert_eq!(sent(&mut sender), [1], "{name} {recovery:?}");
        assert_eq!((told(&sender), sender.outstanding()), (timed_out, 8), "{name} {recovery:?}");
    }
}
