"""What is kept and what is rolled back, from samples."""

import random

import pytest

from vermilion.online.decide.verification import Expectation, measure, verify
from vermilion.online.sense.sampler import Sample

EXPECTED = Expectation(deviation_before=120.0, deviation_after=20.0, mean_after=30.0)


def samples(mean, sd, seconds=5.0, packets=125, seed=1):
    coins = random.Random(seed)
    return [
        Sample(
            time_s=0.1 * n,
            interval_s=0.1,
            backlog_before_packets=30,
            backlog_packets=max(0, round(coins.gauss(mean, sd))),
            backlog_bytes=0,
            packets=packets,
            bytes=1000 * packets,
            drops=2,
            marks=0,
            active_flows=16,
            heard_flows=16,
            rtt_samples=0,
            mean_rtt_s=None,
        )
        for n in range(1, round(seconds / 0.1) + 1)
    ]


def measured(*args, **kwargs):
    return measure(samples(*args, **kwargs), target=30.0, rate_bit_per_s=10e6)


def test_less_than_three_seconds_are_no_measurement():
    assert measured(30, 5, seconds=2.9) is None


def test_a_measurement_has_the_figures_of_its_samples():
    found = measured(33, 4, seconds=60)
    assert found.queue.mean == pytest.approx(33, abs=0.5)
    assert found.deviation.mean == pytest.approx(16 + 9, rel=0.15)
    assert found.utilization.mean == pytest.approx(1.0)
    assert found.signal_rate == pytest.approx(2 / 127)


def test_a_setting_that_does_what_the_model_said_is_kept():
    outcome = verify(measured(30, 4.5), measured(38, 9), EXPECTED)
    assert outcome.verdict == "verified"
    assert "mean queue" in outcome.reason


def test_a_setting_worse_than_before_is_rolled_back():
    outcome = verify(measured(60, 10), measured(38, 9), EXPECTED)
    assert outcome.verdict == "rolled-back"
    assert outcome.reason.startswith("worse than before")


def test_a_setting_that_empties_the_link_is_rolled_back():
    outcome = verify(measured(30, 3, packets=100), measured(38, 9), EXPECTED)
    assert outcome.verdict == "rolled-back"
    assert "used less" in outcome.reason


def test_without_time_to_measure_before_the_model_stands_in():
    assert verify(measured(35, 6), None, EXPECTED).verdict == "verified"
    assert verify(measured(60, 10), None, EXPECTED).verdict == "rolled-back"


def test_chance_alone_rolls_back_less_than_once_in_a_hundred():
    rolled_back = sum(
        verify(measured(30, 9, seed=2 * n), measured(30, 9, seed=2 * n + 1), EXPECTED).verdict
        == "rolled-back"
        for n in range(500)
    )
    assert rolled_back <= 5
