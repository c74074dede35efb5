"""Verdicts follow from numbers and their intervals, and from nothing else."""

import pytest

from vermilion.simulate import Interval
from vermilion_lab.papers.verdict import Check, Expected, Ruling, judge, reason


def check(mean, half_width, low=None, high=None):
    interval = None if mean is None else Interval(mean, half_width, 10)
    return Check("a quantity", interval, Expected(low, high))


@pytest.mark.parametrize(
    ("mean", "half_width", "low", "high", "verdict"),
    [
        (5.0, 1.0, 4.0, 6.0, Ruling.HOLDS),  # exactly fits
        (5.0, 1.1, 4.0, 6.0, Ruling.OPEN),  # sticks out a little
        (9.0, 1.0, 4.0, 6.0, Ruling.FAILS),
        (1.0, 1.0, 4.0, 6.0, Ruling.FAILS),
        (7.0, 1.0, 4.0, 6.0, Ruling.OPEN),  # touches the end
        (5.0, 0.5, 4.0, None, Ruling.HOLDS),
        (3.0, 0.5, 4.0, None, Ruling.FAILS),
        (3.0, 0.5, None, 4.0, Ruling.HOLDS),
        (5.0, None, 4.0, 6.0, Ruling.OPEN),  # one replication proves nothing
        (9.0, None, 4.0, 6.0, Ruling.OPEN),
        (None, None, 4.0, 6.0, Ruling.OPEN),  # could not be measured
    ],
)
def test_a_check_is_decided_by_the_whole_interval(mean, half_width, low, high, verdict):
    assert check(mean, half_width, low, high).verdict is verdict


HOLDS, FAILS, OPEN = check(5, 1, 0, 9), check(50, 1, 0, 9), check(9, 1, 0, 9)


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([HOLDS, HOLDS], Ruling.HOLDS),
        ([HOLDS, FAILS], Ruling.IN_PART),
        ([HOLDS, OPEN], Ruling.IN_PART),
        ([FAILS, OPEN], Ruling.FAILS),
        ([FAILS], Ruling.FAILS),
        ([OPEN, OPEN], Ruling.OPEN),
        ([], Ruling.OPEN),
    ],
)
def test_a_claim_holds_when_all_of_it_does_and_in_part_when_some_does(checks, verdict):
    assert judge(checks) is verdict


def test_the_reason_names_what_fails_before_what_is_open():
    why = reason([HOLDS, OPEN, FAILS])
    assert why.startswith("1 of 3 checks holds; fails: a quantity 50")
    assert "open: a quantity 9" in why
    assert reason([HOLDS, HOLDS]) == "all 2 checks hold"
    assert reason([]) == "nothing was measured"


def test_a_reason_stays_short_when_much_fails():
    assert reason([FAILS] * 9).endswith("and 5 more")


@pytest.mark.parametrize(("low", "high"), [(None, None), (2.0, 1.0)])
def test_an_expectation_must_say_something(low, high):
    with pytest.raises(ValueError, match="expectation"):
        Expected(low, high)


def test_a_check_is_told_in_the_units_in_which_it_is_shown():
    shown = Check(
        "utilisation", Interval(0.95, 0.01, 10), Expected(high=0.93), "10 Mbit/s", "%", 100.0
    )
    assert shown.describe() == "10 Mbit/s: utilisation 95.0 ± 1.0 %, expected at most 93 %"
