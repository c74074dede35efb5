"""Whether a new setting is worth applying: the rule of every tuning, in the loop's own numbers.

Both settings, the one in force and the candidate, are simulated on the same fresh seeds,
which the search has not seen: a search returns the luckiest of hundreds of candidates, and
only fresh seeds tell luck from merit. What decides is :mod:`vermilion.tuning.judge.decision`: no
broken constraint and no harm, a difference that is not chance, and a gain that is worth a change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vermilion.online.plan.push_charge import PushCharge
from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.judge.decision import decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Objective
    from vermilion.online.model.prediction import Prediction
    from vermilion.tuning.judge.decision import Judgement, SettingDecision
    from vermilion.tuning.judge.verdict import ConstraintVerdict

_SHOWN: Final = {"bit/s": (1e-6, "Mbit/s")}
"""Units that a log shows in another one, and what to multiply by."""

NO_CHARGE: Final = PushCharge()
"""Of a router that takes a parameter without a loss."""


@dataclass(frozen=True, slots=True)
class ChangeVerdict:
    """The comparison of a candidate with the setting in force.

    Attributes:
        apply: whether to apply the candidate.
        reason: why, in words and numbers.
        advantage: by how much the candidate is better, over seeds, in the objective's unit, less
            what it costs to put it in force; negative where it is worse, whichever way the
            objective goes.
        judgement: of the candidate: better, no difference, or worse.
        details: the numbers of the reason, for the journal.
    """

    apply: bool
    reason: str
    advantage: Interval
    judgement: Judgement
    details: dict[str, object] = field(default_factory=dict)


def judge(
    candidate: Prediction,
    incumbent: Prediction,
    goal: Objective,
    candidate_verdicts: Sequence[ConstraintVerdict] = (),
    incumbent_verdicts: Sequence[ConstraintVerdict] = (),
    charge: PushCharge = NO_CHARGE,
    models: int = 1,
    *,
    excused: Sequence[ConstraintVerdict] = (),
    beyond_aims: Sequence[ConstraintVerdict] = (),
) -> ChangeVerdict:
    """Compare a candidate with the incumbent, both predicted on the same fresh seeds.

    Args:
        candidate: the setting found.
        incumbent: the setting in force.
        goal: what is minimised or maximised.
        candidate_verdicts: whether the candidate keeps the constraints and does no harm.
        incumbent_verdicts: the same of the setting in force; harm that may be chance is no reason
            to change it for a setting that is worse.
        charge: what it costs to put the candidate in force.
        models: of how many models the predictions are the mean.
        excused: on the setting in force in models where a broken bound does not count against it.
        beyond_aims: on the setting in force by what the search aims at, well within each bound.
    """
    sign = -1.0 if goal.maximised else 1.0
    pairs = [
        (new.value, old.value)
        for new, old in zip(candidate.outcomes, incumbent.outcomes, strict=True)
    ]
    differences = [sign * (new - old) + charge.value for new, old in pairs]
    advantage = mean_interval([-each for each in differences])
    old_value = sum(old for _, old in pairs) / len(pairs)
    new_value = sum(new for new, _ in pairs) / len(pairs)
    least_gain = goal.least_gain(abs(old_value))
    decision = decide(
        mean_interval(differences),
        candidate_verdicts,
        [each for each in incumbent_verdicts if not _may_be_chance(each)],
        least_gain=least_gain,
        unit=goal.unit,
    )
    why = decision.why
    if decision.judgement == "worse" and not decision.refused:
        chance = [each for each in incumbent_verdicts if _may_be_chance(each)]
        why += _why_worse(chance, excused, beyond_aims)
    where = "in the model" if models == 1 else f"in the mean of {models} models"
    return ChangeVerdict(
        decision.accepted,
        f"{why}; {where}, {_in_words(advantage, old_value, new_value, goal, charge)}, "
        f"mean queue {candidate.mean.mean:.1f} instead of {incumbent.mean.mean:.1f} packets",
        advantage,
        decision.judgement,
        {
            "advantage": advantage.mean,
            "advantage_half_width": advantage.half_width,
            "unit": goal.unit,
            "objective_found": new_value,
            "objective_in_force": old_value,
            "fresh_seeds": advantage.count,
            "models": models,
            "mean_queue_found_packets": candidate.mean.mean,
            "mean_queue_in_force_packets": incumbent.mean.mean,
            "push_charge": charge.value,
            "least_gain": least_gain,
            **_bound_details(decision),
        },
    )


def _bound_details(decision: SettingDecision) -> dict[str, object]:
    """The numbers of the bound that decided, where one did."""
    bound = decision.bound
    if bound is None:
        return {}
    value = bound.value
    return {
        "bound": bound.constraint,
        "bound_limit": bound.bound,
        "bound_limit_half_width": bound.bound_half_width,
        "bound_measured": None if value is None else value.mean,
        "bound_measured_half_width": None if value is None else value.half_width,
        "bound_phase": bound.phase,
    }


def _why_worse(
    chance: Sequence[ConstraintVerdict],
    excused: Sequence[ConstraintVerdict],
    beyond_aims: Sequence[ConstraintVerdict],
) -> str:
    """Which bound the search keeps and the setting in force does not, so that it is better."""
    for bounds, what in (
        (excused, "which the setting in force would break"),
        (chance, "which the setting in force may break"),
        (beyond_aims, "as a search aims to; the setting in force keeps less of a distance"),
    ):
        for each in bounds:
            if each.holds == "broken":
                return f" that keeps {each.constraint}, {what} ({each.figures})"
    return ""


def _may_be_chance(verdict: ConstraintVerdict) -> bool:
    """Whether a setting does harm in the mean of a few seeds only."""
    if not verdict.of_harm or verdict.value is None or verdict.bound is None:
        return False
    return not verdict.value.excludes(verdict.bound)


def _in_words(
    advantage: Interval, old: float, new: float, goal: Objective, charge: PushCharge
) -> str:
    """What the comparison came to, all numbers to the same digit."""
    factor, unit = _SHOWN.get(goal.unit, (1.0, goal.unit))
    largest = factor * max(abs(old), abs(new))
    # Four digits, but never fewer than one behind the point.
    decimals = max(1, 3 - math.floor(math.log10(largest))) if largest > 0.0 else 1

    def text(value: float) -> str:
        return f"{factor * value:.{decimals}f}"

    gained = "better" if advantage.mean >= 0.0 else "worse"
    half_width = "unknown" if advantage.half_width is None else text(advantage.half_width)
    push = f", after {text(charge.value)} for a push that {charge.why}" if charge.why else ""
    return (
        f"{goal.label} {text(new)} instead of {text(old)} {unit}".rstrip()
        + f" ({gained} by {text(abs(advantage.mean))} +- {half_width} on {advantage.count} fresh "
        f"seeds{push})"
    )
