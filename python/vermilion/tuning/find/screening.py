"""Which settings of a search deserve all its seeds: not those that one seed shows to be hopeless.

Every setting meets the first of the common seeds. With it, its objective is compared with that of
the best setting so far, which met the same traffic. How far such a difference on one seed lies
from the difference on all seeds is known from the latest settings that met all of them; that
includes the luck of the best with the first seed. A setting is given up only if it lies further
above the best than twice that (as a root mean square). It is told to the search as if its other
seeds were like its first, always as worse than the best, so the search loses only what it would
not have looked at again.

Differences are relative to the sum of the two sizes, so that one measure serves the coarse
beginning of a search and its end, and objectives of any sign.

While no setting keeps the constraints, none is given up: the objective of those that break them
says nothing about what keeping them costs.

Settings are judged in the order of asking, each by those before it, whatever has been simulated
ahead: what a search finds does not depend on how many simulations run at a time.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final

from vermilion.objectives.feasible_first import BROKEN

if TYPE_CHECKING:
    from vermilion.tuning.measure.evaluation import Evaluation

_FEWEST: Final = 6
"""Settings that meet all seeds before any is given up."""

_MEMORY: Final = 30
"""Settings by which it is known; only the latest, because it changes on the way down."""

_MARGIN: Final = 2.0


class Screening:
    """The memory of a search about how well one seed predicts all of them."""

    def __init__(self) -> None:
        # What each came to with the first seed, and with all of them.
        self._met_all: deque[tuple[float, float]] = deque(maxlen=_MEMORY)
        self._best: tuple[float, float] | None = None
        self._best_value = math.inf
        # Of the differences from the best, as a root mean square; ``None`` where too few are known.
        self._typical_miss: float | None = None

    def is_hopeless(self, evaluation: Evaluation) -> bool:
        """Whether the first seed alone shows that a setting is not worth the others."""
        if self._best is None or self._typical_miss is None or not evaluation.objectives:
            return False
        distance = _distance(evaluation.first_objective, self._best[0])
        return distance > _MARGIN * self._typical_miss

    def expected(self, evaluation: Evaluation) -> float:
        """The objective that a hopeless setting would have if all seeds were like the first."""
        if self._best is None:
            return evaluation.objective
        first = evaluation.first_objective
        best_first, best = self._best
        distance = max(0.0, _distance(first, best_first))
        return best + distance * (abs(first) + abs(best))

    def learn(self, value: float, evaluation: Evaluation) -> None:
        """Takes in a setting that met all seeds, with the value that the search was told."""
        if evaluation.refusal is not None or not math.isfinite(evaluation.objective):
            return
        met = evaluation.first_objective, evaluation.objective
        self._met_all.append(met)
        if value < self._best_value:
            self._best, self._best_value = met, value
        self._typical_miss = self._miss()

    def _miss(self) -> float | None:
        """By how much the first seed misjudges a setting's distance from the best, typically."""
        best = self._best
        if best is None or self._best_value >= BROKEN:
            return None
        misses = [
            _distance(each[1], best[1]) - _distance(each[0], best[0])
            for each in self._met_all
            if each is not best
        ]
        if len(misses) < _FEWEST:
            return None
        return math.sqrt(math.fsum(miss * miss for miss in misses) / len(misses))


def _distance(one: float, other: float) -> float:
    """How far one lies above the other, relative to their sizes: -1 to 1."""
    size = abs(one) + abs(other)
    return (one - other) / size if size else 0.0
