"""Whether a new setting is worth applying.

Both settings, the one in force and the candidate, are simulated on the same fresh seeds,
which the search has not seen: a search returns the luckiest of hundreds of candidates, and
only fresh seeds tell luck from merit. The candidate wins if it breaks no constraint that
the incumbent keeps, the interval of its advantage excludes zero, and the advantage is large
enough to be worth a change (hysteresis). The incumbent wins a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.simulate.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.goal import HeldQueue
    from vermilion.online.prediction import Prediction

HYSTERESIS = 0.10
"""Share of the incumbent's cost by which a candidate must be better."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison of a candidate with the setting in force.

    Attributes:
        apply: whether to apply the candidate.
        reason: why, in words and numbers.
        advantage: the incumbent's cost less the candidate's, packets squared, over seeds.
    """

    apply: bool
    reason: str
    advantage: Interval


def judge(
    candidate: Prediction,
    incumbent: Prediction,
    goal: HeldQueue,
    newly_broken: Sequence[str] = (),
) -> Verdict:
    """Compare a candidate with the incumbent, both predicted on the same fresh seeds.

    Args:
        candidate: the setting found.
        incumbent: the setting in force.
        goal: what is minimised.
        newly_broken: the constraints that the candidate surely breaks and the incumbent
            does not, a sentence each.
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
    if newly_broken:
        reason = f"it would break a constraint: {newly_broken[0]}"
        return Verdict(apply=False, reason=reason, advantage=advantage)
    if advantage.low is None or advantage.low <= 0.0:
        return Verdict(apply=False, reason=f"not significant: {comparison}", advantage=advantage)
    if advantage.mean < HYSTERESIS * old_cost:
        reason = f"too little to change for: {comparison}"
        return Verdict(apply=False, reason=reason, advantage=advantage)
    return Verdict(apply=True, reason=comparison, advantage=advantage)
