//! Whether drawn numbers follow a law that is given as probabilities.

use super::chi_square::bound;

/// Asserts that `draws` are independent draws of which `probability_of` tells how likely each number
/// is. Numbers are taken together until a cell has a twentieth of all, what is left over is the last.
pub fn assert_follows(draws: &[u32], probability_of: impl Fn(u32) -> f64, what: &str) {
    let mut sorted = draws.to_vec();
    sorted.sort_unstable();
    assert!(draws.iter().all(|&draw| probability_of(draw) > 0.0), "{what}: what cannot come");
    let total = draws.len() as f64;
    let (mut below, mut number, mut counted) = (0.0, 0, 0);
    let (mut cell, mut chi_square, mut degrees) = (0.0, 0.0, 0.0);
    let mut add = |probability: f64, upto: usize, counted: &mut usize| {
        let expected = probability * total;
        chi_square += ((upto - *counted) as f64 - expected).powi(2) / expected;
        degrees += 1.0;
        *counted = upto;
    };
    // Two cells at the least remain: the one before the last, and the last.
    while below + cell < 0.95 {
        cell += probability_of(number);
        number += 1;
        if cell >= 0.05 - 1e-12 {
            add(cell, sorted.partition_point(|&draw| draw < number), &mut counted);
            below += cell;
            cell = 0.0;
        }
    }
    if 1.0 - below > 1e-9 {
        add(1.0 - below, sorted.len(), &mut counted);
    }
    assert_eq!(counted, sorted.len(), "{what}: beyond the law");
    let degrees = degrees - 1.0;
    assert!(
        chi_square < bound(degrees),
        "{what}: chi-square {chi_square:.1} with {degrees} degrees of freedom"
    );
    assert_uncorrelated(draws, what);
}

/// Asserts that a draw does not depend on the one before.
fn assert_uncorrelated(draws: &[u32], what: &str) {
    let count = draws.len() as f64;
    let mean = draws.iter().copied().map(f64::from).sum::<f64>() / count;
    let apart = |draw: u32| f64::from(draw) - mean;
    let variance = draws.iter().map(|&draw| apart(draw).powi(2)).sum::<f64>() / count;
    let products: f64 = draws.windows(2).map(|two| apart(two[0]) * apart(two[1])).sum();
    let correlation = products / count / variance;
    assert!(
        correlation.abs() < 4.0 / count.sqrt(),
        "{what}: neighbours correlate, {correlation:.3}"
    );
}

/// Asserts that a share found in `count` draws is `probability`, within 4 sigma and 0.2 % of it
/// for the disciplines' own rounding.
pub fn assert_share(found: f64, probability: f64, count: usize, what: &str) {
    let sigma = (probability * (1.0 - probability) / count as f64).sqrt();
    let within = 4.0 * sigma + 0.002 * probability;
    assert!((found - probability).abs() < within, "{what}: {found}, not {probability}");
}
