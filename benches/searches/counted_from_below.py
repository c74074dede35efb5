"""The box as it was counted at first: the higher of an ordered pair from the lower one's value.

The minimum threshold had its whole box, and the coordinate of the maximum threshold ran from the
minimum threshold plus the gap to its own upper end. Kept here to be compared with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.search import Space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.search import Dimension, Point


class CountedFromBelow(Space):
    """A box in which the lower of an ordered pair goes first.

    Args:
        space: the box. It must order no more than two parameters after each other, and whole
            numbers by whole gaps.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space.dimensions)
        self._lower_first = sorted(self.dimensions, key=lambda each: each.above is not None)

    def values(self, point: Point) -> dict[str, float]:
        """The parameter values of a point."""
        known: dict[str, float] = {}
        coordinates = dict(zip(self.names, point, strict=True))
        for dimension in self._lower_first:
            known[dimension.name] = _above(dimension, known).value(coordinates[dimension.name])
        return {name: known[name] for name in self.names}

    def point(self, values: Mapping[str, float]) -> Point:
        """The point of these values."""
        known: dict[str, float] = {}
        coordinates: dict[str, float] = {}
        for dimension in self._lower_first:
            raised = _above(dimension, known)
            coordinates[dimension.name] = raised.coordinate(values[dimension.name])
            known[dimension.name] = raised.value(coordinates[dimension.name])
        return tuple(coordinates[name] for name in self.names)


def _above(dimension: Dimension, known: Mapping[str, float]) -> Dimension:
    """The dimension with its lower end raised above the value that it must stay above."""
    if dimension.above is None:
        return dimension
    lower = max(dimension.lower, known[dimension.above] + dimension.gap)
    # A box of no width is none: where there is no room left, its value is its upper end.
    return replace(dimension, lower=min(lower, dimension.upper - 1e-9 * dimension.upper))
