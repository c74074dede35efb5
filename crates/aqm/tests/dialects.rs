//! CoDel goes on where it is when its `dialect` changes while packets wait.
//!
//! By hand, from RFC 8289's law (the next drop interval / sqrt(count) after the last one) and Linux's
//! (units of 1024 ns rounded down, the interval over and not just reached, floor(interval r / 2^16)
//! with r by a step of Newton's method for each change of the count, as the head of
//! `tests/vectors/reference/codel.py` has it). The interval is 100 ms, or 97656 units. Every packet has
//! waited 6 ms, longer than the target of 5 ms, with more than a packet behind it.

use vermilion_aqm::{
    AnyDiscipline, AnyScheduler, Decide, Departure, Ecn, LinkFacts, Scheduler, Verdict,
};
use vermilion_parameters::{Value, Values};

use crate::causes::OfFlow;

const LINK: LinkFacts = LinkFacts { rate: 10e6, delay: 0.01 };
/// Instants count from here: in unit 10000, at its beginning.
const BEGIN: u64 = 10_240_000;

fn dialect(name: &str) -> Values {
    Values::from([("dialect".to_owned(), Value::Choice(name.to_owned()))])
}

struct Queue(AnyDiscipline);

impl Queue {
    /// Whose first packet that has waited too long has its turn at `BEGIN`.
    fn above_target(name: &str) -> Self {
        let (discipline, _) = AnyDiscipline::from_values("codel", &dialect(name), LINK).unwrap();
        let mut it = Self(discipline);
        it.sends(BEGIN);
        it
    }

    fn becomes(&mut self, name: &str) {
        self.0.set_values(&dialect(name), LINK).unwrap();
    }

    fn verdict(&mut self, now: u64, waited: u64) -> Verdict {
        let arrived = now - waited;
        let departure =
            Departure { now, arrived, size: 1000, queue_bytes: 50_000, ..Departure::default() };
        self.0.on_departure(&departure, &mut || f64::NAN)
    }

    fn sends(&mut self, now: u64) {
        assert_eq!(self.verdict(now, 6_000_000), Verdict::Accept, "at {now} ns");
    }

    /// Drops from this nanosecond on, and then sends the next packet.
    fn drops_from(&mut self, now: u64) {
        self.sends(now - 1);
        let verdict = self.verdict(now, 6_000_000);
        assert!(matches!(verdict, Verdict::Drop(_)), "{verdict:?} at {now} ns");
        self.sends(now);
    }

    /// A packet that has waited too shortly ends the spell.
    fn calms_down(&mut self, now: u64) {
        assert_eq!(self.verdict(now, 1_000_000), Verdict::Accept, "at {now} ns");
    }
}

#[test]
fn an_interval_that_has_begun_goes_on_in_the_other_dialect() {
    // RFC: reached at 110240000 ns, in unit 107656; in Linux it is over from unit 107657 on.
    let mut queue = Queue::above_target("rfc8289");
    queue.becomes("linux");
    queue.drops_from(107_657 * 1024);
    // r = 65535: 97656 x 65535 / 65536 = 97654 units later.
    queue.drops_from((107_657 + 97_654) * 1024);

    // Linux: reached in unit 107656, over after it; in the RFC reached with that unit's first nanosecond.
    let mut queue = Queue::above_target("linux");
    queue.becomes("rfc8289");
    queue.drops_from(107_656 * 1024);
    queue.drops_from(107_656 * 1024 + 100_000_000);
}

#[test]
fn a_spell_of_the_rfc_goes_on_at_its_rate_in_linux() {
    let mut queue = Queue::above_target("rfc8289");
    queue.drops_from(BEGIN + 100_000_000);
    queue.drops_from(BEGIN + 200_000_000);
    // The next one is due 100 / sqrt(2) = 70.710678 ms later, at 280950678 ns, in unit 274365.
    queue.becomes("linux");
    queue.drops_from(274_365 * 1024);
    // Count 2 had r = floor(65536 / sqrt(2)) = 46340. For 3: s = 46340 x 46340 = 2147395600,
    // v = (12884901888 - 6442186800) / 4 = 1610678772, r = floor(v 46340 / 2^31) = 34756:
    // floor(97656 x 34756 / 65536) = 51790 units later.
    queue.drops_from((274_365 + 51_790) * 1024);
}

