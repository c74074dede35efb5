"""Along the edge of a constraint: the models, and the settings that they propose.

The functions are known, so that what lies where on the edge is too.
"""

import math

import numpy as np
import pytest

from simulated_clock import SimulatedClock
from test_tuning_engine import LEVEL, Slow, tune
from vermilion.tuning.edge_refinement import Surrogate
from vermilion.tuning.state import refined_settings


def test_a_smooth_function_is_guessed_between_its_points_and_doubted_far_from_them():
    draw = np.random.Generator(np.random.PCG64(3))
    points = 0.5 * draw.random((60, 2))
    values = np.sin(4.0 * points[:, 0]) + points[:, 1] ** 2
    model = Surrogate(points, values)
    inside = np.array([[0.2, 0.3], [0.35, 0.1]])
    mean, deviation = model.predict(inside)
    assert mean == pytest.approx(np.sin(4.0 * inside[:, 0]) + inside[:, 1] ** 2, abs=0.02)
    _, far = model.predict(np.array([[1.0, 1.0]]))
    assert far[0] > 3.0 * deviation.max()


def test_far_from_all_points_a_guess_follows_the_trend():
    # Were it to fall back to the mean, the far end of a rising objective would look good.
    points = np.linspace(0.0, 0.3, 20)[:, None]
    mean, _ = Surrogate(points, 5.0 + 10.0 * points[:, 0]).predict(np.array([[1.0]]))
    assert mean[0] == pytest.approx(15.0, rel=0.05)


def test_chance_is_not_taken_for_shape():
    draw = np.random.Generator(np.random.PCG64(4))
    points = draw.random((80, 1))
    values = 2.0 * points[:, 0] + 0.2 * draw.standard_normal(80)
    mean, _ = Surrogate(points, values).predict(np.array([[0.25], [0.75]]))
    assert mean == pytest.approx([0.5, 1.5], abs=0.15)


@pytest.mark.parametrize(("budget", "settings"), [(10, 0), (59, 0), (60, 6), (400, 36), (5000, 36)])
def test_further_settings_are_a_tenth_of_the_budget_and_a_few_dozen_at_most(budget, settings):
    assert refined_settings(budget) == settings


def ridge(setting, seed):
    """A link that is full enough above a curved edge, whose lowest level is 40, at 0.8.

    30 is wanted, so the best place is there. The level alone says nothing of how far off it is.
    """
    level, other = setting["level"], setting["other"]
    edge = 40.0 + 60.0 * (other - 0.8) ** 2
    return level, 0.0, min(1.0, 0.9 + 0.004 * (level - edge)) + 0.001 * math.sin(17.0 * seed)


def found(monkeypatch, metrics=ridge, **options):
    usual = {"budget": 60, "search": "random-search", "threads": 1, "refines": True}
    constraints = ("links.bottleneck.utilization >= 0.9",)
    outcome, _ = tune(monkeypatch, metrics, constraints=constraints, **usual | options)
    return outcome


def test_settings_along_the_edge_come_closer_to_the_best_on_it(monkeypatch):
    levels = {
        refines: [
            found(monkeypatch, refines=refines, search_seed=seed).best[LEVEL]
            for seed in range(1, 6)
        ]
        for refines in (False, True)
    }
    # Nothing below 40 keeps the constraint, whatever the other parameter.
    assert min(levels[True]) > 39.5
    assert np.mean(levels[True]) - 40.0 < 0.5 * (np.mean(levels[False]) - 40.0)


def test_they_are_tried_only_where_a_constraint_is_in_the_way(monkeypatch):
    assert found(monkeypatch, lambda setting, _: (setting["level"], 0.0, 0.99)).refinement == 0
    outcome = found(monkeypatch)
    assert outcome.refinement == 6
    assert outcome.evaluations == 60


def test_the_time_set_aside_for_an_edge_is_the_search_s_where_there_is_none(monkeypatch):
    tried = []
    for refines in (False, True):
        core = Slow(SimulatedClock(monkeypatch), each_s=0.005)
        outcome, _ = tune(
            monkeypatch, core, budget=10**6, deadline_s=6.0, threads=1, refines=refines
        )
        assert (outcome.end, outcome.refinement) == ("deadline", 0)
        tried.append(outcome.evaluations)
    without, with_time_for_an_edge = tried
    assert with_time_for_an_edge > 0.98 * without


def test_the_same_tuning_proposes_the_same_settings(monkeypatch):
    one, other = (found(monkeypatch, search_seed=2) for _ in range(2))
    assert one.best == other.best
    assert one.simulations == other.simulations


def test_a_deadline_of_less_than_a_model_takes_leaves_them_out(monkeypatch):
    assert found(monkeypatch, deadline_s=4.0).refinement == 0
