"""A setting that holds around the conditions where the best found does not."""

import json
from dataclasses import dataclass, field, replace
from html import escape

import pytest

import vermilion
from vermilion.objectives import Constraint, objective_of
from vermilion.search import Dimension, Space
from vermilion.simulate.statistics import Interval
from vermilion.tuning import Study
from vermilion.tuning.alternatives import MOST_OF_FRONT, alternatives, between
from vermilion.tuning.evaluation import Evaluation, Seeds
from vermilion.tuning.robust_alternative import Alternative, BestFound, find_robust_alternative
from vermilion.tuning.robustness import NeighbourOutcome, Robustness
from vermilion.tuning.verdict import ConstraintVerdict

CONDITIONS = 9


def around(lost, *, doubtful=0, untried=()):
    """How a setting fares that is worse under so many conditions, and may be under so many."""
    outcomes = tuple(
        NeighbourOutcome(
            key=f"c{number}",
            label=f"condition {number}",
            verdict="worse"
            if number < lost
            else "undecided"
            if number < lost + doubtful
            else "better",
            reason="",
            best=None,
            incumbent=None,
            difference=None,
            constraints=(),
        )
        for number in range(CONDITIONS)
    )
    return Robustness("queue-deviation", "packets^2", (1, 2), 0.05, outcomes, untried)


def test_the_table_says_which_bound_the_robust_alternative_breaks_and_where():
    used = Interval(0.9, 0.01, 5)
    bound = "links.b.utilization >= 0.95"
    breaks = ConstraintVerdict(bound, "broken", used, 0.95, 0, 0.05, 0.06)
    best, sturdier = around(2), around(1)
    first = replace(sturdier.outcomes[0], breaks=breaks)
    sturdier = replace(sturdier, outcomes=(first, *sturdier.outcomes[1:]))
    line = f"with condition 0, the robust alternative breaks {bound}: 90 +- 1 %, bound 95 %"
    assert line in best.table(sturdier)
    assert "breaks" not in best.table(around(1))


class Around:
    """Answers how settings fare, and keeps which were asked for."""

    def __init__(self, lost):
        self.lost = lost
        self.asked = []

    def __call__(self, setting):
        self.asked.append(setting["a"])
        answer = self.lost[setting["a"]]
        return answer if isinstance(answer, Robustness) else around(answer)


def chosen(best, others, same=None):
    """What is offered beside a best that loses under so many conditions, and who was asked."""
    settings = [Alternative({"a": number}, None, {}, number) for number in others]
    with_others, with_same = Around(others), Around(same or others)
    found = find_robust_alternative(
        BestFound({"a": 0.0}, around(best)), settings, lambda *_: None, with_others, with_same
    )
    return found, with_others.asked, with_same.asked


def test_the_first_that_loses_nowhere_is_taken_and_none_is_tried_after_it():
    found, asked, confirmed = chosen(4, {1.0: 5, 2.0: 0, 3.0: 0})
    assert found.setting == {"a": 2.0}
    assert found.robustness.holds
    assert (asked, confirmed) == ([1.0, 2.0], [2.0])


def test_where_all_lose_somewhere_it_is_the_one_that_loses_least_often():
    found, _, _ = chosen(4, {1.0: 3, 2.0: 4, 3.0: 1, 4.0: 1})
    # The third: the fourth loses as often, and gains less.
    assert found.setting == {"a": 3.0}
    assert len(found.robustness.lost) == 1


def test_nothing_is_offered_that_loses_as_often_as_the_best():
    assert chosen(2, {1.0: 2, 2.0: 7})[0] is None
    assert chosen(2, {})[0] is None


def test_what_may_be_worse_counts_as_what_is():
    # It is surely worse under fewer conditions, but may be under as many as the best.
    assert chosen(2, {1.0: around(0, doubtful=3)})[0] is None
    found, asked, _ = chosen(3, {1.0: around(0, doubtful=2), 2.0: around(0)})
    assert found.setting == {"a": 2.0}
    assert asked == [1.0, 2.0]
    # Of as many, the one that is surely worse under fewer is the robust alternative.
    found, _, _ = chosen(3, {1.0: around(0, doubtful=3)})
    assert found.setting == {"a": 1.0}


def test_who_holds_by_luck_is_found_out_with_the_seeds_of_the_best():
    found, asked, confirmed = chosen(4, {1.0: 0, 2.0: 0}, same={1.0: 4, 2.0: 0})
    assert found.setting == {"a": 2.0}
    assert (asked, confirmed) == ([1.0, 2.0], [1.0, 2.0])


def test_it_counts_where_either_seeds_have_shown_more_losses():
    # The first loses once with one kind of seeds and twice with the other: twice, then.
    found, _, _ = chosen(4, {1.0: 2, 2.0: 1}, same={1.0: 1, 2.0: 1})
    assert found.setting == {"a": 2.0}


