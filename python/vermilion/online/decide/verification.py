"""Whether an applied setting does on the network what it did in the model.

After a new setting has settled, the operator's own objective and bounds are measured for a while
and compared with what was measured before under the same conditions, where there was time to. There
are three verdicts:

- *better*: significantly and noticeably so, against the measured predecessor, at no harm;
- *worse*: than the measured predecessor; or, where nothing was measured before, than the model says
  that one would be; or it breaks a bound that the predecessor kept. Such a setting is taken back;
- *unproven*: anything else. It may stay, because it does no harm, and is looked at again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vermilion.objectives.metric_words import metric_in_words
from vermilion.online.sense.stretch import value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.online.policy import Policy
    from vermilion.online.sense.stretch import Stretch
    from vermilion.simulate.statistics import Interval

_WORSE_THAN_MEASURED = 0.1  # of what was before: less is no reason to change a network twice
_WORSE_THAN_PREDICTED = 0.5  # a prediction has an error of its own that its seeds do not show
_UTILIZATION_LOST = 0.02
MEASURED = " (measured "
"""Stands between a broken bound and the value that breaks it."""
_MOMENTS = 4  # that must all be worse, for a verdict before its time


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the model said before the change.

    Attributes:
        cost_before: the objective under the old setting in the present conditions.
        cost_after: the same under the new one.
        mean_after: mean queue under the new setting, packets.
        most_starved: how many flows may starve under it without harm; ``None`` for any number.
        starved_over_s: in stretches of this length.
        of_model: whether a model said so, and not a measurement of what was before.
    """

    cost_before: float
    cost_after: float
    mean_after: float
    most_starved: float | None = None
    starved_over_s: float = 0.0
    of_model: bool = True


@dataclass(frozen=True, slots=True)
class Verification:
    """What the network says of a setting.

    Attributes:
        verdict: see the head of this module.
        reason: why, in words and numbers.
        broken: the bound that is surely broken now, in words; "" for none.
        details: the numbers, for the journal.
    """

    verdict: Literal["better", "unproven", "worse"]
    reason: str
    broken: str
    details: dict[str, object]


def verify(
    after: Stretch,
    before: Stretch | None,
    expected: Expectation,
    policy: Policy,
    *,
    mends: bool = False,
) -> Verification:
    """Judge a setting by what was measured under it.

    Args:
        after: under the new setting, settled.
        before: under the old setting in the same conditions; ``None`` where there was no time.
        expected: what the model said.
        policy: what the operator wants.
        mends: whether the setting was put in force because the one before broke a bound; then a
            worse objective is its price and no reason to take it back.
    """
    figures = _figures(after, before, expected, policy.objective)
    why_worse = _why_worse(after, before, expected, policy, mends=mends)
    verdict: Literal["better", "unproven", "worse"] = "worse"
    why = why_worse
    if not why_worse:
        why = _why_unproven(after, before, policy.objective)
        verdict = "unproven" if why else "better"
    return Verification(
        verdict=verdict,
        reason=f"{why}; {figures}" if why else figures,
        broken=broken_bound(after, before, policy.bounds),
        details=_details(after, policy.objective),
    )


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
    sign = -1.0 if objective.maximised else 1.0
    now, then = ([sign * of(each) for each in one.batches] for one in (after, before))
    usual = math.fsum(then) / len(then)
    lost = math.fsum(now) / len(now) - usual
    if min(now) <= max(then) or lost < max(abs(usual), objective.least_gain(abs(usual))):
        return None
    seconds = after.seconds
    return Verification(
        verdict="worse",
        reason=f"every moment of {seconds:.1f} s is worse than the worst second before; "
        f"{_figures(after, before, expected, objective)}",
        broken="",
        details=_details(after, objective),
    )


def _why_worse(
    after: Stretch,
    before: Stretch | None,
    expected: Expectation,
    policy: Policy,
    *,
    mends: bool,
) -> str:
    """Why a setting has to be taken back; "" where it need not."""
    objective = policy.objective
    now = after.objective(objective)
    if before is None:
        if now is not None and not mends and _is_worse_than_predicted(now, expected, objective):
            return "worse than the old setting would be, as the model has it"
        return ""
    broken = broken_bound(after, before, policy.bounds)
    broken_before = broken_bound(before, None, policy.bounds)
    if broken and bound_named(broken_before) != bound_named(broken):
        return f"it breaks a bound that the setting before kept, {broken}"
    # What the operator asked for comes first: to keep it may cost what is optimised.
    mends = mends or bool(broken_before and not broken)
    if _beyond(after.utilization, before.utilization, _UTILIZATION_LOST, up=False):
        return "the link is used less than before"
    then = before.objective(objective)
    if now is None or then is None or mends:
        return ""
    up = not objective.maximised
    least_loss = objective.least_gain(then.mean)
    if up:
        least_loss = max(least_loss, _WORSE_THAN_MEASURED * abs(then.mean))
    surely = _beyond(now, then, 0.0, up=up) and _change(now, then, up=up) > least_loss
    return "worse than before" if surely else ""


