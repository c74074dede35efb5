use super::*;
use crate::rule::tests::{self, MILLISECOND, steady};

/// BBR after `segments` acknowledgements.
fn driven(segments: u64) -> (Bbr1, Window) {
    tests::driven(Bbr1::default(), segments)
}

#[test]
fn three_rounds_without_growth_end_startup() {
    // Round 1 sets the baseline of 100 per second, rounds 2 to 4 do not exceed it.
    let (bbr, _) = driven(30);
    assert_eq!((bbr.mode, bbr.pacing_gain()), (Mode::Startup, 739.0 / 256.0));
    let (bbr, _) = driven(50);
    assert_eq!(bbr.mode, Mode::ProbeBandwidth); // nothing was queued: drained at once
}

#[test]
fn the_window_holds_the_path_twice_and_three_bursts() {
    let (mut bbr, mut window) = driven(400);
    // Twice ten and three bursts, of two segments at a quarter more than 99 a second; in this phase two besides. And of
    // each stretch one acknowledgement comes early, the first.
    assert_eq!((bbr.phase, window.congestion), (0, 20.0 + 6.0 + 2.0 + 1.0));
    for delivered in 401..440 {
        bbr.grow(&probing(&bbr, delivered), &mut window);
    }
    // Bursts below 1.2 Mbit/s have one segment; made even.
    assert!(bbr.phase > 1);
    assert_eq!(window.congestion, 20.0 + 4.0 + 1.0);
}

/// As [`steady`], and in the phase of more something is lost, so that it ends.
fn probing(bbr: &Bbr1, delivered: u64) -> Acknowledged {
    Acknowledged { lost: u32::from(bbr.phase == 0), ..steady(delivered) }
}

#[test]
fn the_phases_take_a_round_trip_each_and_that_of_less_none_if_nothing_waits() {
    let (mut bbr, mut window) = driven(50);
    let mut seen = vec![(bbr.phase, 1)];
    for delivered in 51..600 {
        bbr.grow(&probing(&bbr, delivered), &mut window);
        match seen.last_mut() {
            Some(last) if last.0 == bbr.phase => last.1 += 1,
            _ => seen.push((bbr.phase, 1)),
        }
    }
    let whole = &seen[1..seen.len() - 1];
    assert!(whole.len() > 30, "{}", whole.len());
    for pair in whole.windows(2) {
        assert_eq!(pair[1].0, (pair[0].0 + 1) % 8);
    }
    for (phase, acknowledgements) in whole {
        // More than 100 ms, at 10 ms each. With ten segments in the network nothing waits: less is over at once.
        assert_eq!(*acknowledgements, if *phase == 1 { 1 } else { 11 }, "{phase}");
    }
}

#[test]
fn a_quarter_more_is_sent_until_that_is_in_the_network() {
    let (mut bbr, mut window) = driven(50);
    for delivered in 51..400 {
        bbr.grow(&steady(delivered), &mut window);
    }
    // 13 segments and three bursts of two, made even, and two: 22. Ten are never so many.
    assert_eq!(bbr.phase, 0);
    // After the acknowledgement 18, before it 19, and a burst of two more.
    bbr.grow(&Acknowledged { in_network: 18, ..steady(400) }, &mut window);
    assert_eq!(bbr.phase, 0);
    // One more; but the burst leaves in 20 ms, and by then two have arrived.
    bbr.departures.note(steady(401).now + 20 * MILLISECOND);
    bbr.grow(&Acknowledged { in_network: 19, ..steady(401) }, &mut window);
    assert_eq!(bbr.phase, 0);
    bbr.departures = Departures::default();
    bbr.grow(&Acknowledged { in_network: 19, ..steady(402) }, &mut window);
    assert_eq!(bbr.phase, 1);
}

