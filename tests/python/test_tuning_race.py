"""The race among leaders: who stops, who goes on, and that it chooses better than equal shares."""

import numpy as np
import pytest

from vermilion.objectives import Constraint
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.horizon import Horizon
from vermilion.tuning.race import LeadersOfSearch, Race

SEARCH_SEEDS = [1, 2, 3]
SEEDS = list(range(10, 40))
USED = Constraint.parse("links.bottleneck.utilization >= 0.95")


class Made:
    """Simulations by a formula; keeps how many seeds each setting has met."""

    def __init__(self, outcome, used=lambda *_: 1.0, constraints=()):
        self.outcome, self.used, self.constraints = outcome, used, constraints
        self.met = {}

    def run_in_step(self, evaluations, seeds, *, until=None, progress=None, made_for=None):
        assert until is None
        assert made_for == "re-evaluation"
        for evaluation in evaluations:
            name = evaluation.setting["name"]
            self.met[name] = self.met.get(name, 0) + len(seeds)
            for seed in seeds:
                self.add(evaluation, seed)
        if progress is not None:
            progress(len(evaluations) * len(seeds))
        return len(seeds)

    def add(self, evaluation, seed):
        name = evaluation.setting["name"]
        evaluation.seeds.append(seed)
        evaluation.objectives.append(self.outcome(name, seed))
        if not evaluation.constrained:
            evaluation.constrained = [[] for _ in self.constraints]
        for values in evaluation.constrained:
            values.append([self.used(name, seed)])

    def evaluation(self, name):
        """As the search leaves it."""
        evaluation = Evaluation({"name": name})
        for seed in SEARCH_SEEDS:
            self.add(evaluation, seed)
        return evaluation


def horizon_of(made, constraints):
    horizon = Horizon(made, constraints, made.evaluation("incumbent"))
    horizon.scale = 10.0
    return horizon


def race(names, outcome, *, budget=60, used=lambda *_: 1.0, constraints=()):
    made = Made(outcome, used, constraints)
    leaders = [made.evaluation(name) for name in names]
    runner = Race(LeadersOfSearch(horizon_of(made, constraints), None), leaders)
    runner.run(SEEDS, budget)
    return runner.winner.setting["name"], made.met, runner.report


def noise(name, seed, sd):
    random = np.random.default_rng([seed, *str(name).encode()])
    return random.normal(0.0, sd)


def test_who_is_clearly_worse_stops_and_the_others_get_the_seeds():
    def outcome(name, seed):
        return {"good": 1.0, "near": 1.02, "bad": 5.0, "worse": 9.0}.get(name, 20.0) + noise(
            name, seed, 0.1
        )

    winner, met, report = race(["bad", "good", "worse", "near"], outcome)
    assert winner in {"good", "near"}
    assert met["bad"] <= 5
    assert met["worse"] <= 5
    assert min(met["good"], met["near"]) > 12  # equal shares would be 60 / 5
    assert report.leaders == 4
    assert report.left == 2
    assert report.simulations == sum(met.values()) <= 60


def test_the_race_ends_when_one_is_left():
    winner, met, report = race(["good", "bad"], lambda name, _: {"good": 1.0}.get(name, 2.0))
    assert (winner, report.left, report.seeds) == ("good", 1, 3)
    assert sum(met.values()) == 9


def test_what_differs_on_no_seed_cannot_be_told_apart_by_more():
    winner, _, report = race(["first", "twin"], lambda *_: 1.0)
    assert (winner, report.left, report.seeds) == ("first", 1, 3)


def test_common_luck_of_a_seed_does_not_hide_a_difference():
    def outcome(name, seed):
        return {"good": 1.0, "bad": 1.2}.get(name, 9.0) + noise("common", seed, 5.0)

    winner, met, _ = race(["bad", "good"], outcome)
    assert winner == "good"
    assert met["bad"] == 3


def test_luck_on_the_seeds_of_the_search_does_not_count():
    def outcome(name, seed):
        return 0.0 if name == "lucky" and seed in SEARCH_SEEDS else {"lucky": 1.3}.get(name, 1.2)

    assert race(["lucky", "sound"], outcome)[0] == "sound"


def test_who_breaks_a_constraint_beyond_doubt_stops():
    def used(name, seed):
        return (0.90 if name == "starving" else 0.97) + 0.001 * (seed % 3)

    def outcome(name, _):
        return {"starving": 1.0}.get(name, 2.0)

    winner, met, _ = race(["starving", "sound"], outcome, used=used, constraints=[USED])
    assert winner == "sound"
    assert met["starving"] == 3


def test_the_budget_is_kept_whatever_it_is():
    for budget in range(0, 40, 3):
        _, met, report = race(["a", "b", "c"], lambda n, s: noise(n, s, 1.0), budget=budget)
        assert report.simulations == sum(met.values()) <= budget


@pytest.mark.evidence
@pytest.mark.parametrize("means", [(1.0, 1.05, 1.5, 1.6, 1.7), (1.0, 1.1, 1.2, 1.8, 2.0)])
def test_it_finds_the_best_more_often_than_equal_shares_of_the_same_simulations(means):
    budget, repetitions = 60, 300
    raced, shared, lost = 0, 0, 0
    for repetition in range(repetitions):

        def outcome(name, seed, repetition=repetition):
            mean = means[name] if isinstance(name, int) else 3.0
            return mean + noise(f"{name} {repetition}", seed, 0.2)

        names = list(range(len(means)))
        winner, met, _ = race(names, outcome, budget=budget)
        raced += winner == 0
        lost += met[0] < max(met[name] for name in names)
        seeds = SEEDS[: budget // (len(means) + 1)]
        averages = [np.mean([outcome(name, seed) for seed in seeds]) for name in names]
        shared += int(np.argmin(averages)) == 0
    assert raced > shared
    assert lost <= 0.10 * repetitions


def test_where_no_seed_was_met_the_first_leader_wins():
    # The leaders of a search with short simulations have met no seed of the whole length.
    made = Made(lambda *_: 1.0, constraints=[USED])
    leaders = [Evaluation({"name": name}) for name in ("first", "second")]
    runner = Race(horizon_of(made, [USED]), leaders)
    runner.run(SEEDS, 0)
    assert runner.winner is leaders[0]
    assert runner.report.simulations == 0