def test_what_there_was_no_time_to_try_is_not_offered():
    cut_short = around(0, untried=("ECN at all senders",))
    assert chosen(4, {1.0: cut_short})[0] is None
    assert chosen(4, {1.0: 0}, same={1.0: cut_short})[0] is None


def halved(lost, value=lambda a: a):
    """What is chosen if settings of at least so much lose nowhere, and which were tried."""
    tried = []

    def fares(setting):
        tried.append(setting["a"])
        return around(0 if setting["a"] >= lost else 3)

    def halfway(one, other):
        middle = (one["a"] + other["a"]) / 2.0
        return Alternative({"a": middle}, None, {}, value(middle))

    best = BestFound({"a": 0.0}, around(4))
    far = Alternative({"a": 1.0}, None, {}, 1.0)
    found = find_robust_alternative(best, [far], halfway, fares, lambda _: around(0))
    return found.setting["a"], tried


def test_the_way_from_the_best_is_halved_twice():
    assert halved(0.2) == (0.25, [1.0, 0.5, 0.25])
    assert halved(0.3) == (0.5, [1.0, 0.5, 0.25])
    assert halved(0.6) == (0.75, [1.0, 0.5, 0.75])
    assert halved(0.9) == (1.0, [1.0, 0.5, 0.75])
    # What gains less than what is known is not tried at all.
    assert halved(0.2, value=lambda a: 2.0 - a) == (1.0, [1.0])


@dataclass
class Horizon:
    """What a search has simulated, without a simulator."""

    constraints: list
    incumbent: Evaluation

    def value(self, evaluation):
        return evaluation.objective / 1000.0  # below that of a broken bound


@dataclass
class Searched:
    """A tuning after its search."""

    horizon: Horizon
    space: Space
    best: Evaluation
    ranking: list
    seeds: Seeds = field(default_factory=lambda: Seeds((1,), (), (2, 3)))

    @property
    def full(self):
        return self.horizon


def evaluated(value, objective, utilization):
    setting = {"a": value}
    return Evaluation(setting, [1], [objective], [[[utilization]]])


def searched(rows):
    """A search that has tried ``rows`` of value, objective and utilisation, the best first."""
    tried = [evaluated(*row) for row in rows]
    held = [Constraint.parse("links.bottleneck.utilization >= 0.9")]
    return Searched(
        Horizon(held, evaluated(0.0, 100.0, 1.0)),
        Space((Dimension("a", 0.0, 1.0),)),
        tried[0],
        [(each.objective, number, each) for number, each in enumerate(tried)],
    )


def test_alternatives_are_the_front_of_objective_and_distance_and_the_ways_there():
    # The third is no further from the bound than the second, and gains less.
    search = searched([(1.0, 10.0, 0.91), (0.8, 12.0, 0.95), (0.6, 14.0, 0.94), (0.5, 20.0, 0.99)])
    offered = [round(each["a"], 6) for each in alternatives(search)]
    on_the_way = [0.875, 0.75, 0.625]  # from 1 to the safest, 0.5
    to_the_incumbent = [0.75, 0.5, 0.25]
    assert offered == [0.8, 0.5, *on_the_way, 0.25]
    assert set(to_the_incumbent) <= set(offered)


def test_a_long_front_is_thinned_and_without_bounds_only_the_way_home_is_left():
    rows = [(1.0 - n / 50.0, 10.0 + n, 0.90 + n / 500.0) for n in range(40)]
    ways = 2 * 3
    assert len(alternatives(searched(rows))) <= MOST_OF_FRONT + ways
    free = searched(rows)
    free.horizon.constraints = []
    for _, _, each in free.ranking:
        each.constrained = []
    assert [round(each["a"], 6) for each in alternatives(free)] == [0.75, 0.5, 0.25]


def test_there_is_no_way_to_automatic_values():
    space = Space((Dimension("a", 0.0, 1.0),))
    assert between(space, {"a": 1.0}, {"a": None}) == []


OPTIONS = {"budget": 200, "seed": 5, "rivals": False, "profile": "linux-red"}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return tmp_path_factory.mktemp("robust") / "x.study"


@pytest.fixture(scope="module")
def found(study):
    """A tuning whose best loses under some conditions around its own."""
    scenario = vermilion.load_scenario("varying-load")
    with Study(study) as kept:
        return vermilion.tune(scenario, study=kept, **OPTIONS)


