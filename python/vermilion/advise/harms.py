"""Harms: metrics that a candidate makes worse than its margins allow.

Each condition is judged by itself: a gain in one is no excuse for a loss in another.

A sparse flow may wait as long as was asked for. It is worse off where it waits longer than both the
bound and now, or loses more.

A queue in which a sparse flow waits longer than the bound is no measure: its goodput and its few
drops are had with the very delay that is not wanted, because windows that fit a short queue are
small, and small windows are made by drops. There neither is bounded, and goodput counts by its
points alone; and one flow in ten may starve, since nobody does whose window is seconds long.

Where each flow has a queue of its own, drops are how its sender learns its share, and bulk waits
behind itself: what that costs shows in goodput and points, and a sparse flow is counted by itself.
In the two conditions for robustness twice as much is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.advise.margins import METRICS, Margin, margins_for
from vermilion.advise.metrics import CALL_DELAY, CALL_LOSS, SHORT_TRANSFER, SPARSE, sparse_points
from vermilion.simulate import mean_interval

if TYPE_CHECKING:
    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Measured
    from vermilion.advise.question import Question

SLACK: Final = 2.0
"""In the conditions for robustness, times the margin."""

_OF_DELAY: Final = frozenset({METRICS["goodput"], METRICS["drop_rate"]})
"""Metrics that profit from a queue that is too long."""
_OWN_AFFAIR: Final = frozenset({METRICS["drop_rate"], METRICS["delay_p95"]})
"""Metrics of bulk that are its own affair where each flow has a queue."""

_STARVED_PER_FLOW: Final = 0.1
"""Against a queue that is too long."""


@dataclass(frozen=True, slots=True)
class Harm:
    """Something that a queue makes worse than a margin allows.

    Attributes:
        condition: where.
        what: the metric.
        before: of the queue in force.
        after: of the other.
        beyond: how far beyond what is allowed, in margins.
    """

    condition: Condition
    what: str
    before: float
    after: float
    beyond: float

    @property
    def excusable(self) -> bool:
        """True in a condition that nobody asked for, of anything but a sparse flow."""
        return self.condition.robustness and self.what != SPARSE


def is_broken(question: Question, measured: Measured, at: Condition) -> bool:
    """Check whether a sparse flow waits longer than the bound in a condition."""
    wait = measured.mean(at, CALL_DELAY)
    return wait is None or wait > question.bound_ms


def harms(question: Question, before: Measured, after: Measured, part: float = 1.0) -> list[Harm]:
    """Metrics that the second queue makes worse than the margins allow.

    Args:
        question: with the bound.
        before: the queue in force.
        after: the other.
        part: of the margins that is allowed.
    """
    return [
        Harm(at, margin.metric, old, new, used - 1.0)
        for at in after.runs
        for margin in margins_for(question)
        if (old := before.mean(at, margin.metric)) is not None
        and (new := after.mean(at, margin.metric)) is not None
        and (used := _used(question, margin, before, after, at) / part) > 1.0
    ]


def _used(
    question: Question, margin: Margin, before: Measured, after: Measured, at: Condition
) -> float:
    """Share of a margin that is used up in a condition."""
    old, new = before.mean(at, margin.metric) or 0.0, after.mean(at, margin.metric) or 0.0
    if margin.metric == SHORT_TRANSFER and not _is_slower(before, after, at):
        return 0.0
    if margin.metric == SPARSE:
        old, new = (_beyond_bound(question, each, at) for each in (before, after))
    elif not margin.own and _is_moot(question, margin, before, after, at):
        return 0.0
    elif margin.metric == METRICS["starved"] and not margin.own and is_broken(question, before, at):
        old = max(old, min(_STARVED_PER_FLOW * at.flows, new))
    elif margin.metric == METRICS["jain_index"] and not margin.own:
        # Who gets the same part of more is not harmed by what others get.
        had = before.goodput(at)
        new *= max(after.goodput(at) / had, 1.0) if had > 0.0 else 1.0
    used = margin.used(old, new, at.flows)
    return used / (SLACK if at.robustness and margin.metric != SPARSE else 1.0)


def _is_moot(
    question: Question, margin: Margin, before: Measured, after: Measured, at: Condition
) -> bool:
    if margin.metric in _OWN_AFFAIR and after.queue.keeps_apart:
        return True
    return margin.metric in _OF_DELAY and is_broken(question, before, at)


def _beyond_bound(question: Question, measured: Measured, at: Condition) -> float:
    """Points of a sparse flow's losses, and of its wait beyond the bound."""
    wait, lost = measured.mean(at, CALL_DELAY), measured.mean(at, CALL_LOSS)
    longest = question.bound_ms if wait is None else max(wait, question.bound_ms)
    return sparse_points(longest, lost, question.bound_ms)


def _is_slower(before: Measured, after: Measured, at: Condition) -> bool:
    """Check whether short transfers take significantly longer: there are few of them in a run."""
    pairs = [
        new[SHORT_TRANSFER] - old[SHORT_TRANSFER]
        for old, new in zip(before.runs[at], after.runs[at], strict=True)
        if SHORT_TRANSFER in old and SHORT_TRANSFER in new
    ]
    found = mean_interval(pairs) if pairs else None
    return found is not None and (found.half_width is None or found.mean > found.half_width)
