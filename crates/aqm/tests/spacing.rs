//! How far apart drops are: the distributions that the papers and ns-2 promise at a steady average.
//!
//! With weight 1 the average is the queue, so a queue that never changes holds the probability p
//! where it is, and the packets from one drop to the next are independent draws from one
//! distribution. For each rule that distribution is uniform over known whole numbers:
//!
//! - `red`: 1..=1/p, as the paper's text says, with mean 1 / 2p + 1/2;
//! - ns-2's rule without `wait`: 1..=1/p - 1, because the first packet after a drop already counts,
//!   with mean 1 / 2p;
//! - ns-2's rule with `wait`: 1/p..=2/p - 1, with mean 1.5 / p - 1/2;
//! - RED Light: as `red`, or always 1/p.
//!
//! So at one p these drop about 2p, 2p and 2/3 p of all packets. Rules that do not count packets as RED
//! does are in `rates.rs`.

use std::ops::RangeInclusive;

use crate::chi_square::bound;
use crate::seeded::Seeded;
use vermilion_aqm::{AnyDiscipline, Arrival, Coin, Decide, Ecn, LinkFacts, Verdict};
use vermilion_parameters::{Value, Values};

const LINK: LinkFacts = LinkFacts { rate: 10e6, delay: 0.01 };
/// Disciplines that space their drops as ns-2 does.
const LIKE_NS2: [&str; 4] = ["ns2-red", "self-configuring-red", "adaptive-red", "pd-red"];
/// Inverse probabilities tried.
const PERIODS: [u32; 3] = [4, 10, 100];

/// A discipline whose probability at [`packet`]'s queue of 20 is 1 / `period`.
fn steady(name: &str, period: u32, switches: &[(&str, bool)]) -> AnyDiscipline {
    let numbers = [
        ("weight", 1.0),
        ("min_threshold", 10.0),
        ("max_threshold", 30.0),
        ("max_probability", 2.0 / f64::from(period)),
    ];
    let mut values: Values =
        numbers.map(|(name, value)| (name.to_owned(), Value::Number(value))).into();
    values.extend(switches.iter().map(|&(name, on)| (name.to_owned(), Value::Switch(on))));
    AnyDiscipline::from_values(name, &values, LINK).expect("settings in the table").0
}

fn packet(size: u32) -> Arrival {
    Arrival { size, queue_packets: 20, queue_bytes: 20_000, ..Arrival::default() }
}

/// Packets from each drop (or mark) to the next, `draws` of them, the last of them included.
fn spacings(mut discipline: AnyDiscipline, arrival: &Arrival, draws: usize, seed: u64) -> Vec<u32> {
    let mut coin = Seeded::new(seed);
    let mut found = Vec::with_capacity(draws);
    // What comes before the first drop depends on how the range was entered.
    let mut since: Option<u32> = None;
    while found.len() < draws {
        since = since.map(|packets| packets + 1);
        if discipline.on_arrival(arrival, &mut coin) != Verdict::Accept {
            found.extend(since);
            since = Some(0);
        }
    }
    found
}

fn mean(values: &[u32]) -> f64 {
    values.iter().copied().map(f64::from).sum::<f64>() / values.len() as f64
}

