//! Every end against its vectors in `tests/vectors/ends`, worked out by hand.

use std::path::Path;

use serde_json::Value as Json;
use vermilion_parameters::{AlgorithmSettings, Settings, Value, Values};
use vermilion_rdma::{
    Acknowledgement, Dcqcn, DcqcnMellanoxSettings, DcqcnPaperSettings, DcqcnState, HardwareDctcp,
    HardwareDctcpSettings, HardwareDctcpState, Hop, Hpcc, HpccSettings, HpccState, Nic, RateBased,
    registry,
};

fn near(place: &str, found: f64, expected: &Json) {
    let expected = expected.as_f64().expect("a number");
    assert!((found / expected - 1.0).abs() < 1e-12, "{place}: {found}, not {expected}");
}

fn hop(hop: &Json) -> Hop {
    Hop {
        rate: hop["rate"].as_f64().expect("a rate"),
        time: hop["time"].as_u64().expect("a time"),
        sent_bytes: hop["sent_bytes"].as_u64().expect("bytes"),
        queue_bytes: hop["queue_bytes"].as_u64().expect("bytes") as u32,
    }
}

fn replay<R: RateBased>(end: R, case: &Json, further: impl Fn(&R::State, &str) -> f64) {
    let mut state = end.start();
    for (number, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        let place = format!("{}, step {number}", case["name"]);
        let now = step["time_ns"].as_u64().expect("a time");
        if !step["notification"].is_null() {
            end.on_notification(&mut state, now);
        } else if let Some(bytes) = step["sent"].as_u64() {
            for _ in 0..step["times"].as_u64().unwrap_or(1) {
                end.next_gap(&mut state, now, bytes as u32);
            }
        } else if let Some(ack) = step["acknowledgement"].as_object() {
            let hops: Vec<Hop> = ack["hops"].as_array().expect("hops").iter().map(hop).collect();
            let number = |key: &str| ack[key].as_u64().expect("a number") as u32;
            let ack = Acknowledgement {
                now,
                upto: number("upto"),
                sent: number("sent"),
                marked: ack["marked"].as_bool().expect("true or false"),
            };
            end.on_acknowledgement(&mut state, &ack, &hops);
        } else {
            near(&place, end.rate(&mut state, now), &step["rate"]);
            for key in ["target", "alpha", "utilisation"] {
                if !step[key].is_null() {
                    near(&format!("{place}, {key}"), further(&state, key), &step[key]);
                }
            }
        }
    }
}

fn settings<S: AlgorithmSettings>(case: &Json) -> S {
    let values: Values = case["parameters"]
        .as_object()
        .expect("parameters")
        .iter()
        .map(|(name, value)| {
            let value = match value {
                Json::Bool(on) => Value::Switch(*on),
                other => Value::Number(other.as_f64().expect("a number")),
            };
            (name.clone(), value)
        })
        .collect();
    Settings::resolve(&S::ALGORITHM, &values).expect("accepted").read()
}

#[test]
fn every_end_answers_as_its_vectors_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/ends");
    for algorithm in registry::ALGORITHMS {
        let text = std::fs::read_to_string(folder.join(format!("{}.json", algorithm.name)));
        let file: Json = serde_json::from_str(&text.expect("a file of vectors")).expect("JSON");
        for case in file["cases"].as_array().expect("cases") {
            let nic = Nic {
                line_rate: case["line_rate"].as_f64().expect("a rate"),
                base_round_trip: case["base_round_trip"].as_u64().unwrap_or(10_000),
            };
            let of_dcqcn = |state: &DcqcnState, key: &str| match key {
                "target" => state.target(),
                _ => state.alpha(),
            };
            match algorithm.name {
                "dcqcn-mellanox" => {
                    replay(
                        Dcqcn::mellanox(settings::<DcqcnMellanoxSettings>(case), nic),
                        case,
                        of_dcqcn,
                    );
                }
                "dcqcn-paper" => {
                    replay(Dcqcn::paper(settings::<DcqcnPaperSettings>(case), nic), case, of_dcqcn);
                }
                "hpcc" => replay(
                    Hpcc::new(settings::<HpccSettings>(case), nic),
                    case,
                    |state: &HpccState, _| state.utilisation(),
                ),
                "dctcp-hardware" => replay(
                    HardwareDctcp::new(settings::<HardwareDctcpSettings>(case), nic),
                    case,
                    |state: &HardwareDctcpState, _| state.alpha(),
                ),
                other => panic!("{other} has no replay"),
            }
        }
    }
}
