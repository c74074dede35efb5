"""Whether a new setting is worth applying: the rule of every tuning, in the loop's own numbers.

Both settings, the one in force and the candidate, are simulated on the same fresh seeds,
which the search has not seen: a search returns the luckiest of hundreds of candidates, and
only fresh seeds tell luck from merit. What decides is :mod:`vermilion.tuning.decision`: no broken
constraint and no harm, a difference that is not chance, and a gain that is worth a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.decision import decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.model.prediction import Prediction
    from vermilion.online.plan.goal import HeldQueue
    from vermilion.tuning.decision import Judgement
    from vermilion.tuning.verdict import ConstraintVerdict

MINIMUM_IMPROVEMENT = 0.05
"""Share of the incumbent's cost by which a candidate must be better."""

LEAST_GAIN = 1.0
"""What it must be better by in any case, packets squared."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison of a candidate with the setting in force.

    Attributes:
        apply: whether to apply the candidate.
        reason: why, in words and numbers.
        advantage: the incumbent's cost less the candidate's, packets squared, over seeds.
        judgement: of the candidate: better, no difference, or worse.
    """

    apply: bool
    reason: str
    advantage: Interval
    judgement: Judgement


def judge(
    candidate: Prediction,
    incumbent: Prediction,
    goal: HeldQueue,
    candidate_verdicts: Sequence[ConstraintVerdict] = (),
    incumbent_verdicts: Sequence[ConstraintVerdict] = (),
) -> Verdict:
    """Compare a candidate with the incumbent, both predicted on the same fresh seeds.

    Args:
        candidate: the setting found.
        incumbent: the setting in force.
        goal: what is minimised.
        candidate_verdicts: whether the candidate keeps the constraints and does no harm.
        incumbent_verdicts: the same of the setting in force.
    """
    costs = [
        (goal.cost(new.mean, new.sd), goal.cost(old.mean, old.sd))
        for new, old in zip(candidate.outcomes, incumbent.outcomes, strict=True)
    ]
    advantage = mean_interval([old - new for new, old in costs])
    old_cost = sum(old for _, old in costs) / len(costs)
    new_cost = sum(new for new, _ in costs) / len(costs)
    half_width = "unknown" if advantage.half_width is None else f"{advantage.half_width:.1f}"
    comparison = (
        f"in the model cost {new_cost:.1f} instead of {old_cost:.1f} (better by "
        f"{advantage.mean:.1f} +- {half_width} on {advantage.count} fresh seeds), "
        f"mean queue {candidate.mean.mean:.1f} instead of {incumbent.mean.mean:.1f} packets"
    )
    decision = decide(
        mean_interval([new - old for new, old in costs]),
        candidate_verdicts,
        incumbent_verdicts,
        least_gain=max(LEAST_GAIN, MINIMUM_IMPROVEMENT * old_cost),
        unit=goal.unit,
    )
    return Verdict(
        decision.accepted, f"{decision.why}: {comparison}", advantage, decision.judgement
    )
