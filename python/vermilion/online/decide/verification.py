"""Verification of an applied setting: measured against predicted, and before against after.

A bound of the operator's that the network breaks, surely or as it seems: words and numbers.

Whether an applied setting does on the network what it did in the model.

After a new setting has settled, the operator's own objective and bounds are measured for a while
and compared with what was measured before under the same conditions, where there was time to. There
are three verdicts:

- *better*: significantly and noticeably so, against the measured predecessor, at no harm;
- *worse*: than the measured predecessor; or, where nothing was measured before, than the model says
  that one would be; or it breaks a bound that the predecessor kept. Such a setting is taken back.
  Bounds of harm refer to the setting that stood when the controller began. What that one would do
  now is what the predecessor was measured to do, and the difference of the two in the model;
- *unproven*: anything else. It may stay, because it does no harm, and is looked at again.

Where the link carries far more than before, neither a longer wait nor more drops are a reason to
take a setting back: a queue that nothing gets through delays nothing. Constraints that an operator
has stated are still kept to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from vermilion.objectives.metrics import format_metric
from vermilion.online.policy import carried
from vermilion.online.sense.stretch import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.online.policy import Policy
    from vermilion.online.sense.stretch import Stretch
    from vermilion.simulate.statistics import Interval


@dataclass(frozen=True, slots=True)
class Expectation:
    """Prediction made before the change.

    Attributes:
        cost_before: the objective under the old setting in the present conditions.
        cost_after: the same under the new one.
        mean_after: mean queue under the new setting, packets.
        most_starved: how many flows may starve under it without harm; ``None`` for any number.
        starved_over_s: in stretches of this length.
        first_beside_previous: what each metric with a bound of harm would be more under the first
            setting than under the one before, by its path; none where they are the same.
    """

    cost_before: float
    cost_after: float
    mean_after: float
    most_starved: float | None = None
    starved_over_s: float = 0.0
    first_beside_previous: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of a verdict: said in a sentence and written down from the same values.

    Attributes:
        objective: what is minimised or maximised.
        expected: what the model said.
        after: what was measured under the new setting.
        before: the same under the old one in the same conditions, where that was measured.
        now: the objective's value, where it can be measured.
        then: the same before the change, where that was measured.
    """

    objective: Objective
    expected: Expectation
    after: Stretch
    before: Stretch | None
    now: Interval | None
    then: Interval | None

    @classmethod
    def of(
        cls, after: Stretch, before: Stretch | None, expected: Expectation, objective: Objective
    ) -> Figures:
        """The figures of two stretches, with arguments as above."""
        now = after.objective(objective)
        then = None if before is None else before.objective(objective)
        return cls(objective, expected, after, before, now, then)

    def describe(self) -> str:
        """Like "mean queue 30 packets (model 31), queue-deviation 4 packets^2 (...)"."""
        expected, objective = self.expected, self.objective
        unit = f" {objective.unit}" if objective.unit else ""
        parts = [
            f"mean queue {self.after.queue.mean:.1f} packets (model {expected.mean_after:.1f})"
        ]
        if self.now is not None:
            compared = (
                f"model of the old setting {expected.cost_before:.4g}"
                if self.then is None
                else f"before {self.then.mean:.4g}"
            )
            model = f"model {expected.cost_after:.4g}"
            parts.append(f"{objective.label} {self.now.mean:.4g}{unit} ({model}, {compared})")
        utilization = f"utilisation {self.after.utilization.mean:.1%}"
        if self.before is not None:
            utilization += f" (before {self.before.utilization.mean:.1%})"
        return ", ".join([*parts, utilization])

    def details(self) -> dict[str, object]:
        """The numbers, for the journal; those of the objective are in its unit."""
        from vermilion.objectives.queue_deviation import QueueDeviation

        now, expected, after, before = self.now, self.expected, self.after, self.before
        numbers: dict[str, object] = {
            "mean_queue_packets": after.queue.mean,
            "utilization": after.utilization.mean,
            "signal_rate": after.signal_rate,
            "seconds": after.seconds,
            "objective": self.objective.name,
            "unit": self.objective.unit,
            "measured": None if now is None else now.mean,
            "measured_half_width": None if now is None else now.half_width,
            "measured_before": None if self.then is None else self.then.mean,
            "utilization_before": None if before is None else before.utilization.mean,
            "model_mean_queue_packets": expected.mean_after,
            "model_objective": expected.cost_after,
            "model_objective_before": expected.cost_before,
        }
        if isinstance(self.objective, QueueDeviation) and now is not None:
            numbers["squared_deviation"] = now.mean
            numbers["squared_deviation_half_width"] = now.half_width
        return numbers