/// Asserts that the draws are independent and uniform over `support`, and nothing outside.
fn assert_uniform(draws: &[u32], support: RangeInclusive<u32>, what: &str) {
    let mut cells = vec![0_u32; support.clone().count()];
    for draw in draws {
        assert!(support.contains(draw), "{what}: {draw} is outside {support:?}");
        cells[(draw - support.start()) as usize] += 1;
    }
    assert!(cells.iter().all(|&cell| cell > 0), "{what}: a value of {support:?} never came");
    let expected = draws.len() as f64 / cells.len() as f64;
    let chi_square: f64 =
        cells.iter().map(|&cell| (f64::from(cell) - expected).powi(2) / expected).sum();
    let degrees = (cells.len() - 1) as f64;
    assert!(
        chi_square < bound(degrees),
        "{what}: chi-square {chi_square:.1} with {degrees} degrees of freedom"
    );

    let centre = f64::from(support.start() + support.end()) / 2.0;
    let variance = ((cells.len() * cells.len() - 1) as f64) / 12.0;
    let error = (variance / draws.len() as f64).sqrt();
    assert!((mean(draws) - centre).abs() < 4.0 * error, "{what}: mean {}", mean(draws));

    let products = draws
        .windows(2)
        .map(|two| (f64::from(two[0]) - centre) * (f64::from(two[1]) - centre) / variance);
    let correlation = products.sum::<f64>() / draws.len() as f64;
    assert!(
        correlation.abs() < 4.0 / (draws.len() as f64).sqrt(),
        "{what}: neighbours are correlated by {correlation:.3}"
    );
}

#[test]
fn red_spaces_its_drops_uniformly_up_to_the_inverse_of_the_probability() {
    for period in PERIODS {
        let draws = spacings(steady("red", period, &[]), &packet(1000), 20_000, 1);
        assert_uniform(&draws, 1..=period, &format!("red, p = 1/{period}"));
    }
}

/// RED Light whose filter is the queue: [`packet`]'s 20 packets are 16 ms, twice the threshold, where
/// the probability is the base's to the power 2/3 if it is 1 at four thresholds.
fn steady_light(period: u32, spacing: &str) -> AnyDiscipline {
    let base = f64::from(period).powf(-1.5);
    let mut values: Values =
        [("gain", 1.0), ("threshold", 0.008), ("base_probability", base), ("jitter", 0.0)]
            .map(|(name, value)| (name.to_owned(), Value::Number(value)))
            .into();
    values.insert("spacing".to_owned(), Value::Choice(spacing.to_owned()));
    AnyDiscipline::from_values("red-light", &values, LINK).expect("settings in the table").0
}

#[test]
fn red_light_spaces_its_drops_uniformly_up_to_the_inverse_of_the_probability() {
    for period in PERIODS {
        let draws = spacings(steady_light(period, "uniform"), &packet(1000), 20_000, 11);
        assert_uniform(&draws, 1..=period, &format!("red-light, p = 1/{period}"));
    }
}

#[test]
fn red_light_that_counts_regularly_drops_every_packet_of_that_number() {
    for period in PERIODS {
        let draws = spacings(steady_light(period, "regular"), &packet(1000), 100, 12);
        // Rounding may put the inverse of the probability a hair above the period.
        assert!(draws.iter().all(|draw| (period..=period + 1).contains(draw)), "{period}");
        assert!(draws.windows(2).all(|two| two[0] == two[1]), "1/{period}: {draws:?}");
    }
}

#[test]
fn at_one_in_a_hundred_red_lets_fifty_and_a_half_packets_come_to_a_drop() {
    let draws = spacings(steady("red", 100, &[]), &packet(1000), 40_000, 2);
    assert!((mean(&draws) - 50.5).abs() < 0.6, "{}", mean(&draws));
    assert_eq!((draws.iter().min(), draws.iter().max()), (Some(&1), Some(&100)));
}

#[test]
fn ns2_without_wait_spaces_its_drops_uniformly_below_the_inverse_of_the_probability() {
    for name in LIKE_NS2 {
        for period in PERIODS {
            let discipline = steady(name, period, &[("wait", false)]);
            let draws = spacings(discipline, &packet(1000), 20_000, 3);
            assert_uniform(&draws, 1..=period - 1, &format!("{name}, p = 1/{period}"));
        }
    }
}

#[test]
fn ns2_with_wait_lets_the_inverse_of_the_probability_pass_first() {
    for name in LIKE_NS2 {
        for period in PERIODS {
            let discipline = steady(name, period, &[("wait", true)]);
            let draws = spacings(discipline, &packet(1000), 20_000, 4);
            assert_uniform(
                &draws,
                period..=2 * period - 1,
                &format!("{name} with wait, p = 1/{period}"),
            );
        }
    }
}

