"""Base round-trip times recovered from samples that include queueing."""

import copy
import random

import numpy as np
import pytest

from vermilion.online.sense.round_trips import BaseRoundTrips, _weighted_medians
from vermilion.routers.base import RttSamples

RATE = 10e6
PACKET = 1000.0
TRANSMISSION_S = 0.0008


def samples(pairs):
    return RttSamples(
        flows=np.array([flow for flow, _ in pairs], dtype=np.int64),
        seconds=np.array([seconds for _, seconds in pairs]),
    )


def waits(queue_s, left_s):
    """Wait of the packets that left then: the delay that they met when they came."""
    came = np.arange(np.min(left_s) - 1.0, np.max(left_s), 1e-4)
    met = np.array([queue_s(each) for each in came])
    return np.interp(left_s, np.maximum.accumulate(came + met), met)


def observed(base_by_flow, queue_s, intervals, seed=1):
    """Flows sampled under a queueing delay that moves: 8 samples per flow and interval."""
    coins = random.Random(seed)
    trips = BaseRoundTrips.begin()
    for step in range(intervals):
        time_s = 0.1 * (step + 1)
        trips = trips.with_backlog(time_s, queue_s(time_s) * RATE / 8)
        seen = []
        for flow, base in base_by_flow.items():
            for _ in range(8):
                acknowledged = time_s - coins.uniform(0, 0.1)
                waited = waits(queue_s, acknowledged - base / 2)
                seen.append((flow, base + waited + TRANSMISSION_S))
        trips = trips.updated(time_s, 0.1, samples(seen), RATE, PACKET)
    return trips


def test_a_steady_queue_is_subtracted_exactly():
    trips = observed({1: 0.028, 2: 0.180}, lambda _: 0.024, intervals=10)
    assert trips.estimates(2) == pytest.approx([0.028, 0.180])


def test_a_swinging_queue_leaves_an_error_of_a_few_per_cent():
    def queue(time_s):
        return 0.024 * (1 + 0.8 * np.sin(2 * np.pi * time_s / 0.9))

    trips = observed(dict.fromkeys(range(8), 0.028), queue, intervals=30)
    assert trips.estimates(8) == pytest.approx([0.028] * 8, rel=0.08)


def test_of_more_flows_than_are_active_the_ones_seen_last_count():
    trips = observed({1: 0.028, 2: 0.028}, lambda _: 0.0, intervals=10)
    for step in range(10, 20):
        trips = trips.with_backlog(0.1 * (step + 1), 0)
        trips = trips.updated(
            0.1 * (step + 1), 0.1, samples([(3, 0.18 + TRANSMISSION_S)]), RATE, PACKET
        )
    assert trips.estimates(1) == pytest.approx([0.180])
    assert len(trips.estimates(3)) == 3


def test_a_flow_silent_for_long_is_forgotten():
    trips = observed({1: 0.028}, lambda _: 0.0, intervals=5)
    trips = trips.with_backlog(20.0, 0)
    trips = trips.updated(20.0, 0.1, samples([]), RATE, PACKET)
    assert trips.estimates(10) == []


def test_no_estimate_exceeds_the_shortest_sample():
    trips = BaseRoundTrips.begin()
    trips = trips.with_backlog(0.1, 0)
    trips = trips.updated(0.1, 0.1, samples([(1, 0.050), (1, 0.030)]), RATE, PACKET)
    assert trips.estimates(1) == pytest.approx([0.030 - TRANSMISSION_S])


def test_noise_never_makes_a_round_trip_negative():
    trips = BaseRoundTrips.begin()
    trips = trips.with_backlog(0.1, 0.5 * RATE / 8)
    trips = trips.updated(0.1, 0.1, samples([(1, 0.010)]), RATE, PACKET)
    assert trips.estimates(1)[0] > 0.0


def test_what_was_known_before_stays_what_it_was():
    before = observed({1: 0.028, 2: 0.180}, lambda _: 0.024, intervals=10)
    kept = copy.deepcopy(before)
    after = before.with_backlog(1.1, 1000).updated(
        1.1, 0.1, samples([(1, 0.5), (3, 0.5)]), RATE, PACKET
    )
    after.with_backlog(30.0, 0).updated(30.0, 0.1, samples([]), RATE, PACKET)
    assert before == kept
    assert hash(before) == hash(kept)
    assert after != before


def test_only_the_flows_asked_for_are_told_of():
    trips = observed({1: 0.028, 2: 0.180, 3: 0.060}, lambda _: 0.024, intervals=10)
    assert trips.estimates(9, np.array([2, 3, 8])) == pytest.approx([0.060, 0.180])
    assert trips.heard_since(0.95) == 3
    assert trips.heard_since(1.0) == 0


def test_between_readings_a_second_apart_the_queue_counts_only_where_it_was_read():
    """A queue that is short whenever it is read, and long in between."""

    def queue(time_s):
        return 0.010 if abs(time_s - round(time_s)) < 0.2 else 0.060

    trips = BaseRoundTrips.begin()
    for step in range(1, 5):
        trips = trips.with_backlog(step, queue(step) * RATE / 8)
        passed = step - 1 + (np.arange(200) + 0.5) / 200
        waited = waits(queue, passed - 0.014)
        seen = [(n % 4, 0.028 + each + TRANSMISSION_S) for n, each in enumerate(waited)]
        # A flow of which nothing is close to a reading is known by its whole interval.
        seen[100] = (9, seen[100][1])
        trips = trips.updated(float(step), 1.0, samples(seen), RATE, PACKET)
    assert trips.estimates(4, np.arange(4)) == pytest.approx([0.028] * 4)
    assert trips.estimates(1, np.array([9])) == pytest.approx([0.078])


