"""Points on the way from one setting to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vermilion.search import Point, Space
    from vermilion.tuning.measure.candidates import Setting

SHARES: Final = (0.25, 0.5, 0.75)
"""Of the way, where the points lie."""


def between(space: Space, one: Setting, other: Setting) -> list[Setting]:
    """Points on the way from one setting to another; none if one has automatic values.

    Args:
        space: in whose coordinates the way is straight.
        one: where it begins.
        other: where it ends.
    """
    ends = [
        {name: value for name, value in setting.items() if value is not None}
        for setting in (one, other)
    ]
    if any(len(end) < len(space) for end in ends):
        return []
    start, end = (space.point(each) for each in ends)
    return [space.values(_mixed(start, end, share)) for share in SHARES]


def _mixed(one: Point, other: Point, share: float) -> Point:
    """A point so far on the way from one to another."""
    return tuple((1.0 - share) * mine + share * its for mine, its in zip(one, other, strict=True))
