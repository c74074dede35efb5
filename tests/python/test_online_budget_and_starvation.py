"""How often a router may be changed, and when starved flows take a setting back, by hand."""

from dataclasses import dataclass

import pytest

from vermilion.online.decide.controller import ChangeBudget
from vermilion.online.decide.detection import StarvationWatch


def test_a_change_counts_for_a_minute():
    budget = ChangeBudget(2).spent(0.0).spent(10.0)
    assert not budget.allows(59.9)
    assert budget.allows(60.0)
    assert budget.next_s(20.0) == 60.0
    assert budget.next_s(60.0) == 60.0  # at once
    later = budget.spent(60.0)
    assert not later.allows(69.9)
    assert later.next_s(61.0) == 70.0
    assert later.allows(70.0)


def test_a_budget_of_one_allows_one_and_a_budget_of_none_none():
    assert ChangeBudget(1).allows(0.0)
    assert not ChangeBudget(1).spent(0.0).allows(1.0)
    assert not ChangeBudget(0).allows(0.0)
    assert ChangeBudget(0).next_s(0.0) == float("inf")


@dataclass
class Activity:
    """Forty flows, some of which starve."""

    starved: int | None
    open_flows: int | None = 40

    def starved_since(self, _since_s):
        return self.starved


def harm_of(*starved, over_s=10.0, most=1.0):
    """What is said after each stretch, of forty flows of which so many starve."""
    watch = StarvationWatch(most, over_s, 0.0)
    said = []
    for place, count in enumerate(starved, start=1):
        watch, words, _ = watch.after(Activity(count), place * over_s)
        said.append(bool(words))
    return said


@pytest.mark.parametrize(
    ("starved", "said"),
    [
        # One by the bound, and 15 % of 40 by chance: 7 are allowed.
        ((8, 8, 8), [False, False, True]),
        ((7, 7, 7, 7), [False] * 4),
        ((8, 8, 7, 8, 8), [False] * 5),  # not three in a row
        ((40, 40), [False, False]),
        ((8, 7, 8, 8, 8), [False] * 4 + [True]),
        ((8, None, 8, 8), [False, False, False, True]),  # nobody could tell
    ],
)
def test_three_stretches_in_a_row_have_more_than_chance_and_the_bound_allow(starved, said):
    assert harm_of(*starved) == said


def test_a_stretch_is_counted_when_it_is_over():
    watch = StarvationWatch(1.0, 10.0, 0.0)
    assert watch.after(Activity(8), 9.9)[0] == watch
    counted = watch.after(Activity(8), 10.0)[0]
    assert (counted.counts, counted.since_s) == ((8,), 10.0)
