"""Steps without a model: a pattern search, one measurement at a time."""

from itertools import pairwise

import pytest

from vermilion.online.plan.steps import Steps
from vermilion.search import Space
from vermilion.search.space import Dimension

BOX = Space(
    [Dimension("links.l.queue.level", 0.0, 100.0), Dimension("links.l.queue.gain", 0.0, 1.0)]
)


def walked(cost, setting, most=200):
    """The way of the steps on a network with this cost, where nothing is left to chance."""
    steps, way = Steps(BOX), [dict(setting)]
    for _ in range(most):
        following = steps.next_setting(way[-1])
        if following is None:
            return way
        steps, there = following
        better = cost(there) < cost(way[-1])
        if better:
            way.append(there)
        steps = steps.told(better=better)
    pytest.fail("the steps never end")


def test_steps_lead_to_the_best_of_the_neighbourhood_and_end_there():
    """A bowl with its bottom at level 40, gain 0.2; the last steps are 2 % of the box."""
    way = walked(
        lambda at: (at["level"] - 40.0) ** 2 / 100.0 + 100.0 * (at["gain"] - 0.2) ** 2,
        {"level": 80.0, "gain": 0.9},
    )
    assert way[-1]["level"] == pytest.approx(40.0, abs=2.0)
    assert way[-1]["gain"] == pytest.approx(0.2, abs=0.02)


def test_one_parameter_is_moved_at_a_time_and_only_a_little():
    way = walked(lambda at: at["level"] - 100.0 * at["gain"], {"level": 30.0, "gain": 0.5})
    for before, after in pairwise(way):
        moved = [name for name in before if after[name] != pytest.approx(before[name])]
        assert len(moved) == 1
    assert max(abs(b["level"] - a["level"]) for a, b in pairwise(way)) < 8.01
    assert (way[-1]["level"], way[-1]["gain"]) == (0.0, 1.0)


def test_where_nothing_helps_the_steps_get_smaller_and_end():
    tried = []

    def cost(at):
        tried.append(dict(at))
        return 1.0

    assert walked(cost, {"level": 50.0, "gain": 0.5}) == [{"level": 50.0, "gain": 0.5}]
    away = [abs(at["level"] - 50.0) for at in tried if at["level"] != 50.0]
    assert away == pytest.approx([8.0, 8.0, 4.0, 4.0, 2.0, 2.0])


def test_no_step_leaves_the_box():
    steps, there = Steps(BOX).next_setting({"level": 100.0, "gain": 1.0})
    assert there == pytest.approx({"level": 92.0, "gain": 1.0})
    assert steps.failed == 1


def test_a_switch_and_what_a_step_does_not_move_are_left_alone():
    box = Space(
        [
            Dimension.of_switch("links.l.queue.hard"),
            Dimension("links.l.queue.count", 1.0, 4.0, integer=True),
            Dimension("links.l.queue.gain", 0.0, 1.0),
        ]
    )
    steps, _ = following = Steps(box).next_setting({"hard": False, "count": 2.0, "gain": 0.5})
    assert following[1] == {"hard": False, "count": 2.0, "gain": pytest.approx(0.58)}
    assert steps.direction == 4