#[test]
fn the_first_round_of_a_recovery_sends_as_much_as_arrives() {
    let (mut bbr, mut window) = driven(60);
    let before = window.congestion;
    bbr.reduced(0, Congestion::Loss, window.congestion, &window);
    let recovering = |delivered, lost| {
        let event = steady(delivered);
        Acknowledged { in_recovery: true, lost, in_network: 8, ..event }
    };
    bbr.grow(&recovering(61, 1), &mut window);
    assert_eq!(window.congestion, 9.0);
    // What was sent after that has arrived: from now on a segment more for each that arrives.
    for delivered in 62..=71 {
        bbr.grow(&recovering(delivered, 0), &mut window);
    }
    assert_eq!(window.congestion, 10.0);
    bbr.grow(&recovering(72, 0), &mut window);
    assert_eq!(window.congestion, 11.0);
    bbr.grow(&steady(73), &mut window);
    assert!((window.congestion - before).abs() <= 4.0, "{} {before}", window.congestion);
}

#[test]
fn a_timeout_is_no_recovery_with_a_first_round() {
    let (mut bbr, mut window) = driven(60);
    bbr.reduced(0, Congestion::Timeout, window.congestion, &window);
    bbr.timed_out(0);
    assert_eq!(bbr.baseline, 0.0);
    window.congestion = 1.0;
    bbr.grow(&Acknowledged { in_recovery: true, ..steady(61) }, &mut window);
    assert_eq!(window.congestion, 4.0);
    bbr.grow(&steady(62), &mut window);
    assert!(window.congestion > 20.0, "{}", window.congestion);
}

#[test]
fn ten_seconds_without_a_shorter_round_trip_leave_four_segments_for_a_fifth() {
    let (mut bbr, mut window) = driven(1000);
    assert_eq!(bbr.mode, Mode::ProbeBandwidth);
    let before = window.congestion;
    // The first acknowledgement came at 110 ms; the round trip is good until 10.11 s.
    bbr.grow(&steady(1001), &mut window);
    assert_eq!(bbr.mode, Mode::ProbeBandwidth);
    bbr.grow(&steady(1002), &mut window);
    assert_eq!((bbr.mode, window.congestion), (Mode::ProbeRoundTrip, 4.0));
    // Four in the network from the next one on; 200 ms and a round later it is over.
    let few = |delivered| Acknowledged { in_network: 4, ..steady(delivered) };
    for delivered in 1003..=1023 {
        bbr.grow(&few(delivered), &mut window);
        assert_eq!((bbr.mode, window.congestion), (Mode::ProbeRoundTrip, 4.0));
        // What it measures meanwhile says nothing.
        assert!(bbr.is_limited(&few(delivered + 10)) || delivered < 1003);
    }
    bbr.grow(&few(1024), &mut window);
    assert_eq!(bbr.mode, Mode::ProbeBandwidth);
    assert!((window.congestion - before).abs() <= 4.0, "{} {before}", window.congestion);
}

#[test]
fn who_waited_for_the_window_makes_up_for_half_of_the_spacing_at_most() {
    let mut bbr = Bbr1::default();
    // On time: the whole spacing. Three late: so much less. Long after that: half.
    let spaced = [1000, 1005, 1018, 2000].map(|now| bbr.space(now, 10).0);
    assert_eq!(spaced, [5, 10, 7, 5]);
    // Of a burst, half of the whole.
    let spaced = [3000, 3000, 3010].map(|now| bbr.space(now, 10).0);
    assert_eq!(spaced, [5, 10, 10]);
}

#[test]
fn what_a_millisecond_carries_leaves_at_once() {
    let burst = |rate| Bbr1 { pacing_rate: rate, ..Bbr1::default() }.space(0, 10).1 + 1;
    // 1.2 Mbit/s are 103.6 segments of 1448 bytes a second; 1/1024 s carries ten of 10,240.
    let bursts = [100.0, 104.0, 3000.0, 3072.0, 10_240.0, 1e6].map(burst);
    assert_eq!(bursts, [1, 2, 2, 3, 10, 45]);
}
