"""The search finds good settings quickly: what it recommends after so many settings."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from vermilion.report import drawing
from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, interval
from vermilion_lab.papers.verdict import Check, Expected
from vermilion_lab.papers.ye_2002.network import LINK, TARGET, steady

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench


BUDGETS = (10, 20, 44, 70, 100)
FRESH_SEEDS = tuple(range(1001, 1005))
SEARCHED = {"64 flows, 28 ms": 64, "16 flows, 28 ms": 16}


def measure_search(bench: Workbench) -> Numbers:
    """Measure, for each seed, what a search recommends after so many settings."""
    bench.expect(len(SEARCHED) * len(bench.seeds))
    return {name: _searches(bench, steady(flows)) for name, flows in SEARCHED.items()}


def _searches(bench: Workbench, model: Scenario) -> Numbers:
    found = bench.each(partial(_search, model), bench.seeds)
    standard = _deviation_on_fresh_seeds([model])[0]
    return {
        "standard": standard,
        "best": [[of_seed[place] for of_seed in found] for place in range(len(BUDGETS))],
    }


def _search(model: Scenario, seed: int) -> list[float]:
    """Squared deviations, on fresh seeds, of the best of the first so many settings."""
    from vermilion.search import CountedFromBelow
    from vermilion.search.registry import search_named
    from vermilion.simulate import run_many

    space = CountedFromBelow.from_scenario(model)
    search = search_named("recursive-random-search")(len(space), seed=seed)
    recommended = []
    tried = 0
    for budget in BUDGETS:
        while tried < budget:
            points = search.ask(1)
            [[result]] = run_many(
                [model.with_values(space.values(points[0]))], [10_000 + seed], threads=1
            )
            search.tell(points, [math.inf if result is None else _deviation(result)])
            tried += 1
        recommended.append(model.with_values(space.values(search.recommend())))
    return _deviation_on_fresh_seeds(recommended)


def _deviation(result: Result) -> float:
    queue = result.link(LINK).phases[0]["queue_packets"]
    return float(queue["sd"] ** 2 + (queue["mean"] - TARGET) ** 2)


def _deviation_on_fresh_seeds(scenarios: Sequence[Scenario]) -> list[float]:
    from vermilion.simulate import run_many

    return [
        math.fsum(_deviation(result) for result in results if result) / len(FRESH_SEEDS)
        for results in run_many(scenarios, FRESH_SEEDS, threads=1)
    ]


def draw_search(numbers: Numbers) -> Drawing:
    """Deviations against settings tried."""
    figure, panels = plots.sheet(1, 2, 4.3, sharey=True)
    for axes, (name, found) in zip(panels[0], numbers.items(), strict=True):
        for place in range(len(found["best"][0])):
            axes.plot(
                BUDGETS,
                [values[place] for values in found["best"]],
                color=drawing.SKY_BLUE,
                linewidth=0.8,
                label="one search" if place == 0 else "_",
            )
        plots.line(axes, BUDGETS, found["best"], "mean", 0)
        axes.axhline(
            found["standard"], color=drawing.VERMILION, linestyle=(0, (5, 3)), label="standard RED"
        )
        axes.set_yscale("log")
        axes.set_title(name)
        axes.set_xlabel("settings tried")
        axes.set_xlim(0, 104)
    panels[0][0].set_ylabel("squared deviation (packets²)")
    panels[0][1].legend(loc="upper right")
    return figure


def search_tables(numbers: Numbers) -> list[FigureTable]:
    """The deviations behind the figure."""
    return [
        FigureTable(
            "Squared deviation (packets²) on fresh seeds of the best of so many settings",
            ("network", "standard RED", *(f"{budget} settings" for budget in BUDGETS)),
            tuple(
                (name, f"{found['standard']:.3g}", *(cell(values) for values in found["best"]))
                for name, found in numbers.items()
            ),
        )
    ]


def search_quick(evidence: Evidence) -> list[Check]:
    """A good setting has been found after 44 and after 100."""
    return [
        Check(
            quantity=f"deviation after {budget} settings over that of standard RED",
            interval=interval([value / found["standard"] for value in values]),
            expected=Expected(high=0.5),
            reading=name,
        )
        for name, found in evidence["search"].items()
        for budget, values in zip(BUDGETS, found["best"], strict=True)
        if budget in {44, 100}
    ]
