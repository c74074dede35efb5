//! A discipline in which each flow has a limit of its own, beside that of all.

use std::collections::HashMap;

use crate::parcel::Parcel;
use crate::seeded::Seeded;
use vermilion_aqm::{AnyScheduler, Coin, Colour, Discipline, Ecn, LinkFacts, Queue, Scheduler};
use vermilion_parameters::{Value, Values};

const LINK: LinkFacts = LinkFacts { rate: 10e6, delay: 0.01 };
/// net/sched/sch_fq.c, `fq_fastpath_check`: so many packets wait without counting for a limit.
const UNCOUNTED: usize = 8;

#[test]
fn no_more_wait_than_the_limits_let() {
    for (limit, flow_limit) in [(60, 20), (10, 20), (1, 1), (40, 1), (1000, 7)] {
        let values: Values = [("limit", limit), ("flow_limit", flow_limit)]
            .map(|(name, value)| (name.to_owned(), Value::Number(value as f64)))
            .into();
        let (mut queue, _) =
            AnyScheduler::<Parcel>::from_values("fq", &values, LINK).expect("accepted");
        let mut coin = Seeded::new(7);
        let (mut lost, mut causes) = (0, HashMap::new());
        for number in 0..20_000 {
            let flow = (coin.uniform() * coin.uniform() * 6.0) as u32;
            let (ecn, colour) = (Ecn::NotCapable, Colour::Green);
            let packet = Parcel { number, size: 1000, flow, ecn, colour, ..Parcel::default() };
            let mut reason = None;
            queue.enqueue(number, None, packet, &mut coin, &mut |gone| {
                assert_eq!(gone.packet.number, number, "only what arrives is dropped");
                reason = Some(gone.reason);
            });
            if let Some(reason) = reason {
                *causes.entry(queue.cause(reason)).or_insert(0) += 1;
                lost += 1;
            }
            // Thrice as much leaves in every second thousand of packets as arrives.
            let leave = if number / 1000 % 2 == 0 { usize::from(coin.uniform() < 0.5) } else { 3 };
            for _ in 0..leave {
                queue.dequeue(number, &mut coin, &mut |_| panic!("it drops at the tail alone"));
            }
            let mut of_flow = HashMap::new();
            queue.each(&mut |packet| *of_flow.entry(packet.flow).or_insert(0) += 1);
            assert_eq!(of_flow.values().sum::<usize>(), queue.len());
            assert!(queue.len() <= limit + UNCOUNTED, "{} of {limit}", queue.len());
            assert!(of_flow.values().all(|&packets| packets <= flow_limit + UNCOUNTED));
        }
        assert!(lost > 1000, "the buffer is never full");
        let some = |cause| causes.contains_key(cause);
        assert!(some("limit") || limit > 5 * flow_limit, "{causes:?}");
        assert!(some("flow's limit") || flow_limit >= limit, "{causes:?}");
    }
}
