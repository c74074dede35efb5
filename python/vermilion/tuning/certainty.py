"""Simultaneous claims of a check of many conditions: kept, broken, or unproven.

A check looks at each bound in each phase under each condition: at a hundred numbers or more. Each
is a mean over a few seeds. Were the mean to decide, or an interval of 95 % for each, some bound
would look broken in every second check where nothing has changed. So two claims are proven, each in
its own way:

- *Broken* is claimed of one number among many. All such claims of a check together may be false
  with a probability of :data:`FALSE_CLAIMS`: half of it is shared equally by all bounds, phases and
  conditions, the other half by the objective under all conditions (C. E. Bonferroni 1936).
- *Kept* is claimed of a condition only where every bound there is shown to be kept, each with an
  error of at most :data:`FALSE_CLAIMS`. No correction for their number is needed, because all of
  these tests have to be passed (intersection-union test, R. L. Berger 1982).
- What is neither is *unproven*: it may be broken, and more seeds could tell.

Where something is unproven, a check adds seeds and looks again. Each look is one more chance to be
wrong. So every look has a share of both errors, in proportion to the seeds that it has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vermilion.simulate.statistics import Interval, mean_interval, t_quantile
from vermilion.tuning.verdict import (
    USUAL_CONFIDENCE,
    WORST_FIRST,
    ConstraintVerdict,
    judge_phase,
    paired_margins,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Constraint
    from vermilion.tuning.evaluation import Evaluation

FALSE_CLAIMS: Final = 0.05
"""The probability that anything that a check calls worse is not; and that a bound which it calls
kept is not."""

MOST_NEEDED: Final = 1000
"""Seeds; where more would be needed nobody is told to take them."""


@dataclass(frozen=True, slots=True)
class Certainty:
    """Number of claims among which a check's errors are shared.

    Attributes:
        bounds: that it looks at, in all phases and under all conditions.
        conditions: under which it compares objectives.
        looks: how many seeds there are at each look that there may be.
    """

    bounds: int
    conditions: int
    looks: tuple[int, ...]

    def at(self, seeds: int) -> Confidences:
        """Confidences of the claims at a look with so many seeds."""
        errors = FALSE_CLAIMS * seeds / max(seeds, sum(self.looks))
        return Confidences(
            1.0 - errors / max(1, self.bounds),
            1.0 - errors / max(1, self.conditions),
            1.0 - 2.0 * errors,
        )


@dataclass(frozen=True, slots=True)
class Confidences:
    """Confidences of two-sided intervals, of which one side counts.

    Attributes:
        of_broken: a bound is called broken by it. The claims of one check share half of all errors:
            the other half of each interval's lies on the side that does not count.
        of_loss: an objective is called worse by it; likewise.
        of_kept: a bound is called kept by it.
    """

    of_broken: float
    of_loss: float
    of_kept: float

    def is_worse(self, differences: Sequence[float]) -> bool:
        """True if the mean of differences is above 0 beyond the doubts of a whole check."""
        low = mean_interval(differences, self.of_loss).low
        return low is not None and low > 0.0


@dataclass(frozen=True, slots=True)
class BoundRuling:
    """Ruling on one constraint under one condition, in the phase where it is worst.

    Attributes:
        verdict: with intervals of 95 %, and ``holds`` by the rules of this module.
        seeds: that have decided, or could not.
        needed: about how many could tell; ``None`` where nothing is open, or more than
            :data:`MOST_NEEDED` are.
        standing: how many standard errors the bound is kept by; negative: broken.
    """

    verdict: ConstraintVerdict
    seeds: int
    needed: int | None = None
    standing: float = math.inf

    @property
    def told_by(self) -> str:
        """Describe it, like "20 seeds cannot tell, about 60 could"."""
        more = "more than a thousand" if self.needed is None else f"about {self.needed}"
        return f"{self.seeds} seeds cannot tell, {more} could"


def count_bounds(constraints: Sequence[Constraint], best: Evaluation, incumbent: Evaluation) -> int:
    """Number of bounds under one condition, each phase counted."""
    return sum(
        any(margin is not None and math.isfinite(margin) for margin in margins)
        for phases in paired_margins(constraints, best, incumbent)
        for margins, _ in phases
    )


def rule(
    constraints: Sequence[Constraint],
    evaluation: Evaluation,
    reference: Evaluation,
    confidences: Confidences,
) -> tuple[BoundRuling, ...]:
    """Rule on a setting under one condition, constraint by constraint.

    Args:
        constraints: those that ``evaluation`` was made with.
        evaluation: of the setting.
        reference: of what is in force, with the same seeds.
        confidences: that claims are made by.
    """
    found = []
    margins = paired_margins(constraints, evaluation, reference)
    for number, constraint in enumerate(constraints):
        values = zip(*evaluation.constrained[number], strict=True)
        several = len(margins[number]) > 1
        rulings = [
            _phase_ruling(constraint, phase if several else 0, row, *pair, confidences)
            for phase, (row, pair) in enumerate(zip(values, margins[number], strict=True), start=1)
        ]
        nothing = ConstraintVerdict(
            constraint.text, "met", None, None, 0, 0.0, 0.0, constraint.of_harm
        )
        found.append(min(rulings, key=_severity, default=BoundRuling(nothing, 0)))
    return tuple(found)


def _severity(ruling: BoundRuling) -> tuple[int, float]:
    """Sort key: the smaller, the worse."""
    return WORST_FIRST.index(ruling.verdict.holds), ruling.standing


def _phase_ruling(
    constraint: Constraint,
    phase: int,
    values: Sequence[float | None],
    margins: Sequence[float | None],
    bounds: Sequence[float | None],
    confidences: Confidences,
) -> BoundRuling:
    """The ruling in one phase."""
    _, shown = judge_phase(
        constraint, phase, values, margins, bounds, USUAL_CONFIDENCE, by_mean=False
    )
    finite = [each for each in margins if each is not None and math.isfinite(each)]
    if shown.value is None or not finite:
        return BoundRuling(shown, len(finite))
    broken, kept = (
        mean_interval(finite, each) for each in (confidences.of_broken, confidences.of_kept)
    )
    standing = _z_score(kept, confidences.of_kept)
    if broken.high is not None and broken.high < 0.0:
        return BoundRuling(replace(shown, holds="broken"), len(finite), None, standing)
    if kept.low is not None and kept.low >= 0.0:
        return BoundRuling(replace(shown, holds="met"), len(finite), None, standing)
    confidence = confidences.of_kept if kept.mean >= 0.0 else confidences.of_broken
    needed = _seeds_needed(standing, len(finite), confidence)
    return BoundRuling(replace(shown, holds="unproven"), len(finite), needed, standing)


def _z_score(distance: Interval, confidence: float) -> float:
    """A mean in its standard errors."""
    if distance.half_width is None:
        return 0.0
    error = distance.half_width / t_quantile(confidence, distance.count - 1)
    return distance.mean / error if error else math.copysign(math.inf, distance.mean)


def _seeds_needed(standing: float, seeds: int, confidence: float) -> int | None:
    """Number of seeds that could tell a mean from 0 that lies so many standard errors from it.

    Args:
        standing: with the seeds that there are.
        seeds: their number.
        confidence: of the interval that has to exclude 0.
    """

    def tells(count: int) -> bool:
        return abs(standing) * math.sqrt(count / seeds) > t_quantile(confidence, count - 1)

    if seeds < 2 or not tells(MOST_NEEDED):  # noqa: PLR2004 - an interval needs two
        return None
    low, high = seeds, MOST_NEEDED
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tells(middle) else (middle, high)
    return high
