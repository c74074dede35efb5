"""A bound of the operator's that the network breaks, surely or as it seems: words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.objectives.metric_words import metric_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vermilion.objectives import Constraint
    from vermilion.online.sense.stretch import Stretch
    from vermilion.simulate.statistics import Interval


@dataclass(frozen=True, slots=True)
class BrokenBound:
    """A bound, and what was measured of it.

    Attributes:
        constraint: the bound.
        limit: as a number, in the metric's unit; ``None`` where what it refers to is not known.
        measured: what breaks it, or seems to.
    """

    constraint: Constraint
    limit: float | None
    measured: Interval

    @property
    def bound(self) -> str:
        """The bound as it was written."""
        return self.constraint.text

    def in_words(self, *, with_half_width: bool = False) -> str:
        """Like "links.a.drop_rate <= 10 % (measured 12.3 %)"."""
        half_width = self.measured.half_width if with_half_width else None
        seen = metric_in_words(self.constraint.path, self.measured.mean, half_width)
        return f"{self.bound} (measured {seen})"

    def details(self) -> dict[str, object]:
        """The numbers, in the metric's own unit, for the journal."""
        return {
            "bound": self.bound,
            "bound_limit": self.limit,
            "bound_measured": self.measured.mean,
            "bound_measured_half_width": self.measured.half_width,
        }


def first_broken(
    stretch: Stretch,
    reference: Stretch | None,
    bounds: Sequence[Constraint],
    first_beside_reference: Mapping[str, float] | None = None,
) -> BrokenBound | None:
    """The first of :func:`all_broken`; ``None`` where there is none."""
    return next(all_broken(stretch, reference, bounds, first_beside_reference), None)


def all_broken(
    stretch: Stretch,
    reference: Stretch | None,
    bounds: Sequence[Constraint],
    first_beside_reference: Mapping[str, float] | None = None,
) -> Iterator[BrokenBound]:
    """The bounds that are surely broken in a stretch, in their order.

    Args:
        stretch: what was measured.
        reference: measured under the setting before; without it relative bounds ask nothing.
        bounds: constraints and bounds of harm.
        first_beside_reference: what a metric would be more under the setting that stood when the
            controller began, by its path. A bound of harm refers to that setting.
    """
    first = first_beside_reference or {}
    for bound in bounds:
        measured = stretch.bounded(bound)
        limit = _limit_of(bound, reference, first.get(str(bound.path), 0.0))
        if measured is None or limit is None or measured.low is None or measured.high is None:
            continue
        sure = measured.high < limit if bound.at_least else measured.low > limit
        if sure:
            yield BrokenBound(bound, limit, measured)


def _limit_of(bound: Constraint, reference: Stretch | None, first_beside: float) -> float | None:
    """The bound as a number; of a reference, the end of its interval that is easier to keep.

    A bound of harm is never harder to keep than what was measured under the setting before: to go
    back to that one would mend nothing. ``None`` where a bound refers to what was not measured.
    """
    if not bound.of_reference:
        return bound.bound
    measured = None if reference is None else reference.bounded(bound)
    if measured is None or measured.low is None or measured.high is None:
        return None
    before = measured.low if bound.at_least else measured.high
    if not bound.of_harm:
        return bound.bound * before + bound.offset
    limit = bound.bound * (before + first_beside) + bound.offset
    return min(limit, before) if bound.at_least else max(limit, before)
