"""Contest of a device's settings against the queue in force, on fresh seeds in all conditions.

The queue in force races too, so that nothing more is simulated once it is clearly the best. What is
clearly worse than another, or does harm with every seed, stops (:mod:`vermilion.tuning.race`).
Clearly worse is by more than what is noticeable, since a plainer setting is preferred to one that
is hardly better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vermilion.advise.harms import harms
from vermilion.advise.judgement import NOTICEABLE, points, total_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Laboratory, Measured

PART: Final = 0.9
"""Share of the margins that a recommendation may use up, so that other seeds find them kept."""

_FAR: Final = 2.0
"""Times the margin: harm that no further seeds excuse, where each one shows it."""


@dataclass(slots=True)
class SettingsOfDevice:
    """Contest of measured queues.

    Attributes:
        laboratory: where they are simulated.
        conditions: that they meet.
        length: of each run, from 0 to 1.
        now: the queue in force.
        seeds: that those still in the race have met.
    """

    laboratory: Laboratory
    conditions: Sequence[Condition]
    length: float
    now: Measured
    seeds: list[int] = field(default_factory=list)

    def meet(
        self,
        some: Sequence[Measured],
        seeds: Sequence[int],
        _progress: Callable[[int], object] | None,
    ) -> int:
        """Simulates some queues; that in force is always among them."""
        rows = {id(each): each for each in (self.now, *some)}
        queues = [each.queue for each in rows.values()]
        met, found = self.laboratory.measure_in_time(queues, self.conditions, seeds, self.length)
        for row, more in zip(rows.values(), found if met else (), strict=False):
            row.extend(more)
        self.seeds += met
        return len(met)

    def value(self, entrant: Measured) -> float:
        """Points in all; what does harm comes after all that does not."""
        if not self.is_feasible(entrant):
            return math.inf
        return total_points(self.laboratory.question, entrant)

    def differences(self, one: Measured, other: Measured) -> list[float]:
        """Points, seed by seed, beyond what nobody notices."""
        question = self.laboratory.question
        pairs = zip(points(question, one), points(question, other), strict=True)
        return [
            math.fsum(mine.values()) - math.fsum(its.values()) - NOTICEABLE for mine, its in pairs
        ]

    def is_feasible(self, entrant: Measured) -> bool:
        """True if it does no harm."""
        return not self._harmed(self.now.first(entrant.seeds), entrant, PART)

    def is_broken(self, entrant: Measured) -> bool:
        """True if it does the same harm with every seed, and on average far beyond the margin."""
        found = self._harmed(self.now.first(entrant.seeds), entrant, _FAR)
        for number in range(entrant.seeds if found else 0):
            found &= self._harmed(self.now.only(number), entrant.only(number), PART)
        return bool(found)

    def is_decided(self, left: Sequence[Measured]) -> bool:
        """True if only the queue in force is left."""
        return len(left) == 1 and left[0] is self.now

    def _harmed(self, now: Measured, entrant: Measured, part: float) -> set[tuple[str, str]]:
        """Conditions and metrics in which a queue harms somebody."""
        found = harms(self.laboratory.question, now, entrant, part)
        return {(each.condition.name, each.what) for each in found if not each.excusable}
