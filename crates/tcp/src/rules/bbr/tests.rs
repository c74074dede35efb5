use super::state::State;
use super::*;
use crate::rule::tests::{self, steady};

/// BBR after `segments` acknowledgements.
fn driven(segments: u64) -> (Bbr, Window) {
    tests::driven(Bbr::default(), segments)
}

#[test]
fn the_gains_are_those_of_the_drafts_table() {
    for (state, pacing, window) in [
        (State::Startup, 2.77, 2.0),
        (State::Drain, 0.5, 2.0),
        (State::Down, 0.9, 2.0),
        (State::Cruise, 1.0, 2.0),
        (State::Refill, 1.0, 2.0),
        (State::Up, 1.25, 2.25),
        (State::ProbeRoundTrip, 1.0, 0.5),
    ] {
        assert_eq!((state.pacing_gain(), state.window_gain()), (pacing, window), "{state:?}");
    }
}

#[test]
fn three_rounds_without_growth_end_startup() {
    // Round 1 sets the baseline of 100 per second, rounds 2 to 4 do not exceed it.
    assert_eq!(driven(30).0.0.state, State::Startup);
    let (bbr, window) = driven(50);
    assert_eq!(bbr.0.state, State::Cruise); // nothing was queued: drained at once
    // 1 % below the bandwidth; twice ten segments, and the one that each acknowledgement adds.
    assert!((bbr.pacing_rate().unwrap() - 99.0).abs() < 1e-9);
    assert!((20.0..=22.0).contains(&window.congestion), "{}", window.congestion);
}

#[test]
fn ten_rounds_are_waited_for_a_path_of_ten_segments() {
    let rounds = |state: State| (50..300).filter(|n| driven(*n).0.0.state == state).count();
    // Of 25 rounds, 10 at most are spent waiting for each probe, one refilling, three or four probing.
    assert!((10..=20).contains(&rounds(State::Refill)), "{}", rounds(State::Refill));
    assert!((30..=80).contains(&rounds(State::Up)), "{}", rounds(State::Up));
}

#[test]
fn marks_lower_the_short_term_bounds_at_the_end_of_their_round() {
    let (mut bbr, mut window) = driven(60);
    assert_eq!(bbr.0.state, State::Cruise);
    bbr.reduced(0, Congestion::Mark, window.congestion, &window);
    for delivered in 61..=75 {
        bbr.grow(&steady(delivered), &mut window);
    }
    // Not below what was delivered (10), not below 0.7 of the window it had (20 to 22).
    assert!((14.0..=15.5).contains(&window.congestion), "{}", window.congestion);
}

#[test]
fn marks_end_startup() {
    let (mut bbr, mut window) = driven(15);
    bbr.reduced(0, Congestion::Mark, window.congestion, &window);
    bbr.grow(&steady(16), &mut window);
    assert_ne!(bbr.0.state, State::Startup);
}

#[test]
fn recovery_ends_with_the_window_that_it_began_with() {
    let (mut bbr, mut window) = driven(60);
    let before = window.congestion;
    bbr.reduced(0, Congestion::Timeout, window.congestion, &window);
    window.congestion = 1.0;
    bbr.grow(&Acknowledged { in_recovery: true, ..steady(61) }, &mut window);
    assert_eq!(window.congestion, 4.0);
    bbr.grow(&steady(62), &mut window);
    assert!((window.congestion - before).abs() <= 1.0, "{} {before}", window.congestion);
}
