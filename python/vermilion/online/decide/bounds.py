"""What the operator asked for, looked after on the network, whatever the controller is doing.

Every bound that the network breaks ends in a decision of its own, also while a setting is searched,
settles or is verified. A metric that lies beyond its bound by less than its own noise is said to
lie there too: over a longer time it would be broken, and nobody can tell yet that it is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.objectives.metric_words import metric_in_words
from vermilion.online.decide.states import Blind, Ended, HandsOff, Paused
from vermilion.online.decide.verification import MEASURED, limit_of
from vermilion.online.record.kinds import DecisionKind

if TYPE_CHECKING:
    from vermilion.objectives import Constraint
    from vermilion.online.decide.turn import Turn
    from vermilion.online.sense.stretch import Stretch

STRETCH_S = 10.0
"""Over which bounds are checked."""

_LOOK_S = 2.0
_LEAST_S = 8.0
_FORGOTTEN_S = 30.0  # so long a bound must be kept before it counts as broken again
_NOT_THIS_LINK = frozenset({"idle", "outage", "elsewhere"})
_SILENT = (Paused, Blind, HandsOff, Ended)  # nothing is judged in these


def look(turn: Turn) -> None:
    """Say which bounds are broken and not said to be so yet."""
    controller = turn.controller
    watch = controller.bounds_watch
    if isinstance(controller.state, _SILENT) or controller.senses.link_state.kind in _NOT_THIS_LINK:
        turn.change(bounds_watch=replace(watch, since_s=turn.now_s))
        return
    if turn.now_s - watch.looked_s < _LOOK_S:
        return
    # What is broken in other conditions, or under another setting, is another matter.
    begun_s = max(watch.since_s, controller.conditions_since_s, *controller.budget.changes_s[-1:])
    watch = watch.without_old(max(begun_s, turn.now_s - _FORGOTTEN_S))
    since_s = max(turn.now_s - STRETCH_S, begun_s)
    if turn.now_s - since_s <= _LEAST_S:
        return
    # Measuring is the dearest part of a look: what nobody could judge is not measured.
    judged = [bound for bound in controller.policy.bounds if _can_be_judged(turn, bound)]
    lately = turn.measured_since(since_s) if judged else None
    if judged and lately is None:
        return
    found = {
        bound.text: words
        for bound in judged
        if lately is not None and (words := _in_words(bound, lately))
    }
    for text, words in found.items():
        if not watch.knows(text):
            turn.decide(DecisionKind.CONSTRAINT_BROKEN, words)
    watch = watch.with_broken(found, turn.now_s)
    turn.change(bounds_watch=replace(watch, looked_s=turn.now_s))


def _can_be_judged(turn: Turn, bound: Constraint) -> bool:
    """Whether it has a number of its own, or is of what may have been better before a change."""
    if limit_of(bound, None) is not None:
        return True
    controller = turn.controller
    changed = dict(controller.in_force) != dict(controller.original)
    is_of_use = bound.path.metric == "utilization" and not bound.of_harm
    return is_of_use and (changed or bool(controller.budget.changes_s))


def _in_words(bound: Constraint, lately: Stretch) -> str:
    """How a bound is broken in a stretch; "" where it is not, or where nothing can be told."""
    measured = lately.bounded(bound)
    limit = limit_of(bound, None)
    if measured is None or measured.low is None or measured.high is None:
        return ""
    words = f"{bound.text}{MEASURED}{metric_in_words(bound.path, measured.mean)})"
    if limit is None:
        # No link is used more than wholly, whatever stood there before.
        if measured.high >= bound.bound + bound.offset:
            return ""
        return (
            f"the network may break {words}; nobody knows what it would be under the first setting"
        )
    if (measured.high < limit) if bound.at_least else (measured.low > limit):
        return f"the network breaks {words}"
    if (measured.mean < limit) if bound.at_least else (measured.mean > limit):
        half_width = (measured.high - measured.low) / 2.0
        seen = metric_in_words(bound.path, measured.mean, half_width)
        return f"the network seems to break {bound.text}{MEASURED}{seen}), but that may be chance"
    return ""