#[test]
fn linux_drops_two_p_over_one_plus_p_as_a_kernel_was_seen_to() {
    // Gaps uniform on 1..=1/p, whose mean is (1 + 1/p) / 2. Rounded fractions may add one to 1/p.
    for period in PERIODS {
        let values: Values = [
            ("weight_log", 1.0),
            ("min_threshold", 10_000.0),
            ("max_threshold", 30_000.0),
            ("max_probability", 2.0 / f64::from(period)),
        ]
        .map(|(name, value)| (name.to_owned(), Value::Number(value)))
        .into();
        let discipline = AnyDiscipline::from_values("linux-red", &values, LINK).unwrap().0;
        // The average comes up to the queue of 20 000 bytes within a few packets.
        let draws = spacings(discipline, &packet(1000), 40_000, 10);
        let draws = &draws[100..];
        let expected = f64::from(period + 1) / 2.0;
        assert!((mean(draws) / expected - 1.0).abs() < 0.02, "1/{period}: {}", mean(draws));
        assert!(draws.iter().all(|draw| (1..=period + 1).contains(draw)), "1/{period}");
    }
}

#[test]
fn at_one_probability_the_dialects_drop_two_p_two_p_and_two_thirds_of_p() {
    for (name, wait, share_of_p) in
        [("red", None, 2.0), ("ns2-red", Some(false), 2.0), ("ns2-red", Some(true), 2.0 / 3.0)]
    {
        let switches: Vec<_> = wait.map(|on| ("wait", on)).into_iter().collect();
        let draws = spacings(steady(name, 100, &switches), &packet(1000), 40_000, 5);
        let rate = 1.0 / mean(&draws);
        let expected = share_of_p * 0.01;
        assert!((rate / expected - 1.0).abs() < 0.02, "{name}, wait {wait:?}: {rate}");
    }
}

#[test]
fn marks_are_spaced_as_drops_are() {
    let packet = Arrival { ecn: Ecn::Ect0, ..packet(1000) };
    let marks = spacings(steady("red", 100, &[]), &packet, 20_000, 6);
    assert_uniform(&marks, 1..=100, "marks of red");
    let marks = spacings(steady("ns2-red", 100, &[]), &packet, 20_000, 6);
    assert_uniform(&marks, 100..=199, "marks of ns2-red with wait");
}

#[test]
fn in_byte_mode_packets_of_twice_the_size_are_dropped_twice_as_often() {
    let discipline = || steady("red", 100, &[("byte_mode", true)]);
    assert_uniform(&spacings(discipline(), &packet(1000), 20_000, 7), 1..=100, "1000 bytes");
    assert_uniform(&spacings(discipline(), &packet(2000), 20_000, 7), 1..=50, "2000 bytes");
    assert_uniform(&spacings(discipline(), &packet(500), 20_000, 7), 1..=200, "500 bytes");
}

#[test]
fn in_ns2_byte_mode_large_and_small_packets_side_by_side_lose_the_same_share_of_bytes() {
    let mut discipline = steady("ns2-red", 100, &[("byte_mode", true), ("wait", false)]);
    let (mut coin, mut sizes) = (Seeded::new(8), Seeded::new(9));
    let mut dropped = [0_u32; 2];
    for _ in 0..1_000_000 {
        let large = sizes.uniform() < 0.5;
        let arrival = packet(if large { 1500 } else { 500 });
        if discipline.on_arrival(&arrival, &mut coin) != Verdict::Accept {
            dropped[usize::from(large)] += 1;
        }
    }
    let ratio = f64::from(dropped[1]) / f64::from(dropped[0]);
    assert!((ratio / 3.0 - 1.0).abs() < 0.05, "{ratio}: {dropped:?}");
}
