//! A switch's memory and its pauses against vectors worked out by hand, in `tests/vectors/switch`.

use std::path::Path;

use serde_json::Value as Json;
use vermilion_fabric::pause::{Asking, Obeying, Signal};
use vermilion_fabric::shared_buffer::{Ingress, SharedBuffer};

#[test]
fn memory_and_pauses_are_as_their_vectors_say() {
    let path = "../../tests/vectors/switch/shared-buffer.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(path).expect("a file of vectors");
    let file: Json = serde_json::from_str(&text).expect("JSON");
    for case in file["cases"].as_array().expect("cases") {
        let number = |key: &str| case[key].as_u64().expect("a number");
        let own = Ingress::new(
            number("reserve") as u32,
            number("headroom") as u32,
            case["alpha"].as_f64().expect("a factor"),
            number("resume_offset") as u32,
        );
        let mut buffer = SharedBuffer::new(number("shared_bytes"));
        let mut ports = [(own, Asking::default()), (own, Asking::default())];
        for (place, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
            let (port, asking) = &mut ports[step["port"].as_u64().expect("a port") as usize];
            let signal = if let Some(bytes) = step["take"].as_u64() {
                let taken = buffer.take(port, bytes as u32);
                assert_eq!(Some(taken), step["taken"].as_bool(), "{}, step {place}", case["name"]);
                // A packet that is lost asks for nothing.
                if taken { asking.on_arrival(|| buffer.is_over(port)) } else { None }
            } else {
                buffer.release(port, step["release"].as_u64().expect("bytes") as u32);
                asking.on_departure(|| buffer.is_under(port))
            };
            let found = serde_json::json!({
                "used": buffer.used(),
                "threshold": buffer.threshold(port.alpha) as u64,
                "in_headroom": port.in_headroom(),
                "signal": signal.map(|signal| if signal == Signal::Pause { "pause" } else { "resume" }),
            });
            for (key, value) in found.as_object().expect("an object") {
                assert_eq!(*value, step[key], "{}, step {place}: {key}", case["name"]);
            }
        }
    }
}

#[test]
fn who_is_told_stands_still_from_a_pause_to_its_end() {
    let mut link = Obeying::default();
    let script = [
        (100, Signal::Resume, false, 0),
        (200, Signal::Pause, true, 0),
        (250, Signal::Pause, false, 50),
        (300, Signal::Resume, true, 100),
        (400, Signal::Resume, false, 100),
        (500, Signal::Pause, true, 100),
    ];
    for (now, signal, changes, paused) in script {
        assert_eq!(link.on_signal(now, signal), changes, "at {now}");
        assert_eq!(link.paused(now), paused, "at {now}");
    }
    assert!(link.is_paused());
    assert_eq!((link.pauses, link.paused(600)), (2, 200));
}