def _why_unproven(after: Stretch, before: Stretch | None, objective: Objective) -> str:
    """Why a setting that does no harm is not known to help; "" where it is."""
    now = after.objective(objective)
    if now is None:
        return "the objective cannot be measured by counters alone"
    then = None if before is None else before.objective(objective)
    if then is None:
        return "there is no earlier measurement in these conditions to compare with"
    up = objective.maximised
    change, least = _change(now, then, up=up), objective.least_gain(then.mean)
    if abs(change) < least:
        return "no noticeable difference from before was measured"
    if change < 0:
        return "it looks worse than before, but that may be chance"
    surely = _beyond(now, then, 0.0, up=up)
    return "" if surely else "it looks better than before, but that may be chance"


def bound_named(broken: str) -> str:
    """The bound of :func:`broken_bound`'s words, without what was measured."""
    return broken.partition(MEASURED)[0]


def broken_bound(stretch: Stretch, reference: Stretch | None, bounds: Sequence[Constraint]) -> str:
    """The first bound that is surely broken in a stretch, in words; "" for none.

    Args:
        stretch: what was measured.
        reference: what relative bounds refer to; without one they ask nothing.
        bounds: constraints and bounds of harm.
    """
    for bound in bounds:
        measured = stretch.bounded(bound)
        limit = _limit_of(bound, reference)
        if measured is None or limit is None or measured.low is None or measured.high is None:
            continue
        sure = measured.high < limit if bound.at_least else measured.low > limit
        if sure:
            return f"{bound.text}{MEASURED}{metric_in_words(bound.path, measured.mean)})"
    return ""


def _limit_of(bound: Constraint, reference: Stretch | None) -> float | None:
    """The bound as a number; of a reference, the end of its interval that is easier to keep.

    ``None`` where it refers to what was not measured.
    """
    if not bound.of_reference:
        return bound.bound
    measured = None if reference is None else reference.bounded(bound)
    if measured is None or measured.low is None or measured.high is None:
        return None
    return bound.bound * (measured.low if bound.at_least else measured.high) + bound.offset


def _beyond(now: Interval, then: Interval, by: float, *, up: bool) -> bool:
    """Whether the intervals are apart by more than so much, upwards or downwards."""
    if now.low is None or now.high is None or then.low is None or then.high is None:
        return False
    return now.low > then.high + by if up else now.high < then.low - by


def _change(now: Interval, then: Interval, *, up: bool) -> float:
    return now.mean - then.mean if up else then.mean - now.mean


def _is_worse_than_predicted(now: Interval, expected: Expectation, objective: Objective) -> bool:
    """Whether even the good end of what was measured is far beyond what the old setting had."""
    if now.low is None or now.high is None:
        return False
    slack = _WORSE_THAN_PREDICTED * abs(expected.cost_before)
    if objective.maximised:
        return now.high < expected.cost_before - slack
    return now.low > expected.cost_before + slack


def _figures(
    after: Stretch, before: Stretch | None, expected: Expectation, objective: Objective
) -> str:
    """What was measured, beside what the model said and what was before."""
    unit = f" {objective.unit}" if objective.unit else ""
    modelled = f"model {expected.mean_after:.1f}" if expected.of_model else ""
    stood = modelled or f"before {expected.mean_after:.1f}"
    parts = [f"mean queue {after.queue.mean:.1f} packets ({stood})"]
    now = after.objective(objective)
    if now is not None:
        then = None if before is None else before.objective(objective)
        compared = (
            f"model of the old setting {expected.cost_before:.4g}"
            if then is None
            else f"before {then.mean:.4g}"
        )
        model = f"model {expected.cost_after:.4g}, " if expected.of_model else ""
        parts.append(f"{objective.label} {now.mean:.4g}{unit} ({model}{compared})")
    utilization = f"utilisation {after.utilization.mean:.1%}"
    if before is not None:
        utilization += f" (before {before.utilization.mean:.1%})"
    return ", ".join([*parts, utilization])


def _details(after: Stretch, objective: Objective) -> dict[str, object]:
    """The numbers, for the journal."""
    from vermilion.objectives.queue_deviation import QueueDeviation

    now = after.objective(objective)
    numbers: dict[str, object] = {
        "mean_queue_packets": after.queue.mean,
        "utilization": after.utilization.mean,
        "signal_rate": after.signal_rate,
        "seconds": after.seconds,
        "objective": objective.name,
        "measured": None if now is None else now.mean,
        "measured_half_width": None if now is None else now.half_width,
    }
    if isinstance(objective, QueueDeviation) and now is not None:
        numbers["squared_deviation"] = now.mean
        numbers["squared_deviation_half_width"] = now.half_width
    return numbers
