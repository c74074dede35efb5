//! Disciplines' own words for what drops a packet.

use crate::seeded::Seeded;
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_aqm::{
    AnyDiscipline, AnyScheduler, Discipline, DropKind, DropReason, Dropped, Ecn, LinkFacts, Packet,
    Scheduler,
};
use vermilion_parameters::{Value, Values};

const LINK: LinkFacts = LinkFacts { rate: 10e6, delay: 0.01 };
const PLAIN: [DropReason; 3] = [DropReason::Early, DropReason::Forced, DropReason::Overflow];

#[derive(Clone, Copy, Debug)]
pub(crate) struct OfFlow(pub(crate) u32, pub(crate) Ecn);

impl Packet for OfFlow {
    fn size(&self) -> u32 {
        1000
    }

    fn ecn(&self) -> Ecn {
        self.1
    }

    fn mark(&mut self) {
        self.1 = Ecn::CongestionExperienced;
    }

    fn flow(&self) -> u32 {
        self.0
    }
}

fn scheduler(name: &str, values: &Values) -> AnyScheduler<OfFlow> {
    AnyScheduler::from_values(name, values, LINK).expect("settings in the table").0
}

fn numbers<const N: usize>(numbers: [(&str, f64); N]) -> Values {
    numbers.map(|(name, value)| (name.to_owned(), Value::Number(value))).into()
}

#[test]
fn a_reason_with_a_cause_is_of_the_kind_that_it_names() {
    let kinds = [DropKind::Early, DropKind::Forced, DropKind::Overflow];
    for (plain, kind) in PLAIN.into_iter().zip(kinds) {
        assert_eq!(plain.kind(), kind);
        assert_eq!(DropReason::Own { kind, cause: 7 }.kind(), kind);
    }
    assert!(size_of::<vermilion_aqm::Verdict>() <= 8, "a verdict is handed over in a register");
}

#[test]
fn every_discipline_has_words_for_what_drops_early_by_rule_and_for_want_of_room() {
    for algorithm in ALGORITHMS {
        let queue = scheduler(algorithm.name, &Values::new());
        let [early, forced, overflow] = PLAIN.map(|reason| queue.cause(reason));
        let expected = match algorithm.name {
            "drop-tail" => ["tail", "tail", "tail"],
            "linux-red" | "wred" => ["probability", "maximum threshold", "limit"],
            "rem" => ["price", "", "limit"],
            "avq" => ["", "virtual queue", "limit"],
            "codel" => ["", "control law", "limit"],
            "cake" => ["blue", "control law", "memory limit"],
            "cobalt" => ["blue", "control law", "limit"],
            "sfb" => ["probability", "", "limit"],
            "step" => ["", "threshold", "limit"],
            "dualpi2" => ["classic probability", "", "limit"],
            "fq" => ["", "", "limit"],
            "fq-codel" => ["", "control law", "fattest flow"],
            _ => ["probability", "probability of 1", "limit"],
        };
        assert_eq!([early, forced, overflow], expected, "{}", algorithm.name);
    }
}

#[test]
fn who_goes_for_another_has_the_place_in_its_cause() {
    for (name, victim, words) in [
        ("drop-tail", "head", "head"),
        ("drop-tail", "random", "random place"),
        ("ns2-red", "front", "limit: front"),
        ("ns2-red", "random", "limit: random place"),
    ] {
        let values = Values::from([("drop".to_owned(), Value::Choice(victim.to_owned()))]);
        let (discipline, _) = AnyDiscipline::from_values(name, &values, LINK).expect("accepted");
        assert_eq!(discipline.cause(DropReason::Overflow), words, "{name}");
    }
}

#[test]
fn choke_tells_a_match_from_what_red_drops() {
    let values = numbers([
        ("weight", 1.0),
        ("min_threshold", 1.0),
        ("max_threshold", 20.0),
        ("max_probability", 1.0),
        ("limit", 30.0),
    ]);
    let (mut queue, mut coin) = (scheduler("choke", &values), Seeded::new(3));
    let mut found = Vec::new();
    for number in 0..200 {
        // Half of the packets are of one flow, the others of a flow each.
        let flow = if number % 2 == 0 { 0 } else { number };
        let packet = OfFlow(flow, Ecn::NotCapable);
        let mut of_this = Vec::new();
        let mut drop = |gone: Dropped<OfFlow>| of_this.push((gone.packet.0, gone.reason));
        queue.enqueue(number.into(), None, packet, &mut coin, &mut drop);
        if of_this.len() == 2 {
            assert_eq!(of_this[0], of_this[1], "both of one flow, for one cause");
        }
        found.extend(of_this.into_iter().map(|(flow, reason)| (flow == 0, queue.cause(reason))));
    }
    assert!(found.contains(&(true, "match")) && found.contains(&(false, "probability")));
    assert!(!found.contains(&(false, "match")), "who is alone meets nobody");
}

#[test]
fn dualpi2_tells_low_latency_that_it_drops_in_an_overload() {
    let values =
        numbers([("limit", 1e6), ("alpha", 0.0), ("beta", 20.0), ("maximum_packet_size", 1000.0)]);
    let mut coin = Seeded::new(1);
    for (ecn, words) in [
        (Ecn::Ect1, "overload"),
        (Ecn::Ect0, "classic probability"),
        (Ecn::NotCapable, "classic probability"),
    ] {
        let mut queue = scheduler("dualpi2", &values);
        for _ in 0..2000 {
            queue.enqueue(0, None, OfFlow(0, ecn), &mut coin, &mut |_| panic!("there is room"));
        }
        let mut reasons = Vec::new();
        while queue.dequeue(200_000_000, &mut coin, &mut |gone| reasons.push(gone.reason)).is_some()
        {
        }
        assert!(!reasons.is_empty(), "{ecn:?}");
        assert!(reasons.iter().all(|reason| queue.cause(*reason) == words), "{ecn:?}");
        assert!(reasons.iter().all(|reason| reason.kind() == DropKind::Early), "{ecn:?}");
    }
}
