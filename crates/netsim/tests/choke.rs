//! CHOKe against a flow that does not answer: laws of A. Tang, J. Wang, S. Low, "Understanding CHOKe:
//! Throughput and Spatial Characteristics", IEEE/ACM Transactions on Networking 12(4), 2004.

use crate::common::open_loop::open_loop;
use crate::common::{bulk, link, scenario, simulate};
use serde_json::json;

/// The part of a link of 1 Mbit/s that a flow sending at `rate` gets beside 32 that answer: the setting
/// of CHOKe's paper.
fn share(discipline: &str, rate: f64) -> f64 {
    let parameters = json!({"limit": 300, "min_threshold": 100, "max_threshold": 200});
    let flood = open_loop("link", json!({"kind": "constant-rate", "rate_bit_per_s": rate}));
    let queue = link("link", 1_000_000, discipline, parameters);
    let mut network =
        scenario(300.0, &[queue], &[bulk("tcp", 32, &["link"], "newreno", json!({})), flood]);
    for flows in 0..2 {
        network["flows"][flows]["packet_size_bytes"] = json!(1000);
    }
    network["warm_up_ns"] = json!(50 * crate::common::SECOND);
    let results = simulate(&network, 1);
    let goodput = |group: &str| {
        let rates = results.flows[group].total.goodput_bit_per_s.as_ref();
        rates.expect("flows of the whole run").total
    };
    goodput("open-loop") / (goodput("open-loop") + goodput("tcp"))
}

#[test]
fn the_largest_share_is_one_in_one_plus_e_and_it_falls_as_more_is_sent() {
    let [at_capacity, above, triple, ten_times] =
        [1e6, 1.5e6, 3e6, 10e6].map(|rate| share("choke", rate));
    let largest = 1.0 / (1.0 + std::f64::consts::E);
    // The law is that of many flows that answer; 32 are some.
    for share in [at_capacity, above] {
        assert!((share / largest - 1.0).abs() < 0.1, "{share}");
    }
    assert!(above > triple && triple > ten_times && ten_times < 0.05, "{triple}, {ten_times}");
}

#[test]
fn red_alone_leaves_nearly_everything_to_the_flow_that_does_not_answer() {
    assert!(share("red", 2e6) > 0.9);
}
