"""Noisy test functions of the black-box optimisation community: coco's suite bbob-noisy.

N. Hansen and others, "COCO: a platform for comparing continuous optimizers in a black-box
setting", Optimization Methods and Software 36, 2021. Six of its thirty functions, of as many
families, all with severe Gaussian noise, which multiplies the distance from the optimal value by
exp(N(0, 1)).

The suite does not tell a point's value without noise. As the noise multiplies by a number whose
logarithm has mean 0, the geometric mean of many noisy distances is that value's estimate: within
7 % (one standard error) of 201 evaluations. The suite's generator cannot be seeded, but
it begins anew with each process; so each cell is measured in a process of its own.
"""

from __future__ import annotations

import math
import multiprocessing
import tempfile
from contextlib import chdir
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from cells import Cell
from contenders import follow

if TYPE_CHECKING:
    from vermilion.search import Point

FUNCTIONS = {
    107: "sphere",
    110: "Rosenbrock",
    113: "step ellipsoid",
    116: "ellipsoid",
    122: "Schaffer F7",
    128: "Gallagher's 101 peaks",
}
DIMENSIONS = (3, 5, 10, 20)
BUDGETS = (10, 25, 50, 100, 200, 400, 1000)
REPETITIONS = 15
TRUE_EVALUATIONS = 201
LEAST_GAP = 1e-8
"""The suite adds no noise to distances below this."""


class Problem:
    """An instance of a function on the unit cube.

    Args:
        function: its number.
        dimensions: of its points.
        instance: another place of the optimum, another rotation.
    """

    def __init__(self, function: int, dimensions: int, instance: int) -> None:
        self._problem: Any = suite().get_problem_by_function_dimension_instance(
            function, dimensions, instance
        )
        self.best = _best_value(self._problem)

    def __call__(self, point: Point) -> float:
        """A noisy value; the cube is the suite's [-5, 5]."""
        return float(self._problem([10.0 * x - 5.0 for x in point]))

    def gap(self, point: Point) -> float:
        """The distance from the best value, without noise."""
        logarithms = [
            math.log(max(LEAST_GAP, self(point) - self.best)) for _ in range(TRUE_EVALUATIONS)
        ]
        return math.exp(math.fsum(logarithms) / TRUE_EVALUATIONS)


@cache
def suite() -> Any:  # noqa: ANN401 - the package has no types
    """All problems, of which none has been evaluated."""
    import cocoex

    return cocoex.Suite("bbob-noisy", "", "")


def _best_value(problem: Any) -> float:  # noqa: ANN401 - the package has no types
    """The value of the best point, which the suite writes to a file in the directory it is in."""
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        problem._best_parameter("print")  # noqa: SLF001 - there is no other way to learn it
        [file] = Path(directory).iterdir()
        best = [float(x) for x in file.read_text(encoding="ascii").split()]
    # All optimal values of the suite have two decimals; the remainder is what it adds to stay
    # above its least distance.
    return round(float(problem(best)), 2)


def plan() -> list[tuple[int, int, str]]:
    """All cells to be measured: function, dimensions, search."""
    from contenders import CONTENDERS

    return [
        (function, dimensions, search)
        for dimensions in DIMENSIONS
        for function in FUNCTIONS
        for search in CONTENDERS
    ]


def measure(function: int, dimensions: int, search: str) -> Cell:
    """One search on one function, all repetitions, in a process of its own."""
    suite()  # so that the children need not make their own
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        return pool.apply(_measure_here, (function, dimensions, search))


def _measure_here(function: int, dimensions: int, search: str) -> Cell:
    values, cpu, own = [], [], []
    for repetition in range(1, REPETITIONS + 1):
        problem = Problem(function, dimensions, repetition)
        seen = follow(search, dimensions, repetition, problem, BUDGETS)
        known: dict[Point, float] = {}
        for point in seen.points:
            if point not in known:
                known[point] = problem.gap(point)
        values.append([known[point] for point in seen.points])
        cpu.append(seen.cpu_s)
        own.append(seen.own_s)
    return Cell(
        f"f{function}",
        dimensions,
        search,
        list(BUDGETS),
        values,
        [median(each) for each in zip(*cpu, strict=True)],
        [median(each) for each in zip(*own, strict=True)],
    )
