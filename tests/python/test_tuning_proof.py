"""Answers at the edge: how far inside a bound a search aims, and what doubt does.

A formula stands for the simulator: the waiting time falls with the weight's logarithm and the use
of the link falls with it, so the least wait lies where the bound on the use begins to be broken.
"""

import dataclasses
import json
import math
import statistics

import numpy as np
import pytest

from vermilion.objectives import Constraint, objective_from_text
from vermilion.scenario import parse_scenario
from vermilion.search import Space
from vermilion.simulate import Result
from vermilion.tuning import Seeds
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.horizon import MarginNoise, half_width_per_deviation
from vermilion.tuning.model_search import search_best

WEIGHT = "links.bottleneck.queue.weight"
SCENARIO = """
duration = "20 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", weight = 0.0002 }
[flows.all]
path = ["bottleneck"]
rtt = "100 ms"
sender = "reno"
"""
USED = Constraint.parse("links.bottleneck.utilization >= 0.97")
SEEDS = Seeds.counted(1, search=3, re_evaluation=6, comparison=10)


def dice(seed, weight):
    """A normal number of a setting with a seed, the same each time."""
    return float(np.random.default_rng([seed, round(1e9 * weight)]).standard_normal())


def outcome(weight, seed, noise, flattery=0.0):
    """Waits of 10 ms at weight 1 to 50 ms at 10^-4, and a use of 0.95 to 1 that goes with them."""
    share = -math.log10(weight) / 4.0
    use = 0.95 + 0.05 * share + noise * dice(seed, weight)
    use += flattery * (seed not in SEEDS.comparison)
    window = {
        "start_s": 0.0,
        "end_s": 1.0,
        "utilization": use,
        "sojourn_ms": {"mean": 10.0 + 40.0 * share + 0.1 * dice(seed + 7, weight)},
    }
    links = {"bottleneck": {"total": window, "phases": [], "ledger": {}}}
    return Result({"seed": seed, "links": links, "flows": {}})


def tuned(monkeypatch, noise, *, budget=120, seed=1, bound=USED, flattery=0.0):
    met = []

    def run_many(texts, seeds, **_):
        rows = []
        for text in texts:
            document = text if isinstance(text, dict) else json.loads(text)
            weight = document["links"][0]["queue"]["parameters"]["weight"]
            met.extend((weight, each) for each in seeds)
            rows.append([outcome(weight, each, noise, flattery) for each in seeds])
        return rows

    monkeypatch.setattr("vermilion.tuning.simulations.run_many", run_many)
    scenario = parse_scenario(SCENARIO)
    objective, _ = objective_from_text("minimise links.bottleneck.sojourn_ms.mean", scenario)
    found = search_best(
        scenario,
        Space.from_scenario(scenario, [WEIGHT], {WEIGHT: (0.0001, 1.0)}),
        objective,
        [bound],
        incumbent={WEIGHT: 0.0002},
        seeds=SEEDS,
        budget=budget,
        search_seed=seed,
    )
    return found, met


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.002])
def test_an_optimum_on_a_constraint_ends_in_a_proven_recommendation(monkeypatch, noise):
    reached = []
    for number in range(7):
        found, _ = tuned(monkeypatch, noise, seed=1 + 1000 * number)
        assert found.accepted, found.reason
        [verdict] = found.comparison.best_verdicts
        assert verdict.holds == "met"
        reached.append(found.comparison.best.mean)
    # The bound of 0.97 is met from a share of 0.4 on, which waits 26 ms. Forty seeds prove it
    # (99 %, 39 degrees of freedom: 2.71) where the mean lies 0.43 deviations inside.
    provable = 26.0 + 40.0 * 0.43 * noise / 0.05
    assert statistics.median(reached) <= 1.1 * provable
    assert min(reached) >= 26.0 - 40.0 * 0.43 * noise / 0.05 - 0.2


def test_where_harm_refuses_the_best_the_others_keep_what_it_was_flattered_by(monkeypatch):
    """Of harm the mean decides and no distance is kept; here the search's seeds flatter all."""
    harm = dataclasses.replace(USED, of_harm=True)
    reached, refused = [], 0
    for number in range(10):
        seed = 1 + 1000 * number
        found, met = tuned(monkeypatch, 0.0005, seed=seed, bound=harm, flattery=0.001)
        refused += len({weight for weight, seed in met if seed == SEEDS.comparison[0]}) > 2
        assert found.accepted, found.reason
        reached.append(found.comparison.best.mean)
    # The bound lies at 26 ms, and for the search at 25.2. The way from there to the incumbent,
    # which waits 47 ms, leads to 30.6 ms at the nearest.
    assert refused > 0  # of some searches the first comparison has refused the best
    assert min(reached) > 25.5
    assert statistics.median(reached) < 28.5


def test_the_distance_kept_is_half_the_interval_of_the_comparison():
    # Of ten seeds, 2.262 standard errors (Student's t, 9 degrees of freedom).
    assert half_width_per_deviation(10) == pytest.approx(2.262 / math.sqrt(10), abs=1e-3)
    noise = MarginNoise([USED], 10)
    incumbent = Evaluation({}, [1, 2, 3], [0.0] * 3, [[[0.99], [0.99], [0.99]]])
    for spread in (0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009):
        values = [[0.97 - spread], [0.97], [0.97 + spread]]  # a standard deviation of the spread
        assert noise.allowances() in ([None], [[0.0]])
        noise.learn(Evaluation({}, [1, 2, 3], [0.0] * 3, [values]), incumbent)
        if spread == 0.008:
            break
    [[distance]] = noise.allowances()
    assert distance == pytest.approx(0.005 * 2.262 / math.sqrt(10), rel=1e-3)
    assert noise.allowances(2.0) == [[pytest.approx(2.0 * distance)]]


def test_a_quarter_of_the_time_differs_twice_as_much_as_the_whole():
    incumbent = Evaluation({}, [1, 2], [0.0] * 2, [[[0.99], [0.99]]])
    distances = []
    for fraction in (1.0, 0.25):
        noise = MarginNoise([USED], 10, fraction)
        for _ in range(8):
            noise.learn(Evaluation({}, [1, 2], [0.0] * 2, [[[0.96], [0.98]]]), incumbent)
        [[distance]] = noise.allowances()
        distances.append(distance)
    assert distances[0] == pytest.approx(2.0 * distances[1])


def test_an_answer_that_the_fresh_seeds_chose_says_among_how_many(monkeypatch):
    several = []
    for number in range(8):
        found, met = tuned(monkeypatch, 0.001, seed=1 + 1000 * number)
        seen = {weight for weight, seed in met if seed == SEEDS.comparison[0]} - {0.0002}
        among = found.comparison.among
        # Those that the comparison's seeds met are counted from outside, by what was simulated.
        assert among in {1, len(seen)}
        several.append(among > 1)
        said = f"; the best of {len(seen)} on these seeds"
        assert found.reason.endswith(said) == (among > 1), found.reason
    assert any(several)
    alone, _ = tuned(monkeypatch, 0.0, budget=3)
    assert alone.comparison.among == 1


def test_doubt_buys_more_seeds_and_certainty_none(monkeypatch):
    sure, _ = tuned(monkeypatch, 0.0)
    assert sure.comparison.best.count == len(SEEDS.comparison)
    counts = {tuned(monkeypatch, 0.01, seed=seed)[0].comparison.best.count for seed in range(8)}
    assert max(counts) > len(SEEDS.comparison)
    assert counts <= {10, 20, 40}
    assert SEEDS.further(3) == (20, 21, 22)
