"""Verdicts on constraints, as far as simulations can tell.

"0.95 of reference" means: of what the setting in force reaches. A search compares its candidates
with the incumbent of its own scenario; where that is another discipline's, the reference has to be
brought along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Literal

from vermilion.files.document import document
from vermilion.objectives.constraint import Constraint, path_in, relative_violation
from vermilion.objectives.metrics import MetricPath, format_metric
from vermilion.simulate.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate import Result
    from vermilion.tuning.evaluation import Evaluation

    Allowances = Sequence[Sequence[float] | None]

USUAL_CONFIDENCE: Final = 0.95
"""Of intervals that are shown without a word about it."""

WORST_FIRST: Final = ("broken", "not measured", "unproven", "met")
"""What can be said of a constraint. Of several phases the worst counts, however wide others are."""


@document("constraint holds value? bound? confidence? phase??")
@dataclass(frozen=True, slots=True)
class ConstraintVerdict:
    """Verdict on one constraint, in the phase where it is tightest.

    Attributes:
        constraint: as written.
        holds: "met" if the interval of the metric's distance from the bound lies on the
            right side, "broken" if it lies on the wrong side, "unproven" if it straddles the
            bound, "not measured" if the metric or its reference is absent. (From a single
            seed, whose interval is unknown, the value itself decides; and of a bound of harm the
            mean does.)
        value: the metric's mean over the seeds with its interval; ``None`` if not measured,
            or if it is of flows none of which is active in the phase.
        bound: the bound, in the metric's unit; for the relative form, on average.
        bound_half_width: of that average's interval; ``None`` where it is a number, or not known.
        confidence: of all these intervals.
        phase: the number of the phase, from 1; 0 if there is only one.
        violation: how badly the mean breaks the bound, relative to it; 0 if it does not.
        cautious_violation: the same of the interval's worse end.
        of_harm: whether it bounds what a change may cost, and is nothing that a user asked for.
    """

    constraint: str
    holds: Literal["met", "broken", "unproven", "not measured"]
    value: Interval | None
    bound: float | None
    phase: int
    violation: float
    cautious_violation: float
    of_harm: bool = False
    bound_half_width: float | None = None
    confidence: float = USUAL_CONFIDENCE

    def __str__(self) -> str:
        """Format, like "links.a.utilization >= 0.9 is broken (60 +- 2 %, bound 90 %)"."""
        if self.value is None or self.bound is None:
            return f"{self.constraint} is {self.figures}"
        return f"{self.constraint} is {self.holds} ({self.figures})"

    @property
    def figures(self) -> str:
        """Reached value, phase and bound, like "60 +- 2 % in phase 2, bound 90 %"."""
        where = f" in phase {self.phase}" if self.phase else ""
        if self.value is None or self.bound is None:
            why = "not measured" if self.holds == "not measured" else "met, as no flow is active"
            return f"{why}{where}"
        # What follows the bound is words: "with twice the flows".
        path = MetricPath.parse(path_in(self.constraint))
        reached = format_metric(path, self.value.mean, self.value.half_width)
        if self.value.half_width is not None:
            reached += at_confidence(self.confidence)
        # Where a bound straddles, the reader has to see why: it is as uncertain as what it is of.
        uncertain = self.bound_half_width if self.holds == "unproven" else None
        bound = format_metric(path, self.bound, uncertain)
        return f"{reached}{where}, bound {bound}"


def at_confidence(confidence: float) -> str:
    """Suffix of an interval: " at 99 %"; "" for the usual one."""
    return "" if confidence == USUAL_CONFIDENCE else f" at {100.0 * confidence:.4g} %"


def judge(
    constraints: Sequence[Constraint],
    evaluation: Evaluation,
    reference: Evaluation,
    confidence: float = USUAL_CONFIDENCE,
) -> tuple[ConstraintVerdict, ...]:
    """The verdicts on a setting, one for each constraint.

    Args:
        constraints: those that ``evaluation`` was made with.
        evaluation: of the setting.
        reference: of the incumbent, on at least the same seeds.
        confidence: of the intervals that decide.
    """
    # The same seeds meet the same traffic, so differences are taken seed by seed.
    pairs = [reference.seeds.index(seed) for seed in evaluation.seeds]
    return tuple(
        _judge(
            constraint,
            evaluation.constrained[number],
            [reference.constrained[number][pair] for pair in pairs],
            confidence,
        )
        for number, constraint in enumerate(constraints)
    )


def mean_violation(
    constraints: Sequence[Constraint],
    evaluation: Evaluation,
    reference: Evaluation,
    allowances: Allowances | None = None,
) -> float:
    """The sum over the constraints of how badly the mean breaks each, in its worst phase.

    This is what a search is told, hundreds of times, so it goes without intervals.

    Args:
        constraints: those that ``evaluation`` was made with.
        evaluation: of the setting.
        reference: of the incumbent, on at least the same seeds.
        allowances: how far inside its bound each constraint is to be kept in each phase, in the
            metric's unit; ``None`` for not at all.
    """
    total = 0.0
    for number, phases in enumerate(paired_margins(constraints, evaluation, reference)):
        inside = None if allowances is None else allowances[number]
        total += max(
            (
                _violation(*phase, 0.0 if inside is None else inside[place])
                for place, phase in enumerate(phases)
            ),
            default=0.0,  # there are no flows of which it could ask anything
        )
    return total


def paired_margins(
    constraints: Sequence[Constraint], evaluation: Evaluation, reference: Evaluation
) -> list[list[tuple[Sequence[float | None], Sequence[float | None]]]]:
    """Margins of each constraint and phase, seed by seed, with their bounds."""
    pairs = [reference.seeds.index(seed) for seed in evaluation.seeds]
    found: list[list[tuple[Sequence[float | None], Sequence[float | None]]]] = []
    for number, constraint in enumerate(constraints):
        values = evaluation.constrained[number]
        known = [reference.constrained[number][pair] for pair in pairs]
        margins = [constraint.margins(*pair) for pair in zip(values, known, strict=True)]
        bounds = [constraint.bounds(*pair) for pair in zip(values, known, strict=True)]
        found.append(list(zip(zip(*margins, strict=True), zip(*bounds, strict=True), strict=True)))
    return found


def mean_margins(
    constraints: Sequence[Constraint], evaluation: Evaluation, reference: Evaluation
) -> list[list[float]]:
    """Mean margin of each constraint and phase.

    Infinite where nothing is asked, as of flows none of which is active.
    """

    def mean(row: Sequence[float | None]) -> float:
        finite = [each for each in row if each is not None and math.isfinite(each)]
        return math.fsum(finite) / len(finite) if finite else math.inf

    return [
        [mean(row) for row, _ in phases]
        for phases in paired_margins(constraints, evaluation, reference)
    ]


def _violation(
    margins: Sequence[float | None], bounds: Sequence[float | None], inside: float
) -> float:
    """Relative violation of a bound by the mean over the seeds, if kept so far inside it."""
    if None in margins:
        return math.inf
    asked = [
        (margin, bound)
        for margin, bound in zip(margins, bounds, strict=True)
        if margin is not None and bound is not None and math.isfinite(margin)
    ]
    if not asked:
        return 0.0  # no flow is active, with any seed
    margin, bound = zip(*asked, strict=True)
    distance = math.fsum(margin) / len(margin) - inside
    return relative_violation(distance, math.fsum(bound) / len(bound))


def _judge(
    constraint: Constraint,
    values: Sequence[Sequence[float | None]],
    reference: Sequence[Sequence[float | None]],
    confidence: float,
) -> ConstraintVerdict:
    """The verdict in the worst phase; of those alike, where the interval's worse end is worst."""
    seeds = range(len(values))
    margins = [constraint.margins(values[seed], reference[seed]) for seed in seeds]
    bounds = [constraint.bounds(values[seed], reference[seed]) for seed in seeds]
    phases = len(values[0])
    verdicts = [
        judge_phase(
            constraint,
            phase + 1 if phases > 1 else 0,
            [values[seed][phase] for seed in seeds],
            [margins[seed][phase] for seed in seeds],
            [bounds[seed][phase] for seed in seeds],
            confidence,
            by_mean=constraint.of_harm,
        )
        for phase in range(phases)
    ]
    nothing_asked = _without_value(constraint, "met", 0, 0.0)

    def badness(judged: tuple[float, ConstraintVerdict]) -> tuple[bool, int, float]:
        beyond, verdict = judged
        # Whatever else it does: with what cannot be measured nothing is known of a phase.
        return verdict.holds == "not measured", -WORST_FIRST.index(verdict.holds), beyond

    return max(verdicts, key=badness, default=(0.0, nothing_asked))[1]


