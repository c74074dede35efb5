"""Constraints relative to a setting that is not simulated beside the one which they judge.

"0.95 of reference" means: of what the setting in force reaches. A search compares its candidates
with the incumbent of its own scenario; where that is another discipline's, the reference has to be
brought along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from vermilion.objectives import Constraint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate import Result


@dataclass(frozen=True, slots=True)
class ConstraintOnKnown(Constraint):
    """A constraint whose reference is known already, whatever it is compared with.

    Attributes:
        known: the reference's value in each phase, its mean over the seeds; ``None`` where it
            was not measured.
    """

    known: tuple[float | None, ...] = ()

    def bounds(
        self,
        values: Sequence[float | None],
        reference: Sequence[float | None] | None = None,  # noqa: ARG002 - another one is known
    ) -> list[float | None]:
        """The bound in each phase, in the metric's unit."""
        return Constraint.bounds(self, values, self.known)


def on_known(constraint: Constraint, reference: Sequence[Result]) -> Constraint:
    """The constraint with these results as its reference.

    Args:
        constraint: an absolute one stays as it is.
        reference: simulations of the setting in force, at least one.
    """
    if not constraint.of_reference:
        return constraint
    rows = [constraint.values(result) for result in reference]
    known = tuple(_mean(column) for column in zip(*rows, strict=True))
    given = {each.name: getattr(constraint, each.name) for each in fields(constraint)}
    return ConstraintOnKnown(**given, known=known)


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return math.fsum(present) / len(present) if len(present) == len(values) else None
