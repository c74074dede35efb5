"""How far inside its bounds a search has to aim for the comparison to prove them.

The best setting often lies on a constraint. There the mean over a few seeds keeps the bound, and
the interval over fresh ones straddles it, so that nothing could be recommended. Therefore the
search keeps a distance: half of what the comparison's interval will be wide, as far as is known
from how much the margins of the settings tried so far differ between seeds. (A chance constraint:
the bound is to hold with 97.5 %, one side of the 95 % interval. A. Charnes and W. W. Cooper,
"Chance-constrained programming", Management Science 6(1), 1959.)

Settings differ in their noise, and those that fail are the noisiest. The median over settings is
that of an ordinary one.
"""

from __future__ import annotations

import math
from bisect import insort
from typing import TYPE_CHECKING, Final

from vermilion.simulate.statistics import t_quantile
from vermilion.tuning.judge.verdict import paired_margins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Constraint
    from vermilion.tuning.judge.verdict import Allowances
    from vermilion.tuning.measure.evaluation import Evaluation

_FEWEST: Final = 8
"""Settings that have to be known before anything is made of them."""

_CONFIDENCE: Final = 0.95


class MarginNoise:
    """What seeds make of the constraints' margins.

    Args:
        constraints: of the tuning.
        seeds: of the comparison that has to prove them.
        fraction: of the comparison's measured time that the settings are simulated for; what is
            measured for a quarter of the time differs twice as much.
    """

    def __init__(
        self, constraints: Sequence[Constraint], seeds: int, fraction: float = 1.0
    ) -> None:
        self._constraints = constraints
        self._factor = math.sqrt(fraction) * half_width_per_deviation(seeds)
        # For each constraint and phase the deviations of the settings' margins, rising.
        self._deviations: list[list[list[float]]] = [[] for _ in constraints]

    def learn(self, evaluation: Evaluation, reference: Evaluation) -> None:
        """Takes in a setting that has met several seeds."""
        if len(evaluation.seeds) < 2:  # noqa: PLR2004 - a deviation needs two
            return
        margins = paired_margins(self._constraints, evaluation, reference)
        for known, phases in zip(self._deviations, margins, strict=True):
            if not known:
                known.extend([] for _ in phases)
            for deviations, (row, _) in zip(known, phases, strict=True):
                finite = [value for value in row if value is not None and math.isfinite(value)]
                if len(finite) == len(row):
                    insort(deviations, _deviation(finite))

    def allowances(self, times: float = 1.0) -> Allowances:
        """The distances to be kept, in each constraint's unit; ``None`` where none is known.

        Args:
            times: so many times what one interval needs.
        """
        return [
            [
                0.0
                if constraint.of_harm or len(each) < _FEWEST
                else times * self._factor * each[len(each) // 2]
                for each in phases
            ]
            if phases
            else None
            for constraint, phases in zip(self._constraints, self._deviations, strict=True)
        ]


def half_width_per_deviation(seeds: int) -> float:
    """Half the width of the interval over so many seeds, for a standard deviation of 1."""
    return t_quantile(_CONFIDENCE, seeds - 1) / math.sqrt(seeds)


def _deviation(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - 1))
