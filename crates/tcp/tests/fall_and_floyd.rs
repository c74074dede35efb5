//! One to four losses in a window: K. Fall and S. Floyd, "Simulation-based comparisons of Tahoe, Reno, and
//! SACK TCP", Computer Communication Review 26(3), 1996, sections 4 and 5, as a table.
//!
//! The paper's claims for its figures 2 to 5, of a window from which so many packets are dropped:
//!
//! - Tahoe starts over with slow start, whatever the number. It needs no timeout, but sends again what had arrived.
//! - Reno repairs one loss, and waits for the timer with three or more. With two it halves its window twice in
//!   the paper; here it waits too, because a window has one fast retransmission (ns-2's `bugfix_`).
//! - NewReno repairs one loss in each round trip, without a timeout.
//! - SACK repairs all of them in about a round trip, with one halving and nothing in vain.
//!
//! The path here has a constant round trip and a window of 16 segments in slow start, like theirs of about
//! 15, and drops segments of it that are two apart.

use std::cell::Cell;

use crate::common::carry::{Passage, carry};
use vermilion_parameters::{Value, Values};
use vermilion_tcp::registry::Profile;

const MS: u64 = 1_000_000;
const ROUND_TRIP: u64 = 200 * MS;

/// Reaction of a sender to so many losses.
#[derive(Debug, PartialEq)]
struct Outcome {
    timeouts: u64,
    /// Segments sent again, the lost ones included.
    again: u64,
    /// Round trips from the first loss until all that was outstanding then has been acknowledged, begun ones
    /// counted whole.
    round_trips: u64,
    /// The slow start threshold in the end, in segments.
    threshold: f64,
}

fn outcome(name: &str, recovery: Option<&str>, losses: u32) -> Outcome {
    let mut values = Values::from([
        ("handshake".to_owned(), Value::Switch(false)),
        ("window_cap".to_owned(), Value::Number(32.0)),
        ("limited_transmit".to_owned(), Value::Switch(false)),
        ("timestamps".to_owned(), Value::Switch(true)),
        ("minimum_timeout".to_owned(), Value::Number(1.0)),
    ]);
    values.extend(recovery.map(|it| ("recovery".to_owned(), Value::Choice(it.to_owned()))));
    let profile = Profile::from_values(name, &values).unwrap();
    // Flights of 2, 4 and 8 segments go before: the one of 16 begins with 15.
    let mut missing: Vec<u32> = (0..losses).map(|index| 15 + 2 * index).collect();
    let (lost_at, mut repaired_at) = (Cell::new(None), None);
    let (_, sender) = carry(
        &profile,
        ROUND_TRIP,
        100 * ROUND_TRIP,
        |now, segment| {
            let lost = missing.iter().position(|it| *it == segment.sequence);
            if let Some(index) = lost {
                missing.remove(index);
                lost_at.set(lost_at.get().or(Some(now)));
                return None;
            }
            Some(Passage { wait: 0, marked: false })
        },
        |now, sender, _| {
            if lost_at.get().is_some() && sender.unacknowledged() > 30 && repaired_at.is_none() {
                repaired_at = Some(now);
            }
        },
    );
    let took = repaired_at.expect("everything is repaired in the end") - lost_at.get().unwrap();
    let counters = sender.counters();
    Outcome {
        timeouts: counters.timeouts,
        again: counters.retransmissions,
        round_trips: took.div_ceil(ROUND_TRIP),
        threshold: sender.threshold(),
    }
}

#[test]
fn the_table_of_one_to_four_losses() {
    for (name, recovery, losses, timeouts, again, round_trips) in TABLE {
        // 14 segments have been acknowledged when the first loss is noticed: the window is 2 + 14 and is halved once,
        // or a second time at a timeout.
        let threshold = if timeouts == 0 { 8.0 } else { 4.0 };
        let expected = Outcome { timeouts, again, round_trips, threshold };
        let found = outcome(name, recovery, losses);
        assert_eq!(found, expected, "{name} {recovery:?}, {losses} lost");
    }
}

/// Sender, recovery, losses; timeouts, segments sent again, round trips.
///
/// By hand: segments 15, 17, 19 and 21 are those lost, the first of a flight up to 30. Whatever is sent again has an
/// answer after a round trip, and the third duplicate comes one round trip after the loss.
///
/// - Tahoe begins with 15, which leads to 17. Then its window is two: 17 and 18; then three: 19 to 21; these lead
///   to 21 first, with a window of four and room for 22 to 24. So it sends 1, 1 + 2, 1 + 2 + 3, 1 + 2 + 3 + 3 again, and
///   a fourth loss takes no further round trip.
/// - Reno leaves its recovery with the answer to 15, two round trips after the loss. The timer of a second, five round
///   trips, begins anew there. What was lost second goes after seven and has an answer after eight. Slow start sends 19
///   and 20 after that, then 21 to 23.
/// - NewReno sends one segment again in each round trip, the others all of them in the second.
type Row = (&'static str, Option<&'static str>, u32, u64, u64, u64);

const TABLE: [Row; 24] = [
    ("tahoe", None, 1, 0, 1, 2),
    ("tahoe", None, 2, 0, 3, 3),
    ("tahoe", None, 3, 0, 6, 4),
    ("tahoe", None, 4, 0, 9, 4),
    ("reno", None, 1, 0, 1, 2),
    ("reno", None, 2, 1, 2, 8),
    ("reno", None, 3, 1, 4, 9),
    ("reno", None, 4, 1, 7, 10),
    ("newreno", None, 1, 0, 1, 2),
    ("newreno", None, 2, 0, 2, 3),
    ("newreno", None, 3, 0, 3, 4),
    ("newreno", None, 4, 0, 4, 5),
    ("sack", None, 1, 0, 1, 2),
    ("sack", None, 2, 0, 2, 2),
    ("sack", None, 3, 0, 3, 2),
    ("sack", None, 4, 0, 4, 2),
    ("sack", Some("sack1"), 1, 0, 1, 2),
    ("sack", Some("sack1"), 2, 0, 2, 2),
    ("sack", Some("sack1"), 3, 0, 3, 2),
    ("sack", Some("sack1"), 4, 0, 4, 2),
    ("sack", Some("rack"), 1, 0, 1, 2),
    ("sack", Some("rack"), 2, 0, 2, 2),
    ("sack", Some("rack"), 3, 0, 3, 2),
    ("sack", Some("rack"), 4, 0, 4, 2),
];
