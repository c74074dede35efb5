//! A sender that is told each acknowledgement and each timer by hand.

use vermilion_parameters::{Value, Values};
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Acknowledgement, Sender};

pub const MS: u64 = 1_000_000;
/// No segment leaves.
pub const NOTHING: [u32; 0] = [];

/// A Reno window with Linux's options and recovery by time, but timers that expire exactly when they are due, so that sums
/// come out even, segments that do not wait for others, and whatever is given besides.
pub fn started(parameters: &[(&str, Value)], segments: u32) -> Sender {
    started_as("sack", parameters, segments)
}

/// The same of any other sender.
pub fn started_as(name: &str, parameters: &[(&str, Value)], segments: u32) -> Sender {
    let mut values = Values::from([
        ("option_set".to_owned(), Value::Choice("linux".to_owned())),
        ("handshake".to_owned(), Value::Switch(false)),
        ("timer_tick".to_owned(), Value::Number(0.0)),
        ("segmentation_offload".to_owned(), Value::Switch(false)),
    ]);
    values.extend(parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let profile = Profile::from_values(name, &values).unwrap();
    let (mut sender, _) = profile.ends(0);
    sender.limit_to(segments);
    sender.start(&profile.sender);
    sender
}

/// Departures at `now`.
pub fn sent(sender: &mut Sender, now: u64) -> Vec<u32> {
    std::iter::from_fn(|| sender.next_segment(now)).map(|segment| segment.sequence).collect()
}

/// An acknowledgement of segments sent at `echo`, and what leaves in answer.
pub fn answered(
    sender: &mut Sender,
    [echo, now]: [u64; 2],
    next_expected: u32,
    blocks: &[(u32, u32)],
) -> Vec<u32> {
    let answer = Acknowledgement { next_expected, echo, blocks, ..Acknowledgement::default() };
    sender.on_acknowledgement(now, &answer);
    sent(sender, now)
}

pub fn window(segments: f64) -> [(&'static str, Value); 1] {
    [("initial_window", Value::Number(segments))]
}
