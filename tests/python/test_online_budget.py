"""How often a router may be changed: half at once, the rest spread, never more in a minute."""

import math
import random

import pytest

from vermilion.online.decide.budget import ChangeBudget

MINUTE_S = 60.0


def after(per_minute, *changes_s):
    budget = ChangeBudget(per_minute)
    for time_s in changes_s:
        budget = budget.spent(time_s)
    return budget


def test_half_of_the_budget_is_there_at_once():
    assert after(6, 10.0, 10.1).next_s(10.2) == 10.2
    assert after(6, 10.0, 10.1, 10.2).next_s(10.3) > 10.3
    assert after(1).allows(0.0)


def test_the_rest_is_spread_until_the_first_change_counts_no_more():
    """Three of six at 0, 2 and 4 s: from 4 s on to 60 s, three more have four equal gaps."""
    assert after(6, 0.0, 2.0, 4.0).next_s(5.0) == pytest.approx(4.0 + 56.0 / 4)
    assert after(6, 0.0, 2.0, 4.0, 18.0).next_s(18.1) == pytest.approx(18.0 + 42.0 / 3)
    assert after(6, 0.0, 2.0, 4.0).next_s(40.0) == 40.0


def test_nor_is_it_spent_just_before_the_first_change_counts_no_more():
    assert after(6, 0.0, 30.0, 59.0).next_s(59.1) == 69.0


def test_what_has_been_spent_comes_back_after_a_minute():
    assert after(1, 5.0).next_s(6.0) == 65.0
    assert after(6, *(float(each) for each in range(6))).next_s(6.0) == 60.0
    # Not two at once, where one comes back just after another was made.
    assert after(6, 0.0, 10.0, 20.0, 30.0, 40.0, 59.0).next_s(59.5) == 69.0
    assert after(6, 0.0, 2.0, 4.0).allows(60.1)


def test_what_is_known_to_do_no_harm_waits_for_no_turn_but_for_the_limit():
    assert after(6, 0.0, 2.0, 4.0).allows(5.0, at_once=True)
    full = after(6, *(float(each) for each in range(6)))
    assert not full.allows(6.0, at_once=True)
    assert full.next_s(6.0, at_once=True) == 60.0


def test_without_a_budget_nothing_is_ever_allowed():
    assert after(0).next_s(1.0) == math.inf
    assert after(0, 1.0).next_s(2.0) == math.inf


@pytest.mark.parametrize("per_minute", [1, 2, 3, 6, 7])
def test_no_minute_has_more_and_nobody_waits_for_most_of_one(per_minute):
    """Whoever wants a change all the time, by fits and starts, or now and then."""
    coins = random.Random(per_minute)
    made, now_s, longest_s = [], 0.0, 0.0
    budget = ChangeBudget(per_minute)
    for _ in range(2000):
        now_s += coins.choice([0.1, 1.0, 30.0])
        allowed_s = budget.next_s(now_s)
        longest_s = max(longest_s, allowed_s - now_s)
        now_s = allowed_s
        assert budget.allows(now_s)
        budget = budget.spent(now_s)
        made.append(now_s)
    for time_s in made:
        # Times are sums: a change that counts no more may have been made just now.
        assert sum(time_s + 1e-6 < each <= time_s + MINUTE_S for each in made) <= per_minute
    if per_minute > 1:
        assert longest_s <= MINUTE_S / min(per_minute, 3) + 1e-6
