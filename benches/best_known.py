"""Finds the best known settings that `benches/tuning.py` measures the tuner by.

Many searches of all kinds, each with a simulation seed of its own, are pooled; their best settings
meet more and more fresh seeds, the worse half leaving each time, until one is left. Its mean over
further fresh seeds is the best known value. The pool is kept in a file, so that the work can be
done in parts; the answer is written to `benches/best_known.json`:

    .venv/bin/python benches/best_known.py varying-load --evaluations 100000 --pool /tmp/pool.json

takes a quarter of an hour of one core for 10^5 evaluations of `varying-load`.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from vermilion import load_scenario
from vermilion.objectives import constraints_of, feasible_first, objective_of
from vermilion.search import SEARCHES, Space, search_named
from vermilion.simulate import mean_interval
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.simulations import Condition, Simulations
from vermilion.tuning.verdict import mean_violation

HERE = Path(__file__).parent
BEST_KNOWN = HERE / "best_known.json"
EACH = 1250
"""Evaluations of each search in the pool."""

FINALISTS = 3
"""Settings of each search that go on."""

FIRST_FRESH_SEED = 1_000_000
"""Above all seeds that the searches and the tuner use."""

SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "recursive-random-search": ({"stop_side": 0.05}, {"stop_side": 0.01}, {}),
}
"""Variants of the searches that have settings."""


class Problem:
    """A scenario of the library and its own tuning, on one core."""

    def __init__(self, name: str) -> None:
        self.scenario = load_scenario(name)
        self.space = Space.from_scenario(self.scenario)
        self.objective = objective_of(self.scenario)
        self.constraints = constraints_of(self.scenario, self.objective)
        self.incumbent = {path: self.scenario.get(path) for path in self.space.names}
        condition = Condition.of(
            self.scenario.core_json(), self.space.names, self.objective, self.constraints
        )
        self.simulations = Simulations([condition], 1)

    def meet(self, settings: list[dict[str, float]], seeds: list[int]) -> list[float]:
        """What orders the settings, feasible ones first, from all these seeds."""
        reference = Evaluation(self.incumbent)
        self.simulations.run([reference], seeds)
        evaluations = [Evaluation(setting) for setting in settings]
        for evaluation in evaluations:
            self.simulations.run([evaluation], seeds)
        return [
            feasible_first(
                each.objective,
                mean_violation(self.constraints, each, reference),
                abs(reference.objective),
            )
            for each in evaluations
        ]


def search(problem: Problem, name: str, settings: dict[str, Any], number: int) -> list[Any]:
    """One search on a simulation seed of its own: its best settings, the best first."""
    seed = 100 + number
    reference = Evaluation(problem.incumbent)
    problem.simulations.run([reference], [seed])
    searcher = search_named(name)(len(problem.space), seed=seed, **settings)
    found = []
    while len(found) < EACH:
        points = searcher.ask(1)
        values = []
        for point in points:
            evaluation = Evaluation(problem.space.values(point))
            problem.simulations.run([evaluation], [seed])
            violation = mean_violation(problem.constraints, evaluation, reference)
            scale = abs(reference.objective)
            values.append(feasible_first(evaluation.objective, violation, scale))
            found.append((values[-1], len(found), evaluation.setting))
        searcher.tell(points, values)
    return [setting for _, _, setting in sorted(found)[:FINALISTS]]


def finals(problem: Problem, pool: list[dict[str, float]]) -> dict[str, float]:
    """The best of the pool: the worse half leaves after each round of fresh seeds."""
    left, first, seeds = list(pool), FIRST_FRESH_SEED, 4
    while len(left) > 1:
        ranked = problem.meet(left, list(range(first, first + seeds)))
        order = sorted(range(len(left)), key=ranked.__getitem__)
        left = [left[index] for index in order[: (len(left) + 1) // 2]]
        first, seeds = first + seeds, min(2 * seeds, 128)
    return left[0]


def main() -> None:
    """Searches in the pool's time, then the finals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario")
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--pool", type=Path, required=True)
    parser.add_argument("--search", action="append", choices=list(SEARCHES))
    options = parser.parse_args()
    problem = Problem(options.scenario)
    kept: dict[str, Any] = {"searches": 0, "evaluations": 0, "settings": []}
    if options.pool.exists():
        kept = json.loads(options.pool.read_text(encoding="utf-8"))
    kinds = [
        (name, settings)
        for name in options.search or SEARCHES
        for settings in SETTINGS.get(name, ({},))
    ]
    begun = time.process_time()
    while kept["evaluations"] < options.evaluations:
        name, settings = kinds[kept["searches"] % len(kinds)]
        kept["settings"] += search(problem, name, settings, kept["searches"])
        kept["searches"] += 1
        kept["evaluations"] += EACH
        options.pool.write_text(json.dumps(kept), encoding="utf-8")
    best = finals(problem, kept["settings"])
    fresh = list(range(2 * FIRST_FRESH_SEED, 2 * FIRST_FRESH_SEED + 200))
    evaluation = Evaluation(best)
    problem.simulations.run([evaluation], fresh)
    interval = mean_interval(evaluation.objectives)
    known = json.loads(BEST_KNOWN.read_text(encoding="utf-8")) if BEST_KNOWN.exists() else {}
    known[options.scenario] = {
        "objective": problem.objective.name,
        "mean": interval.mean,
        "half_width": interval.half_width,
        "seeds": interval.count,
        "evaluations": kept["evaluations"],
        "searches": kept["searches"],
        "setting": best,
    }
    BEST_KNOWN.write_text(f"{json.dumps(known, indent=2)}\n", encoding="utf-8")
    print(json.dumps(known[options.scenario], indent=2))
    print(f"{time.process_time() - begun:.0f} CPU s")


if __name__ == "__main__":
    main()
