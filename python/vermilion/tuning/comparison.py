"""The best setting found against the one in force, on seeds that neither has seen.

A search returns the luckiest of hundreds of settings; only fresh seeds tell merit from luck.
Both settings meet the same seeds, so their differences are paired, and the incumbent wins a
tie: changing a network costs something, and what is in force is known to work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.verdict import ConstraintVerdict, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.tuning.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class Comparison:
    """What fresh seeds say about two settings.

    All intervals are 95 % t intervals over the seeds.

    Attributes:
        best: the objective of the best setting found.
        incumbent: the objective of the setting in force.
        difference: best - incumbent, seed by seed; negative where the best is better, unless
            the objective is to be maximised.
        best_verdicts: on each constraint, for the best setting found.
        incumbent_verdicts: the same for the setting in force.
        accepted: whether the best setting should replace the one in force.
        reason: why, in one sentence.
    """

    best: Interval
    incumbent: Interval
    difference: Interval
    best_verdicts: tuple[ConstraintVerdict, ...]
    incumbent_verdicts: tuple[ConstraintVerdict, ...]
    accepted: bool
    reason: str


def compare(
    objective: Objective,
    constraints: Sequence[Constraint],
    best: Evaluation,
    incumbent: Evaluation,
    required_improvement: float = 0.0,
) -> Comparison:
    """Decides between two settings that were simulated with the same fresh seeds.

    Args:
        objective: of both evaluations.
        constraints: those that both evaluations were made with.
        best: of the best setting found.
        incumbent: of the setting in force.
        required_improvement: the fraction of the incumbent's objective that must be gained,
            beyond doubt, for a change to be worth its while.
    """
    pairs = zip(best.objectives, incumbent.objectives, strict=True)
    difference = mean_interval(new - old for new, old in pairs)
    best_interval = mean_interval(best.objectives)
    incumbent_interval = mean_interval(incumbent.objectives)
    best_verdicts = judge(constraints, best, incumbent)
    incumbent_verdicts = judge(constraints, incumbent, incumbent)
    accepted, reason = _by_constraints(best_verdicts, incumbent_verdicts) or _by_objective(
        difference, required_improvement * abs(incumbent_interval.mean)
    )
    if objective.maximised:
        difference, best_interval, incumbent_interval = (
            replace(interval, mean=-interval.mean)
            for interval in (difference, best_interval, incumbent_interval)
        )
    change = f"{objective.label} {best_interval.mean:.4g} instead of {incumbent_interval.mean:.4g}"
    if difference.half_width is not None:
        change += (
            f" (difference {difference.mean:+.3g} +- {difference.half_width:.2g}, "
            f"{difference.count} fresh seeds)"
        )
    met = ", and every constraint is met" if accepted and constraints else ""
    return Comparison(
        best_interval,
        incumbent_interval,
        difference,
        best_verdicts,
        incumbent_verdicts,
        accepted,
        f"{reason}{met}: {change}",
    )


def _by_constraints(
    best: Sequence[ConstraintVerdict], incumbent: Sequence[ConstraintVerdict]
) -> tuple[bool, str] | None:
    """The decision and why, where the constraints alone decide."""
    missed = [verdict for verdict in best if verdict.holds != "met"]
    if missed:
        return False, f"refused, because {missed[0]}; otherwise"
    broken = [verdict for verdict in incumbent if verdict.holds == "broken"]
    if broken:
        return True, f"the incumbent breaks a constraint ({broken[0]})"
    return None


def _by_objective(difference: Interval, required: float) -> tuple[bool, str]:
    """The decision and why, where the constraints leave it to the objective."""
    low, high = difference.low, difference.high
    if low is None or high is None:
        return False, "kept the incumbent, because a single seed says nothing about chance"
    if high < -required:
        return True, "significantly better"
    if high < 0.0:
        return False, (
            "kept the incumbent, because what was found is better, but not surely "
            f"by the {required:.3g} required"
        )
    if low > 0.0:
        return False, "kept the incumbent, because nothing better was found"
    return False, "kept the incumbent, because the difference may be chance"
