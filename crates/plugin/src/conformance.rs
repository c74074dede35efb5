//! Laws that every plug-in keeps, for the tests of its crate. Each panics with what does not hold.

use std::sync::Arc;

use vermilion_aqm::{
    Arrival, Coin, Decide, Departure, Discipline, Ecn, ForeignFactory, LinkFacts, Listed, Verdict,
};
use vermilion_parameters::{Settings, Values};
use vermilion_tcp::registry::{Profile, check_table};
use vermilion_tcp::rule::{Acknowledged, Congestion, WindowRule};
use vermilion_tcp::{ForeignSenders, Window};

use crate::guest::{self, CongestionControl};
use crate::host::{Factory, Library};
use crate::raw::{self, Plugin};

const ROUND_TRIP: u64 = 20_000_000;

fn factory(plugin: &Plugin) -> Factory {
    let library = Library::at(std::ptr::from_ref(plugin) as usize);
    let report = |doing: &str, now: Option<u64>, words: &str| panic!("{doing} at {now:?}: {words}");
    library.expect("a description").factory(Arc::new(report))
}

/// Numbers over `[0, 1)`, the same every time.
struct Draws(u64);

impl Coin for Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 11) as f64 / 2_f64.powi(53)
    }
}

/// A window over 20,000 acknowledgements of which one in 500 tells of a loss or a mark.
fn windows(rule: &mut dyn WindowRule, seed: u64) -> Vec<f64> {
    let mut draws = Draws(seed);
    let mut window = Window { congestion: 10.0, slow_start_threshold: 100.0, cap: 10_000.0 };
    let mut seen = Vec::new();
    for number in 1..=20_000_u32 {
        let now = u64::from(number) * ROUND_TRIP / 50;
        let sample = ROUND_TRIP + (draws.uniform() * 5e6) as u64;
        let event = Acknowledged {
            now,
            delivered: 1,
            counted: 1.0,
            marked: u32::from(draws.uniform() < 0.01),
            round_trip: Some(sample),
            forward_delay: Some(sample / 2),
            smoothed_round_trip: Some(ROUND_TRIP),
            unacknowledged: number,
            highest: number + 50,
            in_network: 50,
            in_recovery: false,
            lost: 0,
            rate: None,
        };
        if rule.has_hooks() {
            rule.on_sent(now, number + 50, false, &mut window);
            if rule.deadline() <= now {
                rule.on_timer(now, &mut window);
                assert!(
                    rule.deadline() > now,
                    "the deadline after on_timer is not later than {now}"
                );
            }
        }
        rule.grow(&event, &mut window);
        if draws.uniform() < 0.002 {
            let signs = [Congestion::Loss, Congestion::Mark, Congestion::Timeout];
            let sign = signs[(draws.uniform() * 3.0) as usize];
            let reduced = rule.reduced(now, sign, window.congestion, &window);
            assert!(reduced > 0.0 && reduced < 1e9, "a window of {reduced} after {sign:?}");
            window.slow_start_threshold = reduced.max(2.0);
            window.congestion = if sign == Congestion::Timeout { 1.0 } else { reduced.max(1.0) };
            if sign == Congestion::Timeout {
                rule.timed_out(now);
            }
        }
        let size = window.congestion;
        assert!(size.is_finite() && size > 0.0, "a window of {size} at {now} ns");
        assert!(rule.pacing_rate().is_none_or(|rate| rate >= 0.0), "a negative rate");
        seen.push(size);
    }
    seen
}

/// A congestion control has a whole table, keeps its window a number above 0, repeats itself, shares nothing with its
/// copies, and is the same through the C interface to the bit.
///
/// # Panics
/// If that is not so.
pub fn congestion_control<R: CongestionControl>() {
    let plugin = guest::congestion_control::<R>();
    let factory = factory(&plugin);
    let algorithm = ForeignSenders::algorithm(&factory);
    check_table(algorithm.parameters).expect("a table with what all senders have");
    Profile::from_foreign(&factory, &Values::new()).expect("defaults that are accepted");
    let settings = Settings::resolve(algorithm, &Values::new()).expect("defaults");
    let make = || factory.rule(&settings).expect("a rule");
    let mut direct = R::new(settings.read()).expect("a rule");
    let expected = windows(&mut direct, 1);
    let mut first = make();
    let copy = first.copy();
    assert_eq!(windows(&mut *first, 1), expected, "it is another through the C interface");
    let mut copy = copy;
    assert_eq!(
        windows(&mut *copy, 1),
        expected,
        "a copy shares state, or it does not repeat itself"
    );
}

