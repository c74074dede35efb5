"""The one rule by which a setting replaces another, for every tuning and for the on-line loop.

1. What breaks a constraint, or a bound of harm (:mod:`vermilion.objectives.harm`), is *worse*,
   whatever it gains; where a constraint is not proven to hold, it is refused as well.
2. A setting in force that surely breaks a constraint loses to one that keeps them all.
3. Else the objective decides, and the setting in force wins a tie. A change has to be *significant*
   (the interval of the paired difference excludes zero) and *relevant* (the gain is at least what
   anyone would notice): changing a network costs something, and what is in force is known to work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.judge.verdict import ConstraintVerdict

Judgement = Literal["better", "no difference", "worse"]
"""What a comparison says of the candidate, all told."""


@dataclass(frozen=True, slots=True)
class SettingDecision:
    """What is to be done, and why.

    Attributes:
        judgement: of the candidate.
        accepted: whether it should replace the setting in force.
        refused: whether a constraint or a bound of harm decided against it.
        doubtful: whether more seeds might change the decision in the candidate's favour.
        why: in a few words.
        bound: the verdict on the constraint or bound of harm that decided; ``None`` where none did.
    """

    judgement: Judgement
    accepted: bool
    refused: bool
    doubtful: bool
    why: str
    bound: ConstraintVerdict | None = None

    @property
    def reason(self) -> str:
        """What is done and why, to be followed by the numbers."""
        if self.accepted:
            return self.why
        if self.refused:
            return f"refused, because {self.why}; otherwise"
        return f"kept the incumbent, because {self.why}"


def decide(
    difference: Interval,
    candidate: Sequence[ConstraintVerdict],
    incumbent: Sequence[ConstraintVerdict],
    *,
    least_gain: float = 0.0,
    unit: str = "",
    short_of: Interval | None = None,
    required: float = 0.0,
) -> SettingDecision:
    """Decides between a candidate and the setting in force.

    Args:
        difference: candidate - incumbent of what is minimised, seed by seed.
        candidate: its verdicts on constraints and harm.
        incumbent: those of the setting in force.
        least_gain: what anyone would notice, in the objective's unit.
        unit: of the objective.
        short_of: what the candidate lacks of a gain that has to be proven; negative where it has
            more. ``None`` where none has.
        required: that gain, as a fraction of what the setting in force reaches.
    """
    missed = [verdict for verdict in candidate if verdict.holds != "met"]
    gain = -difference.mean
    if missed:
        worst = next((each for each in missed if each.holds == "broken"), missed[0])
        # Of harm the mean decides, so that another look would only be another chance.
        doubtful = gain > 0.0 and all(each.holds == "unproven" for each in missed)
        what = "a bound of harm, " if worst.of_harm else ""
        judgement: Judgement = "no difference" if worst.holds == "unproven" else "worse"
        might = "would" if worst.holds == "broken" else "may"
        why = f"it {might} break {what}{worst.constraint} ({worst.figures})"
        return SettingDecision(
            judgement, accepted=False, refused=True, doubtful=doubtful, why=why, bound=worst
        )
    broken = [verdict for verdict in incumbent if verdict.holds == "broken"]
    if broken:
        first = broken[0]
        what = "a bound of harm" if first.of_harm else "a constraint"
        why = f"the incumbent breaks {what} ({first.constraint}: {first.figures})"
        return SettingDecision(
            "better", accepted=True, refused=False, doubtful=False, why=why, bound=first
        )
    return _by_objective(difference, least_gain, unit, short_of, required)


def _by_objective(
    difference: Interval, least_gain: float, unit: str, short_of: Interval | None, required: float
) -> SettingDecision:
    """The decision where the constraints leave it to the objective."""

    def kept(why: str, judgement: Judgement, *, doubtful: bool = False) -> SettingDecision:
        return SettingDecision(judgement, accepted=False, refused=False, doubtful=doubtful, why=why)

    low, high, gain = difference.low, difference.high, -difference.mean
    if low is None or high is None:
        return kept("a single seed says nothing about chance", "no difference")
    if low > 0.0:
        return kept("nothing better was found", "worse")
    if high >= 0.0:
        return kept("the difference may be chance", "no difference", doubtful=gain > least_gain)
    if gain < least_gain:
        amount = f"{gain:.3g} {unit}".strip()
        wanted = f"{least_gain:.3g} {unit}".strip()
        why = f"the gain of {amount} is below the {wanted} from which a change pays"
        return kept(why, "no difference")
    if short_of is not None and (short_of.high is None or short_of.high >= 0.0):
        why = f"what was found is better, but not surely by the required share of {required:.3g}"
        return kept(why, "no difference", doubtful=True)
    return SettingDecision(
        "better", accepted=True, refused=False, doubtful=False, why="significantly better"
    )
