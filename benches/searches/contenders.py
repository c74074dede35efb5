"""The searches that are compared, with the settings that they have when nobody sets any."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vermilion.search import SEARCHES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.search import Point

CONTENDERS = (
    "recursive-random-search",
    "localised-recursive-random-search",
    "cma-es",
    "random-search",
)
RECORDED = (
    *CONTENDERS[:-1],
    "tree-parzen-estimator",
    "differential-evolution",
    "simulated-annealing",
    "sobol",
    "random-search",
)
"""Those of results.jsonl; the four more won nowhere that counts, and were removed for it."""

BASELINE = "random-search"


@dataclass
class Trajectory:
    """What a search recommended after each budget, and the CPU seconds that it took so far.

    Attributes:
        points: the recommendations.
        cpu_s: search and evaluations together.
        own_s: of the search alone.
    """

    points: list[Point] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    own_s: list[float] = field(default_factory=list)


def follow(
    name: str,
    dimensions: int,
    seed: int,
    function: Callable[[Point], float],
    budgets: Sequence[int],
    starts: Sequence[Point] = (),
    settings: Mapping[str, Any] | None = None,
) -> Trajectory:
    """Lets a search minimise a noisy function and looks at it after each budget.

    Args:
        name: of the search.
        dimensions: of its points.
        seed: of the search.
        function: gives what the search is told.
        budgets: numbers of evaluations, ascending.
        starts: points to try first.
        settings: of the search.
    """
    search = SEARCHES[name](dimensions, seed=seed, start_points=starts, **settings or {})
    seen = Trajectory()
    start = time.process_time()
    elsewhere = 0.0
    for budget in budgets:
        while search.evaluations < budget:
            [point] = search.ask(1)
            before = time.process_time()
            value = function(point)
            elsewhere += time.process_time() - before
            search.tell([point], [value])
        now = time.process_time() - start
        seen.points.append(search.recommend())
        seen.cpu_s.append(now)
        seen.own_s.append(now - elsewhere)
    return seen