/// Verdicts over 20,000 packets.
fn verdicts(queue: &mut dyn ForeignVerdicts, seed: u64) -> Vec<Verdict> {
    let mut draws = Draws(seed);
    let (mut waiting, mut seen) = (0_u32, Vec::new());
    for number in 1..=20_000_u64 {
        let now = number * 100_000;
        let ecn = if draws.uniform() < 0.5 { Ecn::Ect0 } else { Ecn::NotCapable };
        let arrival = Arrival {
            now,
            size: 1000,
            flow: (number % 7) as u32,
            ecn,
            queue_packets: waiting,
            queue_bytes: u64::from(waiting) * 1000,
            ..Arrival::default()
        };
        let verdict = queue.arrives(&arrival, &mut draws);
        assert!(verdict != Verdict::Mark || ecn.is_capable(), "a mark of what cannot be marked");
        seen.push(verdict);
        waiting += u32::from(matches!(verdict, Verdict::Accept | Verdict::Mark));
        let leaves = if draws.uniform() < 0.1 { 12 } else { u32::from(draws.uniform() < 0.8) };
        for _ in 0..leaves.min(waiting) {
            waiting -= 1;
            let departure = Departure {
                now,
                arrived: now.saturating_sub(1_000_000),
                size: 1000,
                ecn,
                queue_packets: waiting,
                queue_bytes: u64::from(waiting) * 1000,
                ..Departure::default()
            };
            seen.extend(queue.leaves(&departure, &mut draws));
        }
        assert!(waiting < 1_000_000, "the queue has no bound");
    }
    seen
}

/// A discipline of either side.
trait ForeignVerdicts {
    fn arrives(&mut self, arrival: &Arrival, draws: &mut Draws) -> Verdict;
    fn leaves(&mut self, departure: &Departure, draws: &mut Draws) -> Option<Verdict>;
}

impl ForeignVerdicts for Box<dyn vermilion_aqm::ForeignDiscipline> {
    fn arrives(&mut self, arrival: &Arrival, draws: &mut Draws) -> Verdict {
        (**self).on_arrival(arrival, draws)
    }

    fn leaves(&mut self, departure: &Departure, draws: &mut Draws) -> Option<Verdict> {
        (**self).watches_departures().then(|| (**self).on_departure(departure, draws))
    }
}

/// The type itself.
struct Direct<D>(D);

unsafe extern "C" fn draw(source: *mut std::ffi::c_void) -> f64 {
    unsafe { &mut *source.cast::<Draws>() }.uniform()
}

impl<D: Decide<raw::Coin>> ForeignVerdicts for Direct<D> {
    fn arrives(&mut self, arrival: &Arrival, draws: &mut Draws) -> Verdict {
        let mut coin = raw::Coin { source: (&raw mut *draws).cast(), draw };
        self.0.on_arrival(arrival, &mut coin)
    }

    fn leaves(&mut self, departure: &Departure, draws: &mut Draws) -> Option<Verdict> {
        let mut coin = raw::Coin { source: (&raw mut *draws).cast(), draw };
        self.0.watches_departures().then(|| self.0.on_departure(departure, &mut coin))
    }
}

/// A discipline marks only what can be marked, bounds its queue, repeats itself, shares nothing with its copies, takes
/// its own settings again, and is the same through the C interface.
///
/// # Panics
/// If that is not so.
pub fn discipline<D: Listed + Decide<raw::Coin> + Clone + Send + Sync + 'static>() {
    let plugin = guest::discipline::<D>();
    let factory = factory(&plugin);
    let link = LinkFacts { rate: 10e6, delay: 0.001 };
    let algorithm = ForeignFactory::algorithm(&factory);
    let settings = Settings::resolve(algorithm, &Values::new()).expect("defaults");
    let expected = verdicts(&mut Direct(D::new(settings.read(), link).expect("a queue")), 1);
    let mut first = factory.make(&settings, link).expect("a queue");
    let mut copy = first.copy();
    assert_eq!(verdicts(&mut first, 1), expected, "it is another through the C interface");
    assert_eq!(
        verdicts(&mut copy, 1),
        expected,
        "a copy shares state, or it does not repeat itself"
    );
    first.reconfigure(&settings, link).expect("its own settings again");
}
