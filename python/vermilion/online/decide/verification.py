"""Whether an applied setting does on the network what it did in the model.

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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vermilion.online.decide.broken_bound import all_broken, first_broken
from vermilion.online.decide.figures import Expectation, Figures
from vermilion.online.sense.stretch import value_of

if TYPE_CHECKING:
    from vermilion.objectives import Objective
    from vermilion.online.decide.broken_bound import BrokenBound
    from vermilion.online.policy import Policy
    from vermilion.online.sense.stretch import Stretch
    from vermilion.simulate.statistics import Interval

_WORSE_THAN_MEASURED = 0.1  # of what was before: less is no reason to change a network twice
_WORSE_THAN_PREDICTED = 0.5  # a prediction has an error of its own that its seeds do not show
_UTILIZATION_LOST = 0.02
_UTILIZATION_GAINED = 0.1
_MOMENTS = 4  # that must all be worse, for a verdict before its time


@dataclass(frozen=True, slots=True)
class Verification:
    """What the network says of a setting.

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
    figures = Figures.of(after, before, expected, policy.objective)
    broken = first_broken(after, before, policy.bounds, expected.first_beside_previous)
    why_worse = _why_worse(after, before, expected, policy, mends=mends)
    verdict: Literal["better", "unproven", "worse"] = "worse"
    why = why_worse
    if not why_worse:
        why = _why_unproven(after, before, policy.objective)
        verdict = "unproven" if why else "better"
    return Verification(
        verdict=verdict,
        reason=f"{why}; {figures.in_words()}" if why else figures.in_words(),
        broken=broken,
        details={**figures.details(), **({} if broken is None else broken.details())},
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
        reason=f"every moment of {figures.seconds:.1f} s is worse than the worst second before; "
        f"{figures.in_words()}",
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
    """Why a setting has to be taken back; "" where it need not."""
    objective = policy.objective
    now = after.objective(objective)
    if before is None:
        if now is not None and not mends and _is_worse_than_predicted(now, expected, objective):
            return "worse than the old setting would be, as the model has it"
        return ""
    far_more = _carries_far_more(after, before)
    bounds = [each for each in policy.bounds if not (far_more and each.of_harm)]
    broken = list(all_broken(after, before, bounds, expected.first_beside_previous))
    broken_before = {each.bound for each in all_broken(before, None, policy.bounds)}
    for each in broken:
        if each.bound not in broken_before:
            return f"it breaks a bound that the setting before kept, {each.in_words()}"
    # What the operator asked for comes first: to keep it may cost what is optimised.
    mends = mends or len(broken) < len(broken_before)
    if _beyond(after.utilization, before.utilization, _UTILIZATION_LOST, up=False):
        return "the link is used less than before"
    then = before.objective(objective)
    if now is None or then is None or mends or far_more:
        return ""
    up = not objective.maximised
    surely = _beyond(now, then, 0.0, up=up)
    taken_back = _change(now, then, up=up) > _least_loss(then, objective)
    return "worse than before" if surely and taken_back else ""


def _least_loss(then: Interval, objective: Objective) -> float:
    """By more than so much a setting has to be worse to be taken back."""
    least = objective.least_gain(then.mean)
    return least if objective.maximised else max(least, _WORSE_THAN_MEASURED * abs(then.mean))


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
    if before is not None and change < least and _carries_far_more(after, before):
        return "the link carries far more than before, so that the two cannot be compared"
    if abs(change) < least:
        return "no noticeable difference from before was measured"
    if change < 0:
        surely = _beyond(now, then, 0.0, up=not up)
        too_little = "it is worse than before, but by less than that for which one is taken back"
        return too_little if surely else "it looks worse than before, but that may be chance"
    surely = _beyond(now, then, 0.0, up=up)
    return "" if surely else "it looks better than before, but that may be chance"


def _carries_far_more(after: Stretch, before: Stretch) -> bool:
    """Whether the link is used so much more that delays and drops of before are no measure."""
    return _beyond(after.utilization, before.utilization, _UTILIZATION_GAINED, up=True)


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
