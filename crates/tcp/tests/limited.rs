//! A sender that has so many segments to send and no more.

use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Acknowledgement, Sender};

fn sender(segments: u32) -> Sender {
    let profile = Profile::from_values("newreno", &[].into()).expect("the defaults are accepted");
    let mut sender = Sender::new(&profile.sender, 0);
    sender.limit_to(segments);
    sender.start(&profile.sender);
    sender
}

#[test]
fn it_sends_the_opening_segment_and_so_many_of_data() {
    let mut sender = sender(5);
    let mut sent = Vec::new();
    for round in 0..10 {
        assert_eq!(sender.finished(), round >= 3, "round {round}");
        while let Some(segment) = sender.next_segment(round) {
            sent.push(segment.sequence);
        }
        // Everything arrives: rounds of 1, 2 and 3 segments.
        let answer =
            Acknowledgement { next_expected: sent.len() as u32, ..Acknowledgement::default() };
        sender.on_acknowledgement(round, &answer);
    }
    assert_eq!(sent, [0, 1, 2, 3, 4, 5]);
    assert_eq!(sender.deadline(), u64::MAX);
}

#[test]
fn a_limit_beyond_all_sequence_numbers_is_cut_to_them() {
    let mut sender = sender(u32::MAX);
    assert_eq!(sender.next_segment(0).map(|segment| segment.sequence), Some(0));
    assert!(!sender.finished());
}