@dataclass(frozen=True, slots=True)
class BrokenBound:
    """A bound, and what was measured of it.

    Attributes:
        constraint: the bound.
        limit: as a number, in the metric's unit; ``None`` where what it refers to is not known.
        measured: what breaks it, or seems to.
    """

    constraint: Constraint
    limit: float | None
    measured: Interval

    @property
    def bound(self) -> str:
        """The bound as it was written."""
        return self.constraint.text

    def describe(self, *, with_half_width: bool = False) -> str:
        """Like "links.a.drop_rate <= 10 % (measured 12.3 %)"."""
        half_width = self.measured.half_width if with_half_width else None
        seen = format_metric(self.constraint.path, self.measured.mean, half_width)
        return f"{self.bound} (measured {seen})"

    def details(self) -> dict[str, object]:
        """The numbers, in the metric's own unit, for the journal."""
        return {
            "bound": self.bound,
            "bound_limit": self.limit,
            "bound_measured": self.measured.mean,
            "bound_measured_half_width": self.measured.half_width,
        }


def first_broken(
    stretch: Stretch,
    reference: Stretch | None,
    bounds: Sequence[Constraint],
    first_beside_reference: Mapping[str, float] | None = None,
) -> BrokenBound | None:
    """The first of :func:`all_broken`; ``None`` where there is none."""
    return next(all_broken(stretch, reference, bounds, first_beside_reference), None)


def all_broken(
    stretch: Stretch,
    reference: Stretch | None,
    bounds: Sequence[Constraint],
    first_beside_reference: Mapping[str, float] | None = None,
) -> Iterator[BrokenBound]:
    """The bounds that are surely broken in a stretch, in their order.

    Args:
        stretch: what was measured.
        reference: measured under the setting before; without it relative bounds ask nothing.
        bounds: constraints and bounds of harm.
        first_beside_reference: what a metric would be more under the setting that stood when the
            controller began, by its path. A bound of harm refers to that setting.
    """
    first = first_beside_reference or {}
    for bound in bounds:
        measured = stretch.bounded(bound)
        limit = _limit_of(
            bound,
            reference,
            first.get(str(bound.path), 0.0),
            carried(bound, stretch.rate_bit_per_s),
        )
        if measured is None or limit is None or measured.low is None or measured.high is None:
            continue
        sure = measured.high < limit if bound.at_least else measured.low > limit
        if sure:
            yield BrokenBound(bound, limit, measured)


def _limit_of(
    bound: Constraint, reference: Stretch | None, first_beside: float, most: float
) -> float | None:
    """The bound as a number; of a reference, the end of its interval that is easier to keep.

    A bound of harm is never harder to keep than what was measured under the setting before: to go
    back to that one would mend nothing. ``None`` where a bound refers to what was not measured.
    """
    if not bound.of_reference:
        return bound.bound
    measured = None if reference is None else reference.bounded(bound)
    if measured is None or measured.low is None or measured.high is None:
        return None
    before = min(measured.low, most) if bound.at_least else measured.high
    if not bound.of_harm:
        return bound.bound * before + bound.offset
    limit = bound.bound * (before + first_beside) + bound.offset
    return min(limit, before) if bound.at_least else max(limit, before)


