//! A discipline decides over packets by hand: `cargo run --example one_packet`.

use vermilion_aqm::registry::AnyDiscipline;
use vermilion_aqm::{Arrival, Decide, LinkFacts, Verdict};
use vermilion_parameters::{Value, Values};

/// Asks RED over packets that meet an ever longer queue.
pub fn main() {
    let link = LinkFacts { rate: 10e6, delay: 0.01 };
    let values = Values::from([
        ("min_threshold".to_owned(), Value::Number(5.0)),
        ("max_threshold".to_owned(), Value::Number(15.0)),
        ("weight".to_owned(), Value::Number(0.5)),
    ]);
    let (mut red, _) = AnyDiscipline::from_values("red", &values, link).expect("a setting of RED");

    // The discipline knows no clock and no generator: time and coins are handed to it.
    let mut coin = || 0.5;
    let mut dropped = 0;
    for number in 0..40_u32 {
        let arrival = Arrival {
            now: u64::from(number) * 1_000_000,
            size: 1000,
            queue_packets: number,
            queue_bytes: 1000 * u64::from(number),
            ..Arrival::default()
        };
        if matches!(red.on_arrival(&arrival, &mut coin), Verdict::Drop(_)) {
            dropped += 1;
        }
    }
    println!("RED dropped {dropped} of 40 packets");
    assert!(dropped > 0, "a queue of 40 packets is beyond its upper threshold");
}
