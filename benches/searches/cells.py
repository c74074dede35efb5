"""What has been measured, in a file to which each cell adds a line, so that a run can be resumed.

A cell is one search on one problem, all repetitions.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contenders import Trajectory

    from vermilion.search import Point

RESULTS = Path(__file__).with_name("results.jsonl")


@dataclass(frozen=True)
class Cell:
    """One search on one problem.

    Attributes:
        problem: its name.
        dimensions: parameters.
        search: its name.
        budgets: evaluations after which the recommendation was judged.
        values: of each repetition, the recommendation's true value after each budget.
        cpu_s: CPU seconds until then, median of the repetitions.
        own_s: those of the search alone.
    """

    problem: str
    dimensions: int
    search: str
    budgets: list[int]
    values: list[list[float]]
    cpu_s: list[float]
    own_s: list[float]

    @property
    def key(self) -> tuple[str, int, str]:
        """What tells it from others."""
        return self.problem, self.dimensions, self.search


def cell_of(
    problem: str,
    dimensions: int,
    search: str,
    budgets: Sequence[int],
    trajectories: Sequence[Trajectory],
    truth: Callable[[Point], float],
) -> Cell:
    """What searches came to, each recommendation judged once.

    Args:
        problem: see :class:`Cell`.
        dimensions: see :class:`Cell`.
        search: see :class:`Cell`.
        budgets: see :class:`Cell`.
        trajectories: one for each repetition.
        truth: the true value of a point.
    """
    known: dict[Point, float] = {}
    for seen in trajectories:
        for point in seen.points:
            if point not in known:
                known[point] = truth(point)
    return Cell(
        problem,
        dimensions,
        search,
        list(budgets),
        [[known[point] for point in seen.points] for seen in trajectories],
        [median(each) for each in zip(*(seen.cpu_s for seen in trajectories), strict=True)],
        [median(each) for each in zip(*(seen.own_s for seen in trajectories), strict=True)],
    )


def load(path: Path = RESULTS) -> dict[tuple[str, int, str], Cell]:
    """The cells measured so far."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    cells = [Cell(**json.loads(line)) for line in lines]
    return {cell.key: cell for cell in cells}


def add(cell: Cell, path: Path = RESULTS) -> None:
    """Adds a cell's line, its numbers to four digits."""
    entry = asdict(cell)
    entry["values"] = [[_short(value) for value in row] for row in cell.values]
    entry["cpu_s"] = [_short(value) for value in cell.cpu_s]
    entry["own_s"] = [_short(value) for value in cell.own_s]
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(entry, separators=(',', ':'))}\n")


def _short(value: float) -> float:
    return float(f"{value:.4g}")