@pytest.mark.evidence
def test_a_study_that_is_gone_on_with_knows_all_of_it(found, study, monkeypatch):
    monkeypatch.setattr("vermilion.tuning.memory.run_many", None)
    moments = []
    with Study(study) as kept:
        again = vermilion.tune(
            vermilion.load_scenario("varying-load"), study=kept, progress=moments.append, **OPTIONS
        )
    assert again.sturdier == found.sturdier
    assert [each.stage for each in moments][-1] == "alternatives"
    assert all(0 <= each.done <= each.total for each in moments)


@pytest.mark.evidence
def test_varying_load_has_a_robust_alternative_with_all_that_it_costs(found):
    assert found.accepted
    assert not found.robustness.holds
    offered = found.sturdier.found
    assert len(offered.robustness.lost) < len(found.robustness.lost)
    # It gains less, by more than chance, and still a lot; and it keeps every bound.
    assert found.comparison.best.high < offered.comparison.best.low
    assert offered.comparison.best.mean < 0.5 * found.comparison.incumbent.mean
    assert all(each.holds == "met" for each in offered.comparison.best_verdicts)
    # Both were tried with the same seeds.
    assert offered.robustness.seeds == found.robustness.seeds
    for mine, other in zip(offered.robustness.outcomes, found.robustness.outcomes, strict=True):
        assert (mine.key, mine.incumbent) == (other.key, other.incumbent)


@pytest.mark.evidence
def test_the_figures_of_the_robust_alternative_are_those_of_its_simulations(found):
    """Simulated again from its numbers alone."""
    scenario = vermilion.load_scenario("varying-load")
    again = scenario.with_values(dict(found.sturdier.found.setting))
    objective = objective_of(again)
    seeds = found.seeds.comparison
    [row] = vermilion.run_many([again], list(seeds))
    values = [objective.evaluate(result) for result in row]
    assert sum(values) / len(values) == pytest.approx(found.sturdier.found.comparison.best.mean)


@pytest.mark.evidence
def test_text_page_and_json_show_it_beside_the_best(found):
    text = str(found)
    lost = len(found.sturdier.found.robustness.lost)
    assert f"worse than the one in force under {lost or 'none'} of these 9 conditions" in text
    settings = next(line for line in text.splitlines() if "parameter" in line and "found" in line)
    assert settings.split() == ["parameter", "incumbent", "best", "found", "robust", "alternative"]
    assert "the alternative is" in text
    page = found._repr_html_()
    assert "<th>robust alternative</th>" in page.replace(' scope="col"', "")
    # A notebook warns of what the text warns of.
    for line in text.splitlines():
        if line.startswith(("warning:", "robust alternative:")):
            assert escape(line).replace(" +- ", " ± ") in page
    assert "warning: " in page
    for line in found.robustness.broken():
        assert escape(line).replace(" +- ", " ± ") in page
    data = json.loads(found.to_json())["sturdier"]
    assert set(data) == {
        "parameters", "objective", "harm", "constraints", "metrics", "robustness", "device",
    }  # fmt: skip
    assert data["parameters"] == dict(found.sturdier.found.setting)
    assert data["robustness"]["seeds"] == list(found.robustness.seeds)


@pytest.mark.evidence
def test_a_device_is_told_the_robust_alternative_too(found):
    command = found.sturdier.device.command
    assert command.startswith("tc qdisc")
    assert command != found.device.command
    assert command in str(found)
    assert json.loads(found.to_json())["sturdier"]["device"]["command"] == command


@pytest.mark.evidence
@pytest.mark.parametrize(
    "stage", ["check_robustness", "simple_baselines", "find_robust_alternative"]
)
def test_who_interrupts_what_stands_beside_keeps_the_recommendation(stage, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"vermilion.tuning.checks.{stage}", interrupted)
    scenario = vermilion.load_scenario("varying-load")
    found = vermilion.tune(scenario, budget=20, fidelity="full", rivals=stage == "simple_baselines")
    assert found.accepted
    assert found.end == "interrupted"
    assert "ended by Ctrl-C" in str(found)
    assert (found.robustness is None) is (stage == "check_robustness")


@pytest.mark.evidence
def test_who_gets_no_robust_alternative_is_told(monkeypatch):
    monkeypatch.setattr("vermilion.tuning.checks.find_robust_alternative", lambda *_: None)
    scenario = vermilion.load_scenario("varying-load")
    found = vermilion.tune(scenario, budget=20, fidelity="full", rivals=False)
    assert not found.robustness.holds
    assert found.sturdier is None
    assert found.warnings[-1].startswith("no setting was found that is better than the one in")


@pytest.mark.evidence
def test_nothing_is_looked_for_where_the_best_holds_or_nobody_asks():
    scenario = vermilion.load_scenario("varying-load")
    found = vermilion.tune(scenario, budget=60, rivals=False, robustness=False)
    assert found.sturdier is None
    assert "sturdier" not in json.loads(found.to_json())
    assert not any("no setting was found" in each for each in found.warnings)
