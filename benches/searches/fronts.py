"""Fronts of two objectives on some of the drawn networks: the mean wait against the utilisation.

What counts is the area between a front and a corner that is worse than all of it, over that of all
fronts of the network together.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from drawn_networks import DRAWN_NETWORKS

from vermilion.scenario import scenario_from_document
from vermilion.tuning import tune_front

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from drawn_networks import DrawnNetwork

    Point = tuple[float, float]

RESULTS: Final = Path(__file__).with_name("fronts.jsonl")
NETWORKS: Final = (
    "red, 2",
    "gentle red, 3",
    "linux-red, 4",
    "adaptive-red, 3",
    "codel, 2",
    "pie, 3",
)
SEARCHES: Final = ("localised-recursive-random-search", "gaussian-process")
BUDGETS: Final = (100, 240)
REPETITIONS: Final = 4
_WAIT_BEYOND: Final = 1.1
"""Where the corner lies, as times the longest wait of all fronts."""
_USED_BELOW: Final = 0.05
"""And so much below the lowest utilisation."""


@dataclass(frozen=True)
class Found:
    """A front.

    Attributes:
        network: its name.
        search: that found it.
        budget: in settings.
        repetition: from 1.
        points: mean waits in milliseconds and utilisations, on fresh seeds.
    """

    network: str
    search: str
    budget: int
    repetition: int
    points: list[Point]


def load() -> list[Found]:
    """What has been measured."""
    if not RESULTS.exists():
        return []
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return [Found(**json.loads(line)) for line in lines]


def measure() -> Iterator[Found]:
    """What is missing, each as soon as it is found."""
    known = {(each.network, each.search, each.budget, each.repetition) for each in load()}
    networks = [network for network in DRAWN_NETWORKS if network.name in NETWORKS]
    for network in networks:
        for budget in BUDGETS:
            for repetition in range(1, REPETITIONS + 1):
                for search in SEARCHES:
                    if (network.name, search, budget, repetition) not in known:
                        yield _found(network, search, budget, repetition)


def add(found: Found) -> None:
    """Keeps one."""
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(found)) + "\n")


def _found(network: DrawnNetwork, search: str, budget: int, repetition: int) -> Found:
    scenario = scenario_from_document(network.document, network.name)
    objectives = ("links.hop-1.sojourn_ms.mean", "links.hop-1.utilization")
    front = tune_front(
        scenario,
        objectives=objectives,
        search=search,
        budget=budget,
        seed=100 * repetition,
        threads=1,
    )
    points = [(each.values[0].mean, each.values[1].mean) for each in front.points]
    return Found(network.name, search, budget, repetition, points)


def table(fronts: Sequence[Found]) -> list[str]:
    """The mean share of the area, as Markdown."""
    columns = [(search, budget) for budget in BUDGETS for search in SEARCHES]
    heads = " | ".join(f"`{search}`, {budget}" for search, budget in columns)
    lines = [f"| network | {heads} |", "| --- |" + " ---: |" * len(columns)]
    for name in NETWORKS:
        here = [each for each in fronts if each.network == name]
        ends = _undominated(point for each in here for point in each.points)
        corner = (_WAIT_BEYOND * ends[-1][0], ends[0][1] - _USED_BELOW)
        whole = _area(ends, corner)
        row = [
            fmean(
                _area(each.points, corner) / whole
                for each in here
                if (each.search, each.budget) == column
            )
            for column in columns
        ]
        lines.append(f"| {name} | {' | '.join(f'{share:.3f}' for share in row)} |")
    return [*lines, ""]


def _area(points: Iterable[Point], corner: Point) -> float:
    """Between a front and a corner that is worse."""
    front = [each for each in _undominated(points) if each[0] < corner[0] and each[1] > corner[1]]
    if not front:
        return 0.0
    nexts = [*(wait for wait, _ in front[1:]), corner[0]]
    return sum(
        (after - wait) * (used - corner[1])
        for (wait, used), after in zip(front, nexts, strict=True)
    )


def _undominated(points: Iterable[Point]) -> list[Point]:
    """Those than which none is better in both, from the shortest wait on."""
    front: list[Point] = []
    for wait, used in sorted(tuple(each) for each in points):
        if not front or used > front[-1][1]:
            front.append((wait, used))
    return front
