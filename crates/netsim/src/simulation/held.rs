//! Packets that a run holds at a time, waiting or in flight: counted while it runs, because they need memory.

use vermilion_parameters::ParameterError;

use super::load::most_held;
use super::{Interrupted, Simulation};
use crate::any_link::AnyLink;
use crate::limits::MOST_HELD;

/// Events between two counts.
const EVENTS_BETWEEN_COUNTS: u64 = 1 << 17;

impl Simulation {
    /// Refuses to go on when the network holds too many packets; counts them now and then.
    pub(super) fn check_held(&mut self) -> Result<(), Interrupted> {
        if self.events < self.next_count {
            return Ok(());
        }
        self.next_count = self.events + EVENTS_BETWEEN_COUNTS;
        let waiting = self.links.iter().map(|link| u64::from(link.queue().0));
        let (fullest, most) = waiting.enumerate().max_by_key(|each| each.1).unwrap_or_default();
        // Those whose departure is known already stand on their line.
        let kept = self.links.iter().map(|link| match link {
            AnyLink::AtArrival(_) => 0,
            AnyLink::AtDeparture(link) => u64::from(link.queue().0),
        });
        let held = self.lines.len() + kept.sum::<u64>() + self.access.len();
        if held <= MOST_HELD {
            return Ok(());
        }
        let seconds = self.now as f64 * 1e-9;
        let value = format!("{held} packets waiting and in flight after {seconds:.3} s");
        let field = match &self.scenario.links[fullest].name {
            name if most > held / 2 => format!("links.{name}.queue"),
            _ if self.access.len() > held / 2 => "flows".to_owned(),
            _ => "links".to_owned(),
        };
        Err(Interrupted::Refused(ParameterError::new(field, value, most_held())))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use serde_json::{Value, json};

    use super::{Interrupted, MOST_HELD, Simulation};
    use crate::scenario::Scenario;

    /// A link of 1 Mbit/s under a flood of 100 Gbit/s in packets of 100 bytes for `seconds`.
    fn flood(discipline: &str, limit: u64, seconds: u64) -> Scenario {
        let network: Value = json!({
            "duration_ns": seconds * 1_000_000_000, "warm_up_ns": 0, "settle_ns": 0,
            "links": [{
                "name": "bottleneck", "rate_bit_per_s": 1_000_000, "delay_ns": 0,
                "queue": {"discipline": discipline, "parameters": {"limit": limit}},
            }],
            "flows": [{
                "name": "udp", "count": 1, "path": ["bottleneck"], "rtt_ns": 1_000_000,
                "packet_size_bytes": 100, "start_ns": [0, 0],
                "traffic": {"kind": "constant-rate", "rate_bit_per_s": 1e11},
            }],
        });
        serde_json::from_value(network).expect("a scenario")
    }

    #[test]
    fn a_queue_that_would_grow_too_long_is_refused_before_the_run() {
        for discipline in ["drop-tail", "codel"] {
            let error = Simulation::new(flood(discipline, 1_000_000_000, 10), 1).err();
            let error = error.expect("1.25 thousand million packets");
            assert_eq!(error.field, "links.bottleneck.queue.limit");
            assert_eq!(error.value, "1000000000 packets");
            assert!(error.accepted.contains(&MOST_HELD.to_string()), "{error}");
            Simulation::new(flood(discipline, 1000, 10), 1).expect("a short queue");
            let short = Scenario { duration_ns: 1_000_000, ..flood(discipline, 1_000_000_000, 10) };
            Simulation::new(short, 1).expect("a short run");
        }
    }

    #[test]
    fn a_run_ends_when_it_holds_too_many_packets() {
        for discipline in ["drop-tail", "codel"] {
            // A limit that is raised by a change is in no estimate.
            let mut scenario = flood(discipline, 1000, 10);
            let change = json!({"at_ns": 0, "link": "bottleneck", "queue": {"limit": 1e9}});
            scenario.changes.push(serde_json::from_value(change).expect("a change"));
            let mut simulation = Simulation::new(scenario, 1).expect("nothing is expected");
            let outcome = simulation.run(&AtomicBool::new(false));
            let Err(Interrupted::Refused(error)) = outcome else { panic!("{outcome:?}") };
            assert_eq!(error.field, "links.bottleneck.queue");
            let held: u64 = error.value.split(' ').next().unwrap().parse().expect("a number");
            assert!((MOST_HELD..MOST_HELD + 1_000_000).contains(&held), "{held}");
        }
    }
}
