"""Numbers, words and TOML as they stand in reports."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vermilion.report.drawing import thinned
from vermilion.report.numbers import percent, seconds, significant, with_interval
from vermilion.report.online import format_gain
from vermilion.scenario.quantities import how_many
from vermilion.scenario.toml_text import toml_text
from vermilion.simulate.statistics import Interval, RatioInterval

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_toml_reads_back_as_what_was_written(document):
    assert tomllib.loads(toml_text(document)) == document


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.002, "0.002"),
        (14.93, "14.9"),
        (-14.93, "-14.9"),
        (10_000_000.0, "10000000"),
        (1.5e-6, "1.5e-6"),
        (2.0e12, "2e12"),
    ],
)
def test_three_digits_are_shown_without_an_exponent_where_possible(value, text):
    assert significant(value) == text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (None, "–"),
        (Interval(29.3712, None, 1), "29.4"),
        (Interval(29.3712, 0.4123, 3), "29.37 ± 0.41"),
        (Interval(117.3, 65.2, 3), "117 ± 65"),
        (Interval(99.3541, 0.00034, 3), "99.35 ± 0.01"),
        (Interval(0.0312, 0.0021, 3), "0.0312 ± 0.0021"),
        (Interval(100.0, 0.0, 3), "100 ± 0"),
        (Interval(-0.001, 1.0, 3), "0.0 ± 1.0"),
        (Interval(0.3, 1e-17, 3), "0.30 ± 0.00"),
    ],
)
def test_a_mean_has_as_many_decimals_as_its_interval_justifies(interval, text):
    assert with_interval(interval) == text


def test_shares_near_an_end_have_another_decimal():
    texts = [percent(value) for value in (0.0, 0.004, 0.5, 0.9996, 1.0)]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in texts] == [
        "0.0 %",
        "0.40 %",
        "50.0 %",
        "99.96 %",
        "100.0 %",
    ]


def test_seconds_have_no_trailing_zeros():
    assert seconds(40.0) == "40\N{NO-BREAK SPACE}s"
    assert seconds(1.239) == "1.24\N{NO-BREAK SPACE}s"


def test_a_gain_below_one_is_told_as_a_loss():
    assert format_gain(RatioInterval(7.21, 6.2, 8.04, 3)) == "7.2 times smaller (6.2 to 8)"
    assert format_gain(RatioInterval(0.5, 0.25, 0.8, 3)) == "2 times larger (1.2 to 4)"
    assert format_gain(RatioInterval(3.0, None, None, 1)) == "3 times smaller"
    assert format_gain(None) == "not comparable"


def test_a_gain_that_may_be_none_is_said_not_to_be_significant():
    assert format_gain(RatioInterval(1.8, 0.9, 3.6, 3)) == (
        "1.8 times smaller (0.9 to 3.6, not significant)"
    )


@given(st.integers(2500, 9000), st.integers(0, 2**32 - 1))
def test_thinning_a_series_keeps_its_order_and_its_extremes(length, seed):
    values = np.random.default_rng(seed).standard_normal(length)
    time = np.arange(length, dtype=float)
    fewer_times, fewer = thinned(time, values)
    assert len(fewer) <= 2400
    assert np.all(np.diff(fewer_times) > 0)
    assert fewer.min() == values.min()
    assert fewer.max() == values.max()


def test_thinning_leaves_gaps_and_short_series_alone():
    time = np.arange(5000.0)
    gaps = np.full(5000, np.nan)
    assert np.all(np.isnan(thinned(time, gaps)[1]))
    assert thinned(time[:100], gaps[:100])[0] is not None


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (how_many(0, "setting"), "0 settings"),
        (how_many(1, "setting"), "1 setting"),
        (how_many(2, "setting"), "2 settings"),
        (how_many(1, "entry", "entries"), "1 entry"),
        (how_many(2, "entry", "entries"), "2 entries"),
        (how_many(1.0, "packet"), "1 packet"),
        (how_many(12.5, "packet"), "12.5 packets"),
        (how_many(12345, "simulation"), "12345 simulations"),
        (how_many(12345, "packet", grouped=True), "12,345 packets"),
    ],
)
def test_one_thing_is_one_thing(said, words):
    assert said == words
