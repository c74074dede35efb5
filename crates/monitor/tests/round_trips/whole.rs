//! Whole round trips: what the sender of the data would measure.

use vermilion_monitor::{NotWhole, Path};

use super::{answer, data, joined, taken};
use crate::common::{MILLISECOND, SECOND, Watch};

/// A bulk transfer seen midway: `near` to the sender and back, `far` to the receiver and back, in
/// milliseconds; `segments` in flight, one a millisecond.
fn transfer(near: u64, far: u64, segments: u32) -> Watch {
    let whole = near + far;
    let mut watch = Watch::new();
    let mut events = Vec::new();
    for each in 0..segments {
        // When it passes the monitor; what it echoes is the answer that set it off a round trip
        // ago, whose timestamp is when the receiver sent it, in its milliseconds from 10,000.
        let passes = u64::from(each);
        let set_off_by = passes.saturating_sub(near + far / 2);
        let sent_by_sender = passes + 1_000;
        events.push((passes, data(each * 1000, sent_by_sender as u32, set_off_by as u32 + 10_000)));
        let receiver = passes + far / 2 + 10_000;
        let acknowledged = (each + 1) * 1000;
        events.push((passes + far, answer(acknowledged, receiver as u32, sent_by_sender as u32)));
    }
    events.sort_by_key(|event| event.0);
    events.retain(|event| event.0 < u64::from(segments));
    assert!(u64::from(segments) > 3 * whole);
    for (milliseconds, segment) in events {
        watch.segment(milliseconds * MILLISECOND, segment);
    }
    watch
}

#[test]
fn the_whole_round_trip_is_closed_by_the_segment_that_names_the_answer() {
    for (near, far) in [(2, 40), (20, 20), (60, 4)] {
        let watch = transfer(near, far, 400);
        let beyond = taken(&watch, Path::Beyond);
        assert!(beyond.len() > 20 && beyond.iter().all(|&each| each == far), "{beyond:?}");
        let whole = taken(&watch, Path::Whole);
        assert!(whole.len() > 20, "{near} {far}: {whole:?}");
        assert!(whole.iter().all(|&each| each == near + far), "{near} {far}: {whole:?}");
    }
}

#[test]
fn a_sender_with_nothing_under_way_may_wait_for_its_application() {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(20 * MILLISECOND, answer(1000, 7, 50));
    watch.segment(SECOND, data(1000, 1050, 7)); // a second later it has something to say
    assert_eq!(taken(&watch, Path::Whole), Vec::<u64>::new());
    assert_eq!(watch.monitor.totals().not_whole.get(NotWhole::Idle), 1);
}

#[test]
fn a_retransmission_closes_no_whole_round_trip() {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 1));
    watch.segment(MILLISECOND, data(1000, 51, 1));
    watch.segment(20 * MILLISECOND, answer(1000, 7, 50));
    watch.segment(SECOND, data(1000, 1050, 7)); // the timer ran out
    assert_eq!(taken(&watch, Path::Whole), Vec::<u64>::new());
    assert_eq!(watch.monitor.totals().not_whole.get(NotWhole::Retransmission), 1);
}

/// Data goes every 50 ms, with 20 ms beyond the monitor and 30 ms before it, until `rounds` of
/// segments have passed. The sender has another under way at all times.
fn steady(rounds: u32) -> Watch {
    let mut watch = joined(49);
    watch.segment(0, data(0, 50, 0));
    for round in 0..rounds {
        let now = u64::from(round) * 50 * MILLISECOND;
        watch.segment(now + 10 * MILLISECOND, data((2 * round + 1) * 1000, 51 + 2 * round, round));
        watch.segment(
            now + 20 * MILLISECOND,
            answer((2 * round + 1) * 1000, round + 1, 50 + 2 * round),
        );
        watch.segment(
            now + 50 * MILLISECOND,
            data((2 * round + 2) * 1000, 52 + 2 * round, round + 1),
        );
    }
    watch
}

#[test]
fn a_repair_that_comes_as_soon_as_new_data_does_closes_a_whole_round_trip() {
    for (late, expected) in [(0, 6), (3, 6), (4, 5), (170, 5)] {
        let mut watch = steady(5);
        assert_eq!(taken(&watch, Path::Whole), [50; 5]);
        let now = 250 * MILLISECOND;
        watch.segment(now + 10 * MILLISECOND, data(11_000, 61, 5));
        watch.segment(now + 20 * MILLISECOND, answer(11_000, 6, 60));
        // Sent again 30 ms after the answer, as new data was before, or later.
        watch.segment(now + (50 + late) * MILLISECOND, data(11_000, 62, 6));
        let whole = taken(&watch, Path::Whole);
        assert_eq!(whole.len(), expected, "{late}");
        assert_eq!(whole.get(5).copied().unwrap_or(50 + late), 50 + late);
        let refused = watch.monitor.totals().not_whole.get(NotWhole::Retransmission);
        assert_eq!(refused, 6 - expected as u64, "{late}");
    }
}

#[test]
fn of_an_answer_to_the_last_segment_under_way_the_senders_part_is_the_latest() {
    let mut watch = steady(5);
    let last = watch.monitor.totals().not_whole.total();
    // The receiver waits 40 ms longer, because a single segment is all that there is.
    watch.segment(310 * MILLISECOND, answer(11_000, 6, 60));
    assert_eq!(taken(&watch, Path::Whole), [50, 50, 50, 50, 50, 90]);
    // What comes next is counted no second time.
    watch.segment(340 * MILLISECOND, data(11_000, 62, 6));
    assert_eq!(taken(&watch, Path::Whole).len(), 6);
    assert_eq!(watch.monitor.totals().not_whole.total(), last);
    // A second later nobody knows what the sender's part is.
    watch.segment(1400 * MILLISECOND, answer(12_000, 8, 62));
    assert_eq!(taken(&watch, Path::Whole).len(), 6);
}
