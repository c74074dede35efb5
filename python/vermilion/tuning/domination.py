"""Which of several settings with two objectives are worth having, and how they spread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence


_DECADE: Final = 10.0


class Judged(Protocol):
    """Something with two numbers, both to be minimised."""

    @property
    def means(self) -> tuple[float, float]:
        """The two numbers."""


AnyJudged = TypeVar("AnyJudged", bound=Judged)


def non_dominated(entries: Sequence[AnyJudged]) -> list[AnyJudged]:
    """Those of which none other is at least as good in both and better in one.

    Args:
        entries: each with ``means``, two numbers to be minimised.
    """
    kept: list[AnyJudged] = []
    lowest = math.inf
    for entry in sorted(entries, key=lambda entry: entry.means):
        if entry.means[1] < lowest:
            kept.append(entry)
            lowest = entry.means[1]
    return kept


def thinned(front: Sequence[AnyJudged], most: int) -> list[AnyJudged]:
    """At most so many of a front, evenly spread, its ends among them.

    The one that is nearest to its neighbours goes first.
    """
    kept = sorted(front, key=lambda entry: entry.means)
    axes = _axes(kept)
    while len(kept) > max(most, 2):
        spans = [
            _distance(kept[place - 1].means, kept[place + 1].means, axes)
            for place in range(1, len(kept) - 1)
        ]
        del kept[1 + spans.index(min(spans))]
    return kept


def gaps(front: Sequence[Judged]) -> list[float]:
    """The values of the second number in the middle of a front's gaps, the widest gap first.

    Width counts in both numbers, each measured by its range on the front: on a logarithmic scale
    where it spans a decade or more, for then 1 to 2 is as far as 10 to 20.
    """
    ordered = sorted(front, key=lambda entry: entry.means)
    axes = _axes(ordered)
    found = [
        (_distance(before.means, after.means, axes), before.means[1], after.means[1])
        for before, after in pairwise(ordered)
    ]
    return [axes[1].middle(high, low) for _, high, low in sorted(found, reverse=True)]


@dataclass(frozen=True, slots=True)
class _Axis:
    """How differences of one number are measured on a front.

    Attributes:
        logarithmic: whether ratios count instead of differences.
        span: its range on that scale; 1 where there is none.
    """

    logarithmic: bool
    span: float

    @classmethod
    def of(cls, values: Sequence[float]) -> _Axis:
        """The axis of a front's values."""
        low, high = min(values), max(values)
        # What is to be maximised is negative here, from end to end.
        near, far = sorted((abs(low), abs(high)))
        logarithmic = low * high > 0.0 and far >= _DECADE * near
        span = math.log(far / near) if logarithmic else high - low
        return cls(logarithmic, span or 1.0)

    def apart(self, one: float, other: float) -> float:
        """How far apart two values are, of the range."""
        if self.logarithmic:
            return math.log(one / other) / self.span
        return (one - other) / self.span

    def middle(self, one: float, other: float) -> float:
        """What lies halfway between them."""
        if self.logarithmic:
            return math.copysign(math.sqrt(one * other), one)
        return (one + other) / 2


def _axes(front: Sequence[Judged]) -> tuple[_Axis, _Axis]:
    if not front:
        return _Axis(logarithmic=False, span=1.0), _Axis(logarithmic=False, span=1.0)
    first, second = zip(*(entry.means for entry in front), strict=True)
    return _Axis.of(first), _Axis.of(second)


def _distance(
    one: tuple[float, float], other: tuple[float, float], axes: tuple[_Axis, _Axis]
) -> float:
    return math.hypot(axes[0].apart(one[0], other[0]), axes[1].apart(one[1], other[1]))
