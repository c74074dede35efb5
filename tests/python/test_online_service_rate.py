"""The service rate measured from counters."""

import copy
import random

import pytest

from vermilion.online.sense.link_state import ServiceRate
from vermilion.online.sense.sampler import Sample


def feed(rate, packets, backlog=30, intervals=1):
    for _ in range(intervals):
        rate = rate.updated(
            Sample(
                0.1,
                0.1,
                backlog,
                backlog,
                1000 * backlog,
                packets,
                1000 * packets,
                0,
                0,
                *4 * (None,),
            )
        )
    return rate


def test_no_rate_is_named_before_three_busy_intervals():
    rate = ServiceRate()
    rate = feed(rate, 125, intervals=2)
    assert rate.bit_per_s is None
    rate = feed(rate, 125)
    assert rate.bit_per_s == pytest.approx(10e6)


def test_intervals_without_backlog_say_nothing():
    rate = ServiceRate()
    rate = feed(rate, 125, intervals=5)
    rate = feed(rate, 3, backlog=0, intervals=100)
    assert rate.bit_per_s == pytest.approx(10e6)


def test_a_link_that_is_never_busy_has_no_rate():
    rate = ServiceRate()
    rate = feed(rate, 50, backlog=1, intervals=1000)
    assert rate.bit_per_s is None


def test_a_fall_is_followed_within_half_a_second():
    rate = ServiceRate()
    rate = feed(rate, 125, intervals=50)
    rate = feed(rate, 75, intervals=5)
    assert rate.bit_per_s == pytest.approx(6e6)


def test_a_rise_is_followed_within_three_tenths_of_a_second():
    rate = ServiceRate()
    rate = feed(rate, 75, intervals=50)
    rate = feed(rate, 125, intervals=3)
    assert rate.bit_per_s == pytest.approx(10e6)


@pytest.mark.parametrize("intervals", [1, 2, 3])
def test_a_few_intervals_with_an_unseen_idle_moment_change_nothing(intervals):
    rate = ServiceRate()
    rate = feed(rate, 125, intervals=50)
    rate = feed(rate, 60, intervals=intervals)
    assert rate.bit_per_s == pytest.approx(10e6)
    rate = feed(rate, 125, intervals=1)
    assert rate.bit_per_s == pytest.approx(10e6)


def test_a_queue_that_keeps_emptying_unseen_does_not_look_like_a_slower_link():
    coins = random.Random(1)
    rate = ServiceRate()
    for _ in range(36_000):  # an hour of a link that idles up to a tenth of each interval
        rate = feed(rate, coins.randint(112, 125), backlog=3)
        if rate.bit_per_s is not None:
            # The upper half of such intervals is 9.74 Mbit/s; 4 % beside it is an alarm.
            assert rate.bit_per_s == pytest.approx(9.74e6, rel=0.04)
    assert rate.bit_per_s is not None


def test_counting_whole_packets_does_not_look_like_a_change():
    coins = random.Random(1)
    rate = ServiceRate()
    for _ in range(36_000):  # an hour
        rate = feed(rate, 125 + coins.choice((-1, 0, 0, 1)))
        assert rate.bit_per_s is None or abs(rate.bit_per_s / 10e6 - 1) < 0.02
    assert rate.bit_per_s is not None


def test_a_slow_link_with_few_packets_per_interval_is_not_taken_to_change():
    coins = random.Random(1)
    rate = ServiceRate()
    rates = set()
    for _ in range(5000):  # 0.5 Mbit/s: 6.25 packets in 100 ms
        rate = feed(rate, coins.choice((6, 6, 6, 7)))
        if rate.bit_per_s is not None:
            rates.add(rate.bit_per_s)
    assert max(rates) / min(rates) < 1.17  # one packet of six


def test_an_estimate_is_never_changed_in_place():
    before = feed(ServiceRate(), 125, intervals=10)
    kept = copy.deepcopy(before)
    after = feed(before, 75, intervals=10)
    assert before == kept
    assert after.bit_per_s == pytest.approx(6e6)


def test_a_link_slower_than_a_packet_per_interval_is_measured_right():
    """56 kbit/s: a packet of 1000 bytes takes 143 ms, so intervals of 100 ms have one or none."""
    rate = ServiceRate()
    sent = 0
    for step in range(1, 600):
        packets = int(0.1 * step * 56_000 / 8000) - sent
        sent += packets
        rate = feed(rate, packets)
    assert rate.bit_per_s == pytest.approx(56_000, rel=0.2)


def test_a_link_that_was_down_does_not_drag_its_rate_behind_it():
    rate = feed(ServiceRate(), 125, intervals=50)
    rate = feed(rate, 0, intervals=300)
    rate = feed(rate, 125, intervals=5)
    assert rate.bit_per_s == pytest.approx(10e6)