RISE = 0.05
"""Seconds that the queueing delay grows in a second, in the tests below."""


def under_a_rising_queue(base, interval_s, intervals):
    """A flow with a sample every hundredth of an interval, while the queue grows evenly.

    A packet left the queue half a base round trip before its acknowledgement passed the monitor.
    """
    trips = BaseRoundTrips.begin()
    for step in range(1, intervals + 1):
        time_s = step * interval_s
        trips = trips.with_backlog(time_s, RISE * (1 + time_s) * RATE / 8)
        passed = time_s - interval_s + interval_s * (np.arange(100) + 0.5) / 100
        waited = RISE * (1 + passed - base / 2) / (1 + RISE)  # it had come by so much earlier
        seen = [(1, base + each + TRANSMISSION_S) for each in waited]
        trips = trips.updated(time_s, interval_s, samples(seen), RATE, PACKET)
    return trips


def test_a_packet_left_the_queue_half_a_round_trip_and_half_an_interval_ago():
    """By hand: with a whole round trip of 200 ms it is 5 ms off, with a whole interval 2.5 ms."""
    trips = under_a_rising_queue(0.2, 0.1, 10)
    assert trips.estimates(1) == pytest.approx([0.200], abs=0.0005)


def test_readings_far_apart_count_half_a_round_trip_after_what_they_tell():
    """By hand, with readings a second apart: at a whole round trip of 200 ms it is 5 ms off."""
    trips = under_a_rising_queue(0.2, 1.0, 5)
    assert trips.estimates(1) == pytest.approx([0.200], abs=0.0025)


def test_an_interval_says_less_the_more_the_queue_moved_in_it():
    """By hand: what left within 0.1 s had come within 0.095 s; 2 ms are as good as none."""
    trips = under_a_rising_queue(0.2, 0.1, 10)
    assert trips.weights[0, 0] == pytest.approx(1.0 / (0.002 + 0.005 / 1.05), rel=1e-6)


def test_in_a_queue_of_a_second_a_packet_left_a_second_after_it_came():
    """The queue of 0.9 s falls by a tenth of a second each second; it has been seen from 0 s on."""
    trips = observed({1: 0.028}, lambda time_s: 0.9 - 0.1 * time_s, intervals=20)
    assert trips.estimates(1) == pytest.approx([0.028], abs=0.001)


def test_who_came_before_the_first_reading_counts_for_little():
    """By the first five of eight intervals the base would be below zero.

    The queue was 0.5 s long when it was first read, and had been 0.2 s for whoever left then.
    """
    trips = observed({1: 0.028}, lambda time_s: 0.5 if time_s > 0.0 else 0.2, intervals=8)
    assert trips.estimates(1) == pytest.approx([0.028], abs=0.001)


def test_the_estimate_is_the_value_that_splits_the_weights_in_half():
    """With a queue that is empty all weigh the same: of 10, 20, 30, 40, 50 ms it is 30 ms."""
    trips = BaseRoundTrips.begin()
    for step, base in enumerate((0.050, 0.030, 0.010, 0.040, 0.020), start=1):
        trips = trips.with_backlog(0.1 * step, 0)
        told = samples([(1, base + TRANSMISSION_S), (1, base + TRANSMISSION_S)])
        trips = trips.updated(0.1 * step, 0.1, told, RATE, PACKET)
    # None of the samples is shorter than the base, so that the shortest bounds it.
    assert trips.estimates(1) == pytest.approx([0.010])
    assert _weighted_medians(trips.bases_s, trips.weights) == pytest.approx([0.030])


@pytest.mark.parametrize(("silent_s", "is_known"), [(9.9, True), (10.1, False)])
def test_a_flow_is_forgotten_after_ten_seconds(silent_s, is_known):
    trips = observed({1: 0.028}, lambda _: 0.0, intervals=1)
    trips = trips.updated(0.1 + silent_s, 0.1, samples([]), RATE, PACKET)
    assert len(trips.estimates(1)) == is_known


def test_a_packet_counts_that_was_in_the_queue_within_a_twentieth_of_a_second_of_a_reading():
    """The queue is 30 and 10 ms long at readings, and 60 ms in between.

    Flows 2 to 4 have one sample each, of a packet that came to the queue so long before the reading
    of 10 ms. Held against that one, it says 28 ms; against the readings' middle, 10 ms less.
    """
    trips = BaseRoundTrips.begin()
    for step, waited_s in ((1, 0.030), (2, 0.010)):
        trips = trips.with_backlog(float(step), waited_s * RATE / 8)
    left = 1.0 + (np.arange(200) + 0.5) / 200 - 0.014
    waited = np.where(left < 1.110, 0.030, np.where(left > 1.930, 0.010, 0.060))
    flows = np.ones(200, dtype=np.int64)
    for flow, before_s in ((2, 0.030), (3, 0.045), (4, 0.070)):
        flows[np.argmin(abs(left - waited - 2.0 + before_s))] = flow
    seen = [(flow, 0.028 + at + TRANSMISSION_S) for flow, at in zip(flows, waited, strict=True)]
    trips = trips.updated(2.0, 1.0, samples(seen), RATE, PACKET)
    known = [trips.estimates(1, np.array([flow]))[0] for flow in (2, 3, 4)]
    assert known[:2] == pytest.approx([0.028] * 2)
    assert known[2] == pytest.approx(0.018, abs=1e-3)
