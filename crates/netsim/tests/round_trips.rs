//! The round trips that somebody watches: one for each acknowledgement that has timed one.

use std::sync::atomic::AtomicBool;

use crate::common::{SECOND, bulk, link, parse, scenario};
use serde_json::{Value, json};
use vermilion_netsim::Simulation;

/// The round trips that are timed in 10 s, in nanoseconds, and how many packets the link has sent.
fn watched(sender: &str, parameters: &Value, notes: bool) -> (Vec<u64>, u64) {
    let queue = link("link", 10_000_000, "drop-tail", json!({"limit": 50}));
    let mut flows = bulk("flows", 1, &["link"], sender, parameters.clone());
    flows["start_ns"] = json!([0, 0]);
    let mut network = scenario(20.0, &[queue], &[flows]);
    network["flow_delays"] = json!(notes);
    let mut simulation = Simulation::new(parse(&network), 1).unwrap();
    simulation.watch_round_trips();
    simulation.advance(10 * SECOND, &AtomicBool::new(false)).unwrap();
    let samples = simulation.take_round_trips();
    let forwarded = simulation.counters(0).forwarded_packets;
    (samples.into_iter().map(|(_, round_trip)| round_trip).collect(), forwarded)
}

#[test]
fn an_acknowledgement_is_one_round_trip_however_often_its_sender_is_asked_to_send() {
    let every_one = json!({"timestamps": true, "delayed_acknowledgements": false});
    let paced = json!({
        "timestamps": true, "delayed_acknowledgements": false, "pacing": true,
    });
    let linux = json!({"option_set": "linux", "pacing": true});
    let senders = [
        ("sack", every_one),
        ("sack", paced),
        ("cubic", linux),
        ("bbr", json!({})),
        ("bbr1", json!({})),
        ("prague", json!({})),
    ];
    for (sender, parameters) in senders {
        let (samples, forwarded) = watched(sender, &parameters, false);
        let count = samples.len() as u64;
        assert!(count <= forwarded, "{sender} {parameters}: {count} of {forwarded}");
        assert!(count > forwarded / 4, "{sender} {parameters}: {count} of {forwarded}");
        // Where notes are taken, too.
        assert_eq!(watched(sender, &parameters, true).0, samples, "{sender} {parameters}");
    }
}
