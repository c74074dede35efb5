//! Flows and round trips of a capture: `cargo run --example capture -- FILE.pcap`.

use std::io::Read;

use vermilion_monitor::{
    CaptureError, CaptureReader, Configuration, End, Flow, Listener, Monitor, RoundTrip,
};

#[derive(Default)]
struct Counted {
    flows: u64,
    round_trips: u64,
    shortest: Option<u64>,
}

impl Listener for Counted {
    fn round_trip(&mut self, round_trip: &RoundTrip) {
        self.round_trips += 1;
        let known = self.shortest.unwrap_or(u64::MAX);
        self.shortest = Some(known.min(round_trip.nanoseconds));
    }

    fn flow_ended(&mut self, _flow: &Flow, _why: End) {
        self.flows += 1;
    }
}

/// Reads the file that is named, or one of the tests.
pub fn main() {
    let named = std::env::args().nth(1).filter(|each| !each.starts_with('-'));
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/captures/bulk.pcap");
    let path = named.unwrap_or_else(|| shipped.to_owned());
    match read(&path) {
        Ok(counted) => println!(
            "{} flows, {} round trips, the shortest {} ms",
            counted.flows,
            counted.round_trips,
            counted.shortest.map_or("-".to_owned(), |each| format!("{:.2}", each as f64 / 1e6)),
        ),
        Err(error) => println!("{path}: {error}"),
    }
}

fn read(path: &str) -> Result<Counted, CaptureError> {
    let mut file = std::fs::File::open(path).expect("the file can be read");
    let mut monitor = Monitor::new(Configuration::default()).expect("the usual bounds");
    let mut counted = Counted::default();
    let mut reader = CaptureReader::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        let length = file.read(&mut piece).expect("the file can be read");
        if length == 0 {
            break;
        }
        reader.feed(&piece[..length], &mut |packet| monitor.observe(packet, &mut counted))?;
    }
    reader.finish()?;
    monitor.finish(&mut counted);
    Ok(counted)
}
