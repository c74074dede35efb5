"""Quantities: what a person writes becomes one SI number, or is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vermilion.scenario import (
    PACKETS,
    RATE,
    RATIO,
    SIZE,
    TIME,
    QuantityError,
    format_quantity,
    parse_quantity,
)
from vermilion.scenario.quantities import Quantity, exact_text

DIMENSIONS = (TIME, RATE, PACKETS, SIZE, RATIO)


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("28 ms", TIME, 0.028),
        ("28ms", TIME, 0.028),
        ("1.5e-3 s", TIME, 0.0015),
        ("250 µs", TIME, 0.00025),
        ("250 us", TIME, 0.00025),
        ("2 min", TIME, 120.0),
        ("10 Mbit/s", RATE, 1e7),
        ("10 Mbps", RATE, 1e7),
        ("10 Mb/s", RATE, 1e7),
        ("1.25 MB/s", RATE, 1e7),
        ("100 packets", PACKETS, 100.0),
        ("1 packet", PACKETS, 1.0),
        ("1000 bytes", SIZE, 1000.0),
        ("20 kB", SIZE, 20_000.0),
        ("2 KiB", SIZE, 2048.0),
        ("5 %", RATIO, 0.05),
        (0.002, RATIO, 0.002),
        (3, RATIO, 3.0),
    ],
)
def test_the_usual_spellings_are_read(text, dimension, expected):
    assert parse_quantity(text, dimension) == expected


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("2 hours", TIME, 7200.0),
        ("1 day", TIME, 86_400.0),
        ("10 megabit/second", RATE, 1e7),
        ("3 kibibyte / second", RATE, 24_576.0),
        ("2 mebibyte", SIZE, 2_097_152.0),
    ],
)
def test_unusual_units_are_read_too(text, dimension, expected):
    assert parse_quantity(text, dimension) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "dimension"),
    [
        (28, TIME),
        (28.0, TIME),
        ("28", TIME),
        ("28 bytes", TIME),
        ("28 parsecs", TIME),
        ("28 rad s", TIME),
        ("ms", TIME),
        ("1,000 ms", TIME),
        ("0x10 s", TIME),
        ("nan s", TIME),
        ("inf s", TIME),
        ("1e400 s", TIME),
        ("9**9**9 s", TIME),
        ("10 Hz", RATE),
        ("10 rad/s", RATE),
        ("10 Mbit", RATE),
        ("100", PACKETS),
        ("100 bytes", PACKETS),
        ("100 packets/s", PACKETS),
        ("1 s", RATIO),
        (math.nan, RATIO),
        (math.inf, RATIO),
        (10**400, RATIO),
        (True, RATIO),
        (None, RATIO),
        ([1], RATIO),
        ("", RATIO),
    ],
)
def test_anything_else_is_refused(value, dimension):
    with pytest.raises(QuantityError, match="expected"):
        parse_quantity(value, dimension)


def test_a_milli_bit_is_not_mistaken_for_a_mega_bit():
    with pytest.raises(QuantityError):
        parse_quantity("10 mbit/s", RATE)


def test_a_range_has_two_ends_in_order():
    seconds = Quantity(TIME)
    assert seconds.parse_range("20 s .. 21 s") == (20.0, 21.0)
    assert seconds.parse_range("500ms..1s") == (0.5, 1.0)
    assert seconds.parse_range("3 s") == (3.0, 3.0)
    for wrong in ("21 s .. 20 s", "1 s .. 2 s .. 3 s", "0 .. 1 s", "-1 s .. 1 s", "..", 3, None):
        with pytest.raises(QuantityError, match="range"):
            seconds.parse_range(wrong)


def test_a_range_of_values_is_kept_on_both_sides():
    limit = Quantity(PACKETS, minimum=1, maximum=1000, integer=True)
    assert limit.parse("1000 packets") == 1000
    assert isinstance(limit.parse("1000 packets"), int)
    for wrong in ("0 packets", "1001 packets", "2.5 packets", "-3 packets"):
        with pytest.raises(QuantityError, match="from 1 packet to 1000 packets"):
            limit.parse(wrong)
    above = Quantity(RATIO, minimum=0, minimum_excluded=True, maximum=1)
    assert above.parse(1e-9) == 1e-9
    with pytest.raises(QuantityError, match="above 0 up to 1"):
        above.parse(0)


@pytest.mark.parametrize(
    ("value", "dimension", "expected"),
    [
        (0.028, TIME, "28 ms"),
        (0.0, TIME, "0 s"),
        (80.0, TIME, "80 s"),
        (2.5e-7, TIME, "250 ns"),
        (1e7, RATE, "10 Mbit/s"),
        (12.0, RATE, "12 bit/s"),
        (1.0, PACKETS, "1 packet"),
        (1e6, PACKETS, "1000000 packets"),
        (1000.0, SIZE, "1000 bytes"),
        (0.002, RATIO, "0.002"),
    ],
)
def test_quantities_are_written_as_a_person_would(value, dimension, expected):
    assert format_quantity(value, dimension) == expected


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(DIMENSIONS))
def test_the_exact_text_of_a_number_reads_back_as_that_number(value, dimension):
    assert parse_quantity(exact_text(value, dimension), dimension) == value


@given(
    st.one_of(
        st.text(),
        st.from_regex(r"[0-9]{1,3}(\.[0-9])? ?[A-Za-z/* %]{0,12}", fullmatch=True),
        st.integers(),
        st.floats(),
        st.booleans(),
        st.none(),
        st.lists(st.integers()),
    ),
    st.sampled_from(DIMENSIONS),
)
def test_any_value_is_a_finite_number_or_refused(value, dimension):
    try:
        number = parse_quantity(value, dimension)
    except QuantityError:
        return
    assert math.isfinite(number)