def judge_phase(
    constraint: Constraint,
    phase: int,
    values: Sequence[float | None],
    margins: Sequence[float | None],
    bounds: Sequence[float | None],
    confidence: float,
    *,
    by_mean: bool,
) -> tuple[float, ConstraintVerdict]:
    """The verdict in one phase, after a number that is the larger the worse it is.

    Args:
        constraint: that is judged.
        phase: its number, from 1; 0 if there is only one.
        values: of the metric, seed by seed.
        margins: by how much the bound is kept, likewise.
        bounds: the bound itself, likewise.
        confidence: of the intervals.
        by_mean: whether the mean decides, and not the interval.
    """
    if None in margins:
        return math.inf, _without_value(constraint, "not measured", phase, math.inf)
    asked = [
        (value, margin, bound)
        for value, margin, bound in zip(values, margins, bounds, strict=True)
        if value is not None and margin is not None and bound is not None and math.isfinite(margin)
    ]
    if not asked:
        return -math.inf, _without_value(constraint, "met", phase, 0.0)
    known, margin, bound = zip(*asked, strict=True)
    distance = mean_interval(margin, confidence)
    # What a user has asked for must be proven; of what a change may cost, the mean decides.
    low = distance.mean if by_mean or distance.low is None else distance.low
    high = distance.mean if by_mean or distance.high is None else distance.high
    mean_bound = math.fsum(bound) / len(bound)
    of_bound = mean_interval(bound, confidence)
    verdict = ConstraintVerdict(
        constraint.text,
        "met" if low >= 0.0 else "broken" if high < 0.0 else "unproven",
        mean_interval(known, confidence),
        mean_bound,
        phase,
        relative_violation(distance.mean, mean_bound),
        relative_violation(low, mean_bound),
        constraint.of_harm,
        of_bound.half_width if constraint.of_reference else None,
        confidence,
    )
    return -low, verdict


