//! When deviations from a law are too large for chance.

/// Bound that a chi-square variable exceeds once in about 30 000 times (Wilson and Hilferty, 4 sigma).
pub fn bound(degrees: f64) -> f64 {
    let variance = 2.0 / (9.0 * degrees);
    degrees * (1.0 - variance + 4.0 * variance.sqrt()).powi(3)
}