_WORSE_THAN_MEASURED = 0.1  # of what was before: less is no reason to change a network twice
_WORSE_THAN_PREDICTED = 0.5  # a prediction has an error of its own that its seeds do not show
_UTILIZATION_LOST = 0.02
_UTILIZATION_GAINED = 0.1
_BLOATED = 4.0  # times the queue
_MOMENTS = 4  # that must all be worse, for a verdict before its time


@dataclass(frozen=True, slots=True)
class Verification:
    """Verdict of the network on a setting.

    Attributes:
        verdict: see the head of this module.
        reason: why, in words and numbers.
        broken: the bound that is surely broken now; ``None`` for none.
        details: the numbers, for the journal.
    """

    verdict: Literal["better", "unproven", "worse"]
    reason: str
    broken: BrokenBound | None
    details: dict[str, object]


def verify(
    after: Stretch,
    before: Stretch | None,
    expected: Expectation,
    policy: Policy,
    *,
    mends: bool = False,
    replaces_law: bool = False,
) -> Verification:
    """Judge a setting by what was measured under it.

    Args:
        after: under the new setting, settled.
        before: under the old setting in the same conditions; ``None`` where there was no time.
        expected: what the model said.
        policy: what the operator wants.
        mends: whether the setting was put in force because the one before broke a bound; then a
            worse objective is its price and no reason to take it back.
        replaces_law: whether the queue's own law stood before, which is the default: then no gain
            is reason enough to go back to it.
    """
    figures = Figures.of(after, before, expected, policy.objective)
    broken = first_broken(after, before, policy.bounds, expected.first_beside_previous)
    why_worse = _why_worse(after, before, expected, policy, mends=mends)
    verdict: Literal["better", "unproven", "worse"] = "worse"
    if not why_worse and replaces_law and not mends and not _gains(figures):
        why_worse = "it is no better than the queue's own law was"
    why = why_worse
    if not why_worse:
        why = _why_unproven(after, before, policy.objective, mends=mends)
        verdict = "unproven" if why else "better"
    return Verification(
        verdict=verdict,
        reason=f"{why}; {figures.describe()}" if why else figures.describe(),
        broken=broken,
        details={**figures.details(), **({} if broken is None else broken.details())},
    )


def _gains(figures: Figures) -> bool:
    """Check whether the objective looks better than before, where both were measured."""
    now, then = figures.now, figures.then
    if now is None or then is None:
        return True
    return (now.mean > then.mean) == figures.objective.maximised


def clearly_worse(
    after: Stretch, before: Stretch | None, expected: Expectation, objective: Objective
) -> Verification | None:
    """The verdict on a setting under which every moment is worse than the worst second before.

    It needs no model of chance, only a measured predecessor and a loss that is as large as what
    there was; ``None`` where that is not so.

    Args:
        after: under the new setting, in batches that may be shorter than seconds.
        before: under the old setting in the same conditions.
        expected: what the model said.
        objective: of the operator.
    """
    of = value_of(objective)
    if of is None or before is None or len(after.batches) < _MOMENTS:
        return None
    if _carries_far_more(after, before):
        return None
    sign = -1.0 if objective.maximised else 1.0
    now, then = ([sign * of(each) for each in one.batches] for one in (after, before))
    usual = math.fsum(then) / len(then)
    lost = math.fsum(now) / len(now) - usual
    if min(now) <= max(then) or lost < max(abs(usual), objective.least_gain(abs(usual))):
        return None
    figures = Figures.of(after, before, expected, objective)
    return Verification(
        verdict="worse",
        reason=f"every moment of {after.seconds:.1f} s is worse than the worst second before; "
        f"{figures.describe()}",
        broken=None,
        details=figures.details(),
    )


