"""What the operator asked for is looked after on the network, and every breach is said."""

from dataclasses import replace

import pytest

from online_world import SIXTEEN_FLOWS, TICK_S, World, controller_of
from vermilion.objectives import Constraint
from vermilion.online.decide.controller import BoundsWatch
from vermilion.online.decide.step import step
from vermilion.online.entries import Decision, DecisionKind
from vermilion.online.events import Began, Record
from vermilion.online.sense.senses import Senses

DROPS = "links.bottleneck.drop_rate <= 10 %"
DELAY = "links.bottleneck.sojourn_ms.p95 <= 20 ms"
USED = "links.bottleneck.utilization >= 0.95 of reference"


GOODPUT = "flows.*.goodput_bit_per_s.total >= 0.98 of reference"


def said(*asked, until_s=30.0, begin=None, slows_to=125, slow_s=(0.0, 1e9), bursts_s=None, **world):
    """What is said of broken bounds while a search that never ends is waited for.

    In a burst, as many packets are dropped as are forwarded.
    """
    bounds = tuple(Constraint.parse(each) for each in asked)
    controller = begin or controller_of(bounds=bounds, deadline_s=100.0)
    traffic = World(**world)
    controller, _ = step(controller, Began(dict(traffic.in_force)), 0.0)
    found = []
    for tick in range(1, round(until_s / TICK_S) + 1):
        now_s = round(tick * TICK_S, 6)
        # The link is seen to be as fast as its fullest tenths of a second.
        slow = tick % 4 >= 2 and slow_s[0] < now_s <= slow_s[1]
        traffic.packets = slows_to if slow else 125
        idles = slow and slows_to < 125
        traffic.offset = (
            -200.0 if idles else world.get("offset", 0.0)
        )  # or the link would be slower
        if bursts_s is not None:
            traffic.drops = 125 * any(begun < now_s <= ended for begun, ended in bursts_s)
        controller, effects = step(controller, traffic.observe(now_s), now_s)
        found += [
            each.entry
            for each in effects
            if isinstance(each, Record)
            and isinstance(each.entry, Decision)
            and each.entry.kind is DecisionKind.CONSTRAINT_BROKEN
        ]
    return found


def test_all_that_is_broken_is_said_once_also_while_a_search_lasts():
    reasons = [each.reason for each in said(DROPS, DELAY, offset=-10.0, drops=25)]
    assert len(reasons) == 2
    assert reasons[0].startswith(f"the network breaks {DROPS} (measured 16.6")  # 25 / 150
    assert reasons[1].startswith(f"the network breaks {DELAY} (measured ")


def test_a_bound_is_judged_by_the_last_ten_seconds():
    """Of the seconds of a burst half is dropped: in 1.5 s at most 9 % of ten, in 3 s 15 %."""
    assert said(DROPS, bursts_s=[(20.0, 21.5)], until_s=40.0) == []
    [only] = said(DROPS, bursts_s=[(20.0, 23.0)], until_s=40.0)
    assert only.reason.startswith(f"the network seems to break {DROPS} (measured 1")


def test_eight_seconds_are_enough_to_judge_by():
    assert said(DROPS, drops=25, until_s=8.0) == []
    assert len(said(DROPS, drops=25, until_s=9.0)) == 1


@pytest.mark.parametrize(("again_s", "times"), [(54.0, 1), (60.0, 2)])
def test_a_bound_that_was_kept_for_half_a_minute_is_broken_again(again_s, times):
    """The first burst is seen until 29 to 31 s, the other from 2 to 4 s after its begin."""
    bursts_s = [(20.0, 23.0), (again_s, again_s + 3.0)]
    assert len(said(DROPS, bursts_s=bursts_s, until_s=again_s + 8.0)) == times


def test_what_is_kept_is_not_said():
    assert said(DROPS, DELAY, offset=-30.0, drops=2) == []


def test_what_may_be_chance_is_said_to_be():
    [only] = said(DELAY, offset=-29.0, sd=8.0, until_s=12.0)
    assert only.reason.startswith(f"the network seems to break {DELAY} (measured ")
    assert only.reason.endswith("but that may be chance")


def test_what_nobody_has_changed_breaks_nothing_of_what_it_was():
    assert said(USED, offset=-20.0, slows_to=80) == []


def test_what_nobody_could_judge_is_not_measured(monkeypatch):
    """Measuring is the dearest part of a look, ten of which are taken in a second."""
    measured = []
    monkeypatch.setattr(Senses, "stretch", lambda _, since_s: measured.append(since_s))
    assert said(USED, offset=-20.0, slows_to=80) == []
    assert measured == []
    said(DROPS, USED, offset=-20.0, slows_to=80)
    assert measured


def test_a_bound_on_what_was_before_may_be_broken_once_something_was_changed():
    bounds = (Constraint.parse(USED),)
    begun = controller_of(bounds=bounds, deadline_s=100.0)
    changed = begun.changed(budget=begun.budget.spent(0.0))
    reasons = [each.reason for each in said(begin=changed, offset=-20.0, slows_to=80)]
    [reason] = reasons
    assert reason.startswith(f"the network may break {USED} (measured 8")


def test_flows_may_have_got_more_under_the_first_setting_but_not_more_than_the_link_carries():
    begun = controller_of(bounds=(Constraint.parse(GOODPUT),), deadline_s=100.0)
    changed = begun.changed(budget=begun.budget.spent(0.0))
    [reason] = [each.reason for each in said(begin=changed, offset=-20.0, slows_to=118)]
    assert reason.startswith(f"the network may break {GOODPUT} (measured 9.7")
    assert reason.endswith("nobody knows what it would be under the first setting")
    assert said(begin=changed, offset=-20.0, slows_to=124) == []
    assert said(begin=begun, offset=-20.0, slows_to=118) == []


def test_while_conditions_come_and_go_a_bound_is_checked_for_as_long_as_they_last():
    """A mean over ten seconds would hide two bad ones, and no setting stands for eight."""
    begun = controller_of(bounds=(Constraint.parse(USED),), deadline_s=100.0)
    begun = begun.changed(budget=begun.budget.spent(0.0))
    dip = {"offset": -20.0, "slows_to": 105, "slow_s": (12.0, 14.0)}
    assert said(begin=begun, until_s=18.0, **dip) == []
    fluctuation = begun.traffic.fluctuation
    for time_s in (0.0, 2.0, 4.0, 6.0, 8.0):
        fluctuation = fluctuation.changed(time_s)
    assert fluctuation.usual_s == 2.0
    changing = begun.changed(fluctuation=replace(fluctuation, met=(SIXTEEN_FLOWS,)))
    [reason] = [each.reason for each in said(begin=changing, until_s=18.0, **dip)]
    assert reason.startswith(f"the network may break {USED} (measured 9")


def test_what_is_broken_again_after_it_was_kept_is_said_again():
    watch = BoundsWatch().with_broken([DROPS], 5.0)
    assert watch.knows(DROPS)
    assert watch.without_old(5.0).knows(DROPS)
    assert not watch.without_old(6.0).knows(DROPS)