def _without_value(
    constraint: Constraint, holds: Literal["met", "not measured"], phase: int, violation: float
) -> ConstraintVerdict:
    return ConstraintVerdict(
        constraint.text, holds, None, None, phase, violation, violation, constraint.of_harm
    )


@dataclass(frozen=True, slots=True)
class ConstraintOnKnown(Constraint):
    """A constraint whose reference is known already, whatever it is compared with.

    Attributes:
        known: the reference's value in each phase, its mean over the seeds; ``None`` where it
            was not measured.
    """

    known: tuple[float | None, ...] = ()

    def bounds(
        self,
        values: Sequence[float | None],
        reference: Sequence[float | None] | None = None,  # noqa: ARG002 - another one is known
    ) -> list[float | None]:
        """The bound in each phase, in the metric's unit."""
        return Constraint.bounds(self, values, self.known)


def on_known(constraint: Constraint, reference: Sequence[Result]) -> Constraint:
    """The constraint with these results as its reference.

    Args:
        constraint: an absolute one stays as it is.
        reference: simulations of the setting in force, at least one.
    """
    if not constraint.of_reference:
        return constraint
    rows = [constraint.values(result) for result in reference]
    known = tuple(_mean(column) for column in zip(*rows, strict=True))
    given = {each.name: getattr(constraint, each.name) for each in fields(constraint)}
    return ConstraintOnKnown(**given, known=known)


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return math.fsum(present) / len(present) if len(present) == len(values) else None
