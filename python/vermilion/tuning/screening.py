"""Screening: settings that one seed shows to be hopeless meet no further seeds.

Every setting meets the first of the common seeds. With it, its objective is compared with that of
the best setting so far, which met the same traffic. How far such a difference on one seed lies
from the difference on all seeds is known from the latest settings that met all of them; that
includes the luck of the best with the first seed. A setting is given up only if it lies further
above the best than twice that (as a root mean square). It is told to the search as if its other
seeds were like its first, always as worse than the best, so the search loses only what it would
not have looked at again.

Differences are relative to the sum of the two sizes, so that one measure serves the coarse
beginning of a search and its end. Where values lie on both sides of 0, sizes say nothing: of two
settings with different signs each is as far from the other as can be. There a setting has to be
hopeless by the differences themselves as well. For an objective in which what is wanted and what is
not cancel, these alone count.

While no setting keeps the constraints, none is given up: the objective of those that break them
says nothing about what keeping them costs.

Settings are judged in the order of asking, each by those before it, whatever has been simulated
ahead: what a search finds does not depend on how many simulations run at a time.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final

from vermilion.objectives.constraint import BROKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.tuning.evaluation import Evaluation

_FEWEST: Final = 6
"""Settings that meet all seeds before any is given up."""

_MEMORY: Final = 30
"""Settings by which it is known; only the latest, because it changes on the way down."""

_MARGIN: Final = 2.0


class Screening:
    """The memory of a search about how well one seed predicts all of them.

    Args:
        crosses_zero: whether 0 is a value like any other; else the values tell.
    """

    def __init__(self, *, crosses_zero: bool = False) -> None:
        # What each came to with the first seed, and with all of them.
        self._met_all: deque[tuple[float, float]] = deque(maxlen=_MEMORY)
        self._best: tuple[float, float] | None = None
        self._best_value = math.inf
        # Of the differences from the best, as a root mean square, relative to the sizes and as they
        # are; ``None`` where too few are known.
        self._typical_miss: tuple[float, float] | None = None
        self._crosses_zero = crosses_zero
        self._lowest, self._highest = math.inf, -math.inf

    def is_hopeless(self, evaluation: Evaluation) -> bool:
        """True if the first seed alone shows that a setting is not worth the others."""
        if self._best is None or self._typical_miss is None or not evaluation.objectives:
            return False
        first, (best, _) = evaluation.first_objective, self._best
        relative, absolute = self._typical_miss
        if self._changes_sign(first) and first - best <= _MARGIN * absolute:
            return False
        return self._crosses_zero or _relative(first, best) > _MARGIN * relative

    def expected(self, evaluation: Evaluation) -> float:
        """The objective that a hopeless setting would have if all seeds were like the first."""
        if self._best is None:
            return evaluation.objective
        first = evaluation.first_objective
        best_first, best = self._best
        if self._changes_sign(first):
            return best + max(0.0, first - best_first)
        distance = max(0.0, _relative(first, best_first))
        return best + distance * (abs(first) + abs(best))

    def learn(self, value: float, evaluation: Evaluation) -> None:
        """Takes in a setting that met all seeds, with the value that the search was told."""
        if evaluation.refusal is not None or not math.isfinite(evaluation.objective):
            return
        met = evaluation.first_objective, evaluation.objective
        self._met_all.append(met)
        self._lowest, self._highest = min(self._lowest, *met), max(self._highest, *met)
        if value < self._best_value:
            self._best, self._best_value = met, value
        self._typical_miss = self._typical_error()

    def _changes_sign(self, value: float) -> bool:
        """True if 0 lies between a value and one that was met before."""
        return self._crosses_zero or min(self._lowest, value) < 0.0 < max(self._highest, value)

    def _typical_error(self) -> tuple[float, float] | None:
        """Typical error of the first seed in a setting's distance from the best."""
        best = self._best
        if best is None or self._best_value >= BROKEN:
            return None
        others = [each for each in self._met_all if each is not best]
        if len(others) < _FEWEST:
            return None
        relative = [_relative(met[1], best[1]) - _relative(met[0], best[0]) for met in others]
        return _root_mean_square(relative), _root_mean_square(
            [(met[1] - best[1]) - (met[0] - best[0]) for met in others]
        )


def _root_mean_square(misses: Sequence[float]) -> float:
    """Root mean square."""
    return math.sqrt(math.fsum(miss * miss for miss in misses) / len(misses))


def _relative(one: float, other: float) -> float:
    """Difference relative to the sum of the sizes: -1 to 1."""
    size = abs(one) + abs(other)
    return (one - other) / size if size else 0.0