def _why_worse(
    after: Stretch,
    before: Stretch | None,
    expected: Expectation,
    policy: Policy,
    *,
    mends: bool,
) -> str:
    """Return why a setting must be rolled back; "" if it need not."""
    objective = policy.objective
    now = after.objective(objective)
    if before is None:
        if now is not None and not mends and _is_worse_than_predicted(now, expected, objective):
            return "worse than the old setting would be, as the model has it"
        return ""
    far_more = _carries_far_more(after, before)
    # Of a queue that was so much longer its few drops are no measure: a window of W packets needs
    # about 1 / W^2 of them dropped.
    was_bloated = before.queue.mean > _BLOATED * max(after.queue.mean, 1.0)
    bounds = [
        each
        for each in policy.bounds
        if not each.of_harm or not (far_more or (was_bloated and each.path.metric == "drop_rate"))
    ]
    broken = list(all_broken(after, before, bounds, expected.first_beside_previous))
    broken_before = {each.bound for each in all_broken(before, None, policy.bounds)}
    for each in broken:
        if each.bound not in broken_before:
            return f"it breaks a bound that the setting before kept, {each.describe()}"
    # What the operator asked for comes first: to keep it may cost what is optimised.
    mends = mends or len(broken) < len(broken_before)
    if _beyond(after.utilization, before.utilization, _UTILIZATION_LOST, up=False):
        return "the link is used less than before"
    then = before.objective(objective)
    if now is None or then is None or mends or far_more:
        return ""
    up = not objective.maximised
    surely = _beyond(now, then, 0.0, up=up)
    least = objective.least_gain(then.mean)
    if not objective.maximised:
        least = max(least, _WORSE_THAN_MEASURED * abs(then.mean))
    # By less a setting may be worse than before and stay.
    taken_back = _change(now, then, up=up) > least
    return "worse than before" if surely and taken_back else ""


def _why_unproven(
    after: Stretch, before: Stretch | None, objective: Objective, *, mends: bool
) -> str:
    """Return why a harmless setting is not known to help; "" if it is."""
    now = after.objective(objective)
    if now is None:
        return "the objective cannot be measured by counters alone"
    then = None if before is None else before.objective(objective)
    if then is None:
        return "there is no earlier measurement in these conditions"
    up = objective.maximised
    change, least = _change(now, then, up=up), objective.least_gain(then.mean)
    if before is not None and change < least and _carries_far_more(after, before):
        return "the link carries far more than before, which forbids a comparison"
    if abs(change) < least:
        return "no noticeable difference was measured"
    if not _beyond(now, then, 0.0, up=up == (change > 0)):
        looks = "better" if change > 0 else "worse"
        return f"it looks {looks} than before, but that may be chance"
    allowed = "the price of a bound that it keeps" if mends else "but too little to take it back"
    return "" if change > 0 else f"it is worse than before, {allowed}"


def _carries_far_more(after: Stretch, before: Stretch) -> bool:
    """Check whether utilisation rose so far that earlier delays and drops are no measure."""
    return _beyond(after.utilization, before.utilization, _UTILIZATION_GAINED, up=True)


def _beyond(now: Interval, then: Interval, by: float, *, up: bool) -> bool:
    """Check whether the intervals are further apart than ``by``, upwards or downwards."""
    if now.low is None or now.high is None or then.low is None or then.high is None:
        return False
    return now.low > then.high + by if up else now.high < then.low - by


def _change(now: Interval, then: Interval, *, up: bool) -> float:
    return now.mean - then.mean if up else then.mean - now.mean


def _is_worse_than_predicted(now: Interval, expected: Expectation, objective: Objective) -> bool:
    """Check whether even the good end of the interval is far worse than before."""
    if now.low is None or now.high is None:
        return False
    slack = _WORSE_THAN_PREDICTED * abs(expected.cost_before)
    if objective.maximised:
        return now.high < expected.cost_before - slack
    return now.low > expected.cost_before + slack
