"""Which of several settings with two objectives are worth having, and how they spread."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence


class PairOfMeans(Protocol):
    """Something with two numbers, both to be minimised."""

    @property
    def means(self) -> tuple[float, float]:
        """The two numbers."""


AnyPairOfMeans = TypeVar("AnyPairOfMeans", bound=PairOfMeans)


def non_dominated(entries: Sequence[AnyPairOfMeans]) -> list[AnyPairOfMeans]:
    """Those of which none other is at least as good in both and better in one.

    Args:
        entries: each with ``means``, two numbers to be minimised.
    """
    kept: list[AnyPairOfMeans] = []
    lowest = math.inf
    for entry in sorted(entries, key=lambda entry: entry.means):
        if entry.means[1] < lowest:
            kept.append(entry)
            lowest = entry.means[1]
    return kept


def thinned(front: Sequence[AnyPairOfMeans], most: int) -> list[AnyPairOfMeans]:
    """At most so many of a front, evenly spread, its ends among them.

    The one that is nearest to its neighbours goes first.
    """
    kept = sorted(front, key=lambda entry: entry.means)
    scales = _ranges(kept)
    while len(kept) > max(most, 2):
        spans = [
            _distance(kept[place - 1].means, kept[place + 1].means, scales)
            for place in range(1, len(kept) - 1)
        ]
        del kept[1 + spans.index(min(spans))]
    return kept


def _ranges(front: Sequence[PairOfMeans]) -> tuple[float, float]:
    if not front:
        return 1.0, 1.0
    first, second = zip(*(entry.means for entry in front), strict=True)
    return (max(first) - min(first)) or 1.0, (max(second) - min(second)) or 1.0


def _distance(
    one: tuple[float, float], other: tuple[float, float], scales: tuple[float, float]
) -> float:
    return math.hypot((one[0] - other[0]) / scales[0], (one[1] - other[1]) / scales[1])


def gaps(front: Sequence[PairOfMeans]) -> list[tuple[float, float]]:
    """Between which values of the second number the neighbours on a front lie, the widest first.

    Width counts in both numbers, each measured by its range on the front.
    """
    ordered = sorted(front, key=lambda entry: entry.means)
    scales = _ranges(ordered)
    found = [
        (_distance(before.means, after.means, scales), before.means[1], after.means[1])
        for before, after in pairwise(ordered)
    ]
    return [(high, low) for _, high, low in sorted(found, reverse=True)]