#[test]
fn a_spell_of_linux_goes_on_at_its_rate_in_the_rfc() {
    let mut queue = Queue::above_target("linux");
    queue.drops_from(107_657 * 1024);
    queue.drops_from(205_311 * 1024);
    // Count 2 has r = 32769: the next drop is due 48829 units later, in unit 254140.
    queue.becomes("rfc8289");
    queue.drops_from(254_140 * 1024);
    // Count 3: 100 / sqrt(3) = 57.735026 ms later, and 100 / sqrt(4) after that.
    queue.drops_from(254_140 * 1024 + 57_735_026);
    queue.drops_from(254_140 * 1024 + 57_735_026 + 50_000_000);
}

#[test]
fn there_and_back_costs_less_than_a_unit() {
    let mut queue = Queue::above_target("rfc8289");
    queue.drops_from(BEGIN + 100_000_000);
    queue.drops_from(BEGIN + 200_000_000);
    queue.becomes("linux");
    queue.becomes("rfc8289");
    queue.drops_from(274_365 * 1024); // instead of 280950678 ns, which is in that unit
    queue.drops_from(274_365 * 1024 + 57_735_026);
}

#[test]
fn the_rate_that_was_found_is_remembered_as_long_in_the_other_dialect() {
    // Drops at 110.24, 210.24 and 280.950678 ms: count 3, found 3 - 1 = 2. The next one would have been due at
    // 338685704 ns, in unit 330747. The next spell goes on from 2 if it begins less than 16 x 97656 =
    // 1562496 units later: before unit 1893243. Its interval began 97657 units before.
    let second_spell_from = |unit: u64| {
        let mut queue = Queue::above_target("rfc8289");
        queue.drops_from(BEGIN + 100_000_000);
        queue.drops_from(BEGIN + 200_000_000);
        queue.drops_from(280_950_678);
        queue.calms_down(300_000_000);
        queue.becomes("linux");
        queue.sends((unit - 97_657) * 1024);
        queue.drops_from(unit * 1024);
        queue
    };
    // Count 3 had r = floor(65536 / sqrt(3)) = 37837. For 2: s = 1431638569, v = floor((12884901888 - 2863277138) / 4)
    // = 2505406187, r = floor(v 37837 / 2^31) = 44143: floor(97656 x 44143 / 65536) = 65778 units.
    second_spell_from(1_893_242).drops_from((1_893_242 + 65_778) * 1024);
    second_spell_from(1_893_243).drops_from((1_893_243 + 97_654) * 1024);
}

#[test]
fn each_flow_of_fq_codel_goes_on_in_the_other_dialect() {
    let (mut queue, _) =
        AnyScheduler::<OfFlow>::from_values("fq-codel", &Values::new(), LINK).unwrap();
    let mut coin = || 0.5;
    for _ in 0..50 {
        let packet = OfFlow(1, Ecn::NotCapable);
        queue.enqueue(BEGIN - 6_000_000, None, packet, &mut coin, &mut |_| panic!("there is room"));
    }
    let mut dropped_at = |queue: &mut AnyScheduler<OfFlow>, now| {
        let mut count = 0;
        queue.dequeue(now, &mut coin, &mut |_| count += 1).expect("packets wait");
        count
    };
    assert_eq!(dropped_at(&mut queue, BEGIN), 0);
    queue.set_values(&dialect("linux"), LINK).unwrap();
    assert_eq!(dropped_at(&mut queue, 107_657 * 1024 - 1), 0);
    assert_eq!(dropped_at(&mut queue, 107_657 * 1024), 1);
}
