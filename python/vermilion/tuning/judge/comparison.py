"""The best setting found against the one in force, on seeds that neither has seen.

A search returns the luckiest of hundreds of settings; only fresh seeds tell merit from luck.
Both settings meet the same seeds, so their differences are paired. What decides is in
:mod:`vermilion.tuning.judge.decision`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.simulate.statistics import (
    Interval,
    RatioInterval,
    mean_interval,
    ratio_of_means_interval,
)
from vermilion.tuning.judge.decision import SettingDecision, decide
from vermilion.tuning.judge.verdict import (
    USUAL_CONFIDENCE,
    ConstraintVerdict,
    at_confidence,
    judge,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.tuning.measure.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class Comparison:
    """What fresh seeds say about two settings.

    All intervals are t intervals over the seeds, that of the improvement Fieller's.

    Attributes:
        best: the objective of the best setting found, with its 95 % interval.
        incumbent: the objective of the setting in force, likewise.
        difference: best - incumbent, seed by seed; negative where the best is better, unless
            the objective is to be maximised. Its interval is the one that decided.
        improvement: what the best gains, as a fraction of the incumbent's objective: 0.2 is a
            fifth less, or more where it is to be maximised. ``None`` where it cannot be computed.
        best_verdicts: on each constraint, for the best setting found.
        incumbent_verdicts: the same for the setting in force.
        accepted: whether the best setting should replace the one in force.
        reason: why, in one sentence.
        decision: the rule's own words.
        least_gain: what had to be gained on average, in the objective's unit.
        confidence: of the intervals that decided: those of the difference, of the improvement and
            of the verdicts.
        among: of so many settings the best was chosen by these very seeds: its figures flatter it
            a little where these are more than one.
    """

    best: Interval
    incumbent: Interval
    difference: Interval
    improvement: RatioInterval | None
    best_verdicts: tuple[ConstraintVerdict, ...]
    incumbent_verdicts: tuple[ConstraintVerdict, ...]
    accepted: bool
    reason: str
    decision: SettingDecision
    least_gain: float = 0.0
    confidence: float = USUAL_CONFIDENCE
    among: int = 1

    def chosen_among(self, count: int) -> Comparison:
        """The same, of the best of so many settings on these seeds."""
        said = f"{self.reason}; the best of {count} on these seeds"
        return replace(self, among=count, reason=said)


def compare(
    objective: Objective,
    constraints: Sequence[Constraint],
    best: Evaluation,
    incumbent: Evaluation,
    required_improvement: float = 0.0,
    *,
    least_gain: float = 0.0,
    confidence: float = USUAL_CONFIDENCE,
) -> Comparison:
    """Decides between two settings that were simulated with the same fresh seeds.

    Args:
        objective: of both evaluations.
        constraints: those that both evaluations were made with.
        best: of the best setting found.
        incumbent: of the setting in force.
        required_improvement: the fraction of the incumbent's objective that must be gained,
            beyond doubt, for a change to be worth its while.
        least_gain: what must be gained in any case, in the objective's unit, if only on average.
        confidence: of the intervals that decide. They are also the ones that are reported, so that
            the numbers never contradict the decision.
    """
    pairs = list(zip(best.objectives, incumbent.objectives, strict=True))
    difference = mean_interval((new - old for new, old in pairs), confidence)
    best_verdicts = judge(constraints, best, incumbent, confidence)
    incumbent_verdicts = judge(constraints, incumbent, incumbent, confidence)
    best_interval = mean_interval(best.objectives)
    incumbent_interval = mean_interval(incumbent.objectives)
    # The required gain is uncertain too, for it is a fraction of what the incumbent reaches.
    wanted = math.copysign(required_improvement, incumbent_interval.mean)
    # Where the incumbent's value is less than its size, the fraction is of a number that is known.
    missing = objective.size_of(incumbent_interval.mean) - abs(incumbent_interval.mean)
    decision = decide(
        difference,
        best_verdicts,
        incumbent_verdicts,
        least_gain=least_gain,
        unit=objective.unit,
        short_of=mean_interval(
            (new - old + wanted * old + required_improvement * missing for new, old in pairs),
            confidence,
        )
        if required_improvement
        else None,
        required=required_improvement,
    )
    improvement = _improvement(pairs, incumbent_interval.mean, confidence)
    if objective.maximised:
        difference, best_interval, incumbent_interval = (
            replace(interval, mean=-interval.mean)
            for interval in (difference, best_interval, incumbent_interval)
        )
    change = f"{objective.label} {best_interval.mean:.4g} instead of {incumbent_interval.mean:.4g}"
    if difference.half_width is not None:
        change += (
            f" (difference {difference.mean:+.3g} +- {difference.half_width:.2g}"
            f"{at_confidence(confidence)}, {difference.count} fresh seeds)"
        )
    met = ", and every constraint is met" if decision.accepted and constraints else ""
    return Comparison(
        best_interval,
        incumbent_interval,
        difference,
        improvement,
        best_verdicts,
        incumbent_verdicts,
        decision.accepted,
        f"{decision.reason}{met}: {change}",
        decision,
        least_gain,
        confidence,
    )


def _improvement(
    pairs: Sequence[tuple[float, float]], incumbent: float, confidence: float
) -> RatioInterval | None:
    """What is gained, as a fraction of the incumbent's objective."""
    ratio = ratio_of_means_interval(pairs, confidence)
    if ratio is None:
        return None
    # Values are to be minimised; those of an objective to be maximised are negative ones.
    ends = [ratio.low, ratio.high]
    if incumbent > 0.0:
        low, high = (None if end is None else 1.0 - end for end in reversed(ends))
        return RatioInterval(1.0 - ratio.mean, low, high, ratio.count)
    low, high = (None if end is None else end - 1.0 for end in ends)
    return RatioInterval(ratio.mean - 1.0, low, high, ratio.count)
