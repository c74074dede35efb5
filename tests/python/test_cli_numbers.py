"""Numbers of tables can be read at any size of network."""

import pytest

from vermilion.cli.run_tables import _speed
from vermilion.cli.tables import ABSENT, at_least, megabits


@pytest.mark.parametrize(
    ("value", "shown"),
    [(24.63, "24.6"), (9.7, "9.7"), (0.5, "0.50"), (0.0734, "0.073"), (0.0, "0.0"), (None, ABSENT)],
)
def test_a_short_wait_keeps_two_digits(value, shown):
    assert at_least(value, 1, 2) == shown


@pytest.mark.parametrize(
    ("bit_per_s", "shown"),
    [(1e10, "10000"), (4e11, "400000"), (9416e6, "9416"), (96_260, "0.09626"), (None, ABSENT)],
)
def test_a_fast_link_has_no_exponent(bit_per_s, shown):
    assert megabits(bit_per_s) == shown


@pytest.mark.parametrize(
    ("packets", "cpu_s", "shown"),
    [
        (4_600_000, 1.0, " (4.6 million per CPU second)"),
        (2_500, 0.1, " (25,000 per CPU second)"),
        (0, 1.0, ""),
        (5, 0.0, ""),
    ],
)
def test_a_slow_run_is_not_said_to_forward_nothing(packets, cpu_s, shown):
    assert _speed(packets, cpu_s) == shown
