"""Candidates for the automatic search, and ways to count an ordered pair, on drawn networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cells import cell_of
from contenders import follow
from drawn_networks import BUDGETS, REPETITIONS, TOLD_SEEDS, TRUE_SEEDS

from vermilion.search import CountedFromBelow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cells import Cell
    from drawn_networks import DrawnNetwork

    from vermilion.search import Point, Space

RESULTS: Final = Path(__file__).with_name("choices.jsonl")


@dataclass(frozen=True)
class Candidate:
    """A search with its settings, and how it counts an ordered pair.

    Attributes:
        name: for tables.
        search: which.
        settings: of the search.
        from_below: whether the higher of a pair is counted from the lower.
    """

    name: str
    search: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    from_below: bool = False

    def space(self, space: Space) -> Space:
        """The box as it counts it."""
        return CountedFromBelow(space.dimensions) if self.from_below else space


_LOCALISED = "localised-recursive-random-search"

CANDIDATES: Final = (
    Candidate("localised, from below", _LOCALISED, from_below=True),
    Candidate("localised", _LOCALISED),
    Candidate("cma-es", "cma-es", {"spread": 0}),
    Candidate("cma-es, 20 spread", "cma-es", {"spread": 20}),
    Candidate("gaussian-process", "gaussian-process"),
)


def candidates_on(network: DrawnNetwork) -> list[Candidate]:
    """All of them; without an ordered pair there is only one way to count."""
    return [each for each in CANDIDATES if network.is_ordered or not each.from_below]


def measure(network: DrawnNetwork, candidate: Candidate) -> Cell:
    """One candidate on one network, all repetitions."""
    space, starts, mean = network.surface(candidate.space)
    trajectories = []
    for repetition in range(1, REPETITIONS + 1):
        told = range(100 * repetition, 100 * repetition + TOLD_SEEDS)
        trajectories.append(
            follow(
                candidate.search,
                len(space),
                repetition,
                partial(_at, space, mean, told),
                BUDGETS,
                starts,
                candidate.settings,
            )
        )
    truth = partial(_at, space, mean, TRUE_SEEDS)
    return cell_of(network.name, len(space), candidate.name, BUDGETS, trajectories, truth)


def _at(
    space: Space,
    mean: Callable[[Mapping[str, float], Sequence[int]], float],
    seeds: Sequence[int],
    point: Point,
) -> float:
    return mean(space.values(point), seeds)
