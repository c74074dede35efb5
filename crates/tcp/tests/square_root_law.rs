//! The square-root law (Mathis et al. 1997): over an uncongested path that loses each packet with
//! probability p, a flow's rate is about (1/R) sqrt(3 / (2 b p)) packets per second, b being the
//! packets that one acknowledgement covers. Losses here are independent, for which the constant is
//! a little above that of periodic losses; timeouts push it down again as p grows.

use crate::common::{Path, SECOND, assert_near, transfer};

fn rate(sender: &str, delayed: bool, round_trip: u64, loss: f64) -> f64 {
    let path = Path { round_trip, loss, mark: 0.0 };
    transfer(sender, &[("delayed_acknowledgements", delayed)], path, 1).0
}

#[test]
fn the_rate_follows_the_square_root_of_the_loss() {
    for (loss, predicted) in [(0.001, 387.3), (0.005, 173.2), (0.01, 122.5)] {
        for sender in ["reno", "newreno"] {
            assert_near(rate(sender, false, SECOND / 10, loss), predicted, 0.2);
        }
    }
}

#[test]
fn delayed_acknowledgements_slow_the_growth() {
    for (loss, predicted) in [(0.001, 273.9), (0.005, 122.5), (0.01, 86.6)] {
        assert_near(rate("newreno", true, SECOND / 10, loss), predicted, 0.2);
    }
}

#[test]
fn twice_the_round_trip_halves_the_rate() {
    let near = rate("newreno", false, SECOND / 10, 0.002);
    let far = rate("newreno", false, SECOND / 5, 0.002);
    assert_near(near / far, 2.0, 0.1);
}
