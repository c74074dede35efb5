"""Whole tunings on the drawn networks: with bounds of harm, short simulations and a race.

The candidates of `choices` are searches alone. Here the same candidates do what `vermilion tune`
does, within the usual bounds of harm. What is judged is what a tuning chose: the setting in force
where it recommends nothing.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from cells import Cell
from drawn_networks import TRUE_SEEDS

import vermilion
from vermilion.objectives import objective_of
from vermilion.scenario import scenario_from_document
from vermilion.search import CountedFromBelow
from vermilion.simulate import run_many
from vermilion.tuning import preparation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from choices import Candidate
    from drawn_networks import DrawnNetwork

RESULTS: Final = Path(__file__).with_name("tunings.jsonl")
BUDGETS: Final = (80, 250)
REPETITIONS: Final = 9


def measure(network: DrawnNetwork, candidate: Candidate) -> Cell:
    """The tunings of one candidate on one network."""
    scenario = scenario_from_document(network.document, network.name)
    objective = objective_of(scenario)
    values: list[list[float]] = [[] for _ in range(REPETITIONS)]
    seconds = []
    for budget in BUDGETS:
        spent = []
        for repetition, row in enumerate(values, start=1):
            before = time.process_time()
            with _counted(from_below=candidate.from_below):
                found = vermilion.tune(
                    scenario,
                    budget=budget,
                    seed=1000 * repetition,
                    threads=1,
                    rivals=False,
                    exactly=True,
                    search=candidate.search,
                    search_settings=candidate.settings,
                )
            spent.append(time.process_time() - before)
            [results] = run_many([scenario.with_values(found.chosen)], TRUE_SEEDS, threads=1)
            row.append(fmean(objective.evaluate(each) for each in results if each is not None))
        seconds.append(median(spent))
    dimensions = len(found.parameters)
    return Cell(
        network.name,
        dimensions,
        candidate.name,
        list(BUDGETS),
        values,
        seconds,
        [0.0] * len(BUDGETS),
    )


@contextmanager
def _counted(*, from_below: bool) -> Iterator[None]:
    """Lets tunings count an ordered pair from below, or as they do."""
    usual = preparation.Space
    if from_below:
        preparation.Space = CountedFromBelow
    try:
        yield
    finally:
        preparation.Space = usual
