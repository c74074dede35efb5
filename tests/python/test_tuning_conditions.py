"""A default tuning: what it recommends does under the conditions around those given, too."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

import vermilion
from vermilion import parse_scenario
from vermilion.objectives import Constraint
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.search import Dimension, Space
from vermilion.tuning import Seeds, Study
from vermilion.tuning.around import Neighbourhood
from vermilion.tuning.checks import box_warnings
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.horizon import Horizon
from vermilion.tuning.neighbourhood import constraints_around, judge_condition
from vermilion.tuning.simulations import Condition

QUEUE = "links.bottleneck.queue"
OBJECTIVE = QueueDeviation("bottleneck", 30.0)

SMALL = """
duration = "10 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "8 ms"
queue = { discipline = "red", max_threshold = "60 packets" }
[flows.all]
count = 16
path = ["bottleneck"]
rtt = "28 ms"
sender = "newreno"
[tuning]
parameters = ["links.bottleneck.queue.min_threshold", "links.bottleneck.queue.weight"]
objective = { name = "queue-deviation", link = "bottleneck", target = "30 packets" }
"""


def harm(text):
    return replace(Constraint.parse(text), of_harm=True)


FAIR = harm("flows.*.jain_index >= reference - 0.05")
BUSY = Constraint.parse("links.bottleneck.utilization >= 0.95")


def evaluation(objectives, *constrained, name=0.0):
    """A setting on seeds 1, 2, ...; of each constraint its value in the only phase."""
    seeds = list(range(1, 1 + len(objectives)))
    rows = [[[value] for value in values] for values in constrained]
    return Evaluation({"a": name}, seeds, list(objectives), rows)


def judged(best, incumbent, constraints=()):
    condition = Condition("", {}, None, OBJECTIVE, constraints, key="web", label="web traffic")
    return judge_condition(condition, best, incumbent)


def test_a_condition_is_lost_beyond_the_margin_and_chance():
    now = evaluation([100.0, 101.0, 99.0, 100.0, 100.0])
    assert judged(evaluation([50.0, 51.0, 49.0, 50.0, 52.0]), now).verdict == "better"
    assert judged(evaluation([103.0, 104.0, 102.0, 103.0, 103.0]), now).verdict == "no difference"
    lost = judged(evaluation([120.0, 121.0, 119.0, 120.0, 122.0]), now)
    assert lost.verdict == "worse"
    assert "120 packets^2 instead of 100 packets^2" in lost.reason
    # As much on average, and chance.
    assert judged(evaluation([20.0, 320.0, 40.0, 200.0, 22.0]), now).verdict == "no difference"


def test_a_condition_is_lost_where_a_bound_is_broken_that_the_other_keeps():
    [bound] = constraints_around([FAIR])
    now = evaluation([100.0] * 3, [0.95] * 3)
    near, far = (evaluation([10.0] * 3, [share] * 3) for share in (0.87, 0.82))
    assert judged(near, now, [bound]).verdict == "better"  # twice the margin
    lost = judged(far, now, [bound])
    assert lost.verdict == "worse"
    assert lost.breaks.value.mean == pytest.approx(0.82)
    assert lost.shown_verdict == "breaks a bound"


def test_a_constraint_that_is_broken_already_may_not_be_broken_worse():
    [bound] = constraints_around([BUSY])
    now = evaluation([100.0] * 3, [0.80, 0.80, 0.80])
    for share, verdict in ((0.85, "better"), (0.7, "worse")):
        # What is in force is no better than its own bound.
        found = judged(evaluation([50.0, 51.0, 49.0], [share] * 3), now, [bound])
        assert found.verdict == verdict


def test_the_value_of_a_setting_is_the_weighted_mean_relative_to_now():
    def horizon(objective, **own):
        made = Horizon(Runs(None, **own), [], evaluation([objective]))
        made.scale = objective
        return made

    given = horizon(100.0)
    given.around = [
        horizon(10.0, key="one", weight=0.3),
        horizon(1000.0, key="two", weight=0.2),
    ]
    best = evaluation([50.0])
    assert given.joined(best, best.objective) == 50.0  # nothing else is known
    best.around = {"one": evaluation([20.0])}
    # What was met stands for all: half the weight, by geometric means.
    assert given.joined(best, 50.0) == pytest.approx(100.0)
    best.around["two"] = evaluation([500.0])
    assert given.joined(best, 50.0) == pytest.approx(100.0 * 0.5**0.5 * 2.0**0.3 * 0.5**0.2)
    # Of what may be negative there is none.
    given.least_size = 1.0
    assert given.joined(best, 50.0) == pytest.approx(100.0 * (0.5 * 0.5 + 0.3 * 2.0 + 0.2 * 0.5))


def test_no_wall_where_a_fairer_setting_is_nearly_as_good():
    given = Horizon(None, [FAIR], evaluation([160.0] * 3, [0.96] * 3))
    given.scale = 160.0
    wall = evaluation([14.86] * 3, [0.929] * 3)
    fair = evaluation([14.87] * 3, [0.993] * 3)
    far = evaluation([17.0] * 3, [1.0] * 3)  # a seventh is no price for fairness
    assert given.fairest([wall, fair, far]) is fair
    assert given.fairest([wall, far]) is wall
    hardly = evaluation([15.5] * 3, [0.935] * 3)
    assert given.fairest([wall, hardly]) is wall


class Runs:
    """Simulations whose objective is a formula of the setting, by condition."""

    def __init__(self, formula, **own):
        self.formula = formula
        self.conditions = [Condition("", {}, None, OBJECTIVE, [], **own)]

    def run(self, evaluations, seeds, **_):
        for each in evaluations:
            each.seeds += seeds
            each.objectives += [self.formula(each.setting["a"]) + 0.01 * seed for seed in seeds]


class Tuned:
    """A tuning after its comparison, without a simulator."""

    def __init__(self, formulas, raced):
        self.full = Horizon(Runs(lambda a: a), [], evaluation([100.0]))
        self.full.around = [
            Horizon(
                Runs(each, key=key, label=key, weight=0.5 / len(formulas)),
                [],
                Evaluation({"a": 100.0}),
            )
            for key, each in formulas.items()
        ]
        self.question = SimpleNamespace(seeds=Seeds((1,), (), (2, 3, 4)))
        self.raced = [Evaluation({"a": a}) for a in raced]
        self.best = self.raced[0]
        self.compared = Evaluation({"a": raced[0]}), Evaluation({"a": 100.0}, [2, 3, 4])
        self.comparison = type("Comparison", (), {"accepted": True, "least_gain": 5.0})
        self.until, self.end, self.around = None, "budget", None

    def report(self, *_):
        return None

    def meet(self, seeds, evaluations):
        self.full.simulations.run(evaluations, list(seeds))


def test_what_is_worse_somewhere_makes_way_for_what_is_not():
    def cliff(a):
        return 400.0 if a < 12.0 else a

    tuned = Tuned({"one": lambda a: a, "two": cliff}, [10.0, 11.0, 13.0, 14.0])
    Neighbourhood(tuned, lambda *_: tuned.comparison).run()
    assert tuned.best.setting == {"a": 13.0}
    assert tuned.around.holds
    assert [each.key for each in tuned.around.outcomes] == ["one", "two"]
    assert tuned.around.warnings == ()


def test_where_all_are_worse_the_best_stays_and_one_sentence_says_where():
    tuned = Tuned({"one": lambda a: a, "two": lambda a: 4.0 * a + 350.0}, [10.0, 11.0])
    tuned.full.around[1].incumbent = Evaluation({"a": -60.0})
    Neighbourhood(tuned, lambda *_: tuned.comparison).run()
    assert tuned.best.setting == {"a": 10.0}
    assert [each.key for each in tuned.around.lost] == ["two"]
    assert len(tuned.around.warnings) == 1


SHORT = {
    "budget": 24,
    "seeds": Seeds.counted(1, search=2, re_evaluation=4, comparison=5),
    "rivals": False,
}


def test_a_default_tuning_meets_the_conditions_and_an_exact_one_does_not():
    scenario = parse_scenario(SMALL)
    found = vermilion.tune(scenario, **SHORT)
    assert found.accepted
    keys = ["flows-doubled", "trips-doubled", "flows-halved", "trips-halved", "web"]
    assert sorted(each.key for each in found.robustness.outcomes) == sorted(keys)
    assert found.robustness.holds
    told = json.loads(found.to_json())["robustness"]
    assert {each["key"] for each in told["conditions"]} == set(keys)
    assert all(math.isfinite(each["best"]["mean"]) for each in told["conditions"])
    assert "with" in str(found)
    exact = vermilion.tune(scenario, exactly=True, **SHORT)
    assert exact.robustness is None
    assert exact.simulations < found.simulations
    # The name of the opposite is accepted for a release.
    assert vermilion.tune(scenario, robustness=False, **SHORT).parameters == exact.parameters


def test_a_study_that_is_gone_on_with_has_the_same_outcome(tmp_path, monkeypatch):
    scenario = parse_scenario(SMALL)
    with Study(tmp_path / "x.study") as study:
        found = vermilion.tune(scenario, study=study, **SHORT)
    monkeypatch.setattr("vermilion.tuning.memory.run_many", None)
    with Study(tmp_path / "x.study") as study:
        again = vermilion.tune(scenario, study=study, **SHORT)
    assert again.parameters == found.parameters
    assert again.robustness == found.robustness


def box(**ends):
    return Space([Dimension(f"{QUEUE}.{name}", *rest) for name, rest in ends.items()])


def test_values_at_an_end_of_the_box_are_named():
    scenario = parse_scenario(SMALL)
    space = box(min_threshold=(2.0, 50.0), max_threshold=(6.0, 100.0))
    [warning] = box_warnings(
        scenario, space, {f"{QUEUE}.min_threshold": 2.1, f"{QUEUE}.max_threshold": 40.0}
    )
    assert warning == (
        "links.bottleneck.queue.min_threshold is at the lower end of its box (2 packets): "
        "a better value may lie beyond"
    )
    [upper] = box_warnings(
        scenario, space, {f"{QUEUE}.min_threshold": 10.0, f"{QUEUE}.max_threshold": 99.5}
    )
    assert "upper end of its box (100 packets)" in upper
    inside = {f"{QUEUE}.min_threshold": 10.0, f"{QUEUE}.max_threshold": None}
    assert box_warnings(scenario, space, inside) == ()


def test_an_end_beyond_which_there_is_nothing_is_no_end():
    scenario = parse_scenario(SMALL)
    space = box(max_probability=(0.001, 1.0, True), limit=(10, 50, False, True))
    values = {f"{QUEUE}.max_probability": 1.0, f"{QUEUE}.limit": 49.0}
    assert box_warnings(scenario, space, values) == ()
    at_ends = {f"{QUEUE}.max_probability": 0.00101, f"{QUEUE}.limit": 50.0}
    assert len(box_warnings(scenario, space, at_ends)) == 2
