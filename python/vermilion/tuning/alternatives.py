"""Pareto fronts of settings, and points between settings.

The best of a search often lies where a bound begins to be broken. Where it cannot be proven,
others are compared (:mod:`vermilion.tuning.proof`): those that no other one beats both in the
objective and in the distance from the bounds, and points on the way to them.

The distance of a setting is that from its nearest bound. Each is measured by what the setting in
force keeps: 0 is at the bound, and 1 is as far from it as the setting in force, or further. A bound
that the latter breaks is measured by the largest distance that any setting of the search keeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from vermilion.objectives.constraint import BROKEN
from vermilion.tuning.verdict import mean_margins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.search import Point, Space
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.state import TuningState


class PairOfMeans(Protocol):
    """Something with two numbers, both to be minimised."""

    @property
    def means(self) -> tuple[float, float]:
        """The two numbers."""


AnyPairOfMeans = TypeVar("AnyPairOfMeans", bound=PairOfMeans)


def non_dominated(entries: Sequence[AnyPairOfMeans]) -> list[AnyPairOfMeans]:
    """Return the Pareto front, by the first number.

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
    """Return at most so many points of a front, evenly spread, its ends among them.

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
    """Gaps between neighbours on a front in the second number, the widest first.

    Width counts in both numbers, each measured by its range on the front.
    """
    ordered = sorted(front, key=lambda entry: entry.means)
    scales = _ranges(ordered)
    found = [
        (_distance(before.means, after.means, scales), before.means[1], after.means[1])
        for before, after in pairwise(ordered)
    ]
    return [(high, low) for _, high, low in sorted(found, reverse=True)]


SHARES: Final = (0.25, 0.5, 0.75)
"""Shares of the way at which the points lie, as a rule."""


def between(
    space: Space, one: Setting, other: Setting, shares: Sequence[float] = SHARES
) -> list[Setting]:
    """Points on the way from one setting to another; none if one has automatic values.

    Args:
        space: in whose coordinates the way is straight.
        one: where it begins.
        other: where it ends.
        shares: of the way, where the points lie.
    """
    ends = [
        {name: value for name, value in setting.items() if value is not None}
        for setting in (one, other)
    ]
    if any(len(end) < len(space) for end in ends):
        return []
    start, end = (space.point(each) for each in ends)
    return [space.values(_interpolate(start, end, share)) for share in shares]


def _interpolate(one: Point, other: Point, share: float) -> Point:
    """A point so far on the way from one to another."""
    return tuple((1.0 - share) * mine + share * its for mine, its in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True)
class Distant:
    """A setting of a search.

    Attributes:
        setting: values of the tuned parameters, by path.
        means: its objective, and less than 0 its distance from the bounds.
    """

    setting: Setting
    means: tuple[float, float]


def front_of_distance(tuning: TuningState) -> list[Distant]:
    """Settings of which no other gains more and keeps more distance; the one that gains most first.

    Args:
        tuning: after its search.
    """
    horizon = tuning.horizon
    known = [
        each
        for _, _, each in tuning.ranking
        if each.is_complete(tuning.question.seeds.search) and horizon.value(each) < BROKEN
    ]
    now, *margins = [
        [each for row in mean_margins(horizon.constraints, one, horizon.incumbent) for each in row]
        for one in (horizon.incumbent, *known)
    ]
    kept = [
        own if own > 0.0 else max(others)
        for own, others in zip(now, zip(*margins, strict=True), strict=False)
    ]
    return non_dominated(
        [
            Distant(each.setting, (each.objective, -_distance_from_bounds(row, kept)))
            for each, row in zip(known, margins, strict=True)
        ]
    )


def _distance_from_bounds(margins: Sequence[float], kept: Sequence[float]) -> float:
    """Share of the incumbent's margin that the nearest bound is kept by."""
    shares = [
        min(1.0, margin / most)
        for margin, most in zip(margins, kept, strict=True)
        if 0.0 < most < math.inf
    ]
    return min(shares, default=1.0)
