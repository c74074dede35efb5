"""Comparison of two settings, and the one rule by which a setting replaces another.

For every tuning and for the on-line loop:

1. What breaks a constraint, or a bound of harm (:mod:`vermilion.objectives.harm`), is *worse*,
   whatever it gains; where a constraint is not proven to hold, it is refused as well.
2. A setting in force that surely breaks a constraint loses to one that keeps them all.
3. Else the objective decides, and the setting in force wins a tie. A change has to be *significant*
   (the interval of the paired difference excludes zero) and *relevant* (the gain is at least what
   anyone would notice): changing a network costs something, and what is in force is known to work.

A search returns the luckiest of hundreds of settings; only fresh seeds tell merit from luck.
Both settings meet the same seeds, so their differences are paired. What decides is in
:mod:`vermilion.tuning.comparison`.

Where no fresh seed changes a run, intervals of no width are not certainty, and a warning says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from vermilion.scenario.quantities import how_many
from vermilion.simulate.compared_runs import are_nearly_the_same_run, are_the_same_run
from vermilion.simulate.statistics import (
    Interval,
    RatioInterval,
    mean_interval,
    ratio_of_means_interval,
)
from vermilion.tuning.verdict import USUAL_CONFIDENCE, ConstraintVerdict, at_confidence, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.simulate import Result
    from vermilion.tuning.evaluation import Evaluation

    Runs = Sequence[Result]

Judgement = Literal["better", "no difference", "worse"]
"""What a comparison says of the candidate, all told."""


@dataclass(frozen=True, slots=True)
class SettingDecision:
    """Decision between a candidate and the incumbent, with its reason.

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
        """Decision and reason, to be followed by the numbers."""
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
    return _decide_by_objective(difference, least_gain, unit, short_of, required)


def _decide_by_objective(
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
        why = f"the best setting is better, but not surely by the required share of {required:.3g}"
        return kept(why, "no difference", doubtful=True)
    return SettingDecision(
        "better", accepted=True, refused=False, doubtful=False, why="significantly better"
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two settings on fresh seeds.

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

    @property
    def constraints(self) -> list[ConstraintVerdict]:
        """Verdicts on what a user asked for, for the best setting found."""
        return [each for each in self.best_verdicts if not each.of_harm]

    @property
    def constraints_of_incumbent(self) -> list[ConstraintVerdict]:
        """The same for the setting in force."""
        return [each for each in self.incumbent_verdicts if not each.of_harm]

    @property
    def harm(self) -> list[ConstraintVerdict]:
        """Verdicts on bounds of harm, for the best setting found."""
        return [each for each in self.best_verdicts if each.of_harm]

    def chosen_among(self, count: int) -> Comparison:
        """Return the same comparison, of the best of so many settings on these seeds."""
        reason = self.reason.removesuffix(_among(self.among))
        return replace(self, among=count, reason=f"{reason}{_among(count)}")


def _among(count: int) -> str:
    """Words about a choice by the seeds of the comparison."""
    return f"; the best of {count} on these seeds"


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
    """Gain as a fraction of the incumbent's objective."""
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


_IN_FORCE = "the setting in force"


def chance_warnings(best: Runs, incumbent: Runs) -> tuple[str, ...]:
    """Warn where seeds change next to nothing with one of two settings, or with both.

    Args:
        best: the runs of the best setting found, one for each fresh seed.
        incumbent: those of the setting in force.
    """
    named = {"the best setting found": best, _IN_FORCE: incumbent}
    unmoved = {name: runs for name, runs in named.items() if are_nearly_the_same_run(runs)}
    of = "" if len(unmoved) == len(named) else " and ".join(unmoved)
    return _warnings(list(unmoved.values()), of)


def chance_warnings_of_front(points: Sequence[Runs], incumbent: Runs) -> tuple[str, ...]:
    """Warn where seeds change next to nothing with settings of a front.

    Args:
        points: the runs of each of its settings, one for each fresh seed.
        incumbent: those of the setting in force.
    """
    unmoved = [runs for runs in points if are_nearly_the_same_run(runs)]
    in_force = [incumbent] if are_nearly_the_same_run(incumbent) else []
    names = [_IN_FORCE] * len(in_force)
    names += [f"{len(unmoved)} of {how_many(len(points), 'setting')}"] if unmoved else []
    all_of_them = in_force and len(unmoved) == len(points)
    return _warnings([*in_force, *unmoved], "" if all_of_them else " and ".join(names))


def _warnings(unmoved: Sequence[Runs], of: str) -> tuple[str, ...]:
    if not unmoved:
        return ()
    nearly = "" if all(map(are_the_same_run, unmoved)) else "nearly "
    run = f"{nearly}the same run{f' of {of}' if of else ''}"
    return (f"every fresh seed gave {run}, so its intervals say nothing about chance",)
