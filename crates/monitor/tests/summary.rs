//! What is put together for people and programs.

use crate::common::{SECOND, Tcp, Watch, back, forth, udp};
use vermilion_monitor::{Configuration, FlowSummary, Largest, Listener, Monitor, Summary};

#[test]
fn a_number_that_cannot_be_computed_is_left_out() {
    let nothing = Monitor::new(Configuration { flows: 1, ..Configuration::default() }).unwrap();
    let summary = serde_json::to_value(Summary::from(nothing.totals())).unwrap();
    for key in ["first_ns", "last_ns", "duration_s", "unresponsive_share"] {
        assert!(summary.get(key).is_none(), "{key}");
    }
    assert!(summary["sizes"].get("mean_bytes").is_none());
    assert_eq!(summary["round_trips_ms"], serde_json::json!({}));
    // What never occurred is counted as such.
    assert_eq!(summary["not_timed"]["slots-blocked"], 0);
    assert_eq!(summary["undecoded"]["not-ip"], 0);
}

#[test]
fn a_flow_is_named_by_its_ends() {
    let mut watch = Watch::new();
    watch.segment(SECOND, Tcp { payload: 10, ecn: 3, ..forth() });
    watch.segment(3 * SECOND, Tcp { acknowledgement: 10, ..back() });
    let flow = watch.only_flow();
    let summary = serde_json::to_value(FlowSummary::of(&flow.0, Some(flow.1))).unwrap();
    assert_eq!(summary["initiator"], serde_json::json!({"address": "10.0.0.1", "port": 1000}));
    assert_eq!(summary["responder"], serde_json::json!({"address": "10.0.0.2", "port": 80}));
    assert_eq!(summary["ended"], "input-ended");
    assert_eq!(summary["timed_by"], "sequence-numbers");
    assert_eq!(summary["from_initiator"]["ecn"]["ce"], 1);
    assert_eq!(summary["from_initiator"]["beyond_ms"]["mean"], 2000.0);
    assert!(summary["from_responder"].get("beyond_ms").is_none());
    assert!(summary.get("handshake_ms").is_none());
    let totals = serde_json::to_value(Summary::from(watch.monitor.totals())).unwrap();
    assert_eq!(totals["duration_s"], 2.0);
    assert_eq!(totals["traffic"]["tcp"], serde_json::json!({"packets": 2, "bytes": 90}));
}

#[test]
fn the_largest_flows_are_kept_and_the_others_counted() {
    let mut watch = Watch::new();
    for (port, size) in [(1, 30), (2, 10), (3, 20), (4, 30), (5, 40), (6, 5)] {
        watch.see(0, &udp((1, port), (2, 9), &vec![0; size]));
    }
    watch.monitor.finish(&mut watch.kept);
    let mut largest = Largest::new(3);
    for (flow, why) in &watch.kept.ended {
        largest.flow_ended(flow, *why);
    }
    let ports: Vec<u16> = largest.flows().iter().map(|flow| flow.initiator.port).collect();
    assert_eq!(ports, [5, 1, 4]);
    assert_eq!(largest.left_out(), 3);
    let mut none = Largest::new(0);
    none.flow_ended(&watch.kept.ended[0].0, watch.kept.ended[0].1);
    assert_eq!((none.flows().len(), none.left_out()), (0, 1));
}
