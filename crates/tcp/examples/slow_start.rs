//! Both ends of a connection without a network: `cargo run --example slow_start`.

use vermilion_parameters::Values;
use vermilion_tcp::registry::Profile;

const ROUND_TRIP: u64 = 50_000_000;

/// Lets CUBIC begin: after the handshake its window grows with every round trip.
pub fn main() {
    let profile = Profile::from_values("cubic", &Values::new()).expect("there is CUBIC");
    let (mut sender, mut receiver) = profile.ends(0);
    sender.start(&profile.sender);
    for round in 0..6_u64 {
        let now = round * ROUND_TRIP;
        let mut flight = Vec::new();
        while let Some(segment) = sender.next_segment(now) {
            flight.push(segment);
        }
        println!("round {round}: {} segments, window {:.0}", flight.len(), sender.window());
        for segment in &flight {
            // Half a round trip there, half a round trip back.
            if let Some(answer) = receiver.on_segment(now + ROUND_TRIP / 2, segment, sender.clock())
            {
                sender.on_acknowledgement(now + ROUND_TRIP, &answer);
            }
        }
    }
    assert!(sender.window() > 10.0, "the window grows while nothing is lost");
}
