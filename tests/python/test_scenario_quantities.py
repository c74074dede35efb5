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
    ScenarioError,
    format_quantity,
    load_scenario,
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
        ("10 Mbyte", RATE),
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


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        # The manual page tc(8), section PARAMETERS: RATES
        ("9600bit", RATE, 9600.0),
        ("500kbit", RATE, 500e3),
        ("10mbit", RATE, 10e6),
        ("1gbit", RATE, 1e9),
        ("1tbit", RATE, 1e12),
        ("1kibit", RATE, 1024.0),
        ("1mibit", RATE, 1024.0**2),
        ("1gibit", RATE, 1024.0**3),
        ("1tibit", RATE, 1024.0**4),
        # TIMES
        ("1.5s", TIME, 1.5),
        ("2sec", TIME, 2.0),
        ("2secs", TIME, 2.0),
        ("5ms", TIME, 0.005),
        ("5msec", TIME, 0.005),
        ("5msecs", TIME, 0.005),
        ("100us", TIME, 1e-4),
        ("100usec", TIME, 1e-4),
        ("100usecs", TIME, 1e-4),
        # SIZES
        ("1514b", SIZE, 1514.0),
        ("100kb", SIZE, 102_400.0),
        ("100k", SIZE, 102_400.0),
        ("1mb", SIZE, 1_048_576.0),
        ("1m", SIZE, 1_048_576.0),
        ("2gb", SIZE, 2_147_483_648.0),
        ("2g", SIZE, 2_147_483_648.0),
        # as tc prints them
        ("10Mbit", RATE, 10e6),
        ("1Gbit", RATE, 1e9),
        ("11718Kibit", RATE, 11718 * 1024.0),
        ("30Kb", SIZE, 30_720.0),
        ("4Mb", SIZE, 4_194_304.0),
        ("1000p", PACKETS, 1000.0),
    ],
)
def test_what_tc_reads_and_prints_is_read(text, dimension, expected):
    assert parse_quantity(text, dimension) == expected


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("8 bps", RATE, 8.0),
        ("8 kbps", RATE, 8e3),
        ("8 Mbps", RATE, 8e6),
        ("8 Gbps", RATE, 8e9),
        ("8 Tbps", RATE, 8e12),
        ("8 kB", SIZE, 8e3),
        ("8 MB", SIZE, 8e6),
        ("8 GB", SIZE, 8e9),
        ("8 kbit", SIZE, 1e3),
        ("8 Mbit", SIZE, 1e6),
        ("8 Gbit", SIZE, 1e9),
    ],
)
def test_what_tc_reads_otherwise_keeps_its_usual_meaning(text, dimension, expected):
    assert parse_quantity(text, dimension) == expected


@pytest.mark.parametrize(
    ("text", "dimension", "readings"),
    [
        ("10mbps", RATE, '"10 MB/s" or "10 Mbit/s"'),
        ("2.5 gbps", RATE, '"2.5 GB/s" or "2.5 Gbit/s"'),
        ("64Kbps", RATE, '"64 kB/s" or "64 kbit/s"'),
        ("10 MBPS", RATE, '"10 MB/s" or "10 Mbit/s"'),
        ("10mibps", RATE, '"10 MiB/s" or "10 Mibit/s"'),
        ("30 KB", SIZE, '"30 KiB" or "30 kB"'),
        ("30 mB", SIZE, '"30 MiB" or "30 MB"'),
        ("8mbit", SIZE, '"8 Mibit" or "8 Mbit"'),
        ("8 Kbit", SIZE, '"8 Kibit" or "8 kbit"'),
    ],
)
def test_a_spelling_with_two_meanings_is_refused_and_both_are_named(text, dimension, readings):
    with pytest.raises(QuantityError, match=rf"tc reads .*: write {readings}\)$"):
        parse_quantity(text, dimension)
    for reading in readings.replace('"', "").split(" or "):
        assert parse_quantity(reading, dimension) > 0


def test_both_meanings_are_named_in_a_scenario_and_in_a_range_too():
    with pytest.raises(ScenarioError, match='"30 KiB" or "30 kB"'):
        load_scenario(
            "varying-load",
            ["links.bottleneck.queue={discipline = 'linux-red', limit = '30 KB'}"],
        )
    with pytest.raises(QuantityError, match='"9 MB/s" or "9 Mbit/s"'):
        Quantity(RATE).parse_range("9 mbps .. 10 Mbit/s")
    with pytest.raises(QuantityError) as refusal:
        parse_quantity("10 Mbyte", RATE)
    assert "tc" not in str(refusal.value)


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
