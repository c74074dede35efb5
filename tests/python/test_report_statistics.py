"""Statistics over seeds. The expected numbers are from printed t tables and hand calculation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vermilion.simulate.statistics import (
    Interval,
    mean_interval,
    ratio_interval,
    ratio_of_means_interval,
)

NUMBERS = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("values", "confidence", "quantile"),
    [([1, 2, 3], 0.95, 4.303), ([1, 2, 3, 4, 5], 0.95, 2.776), ([1, 2, 3], 0.99, 9.925)],
)
def test_the_half_width_is_that_of_students_t(values, confidence, quantile):
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    interval = mean_interval(values, confidence)
    assert interval.mean == mean
    assert interval.half_width == pytest.approx(
        quantile * math.sqrt(variance / len(values)), rel=2e-4
    )


def test_one_value_has_no_interval_and_excludes_nothing():
    interval = mean_interval([3.0])
    assert interval == Interval(3.0, None, 1)
    assert interval.low is None
    assert interval.high is None
    assert not interval.excludes(1e9)


def test_an_interval_excludes_what_lies_outside_it():
    interval = Interval(10.0, 2.0, 5)
    assert (interval.low, interval.high) == (8.0, 12.0)
    assert interval.excludes(0.0)
    assert not interval.excludes(8.5)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_what_has_no_mean_is_refused(values):
    with pytest.raises(ValueError, match="an interval needs"):
        mean_interval(values)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_outside_zero_and_one_is_refused(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        mean_interval([1.0, 2.0], confidence)


@given(st.lists(NUMBERS, min_size=2, max_size=20), st.randoms())
def test_the_order_of_the_seeds_does_not_matter(values, random):
    shuffled = values.copy()
    random.shuffle(shuffled)
    assert mean_interval(shuffled) == mean_interval(values)


def test_a_ratio_turned_round_is_the_inverse():
    pairs = [(10.0, 2.0), (12.0, 2.0), (9.0, 3.0)]
    ratio = ratio_interval(pairs)
    inverse = ratio_interval([(second, first) for first, second in pairs])
    assert ratio.mean == pytest.approx((5 * 6 * 3) ** (1 / 3))
    assert inverse.mean == pytest.approx(1 / ratio.mean)
    assert inverse.low == pytest.approx(1 / ratio.high)


def test_a_ratio_to_nothing_has_no_mean():
    assert ratio_interval([(1.0, 0.0)]) is None
    assert ratio_interval([]) is None


def test_a_single_pair_has_a_ratio_and_no_interval():
    ratio = ratio_interval([(6.0, 2.0)])
    assert ratio.mean == pytest.approx(3.0)
    assert (ratio.low, ratio.high) == (None, None)


def test_the_ratio_of_means_ends_where_a_paired_t_test_changes_its_mind():
    random = np.random.default_rng(3)
    second = random.normal(10.0, 2.0, 12)
    first = 0.5 * second + random.normal(0.0, 1.0, 12)
    ratio = ratio_of_means_interval(zip(first, second, strict=True))
    assert ratio.mean == pytest.approx(first.mean() / second.mean())
    for end in (ratio.low, ratio.high):
        interval = mean_interval(first - end * second)
        assert abs(interval.mean) == pytest.approx(interval.half_width)


def test_a_ratio_to_what_may_be_nothing_has_no_interval():
    assert ratio_of_means_interval([(1.0, -1.0), (2.0, 1.1), (1.0, 0.2)]) is None
    assert ratio_of_means_interval([(1.0, 0.0)]) is None
    assert ratio_of_means_interval([]) is None
    assert ratio_of_means_interval([(1.0, 4.0)]).low is None
